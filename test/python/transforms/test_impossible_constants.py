"""Constants that no memory has, and divisions of indices by zero: an error, or some number, and
never the end of the process. Each program is compiled and called in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

NUMBERS = (-(2**63), -(2**63) + 1, 2**62, 2**63 - 1)
# Sizes whose products no integer has, though each alone is small; or that are negative.
PAIRS = (
    *zip(NUMBERS, NUMBERS, strict=True),
    *zip(NUMBERS, NUMBERS[::-1], strict=True),
    *((-7, 2**32), (2**32, -7), (-(2**32), 2**32), (2**32, -(2**32)), (-7, -7)),
)
X, D = "tensor<4x6xf32>", "tensor<?x?xf32>"
S = "tensor<?x4294967296xf32>"
PAD = "^bb0(%i: index, %j: index):\n tensor.yield %f : f32"
OPS = {
    "offset": f"%v = tensor.extract_slice %x[%c, %d] [2, 2] [1, 1] : {X} to tensor<2x2xf32>",
    "size": f"%v = tensor.extract_slice %x[0, 0] [%c, %d] [1, 1] : {X} to {D}",
    "step": f"%v = tensor.extract_slice %x[0, 0] [2, 2] [%c, %d] : {X} to tensor<2x2xf32>",
    "insert": f"%v = tensor.insert %f into %x[%c, %d] : {X}",
    "pad": f"%v = tensor.pad %x low[%c, 0] high[0, %d] {{\n{PAD}\n}} : {X} to {D}",
    "empty": f"%e = tensor.empty(%c, %d) : {D}\n"
    f"%v = linalg.fill ins(%f : f32) outs(%e : {D}) -> {D}",
    "alloc": f"%e = bufferization.alloc_tensor(%c, %d) : {D}\n"
    f"%v = linalg.fill ins(%f : f32) outs(%e : {D}) -> {D}",
    "wide": f"%e = tensor.empty(%c) : {S}\n%v = linalg.fill ins(%f : f32) outs(%e : {S}) -> {S}",
    "splat": f"%v = tensor.splat %f[%c, %d] : {D}",
    "sum": f"%e = tensor.empty(%c, %d) : {D}\n"
    f"%o = linalg.fill ins(%f : f32) outs(%e : {D}) -> {D}\n"
    "%i = tensor.empty() : tensor<f32>\n"
    "%z = linalg.fill ins(%f : f32) outs(%i : tensor<f32>) -> tensor<f32>\n"
    f"%v = linalg.reduce {{ arith.addf }} ins(%o : {D}) outs(%z : tensor<f32>) dimensions = [0, 1]",
    "generate": f"%v = tensor.generate %c, %d {{\n{PAD}\n}} : {D}",
    "expand": f"%k = tensor.collapse_shape %x [[0, 1]] : {X} into tensor<24xf32>\n"
    "%l = tensor.cast %k : tensor<24xf32> to tensor<?xf32>\n"
    f"%v = tensor.expand_shape %l [[0, 1]] output_shape [%c, %d] : tensor<?xf32> into {D}",
}
RUN = """
import sys, warnings, numpy as np, redfuse
from redfuse.options import Options
warnings.simplefilter("ignore")
x = np.zeros((4, 6), np.float32)
for text in sys.stdin.read().split("// ---"):
    for fuse in (True, False):
        try:
            redfuse.compile(text, options=Options(fuse=fuse, cache=False, opt_level=0))(x)
        except redfuse.Error:
            continue
        raise SystemExit(f"no error: {text}")
"""


def program(body: str, c: int, d: int, how: str) -> str:
    kind = re.findall(r"%v = .*", body, re.S)[0]
    kind = "tensor<f32>" if "linalg.reduce" in kind else re.findall(r"tensor<[^>]*>", kind)[-1]
    numbers = {
        "constant": f"%c = arith.constant {c} : index\n  %d = arith.constant {d} : index",
        "computed": f"%a = arith.constant {c - 1 if c > 0 else c} : index\n"
        f"  %b = arith.constant {d - 1 if d > 0 else d} : index\n"
        f"  %c = arith.addi %a, %{'one' if c > 0 else 'zero'} : index\n"
        f"  %d = arith.addi %b, %{'one' if d > 0 else 'zero'} : index",
    }
    return f"""func.func @main(%x: {X}) -> {kind} {{
  %f = arith.constant 1.0 : f32
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  {numbers[how]}
  {body}
  return %v : {kind}
}}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("how", ["constant", "computed"])
@pytest.mark.parametrize("name", OPS)
def test_constants(name: str, how: str) -> None:
    texts = "// ---\n".join(program(OPS[name], *pair, how) for pair in PAIRS)
    command = [sys.executable, "-c", RUN]
    done = subprocess.run(command, input=texts, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_divisions_of_indices_do_not_trap() -> None:
    """By zero, and of the least by -1: some number, as for integers of a width."""
    ops = ["divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui", "floordivsi"]
    lines = "\n".join(f"  %{op} = arith.{op} %c, %d : index" for op in ops)
    names = ", ".join(f"%{op}" for op in ops)
    text = f"""func.func @main(%c: index, %d: index) -> tensor<{len(ops)}xindex> {{
{lines}
  %v = tensor.from_elements {names} : tensor<{len(ops)}xindex>
  return %v : tensor<{len(ops)}xindex>
}}
"""
    code = f"""
import numpy as np, redfuse
exe = redfuse.compile({text!r}, options={{"cache": False}})
for c, d in ((1, 0), (0, 0), (-(2**63), -1)):
    exe(c, d)
assert np.asarray(exe(7, 2)).tolist() == [3, 3, 1, 1, 4, 4, 3]
"""
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
