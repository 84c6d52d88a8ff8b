"""The peers of the GPU benchmark compute what the formulas say: on the CPU, with compilation taken
away, and with FlashAttention-4 replaced by its definition."""

import math
import sys
import time
import types
from typing import Any

import pytest
import torch
from redfuse.bench import cases, exact, gpu, gpu_peers, groups
from redfuse.bench.runner import Row

KINDS = [
    "none",
    "causal",
    "causal+alibi",
    "causal+softcap",
    "causal+window+softcap",
    "alibi",
    "softcap",
]


def flash_attn_func(q: Any, k: Any, v: Any, causal: bool, softcap: float = 0.0,
                    window_size: tuple = (None, None)) -> Any:  # fmt: skip
    """What the package documents: rows before heads, masks aligned to the last row and column."""
    q, k, v = (x.transpose(1, 2).float() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    i = torch.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2]
    j = torch.arange(k.shape[2])[None]
    if causal:
        s = s.masked_fill(j > i, -math.inf)
    if window_size[0] is not None:
        s = s.masked_fill(i - j > window_size[0], -math.inf)
    return (torch.softmax(s, -1) @ v).transpose(1, 2), None


@pytest.fixture
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_peers, "DEVICE", "cpu")
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    package, cute = types.ModuleType("flash_attn"), types.ModuleType("flash_attn.cute")
    cute.flash_attn_func = flash_attn_func
    monkeypatch.setitem(sys.modules, "flash_attn", package)
    monkeypatch.setitem(sys.modules, "flash_attn.cute", cute)


@pytest.mark.parametrize("peer", ["eager", "compile", "flex", "fa4"])
@pytest.mark.parametrize("kind", KINDS)
def test_attention(kind: str, peer: str, on_the_cpu: None) -> None:
    rows, keys = (64, 4160) if "window" in kind else (96, 96) if "causal" in kind else (1, 96)
    case = cases.attention_case("attention_operators", "X", "f32", 1, 4, rows, keys, 16, 2, kind)
    inputs = case.inputs()
    made = gpu_peers.functions(case)
    if "alibi" in kind:
        assert "fa4" not in made
        made.setdefault("fa4", made["eager"])
    result = made[peer]()(*(torch.from_numpy(x) for x in inputs))
    assert exact.error(case.exact(inputs), [result.numpy()]) < 1e-5


def test_every_case_has_its_peers() -> None:
    table = cases.all_cases("bf16")
    for name, case in table.items():
        made = gpu_peers.functions(case)
        if name.startswith("attention_operators/"):
            assert "flex" in made, name
            assert ("fa4" in made) == ("ALiBi" not in name), name
        if name.startswith("attention_prefill/"):
            assert {"cudnn", "flash", "flex", "fa4"} <= set(made), name
        if case.kind is None and case.workload != "rows_cpu":
            assert {"eager", "compile", "max-autotune"} <= set(made), name
    operators = [n for n in table if n.startswith("attention_operators/")]
    assert len(operators) == 10 * len(cases.LENGTHS)


def test_a_peer_that_takes_too_long_is_ended() -> None:
    with pytest.raises(TimeoutError, match="not ready after 0.05 s"), gpu.at_most(0.05):
        while True:
            time.sleep(0.001)
    with gpu.at_most(0.05):
        pass
    time.sleep(0.1)  # no alarm is left


def test_peers_that_cannot_be_had_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    case = cases.all_cases("bf16")["attention_prefill/P1024_d128_causal"]

    def missing() -> Any:
        raise ModuleNotFoundError("No module named 'flash_attn'")

    monkeypatch.setattr(gpu_peers, "functions", lambda _: {"fa4": missing, "eager": missing})
    rows: list[Row] = []

    def row(name: str, **fields: Any) -> Row:
        rows.append(Row(case.workload, case.name, name, case.dtype, **fields))
        return rows[-1]

    assert list(gpu._peers(case, [[]], ["fa4"], 1.0, row)) == []
    assert [(r.implementation, r.note) for r in rows] == [
        ("fa4", "ModuleNotFoundError: No module named 'flash_attn'")
    ]


def timed(case: str, implementation: str, ms: float, ratio: float | None = None) -> Row:
    workload, _, name = case.partition("/")
    return Row(workload, name, implementation, "bf16", median_ms=ms, ratio=ratio,
               of_floor=0.5 if implementation == "redfuse" else None)  # fmt: skip


def test_means() -> None:
    table = cases.all_cases("bf16")
    a, b = "attention_prefill/P1024_d128", "attention_prefill/P2048_d128"
    c = "attention_operators/DC_GQA_4096"
    rows = [
        timed(a, "redfuse", 1.0), timed(a, "torch cudnn", 2.0, 2.0), timed(a, "fa4", 0.9, 0.9),
        timed(b, "redfuse", 1.0), timed(b, "torch cudnn", 1.6, 1.6), timed(b, "fa4", 4.0, 4.0),
        timed(c, "redfuse", 1.0), timed(c, "torch flex", 3.0, 3.0),
        Row("attention_operators", "DC_GQA_512", "torch flex", "bf16", note="out of memory"),
    ]  # fmt: skip
    found = {(m.group, m.peer): m for m in groups.means(rows, table.values())}
    both = found["attention_prefill, head dim 128", "the faster of cudnn and fa4"]
    assert (both.cases, both.least, both.least_case) == (2, 0.9, a)
    assert both.mean == pytest.approx(math.sqrt(0.9 * 1.6))
    assert found["attention_prefill, head dim 128", "torch cudnn"].mean == pytest.approx(
        math.sqrt(3.2)
    )
    assert found["attention_operators, decode", "torch flex"].mean == pytest.approx(3.0)
    assert found["attention_operators, decode", "of floor"].mean == pytest.approx(0.5)
