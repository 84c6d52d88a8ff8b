"""Products of 8 bits with a scale for each block: `python test/hardware/block_scales.py [ROWSxCOLUMNSxSUM ...]`.

Scales of 1 x 128 for rows and 128 x 128 for weights, multiplied before the product as programs write it;
floats and integers; and the same behind a quantisation of rows of bf16 by blocks of 128. L2 cold, in turn
and by replaying graphs, beside torch.compile of the program with factors of bf16 and, for floats, PyTorch's
`_scaled_mm` with scales of blocks where cuBLAS has it. Errors are in 2-norm against fp64, the result's
rounding to bf16 among them. Exit status 1 if one is above 2.5e-3.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable

import redfuse
import torch
from bytes import replayed
from timing import microseconds

SHAPES = [
    (4096, 4096, 4096), (2048, 6144, 4096), (256, 7168, 2048), (64, 4096, 4096), (16, 28672, 4096),
    (4, 4096, 4096), (2, 28672, 4096),
]  # fmt: skip
F8, BF16, I8 = torch.float8_e4m3fn, torch.bfloat16, torch.int8
L2_BYTES = 60e6
Calls = dict[str, Callable[[int], object]]


def numbers(
    x: torch.Tensor, a: torch.Tensor, w: torch.Tensor, b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """What codes and scales stand for, in f32."""
    (m, k), n = x.shape, w.shape[0]
    rows = x.float().reshape(m, k // 128, 128) * a[..., None]
    weights = w.float().reshape(n // 128, 128, k // 128, 128) * b[:, None, :, None]
    return rows.reshape(m, k), weights.reshape(n, k)


def wide(x: torch.Tensor, a: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    rows, weights = numbers(x, a, w, b)
    return (rows @ weights.t()).to(BF16)


def narrow(x: torch.Tensor, a: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    rows, weights = numbers(x, a, w, b)
    return rows.to(BF16) @ weights.to(BF16).t()


def quantised(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    m, k = x.shape
    blocks = x.float().reshape(m, k // 128, 128)
    scales = blocks.abs().amax(-1, keepdim=True) / 448.0
    codes = (blocks / scales).to(F8).reshape(m, k)
    return narrow(codes, scales[..., 0], w, b)


def timed(calls: Calls, sets: int) -> dict[str, float]:
    """Median us of each."""
    graphs = {name: replayed(call, sets) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(3):
        for name, graph in graphs.items():
            times[name].append(microseconds(graph, 1, calls=4) / sets)
    return {name: sorted(t)[1] for name, t in times.items()}


def compiled(f: Callable[..., torch.Tensor], inputs: tuple[torch.Tensor, ...]) -> Callable:
    meta = [v.to("meta") for v in inputs]
    return redfuse.compile(f, inputs=meta, target="cuda", options={"cache": False})


def told(title: str, times: dict[str, float], more: str) -> None:
    own = times.pop("redfuse")
    peers = "  ".join(f"{name} {t:.1f} us {t / own:.2f}" for name, t in times.items())
    print(f"{title}  {own:8.1f} us  {peers}  {more}", flush=True)


def run(m: int, n: int, k: int, kind: torch.dtype) -> bool:
    torch.manual_seed(m + n + k)
    torch._dynamo.reset()
    sets = max(2, min(8, math.ceil(2 * L2_BYTES / (m * k + n * k + 2 * m * n))))

    def draw(*shape: int) -> torch.Tensor:
        if kind == I8:
            return torch.randint(-127, 128, shape, device="cuda", dtype=I8)
        return torch.randn(shape, device="cuda").to(kind)

    def scales(*shape: int) -> torch.Tensor:
        return torch.rand(shape, device="cuda") + 0.1

    data = [
        (draw(m, k), scales(m, k // 128), draw(n, k), scales(n // 128, k // 128))
        for _ in range(sets)
    ]
    own, peer = compiled(wide, data[0]), torch.compile(narrow, dynamic=False)
    rows, weights = (v.double() for v in numbers(*data[0]))
    expected = rows[:512] @ weights.T

    def error(found: torch.Tensor) -> float:
        return float((found[:512].double() - expected).norm() / expected.norm())

    errors = [error(own(*data[0]))]
    calls: Calls = {"redfuse": lambda i: own(*data[i]), "torch.compile": lambda i: peer(*data[i])}
    if kind == F8:
        # As cuBLAS wants them: of rows one behind the other.
        given = [(x, w.t(), a.t().contiguous().t(), b.t()) for x, a, w, b in data]
        theirs = lambda i: torch._scaled_mm(*given[i], out_dtype=BF16)  # noqa: E731
        try:
            errors.append(error(theirs(0)))
            calls["_scaled_mm"] = theirs
        except RuntimeError:
            pass  # not of so few rows
    title = f"{m:5} x {n:6} x {k:5} {str(kind).removeprefix('torch.')}"
    told(title, timed(calls, sets), "errors " + " ".join(f"{1e3 * e:.2f}e-3" for e in errors))
    if kind == F8:
        whole = [(torch.randn(m, k, device="cuda").to(BF16), w, b) for _, _, w, b in data]
        one, other = compiled(quantised, whole[0]), torch.compile(quantised, dynamic=False)
        calls = {"redfuse": lambda i: one(*whole[i]), "torch.compile": lambda i: other(*whole[i])}
        told(f"{'':22} quantised on the way", timed(calls, sets), "")
    return errors[0] <= 2.5e-3


def main() -> int:
    warnings.simplefilter("ignore")
    shapes = [tuple(map(int, text.split("x"))) for text in sys.argv[1:]] or SHAPES
    results = [run(*shape, kind) for kind in (F8, I8) for shape in shapes]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
