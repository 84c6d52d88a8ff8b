"""Graphs of tensors on a GPU, of which there need be none: what is claimed, and that it compiles."""

from __future__ import annotations

import pytest
import torch
import torch._inductor.decomposition as inductor
from redfuse import lowering
from redfuse.frontends.dynamo import attention, backend, claims, costs, extract, report, splits
from redfuse.frontends.mlir import Source
from redfuse.options import Options
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

BF16 = torch.bfloat16


def model(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, q: torch.Tensor, k: torch.Tensor,
          v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """A layer norm and an attention of shared heads, as AOTAutograd spells it on a GPU."""
    y = torch.nn.functional.layer_norm(x.float() + 1, (1024,), w, b).bfloat16()
    flash = torch.ops.aten._scaled_dot_product_flash_attention
    return y, flash(q, k, v, 0.0, True, False)[0].transpose(1, 2).reshape(2, 1024, -1)


def test_a_norm_and_an_attention_are_claimed_and_are_a_kernel_each() -> None:
    with FakeTensorMode():
        x = torch.empty(32768, 1024, dtype=BF16, device="cuda")
        w, b = (torch.empty(1024, device="cuda") for _ in range(2))
        q, k, v = (
            torch.empty(2, 1024, heads, 128, dtype=BF16, device="cuda").transpose(1, 2)
            for heads in (32, 8, 8)
        )
        table = inductor.select_decomp_table()
        graph = make_fx(model, decomposition_table=table)(x, w, b, q, k, v).graph
    order = {node: i for i, node in enumerate(graph.nodes)}
    found = claims.find(graph, False, report.GraphRecord())
    assert [c.kind for c in found] == ["rows", "attention"]
    plans = []
    for claim in found:
        source = Source(extract.extract(claim.members, order).source(), known=True)
        lowered = lowering.lower(source, Options(), stop_after="nvvm", target="cuda:sm_90a")
        (kernel,) = lowered.explanation["kernels"]
        plans.append(kernel["matrices"])
    assert "refused" in plans[0] and "refused" not in plans[1]


def test_an_attention_of_one_text_writes_its_heads_inside_of_rows_itself() -> None:
    """As PyTorch's own kernels do; a result that is copied after the kernel costs as much as it."""
    with FakeTensorMode():
        given = [
            torch.empty(1, 4096, heads, 128, dtype=BF16, device="cuda").transpose(1, 2)
            for heads in (32, 8, 8)
        ]
        flash = torch.ops.aten._scaled_dot_product_flash_attention
        graph = make_fx(lambda *x: flash(*x, 0.0, True, False)[0])(*given).graph
    order = {node: i for i, node in enumerate(graph.nodes)}
    (claim,) = claims.find(graph, False, report.GraphRecord())
    part = extract.extract(claim.members, order)
    assert [b.copied for b in (*part.inputs, *part.outputs)] == [False] * 4
    lowered = lowering.lower(
        Source(part.source(), known=True), Options(), stop_after="nvvm", target="cuda:sm_90a"
    )
    assert str(lowered.module).count("gpu.launch_func") == 1


def cudnn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """As PyTorch calls it on a GPU."""
    kernel = torch.ops.aten._scaled_dot_product_cudnn_attention
    return kernel(q, k, v, None, False)[0]


def taken_apart(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """As PyTorch does where it has no kernel."""
    heads = [x.flatten(0, 1).float() for x in (q, k.mT, v)]
    weights = torch.bmm(*heads[:2]).softmax(-1)
    return torch.bmm(weights, heads[2]).view(q.shape).bfloat16()


@pytest.mark.parametrize(
    ("shape", "rows", "by_kernel", "by_parts"),
    [
        ((64, 12, 197, 64), 197, False, True),
        ((16, 12, 512, 64), 512, True, True),
        ((8, 32, 8192, 128), 1, False, True),
        ((1, 2, 8, 64), 8, False, False),
        ((1, 8, 512, 320), 512, False, False),
    ],
)
def test_what_pytorch_has_no_kernel_for_is_claimed_with_fewer_keys(
    shape: tuple[int, ...], rows: int, by_kernel: bool, by_parts: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    with FakeTensorMode():
        k, v = (torch.empty(shape, dtype=BF16, device="cuda") for _ in range(2))
        q = torch.empty(*shape[:2], rows, shape[3], dtype=BF16, device="cuda")
        graph = make_fx(lambda *x: attention.WHOLE(*x) + 1)(q, k, v).graph
        found = []
        for pytorchs in (cudnn, taken_apart):
            monkeypatch.setattr(attention, "pytorchs", pytorchs)
            found.append(bool(claims.find(graph, False, report.GraphRecord())))
    assert found == [by_kernel, by_parts]


class Layer(torch.nn.Module):
    """What is behind an attention, up to the next one, whose operands are split off one product."""

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.out, self.down = torch.nn.Linear(size, size), torch.nn.Linear(hidden, size)
        self.up, self.next = torch.nn.Linear(size, hidden), torch.nn.Linear(size, 3 * size)
        self.norm, self.after = torch.nn.LayerNorm(size), torch.nn.LayerNorm(size)

    def forward(self, x: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = x + self.out(z)
        x = x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))
        q, k, v = self.next(self.after(x)).chunk(3, -1)
        return x, q, k.unflatten(-1, (4, -1)).transpose(1, 2), v


def graph_of(model: torch.nn.Module, rows: int, size: int, dtype: torch.dtype) -> torch.fx.Graph:
    """On a GPU, which need not be there."""
    given = dict(model.to(dtype).named_parameters())
    with FakeTensorMode():
        on_gpu = {n: torch.empty(p.shape, dtype=dtype, device="cuda") for n, p in given.items()}
        x, z = (torch.empty(2, rows // 2, size, dtype=dtype, device="cuda") for _ in range(2))

        def call(given: dict, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return torch.func.functional_call(model, given, inputs)

        with torch.no_grad():
            table = inductor.select_decomp_table()
            graph = make_fx(call, decomposition_table=table)(on_gpu, x, z).graph
    graph.eliminate_dead_code()
    splits.take_apart(graph)
    return graph


def test_products_with_what_lies_between_them_are_one_part() -> None:
    graph = graph_of(Layer(768, 3072), 4096, 768, BF16)
    (claim,) = claims.find(graph, False, report.GraphRecord())
    assert claim.kind == "products" and claim.title.startswith("4 products up to")
    part = extract.extract(claim.members, {node: i for i, node in enumerate(graph.nodes)})
    assert [b.copied for b in (*part.inputs, *part.outputs)].count(True) == 0
    source = Source(part.source(claim.name), known=True)
    lowered = lowering.lower(source, Options(), stop_after="nvvm", target="cuda:sm_90a")
    # Sums, biases and activations are epilogues; results are written where they belong.
    assert str(lowered.module).count("gpu.launch_func") == 6
    assert len(lowered.explanation["kernels"]) == 6


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_of_other_types_are_left(dtype: torch.dtype) -> None:
    graph = graph_of(Layer(768, 3072), 4096, 768, dtype)
    record = report.GraphRecord()
    assert all(c.kind == "rows" for c in claims.find(graph, False, record))


def test_products_of_training_are_left_and_the_rows_between_them_are_not() -> None:
    graph = graph_of(Layer(1024, 4096), 65536, 1024, BF16)
    for node in graph.find_nodes(op="placeholder"):
        node.name = f"primals_{node.name}"
    kinds = [c.kind for c in claims.find(graph, False, report.GraphRecord())]
    assert kinds and set(kinds) == {"rows"}
    assert [c.kind for c in claims.find(graph, True, report.GraphRecord())] == ["products"]


def test_what_products_compute_is_what_eager_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU, where they are not claimed but for this test."""
    monkeypatch.setattr(costs, "is_measured_product", lambda node: True)
    torch.manual_seed(3)
    model = Layer(36, 77)
    inputs = (torch.randn(2, 7, 36), torch.randn(2, 7, 36))
    with torch.no_grad(), report.collected() as records:
        got = torch.compile(model, backend=backend, options={"claim": "all"})(*inputs)
        expected = model.double()(*(x.double() for x in inputs))
    assert [p.kind for r in records for p in r.parts if p.kernel] == ["products"]
    for g, e in zip(got, expected, strict=True):
        assert g.stride() == e.stride()
        assert (g - e).abs().max() < 1e-5 * e.abs().max()
