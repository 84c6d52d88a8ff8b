"""PyTorch's operations through the importer of FX graphs, against PyTorch in fp64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redfuse
import torch
from redfuse.frontends.fx import program as importer
from torch.nn import functional as F  # noqa: N812

X, Y, ROW = (3, 5, 7), (3, 5, 7), (7,)
Case = tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]
CASES: dict[str, Case] = {
    "add": (lambda x, y: torch.add(x, y, alpha=3), (X, ROW)),
    "rsub": (lambda x: 2 - x, (X,)),
    "div_floor": (lambda x, y: torch.div(x, y, rounding_mode="floor"), (X, Y)),
    "remainder": (lambda x, y: torch.remainder(x, y), (X, Y)),
    "fmod": (lambda x: torch.fmod(x, 0.3), (X,)),
    "pow": (lambda x: x.abs() ** 1.7 + x**2 + x**3, (X,)),
    "clamp": (lambda x: x.clamp(-0.5, 0.25) + x.clamp(min=0.1), (X,)),
    "where": (lambda x, y: torch.where(x > y, x, y * 2), (X, ROW)),
    "masked_fill": (lambda x: x.masked_fill(x < 0, -5.0), (X,)),
    "activations": (
        lambda x: F.gelu(x) + F.silu(x) + F.elu(x) + F.hardswish(x) + F.leaky_relu(x)
        + F.softplus(x) + F.mish(x) + torch.sigmoid(x) + torch.tanh(x) + F.hardtanh(x), (X,),
    ),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), (X,)),
    "functions": (
        lambda x: x.exp() + x.abs().log1p() + x.sin() * x.cos() + x.erf() + x.sign() + x.expm1()
        + x.abs().rsqrt() + x.floor() + x.ceil() + x.round() + x.trunc() + x.atan(), (X,),
    ),
    "sum": (lambda x: x.sum() + x.sum(1, keepdim=True).sum((0, 2)), (X,)),
    "mean": (lambda x: x.mean(-1) + x.mean(), (X,)),
    "var": (lambda x: x.var(-1) + x.std((0, 2), unbiased=False)[1], (X,)),
    "prod": (lambda x: x.prod(1), (X,)),
    "extrema": (lambda x: (x.amax(1), x.amin((0, 2)), *x.max(2), *x.min(0)), (X,)),
    "argmax": (lambda x: (x.argmax(), x.argmin(1)), (X,)),
    "any": (lambda x: ((x > 2).any(), (x > -2).all(1)), (X,)),
    "norm": (lambda x: torch.linalg.vector_norm(x, dim=1) + x.norm(p=1), (X,)),
    "cumsum": (lambda x: x.cumsum(1) + x.cumprod(2), (X,)),
    "softmax": (lambda x: (torch.softmax(x, 1), F.log_softmax(x, -1), x.logsumexp(2)), (X,)),
    "topk": (lambda x: x.topk(3, -1), (X,)),
    "sort": (lambda x: x.sort(1, descending=True), (X,)),
    "views": (
        lambda x: x.permute(2, 0, 1).reshape(7, 15).unsqueeze(1).expand(7, 2, 15).flatten(1)[1:, ::3],
        (X,),
    ),
    "select": (lambda x: x[1, -2] + x[:, 1, 2:3].sum(), (X,)),
    "cat": (lambda x, y: torch.cat([x, y, x[:, :2]], 1), (X, Y)),
    "stack": (lambda x, y: torch.stack([x, y], 1), (X, Y)),
    "split": (lambda x: x.split(3, -1)[1] * x.chunk(3, 1)[2].sum(), (X,)),
    "repeat": (lambda x: x.repeat(2, 1, 3), (X,)),
    "flip": (lambda x: x.flip(0, 2), (X,)),
    "pad": (lambda x: F.pad(x, (1, 2, -1, 3), value=0.5), (X,)),
    "triangles": (lambda x: x.tril(1) + x.triu(-1), (X,)),
    "diagonal": (lambda x: x.diagonal(1, 1, 2), (X,)),
    "roll": (lambda x: x.roll(2, 1), (X,)),
    "matmul": (lambda x, y: x @ y.transpose(1, 2), (X, Y)),
    "linear": (lambda x, w, b: F.linear(x, w, b), (X, (4, 7), (4,))),
    "addmm": (lambda b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2), ((4,), (5, 7), (7, 4))),
    "einsum": (lambda x, y: torch.einsum("bij,bkj->bik", x, y), (X, Y)),
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=1, stride=2), ((2, 3, 9), (4, 3, 3))),
    "conv2d": (
        lambda x, w, b: F.conv2d(x, w, b, padding=(1, 2), dilation=2, stride=(1, 2)),
        ((2, 3, 9, 11), (4, 3, 3, 3), (4,)),
    ),
    "conv2d_groups": (lambda x, w: F.conv2d(x, w, groups=3), ((2, 6, 7, 5), (9, 2, 3, 2))),
    "conv3d": (lambda x, w: F.conv3d(x, w, padding=1), ((1, 2, 5, 4, 6), (3, 2, 3, 3, 3))),
    "conv_transpose1d": (
        lambda x, w: F.conv_transpose1d(x, w, stride=3, padding=4), ((2, 3, 6), (3, 4, 3)),
    ),
    "conv_transpose2d": (
        lambda x, w, b: F.conv_transpose2d(
            x, w, b, stride=2, padding=1, output_padding=1, groups=2, dilation=(1, 2)
        ), ((2, 4, 5, 6), (4, 3, 3, 2), (6,)),
    ),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), ((2, 3, 9, 8),)),
    "max_pool2d_places": (
        lambda x: F.max_pool2d(x, 2, return_indices=True), ((2, 3, 9, 8),),
    ),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2, dilation=2), ((1, 2, 5, 6, 7),)),
    "avg_pool2d": (
        lambda x: F.avg_pool2d(x, 3, 2, 1) + F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        ((2, 3, 9, 8),),
    ),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 4, 2), ((2, 3, 9),)),
    "adaptive_pool": (lambda x: F.adaptive_avg_pool2d(x, (2, 4)), ((2, 3, 6, 8),)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (5, 7), w, b), (X, (5, 7), (5, 7))),
    "rms_norm": (lambda x, w: F.rms_norm(x, (7,), w), (X, (7,))),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), ((2, 4, 3, 5), (4,), (4,))),
    "batch_norm": (
        lambda x, m, v, w, b: F.batch_norm(x, m, v.abs(), w, b), ((2, 4, 5), *[(4,)] * 4),
    ),
    "instance_norm": (lambda x: F.instance_norm(x), ((2, 4, 5),)),
    "upsample": (lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), ((1, 2, 3, 4),)),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        ((2, 3, 9, 8), (2, 3, 9, 8), (2, 3, 9, 6)),
    ),
    "attention_mask": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m > 0, scale=0.3),
        ((2, 3, 9, 8), (2, 3, 11, 8), (2, 3, 11, 8), (9, 11)),
    ),
    "attention_groups": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        ((2, 6, 9, 8), (2, 2, 11, 8), (2, 2, 11, 8)),
    ),
    "losses": (
        lambda x, y: F.mse_loss(x, y) + F.smooth_l1_loss(x, y) + F.huber_loss(x, y), (X, Y),
    ),
    "arange": (lambda x: x * torch.arange(7) + torch.arange(0, 1.75, 0.25)[:7], (X,)),
}  # fmt: skip


def inputs_of(shapes: tuple[tuple[int, ...], ...], dtype: torch.dtype) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(s, generator=generator, dtype=torch.float64).to(dtype) for s in shapes]


class Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def compiled(function: Callable[..., Any], inputs: list[torch.Tensor]) -> redfuse.Executable:
    """By this importer alone."""
    with torch.no_grad():
        exported = torch.export.export(Module(function), tuple(inputs))
    return redfuse.compile(importer.import_exported(exported), options={"cache": False})


def flat(results: Any) -> list[torch.Tensor]:
    return [results] if isinstance(results, torch.Tensor) else list(results)


def roundoff(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_operations(name: str, dtype: torch.dtype) -> None:
    """As near to fp64 as PyTorch is, twice, and a few roundings."""
    function, shapes = CASES[name]
    inputs = inputs_of(shapes, dtype)
    got = flat(compiled(function, inputs)(*inputs))
    eager = flat(function(*inputs))
    exact = flat(function(*[x.double() for x in inputs]))
    for mine, theirs, true in zip(got, eager, exact, strict=True):
        assert mine.shape == theirs.shape
        assert mine.dtype == theirs.dtype
        if not mine.dtype.is_floating_point:
            # Where 16-bit numbers tie, fp64 of the same numbers does too.
            torch.testing.assert_close(mine, theirs)
            continue
        scale = true.abs().max().item() if true.numel() else 1.0
        allowed = 2 * (theirs.double() - true).abs() + 8 * roundoff(dtype) * max(scale, 1e-3)
        assert bool(((mine.double() - true).abs() <= allowed).all()), name


def put(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, i] = x[:, :3] * 2
    return y


INTEGERS: dict[str, Case] = {
    "index": (lambda x, i: x[:, i] + x[i % 3][:, i % 4].sum(), ((3, 5, 7), (2, 4))),
    "two_indices": (lambda x, i: x[i % 3, :, i], ((3, 5, 7), (2, 4))),
    "gather": (lambda x, i: x.gather(1, i), ((3, 5), (3, 4))),
    "embedding": (lambda x, i: F.embedding(i, x), ((5, 6), (2, 4))),
    "index_select": (lambda x, i: x.index_select(1, i.flatten()), ((3, 5), (2, 4))),
    "index_put": (lambda x, i: x.index_put((i % 3, i), torch.tensor(2.0)), ((3, 5), (2, 4))),
    "index_put_rows": (
        lambda x, i: x.index_put((i.flatten() % 3,), x.sum(0).expand(8, 5), accumulate=True),
        ((3, 5), (2, 4)),
    ),
    "index_put_columns": (lambda x, i: put(x, i.flatten()[:3] % 5), ((3, 5), (2, 4))),
    "masked_put": (lambda x, i: x.index_put((x > 0,), torch.tensor(7.0)), ((3, 5), (2, 4))),
    "scatter": (lambda x, i: x.scatter(1, i, x * 2), ((3, 5), (3, 4))),
    "scatter_value": (lambda x, i: x.scatter(1, i, 3.5), ((3, 5), (3, 4))),
    "scatter_add": (lambda x, i: x.scatter_add(1, i, x), ((3, 5), (3, 4))),
    "histogram": (lambda x, i: torch.histc(i.float(), 5, 0, 4), ((1,), (2, 4))),
    "negative": (lambda x, i: x[:, -1 - i], ((3, 5), (2, 4))),
    "arithmetic": (lambda x, i: (i * 3 - 7) // 2 + (i ^ 5) % 3 - (i << 2) + (i > 2), ((1,), (2, 4))),
    "one_hot": (lambda x, i: F.one_hot(i, 5), ((1,), (2, 4))),
    "cross_entropy": (lambda x, i: F.cross_entropy(x, i.flatten()), ((8, 5), (2, 4))),
    "cumsum": (lambda x, i: i.cumsum(1), ((1,), (2, 4))),
}  # fmt: skip


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    function, shapes = INTEGERS[name]
    x = inputs_of(shapes[:1], torch.float32)[0]
    i = torch.arange(8).reshape(2, 4) * 3 % 5
    if shapes[1] == (3, 4):
        i = torch.arange(12).reshape(3, 4) % 5
    got = flat(compiled(function, [x, i])(x, i))
    for mine, true in zip(got, flat(function(x, i)), strict=True):
        torch.testing.assert_close(mine, true, rtol=1e-5, atol=1e-5)


def test_an_operation_without_a_lowering_is_named() -> None:
    with pytest.raises(redfuse.UnsupportedError, match=r"test_fx\.py:\d+.*aten\.\w+.*no lowering"):
        compiled(lambda x: torch.linalg.eigvalsh(x), [torch.randn(3, 3)])


class Mixing(torch.nn.Module):
    """An attention over a sequence of any length."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.norm = torch.nn.Linear(16, 16), torch.nn.LayerNorm(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q = self.project(x).view(batch, length, 4, 4).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(q, q, q).transpose(1, 2)
        places = torch.arange(length)[None, :, None]
        return self.norm(mixed.reshape(batch, length, width)) + places


