"""``associative_scan``: on the CPU, and on a GPU by the simulator, beside PyTorch's own in fp64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import redfuse
import torch
from drivers.simulated import execute
from redfuse.frontends.fx.program import import_exported
from simulated import Case, Program, outcomes, rows
from torch._higher_order_ops.associative_scan import associative_scan_op

Parts = list[torch.Tensor]


def prefixes(combine: Callable[..., Parts], *xs: torch.Tensor) -> Any:
    """Along the first dim."""
    return associative_scan_op(combine, list(xs), additional_inputs=())


def affine(a: Any, h: Any, b: Any, x: Any) -> Parts:
    """h becomes b*h + x."""
    return [a * b, b * h + x]


def states(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return prefixes(affine, a, x)[1]


def logsumexp(m: Any, s: Any, n: Any, t: Any) -> Parts:
    top = torch.maximum(m, n)
    return [top, s * torch.exp(m - top) + t * torch.exp(n - top)]


def mean(n: Any, x: Any, m: Any, y: Any) -> Parts:
    """Has no identity: 0 elements have no mean."""
    return [n + m, (n * x + m * y) / (n + m)]


def selective(u: Any, dt: Any, a: Any, b: Any, c: Any) -> torch.Tensor:
    """A selective scan: a state of n numbers for each row, whose weighted sum is the result."""
    scale = torch.exp(a[None, :, None] * dt[..., None])
    x = dt[..., None] * b[:, None] * u[..., None]
    h = states(scale.movedim(2, 0), x.movedim(2, 0)).movedim(0, 2)
    return (h * c[:, None]).sum(-1)


def selection(batch: int, rows_: int, length: int, n: int) -> list[torch.Tensor]:
    return [
        rows(batch, rows_, length), rows(batch, rows_, length, seed=1).sigmoid(), -rows(rows_, n, seed=2).sigmoid(),
        rows(batch, length, n, seed=3), rows(batch, length, n, seed=4),
    ]  # fmt: skip


def gates(*shape: int) -> torch.Tensor:
    return rows(*shape, seed=7).sigmoid()


CASES: dict[str, Case] = {
    "rows": (lambda a, x: states(a.t(), x.t()).t(), [gates(5, 1003), rows(5, 1003)]),
    "columns": (states, [gates(777, 40), rows(777, 40)]),
    "middle": (lambda a, x: states(a.movedim(1, 0), x.movedim(1, 0)).movedim(0, 1), [gates(3, 515, 33), rows(3, 515, 33)]),
    "both": (lambda a, x: tuple(prefixes(affine, a.t(), x.t())), [1 + rows(4, 700) / 100, rows(4, 700, seed=1)]),
    "last": (lambda a, x: states(a.t(), x.t())[-1], [gates(5, 1003), rows(5, 1003)]),
    "reverse": (lambda a, x: states(a.t().flip([0]), x.t().flip([0])).flip([0]).t(), [gates(5, 603), rows(5, 603)]),
    "one": (states, [gates(1, 7), rows(1, 7)]),
    "half": (lambda a, x: states(a.t(), x.t()).t(), [gates(3, 300).half(), rows(3, 300).half()]),
    "maxima": (lambda x: prefixes(lambda a, b: [torch.maximum(a, b)], x)[0], [rows(300, 12)]),
    "logsumexp": (lambda x: (lambda m, s: m + s.log())(*prefixes(logsumexp, x.t(), torch.ones_like(x.t()))), [5 * rows(6, 900)]),
    "mean": (lambda x: prefixes(mean, torch.ones_like(x), x)[1], [rows(100, 12)]),
    # A factor, a gate and the result lie across the rows of the scan.
    "across": (lambda a, x, g: states(a, x.t()) * g.sigmoid(), [gates(512, 600), rows(600, 512), rows(512, 600, seed=1)]),
    "selective": (selective, selection(2, 3, 333, 5)),
    "selective_16": (selective, selection(1, 2, 600, 16)),
    "selective_short": (selective, selection(2, 2, 77, 16)),
}  # fmt: skip


def compare(name: str, got: np.ndarray, eager: torch.Tensor, exact: np.ndarray) -> None:
    distance = np.abs(eager.double().numpy() - exact).max()
    # PyTorch's distance twice, another order of 1003 products, and the rounding of the result's type.
    unit = torch.finfo(eager.dtype).eps
    order = 2.0**-23 * np.sqrt(1003) * np.abs(exact).max()
    allowed = 2 * distance + order + unit * np.abs(exact)
    assert (np.abs(np.asarray(got, np.float64) - exact) <= allowed).all(), name


@pytest.mark.parametrize("name", CASES)
def test_simulated(name: str) -> None:
    for got, eager, exact in outcomes(CASES[name]):
        compare(name, got, eager, exact)


@pytest.mark.parametrize("name", CASES)
def test_on_the_cpu(name: str) -> None:
    function, inputs = CASES[name]
    text = import_exported(
        torch.export.export(Program(function), tuple(inputs))
    ).operation.get_asm()
    exe = redfuse.compile(text, target="cpu", options={"cache": False})
    made = exe(*[x.numpy() for x in inputs])
    want, exact = function(*inputs), function(*(x.double() for x in inputs))
    as_tuple = [x if isinstance(x, tuple) else (x,) for x in (made, want, exact)]
    for got, eager, true in zip(*as_tuple, strict=True):
        compare(name, got, eager, true.numpy())


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90a"])
def test_of_infinities(target: str) -> None:
    """The first prefix is the first element, whatever would multiply what is not before it."""
    a = torch.tensor([[float("inf"), 0.5, 0.5], [float("nan"), 2.0, 2.0], [0.5, 0.5, 0.0]])
    x = torch.tensor([[1.0, 2.0, 3.0], [1.0, float("inf"), 3.0], [1.0, 2.0, float("inf")]])
    case: Case = (lambda a, x: states(a.t(), x.t()).t(), [a, x])
    want = states(a.t(), x.t()).t().numpy()
    if target == "cpu":
        text = import_exported(torch.export.export(Program(case[0]), (a, x))).operation.get_asm()
        got = redfuse.compile(text, target=target, options={"cache": False})(a.numpy(), x.numpy())
    else:
        ((got, _, _),) = outcomes(case)
    np.testing.assert_array_equal(got, want)


def test_kernels() -> None:
    """A selective scan is one kernel, in registers."""
    function, inputs = selective, selection(4, 64, 2048, 16)
    text = import_exported(
        torch.export.export(Program(function), tuple(inputs))
    ).operation.get_asm()
    exe = redfuse.compile(text, target="cuda:sm_90a", options={"cache": False})
    (kernel,) = exe.resources
    assert kernel.spills == 0


def test_strict() -> None:
    """In the order of the elements, as on the CPU."""
    function, inputs = CASES["rows"]
    text = import_exported(
        torch.export.export(Program(function), tuple(inputs))
    ).operation.get_asm()
    arrays = [x.numpy() for x in inputs]
    options = {"cache": False, "strict": True}
    exe = redfuse.compile(text, target="cuda:sm_90a", options=options)
    (got,), _ = execute(exe, arrays, [np.empty((5, 1003), np.float32)])
    np.testing.assert_array_equal(
        got, redfuse.compile(text, target="cpu", options=options)(*arrays)
    )


def test_refused() -> None:
    """A function of whole slices."""

    def sorts(a: Any, b: Any) -> Parts:
        return [a.sort().values + b]

    program = torch.export.export(Program(lambda x: prefixes(sorts, x)[0]), (rows(4, 7),))
    with pytest.raises(redfuse.UnsupportedError, match="element by element"):
        import_exported(program)
