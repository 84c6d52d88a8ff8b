"""Every relative link of the pages leads to a file, and to a heading of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from .shell import ROOT, tracked

FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.M | re.S)
CODE = re.compile(r"`(?:[^`\n]|\n(?!\n))*`|^(?: {4}|\t)(?![-*] ).*$", re.M)
LINK = re.compile(r"\]\(([^)\s]*)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.M)
PAGE_IN_CODE = re.compile(r"\bdocs/[\w/.-]+\.(?:md|mlir)\b")


def _anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def _without(pattern: re.Pattern[str], text: str) -> str:
    """A text without what matches; all lines keep their numbers."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


@cache
def _anchors(page: Path) -> set[str]:
    found: set[str] = set()
    for heading in HEADING.findall(_without(FENCE, page.read_text())):
        anchor, number = _anchor(heading), 0
        while anchor in found:
            number += 1
            anchor = f"{_anchor(heading)}-{number}"
        found.add(anchor)
    return found


def _wrong(page: Path, link: str) -> str:
    """What is wrong with a link of a page; empty if nothing is."""
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists():
        return "leads to no file"
    if anchor and target.suffix == ".md" and anchor not in _anchors(target):
        return "leads to no heading of that page"
    return ""


def of_page(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere, as `line: what is wrong`."""
    told = []
    # Code may look like a link.
    text = _without(CODE, _without(FENCE, text))
    for match in LINK.finditer(text):
        if "://" in match[1] or match[1].startswith("mailto:"):
            continue
        if wrong := _wrong(page, match[1]):
            line = text.count("\n", 0, match.start()) + 1
            told.append(f"{line}: the link {match[1]} {wrong}")
    return told


def of_source(text: str) -> list[str]:
    """The pages that a source names and that do not exist, as `line: what is wrong`."""
    return [
        f"{text.count(chr(10), 0, match.start()) + 1}: there is no {match[0]}"
        for match in PAGE_IN_CODE.finditer(text)
        if not (ROOT / match[0]).exists()
    ]


def not_in_index(text: str, pages: list[str]) -> list[str]:
    """The pages below docs that ``text``, the index, does not name."""
    named = {link.partition("#")[0] for link in LINK.findall(text)}
    return [
        f"docs/{page}:1: docs/README.md does not name this page"
        for page in pages
        if page not in {*named, "README.md"}
    ]


def problems() -> list[str]:
    """Lines `file:line: what is wrong`: links of pages, pages that sources name, and pages that
    the index lacks."""
    docs = ROOT / "docs"
    pages = [str(page.relative_to(docs)) for page in tracked("docs/*.md")]
    told = not_in_index((docs / "README.md").read_text(), pages)
    for page in tracked("*.md"):
        told += [f"{page.relative_to(ROOT)}:{wrong}" for wrong in of_page(page, page.read_text())]
    for path in tracked("*.cpp", "*.h", "*.td", "*.py", "*.md", "tools/dev"):
        told += [f"{path.relative_to(ROOT)}:{wrong}" for wrong in of_source(path.read_text())]
    return told
