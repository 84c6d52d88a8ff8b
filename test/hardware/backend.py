"""Models that people have, through torch.compile: this backend beside Inductor.

``python test/hardware/backend.py --out FILE`` appends a line of JSON for each model: ``ratio``
(Inductor's time over ours; over 1 is faster), times in ms, ``error`` and ``inductor_error`` against
the model in more precision, and ``own``, the share of device time in redfuse's kernels. A model is a
process of its own, which may die or take too long (``--budget`` seconds); what FILE has already is
not measured again. ``--claim all`` claims whatever can be claimed, ``--graphs`` measures with CUDA
graphs (mode="reduce-overhead"). ``--jobs N`` compiles N models at a time; one at a time is timed.
``--suite FILE`` measures the models of a file instead: its ``models()`` yields a name, a function that
makes the model in f32, and the inputs.

On a GPU in bf16, in the time of its events. ``--device cpu`` (``tools/dev backend``): in f32, smaller
inputs, on one thread in processor time, which others on the machine disturb least; the median of pairs.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import cli

Made = tuple[Any, tuple[Any, ...]]
MODELS: dict[str, Callable[[], Made]] = {}
WORDS = 30522
ON_GPU = True


def size(on_gpu: int, on_cpu: int) -> int:
    """One for each device."""
    return on_gpu if ON_GPU else on_cpu


def model(make: Callable[[], Made]) -> Callable[[], Made]:
    """Registers a function that makes a model in f32 and its inputs."""
    MODELS[make.__name__] = make
    return make


def take_models(path: Path) -> None:
    """Those of a file instead of ours."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader, f"{path} is not a Python file"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    MODELS.clear()
    for name, make, inputs in module.models():
        MODELS[name] = lambda make=make, inputs=inputs: (make(), inputs)  # type: ignore[misc]


def _ids(batch: int, length: int, words: int = WORDS) -> Any:
    import torch

    return torch.randint(3, words, (batch, length))


@model
def bert_base() -> Made:
    """16 texts of 512 words; one of 256 on a CPU."""
    import transformers as hf

    return hf.BertModel(hf.BertConfig()), (_ids(size(16, 1), size(512, 256)),)


@model
def bert_base_one() -> Made:
    """One text of 128 words."""
    import transformers as hf

    return hf.BertModel(hf.BertConfig()), (_ids(1, 128),)


@model
def gpt2() -> Made:
    """8 texts of 1024 words; one of 256 on a CPU."""
    import transformers as hf

    return hf.GPT2Model(hf.GPT2Config(use_cache=False)), (_ids(size(8, 1), size(1024, 256)),)


