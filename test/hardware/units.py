"""Contractions by matrix instructions of a warp, on a GPU: `python test/hardware/units.py`.

Compiled for sm_90, which has no matrix units of a warpgroup: everything else is what the GPU
has. Each against fp64 and, in time, against PyTorch: its own choice, and for attention the kernel that
multiplies by the same instructions (FlashAttention 2). Exit status 1 if one is wrong.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import redfuse
import torch
from attention import measure
from redfuse.bench import programs
from redfuse.bench.builder import Program

BF16 = torch.bfloat16


def product(rows: int, columns: int, length: int, dtype: str = "bf16", swapped: str = "") -> str:
    """A product, in f32; ``swapped`` operands are transposed in memory."""
    p = Program()

    def operand(a: int, b: int, name: str):
        value = p.argument(*((b, a) if name in swapped else (a, b)), dtype=dtype)
        return p.transpose(value, [1, 0]) if name in swapped else value

    return p.text(
        p.relu(p.cast(p.matmul(operand(rows, length, "a"), operand(length, columns, "b")), "f32"))
    )


def products(rows: int, columns: int, length: int, swapped: str = "") -> tuple:
    a = torch.randn(length, rows) if "a" in swapped else torch.randn(rows, length)
    b = torch.randn(columns, length) if "b" in swapped else torch.randn(length, columns)

    def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return ((a.T if "a" in swapped else a) @ (b.T if "b" in swapped else b)).relu()

    text = product(rows, columns, length, swapped=swapped)
    return text, [a.to(BF16), b.to(BF16)], reference


def attention(batch: int, heads: int, rows: int, keys: int, dim: int, kind: str = "none") -> tuple:
    tensors = [torch.randn(batch, heads, n, dim).to(BF16) for n in (rows, keys, keys)]
    reference = partial(
        torch.nn.functional.scaled_dot_product_attention, is_causal=kind == "causal"
    )
    return programs.attention(batch, heads, rows, keys, dim, "bf16", None, kind), tensors, reference


def chain(m: int, n: int, k: int, last: int) -> tuple:
    tensors = [torch.randn(*shape).to(BF16) for shape in ((m, k), (k, n), (n, last))]

    def reference(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return (a @ b).relu() @ c

    return programs.gemm_chain(m, n, k, last, "bf16"), tensors, reference


def quantised(m: int, n: int, k: int) -> tuple:
    weights = torch.randint(-128, 128, (k, n), dtype=torch.int8)
    tensors = [torch.randn(m, k), weights, torch.rand(n)]

    def reference(x: torch.Tensor, w: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        largest = x.abs().amax(1, keepdim=True).clamp_min(1e-12)
        rounded = (x * (1 / largest * 127)).round().clamp(-127, 127)
        return rounded @ w.to(x.dtype) * (largest / 127) * scale

    return programs.quant_gemm(m, n, k), tensors, reference


CASES: dict[str, Callable[[], tuple]] = {
    "4096x4096x4096": lambda: products(4096, 4096, 4096),
    "4096x4096x4096 b": lambda: products(4096, 4096, 4096, "b"),
    "2048x1024x4096 a": lambda: products(2048, 1024, 4096, "a"),
    "64x4096x4096 b": lambda: products(64, 4096, 4096, "b"),
    "1001x513x777": lambda: products(1001, 513, 777),
    "1001x513x777 ab": lambda: products(1001, 513, 777, "ab"),
    "attention 4x16x2048x64": lambda: attention(4, 16, 2048, 2048, 64),
    "attention 4x16x4096x64": lambda: attention(4, 16, 4096, 4096, 64),
    "attention 4x16x4096x64 causal": lambda: attention(4, 16, 4096, 4096, 64, "causal"),
    "attention 4x16x4096x128": lambda: attention(4, 16, 4096, 4096, 128),
    "attention 4x16x4096x128 causal": lambda: attention(4, 16, 4096, 4096, 128, "causal"),
    "attention 8x16x1024x128": lambda: attention(8, 16, 1024, 1024, 128),
    "attention 2x8x4096x256": lambda: attention(2, 8, 4096, 4096, 256),
    "attention 1x3x257x1000x80": lambda: attention(1, 3, 257, 1000, 80),
    "chain": lambda: chain(4096, 256, 256, 64),
    "quantised": lambda: quantised(1024, 1024, 1024),
}


def flash(reference: Callable, *tensors: torch.Tensor) -> torch.Tensor:
    """FlashAttention 2, whatever PyTorch would choose."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
        return reference(*tensors)


def run(name: str, schedule: str) -> bool:
    torch.manual_seed(0)
    source, tensors, reference = CASES[name]()
    start = time.perf_counter()
    exe = redfuse.compile(
        source, target="cuda:sm_90", options={"cache": False, "schedule": schedule}
    )
    seconds = time.perf_counter() - start
    tensors = [tensor.cuda() for tensor in tensors]
    got = exe(*tensors)
    # fp64 of all heads at once takes more memory than there is.
    wide = [t.double() if t.is_floating_point() else t for t in tensors]
    if "attention" in name:
        wide, own = [t[:1] for t in wide], got[:1]
    else:
        own = got
    expected = reference(*wide)
    error = ((own.double() - expected).norm() / expected.norm()).item()
    same = all(torch.equal(got, exe(*tensors)) for _ in range(5))
    calls = {"redfuse": partial(exe, *tensors, out=torch.empty_like(got)),
             "torch": partial(reference, *tensors)}  # fmt: skip
    if "attention" in name:
        calls["flash"] = partial(flash, reference, *tensors)
    times = measure(calls, rounds=5, inner=3)
    bad = not error < 6e-3 or not same
    ratio = times["torch"] / times["redfuse"]
    peer = f" (flash {times['flash'] / times['redfuse']:.3f})" if "flash" in times else ""
    registers = max(r.registers for r in exe.resources)
    print("FAILED" if bad else "ok", f"{name:30} {schedule:8} error {error:.1e}"
          f" {times['redfuse'] * 1e3:9.1f} us, torch {times['torch'] * 1e3:9.1f},"
          f" ratio {ratio:.3f}{peer}, {exe.asm.count('mma.sync')} mma, {registers} registers,"
          f" compiled in {seconds:.2f} s", flush=True)  # fmt: skip
    return bad


def main() -> int:
    wanted = sys.argv[1:]
    failed = 0
    for name in CASES:
        if wanted and not any(word in name for word in wanted):
            continue
        try:
            failed += run(name, "auto")
        except Exception as problem:
            failed += 1
            print("FAILED", name, f"{type(problem).__name__}: {problem}"[:400], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
