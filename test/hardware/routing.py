"""Products with a long sum and few columns, then a softmax and its largest: `python test/hardware/routing.py`.

Each first on data whose products are exact and full of ties, where the indices must be those of a
stable sort, then in time, in replays of a graph with inputs that the L2 cache does not hold,
against torch.compile. `--quick` leaves out the times. Exit status 1 if one is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import redfuse
import torch
from redfuse.bench import programs

# rows, length of the sum, columns, how many are kept
TIMED = {
    "R1": (2048, 768, 128, 1),
    "R2": (2048, 1024, 128, 1),
    "R3": (2048, 4096, 128, 1),
    "R4": (2048, 2560, 64, 6),
    "R5": (2048, 8192, 64, 8),
    "R6": (2048, 2048, 64, 6),
    "R7": (2048, 2048, 128, 8),
    "R8": (2048, 4096, 128, 8),
}
ODD = {
    "few rows": (37, 520, 40, 3),
    "prime rows": (2039, 1000, 256, 8),
    "one tile of the sum": (300, 64, 96, 5),
    "many rows": (20000, 512, 16, 5),
    "most columns": (129, 777 * 8, 24, 20),
    "long lists": (4000, 256, 256, 32),
}


def exact(rows: int, length: int, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
    """bf16 matrices whose product is multiples of 1/16 that bf16 holds."""
    x = torch.randint(-1, 2, (rows, length), device="cuda").to(torch.bfloat16)
    sign = torch.randint(0, 2, (length, columns), device="cuda") * 2 - 1
    dense = torch.rand(length, columns, device="cuda") < 1500 / length
    return x, (sign * dense / 16).to(torch.bfloat16)


def replayed(call, sets: list) -> float:
    """Microseconds a call, in replays of a graph of one call for each set."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for given in sets[:2]:
            call(*given)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for given in sets:
            call(*given)
    times = []
    for _ in range(8):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in "ab")
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / len(sets) * 1e3)
    return sorted(times)[len(times) // 2]


def run(name: str, quick: bool) -> bool:
    """Whether one shape is right; says how fast it is."""
    rows, length, columns, kept = (TIMED | ODD)[name]
    text = programs.moe_routing(rows, length, columns, kept, "bf16")
    exe = redfuse.compile(text, target="cuda", options={"cache": False})
    torch.manual_seed(0)
    x, w = exact(rows, length, columns)
    x[rows // 2] = float("nan")
    out = (
        torch.full((rows, kept), 7.0, device="cuda"),
        torch.full((rows, kept), 7, device="cuda"),
    )
    exe(x, w, out=out)
    p = torch.softmax(x.double() @ w.double(), -1)
    order = torch.sort(p, dim=-1, descending=True, stable=True)
    values, indices = order.values[:, :kept], order.indices[:, :kept]
    numbers = torch.arange(rows, device="cuda") != rows // 2
    error = ((out[0] - values)[numbers].norm() / values[numbers].norm()).item()
    right = torch.equal(out[1][numbers], indices[numbers])
    nan = out[0][rows // 2].isnan().all().item()
    nan = nan and out[1][rows // 2].tolist() == list(range(kept))
    first = [o.clone() for o in out]
    same = True
    for _ in range(20):
        exe(x, w, out=out)
        same &= torch.equal(first[1], out[1])
        same &= torch.equal(first[0].view(torch.int32), out[0].view(torch.int32))
    good = error < 1e-5 and right and nan and same
    said = [f"error {error:.1e} indices {right} nan {nan} same {same}"]
    if "wgmma" not in exe.asm:
        said.append("not on matrix units")
    if name in TIMED and not quick:
        count = max(3, min(40, (150 << 20) // (2 * length * (rows + columns))))
        sets = [
            (torch.randn(rows, length, device="cuda", dtype=torch.bfloat16),
             torch.randn(length, columns, device="cuda", dtype=torch.bfloat16) / length**0.5)
            for _ in range(count)
        ]  # fmt: skip
        spelled = torch.compile(
            lambda a, b: torch.topk(torch.softmax((a @ b).float(), -1), kept, -1), dynamic=False
        )
        ours = replayed(lambda a, b: exe(a, b, out=out), sets)
        theirs = replayed(spelled, sets)
        rate = 2 * length * (rows + columns) / ours / 1e6
        said.append(f"{ours:.1f} us, {theirs / ours:.2f} of torch.compile, {rate:.2f} TB/s")
    print("ok" if good else "FAILED", name, (rows, length, columns, kept), *said, flush=True)
    return good


def run_all(names: Iterable[str], run: Callable[[str, bool], bool]) -> int:
    """Runs every case; the exit status."""
    failed = 0
    quick = "--quick" in sys.argv
    for name in names:
        try:
            failed += not run(name, quick)
        except Exception as problem:
            failed += 1
            print("FAILED", name, f"{type(problem).__name__}: {problem}"[:400], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run_all([*ODD, *TIMED], run))
