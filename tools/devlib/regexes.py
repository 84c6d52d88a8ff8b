"""Which files of the package may read text by regular expressions, and what text: never IR, whose
attributes, types and operations have bindings (redfuse/attributes.py)."""

from __future__ import annotations

import ast

from .shell import ROOT, tracked

PACKAGE = "python/redfuse/"
READERS = {
    "bench/groups.py": "names of benchmark cases",
    "explain/explanation.py": "positions in the words of refusals",
    "store/cache.py": "keys in files of the cache",
    "targets/_link_cubin.py": "versions in file names of libraries",
    "targets/cuda.py": "what ptxas says, and names of chips",
    "tuning/command.py": "shapes that a person gave",
    "tuning/measure.py": "what ptxas says",
}


def _imports_re(text: str) -> bool:
    nodes = list(ast.walk(ast.parse(text)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return "re" in plain or any(isinstance(n, ast.ImportFrom) and n.module == "re" for n in nodes)


def problems() -> list[str]:
    """Lines `file:line: what is wrong`."""
    users = {
        str(path.relative_to(ROOT / PACKAGE))
        for path in tracked(f"{PACKAGE}*.py")
        if _imports_re(path.read_text())
    }
    new = [
        f"{PACKAGE}{name}:1: imports re; tools/devlib/regexes.py has no reason for it"
        for name in sorted(users - set(READERS))
    ]
    return new + [
        f"tools/devlib/regexes.py:1: {PACKAGE}{name} no longer imports re"
        for name in sorted(set(READERS) - users)
    ]