def _llama_layer(batch: int = 0, room: int = 0) -> Any:
    """A layer as Llama-3-8B has it: 32 heads of 128, 8 of them of keys; with a cache, if there is
    room for one, which it writes."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.o = (nn.Linear(4096, 4096, bias=False) for _ in range(2))
            self.k, self.v = (nn.Linear(4096, 1024, bias=False) for _ in range(2))
            self.gate, self.up = (nn.Linear(4096, 14336, bias=False) for _ in range(2))
            self.down = nn.Linear(14336, 4096, bias=False)
            self.before, self.after = (nn.Parameter(torch.ones(4096)) for _ in range(2))
            self.register_buffer("keys", torch.randn(batch, 8, room, 128))
            self.register_buffer("values", torch.randn(batch, 8, room, 128))

        @staticmethod
        def norm(x: Any, weight: Any) -> Any:
            y = x.float()
            return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight

        @staticmethod
        def turn(x: Any, cos: Any, sin: Any) -> Any:
            a, b = x.chunk(2, -1)
            return x * cos + torch.cat([-b, a], -1) * sin

        def forward(self, x: Any, cos: Any, sin: Any, place: Any = None) -> Any:
            b, s, _ = x.shape
            y = self.norm(x, self.before)
            q = self.turn(self.q(y).view(b, s, 32, 128).transpose(1, 2), cos, sin)
            k = self.turn(self.k(y).view(b, s, 8, 128).transpose(1, 2), cos, sin)
            v = self.v(y).view(b, s, 8, 128).transpose(1, 2)
            if place is None:
                z = functional.scaled_dot_product_attention(
                    q, k, v, is_causal=True, enable_gqa=True
                )
            else:
                k = self.keys.index_copy_(2, place, k)
                v = self.values.index_copy_(2, place, v)
                seen = torch.arange(k.shape[2], device=x.device) <= place
                z = functional.scaled_dot_product_attention(
                    q, k, v, attn_mask=seen[None, None, None], enable_gqa=True
                )
            x = x + self.o(z.transpose(1, 2).reshape(b, s, 4096))
            y = self.norm(x, self.after)
            return x + self.down(functional.silu(self.gate(y)) * self.up(y))

    return Layer()


@model
def llama_prefill() -> Made:
    """A prompt of 4096 words; 1024 on a CPU."""
    import torch

    length = size(4096, 1024)
    angles = torch.rand(length, 128)
    return _llama_layer(), (torch.randn(1, length, 4096), angles.cos(), angles.sin())


@model
def llama_decode() -> Made:
    """The next word of 8 texts, with room for 8192; of one on a CPU."""
    import torch

    angles = torch.rand(1, 128)
    batch, room = size(8, 1), 8192
    x = torch.randn(batch, 1, 4096)
    place = torch.tensor([room - 192])
    return _llama_layer(batch, room), (x, angles.cos(), angles.sin(), place)


@model
def vit_base() -> Made:
    """64 images; one on a CPU."""
    import torch
    import transformers as hf

    return hf.ViTModel(hf.ViTConfig()), (torch.randn(size(64, 1), 3, 224, 224),)


@model
def whisper_small_encoder() -> Made:
    """8 pieces of 30 seconds; one on a CPU."""
    import torch
    import transformers as hf
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = hf.WhisperConfig(d_model=768, encoder_layers=12, encoder_attention_heads=12,
                              encoder_ffn_dim=3072, num_mel_bins=80)  # fmt: skip
    return WhisperEncoder(config), (torch.randn(size(8, 1), 80, 3000),)


def _mamba(hidden: int, inner: int, states: int, rank: int) -> Any:
    """A block of Mamba, its states an associative scan, as transformers compiles it."""
    import torch
    from torch import nn
    from torch._higher_order_ops.associative_scan import associative_scan
    from torch.nn import functional

    def combine(left: Any, right: Any) -> Any:
        (a, h), (b, x) = left, right
        return a * b, b * h + x

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inward = nn.Linear(hidden, 2 * inner, bias=False)
            self.conv = nn.Conv1d(inner, inner, 4, groups=inner, padding=3)
            self.selected = nn.Linear(inner, rank + 2 * states, bias=False)
            self.steps = nn.Linear(rank, inner)
            self.log = nn.Parameter(torch.arange(1.0, states + 1).log().repeat(inner, 1))
            self.skip = nn.Parameter(torch.ones(inner))
            self.outward = nn.Linear(inner, hidden, bias=False)
            self.norm = nn.Parameter(torch.ones(hidden))

        def forward(self, x: Any) -> Any:
            y = x.float()
            y = (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.norm
            u, gate = self.inward(y).transpose(1, 2).chunk(2, 1)
            u = functional.silu(self.conv(u)[:, :, : x.shape[1]])
            dt, b, c = self.selected(u.transpose(1, 2)).split([rank, states, states], -1)
            dt = self.steps.weight @ dt.transpose(1, 2) + self.steps.bias[:, None]
            dt = functional.softplus(dt)[..., None]
            scale = torch.exp(-torch.exp(self.log.float())[None, :, None] * dt)
            fed = dt * b[:, None].float() * u[..., None].float()
            mode = "pointwise" if x.is_cuda else "generic"
            _, h = associative_scan(combine, (scale, fed), dim=2, combine_mode=mode)
            y = (h.transpose(1, 2).to(x.dtype) @ c[..., None])[..., 0].transpose(1, 2)
            y = (y + u * self.skip[:, None]) * functional.silu(gate)
            return x + self.outward(y.transpose(1, 2).to(x.dtype))

    return Block()


@model
def mamba_block() -> Made:
    """A block of Mamba-130M's sizes, 4 texts of 2048 words; one of 512 on a CPU."""
    import torch

    return _mamba(768, 1536, 16, 48), (torch.randn(size(4, 1), size(2048, 512), 768),)


