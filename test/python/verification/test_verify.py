"""redfuse.verify: right derivations pass, and wrong ones are caught, by the check they break."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import redfuse
from cascades import CASCADES
from conftest import CORPUS
from mlir import ir
from mlir.passmanager import PassManager
from redfuse.errors import ArgumentError
from redfuse.explain.certificates import Certificate, entries_of
from redfuse.verification import folds, programs, symbolic
from redfuse.verification.report import FAILED, UNCHECKED, Check

EXTENTS = {"i": 3, "j": 37, "d": 2}


def derived(name: str, options: str = "") -> str:
    """The fold of a cascade, as text."""
    return derive(PROGRAMS.get(name) or CASCADES[name].text(EXTENTS), options)


def derive(source: str, options: str = "") -> str:
    """The fold of the only cascade of a program, as text."""
    context = ir.Context()
    with context:
        module = ir.Module.parse(source)
        PassManager.parse(f"builtin.module(redfuse-derive{{all=true {options}}})").run(
            module.operation
        )
        return str(module)


# The last value of h = a*h + b, and of running sums all.
RECURRENCE = """
func.func @main(%x: tensor<3x37xf32>, %y: tensor<3x37xf32>, %init: tensor<3xf32>) -> tensor<3xf32> {
  %o = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>,
         affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
       ins(%x, %y : tensor<3x37xf32>, tensor<3x37xf32>) outs(%init : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p, %h = redfuse.reduce declared %a, %b over [1] into [0]
        {identities = [1.0 : f32, 0.0 : f32], ordered} : f32, f32 combine {
    ^bb0(%a0: f32, %b0: f32, %a1: f32, %b1: f32):
      %a01 = arith.mulf %a0, %a1 : f32
      %t = arith.mulf %a1, %b0 : f32
      %b01 = arith.addf %t, %b1 : f32
      redfuse.yield %a01, %b01 : f32, f32
    }
    redfuse.yield %h : f32
  } -> tensor<3xf32>
  return %o : tensor<3xf32>
}
"""
PREFIXES = """
func.func @main(%x: tensor<3x37xf32>, %init: tensor<3x37xf32>) -> tensor<3x37xf32> {
  %o = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
       ins(%x : tensor<3x37xf32>) outs(%init : tensor<3x37xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.scan add %a along 1 : f32
    %t = arith.mulf %s, %a : f32
    redfuse.yield %t : f32
  } -> tensor<3x37xf32>
  return %o : tensor<3x37xf32>
}
"""
BEST = """
func.func @main(%x: tensor<3x37xf32>, %v0: tensor<3x4xf32>, %i0: tensor<3x4xindex>) -> (tensor<3x4xf32>, tensor<3x4xindex>) {
  %o:2 = redfuse.cascade {indexing_maps = [affine_map<(i, j, k) -> (i, j)>,
         affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, k)>]}
       ins(%x : tensor<3x37xf32>) outs(%v0, %i0 : tensor<3x4xf32>, tensor<3x4xindex>) {
  ^bb0(%a: f32):
    %j = redfuse.index 1
    %v, %p = redfuse.reduce topk %a, %j over [1] into [0, 2] : f32, index
    redfuse.yield %v, %p : f32, index
  } -> tensor<3x4xf32>, tensor<3x4xindex>
  return %o#0, %o#1 : tensor<3x4xf32>, tensor<3x4xindex>
}
"""
PROGRAMS = {"a recurrence": RECURRENCE, "running sums": PREFIXES, "best values": BEST}


def operations(operation: Any, name: str) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                if inner.operation.name == name:
                    yield inner.operation
                yield from operations(inner.operation, name)


def checks(text: str) -> list[Check]:
    """All checks of the folds in a program."""
    found = []
    with ir.Context():
        module = ir.Module.parse(text)
        for fold in operations(module.operation, "redfuse.fold"):
            certificate = Certificate.of(entries_of(fold.attributes["certificate"]))
            finalize = next(operations(module.operation, "redfuse.finalize"), None)
            found += symbolic.checks(certificate)
            found += folds.checks(certificate, fold, finalize, seeds=(0, 1))
    return found


def failed(text: str) -> set[str]:
    """What failed: claims by how they were checked."""
    return {f"{c.how}: {c.what}" for c in checks(text) if c.status == FAILED}


@pytest.mark.parametrize("name", [*CASCADES, *PROGRAMS])
@pytest.mark.sample(3)
def test_what_is_derived_is_right(name: str) -> None:
    found = checks(derived(name))
    assert not [c for c in found if c.status == FAILED]
    known = [c for c in found if c.status == UNCHECKED]
    for check in known:
        assert any(note in check.detail for note in ("known limit", "no sum", "promises")), check


BASIS_OF_T2 = (
    '{names = ["t2"], operands = [#redfuse.formula<"(x0 - t0\')">], over = array<i64: 1>, '
    'reducer = "add"}'
)
T1_IS_A = (
    '{names = ["t1"], operands = [#redfuse.formula<"exp(x0 - t0\')">], over = array<i64: 2>, '
    "reducer = "
)

# name of the cascade, what is replaced by what, and the claim that must fail.
WRONG_CERTIFICATES = {
    "sign in a transport": (
        "weighted sum", "exp(t0 - t0')*t2", "exp(t0' - t0)*t2", "algebra: transport of t2"),
    "a component missing in a transport": (
        "variance", " + (t0 - t0')**2*t1", "", "algebra: transport of t3"),
    "a component missing in the basis": (
        "variance", BASIS_OF_T2 + ", ", "", "algebra: the certificate is complete"),
    "the pivot is a minimum": (
        "weighted sum", '"t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 2>, reducer = "maximumf"',
        '"t0"], operands = [#redfuse.formula<"x0">], over = array<i64: 2>, reducer = "minimumf"', "algebra: the pivot is inside"),
    "the pivot is of other data": (
        "variance", 'data = #redfuse.formula<"x0">, kind = "kept"',
        'data = #redfuse.formula<"2*x0">, kind = "kept"', "algebra: the pivot is inside"),
    "an exponential without a maximum": (
        "weighted sum", 'kind = "maximum", name = "t0"', 'kind = "kept", name = "t0"', "algebra: no exponential"),
    "scale of a finalisation": (
        "variance", '<"t3 + 2*t2', '<"2*t3 + 2*t2', "algebra: d1 from the state"),
    "a factor missing in a finalisation": (
        "weighted sum", "*exp(t0 - d0)/d1", "*exp(t0 - d0)", "algebra: d2 from the state"),
    "binomial coefficients swapped": (
        "third and fourth moment", "4*(t0 - t0')*t3 + 6*(t0 - t0')**2*t4",
        "6*(t0 - t0')*t3 + 4*(t0 - t0')**2*t4", "algebra: transport of t5"),
    "identity": (
        "weighted sum", 'identity = #redfuse.formula<"-oo">, name = "t0"',
        'identity = #redfuse.formula<"0">, name = "t0"', "algebra: the state of nothing"),
    "reducer of a component": (
        "weighted sum", T1_IS_A + '"add"', T1_IS_A + '"maximumf"', "50 digits: states of segments"),
    "reducer of the source": (
        "min-max normalisation", '"d1"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "minimumf"',
        '"d1"], operands = [#redfuse.formula<"x0">], over = array<i64: 1>, reducer = "maximumf"', "f64: cut and merged"),
    "a result": (
        "variance", '<"d1/37">, name = "y0"', '<"d1/36">, name = "y0"', "50 digits: the finalisation does"),
    "data": (
        "root mean square, then a contraction", '<"x0*x0">, name = "a0"', '<"x0*x0*x0">, name = "a0"', "50 digits: the step does"),
    "an ordered reducer that is said to be commutative": (
        "a recurrence", "ordered = true", "ordered = false", "algebra: f0 is commutative"),
    "an ordered fold that is said to be commutative": (
        "a recurrence", "ordered = [", "disordered = [", "50 digits: the merge is associative and"),
    "a declared reducer that is not associative": (
        "a recurrence", "r0*l1 + r1", "r0*l1 - r1", "algebra: f0 is associative"),
    "the identity of a declared reducer": (
        "a recurrence", 'identities = [#redfuse.formula<"1">', 'identities = [#redfuse.formula<"0">', "algebra: f0: its identity"),
    "dims of a component": (
        "weighted sum", 'array<i64: 0, 1>, identity = #redfuse.formula<"0">, name = "t2"',
        'array<i64: 1>, identity = #redfuse.formula<"0">, name = "t2"', "50 digits: states of segments"),
}  # fmt: skip


@pytest.mark.parametrize("name", ["weighted sum", "log-sum-exp", "entropy", "softmax"])
def test_pivots_that_lag_behind_are_right(name: str) -> None:
    text = derived(name, "lazy=8")
    assert "powers = 8 : i64" in text
    assert not [c for c in checks(text) if c.status == FAILED]


@pytest.mark.parametrize("what", WRONG_CERTIFICATES)
@pytest.mark.sample(3)
def test_a_wrong_certificate_is_caught(what: str) -> None:
    name, old, new, claim = WRONG_CERTIFICATES[what]
    text = derived(name)
    assert text.count(old) >= 1, text
    found = failed(text.replace(old, new))
    assert any(f.startswith(claim) for f in found), found


def in_region(text: str, region: int, old: str, new: str, skip: int = 0) -> str:
    """``text`` with a piece of one region of the fold exchanged; region 2 is the finalisation."""
    starts = [m.start() for m in re.finditer(r"\^bb0", text)]
    begin = starts[region]
    end = starts[region + 1] if region + 1 < len(starts) else len(text)
    at = begin
    for _ in range(skip + 1):
        at = text.index(old, at + 1)
    assert at < end, text[begin:end]
    return text[:at] + new + text[at + len(old) :]


WRONG_BODIES = {
    "the step adds with the wrong sign": (
        "variance", 0, "arith.subf", "arith.addf", 0, "50 digits: the step does"),
    "the step forgets the maximum": (
        "weighted sum", 0, "arith.maximumf", "arith.minimumf", 0, "50 digits: the step does"),
    "the step reduces with another reducer": (
        "sum of exponentials", 0, "reduce add", "reduce maximumf", 0, "50 digits: the step does"),
    "the merge subtracts": (
        "weighted sum", 1, "arith.addf", "arith.subf", 0, "50 digits: the merge is associative"),
    "the merge forgets a scale": (
        "weighted sum", 1, "arith.mulf", "arith.addf", 0, "50 digits: the merge does"),
    "the merge keeps no pivot": (
        "variance", 1, "arith.subf", "arith.addf", 0, "50 digits: the merge does"),
    "the finalisation divides by another number": (
        "variance", 2, "3.700000e+01", "3.600000e+01", 0, "50 digits: the finalisation does"),
    "no care for rows of -inf": (
        "weighted sum", 0, "arith.cmpf oeq", "arith.cmpf une", 0, "f64: cut and merged anyhow"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG_BODIES)
def test_a_wrong_body_is_caught(what: str) -> None:
    name, region, old, new, skip, claim = WRONG_BODIES[what]
    found = failed(in_region(derived(name), region, old, new, skip))
    assert any(f.startswith(claim) for f in found), found


def test_identities_of_the_fold_are_checked() -> None:
    text = derived("weighted sum").replace("identities = [0xFF800000", "identities = [0.000000e+00")
    assert any(f.startswith("50 digits: the fold starts from") for f in failed(text))


def test_a_failure_shows_the_point() -> None:
    name, old, new, _ = WRONG_CERTIFICATES["sign in a transport"]
    found = [c for c in checks(derived(name).replace(old, new)) if c.status == FAILED]
    first = next(c for c in found if c.how == "algebra")
    assert "t2 -> exp(t0' - t0)*t2" in first.formula
    assert re.search(r"differ by \S+ at .*t0p = ", first.detail)
    digits = next(c for c in found if c.how == "50 digits")
    assert re.search(r" at \[.*\]: \S+ instead of \S+, for x0 = \[", digits.detail)


def test_what_is_no_certificate_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="missing: basis"):
        Certificate.of({})
    text = derived("variance").replace('<"t3 + 2*t2', '<"t3 + + *t2')
    with ir.Context(), pytest.raises(ir.MLIRError, match="expected a formula at column 6"):
        ir.Module.parse(text)
    with ir.Context():
        module = ir.Module.parse(derived("variance"))
        fold = next(operations(module.operation, "redfuse.fold"))
        entries = entries_of(fold.attributes["certificate"])
    entries["finalise"][0]["formula"] = "t3 + + *t2"
    with pytest.raises(ArgumentError, match=r"(?s)finalise: .*expected a formula"):
        Certificate.of(entries)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["softmax.mlir", "layernorm.mlir", "moe_routing.mlir"])
def test_programs(name: str) -> None:
    report = redfuse.verify(CORPUS / name, seconds=60)
    assert report.ok, report
    assert any(c.how == "run" and c.status == "passed" for c in report), report
    assert any(c.how == "algebra" for c in report)


def test_values_that_are_used_twice_have_names() -> None:
    """32 values of reductions, each used twice by the next: no formula is spelled out 2^32 times, and
    the names are checked like the formulas that they stand for."""
    lines = [
        f"%c{i} = arith.cmpf ugt, %v{i}, %zero : f32\n%v{i + 1} = arith.select %c{i}, %v{i}, %zero : f32"
        for i in range(32)
    ]
    text = """
    func.func @main(%x: tensor<3x37xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
      %r = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
          ins(%x : tensor<3x37xf32>) outs(%y : tensor<3xf32>) {
      ^bb0(%a: f32):
        %zero = arith.constant 0.0 : f32
        %v0 = redfuse.reduce add %a over [1] into [0] : f32
        LINES
        redfuse.yield %v32 : f32
      } -> tensor<3xf32>
      return %r : tensor<3xf32>
    }""".replace("LINES", "\n".join(lines))
    made = derive(text)
    assert re.search(r'shared = .*name = "e0"', made)
    assert not [c for c in checks(made) if c.status == FAILED]
    wrong = re.sub(r'<"(select\([^"]*">, name = "e1")', r'<"1 + \1', made)
    assert wrong != made
    assert "50 digits: the finalisation does" in {text[:32] for text in failed(wrong)}


def test_split_folds_are_run() -> None:
    report = redfuse.verify(CORPUS / "softmax.mlir", seconds=60)
    ran = next(c for c in report if c.what == "results on data: both infinities")
    assert ran.status == "passed", report
    for way in ("resident", "stream", "split", "tiles of 7, 5 splits"):
        assert way in ran.detail


def test_a_wrong_index_is_wrong_where_rounding_decides_nothing() -> None:
    """Values and indices of the unfused program (own), of fp64 (true), and of a fused one."""
    values = np.array([3.0, 2.0, np.nan], np.float32)
    first = np.array([4, 7, 0])

    def wrong(
        indices: list[int], own: np.ndarray, got: np.ndarray = values, is_exact: bool = True
    ) -> str:
        given = [got, np.array(indices)], [values, own], [values.astype(np.float64), first]
        return programs._compare_integers(1, *given, is_exact)

    assert wrong([4, 7, 0], first) == ""
    # An equal value, but not the first one of its kind.
    assert "at [1] 9, the unfused program has 7, fp64 7" in wrong([4, 9, 0], first)
    # Data that is not exactly equal may become so.
    assert wrong([4, 9, 0], first, is_exact=False) == ""
    # NaN has no place in an order.
    assert wrong([4, 7, 5], first) == ""
    assert wrong([4, 7, 5], first, np.array([3.0, 2.0, 1.0], np.float32)) != ""
    # Where the unfused program differs from fp64, any index of an equal value will do.
    other = np.array([4, 8, 0])
    assert wrong([4, 8, 0], other) == "" and wrong([4, 9, 0], other) == ""
    assert "at [1]" in wrong([4, 9, 0], other, np.array([3.0, 2.1, np.nan], np.float32))


def test_the_command(tmp_path: Path) -> None:
    name, old, new, _ = WRONG_CERTIFICATES["binomial coefficients swapped"]
    path = tmp_path / "wrong.mlir"
    path.write_text(derived(name).replace(old, new))
    command = [sys.executable, "-m", "redfuse.cli", "verify", str(path), "--no-run"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert not found["ok"]
    wrong = [c for s in found["sections"] for c in s["checks"] if c["status"] == "failed"]
    assert any("transport of t5" in c["what"] for c in wrong)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "failed" in done.stdout
    assert "not checked" in done.stdout.splitlines()[-1]


def test_without_sympy(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['sympy'] = None; sys.modules['mpmath'] = None; import redfuse\n"
        "import importlib.util; importlib.util.find_spec = lambda n, *a: None\n"
        "try: redfuse.verify('module {}')\n"
        "except redfuse.UnsupportedError as e: print(e)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "pip install 'redfuse[verify]'" in done.stdout
