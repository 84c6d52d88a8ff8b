"""Time of a call from Python until its work is enqueued, compile times and loads from the cache:
`python test/hardware/latency.py`."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path

import cli

CORPUS = Path(__file__).parent.parent / "e2e" / "corpus"
NAMES = ("softmax", "layernorm", "moe_routing", "attention_decode", "attention_causal")
CALLS = 200  # fewer than a queue holds, so that no call waits for the GPU


def per_call(call, rounds: int = 30) -> float:
    """Microseconds of the host for one call; the GPU drains between rounds."""
    import torch

    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - start) / CALLS)
    torch.cuda.synchronize()
    return statistics.median(times) * 1e6


def program(rows: int, columns: int) -> str:
    """A softmax so small that the GPU is never behind."""
    from redfuse.bench import programs

    return programs.softmax(rows, columns, "f32")


def main() -> None:
    """The command line."""
    parser = cli.parser(__doc__)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    import os

    os.environ["REDFUSE_CACHE_DIR"] = tempfile.mkdtemp(prefix="redfuse-latency-")
    import redfuse
    import torch

    found: dict = {"host": {}, "compile": {}}
    x = torch.randn(4, 256, device="cuda")
    y = torch.empty_like(x)
    exe = redfuse.compile(program(4, 256), target="cuda")
    calls = {
        "redfuse out=": lambda: exe(x, out=y),
        "redfuse": lambda: exe(x),
        "torch.softmax": lambda: torch.softmax(x, 1),
        "torch.softmax out=": lambda: torch.softmax(x, 1, out=y),
    }
    for name, call in calls.items():
        call()
        found["host"][name] = per_call(call)
        print(f"{name}: {found['host'][name]:.2f} us from call to enqueued", flush=True)
    graph = torch.cuda.CUDAGraph()
    exe(x, out=y)
    with torch.cuda.graph(graph):
        for _ in range(20):
            exe(x, out=y)
    y.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.allclose(y, torch.softmax(x, 1), atol=1e-6), "a replayed graph gives other numbers"
    start, end = torch.cuda.Event(True), torch.cuda.Event(True)
    start.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    found["graph_us"] = start.elapsed_time(end) * 1000 / 20
    print(f"graph replay: {found['graph_us']:.2f} us a launch", flush=True)
    for name in NAMES:
        times = []
        for _ in range(2):
            began = time.perf_counter()
            exe = redfuse.compile(CORPUS / f"{name}.mlir", target="cuda")
            times.append(time.perf_counter() - began)
        found["compile"][name] = times
        print(
            f"{name}: compiled in {times[0]:.2f} s, from the cache in {times[1] * 1e3:.1f} ms "
            f"{ {k: round(v, 3) for k, v in exe.timings.items()} }",
            flush=True,
        )
        for kernel in exe.resources:
            print(f"    {kernel}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
