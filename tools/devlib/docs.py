"""The pages of docs/ that are made: from the .td files, of what the command prints, and of recorded
results."""

from __future__ import annotations

import re

from . import tables
from .build import is_built
from .printed import printed
from .setup import Venv
from .shell import ROOT, output, say

# Page: title, options of mlir-tblgen, and the files below include/redfuse with their headings.
PAGES = {
    "generated/dialect.md": (
        "The redfuse dialect",
        ["-gen-dialect-doc", "-dialect=redfuse"],
        {"Dialect/Redfuse/IR/RedfuseOps.td": "", "Dialect/Redfuse/IR/RedfuseSelection.td": ""},
    ),
    "generated/tile.md": (
        "The tile dialect",
        ["-gen-dialect-doc", "-dialect=tile"],
        {"Dialect/Tile/IR/TileOps.td": ""},
    ),
    "generated/passes.md": (
        "The passes",
        ["-gen-pass-doc"],
        {
            "Transforms/Passes.td": "From programs to kernels",
            "Codegen/Passes.td": "From kernels to code of a processor",
            "Conversion/Passes.td": "To the dialects of LLVM",
        },
    ),
}

# Pages with what commands print (printed.py).
PRINTED = ("generated/merges.md", "design/walkthrough.md", "user/tuning.md")


def _generated(venv: Venv, source: str, options: list[str]) -> str:
    mlir = venv.site / "mlir"
    path = ROOT / "include" / "redfuse" / source
    tablegen = [mlir / "bin" / "mlir-tblgen", *options, path]
    text = output([*tablegen, "-I", ROOT / "include", "-I", mlir / "include"])
    text = re.sub(r"<!--.*?-->\n*", "", text, flags=re.S)
    text = text.replace("\n[TOC]\n", "\n")
    # A page has one title; the generator gives the dialect one of its own, and passes none.
    return re.sub(r"\A\s*# .*\n", "", text).strip()


def _page(venv: Venv, title: str, options: list[str], sources: dict[str, str]) -> str:
    made = " and ".join(f"include/redfuse/{source}" for source in sources)
    text = f"# {title}\n\n<!-- Made from {made} by `tools/dev docs`; edit these. -->\n"
    for source, heading in sources.items():
        text += f"\n## {heading}\n\n" if heading else "\n"
        text += _generated(venv, source, options) + "\n"
    lines = [line.rstrip() for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def docs(venv: Venv, *, check: bool) -> int:
    """Writes the pages, or with `check` says which are not what the .td files, the records and the
    command give. What the command prints is left alone where nothing is built."""
    stale = []
    if is_built(venv):
        for name in PRINTED:
            path = ROOT / "docs" / name
            text = printed(venv, path)
            if path.read_text() == text:
                continue
            stale.append(name)
            if not check:
                path.write_text(text)
    for path in tables.pages():
        text = tables.filled(path)
        if path.read_text() != text:
            stale.append(str(path.relative_to(ROOT / "docs")))
            if not check:
                path.write_text(text)
    for name, (title, options, sources) in PAGES.items():
        path = ROOT / "docs" / name
        text = _page(venv, title, options, sources)
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if not check:
            path.write_text(text)
    if check and stale:
        say(f"docs: {', '.join(stale)} not up to date; run tools/dev docs")
        return 1
    say(f"docs: {', '.join(stale)} written" if stale else "docs: up to date")
    return 0
