"""Small programs of matrix units on a GPU, against fp64: `python test/hardware/checked.py [--repeat 300] [NAMES]`.

Of every way in which kernels with contractions are generated, and small enough for a checker of
memory. Results are poisoned before each of the repeated launches, and all launches must agree in
every bit. One line a program; exit status 1 if one is wrong.
"""

from __future__ import annotations

import itertools
import re
import sys
import time

import cli
import redfuse
import torch
from corpus import poison, to_gpu
from redfuse.bench import cases, exact, programs
from redfuse.runtime.tensors import to_host

# Largest difference over the largest exact value: roundings to the type of the results.
TOLERANCES = {"bf16": 1.5e-2, "f16": 2e-3}


def attention(name: str, *shape: int, dtype: str = "bf16", **words) -> cases.Case:
    """batch, heads, queries, keys, head dim."""
    return cases.attention_case("checked", name, dtype, *shape, **words)


def routing(name: str, rows: int, hidden: int, experts: int, topk: int) -> cases.Case:
    """Products, their softmax and the largest, of which the values are compared: near ties may
    have other places (``routing.py`` has exact ones)."""
    return cases.Case(
        "checked", name, "bf16",
        lambda: programs.moe_routing(rows, hidden, experts, topk, "bf16"),
        (((rows, hidden), "bf16", "normal"), ((hidden, experts), "bf16", "0.05")),
        lambda i: (piece for piece in exact.moe_routing(i, topk) if piece[0] == 0),
        lambda i: None, 0.0, 0.0,
    )  # fmt: skip


def chain(name: str, m: int, n: int, k: int, last: int) -> cases.Case:
    """Two products with a map between them."""
    shapes = (((m, k), "bf16", "0.1"), ((k, n), "bf16", "0.05"), ((n, last), "bf16", "0.05"))
    return cases.Case(
        "checked", name, "bf16", lambda: programs.gemm_chain(m, n, k, last, "bf16"), shapes,
        exact.gemm_chain, lambda i: None, 0.0, 0.0,
    )  # fmt: skip


def gated(name: str, m: int, n: int, k: int) -> cases.Case:
    """Two products of one matrix, multiplied, times a third."""
    weight = ((k, n), "bf16", "0.05")
    return cases.Case(
        "checked", name, "bf16", lambda: programs.gated_ffn(m, n, k, "bf16"),
        (((m, k), "bf16", "0.1"), weight, weight, ((n, k), "bf16", "0.05")),
        exact.gated_ffn, lambda i: None, 0.0, 0.0,
    )  # fmt: skip


CASES = (
    attention("plain", 2, 4, 256, 384, 128),
    attention("causal", 2, 4, 256, 256, 128, kind="causal"),
    attention("odd lengths", 1, 3, 257, 1000, 128),
    attention("f16", 1, 2, 200, 300, 64, dtype="f16"),
    attention("dim 64", 1, 4, 300, 300, 64, kind="causal"),
    attention("dim 80", 1, 2, 130, 250, 80),
    attention("dim 96", 1, 2, 320, 320, 96, kind="causal"),
    attention("dim 256", 1, 2, 200, 200, 256),
    attention("shared heads", 1, 8, 192, 192, 128, kv_heads=2, kind="causal"),
    attention("soft cap", 1, 2, 256, 256, 128, kind="causal+softcap"),
    attention("slopes", 1, 4, 256, 256, 128, kind="causal+alibi"),
    attention("more keys", 1, 2, 100, 700, 128, kind="causal"),
    attention("splits", 1, 40, 1, 3001, 128, kv_heads=4),
    attention("few rows", 1, 64, 1, 4096, 128, kv_heads=8),
    attention("one query", 2, 4, 1, 1500, 128),
    routing("routing", 300, 2048, 64, 6),
    routing("odd routing", 37, 520, 40, 3),
    routing("wide routing", 129, 1024, 128, 8),
    chain("chain", 128, 512, 64, 128),
    chain("odd chain", 100, 250, 72, 40),
    gated("gated", 96, 256, 128),
)


def run(case: cases.Case, target: str, repeat: int) -> bool:
    """Whether one program is right, every time; says how."""
    start = time.perf_counter()
    try:
        exe = redfuse.compile(case.program(), target=target, options={"cache": False})
        # Copied there: what other kernels write a checker takes for never written.
        host = case.inputs(0)
        inputs = [to_gpu(array) for array in host]
        results = exe(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        first = None
        differ = 0
        for _ in range(repeat):
            exe(*inputs, out=tuple(poison(result) for result in results))
            if first is None:
                first = [result.clone() for result in results]
            differ += not all(map(torch.equal, first, results))
        torch.cuda.synchronize()
        arrays = [to_host(result) for result in results]
        error = exact.error(itertools.islice(case.exact(host), 8), arrays)
    except Exception as problem:
        text = " ".join(str(problem).split())[:400]
        print(f"FAIL {case.name}: {type(problem).__name__}: {text}", flush=True)
        return False
    good = error <= TOLERANCES[case.dtype] and not differ
    instructions = sorted(set(re.findall(r"\b(wgmma|mma\.sync)", exe.asm))) or ["no matrix units"]
    print(
        f"{'ok  ' if good else 'FAIL'} {case.name}: error {error:.1e}, {differ} of {repeat} differ, "
        f"{' '.join(instructions)}, {time.perf_counter() - start:.1f} s",
        flush=True,
    )
    return good


def main() -> int:
    """The command line."""
    parser = cli.parser(__doc__)
    parser.add_argument("names", nargs="*")
    cli.add_target(parser)
    parser.add_argument("--repeat", type=int, default=3, help="launches of each (3)")
    given = parser.parse_args()
    chosen = [case for case in CASES if not given.names or case.name in given.names]
    good = [run(case, given.target, max(1, given.repeat)) for case in chosen]
    print(f"{len(good) - sum(good)} failed of {len(good)} programs, {given.repeat} launches each")
    return 0 if all(good) and good else 1


if __name__ == "__main__":
    sys.exit(main())
