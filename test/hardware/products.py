"""Products of matrices with a long sum, on a GPU: `python test/hardware/products.py`.

Each against fp64 and, in time, against PyTorch's product alone. Exit status 1 if one is wrong.
"""

from __future__ import annotations

import sys
from functools import partial

import redfuse
import torch
from attention import measure

# rows, columns, sum, what follows the product
CASES = [
    (2048, 128, 768, "relu"),
    (300, 64, 4096, "softmax"),
    (1000, 256, 1024, "softmax"),
    (4096, 4096, 4096, "relu"),
    (129, 1000, 520, "relu"),
]


def program(rows: int, columns: int, length: int, kind: str) -> str:
    a, b = f"tensor<{rows}x{length}xbf16>", f"tensor<{length}x{columns}xbf16>"
    c, r = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>"
    text = f"""
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
#r = affine_map<(m, n) -> (m)>
func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : {c}
  %z = linalg.fill ins(%zero : f32) outs(%e : {c}) -> {c}
  %p = linalg.generic {{indexing_maps = [#a, #b, #c],
      iterator_types = ["parallel", "parallel", "reduction"]}} ins(%a, %b : {a}, {b}) outs(%z : {c}) {{
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %w = arith.mulf %u, %v : f32
    %t = arith.addf %s, %w : f32
    linalg.yield %t : f32
  }} -> {c}
"""
    if kind == "relu":
        return (
            text
            + f"""
  %o = linalg.generic {{indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}}
      ins(%p : {c}) outs(%e : {c}) {{
  ^bb0(%x: f32, %y: f32):
    %t = arith.maximumf %x, %zero : f32
    linalg.yield %t : f32
  }} -> {c}
  return %o : {c}
}}
"""
        )
    return (
        text
        + f"""
  %re = tensor.empty() : {r}
  %m0 = linalg.fill ins(%low : f32) outs(%re : {r}) -> {r}
  %m = linalg.generic {{indexing_maps = [#e, #r], iterator_types = ["parallel", "reduction"]}}
      ins(%p : {c}) outs(%m0 : {r}) {{
  ^bb0(%x: f32, %y: f32):
    %t = arith.maximumf %x, %y : f32
    linalg.yield %t : f32
  }} -> {r}
  %x = linalg.generic {{indexing_maps = [#e, #r, #e], iterator_types = ["parallel", "parallel"]}}
      ins(%p, %m : {c}, {r}) outs(%e : {c}) {{
  ^bb0(%x: f32, %y: f32, %o: f32):
    %d = arith.subf %x, %y : f32
    %t = math.exp %d : f32
    linalg.yield %t : f32
  }} -> {c}
  %s0 = linalg.fill ins(%zero : f32) outs(%re : {r}) -> {r}
  %s = linalg.generic {{indexing_maps = [#e, #r], iterator_types = ["parallel", "reduction"]}}
      ins(%x : {c}) outs(%s0 : {r}) {{
  ^bb0(%x0: f32, %y: f32):
    %t = arith.addf %x0, %y : f32
    linalg.yield %t : f32
  }} -> {r}
  %o = linalg.generic {{indexing_maps = [#e, #r, #e], iterator_types = ["parallel", "parallel"]}}
      ins(%x, %s : {c}, {r}) outs(%e : {c}) {{
  ^bb0(%x0: f32, %y: f32, %o0: f32):
    %t = arith.divf %x0, %y : f32
    linalg.yield %t : f32
  }} -> {c}
  return %o : {c}
}}
"""
    )


def main() -> int:
    failed = 0
    for rows, columns, length, kind in CASES:
        name = f"{rows}x{columns}x{length} {kind}"
        try:
            exe = redfuse.compile(
                program(rows, columns, length, kind), target="cuda", options={"cache": False}
            )
            torch.manual_seed(0)
            a = torch.randn(rows, length, device="cuda", dtype=torch.bfloat16)
            b = torch.randn(length, columns, device="cuda", dtype=torch.bfloat16) / length**0.5
            out = torch.full((rows, columns), float("nan"), device="cuda")
            exe(a, b, out=out)
            torch.cuda.synchronize()
            expected = a.double() @ b.double()
            expected = expected.relu() if kind == "relu" else expected.softmax(-1)
            error = ((out.double() - expected).norm() / expected.norm()).item()
            first = out.clone()
            for _ in range(20):
                exe(a, b, out=out)
            same = torch.equal(first, out)
            calls = {"redfuse": partial(exe, a, b, out=out), "torch": partial(torch.matmul, a, b)}
            times = measure(calls)
            bad = not error < 1e-5 or not same
            units = "wgmma" in exe.asm
            print("FAILED" if bad else "ok", name, f"error {error:.1e}", f"same {same}",
                  f"matrix units {units}", {k: round(v * 1e3, 1) for k, v in times.items()},
                  flush=True)  # fmt: skip
        except Exception as problem:
            bad = True
            print("FAILED", name, f"{type(problem).__name__}: {problem}"[:400], flush=True)
        failed += bad
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
