"""Every pass has an example in its description, and does what that shows."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import redfuse

ROOT = Path(__file__).resolve().parents[3]
OPT = Path(redfuse.__file__).parent / "_bin" / "redfuse-opt"
sys.path.insert(0, str(ROOT / "tools"))

from devlib import examples, passes  # noqa: E402

# Those whose smallest program is too long to be shown: the lines that matter.
FRAGMENTS = {
    "redfuse-align-rows",
    "redfuse-check-accesses",
    "redfuse-check-source",
    "redfuse-collapse-dims",
    "redfuse-drop-unused-results",
    "redfuse-evaluate-positions",
    "redfuse-factor-sums",
    "redfuse-fold-copies",
    "redfuse-lazy-pivots",
    "redfuse-nest-reductions",
    "redfuse-persist-rounds",
    "redfuse-pitch-operands",
    "redfuse-plan-contractions",
    "redfuse-plan-packing",
    "redfuse-plan-matrices",
    "redfuse-plan-products",
    "redfuse-plan-registers",
    "redfuse-plan-rounds",
    "redfuse-predict-times",
    "redfuse-prepack-operands",
    "redfuse-propagate-layouts",
    "redfuse-reduce-gathers",
    "redfuse-slice-operands",
    "redfuse-split",
    "redfuse-split-maps",
    "redfuse-split-scans",
    "redfuse-split-sums",
}
# Run where what they need is there: the extra redfuse[rocm].
MACHINE_CODE = set() if find_spec("llvmlite") else {"redfuse-rocdl-to-binary"}
RUN = [one for one in passes.every() if one.flag not in MACHINE_CODE]


@pytest.mark.parametrize("one", RUN, ids=lambda one: one.flag)
def test_a_pass_does_what_its_example_shows(one: passes.Pass) -> None:
    assert examples.problem(OPT, one) is None
    # Few examples are not run.
    assert examples.is_run(one) or one.flag in FRAGMENTS


@pytest.mark.parametrize("one", passes.every(), ids=lambda one: one.flag)
def test_a_summary_is_a_line_without_a_full_stop(one: passes.Pass) -> None:
    summary = examples.summary(one)
    assert summary[:1].isupper()
    assert not summary.endswith(".")


SQUARE = """
func.func @f(%x: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %r = math.powf %x, %two : f32
  return %r : f32
}"""
PRODUCT = """
func.func @f(%a: f32) -> f32 {
  %p = arith.mulf %a, %a : f32
  return %p : f32
}"""


@pytest.mark.parametrize(
    ("before", "after", "wrong"),
    [
        (SQUARE, PRODUCT, None),
        (SQUARE, "%p = arith.mulf %a, %a : f32\n// math.powf ...", None),
        ("%r = math.powf %x, %two : f32", "%p = arith.mulf %a, %a : f32", None),
        (SQUARE, "", "no example"),
        (SQUARE, PRODUCT.replace("mulf", "addf"), "something else"),
        (SQUARE, "%p = arith.addf %a, %a : f32", "makes no arith.addf"),
        (SQUARE, PRODUCT.replace("arith.mulf", "arith.mul"), "does not run"),
        (SQUARE.replace("powf", "pow"), PRODUCT, "does not run"),
        (PRODUCT, PRODUCT, "as it is"),
    ],
)
def test_examples_that_are_wrong_are_found(
    tmp_path: Path, before: str, after: str, wrong: str | None
) -> None:
    table = tmp_path / "Passes.td"
    fenced = "\n\nbecomes\n\n".join(
        f"```mlir\n{block.strip()}\n```" for block in (before, after) if block
    )
    table.write_text(f'def P : Pass<"p"> {{\n  let description = [{{\n{fenced}\n  }}];\n}}\n')
    found = examples.problem(OPT, passes.Pass("redfuse-normalize-powers", "P", (table, 1)))
    assert found is None if wrong is None else wrong in str(found)
