"""What ``test_interrupt`` interrupts: ``python interrupted.py KIND TARGET fused|plain``.

Says when it starts what is to be interrupted, and when that has ended, by the clock of all
processes; then goes on as if nothing had been.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import redfuse

SMALL = """
func.func @main(%x: tensor<64x64xf32>) -> tensor<64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<64x64xf32>) outs(%f : tensor<64xf32>)
      dimensions = [1]
  return %r : tensor<64xf32>
}
"""


def repeated(body: str, extent: int) -> str:
    """A program that does the same for as many times as its last argument says."""
    matrix = f"tensor<{extent}x{extent}xf32>"
    return f"""
func.func @main(%x: {matrix}, %y: {matrix}, %n: index) -> {matrix} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> {matrix} {{
    %e = tensor.empty() : {matrix}
    {body.replace("MATRIX", matrix)}
    scf.yield %m : {matrix}
  }}
  return %r : {matrix}
}}
"""


PRODUCTS = """%f = linalg.fill ins(%z : f32) outs(%e : MATRIX) -> MATRIX
    %m = linalg.matmul ins(%a, %y : MATRIX, MATRIX) outs(%f : MATRIX) -> MATRIX"""
SUMS = "%m = linalg.add ins(%a, %y : MATRIX, MATRIX) outs(%e : MATRIX) -> MATRIX"
FOR_EVER = "1099511627776"


def long(count: int) -> str:
    """A program that compiles for seconds: attention after attention."""
    kind = "tensor<64x64xf32>"
    lines = [f"func.func @main(%v0: {kind}, %w: {kind}) -> {kind} {{"]
    lines += [f"  %e = tensor.empty() : {kind}", "  %z = arith.constant 0.0 : f32"]
    for i in range(count):
        lines += [
            f"  %f{i} = linalg.fill ins(%z : f32) outs(%e : {kind}) -> {kind}",
            f"  %p{i} = linalg.matmul ins(%v{i}, %w : {kind}, {kind}) outs(%f{i} : {kind}) -> "
            f"{kind}",
            f"  %s{i} = linalg.softmax dimension(1) ins(%p{i} : {kind}) outs(%e : {kind}) -> "
            f"{kind}",
            f"  %g{i} = linalg.fill ins(%z : f32) outs(%e : {kind}) -> {kind}",
            f"  %v{i + 1} = linalg.matmul ins(%s{i}, %v{i} : {kind}, {kind}) "
            f"outs(%g{i} : {kind}) -> {kind}",
        ]
    return "\n".join([*lines, f"  return %v{count} : {kind}", "}"])


def large(megabytes: int) -> str:
    """A program with a constant, as text."""
    rows = megabytes << 8
    kind = f"tensor<{rows}x1024xf32>"
    data = np.random.default_rng(0).standard_normal((rows, 1024)).astype(np.float32).tobytes()
    return f"""
func.func @main(%x: {kind}) -> {kind} {{
  %c = arith.constant dense<"0x{data.hex().upper()}"> : {kind}
  %e = tensor.empty() : {kind}
  %r = linalg.add ins(%x, %c : {kind}, {kind}) outs(%e : {kind}) -> {kind}
  return %r : {kind}
}}
"""


def say(word: str) -> None:
    """A line for the test."""
    print(word, time.monotonic(), flush=True)


def until_interrupted(work: Callable[[], object]) -> None:
    """Does something again and again."""
    say("start")
    try:
        while True:
            work()
            say("again")
    except KeyboardInterrupt:
        say("ended")


def compile_it(text: str, target: str, options: dict) -> None:
    """What is interrupted is a compilation; the next one is right."""
    until_interrupted(lambda: redfuse.compile(text, target=target, options=options))
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    for _ in range(2):
        exe = redfuse.compile(SMALL)
        np.testing.assert_allclose(exe(x), x.sum(1), rtol=1e-4, atol=1e-4)
    assert exe.compile_seconds == 0, "from the cache"


def call(body: str, extent: int, options: dict) -> None:
    """What is interrupted is a call; the next one is right, and nothing is lost."""
    from redfuse import _ext

    exe = redfuse.compile(repeated(body, extent), options=options)
    x, y = np.eye(extent, dtype=np.float32), np.eye(extent, dtype=np.float32)
    right = exe(x, y, 3)
    out = np.empty_like(x)
    for given in ({}, {"out": out}):
        until_interrupted(lambda given=given: exe(x, y, int(FOR_EVER), **given))
        np.testing.assert_array_equal(exe(x, y, 3), right)
        _ext.reset_memory_peak()
        np.testing.assert_array_equal(exe(x, y, 3, **given), right)
        assert _ext.memory_peak() < 64 << 20, "what the call had is free"


if __name__ == "__main__":
    kind, target, fuse = sys.argv[1], sys.argv[2], sys.argv[3] == "fused"
    if kind == "compile":
        compile_it(long(40), target, {"fuse": fuse})
    elif kind == "constants":
        compile_it(large(64), target, {"fuse": fuse})
    else:
        call(*{"products": (PRODUCTS, 768), "sums": (SUMS, 64)}[kind], {"fuse": fuse})
    say("fine")
