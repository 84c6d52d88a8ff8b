"""Attentions in models that are compiled: kept whole, with masks that are made where they are used."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from redfuse.frontends.dynamo import attention, backend, compiling, extract, nodes, report
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

pytestmark = pytest.mark.usefixtures("alone")
Mask = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def positions(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of rows and of columns."""
    i = torch.arange(x.shape[-2], device=x.device)
    return i[:, None], i


def causal(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    rows, columns = positions(x)
    return (columns <= rows).expand(x.shape[0], 1, -1, -1)


def window_and_padding(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    rows, columns = positions(x)
    near = (columns <= rows) & (columns > rows - 5)
    return near & (columns < lengths[:, None, None, None])


def added(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return torch.where(window_and_padding(x, lengths), 0.0, -float("inf")).to(x.dtype)


def in_memory(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return torch.cumsum(window_and_padding(x, lengths).int(), -1) > 0


def attends(mask: Mask) -> Callable:
    def run(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        made = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask(q, lengths))
        return made.transpose(1, 2).reshape(q.shape[0], q.shape[2], -1)

    return run


@pytest.mark.parametrize("mask", [causal, window_and_padding, added, in_memory])
@pytest.mark.parametrize("claim", ["all", "none"])
def test_what_is_kept_whole_is_right(mask: Mask, claim: str) -> None:
    q, k, v = (torch.randn(3, 2, 17, 16) for _ in range(3))
    lengths = torch.tensor([17, 1, 9])
    run = attends(mask)
    options = {"claim": claim, "fallback": "eager"}
    with torch.no_grad(), report.collected() as records:
        got = torch.compile(run, backend=backend, options=options)(q, k, v, lengths)
    want = run(*(x.double() for x in (q, k, v)), lengths)
    torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-5)
    parts = [p for r in records for p in r.parts if p.kernel]
    assert [p.kind for p in parts if p.kind == "attention"] == ["attention"] * (claim == "all")


@pytest.mark.parametrize("mask", [causal, window_and_padding, in_memory])
def test_masks_of_positions_are_made_where_they_are_used(
    mask: Mask, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    made = extract.extract

    def watched(members: set, order: dict, is_copied: bool = False) -> extract.Part:
        part = made(members, order, is_copied)
        if any(nodes.kind_of(n) == nodes.ATTENTION for n in members):
            seen.append(max(b.node.meta["val"].numel() for b in part.inputs))
        return part

    monkeypatch.setattr(extract, "extract", watched)
    q, k, v = (torch.randn(3, 2, 17, 8) for _ in range(3))
    with torch.no_grad():
        options = {"claim": "all", "fallback": "eager"}
        run = torch.compile(attends(mask), backend=backend, options=options)
        run(q, k, v, torch.tensor([17, 1, 9]))
    q_and_more = [max(q.numel(), 3 * 17 * 17)] if mask is in_memory else [q.numel()]
    assert seen == q_and_more


def test_what_is_not_claimed_is_what_pytorch_makes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """No operation of ours is left in the graph, and strides are the same."""
    graphs = []
    before = compiling.ClaimPass.__call__

    def watched(self: compiling.ClaimPass, graph: torch.fx.Graph) -> None:
        before(self, graph)
        graphs.append([str(n.target) for n in graph.nodes if n.op == "call_function"])

    monkeypatch.setattr(compiling.ClaimPass, "__call__", watched)
    q, k, v = (torch.randn(3, 2, 17, 16) for _ in range(3))
    given = (q, k, v, torch.tensor([17, 1, 9]))
    with torch.no_grad():
        got = torch.compile(attends(causal), backend=backend, options={"claim": "none"})(*given)
        want = torch.compile(attends(causal))(*given)
    assert str(attention.WHOLE) not in graphs[0]
    assert any("attention" in name or "bmm" in name for name in graphs[0])
    assert got.stride() == want.stride()
    torch.testing.assert_close(got, want)


def test_gradients_and_autocast_are_pytorchs() -> None:
    q, k, v = (torch.randn(1, 2, 9, 8, requires_grad=True) for _ in range(3))
    given = (q, k, v, torch.tensor([9]))
    options = {"claim": "all", "fallback": "eager"}
    run = torch.compile(attends(causal), backend=backend, options=options)
    (grad,) = torch.autograd.grad(run(*given).sum(), q)
    (expected,) = torch.autograd.grad(attends(causal)(*given).sum(), q)
    torch.testing.assert_close(grad, expected, rtol=1e-4, atol=1e-5)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert run(*given).dtype == attends(causal)(*given).dtype


def packed(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """As transformers tells packed texts apart: by how often positions start anew."""
    rows, columns = positions(x)
    i = columns.expand(x.shape[0], -1)
    text = torch.cumsum(torch.diff(i, prepend=i[:, :1] - 1) != 1, -1)
    batch = torch.arange(x.shape[0], device=x.device)[:, None, None, None]
    is_same = text[batch, rows[None, None]] == text[batch, columns[None, None, None]]
    return (columns <= rows) & is_same


def part_with(mask: Mask, same: Mask, monkeypatch: pytest.MonkeyPatch) -> extract.Part:
    """What is claimed of an attention with ``mask``, whose results are those with ``same``."""
    parts = []
    made = extract.extract

    def watched(*given: object) -> extract.Part:
        parts.append(made(*given))  # type: ignore[arg-type]
        return parts[-1]

    monkeypatch.setattr(extract, "extract", watched)
    q, k, v = (torch.randn(3, 2, 17, 8) for _ in range(3))
    options = {"claim": "all", "fallback": "eager"}
    with torch.no_grad():
        got = torch.compile(attends(mask), backend=backend, options=options)(q, k, v, q)
        torch.testing.assert_close(got, attends(same)(q, k, v, q))
    (part,) = (p for p in parts if "attention" in p.text)
    return part


def test_what_a_mask_compares_is_computed_if_it_is_made_of_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = part_with(packed, causal, monkeypatch)
    assert len(part.inputs) == 3
    assert "cumsum" not in part.text and "index" not in part.text


def all_of_them(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """As transformers spells it."""
    rows, _ = positions(x)
    return (rows + 0 >= 0).expand(x.shape[0], 1, -1, x.shape[-2])


def zero(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    return torch.zeros(x.shape[-2], x.shape[-2], dtype=x.dtype)


def one(x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """Added to a score, it is no true."""
    return torch.ones(x.shape[-2], x.shape[-2], dtype=x.dtype)


def none_of_them(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return ~all_of_them(x, lengths)


@pytest.mark.parametrize(
    ("mask", "is_dropped"), [(all_of_them, True), (zero, True), (one, False), (none_of_them, False)]
)
def test_a_mask_that_leaves_out_nothing_is_none(
    mask: Mask, is_dropped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = part_with(mask, mask, monkeypatch)
    assert ("attn_mask=None" in part.text) == is_dropped
    assert len(part.inputs) == 3 if is_dropped else len(part.inputs) >= 3


def test_a_kernel_that_returns_more_than_the_attention_is_called_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """cuDNN's, as on a GPU: some of its results are numbers or nothing, and it is not removed
    where it is dead."""
    cudnn = torch.ops.aten._scaled_dot_product_cudnn_attention

    def with_cudnn(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, attn_mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        return cudnn(q, k, v, attn_mask, False)[0]

    with FakeTensorMode(), torch.no_grad():
        q, k, v = (torch.empty(2, 4, 64, 64, dtype=torch.bfloat16, device="cuda") for _ in range(3))
        graph = make_fx(lambda q, k, v: attention.WHOLE(q, k, v) + 1)(q, k, v).graph
        monkeypatch.setattr(attention, "pytorchs", with_cudnn)
        attention.take_apart(graph)
    graph.lint()
    called = [str(n.target) for n in graph.nodes if n.op == "call_function"]
    assert called == [f"{cudnn.default}", "<built-in function getitem>", "aten.add.Tensor"]


def test_what_cannot_be_taken_apart_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_constant(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q + q, k, v) * constant

    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        q, k, v = (torch.empty(2, 4, 64, 64) for _ in range(3))
        graph = make_fx(lambda q, k, v: attention.WHOLE(q, k, v) + 1)(q, k, v).graph
        before = str(graph)
        with unset_fake_temporarily():
            constant = torch.ones(2, 4, 64, 64)
        monkeypatch.setattr(attention, "pytorchs", with_constant)
        attention.take_apart(graph)
    assert str(graph) == before
