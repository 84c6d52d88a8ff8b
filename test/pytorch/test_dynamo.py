"""``torch.compile(backend="redfuse")``: results and gradients are eager's, whatever is claimed."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redfuse
import torch
from redfuse.frontends.dynamo import backend, kernels, report
from torch import nn
from torch.nn import functional

ALL = {"claim": "all", "fallback": "eager"}
BY_INDUCTOR = {"claim": "all"}
pytestmark = pytest.mark.usefixtures("alone")


def compiled(function: Any, options: dict | None = None, **more: Any) -> Any:
    """By the backend, with all claims that can be made."""
    return torch.compile(function, backend=backend, options=options or ALL, **more)


def close(got: Any, function: Callable, *inputs: Any, kinds: Any = None) -> None:
    """As near to fp64 as eager is, times four, and 32 units."""
    doubles = [x.double() if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs]
    eager, exact = function(*inputs), function(*doubles)
    for g, e, x in zip(*map(_list, (got, eager, exact)), strict=True):
        assert g.shape == e.shape and g.dtype == e.dtype and g.stride() == e.stride()
        near(g, e, x)


def near(got: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor) -> None:
    """The same of one tensor."""
    scale = exact.abs().max().clamp_min(1e-30)
    unit = torch.finfo(got.dtype).eps
    mine, theirs = ((v.double() - exact.double()).abs().max() / scale for v in (got, eager))
    assert mine <= 4 * theirs + 32 * unit


def _list(value: Any) -> list:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def claimed(records: list[report.GraphRecord]) -> list[str]:
    """What kinds of parts became kernels."""
    return sorted(p.kind for r in records for p in r.parts if p.kernel)


class Block(nn.Module):
    """A layer of an encoder, 37 wide of odd sizes."""

    def __init__(self, width: int = 36, heads: int = 3) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 61), nn.Linear(61, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attention and two products, each with a norm before and a sum after."""
        b, s, w = x.shape
        parts = self.qkv(self.before(x)).view(b, s, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(*parts).transpose(1, 2).reshape(b, s, w)
        x = x + self.out(y)
        return x + self.down(functional.gelu(self.up(self.after(x))))


def norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A sum, and a layer norm of it."""
    return functional.layer_norm(x * 2 + 1, (x.shape[-1],), w, b)


@pytest.mark.parametrize("fallback", ["inductor", "eager"])
def test_a_block_is_claimed_in_parts(fallback: str) -> None:
    block, x = Block().eval(), torch.randn(2, 13, 36)
    with torch.no_grad(), report.collected() as records:
        got = compiled(block, {**ALL, "fallback": fallback})(x)
        assert claimed(records) == ["attention", "rows", "rows"]
        exact = Block().eval()
        exact.load_state_dict(block.state_dict())
        near(got, block(x), exact.double()(x.double()))


def test_a_training_step_has_eagers_gradients() -> None:
    block, x = Block(), torch.randn(2, 13, 36)
    exact = Block()
    exact.load_state_dict(block.state_dict())
    exact = exact.double()

    def step(module: nn.Module, run: Any, given: torch.Tensor) -> list[torch.Tensor]:
        module.zero_grad()
        given = given.clone().requires_grad_()
        (run(given) ** 2).mean().backward()
        return [given.grad, *(p.grad for p in module.parameters())]

    with report.collected() as records:
        got = [g.clone() for g in step(block, compiled(block, BY_INDUCTOR), x)]
    assert "rows" in claimed(records)
    for g, e, f in zip(got, step(block, block, x), step(exact, exact, x.double()), strict=True):
        near(g, e, f)


def test_no_grad_and_grad_each_compile_once() -> None:
    block, x = Block(), torch.randn(2, 13, 36)
    run = compiled(block)
    with torch.no_grad():
        assert not run(x).requires_grad
    assert run(x).requires_grad


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype: torch.dtype) -> None:
    block, x = Block().eval(), torch.randn(2, 13, 36)
    exact = Block().eval()
    exact.load_state_dict(block.state_dict())
    with torch.no_grad():
        with torch.autocast("cpu", dtype):
            got, eager = compiled(block)(x), block(x)
        true = exact.double()(x.double())
    assert got.dtype == eager.dtype
    distances = [float((v.double() - true).abs().max()) for v in (got, eager)]
    assert distances[0] <= 4 * distances[1] + 32 * torch.finfo(dtype).eps


def test_open_extents_compile_once() -> None:
    w, b = torch.randn(24), torch.randn(24)
    run = compiled(norm, BY_INDUCTOR, dynamic=True)
    with torch.no_grad(), report.collected() as records:
        for rows in (5, 17, 64):
            x = torch.randn(rows, 24)
            close(run(x, w, b), norm, x, w, b)
    assert claimed(records) == ["rows"]


def test_lengths_that_change_compile_a_training_step_twice() -> None:
    block = Block()
    run = compiled(block)
    with report.collected() as records, warnings.catch_warnings():
        warnings.filterwarnings("error", "Raw SymInt value")
        for length in (13, 17, 23):
            x, exact = torch.randn(2, length, 36), Block().double()
            exact.load_state_dict(block.state_dict())
            results = []
            for function, given in ((run, x), (block, x), (exact, x.double())):
                block.zero_grad()
                (function(given) ** 2).mean().backward()
                module = exact if function is exact else block
                results.append([p.grad.clone() for p in module.parameters()])
            for g, e, f in zip(*results, strict=True):
                near(g, e, f)
    assert len(records) == 4  # forward and backward, for one length and for all


def test_attention_with_open_lengths() -> None:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, v)

    run = compiled(attend, dynamic=True)
    with torch.no_grad(), report.collected() as records:
        for rows, keys in ((7, 11), (19, 23)):
            q = torch.randn(2, 3, rows, 16)
            k, v = torch.randn(2, 3, keys, 16), torch.randn(2, 3, keys, 16)
            close(run(q, k, v), attend, q, k, v)
    assert len(records) == 1


@pytest.mark.parametrize("heads", [1, 2, 6])
def test_attention_of_shared_heads_and_a_mask(heads: int) -> None:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=m, enable_gqa=True)

    q, m = torch.randn(2, 6, 7, 16), torch.rand(2, 1, 7, 11) > 0.3
    m[..., 0] = True
    k, v = torch.randn(2, heads, 11, 16), torch.randn(2, heads, 11, 16)
    with torch.no_grad(), report.collected() as records:
        close(compiled(attend)(q, k, v, m), attend, q, k, v, m)
    assert "attention" in claimed(records)


def test_an_operation_that_is_not_redfuses_is_left() -> None:
    def mixed(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.softmax(x, -1)
        values, vectors = torch.linalg.eigh(y @ y.T)
        return torch.softmax(values, -1), (vectors**2).sum(-1)

    x = torch.randn(11, 11)
    with torch.no_grad(), report.collected() as records:
        close(compiled(mixed)(x), mixed, x)
    assert any("_linalg_eigh" in why for r in records for why in r.others)


def test_a_kernel_that_fails_to_compile_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise redfuse.CompileError("no luck")

    monkeypatch.setattr(kernels, "_compile", fail)
    monkeypatch.setattr(kernels, "is_ready", lambda _: False)
    x, w, b = torch.randn(9, 31), torch.randn(31), torch.randn(31)
    with torch.no_grad(), report.collected() as records:
        with pytest.warns(redfuse.FusionWarning, match="left to the fall-back: no luck"):
            got = compiled(norm)(x, w, b)
        close(got, norm, x, w, b)
    assert [p.why for r in records for p in r.parts] == ["no luck"]


def test_what_breaks_in_the_pass_breaks_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    from redfuse.frontends.dynamo import partition

    def fail(*_: Any) -> None:
        raise ZeroDivisionError("odd")

    monkeypatch.setattr(partition, "find", fail)
    x, w, b = torch.randn(9, 31), torch.randn(31), torch.randn(31)
    with torch.no_grad(), pytest.warns(redfuse.FusionWarning, match="ZeroDivisionError: odd"):
        close(compiled(norm)(x, w, b), norm, x, w, b)


def test_equal_parts_are_one_kernel() -> None:
    def twice(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return norm(norm(x, w, b) @ x.T @ x, w, b)

    x, w, b = torch.randn(9, 33), torch.randn(33), torch.randn(33)
    with torch.no_grad(), report.collected() as records:
        close(compiled(twice)(x, w, b), twice, x, w, b)
    names = [p.kernel for r in records for p in r.parts]
    assert len(names) == 2 and len(set(names)) == 1


def test_results_that_were_not_row_major_keep_their_strides() -> None:
    def turned(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x.t(), 0).transpose(0, 1) + 1

    x = torch.randn(7, 13)
    with torch.no_grad():
        close(compiled(turned, BY_INDUCTOR)(x), turned, x)
        close(compiled(turned)(x.t().contiguous().t()), turned, x.t().contiguous().t())


def test_rows_that_are_not_together_in_memory_are_left() -> None:
    norm = torch.nn.LayerNorm(512)

    def f(x: torch.Tensor) -> torch.Tensor:
        return norm(x.permute(0, 2, 1))

    told = str(redfuse.explain(f, (torch.randn(4, 512, 600),)))
    assert "whose rows are not together in memory" in told
    assert "whose rows" not in str(redfuse.explain(norm, (torch.randn(4, 600, 512),)))


def test_inputs_that_repeat_or_have_gaps() -> None:
    def spread(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x + y, -1)

    x, y = torch.randn(1, 17).expand(5, 17), torch.randn(5, 40)[:, ::2][:, :17]
    with torch.no_grad():
        close(compiled(spread)(x, y), spread, x, y)


def test_what_is_made_of_numbers_alone_is_left() -> None:
    def numbers(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.arange(7.0).expand(3, 7) * 2, -1) @ x

    x = torch.randn(7, 5)
    with torch.no_grad():
        assert torch.allclose(compiled(numbers)(x), numbers(x))


def test_a_pass_of_the_users_own_runs_first() -> None:
    seen = []
    with torch._inductor.config.patch(
        post_grad_custom_pre_pass=lambda graph: seen.append(len(graph.nodes))
    ):
        x, w, b = torch.randn(9, 31), torch.randn(31), torch.randn(31)
        with torch.no_grad(), report.collected() as records:
            close(compiled(norm, BY_INDUCTOR)(x, w, b), norm, x, w, b)
    assert len(seen) == 1 and claimed(records) == ["rows"]


def test_writes_into_arguments_happen() -> None:
    def step(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        y = torch.softmax(x, -1)
        seen.add_(y)
        return y * 2

    x, seen = torch.randn(5, 19), torch.zeros(5, 19)
    with torch.no_grad():
        got = compiled(step, BY_INDUCTOR)(x, seen)
    assert torch.allclose(seen * 2, got) and torch.allclose(got, torch.softmax(x, -1) * 2)


def test_options() -> None:
    def raises(match: str, options: dict) -> None:
        with pytest.raises(redfuse.ArgumentError, match=match):
            backend(None, [], options=options)

    raises("unknown option 'fallbck'; did you mean 'fallback'", {"fallbck": "eager"})
    raises("fallback", {"fallback": "jax"})
    raises("leaves it out", {"fallback": "eager", "triton.cudagraphs": True})
    x = torch.randn(5, 19)
    with torch.no_grad(), report.collected() as records:
        torch.compile(torch.softmax, backend=backend, options={"claim": "none"})(x, -1)
        torch.compile(torch.softmax, backend=backend, mode="reduce-overhead")(x, -1)
    assert claimed(records) == []


def test_explain_says_who_gets_what_and_why() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        y = torch.softmax(x, -1)
        torch._dynamo.graph_break()
        return torch.linalg.eigvalsh(y @ y.T)

    x = torch.randn(6, 6)
    text = redfuse.explain(model, (x,), options={"claim": "all"})
    line = model.__code__.co_firstlineno + 1
    assert "2 graphs" in text and f"test_dynamo.py:{line}" in text
    assert "graph break at" in text and "_linalg_eigh" in text
    told = redfuse.explain(model, (x,), json=True)
    (part,) = told["graphs"][0]["parts"]
    assert part["kernel"] == "" and part["why_not"].startswith("rows of 6 elements")
    assert told["breaks"][0]["at"].endswith(f"test_dynamo.py:{line + 1}")
    names = {o["name"] for o in told["graphs"][0]["operations"]}
    assert names >= set(part["operations"])
    with pytest.raises(redfuse.ArgumentError, match="inputs: expected a list"):
        redfuse.explain(model, x)


def test_explain_can_be_asked_again_and_again() -> None:
    model, x = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8)), torch.randn(5, 6)
    with torch.no_grad():
        told = [redfuse.explain(model, (x,), json=True, options=ALL) for _ in range(10)]
    assert [len(t["graphs"]) for t in told] == [1] * 10
    assert "explaining.py" not in str(told[0])


def test_explain_has_the_backward_graphs_too() -> None:
    block, x = Block(), torch.randn(2, 13, 36)
    told = redfuse.explain(block, [x], json=True, options=ALL)
    assert len(told["graphs"]) == 2 and told["breaks"] == []
    assert all(p.grad is None for p in block.parameters())


WARM = """
import sys, time, torch, redfuse
from redfuse.frontends.dynamo import backend
from redfuse import compiler
made = []
before = compiler._compile
compiler._compile = lambda *a, **k: (made.append(1), before(*a, **k))[1]
torch.manual_seed(0)
f = torch.compile(lambda x: torch.softmax(x @ x.T, -1) @ x, backend=backend, options={"claim": "all"})
with torch.no_grad():
    y = f(torch.randn(37, 16))
print(len(made), float(y.double().sum()))
"""


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    paths = os.pathsep.join(p for p in sys.path if p)
    env = {**os.environ, "PYTHONPATH": paths, "REDFUSE_CACHE_DIR": str(tmp_path / "redfuse"),
           "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor")}  # fmt: skip
    script = tmp_path / "warm.py"
    script.write_text(WARM)

    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(script)], env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    first, second = run(), run()
    assert int(first[0]) > 0 and int(second[0]) == 0 and first[1] == second[1]
    for path in (tmp_path / "redfuse").glob("*.rfb"):  # those used longest ago go some day
        path.unlink()
    assert int(run()[0]) == int(first[0])
    for path in (tmp_path / "redfuse").iterdir():  # Inductor's graphs are of that folder
        path.unlink()
    assert int(run()[0]) > 0
