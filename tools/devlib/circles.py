"""Files of the package that import each other in a loop, at the top or inside of functions."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

from .shell import ROOT

SOURCE = ROOT / "python"


def _modules() -> dict[str, Path]:
    found = {}
    for path in sorted((SOURCE / "redfuse").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _imports(name: str, path: Path, known: set[str]) -> set[str]:
    """The modules that a file imports: not for types alone, and not the package itself, which has
    what is asked of it made when it is asked."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    todo: list[ast.AST] = [ast.parse(path.read_text())]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            todo += node.orelse
            continue
        todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                found.add(whole if whole in known else base)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return (found & known) - {name, "redfuse"}


def problems() -> list[str]:
    """One line, if there is a circle."""
    modules = _modules()
    graph = {name: _imports(name, path, set(modules)) for name, path in modules.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1]
        first = modules[circle[0]].relative_to(ROOT)
        return [f"{first}:1: imports run in a circle: {' <- '.join(circle)}"]
    return []
