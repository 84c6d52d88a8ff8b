"""tools/dev docs: how outputs are cut for a page, how tables are made of records, and which links
are found to lead nowhere."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

from devlib import links, printed, tables  # noqa: E402
from devlib.shell import DevError  # noqa: E402

MODULE = """module {
  func.func @first() {
    return
  }
  func.func public @main(%a: f32) {
    %0 = arith.constant 1.0 : f32
    %1 = vector.load %a
    %2 = vector.load %a
    %3 = arith.addf %1, %2 : f32
    return
  }
}
"""


@pytest.mark.parametrize(
    ("rules", "lines"),
    [
        (["symbol first"], ["func.func @first() {", "  return", "}"]),
        (["symbol main", "from load", "to load"], ["  %1 = vector.load %a"]),
        (
            ["symbol main", "without constant", "only func|load|^}", "once vector.load"],
            ["func.func public @main(%a: f32) {", "  %1 = vector.load %a", "  ...", "}"],
        ),
    ],
)
def test_an_output_is_cut_by_rules(rules: list[str], lines: list[str]) -> None:
    assert printed.cut(MODULE, rules).splitlines() == lines


@pytest.mark.parametrize("rule", ["symbol second", "from nowhere", "shorten a", "only"])
def test_a_rule_that_fits_nothing_is_told(rule: str) -> None:
    with pytest.raises(DevError):
        printed.cut(MODULE, [rule])


def test_attributes_for_tools_are_left_out_and_long_lines_go_on() -> None:
    line = (
        '  x {certificate = {a = ["t -> u", "{"]}, keep = {b = 1}, redfuse.target = #t<"c", n = 1>}'
    )
    short = "  x {certificate = {...}, keep = {b = 1}, redfuse.target = {...}}"
    assert printed.elide(line) == short
    long = "    " + " ".join(["word"] * 60)
    first, *rest = printed.elide(long).splitlines()
    assert len(first) <= printed.COLUMNS
    assert all(part.startswith(" " * 10 + "word") for part in rest)
    assert " ".join(part.strip() for part in (first, *rest)) == long.strip()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[a](../README.md) [b](#calls) [c](guide.md#calls)", ["1: the link guide.md#calls"]),
        ("[a](https://example.org/x) `[b](no.md)`\n\n    [c](no.md)", []),
        ("```\n[a](no.md)\n```\n[b](no.md)", ["4: the link no.md"]),
    ],
)
def test_links_that_lead_nowhere_are_found(text: str, wrong: list[str]) -> None:
    told = links.of_page(ROOT / "docs" / "user" / "gpu.md", text)
    assert len(told) == len(wrong)
    assert all(part in line for part, line in zip(wrong, told, strict=True))


def test_pages_that_the_index_lacks_are_found() -> None:
    pages = ["README.md", "user/gpu.md", "user/guide.md"]
    told = links.not_in_index("see [gpu](user/gpu.md#calls)", pages)
    assert told == ["docs/user/guide.md:1: docs/README.md does not name this page"]


def test_pages_that_sources_name_exist() -> None:
    assert links.of_source("see docs/user/guide.md\nand docs/" + "guide.md") == [
        "2: there is no docs/" + "guide.md"
    ]


PAGE = "Before.\n\n<!-- table: t -->\nold\n<!-- end -->\n\nBehind.\n"
ROW = {
    "workload": "rows", "case": "R1", "implementation": "redfuse", "median_ms": 1.23456,
    "min_ms": 1.0, "max_ms": None, "tflops": 0.5, "gb_s": 40.04, "error": 1e-7, "compile_s": 0.25,
    "ratio": None, "schedule": "stream",
}  # fmt: skip


def page_of(folder: Path, record: object, **files: object) -> str:
    (folder / "data").mkdir()
    (folder / "page.md").write_text(PAGE)
    for name, content in {"page": {"t": record}, **files}.items():
        (folder / "data" / f"{name}.json").write_text(json.dumps(content))
    return tables.filled(folder / "page.md")


def test_a_table_is_made_of_its_record(tmp_path: Path) -> None:
    text = page_of(tmp_path, {"made": "x", "columns": ["", "us"], "rows": [["a", 1.5], ["b", ""]]})
    assert "old" not in text and text.startswith("Before.") and text.endswith("Behind.\n")
    assert "\n| | us |\n|---|---|\n| a | 1.5 |\n| b | |\n" in text


def test_a_table_is_made_of_a_report_of_the_bench(tmp_path: Path) -> None:
    text = page_of(tmp_path, {"bench": "run.json"}, run={"rows": [ROW]})
    head, row = text.split("```")[1].strip().splitlines()
    assert head.split()[:3] == ["workload/case", "implementation", "median"]
    assert row.split() == [
        "rows/R1", "redfuse", "1.235", "1.000", "0.500", "40.0", "1.0e-07", "0.25", "stream",
    ]  # fmt: skip
    assert row.index("1.235") + 5 == head.index("median ms") + len("median ms")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"columns": ["a", "b"], "rows": [[1]]}, "a row of 1 cells, expected 2"),
        (None, "page.json has no t"),
    ],
)
def test_a_record_that_does_not_fit_is_told(tmp_path: Path, record: object, message: str) -> None:
    with pytest.raises(DevError, match=message):
        page_of(tmp_path, record, **({"page": {}} if record is None else {}))


def test_pages_of_results_have_no_tables_of_their_own() -> None:
    assert not tables.problems()
    assert all(path.read_text() == tables.filled(path) for path in tables.pages())
