"""Gradients of windows and products, as AOTAutograd's backward graphs call them, against fp64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attempts
import judging
import pytest
import redfuse
import torch
from mlir import ir
from redfuse.frontends.fx.importer import GraphImporter
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

A = torch.ops.aten


def check(function: Callable[..., Any], *inputs: Any) -> None:
    program = attempts.Program(function, inputs, {})
    row = attempts.attempt(program, program.inputs)
    assert row["status"] == judging.RIGHT, row["message"]


def tensor(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("stride, padding, dilation", [(1, 0, 1), (2, 1, 2), (3, 2, 1)])
def test_convolution(
    transposed: bool, groups: int, stride: int, padding: int, dilation: int
) -> None:
    x = tensor(2, 4, 9, 8)
    w = tensor(4, 3, 3, 2) if transposed else tensor(6, 4 // groups, 3, 2)
    more = [stride - 1, 0] if transposed and stride > 1 else [0, 0]
    how = [stride] * 2, [padding] * 2, [dilation] * 2, transposed, more, groups
    y = A.convolution(x, w, None, *how)
    check(
        lambda g, x, w: A.convolution_backward(g, x, w, [y.shape[1]], *how, [True] * 3),
        tensor(*y.shape),
        x,
        w,
    )


def test_convolution_of_some_gradients() -> None:
    x, w = tensor(2, 3, 11), tensor(5, 3, 4)
    how = [1], [0], [1], False, [0], 1
    check(
        lambda g, x, w: A.convolution_backward(g, x, w, [5], *how, [False, True, False])[1],
        tensor(2, 5, 8),
        x,
        w,
    )


@pytest.mark.parametrize(
    "how",
    [
        ((3, 3), (2, 2), (1, 1), False, True, None),
        ((3, 2), (2, 2), (1, 1), True, False, None),
        ((3, 2), (2, 1), (0, 0), True, True, 5),
    ],
)
def test_average_pooling(how: tuple) -> None:
    x = tensor(2, 3, 9, 8)
    check(lambda g, x: A.avg_pool2d_backward(g, x, *how), tensor(*A.avg_pool2d(x, *how).shape), x)


@pytest.mark.parametrize("size", [(4, 3), (12, 5), (1, 1), (3, 4)])
def test_adaptive_pooling(size: tuple[int, int]) -> None:
    x, g = tensor(2, 3, 9, 8), tensor(2, 3, *size)
    check(lambda x: A._adaptive_avg_pool2d(x, size), x)
    check(lambda g, x: A._adaptive_avg_pool2d_backward(g, x), g, x)
    check(lambda x: A.adaptive_max_pool2d(x, size), x)
    check(
        lambda g, x, i: A.adaptive_max_pool2d_backward(g, x, i),
        g,
        x,
        A.adaptive_max_pool2d(x, size)[1],
    )


def test_largest_of_windows() -> None:
    x = tensor(2, 3, 9, 8)
    how = [3, 3], [2, 2], [1, 1], [1, 1], False
    y, i = A.max_pool2d_with_indices(x, *how)
    check(lambda g, x, i: A.max_pool2d_with_indices_backward(g, x, *how, i), tensor(*y.shape), x, i)


@pytest.mark.parametrize(
    "op", [A.upsample_nearest2d_backward, A._upsample_nearest_exact2d_backward]
)
def test_nearest_neighbours(op: Any) -> None:
    check(lambda g: op(g, [13, 20], [2, 3, 5, 8]), tensor(2, 3, 13, 20))


def test_replicated_edges() -> None:
    check(
        lambda g, x: A.replication_pad2d_backward(g, x, [1, 2, 3, 1]),
        tensor(2, 3, 13, 11),
        tensor(2, 3, 9, 8),
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads", [4, 2])
def test_attention(causal: bool, heads: int) -> None:
    q, k, v, g = (tensor(2, h, 7, 8) + i for i, h in enumerate((4, heads, heads, 4)))
    check(lambda *t: A._scaled_dot_product_flash_attention_for_cpu(*t, 0.0, causal), q, k, v)
    out, sums = A._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal)
    check(
        lambda *t: A._scaled_dot_product_flash_attention_for_cpu_backward(*t, 0.0, causal),
        g, q, k, v, out, sums,
    )  # fmt: skip


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("padding", [-1, 2])
def test_bags_of_embeddings(mode: int, padding: int) -> None:
    indices, offsets = torch.tensor([0, 2, 4, 5, 2]), torch.tensor([0, 2, 2])
    check(
        lambda w, i, o: torch._embedding_bag(w, i, o, mode=mode, padding_idx=padding),
        tensor(6, 3),
        indices,
        offsets,
    )


VIEWS: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda x: x[1:, 2:].as_strided((2, 3), (6, 1)),
    lambda x: x.T.as_strided((2, 3), (1, 2)),
    lambda x: x[2].as_strided((2, 3), (1, 2), 3),
    lambda x: x[:1].expand(3, 6).as_strided((2, 3), (1, 2), 3),
    lambda x: x.as_strided((2, 3), (1, 2), 3).as_strided((2, 2), (2, 1)),
    lambda x: (x * 2)[1:].as_strided((2, 2), (2, 1)),
]


@pytest.mark.parametrize("number", range(len(VIEWS)))
def test_views_by_strides(number: int) -> None:
    check(VIEWS[number], tensor(4, 6))


def test_random_numbers_and_shapes_of_data_are_refused_by_name() -> None:
    for function, words in (
        (lambda x: x + torch.rand(3), "aten.rand.default: it draws random numbers"),
        (lambda x: x.nonzero(), "aten.nonzero.default: what it makes is known from its data"),
    ):
        program = attempts.Program(function, [torch.ones(3)], {})
        row = attempts.attempt(program, program.inputs)
        assert row["status"] == judging.REFUSED
        assert words in row["message"]


@pytest.mark.parametrize(
    "op", ["flash_attention", "flash_attention_for_cpu", "efficient_attention"]
)
def test_fused_attention(op: str) -> None:
    """Operations that only GPUs run are compared with the one of CPUs."""
    q, k, v = (tensor(2, 3, 7, 8) + i for i in range(3))
    more = (None, True, 0.0, True) if op == "efficient_attention" else (0.0, True)
    mine = getattr(A, f"_scaled_dot_product_{op}").default
    with torch.no_grad(), FakeTensorMode() as mode:
        graph = make_fx(lambda *t: mine(*t, *more)[:2])(*(mode.from_tensor(t) for t in (q, k, v)))
    names = [n.name for n in graph.graph.nodes if n.op == "placeholder"]
    context = ir.Context()
    with context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            GraphImporter().build(graph.graph, names, lambda name: None)
    exe = redfuse.compile(module, target="cpu", options={"cache": False})
    out, sums = exe(q, k, v)
    expected, logarithms = A._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True)
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(sums[..., :7], logarithms, rtol=1e-5, atol=1e-5)


def test_dropout_is_refused() -> None:
    def program(q: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5)

    row = attempts.attempt(
        attempts.Program(program, [tensor(1, 2, 5, 4)], {}), [tensor(1, 2, 5, 4)]
    )
    assert row["status"] == judging.REFUSED
    assert "random" in row["message"]


def test_an_operation_that_is_composed_of_itself() -> None:
    """PyTorch's rule in C++ calls it again, the one in Python does not."""
    check(lambda g, x: A.silu_backward(g, x), tensor(3, 5), tensor(3, 5) + 1)
