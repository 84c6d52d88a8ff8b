"""A sample of what ``tools/dev opinfo`` tries, and what its parts say of results."""

from __future__ import annotations

import attempts
import judging
import opinfo
import pytest
import torch

# One of each kind; all of them by the command.
NAMES = [
    "add", "addmm", "all", "amax", "argsort", "bmm", "cat", "clamp", "cummax", "cumprod", "diff", "div.floor_rounding",
    "dot", "einsum", "exp", "flip", "gather", "index_add", "index_put", "kron", "lerp", "linalg.vector_norm",
    "log_softmax", "logcumsumexp", "masked.sum", "median", "meshgrid.list_of_tensors", "nan_to_num",
    "nn.functional.avg_pool2d", "nn.functional.conv2d", "nn.functional.cross_entropy", "nn.functional.gelu",
    "nn.functional.grid_sample", "nn.functional.layer_norm", "nn.functional.max_pool2d",
    "nn.functional.scaled_dot_product_attention", "nn.functional.unfold", "pow", "roll", "scatter", "scatter_reduce.mean", "sort",
    "std_mean", "take_along_dim", "topk", "tril", "unfold", "var", "where",
]  # fmt: skip


@pytest.fixture(scope="module")
def operations() -> dict:
    attempts.prepare()
    return opinfo.operations()


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", list(opinfo.DTYPES))
@pytest.mark.parametrize("name", NAMES)
def test_operation(name: str, dtype: str, operations: dict) -> None:
    op = operations[name]
    samples = opinfo.samples_of(op, opinfo.DTYPES[dtype])
    program = opinfo.Sorted(op, samples[len(samples) // 2])
    row = attempts.attempt(program, program.inputs)
    assert row["status"] == judging.RIGHT, row["message"]


def test_a_result_that_is_further_away_than_pytorchs_is_wrong() -> None:
    exact = torch.tensor([1.0, 1000.0], dtype=torch.float64)
    eager = exact.float()
    assert not judging.faults_of(eager, eager, exact, True)
    near = torch.nextafter(eager, torch.tensor(2000.0))
    assert not judging.faults_of(near, eager, exact, True)
    far = eager.clone()
    far[0] += 2.0**-20
    assert "8 units from fp64" in judging.faults_of(far, eager, exact, True)
    assert not judging.faults_of(far, eager, exact, False)  # of the largest it is little


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_compared(number: float) -> None:
    exact = torch.tensor([number, 1.0], dtype=torch.float64)
    eager = exact.float()
    assert not judging.faults_of(eager, eager, exact)
    assert judging.faults_of(torch.ones(2), eager, exact)


def test_shapes_and_types_are_compared() -> None:
    x = torch.ones(2, 3)
    assert "shape" in judging.faults_of(x.T, x, x.double())
    assert "float64" in judging.faults_of(x.double(), x, x.double())
    assert "expected 2 tensors" in judging.faults_of(x, (x, x), (x, x))
    assert "expected 3, got 4" in judging.faults_of(*map(torch.tensor, ([4], [3], [3])))


def test_the_samples_are_spread() -> None:
    assert opinfo.spread(10, 2) == [0, 9]
    assert opinfo.spread(10, 4) == [0, 3, 6, 9]
    assert opinfo.spread(3, 0) == opinfo.spread(3, 5) == [0, 1, 2]
    assert opinfo.spread(5, 1) == [0]
