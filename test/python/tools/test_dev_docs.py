"""tools/dev docs: how outputs are cut for a page, and which links are found to lead nowhere."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

from devlib import links, printed  # noqa: E402
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


def test_pages_that_sources_name_exist() -> None:
    assert links.of_source("see docs/user/guide.md\nand docs/" + "guide.md") == [
        "2: there is no docs/" + "guide.md"
    ]
