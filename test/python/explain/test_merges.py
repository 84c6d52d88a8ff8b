"""explain: merges as formulas for people, in Unicode and LaTeX, and how long deriving them takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import redfuse
from cascades import CASCADES
from conftest import CORPUS
from mlir import ir
from mlir.passmanager import PassManager
from redfuse.errors import ArgumentError
from redfuse.explain.certificates import Certificate, entries_of
from redfuse.explain.formulas import parse
from redfuse.explain.notation import align, equations, to_latex, to_text

EXTENTS = {"i": 3, "j": 37, "d": 2}
ALL = sorted(CORPUS.glob("*.mlir"))
# What the formulas are made of; anything else is a spelling that LaTeX does not know.
COMMANDS = {
    "exp", "log", "max", "min", "sum", "prod", "bigwedge", "bigvee", "bigoplus", "frac", "sqrt",
    "left", "right", "cdot", "infty", "mathrm", "operatorname", "text", "begin", "end", "neg",
    "tanh", "sin", "cos", "leq", "geq", "neq", ",", "\\", "_",
}  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "text", "latex"),
    [
        ("exp(t0 - t0')*t1", "exp(t₀ − t₀′)·t₁", r"\exp\left(t_{0} - t_{0}'\right) \, t_{1}"),
        ("(x0 - (a1 + 2))**2", "(x₀ − (a₁ + 2))²",
         r"\left(x_{0} - \left(a_{1} + 2\right)\right)^{2}"),
        ("-t1/(t0*x12)", "−t₁/(t₀·x₁₂)", r"-\frac{t_{1}}{t_{0} \, x_{12}}"),
        ("t1/sqrt(d1/37 + 9.9999997473787516e-06)", "t₁/√(d₁/37 + 1e−05)",
         r"\frac{t_{1}}{\sqrt{\frac{d_{1}}{37} + 1 \cdot 10^{-5}}}"),
        ("add[1, 2](x0*x1)", "Σ[i₁ i₂] x₀·x₁", r"\sum_{i_{1}, i_{2}} x_{0} \, x_{1}"),
        ("maximumf[4](x0 + 1)", "max[i₄] (x₀ + 1)", r"\max_{i_{4}} \left(x_{0} + 1\right)"),
        ("argmax[1](x0, i1)", "argmax[i₁](x₀, i₁)", None),
        ("select(d2, 0, t3)", "(0 if d₂ else t₃)", None),
        ("cmpf_oeq(x0, -oo)", "x₀ = −∞", r"x_{0} = -\infty"),
        ("Abs(x0)**-1", "|x₀|⁻¹", r"\left|x_{0}\right|^{-1}"),
        ("a - b - c + -d", "a − b − c − d", None),
        ("2**(a*b)", "2^(a·b)", None),
        # What bounds nothing, and an f32 that is an integer of 101 bits.
        ("minsi[1](t0*9223372036854775807)", "min[i₁] t₀·INT64_MAX",
         r"\min_{i_{1}} t_{0} \cdot \mathrm{INT64\_MAX}"),
        ("x0 - -9223372036854775808", "x₀ − INT64_MIN", None),
        ("select(a0, x0, -1000000015047466219876688855040)", "(x₀ if a₀ else −1e+30)", None),
        ("x0*18446744073709551557", "x₀·18446744073709551557", None),
        ("x0*36893488147419103233", "x₀·36893488147419103233", None),
    ],
)  # fmt: skip
def test_notation(formula: str, text: str, latex: str | None) -> None:
    assert to_text(parse(formula)) == text
    if latex is not None:
        assert to_latex(parse(formula)) == latex


@pytest.mark.parametrize(
    "formula", ["", "x0 +", "(x0", "add[1", "add[1] x0", "x0 x1", "exp(,)", "$"]
)
def test_what_is_no_formula_is_an_error(formula: str) -> None:
    with pytest.raises(ArgumentError, match="expected .* at column"):
        parse(formula)


def certificate(name: str) -> Certificate:
    with ir.Context():
        module = ir.Module.parse(CASCADES[name].text(EXTENTS))
        PassManager.parse("builtin.module(redfuse-derive{all=true})").run(module.operation)
        (function,) = module.body.operations
        for op in function.regions[0].blocks[0].operations:
            if op.operation.name == "redfuse.fold":
                return Certificate.of(entries_of(op.attributes["certificate"]))
    raise AssertionError(f"{name} has no fold")


def check_latex(text: str) -> None:
    """Braces, brackets and environments close, and every command is one."""
    found = re.findall(r"\\([A-Za-z]+|.)", text)
    assert set(found) <= COMMANDS, set(found) - COMMANDS
    depth = 0
    for at, c in enumerate(text):
        if c in "{}" and text[at - 1] != "\\":
            depth += 1 if c == "{" else -1
        assert depth >= 0
    assert depth == 0
    assert text.count(r"\left") == text.count(r"\right")
    opened = re.findall(r"\\begin{(\w+\*?)}", text)
    assert sorted(opened) == sorted(re.findall(r"\\end{(\w+\*?)}", text))
    assert not re.search(r"[^\x20-\x7e\n]", text), "ASCII only"


@pytest.mark.parametrize("name", CASCADES)
def test_every_merge_in_latex(name: str) -> None:
    found = equations(certificate(name))
    check_latex(align(found, {}))
    for equation in found:
        assert not re.search(r"[*_']|\*\*", equation.text()), equation.text()


def test_the_merge_of_a_weighted_sum() -> None:
    texts = [e.text() for e in equations(certificate("weighted sum"))]
    assert texts == [
        "t₀ = max[i₂] x₀",
        "t₁ = Σ[i₂] exp(x₀ − t₀)",
        "t₂ = Σ[i₂] exp(x₀ − t₀)·x₁",
        "t₀′ = max(t₀, s₀)",
        "t₁′ = exp(t₀ − t₀′)·t₁ + exp(s₀ − t₀′)·s₁",
        "t₂′ = exp(t₀ − t₀′)·t₂ + exp(s₀ − t₀′)·s₂",
        "d₀ = t₀",
        "d₁ = t₁·exp(t₀ − d₀)",
        "d₂ = t₂·exp(t₀ − d₀)/d₁",
        "y₀ = d₂",
    ]


def test_a_kept_pivot_is_that_of_the_heavier_state() -> None:
    texts = [e.text() for e in equations(certificate("variance")) if e.section == "merge"]
    assert re.match(r"t₀′ = t₀ .*or that of s, where its t1 is larger", texts[0])
    assert texts[1:] == [
        "t₁′ = t₁ + s₁",
        "t₂′ = t₂ + (t₀ − t₀′)·t₁ + s₂ + (s₀ − t₀′)·s₁",
        "t₃′ = t₃ + 2·(t₀ − t₀′)·t₂ + (t₀ − t₀′)²·t₁ + s₃ + 2·(s₀ − t₀′)·s₂ + (s₀ − t₀′)²·s₁",
    ]


@pytest.mark.sample(2)
@pytest.mark.parametrize("path", ALL, ids=lambda p: p.stem)
def test_every_program_derives_fast(path: Path) -> None:
    """Under 50 ms; the best of several, for the machine may be busy."""
    exe = redfuse.compile(path, options={"opt_level": 0})
    best = min(exe.explain(json=True)["derive_seconds"] for _ in range(3))
    assert best < 0.05


@pytest.mark.sample(2)
@pytest.mark.parametrize("path", ALL, ids=lambda p: p.stem)
def test_every_cascade_is_explained(path: Path) -> None:
    """With a merge, or with the condition for which there is none, where, and a remedy."""
    exe = redfuse.compile(path, options={"opt_level": 0})
    explanation = exe.explain(json=True)
    check_latex(re.sub(r"(?m)^%.*$", "", exe.explain(tex=True)))
    for kernel in explanation["kernels"]:
        for cascade in kernel["cascades"]:
            if not cascade["stages"]:
                continue
            merge = cascade["merge"]
            assert merge["passes"] or merge["refused"]
            for entry in merge["refused"]:
                assert entry["condition"]
                assert entry["location"]
                assert entry["remedy"]
            for made in merge["passes"]:
                sections = {e["section"] for e in made["equations"]}
                assert {"state", "merge", "result"} <= sections
                for place in made["names"].values():
                    assert re.search(r":\d+", place) or "argument" in place or "pass" in place


def test_explain_prints_merges() -> None:
    text = redfuse.compile(CORPUS / "attention.mlir").explain()
    assert "merge, by which tiles follow each other" in text or "if it were streamed" in text
    assert "exp(t₀ − t₀′)·t₁ + exp(s₀ − t₀′)·s₁" in text
    assert re.search(r"x₀ +argument 0 at \[i0, i1, i2, i5\]", text)
    text = redfuse.compile(CORPUS / "quant_int8_gemm.mlir").explain()
    assert "no merge" in text or "passes" in text
    assert "remedy" in text
