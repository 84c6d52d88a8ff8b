"""What commands print, put into pages of docs/, so that a page shows what the compiler does now.

A page has a pair of marks; what is between them is made:

    <!-- printed: redfuse compile FILE --emit fuse | symbol main | without arith.constant -->
    <!-- end -->

Behind the command, after ` | ` each, are the rules by which a long output is cut:

    symbol NAME     only the operation that defines @NAME, with its regions
    from REGEX      from the first line that matches on
    to REGEX        up to the first line that matches
    without REGEX   lines that match are left out without a word
    only REGEX      runs of lines that do not match become `...`
    once REGEX      the same for what repeats the line shown before: REGEX matches what is compared

Of IR and assembly (`redfuse compile`), attributes that are made for tools are written `{...}`, and
lines of more than 120 columns go on in the next.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

from .setup import Venv
from .shell import BUILD, ROOT, DevError, output

COLUMNS = 120
# Attributes for tools, not for readers: positions of the source, formulas.
LONG = re.compile(r"\b(certificate|info|redfuse\.info|redfuse\.target) = (?=[{#])")
MARK = re.compile(
    r"(?P<head><!-- printed: redfuse (?P<command>[^\n]+) -->\n).*?(?P<end><!-- end -->)", re.S
)


def _closing(text: str, start: int) -> int:
    """The end of the bracketed text whose first bracket is at or after ``start``."""
    depth = 0
    for match in re.compile(r'"(?:[^"\\]|\\.)*"|[<({\[]|(?<!-)>|[)}\]]').finditer(text, start):
        if match[0] in "<({[":
            depth += 1
        elif match[0] in ">)}]":
            depth -= 1
            if depth == 0:
                return match.end()
    return len(text)


def elide(line: str) -> str:
    """A line of IR without what is of no use to a reader."""
    at = 0
    while match := LONG.search(line, at):
        line = line[: match.end()] + "{...}" + line[_closing(line, match.end()) :]
        at = match.end()
    indent = len(line) - len(line.lstrip())
    return textwrap.fill(
        line.strip(),
        COLUMNS,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 6),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _matching(lines: list[str], pattern: str) -> int:
    found = [number for number, line in enumerate(lines) if re.search(pattern, line)]
    if not found:
        raise DevError(f"docs: no line of the output matches '{pattern}'")
    return found[0]


def _symbol(lines: list[str], name: str) -> list[str]:
    """The operation that defines a symbol: up to the bracket at the indentation of its line."""
    start = _matching(lines, rf"^\s*[\w.]+ (?:(?:public|private) )?@{re.escape(name)}\b")
    indent = len(lines[start]) - len(lines[start].lstrip())
    rest = range(start + 1, len(lines))
    end = next((n for n in rest if lines[n].startswith(" " * indent + "}")), start)
    return [line[indent:] for line in lines[start : end + 1]]


def _dots(lines: list[str], keep: Callable[[str], bool]) -> list[str]:
    """Lines, with `...` for each run of those that are not kept."""
    kept: list[str] = []
    for line in lines:
        if keep(line):
            kept.append(line)
        elif not (kept and kept[-1].strip() == "..."):
            kept.append(line[: len(line) - len(line.lstrip())] + "...")
    return kept


def _once(lines: list[str], pattern: str) -> list[str]:
    shown = ""

    def is_new(line: str) -> bool:
        nonlocal shown
        if line.strip() == "...":
            return False
        before, match = shown, re.search(pattern, line)
        shown = match[0] if match else ""
        return not match or match[0] != before

    return _dots(lines, is_new)


RULES: dict[str, Callable[[list[str], str], list[str]]] = {
    "symbol": _symbol,
    "from": lambda lines, pattern: lines[_matching(lines, pattern) :],
    "to": lambda lines, pattern: lines[: _matching(lines, pattern) + 1],
    "without": lambda lines, pattern: [line for line in lines if not re.search(pattern, line)],
    "only": lambda lines, pattern: _dots(lines, lambda line: bool(re.search(pattern, line))),
    "once": _once,
}


def cut(text: str, rules: list[str]) -> str:
    """An output, shortened by the rules of its mark."""
    lines = text.expandtabs(4).rstrip().splitlines()
    for rule in rules:
        name, _, argument = rule.partition(" ")
        if name not in RULES or not argument:
            raise DevError(f"docs: '{rule}' is none of the rules {', '.join(RULES)}")
        lines = RULES[name](lines, argument)
    return "\n".join(lines)


def _fence(command: str) -> str:
    if not command.startswith("compile"):
        return "latex" if "--tex" in command else "text"
    return "text" if "--emit asm" in command else "mlir"


def printed(venv: Venv, page: Path) -> str:
    """A page with the outputs of its commands put in. A command is run once."""
    python = venv.site.parents[2] / "bin" / "python"
    environment = ["env", f"PYTHONPATH={BUILD / 'python'}", "REDFUSE_CACHE_DIR="]
    outputs: dict[str, str] = {}

    def fill(match: re.Match[str]) -> str:
        command, *rules = match["command"].split(" | ")
        if command not in outputs:
            run = [*environment, python, "-m", "redfuse.cli", *command.split()]
            outputs[command] = output(run)
        text = cut(outputs[command], rules)
        if command.startswith("compile"):
            text = "\n".join(elide(line) for line in text.splitlines())
        fence = _fence(command)
        return f"{match['head']}\n```{fence}\n{text}\n```\n\n{match['end']}"

    return MARK.sub(fill, (ROOT / page).read_text())