def first(results: Any) -> Any:
    """The first tensor of what a model returns."""
    if hasattr(results, "to_tuple"):
        results = results.to_tuple()
    while isinstance(results, (tuple, list)):
        results = results[0]
    return results


def milliseconds(calls: list[Callable[[], Any]], seconds: float) -> list[float]:
    """The median time of each, taken in turns."""
    for call in calls:
        for _ in range(4 if ON_GPU else 1):
            call()
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for i, call in enumerate(calls):
            times[i].append(gpu_time(call) if ON_GPU else cpu_time(call))
    return [sorted(t)[len(t) // 2] for t in times]


def cpu_time(call: Callable[[], Any]) -> float:
    """Of the processor, in ms."""
    start = time.process_time()
    call()
    return (time.process_time() - start) * 1e3


def gpu_time(call: Callable[[], Any]) -> float:
    """Of four calls in a row, in ms a call."""
    import torch

    begin, done = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(4):
        call()
    done.record()
    done.synchronize()
    return begin.elapsed_time(done) / 4


def kernel_times(call: Callable[[], Any]) -> dict[str, float]:
    """Device time of each kernel of a call, in us, by name."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    rounds = 3
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(rounds):
            call()
        torch.cuda.synchronize()
    times: dict[str, float] = {}
    for event in seen.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            times[event.name] = times.get(event.name, 0.0) + event.device_time_total / rounds
    return times


def longest(times: dict[str, float]) -> list[str]:
    """The six longest kernels."""
    return [f"{times[n]:.0f} us {n[:70]}" for n in sorted(times, key=lambda n: -times[n])[:6]]


def own_share(times: dict[str, float], programs: Any) -> float:
    """Of device time in the kernels of these programs."""
    names = {k["name"] for program in programs for k in program.explanation["kernels"]}
    names |= {r.kernel for program in programs for r in program.resources}
    return round(sum(t for n, t in times.items() if n in names) / (sum(times.values()) or 1), 4)


def cast(inputs: tuple, dtype: Any) -> tuple:
    """Those that are floats in another type."""
    return tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)


def tell(words: str) -> None:
    """What is done from now on: the end of a process that is stopped says so."""
    print(f"{words} ...", file=sys.stderr, flush=True)


@contextlib.contextmanager
def turn(lock: str) -> Iterator[None]:
    """While no other process that has the same file is in here."""
    if not lock:
        yield
        return
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def measure(name: str, claim: str, graphs: bool, seconds: float, lock: str) -> dict[str, Any]:
    """The row of one model."""
    import torch
    from redfuse.frontends.dynamo import backend, kernels, report

    torch.manual_seed(0)
    device = "cuda" if ON_GPU else "cpu"
    mode = "reduce-overhead" if graphs else "default"
    tell("making the model")
    with torch.device(device):  # weights are drawn there
        made, inputs = MODELS[name]()
    made = made.eval()
    with torch.no_grad():
        if ON_GPU:
            made, inputs = made.cuda(), tuple(x.cuda() for x in inputs)
            exact = first(made(*inputs)).double()
            made, inputs = made.bfloat16(), cast(inputs, torch.bfloat16)
        else:
            torch.set_num_threads(1)
            exact = first(made.double()(*cast(inputs, torch.float64)))
            made = made.float()
        # Each compiles once, the one that may gain by what the other left in caches last.
        torch.compile(lambda x: x + 1)(torch.zeros(8, device=device))
        tell("redfuse and Inductor compile")
        start = time.perf_counter()
        ours = torch.compile(
            made, backend=backend, mode=None if mode == "default" else mode, options=None
        ) if claim == "predicted" else torch.compile(
            made, backend=backend, options={"claim": claim, "mode": mode}
        )  # fmt: skip
        with report.collected() as records:
            got = first(ours(*inputs)).double()
        own_seconds = time.perf_counter() - start
        tell("Inductor compiles")
        start = time.perf_counter()
        theirs = torch.compile(made, mode=mode)
        expected = first(theirs(*inputs)).double()
        fused = fused_attention_error(lambda: first(made(*inputs)).double(), exact)
        their_seconds = time.perf_counter() - start
        tell("timing")
        calls: list[Callable[[], Any]] = [lambda: ours(*inputs), lambda: theirs(*inputs)]
        with turn(lock):
            mine, other = milliseconds(calls, seconds)
            times, other_times = [kernel_times(c) for c in calls] if ON_GPU else ({}, {})
        share = own_share(times, kernels.loaded().values()) if ON_GPU else None
    scale = float(exact.abs().max())
    parts = [p for r in records for p in r.parts]
    return {
        "model": name, "claim": claim, "graphs": graphs, "device": torch.cuda.get_device_name() if ON_GPU else device,
        "torch": torch.__version__, "ratio": round(other / mine, 4), "ms": round(mine, 4),
        "inductor_ms": round(other, 4), "own": share,
        "error": float((got - exact).abs().max()) / scale,
        "inductor_error": float((expected - exact).abs().max()) / scale,
        "fused_attention_error": fused,
        "compile_s": round(own_seconds, 1), "inductor_compile_s": round(their_seconds, 1),
        "claimed": [p.title for p in parts if p.kernel],
        "left": sorted({f"{p.title}: {p.why}"[:200] for p in parts if not p.kernel})[:12],
        "longest": longest(times), "inductor_longest": longest(other_times),
    }  # fmt: skip


def fused_attention_error(call: Callable[[], Any], exact: Any) -> float | None:
    """Of eager PyTorch with its fused attentions alone, which multiply in 16 bits: where it has none
    for a model's attention, it, and Inductor, multiply in f32. None where one is needed."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    if not ON_GPU:
        return None
    try:
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
            return float((call() - exact).abs().max()) / float(exact.abs().max())
    except RuntimeError:
        return None


def known(path: Path) -> set[tuple]:
    """What a file has a result of."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines if line.strip()]
    return {(r["model"], r["claim"], r["graphs"], r["on"]) for r in rows if "ratio" in r}


def alone(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """A model in a process of its own."""
    command = [sys.executable, __file__, "--one", name, "--claim", given.claim,
               "--device", given.device, "--seconds", str(given.seconds),
               "--lock", f"{given.out}.lock" if given.jobs > 1 else "",
               *(["--suite", str(given.suite)] if given.suite else []),
               *(["--graphs"] if given.graphs else [])]  # fmt: skip
    row = {"model": name, "claim": given.claim, "graphs": given.graphs, "on": given.device}
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = child.communicate(timeout=given.budget)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        _, err = child.communicate()
        return {**row, "failed": f"took longer than {given.budget:.0f} s", "words": err[-600:]}
    lines = [line for line in out.splitlines() if line.startswith('{"model"')]
    if child.returncode or not lines:
        return {**row, "failed": f"ended with {child.returncode}", "words": err[-1500:]}
    return {**row, **json.loads(lines[-1])}


def main() -> int:
    """0 if every model has a result."""
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--only", default="", metavar="NAME,...", help="these models")
    add("--suite", type=Path, metavar="FILE", help="the models of a file instead of ours")
    add("--out", type=Path, default=Path("backend.jsonl"), metavar="FILE", help="the record")
    add("--claim", default="predicted", choices=("predicted", "all", "none"))
    add("--device", default="cuda", choices=("cuda", "cpu"))
    add("--graphs", action="store_true", help="CUDA graphs for both")
    add("--budget", type=float, default=240.0, help="seconds for one model (240)")
    add("--seconds", type=float, default=4.0, help="of timing (4)")
    add("--jobs", type=int, default=1, metavar="N", help="models that are compiled at a time (1)")
    add("--lock", default="", help=argparse.SUPPRESS)
    add("--one", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    global ON_GPU
    ON_GPU = given.device == "cuda"
    if given.suite:
        take_models(given.suite)
    if given.one:
        print(json.dumps(measure(given.one, given.claim, given.graphs, given.seconds, given.lock)))
        return 0
    done, failed = known(given.out), False
    wanted = [n for n in given.only.split(",") if n] or list(MODELS)
    wanted = [n for n in wanted if (n, given.claim, given.graphs, given.device) not in done]
    with ThreadPoolExecutor(given.jobs) as pool:
        rows = [pool.submit(alone, name, given) for name in wanted]
        for done_one in as_completed(rows):
            row = done_one.result()
            failed |= "failed" in row
            with given.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            shown = {k: row[k] for k in ("ratio", "own", "ms", "inductor_ms", "failed") if k in row}
            print(row["model"], json.dumps(shown), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