def test_open_extents() -> None:
    torch.manual_seed(0)
    model = Mixing().eval()
    dims = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    with torch.no_grad():
        exported = torch.export.export(model, (torch.randn(2, 5, 16),), dynamic_shapes=(dims,))
    exe = redfuse.compile(importer.import_exported(exported), options={"cache": False})
    assert exe.signature.inputs[0].shape == (None, None, 16)
    for batch, length in ((2, 5), (3, 7), (1, 1), (4, 130)):
        x = torch.randn(batch, length, 16)
        with torch.no_grad():
            torch.testing.assert_close(exe(x), model(x), rtol=1e-5, atol=1e-5)


def test_positions_are_lines_of_the_model() -> None:
    exported = torch.export.export(Mixing().eval(), (torch.randn(2, 5, 16),))
    text = importer.import_exported(exported).operation.get_asm(enable_debug_info=True)
    assert "test_fx.py" in text


class Counting(torch.nn.Module):
    """Writes to a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return x + self.calls


def test_a_program_that_writes_to_its_buffers_is_refused() -> None:
    exported = torch.export.export(Counting(), (torch.randn(2),))
    with pytest.raises(redfuse.UnsupportedError, match="writes to calls"):
        importer.import_exported(exported)


def test_positions_are_lines_of_a_function() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return y.nonzero()

    first = program.__code__.co_firstlineno
    with pytest.raises(redfuse.UnsupportedError, match=rf"test_fx\.py:{first + 2}: aten\.nonzero"):
        redfuse.compile(program, inputs=[torch.ones(3)], options={"cache": False})


def test_windows_that_are_larger_than_their_input() -> None:
    for pool in (
        torch.nn.AvgPool2d(1280, ceil_mode=True),
        torch.nn.MaxPool2d(9, padding=4, ceil_mode=True),
    ):
        x = torch.randn(2, 3, 5, 4)
        exe = redfuse.compile(pool, target="cpu", inputs=[x], options={"cache": False})
        torch.testing.assert_close(exe(x), pool(x))


def test_a_weight_without_data_is_an_argument_or_an_error() -> None:
    with torch.device("meta"):
        module = torch.nn.Linear(8, 4)
    x = torch.empty(2, 8, device="meta")
    with pytest.raises(redfuse.errors.ArgumentError, match=r"shape \(4, 8\) .* meta device"):
        redfuse.compile(module, inputs=[x])
    assert redfuse.compile(module, inputs=[x], options={"parameters": "arguments"})
