"""Tables of results in docs/benchmarks, made from records in docs/benchmarks/data.

A page `PAGE.md` has pairs of marks, and what is between them is made:

    <!-- table: NAME -->
    <!-- end -->

NAME is an entry of data/PAGE.json, one of

    {"columns": [text, ...], "rows": [[cell, ...], ...]}
    {"bench": FILE}: what `redfuse bench --json FILE` wrote, copied to data/, as it is printed
    {"text": {"columns": ..., "right": [number of a column, ...], "rows": ...}}: lines of text

A cell is text or a number. Each entry may say in ``made`` by which command it was, at which commit
and on what machine. A table of these pages without marks is a problem for `tools/dev lint`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .shell import ROOT, DevError

PAGES = ROOT / "docs" / "benchmarks"
# Described, not measured.
PROSE = ("method.md",)
MARK = re.compile(r"(?P<head><!-- table: (?P<name>[\w-]+) -->\n).*?(?P<end><!-- end -->)", re.S)
BENCH = (  # columns of `redfuse bench`, fields of a row, and how numbers are written
    ("workload/case", None, ""), ("implementation", "implementation", ""),
    ("median ms", "median_ms", ".3f"), ("min", "min_ms", ".3f"), ("max", "max_ms", ".3f"),
    ("TFLOP/s", "tflops", ".3f"), ("GB/s", "gb_s", ".1f"), ("error", "error", ".1e"),
    ("compile s", "compile_s", ".2f"), ("ratio", "ratio", ".2f"), ("schedule", "schedule", ""),
)  # fmt: skip


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [list(columns), ["---"] * len(columns), *rows]
    texts = ["| " + " | ".join(map(str, line)) + " |" for line in lines]
    # An empty cell has one blank, and the line that rules has none.
    texts = [re.sub(r"\|  (?=\|)", "| ", text) for text in texts]
    texts[1] = "|" + "---|" * len(columns)
    return "\n".join(texts) + "\n"


def _aligned(columns: Sequence[str], right: Sequence[int], rows: Sequence[Sequence[Any]]) -> str:
    lines = [list(columns), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    made = [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "```\n" + "\n".join(made) + "\n```\n"


def _bench(document: dict[str, Any]) -> str:
    def cell(row: dict[str, Any], field: str | None, form: str) -> str:
        if field is None:
            return f"{row['workload']}/{row['case']}"
        value = row.get(field)
        return "" if value is None else format(value, form)

    rows = [[cell(row, field, form) for _, field, form in BENCH] for row in document["rows"]]
    numbers = [i for i, (_, _, form) in enumerate(BENCH) if form]
    return _aligned([name for name, _, _ in BENCH], numbers, rows)


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError) as error:
        raise DevError(f"docs: {path.relative_to(ROOT)}: {error}") from None


def table(record: dict[str, Any], folder: Path) -> str:
    """The lines of a record, Markdown."""
    if "bench" in record:
        return _bench(_read(folder / record["bench"]))
    if "text" in record:
        text = record["text"]
        return _aligned(text["columns"], text["right"], text["rows"])
    columns, rows = record["columns"], record["rows"]
    for row in rows:
        if len(row) != len(columns):
            raise DevError(f"docs: a row of {len(row)} cells, expected {len(columns)}: {row}")
    return _markdown(columns, rows)


def filled(path: Path) -> str:
    """The page with its tables as their records say."""
    text = path.read_text()
    if not MARK.search(text):
        return text
    folder = path.parent / "data"
    records = _read(folder / f"{path.stem}.json")

    def made(match: re.Match[str]) -> str:
        if match["name"] not in records:
            raise DevError(f"docs: data/{path.stem}.json has no {match['name']}")
        return f"{match['head']}\n{table(records[match['name']], folder)}\n{match['end']}"

    return MARK.sub(made, text)


def pages() -> list[Path]:
    """The pages with results."""
    return [path for path in sorted(PAGES.glob("*.md")) if path.name not in PROSE]


def problems() -> list[str]:
    """Lines `file:line: what is wrong`: tables that no record has."""
    told = []
    for path in pages():
        blank = MARK.sub(lambda m: "\n" * m[0].count("\n"), path.read_text())
        lines = blank.splitlines()
        for number, line in enumerate(lines, 1):
            starts = line.startswith("|") and not lines[number - 2].startswith("|")
            if starts:
                told.append(
                    f"{path.relative_to(ROOT)}:{number}: a table without marks; "
                    "tools/devlib/tables.py says how results are recorded"
                )
    return told
