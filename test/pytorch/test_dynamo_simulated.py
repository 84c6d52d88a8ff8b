"""What is claimed of a decoder's layer on a GPU, run by the simulator and compared with fp64, a part at
a time."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import redfuse
import torch
import torch._inductor.decomposition as inductor
from drivers.simulated import execute
from redfuse.frontends.dynamo import attention, claims, extract, report, splits
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan_op
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_map

BF16 = torch.bfloat16
SIZE, HEADS, SHARED, WIDTH, INNER = 128, 4, 2, 64, 192


class Layer(nn.Module):
    """As decoders spell it out: keys and values repeated for the heads that share them, of which a part
    of each row may be turned by a position."""

    def __init__(self, turned: int) -> None:
        super().__init__()
        self.turned = turned
        self.q = nn.Linear(SIZE, HEADS * WIDTH)
        self.k, self.v = (nn.Linear(SIZE, SHARED * WIDTH, bias=False) for _ in range(2))
        self.o = nn.Linear(HEADS * WIDTH, SIZE, bias=False)
        self.gate, self.up = (nn.Linear(SIZE, INNER, bias=False) for _ in range(2))
        self.down = nn.Linear(INNER, SIZE, bias=False)
        self.before, self.after = (nn.Parameter(torch.rand(SIZE)) for _ in range(2))

    @staticmethod
    def norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight

    def turn(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        x, kept = x[..., : self.turned], x[..., self.turned :]
        a, b = x.chunk(2, -1)
        x = x * cos[:, : self.turned] + torch.cat([-b, a], -1) * sin[:, : self.turned]
        return torch.cat([x, kept], -1) if kept.shape[-1] else x

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        b, s, _ = x.shape
        y = self.norm(x, self.before)
        q, k, v = (f(y).view(b, s, -1, WIDTH).transpose(1, 2) for f in (self.q, self.k, self.v))
        q, k = self.turn(q, cos, sin), self.turn(k, cos, sin)
        k, v = (
            z[:, :, None].expand(b, SHARED, HEADS // SHARED, s, WIDTH).reshape(b, HEADS, s, WIDTH)
            for z in (k, v)
        )
        z = attention.WHOLE(q, k, v, None, 0.0, True)
        x = x + self.o(z.transpose(1, 2).reshape(b, s, -1))
        y = self.norm(x, self.after)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def claimed(layer: Layer, inputs: list[torch.Tensor]) -> list[tuple[str, extract.Part]]:
    """The parts of its graph, as if all tensors were on a GPU."""
    names = list(dict(layer.named_parameters()))

    def call(*given: torch.Tensor) -> torch.Tensor:
        weights = dict(zip(names, given[: len(names)], strict=True))
        return torch.func.functional_call(layer, weights, given[len(names) :])

    def on_gpu(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cuda")

    # Not all of PyTorch's operations are traced for a GPU where it has none.
    with FakeTensorMode(), torch.no_grad():
        given = [torch.empty(x.shape, dtype=x.dtype) for x in (*layer.parameters(), *inputs)]
        graph = make_fx(call, decomposition_table=inductor.select_decomp_table())(*given).graph
        for node in graph.nodes:
            node.meta["val"] = tree_map(on_gpu, node.meta.get("val"))
    graph.eliminate_dead_code()
    splits.take_apart(graph)
    order = {node: i for i, node in enumerate(graph.nodes)}
    found = claims.find(graph, True, report.GraphRecord())
    return [(claim.kind, extract.extract(claim.members, order)) for claim in found]


def array(x: torch.Tensor) -> np.ndarray:
    """The same bits."""
    if x.dtype == BF16:
        return x.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return x.contiguous().numpy()


def of_part(part: extract.Part, inputs: list[torch.Tensor], in_fp64: bool) -> list[torch.Tensor]:
    """The part by PyTorch. in_fp64: with no rounding to 16 or 32 bits."""

    def wide(x: Any) -> Any:
        return torch.float64 if in_fp64 and x in (BF16, torch.float32) else x

    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(part.graph, {}))
    for node in graph.nodes:
        node.args, node.kwargs = tree_map(wide, node.args), tree_map(wide, node.kwargs)
        node.kwargs = {k: v for k, v in node.kwargs.items() if k != "device"}
    module = torch.fx.GraphModule(part.graph.owning_module or nn.Module(), graph)
    given = [x.double() if in_fp64 and x.is_floating_point() else x for x in inputs]
    return list(module(*given))


def compare(part: extract.Part) -> redfuse.Executable:
    """The kernels of a part, simulated, with what PyTorch makes of it."""
    values = [n.meta["val"] for n in part.graph.nodes if n.op == "placeholder"]
    given = [torch.randn(v.shape).to(v.dtype) for v in values]
    exact, plain = (of_part(part, given, in_fp64) for in_fp64 in (True, False))
    exe = redfuse.compile(part.source(), target="cuda:sm_90a", options={"cache": False})
    empty = [np.full(x.shape, np.nan, array(x).dtype) for x in plain]
    got, _ = execute(exe, [array(x) for x in given], empty)
    for mine, theirs, true in zip(got, plain, exact, strict=True):
        error = np.abs(mine.astype(np.float64) - true.numpy()).max()
        # Both round to 16 bits between operations, not always in the same places; what is not
        # written, or by another kernel's rows, is off by as much as results are.
        allowed = 4 * float((theirs.double() - true).abs().max())
        assert error <= allowed, (tuple(true.shape), error, allowed)
    return exe


@pytest.mark.parametrize("rows", [64, 100])
@pytest.mark.parametrize("turned", [WIDTH, 32])
def test_a_layer_of_a_decoder(turned: int, rows: int) -> None:
    torch.manual_seed(rows + turned)
    layer = Layer(turned).to(BF16)
    angles = torch.rand(rows, WIDTH) * 6
    inputs = [torch.randn(2, rows, SIZE).to(BF16), angles.cos().to(BF16), angles.sin().to(BF16)]
    parts = claimed(layer, inputs)
    assert [kind for kind, _ in parts] == ["products", "attention", "products"]
    # An attention reads the keys and values that heads share.
    shapes = [b.node.meta["val"].numel() for b in parts[1][1].inputs]
    assert sorted(shapes) == [2 * rows * heads * WIDTH for heads in (SHARED, SHARED, HEADS)]
    for _, part in parts:
        compare(part)


class Mamba(nn.Module):
    """A selective scan with the projections around it, and its convolution along a sequence."""

    def __init__(self, inner: int, states: int, rank: int) -> None:
        super().__init__()
        self.sizes = [rank, states, states]
        self.inward = nn.Linear(SIZE, 2 * inner, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, groups=inner, padding=3)
        self.selected = nn.Linear(inner, rank + 2 * states, bias=False)
        self.steps = nn.Linear(rank, inner)
        self.log = nn.Parameter(torch.arange(1.0, states + 1).log().repeat(inner, 1))
        self.outward = nn.Linear(inner, SIZE, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        u, gate = self.inward(x).transpose(1, 2).chunk(2, 1)
        u = nn.functional.silu(self.conv(u)[:, :, : x.shape[1]])
        dt, b, c = self.selected(u.transpose(1, 2)).split(self.sizes, -1)
        dt = self.steps.weight @ dt.transpose(1, 2) + self.steps.bias[:, None]
        dt = nn.functional.softplus(dt)[..., None]
        scale = torch.exp(-torch.exp(self.log.float())[None, :, None] * dt)
        fed = dt * b[:, None].float() * u[..., None].float()
        combine = lambda a, h, b, x: [a * b, b * h + x]  # noqa: E731
        given = [scale.movedim(2, 0), fed.movedim(2, 0)]
        h = associative_scan_op(combine, given, additional_inputs=())[1].movedim(0, 1)
        y = (h.to(x.dtype) @ c[..., None])[..., 0]
        y = y.transpose(1, 2) * nn.functional.silu(gate)
        return x + self.outward(y.transpose(1, 2))


def test_a_block_of_mamba() -> None:
    torch.manual_seed(0)
    block = Mamba(96, 8, 8).to(BF16)
    ((kind, part),) = claimed(block, [torch.randn(2, 100, SIZE).to(BF16)])
    assert kind == "products"
    exe = compare(part)
    # The states of all elements are nowhere in memory.
    assert all(
        "x8xf32" not in line and "x8xbf16" not in line
        for line in str(exe.ir["bufferize"]).splitlines()
        if "memref.alloc" in line
    )
