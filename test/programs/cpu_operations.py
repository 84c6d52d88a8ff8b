"""Products, convolutions, reductions and cascades on this CPU, beside PyTorch's own, in turn.

``python test/programs/cpu_operations.py [NAME ...] [--threads N]`` prints a line for each: both
times (ms, the median of rounds, each the least of a few calls), the ratio, both errors against fp64
(relative, in the max norm). A name may end in ``*``.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import math
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

Case = tuple[str, Callable[..., Any], list[tuple[int, ...]]]


def products() -> Iterator[Case]:
    for n in (256, 512, 1024, 2048):
        yield f"product_{n}", lambda a, b: a @ b, [(n, n), (n, n)]
        yield f"product_{n}_nt", lambda a, b: a @ b.T, [(n, n), (n, n)]
        yield f"product_{n}_tn", lambda a, b: a.T @ b, [(n, n), (n, n)]
    for name, m, k, n in (
        ("long_64", 64, 65536, 64),
        ("long_256", 256, 65536, 256),
        ("short", 4096, 32, 4096),
        ("tall", 8192, 16, 8192),
        ("odd", 1023, 777, 1111),
        ("vector", 1, 4096, 4096),
        ("of_vector", 4096, 8192, 1),
    ):
        yield f"product_{name}", lambda a, b: a @ b, [(m, k), (k, n)]
    for m in (1, 16, 64):
        yield f"product_{m}_rows_nt", lambda a, b: a @ b.T, [(m, 4096), (4096, 4096)]
    for m in (2, 4, 8, 16, 32):
        yield f"product_{m}_rows", lambda a, b: a @ b, [(m, 1024), (1024, 1024)]
    yield "product_8_rows_odd", lambda a, b: a @ b, [(8, 777), (777, 1111)]
    yield "product_8_rows_large", lambda a, b: a @ b, [(8, 4096), (4096, 4096)]
    yield "product_batched", lambda a, b: a @ b, [(64, 128, 256), (64, 256, 128)]
    yield "product_4d", lambda a, b: a @ b, [(4, 32, 64, 256), (256, 768)]
    for n in (768, 3072):
        yield f"linear_{n}", lambda a, b: a @ b.T, [(512, 768), (n, 768)]


def convolutions() -> Iterator[Case]:
    from torch.nn import functional

    def case(name: str, x: tuple[int, ...], w: tuple[int, ...], **kwargs: Any) -> Case:
        transposed = "transpose" if kwargs.pop("transposed", False) else ""
        kind = f"conv_{transposed}{len(x) - 2}d" if transposed else f"conv{len(x) - 2}d"
        function = getattr(functional, kind)
        return name, lambda a, b: function(a, b, **kwargs), [x, w]

    yield case("conv_3x3_64", (1, 64, 56, 56), (64, 64, 3, 3), padding=1)
    yield case("conv_3x3_256", (1, 256, 14, 14), (256, 256, 3, 3), padding=1)
    yield case("conv_1x1", (1, 256, 56, 56), (64, 256, 1, 1))
    yield case("conv_1x1_wide", (1, 512, 14, 14), (2048, 512, 1, 1))
    yield case("conv_7x7_stride", (1, 3, 224, 224), (64, 3, 7, 7), padding=3, stride=2)
    yield case("conv_11x11_stride", (4, 3, 224, 224), (96, 3, 11, 11), padding=2, stride=4)
    yield case("conv_3x3_stride", (1, 128, 56, 56), (128, 128, 3, 3), padding=1, stride=2)
    yield case("conv_3_channels", (8, 3, 256, 256), (64, 3, 3, 3))
    yield case("depthwise", (4, 64, 128, 128), (64, 1, 3, 3), padding=1, groups=64)
    yield case("depthwise_stride", (4, 64, 128, 128), (64, 1, 3, 3), padding=1, groups=64, stride=2)
    yield case("grouped", (1, 256, 28, 28), (256, 32, 3, 3), padding=1, groups=8)
    yield case("dilated", (1, 64, 56, 56), (64, 64, 3, 3), padding=2, dilation=2)
    yield case("conv_1d", (8, 64, 4096), (128, 64, 3), padding=1)
    yield case("conv_3d", (1, 16, 16, 64, 64), (32, 16, 3, 3, 3), padding=1)
    yield case(
        "transposed_2d", (2, 64, 64, 64), (64, 32, 4, 4), padding=1, stride=2, transposed=True
    )
    yield case("transposed_1d", (4, 64, 4096), (64, 32, 5), stride=2, transposed=True)
    yield case("transposed_3d", (1, 16, 8, 32, 32), (16, 16, 3, 3, 3), transposed=True)


def reductions() -> Iterator[Case]:
    from torch.nn import functional

    large = [(4096, 4096)]
    image = [(16, 64, 128, 128)]
    yield "sum_rows", lambda x: x.sum(-1), [(4096, 8192)]
    yield "sum_short_rows", lambda x: x.sum(-1), [(16384, 512)]
    yield "max_rows", lambda x: x.amax(-1), [(4096, 8192)]
    yield "sum_columns", lambda x: x.sum(0), [(4096, 8192)]
    yield "sum_middle", lambda x: x.sum(1), [(64, 256, 1024)]
    yield "mean", lambda x: x.mean(), [(4096, 8192)]
    yield "norm", lambda x: x / x.norm(dim=-1, keepdim=True), large
    yield "softmax", lambda x: functional.softmax(x, -1), large
    yield "softmax_short", lambda x: functional.softmax(x, -1), [(65536, 128)]
    yield "layer_norm", lambda x: functional.layer_norm(x, (4096,)), large
    yield "batch_norm", lambda x: functional.batch_norm(x, None, None, training=True), image
    yield "group_norm", lambda x: functional.group_norm(x, 8), image
    yield "argmax", lambda x: x.argmax(1), [(128, 512, 256)]
    yield "cumsum", lambda x: x.cumsum(1), large
    yield "max_pool", lambda x: functional.max_pool2d(x, 3, 2, 1), [(8, 64, 128, 128)]
    yield "avg_pool", lambda x: functional.avg_pool2d(x, 3), [(8, 64, 128, 128)]
    yield "mse", functional.mse_loss, [(4096, 4096), (4096, 4096)]
    yield "gelu", lambda x: functional.gelu(x), large


def cascades() -> Iterator[Case]:
    """Products with what lies between them, of few rows and of many; scans of rows."""
    from torch.nn import functional

    def attention(q: Any, k: Any, v: Any) -> Any:
        return functional.scaled_dot_product_attention(q, k, v)

    def causal(q: Any, k: Any, v: Any) -> Any:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    for n in (64, 128, 197, 512, 1024, 2048):
        yield f"attention_{n}", attention, [(1, 12, n, 64)] * 3
        if n != 197:
            yield f"causal_{n}", causal, [(1, 12, n, 64)] * 3
    yield "attention_1_query", attention, [(1, 32, 1, 128)] + [(1, 32, 1024, 128)] * 2
    for m in (8, 64, 256, 1024):
        yield f"softmax_{m}", lambda x, w: (x @ w).softmax(-1), [(m, 512), (512, 1024)]
        yield f"norm_{m}", lambda x, w: normalised(x) @ w, [(m, 768), (768, 768)]
        yield (
            f"layers_{m}", lambda x, w, u: functional.relu(x @ w) @ u,
            [(m, 256), (256, 1024), (1024, 256)],
        )  # fmt: skip
        yield (
            f"gated_{m}", lambda x, w, u, d: (functional.silu(x @ w) * (x @ u)) @ d,
            [(m, 256), (256, 704), (256, 704), (704, 256)],
        )  # fmt: skip
        yield f"logsumexp_{m}", lambda x, w: (x @ w).logsumexp(-1), [(m, 256), (256, 8192)]
    for shape in ((1024, 512), (4096, 64), (16, 32768), (1, 1 << 20)):
        name = "x".join(map(str, shape))
        yield f"cumsum_{name}", lambda x: x.cumsum(-1), [shape]


def drawn(seed: int) -> Iterator[Case]:
    """Products of few rows, causal attention, cumulative sums and linear layers at shapes that nobody
    chose."""
    from torch.nn import functional

    def size(low: float, high: float) -> int:
        return int(2 ** generator.uniform(low, high))

    generator = random.Random(seed)
    for _ in range(8):
        m, k, n = generator.randrange(2, 41), size(7, 12), size(7, 12)
        yield f"few_{m}x{k}x{n}", lambda a, b: a @ b, [(m, k), (k, n)]
    for _ in range(8):
        shape = (1, size(2, 5), size(6, 11), generator.choice((32, 64, 80, 96, 128)))
        name = "causal_" + "x".join(map(str, shape[1:]))
        attend = functional.scaled_dot_product_attention
        yield name, lambda q, k, v, f=attend: f(q, k, v, is_causal=True), [shape] * 3
    for _ in range(8):
        n = size(3, 17)
        shape = (max(1, size(14, 22) // n), n)
        yield f"cumsum_{shape[0]}x{n}", lambda x: x.cumsum(-1), [shape]
    for _ in range(8):
        m, k, n = generator.randrange(1, 33), size(6, 12), size(6, 12)
        yield f"linear_{m}x{k}x{n}", functional.linear, [(m, k), (n, k), (n,)]


def normalised(x: Any) -> Any:
    return (x - x.mean(-1, keepdim=True)) * (x.var(-1, keepdim=True, correction=0) + 1e-5).rsqrt()


def measure(function: Callable[..., Any], inputs: list[Any]) -> tuple[float, float, float, float]:
    """Milliseconds and errors, ours and PyTorch's."""
    import numpy as np
    import redfuse

    ours = redfuse.compile(function, inputs=inputs, target="cpu", options={"cache": False})
    want = np.asarray(function(*(x.double() for x in inputs)))
    scale = np.abs(want).max() or 1.0
    errors = [float(np.abs(np.asarray(f(*inputs)) - want).max() / scale) for f in (ours, function)]

    def seconds(f: Callable[..., Any]) -> float:
        start = time.perf_counter()
        f(*inputs)
        return time.perf_counter() - start

    once = max(seconds(ours), seconds(function))
    # What spins after a call of one of them is over after some calls of the other.
    calls = max(3, int(0.01 / once))
    rounds = max(5, min(25, int(0.7 / (once * calls))))
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for own, f in zip(times, (ours, function), strict=True):
            own.append(min(seconds(f) for _ in range(calls)))
    mine, theirs = (1e3 * statistics.median(own) for own in times)
    return mine, theirs, errors[0], errors[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="those alone")
    parser.add_argument("--threads", type=int, default=0, help="of both; 0: all that there are")
    parser.add_argument("--draw", type=int, metavar="SEED", help="shapes drawn from it instead")
    given = parser.parse_args()
    if given.threads:
        os.environ["REDFUSE_NUM_THREADS"] = str(given.threads)
    import torch

    threads = given.threads or len(os.sched_getaffinity(0))
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    print(f"{threads} threads, PyTorch {torch.__version__}")
    print(f"{'operation':20} {'ms':>9} {'PyTorch':>9} {'ratio':>6}  {'error':>7}  PyTorch's")
    kinds: tuple[Callable[[], Iterator[Case]], ...] = (
        products, convolutions, reductions, cascades,
    )  # fmt: skip
    if given.draw is not None:
        kinds = (functools.partial(drawn, given.draw),)
    for kind in kinds:
        ratios = []
        for name, function, shapes in kind():
            if given.names and not any(fnmatch.fnmatch(name, p) for p in given.names):
                continue
            inputs = [torch.randn(shape) for shape in shapes]
            mine, theirs, error, other = measure(function, inputs)
            ratios.append(theirs / mine)
            print(
                f"{name:20} {mine:9.3f} {theirs:9.3f} {ratios[-1]:6.2f}  {error:7.1e}  {other:7.1e}",
                flush=True,
            )
        if ratios:
            mean = math.exp(statistics.fmean(math.log(r) for r in ratios))
            called = getattr(kind, "__name__", "drawn")
            print(f"{called}: {mean:.2f} in geometric mean, least {min(ratios):.2f}\n")


if __name__ == "__main__":
    main()
