"""Triangular systems and Cholesky factors, against fp64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redfuse
import torch

SIZES = (1, 3, 17, 64)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def triangle(*lead: int, size: int) -> torch.Tensor:
    """Lower, with NaN above, which nobody may read."""
    made = torch.randn(*lead, size, size).tril() / size + 2 * torch.eye(size)
    return made + torch.full((size, size), float("nan")).triu(1)


def definite(*lead: int, size: int) -> torch.Tensor:
    x = torch.randn(*lead, size, size)
    return x @ x.mT + 0.1 * size * torch.eye(size)


def check(program: Callable[..., Any], *inputs: torch.Tensor) -> redfuse.Executable:
    exe = redfuse.compile(program, inputs=inputs, options={"cache": False})
    exact = program(*(x.double() for x in inputs))
    torch.testing.assert_close(exe(*inputs), exact, rtol=2e-5, atol=1e-6, check_dtype=False)
    return exe


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_triangular_systems(size: int, unit: bool, left: bool) -> None:
    a, b = triangle(3, size=size), torch.randn(3, size, 5)
    b = b if left else b.mT

    def lower(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve_triangular(a, b, upper=False, left=left, unitriangular=unit)

    def upper(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve_triangular(a.mT, b, upper=True, left=left, unitriangular=unit)

    check(lower, a, b)
    check(upper, a, b)


def test_triangular_systems_that_are_broadcast() -> None:
    check(
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
        triangle(3, 1, size=6), torch.randn(2, 6, 4),
    )  # fmt: skip


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_older_name(upper: bool, transpose: bool) -> None:
    a = triangle(size=6).mT.contiguous() if upper else triangle(size=6)
    check(
        lambda a, b: torch.triangular_solve(b, a, upper=upper, transpose=transpose).solution,
        a, torch.randn(6, 2),
    )  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(size: int, upper: bool) -> None:
    x = definite(2, size=size)
    check(lambda x: torch.linalg.cholesky(x, upper=upper), x)
    # The other triangle is not read.
    nan = torch.full((size, size), float("nan"))
    mangled = x + (nan.tril(-1) if upper else nan.triu(1))
    check(lambda x: torch.linalg.cholesky(x, upper=upper), mangled)


def test_what_is_made_of_cholesky_factors() -> None:
    x, b = definite(4, size=6), torch.randn(4, 6, 2)
    check(lambda x, b: torch.cholesky_solve(b, torch.linalg.cholesky(x)), x, b)
    check(lambda x, b: torch.cholesky_solve(b, torch.cholesky(x, upper=True), upper=True), x, b)
    check(lambda x: torch.cholesky_inverse(torch.linalg.cholesky(x)), x)
    check(lambda x: torch.linalg.cholesky(x).diagonal(dim1=-2, dim2=-1).log().sum(-1), x)


def test_matrices_that_are_not_definite() -> None:
    good, bad = definite(size=3), torch.tensor([[4.0, 2, 0], [2, 1, 0], [0, 0, 1]])
    x = torch.stack([good, bad, -good])
    exe = redfuse.compile(lambda x: tuple(torch.linalg.cholesky_ex(x)), inputs=[x])
    factors, info = exe(x)
    assert info.tolist() == torch.linalg.cholesky_ex(x).info.tolist() == [0, 2, 1]
    torch.testing.assert_close(factors[0], torch.linalg.cholesky(good))
    assert factors[1, 1:, 1:].tril().isfinite().logical_not().any()


def test_open_batches() -> None:
    exe = redfuse.compile(
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
        inputs=[triangle(3, size=6), torch.randn(3, 6, 4)],
        dynamic_shapes=({0: torch.export.Dim("n")}, {0: torch.export.Dim("n")}),
    )
    for count in (3, 5):
        a, b = triangle(count, size=6), torch.randn(count, 6, 4)
        expected = torch.linalg.solve_triangular(a, b, upper=False)
        torch.testing.assert_close(exe(a, b), expected, rtol=2e-5, atol=1e-6)


def test_large_matrices_are_refused() -> None:
    with pytest.raises(redfuse.UnsupportedError, match="matrices of 513 rows; expected at most"):
        redfuse.compile(torch.linalg.cholesky, inputs=[torch.empty(513, 513, device="meta")])


def test_gpus_compile_them() -> None:
    for program, inputs in (
        (torch.linalg.cholesky, [definite(2, size=16)]),
        (
            lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
            [triangle(2, size=16), torch.randn(2, 16, 4)],
        ),
    ):
        exe = redfuse.compile(program, inputs=inputs, target="cuda:sm_90a")
        assert exe.explain(json=True)["kernels"]
