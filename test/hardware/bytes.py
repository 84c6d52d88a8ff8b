"""Products of 8 bits on a GPU: `python test/hardware/bytes.py [--integers] [ROWSxCOLUMNSxSUM ...]`.

Each beside PyTorch's, L2 cold, in turn and by replaying graphs. Floats beside `_scaled_mm` with sums of
f32 (as ours are), and with the sums that the unit makes by itself (`use_fast_accum`); errors are in
2-norm against fp64, the result's rounding to bf16 among them. Integers beside `_int_mm`, and with
factors of rows and columns and a rounding to bf16 behind it beside torch.compile; results of i32 are
exact. Exit status 1 if an error is above PyTorch's by a tenth.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable

import redfuse
import torch
from timing import microseconds

# Llama-3-8B's weights (columns x sum), at rows of decoding and of prompts; and others.
WEIGHTS = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (128256, 4096)]
SHAPES = [(m, n, k) for m in (16, 64, 256, 2048, 8192) for n, k in WEIGHTS] + [
    (4096, 4096, 4096), (8192, 8192, 8192), (1000, 4000, 4112), (4097, 1008, 336), (333, 1008, 4096),
]  # fmt: skip
L2_BYTES = 60e6


class Product(torch.nn.Module):
    """The product of rows of ``x`` and ``w``, times the scales ``a`` and ``b``."""

    def __init__(self, is_fast: bool) -> None:
        super().__init__()
        self.is_fast = is_fast

    def forward(
        self, x: torch.Tensor, w: torch.Tensor, a: torch.Tensor, b: torch.Tensor
    ) -> torch.Tensor:
        return torch._scaled_mm(
            x, w.t(), a, b, out_dtype=torch.bfloat16, use_fast_accum=self.is_fast
        )


def replayed(call: Callable[[int], object], sets: int) -> Callable[[int], object]:
    """A call that replays as many calls: the host takes no part."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call(0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(sets):
            call(i)
    return lambda _: graph.replay()


def whole(x: torch.Tensor, w: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of rows of ``x`` and ``w`` in i32."""
    return torch._int_mm(x, w.t())


def scaled(x: torch.Tensor, w: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The same, times a factor of each row and each column."""
    return (torch._int_mm(x, w.t()).float() * a * b).to(torch.bfloat16)


def run_integers(m: int, n: int, k: int) -> bool:
    torch.manual_seed(m + n + k)
    sets = max(2, min(16, math.ceil(2 * L2_BYTES / (m * k + n * k + 4 * m * n))))

    def codes(rows: int) -> torch.Tensor:
        return torch.randint(-128, 128, (rows, k), device="cuda", dtype=torch.int8)

    a, b = torch.rand(m, 1, device="cuda"), torch.rand(n, device="cuda")
    inputs = [(codes(m), codes(n)) for _ in range(sets)]
    meta = [v.to("meta") for v in (*inputs[0], a, b)]
    own = {
        f: redfuse.compile(f, inputs=meta, target="cuda", options={"cache": False})
        for f in (whole, scaled)
    }
    torch._dynamo.reset()  # it goes on in eager PyTorch after the eighth shape
    peers = {whole: whole, scaled: torch.compile(scaled, dynamic=False)}
    exact = inputs[0][0][:4096].double() @ inputs[0][1].double().T
    is_exact = torch.equal(own[whole](*inputs[0], a, b)[:4096].double(), exact)

    def error(found: torch.Tensor) -> float:
        wanted = exact * a[:4096].double() * b.double()
        return float((found[:4096].double() - wanted).norm() / wanted.norm())

    errors = [error(f(*inputs[0], a, b)) for f in (own[scaled], peers[scaled])]
    text = ""
    for f in (whole, scaled):
        calls = [replayed(lambda i, g=g: g(*inputs[i], a, b), sets) for g in (own[f], peers[f])]
        times = [[microseconds(call, 1, calls=5) / sets for call in calls] for _ in range(3)]
        mine, theirs = (sorted(one)[1] for one in zip(*times, strict=True))
        text += f"  {f.__name__} {mine:8.1f} us {2e-6 * m * n * k / mine:7.0f} TOP/s {theirs / mine:5.2f}"
    print(
        f"{m:5} x {n:6} x {k:5}{text}  exact {is_exact}  errors "
        + " ".join(f"{1e3 * e:.3f}e-3" for e in errors),
        flush=True,
    )
    return is_exact and errors[0] <= 1.1 * errors[1]


def run(m: int, n: int, k: int) -> bool:
    torch.manual_seed(m + n + k)
    sets = max(2, min(16, math.ceil(2 * L2_BYTES / (m * k + n * k + 2 * m * n))))
    a, b = torch.tensor(0.5, device="cuda"), torch.tensor(0.25, device="cuda")
    inputs = [
        tuple(torch.randn(r, k, device="cuda").to(torch.float8_e4m3fn) for r in (m, n))
        for _ in range(sets)
    ]
    program = torch.export.export(Product(False), (*inputs[0], a, b))
    start = time.perf_counter()
    exe = redfuse.compile(program, target="cuda", options={"cache": False})
    seconds = time.perf_counter() - start
    out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    exact, fast = Product(False), Product(True)
    calls = {
        "redfuse": lambda i: exe(*inputs[i], a, b, out=out),
        "f32 sums": lambda i: exact(*inputs[i], a, b),
        "fast": lambda i: fast(*inputs[i], a, b),
    }
    x, w = (v[: 4096 if v.shape[0] > 4096 else None].double() for v in inputs[0])
    expected = x @ w.T * 0.125

    def error(found: torch.Tensor) -> float:
        found = found[: expected.shape[0], : expected.shape[1]].double()
        return float((found - expected).norm() / expected.norm())

    calls["redfuse"](0)
    errors = {"redfuse": error(out)} | {
        name: error(calls[name](0)) for name in ("f32 sums", "fast")
    }
    graphs = {name: replayed(call, sets) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(3):
        for name, graph in graphs.items():
            times[name].append(microseconds(graph, 1, calls=5) / sets)
    best = {name: sorted(t)[1] for name, t in times.items()}
    own = best["redfuse"]
    print(
        f"{m:5} x {n:6} x {k:5}  {own:8.1f} us {2e-6 * m * n * k / own:7.0f} TFLOP/s  of f32 sums "
        f"{best['f32 sums'] / own:5.2f}  of fast ones {best['fast'] / own:5.2f}  errors "
        + " ".join(f"{1e3 * e:.3f}e-3" for e in errors.values())
        + f"  compiled in {seconds:.1f} s",
        flush=True,
    )
    return errors["redfuse"] <= 1.1 * errors["f32 sums"]


def main() -> int:
    texts = [text for text in sys.argv[1:] if text != "--integers"]
    shapes = [tuple(map(int, text.split("x"))) for text in texts] or SHAPES
    # PyTorch's product of integers has more than 16 rows, and columns by eights.
    one, shapes = (
        (run_integers, [(max(m, 32), n, k) for m, n, k in shapes])
        if "--integers" in sys.argv
        else (run, shapes)
    )
    results = [one(*shape) for shape in shapes]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
