"""Programs whose reductions are carried as states, small, with data to run them on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from redfuse.bench import programs
from redfuse.bench.builder import Program

Arrays = list[np.ndarray]
LENGTH = 7
# A machine on which many short kernels are faster than a long one.
_WIDE = (
    '#redfuse.target<"cpu", units = 64, vector_bits = 512, l1 = 32768, l2 = 1048576, '
    "flops = 8192, bandwidth = 1280, launch_ns = 100>"
)


def on_a_wide_machine(text: str) -> str:
    """A program with the prices of such a machine."""
    return text.replace("module {", "module attributes {redfuse.target = " + _WIDE + "} {", 1)


@dataclass(frozen=True)
class Case:
    """text: the program; axes: the streamed axis of the arguments that have it; data: arguments
    for a seed."""

    text: str
    axes: dict[int, int]
    data: Callable[[np.random.Generator], Arrays]

    def unstreamed(self, arguments: Arrays) -> Arrays:
        return [a for i, a in enumerate(arguments) if i not in self.axes]

    def chunk(self, arguments: Arrays, start: int, stop: int) -> Arrays:
        """Elements start to stop - 1 of the streamed arguments."""
        return [
            np.ascontiguousarray(np.take(arguments[i], range(start, stop), axis))
            for i, axis in self.axes.items()
        ]


def normal(*shapes: tuple[int, ...], mean: float = 0.0) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: [(rng.standard_normal(s) + mean).astype(np.float32) for s in shapes]


def logsumexp(rows: int, columns: int) -> str:
    p = Program()
    x = p.argument(rows, columns)
    most = p.max_last(x)
    total = p.sum(p.unary("math.exp", p.binary("subf", x, most)), [1], keepdim=True)
    return p.text(p.binary("addf", p.unary("math.log", total), most))


ARGMAX = """
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<4xNxf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<4xf32>
  %k = tensor.empty() : tensor<4xi64>
  %m0 = linalg.fill ins(%low : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %k0 = linalg.fill ins(%zero : i64) outs(%k : tensor<4xi64>) -> tensor<4xi64>
  %r:2 = linalg.generic {indexing_maps = [#x, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4xNxf32>) outs(%m0, %k0 : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%a: f32, %m: f32, %i: i64):
    %d = linalg.index 1 : index
    %j = arith.index_cast %d : index to i64
    %n = arith.maximumf %a, %m : f32
    %c = arith.cmpf ogt, %a, %m : f32
    %s = arith.select %c, %j, %i : i64
    linalg.yield %n, %s : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xi64>
}
"""

# The mean and variance of rows whose number and length are open.
OPEN_VARIANCE = """
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#p = affine_map<(i) -> (i)>
func.func @main(%x: tensor<?x?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %ni = arith.index_cast %n : index to i64
  %nf = arith.sitofp %ni : i64 to f32
  %e = tensor.empty(%rows) : tensor<?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%z : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %m = linalg.generic {indexing_maps = [#p, #p], iterator_types = ["parallel"]}
      ins(%s : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.divf %a, %nf : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %q = linalg.generic {indexing_maps = [#x, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x, %m : tensor<?x?xf32>, tensor<?xf32>) outs(%z : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %d2 = arith.mulf %d, %d : f32
    %t = arith.addf %d2, %o : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %v = linalg.generic {indexing_maps = [#p, #p], iterator_types = ["parallel"]}
      ins(%q : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.divf %a, %nf : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  return %v : tensor<?xf32>
}
"""


def _inertia(rng: np.random.Generator) -> Arrays:
    return [
        rng.uniform(0.5, 2, (3, LENGTH)).astype(np.float32),
        rng.standard_normal((3, LENGTH, 3)).astype(np.float32),
    ]


_ATTENTION = (1, 2, 3, LENGTH, 4)
CASES: dict[str, Case] = {
    "attention": Case(
        programs.attention(*_ATTENTION),
        {1: 2, 2: 2},
        normal((1, 2, 3, 4), (1, 2, LENGTH, 4), (1, 2, LENGTH, 4)),
    ),
    "causal attention": Case(
        programs.attention(1, 2, LENGTH, LENGTH, 4, kind="causal"),
        {1: 2, 2: 2},
        normal(*[(1, 2, LENGTH, 4)] * 3),
    ),
    "causal attention with slopes": Case(
        programs.attention(1, 2, 3, LENGTH, 4, kind="causal+alibi"),
        {1: 2, 2: 2},
        normal((1, 2, 3, 4), (1, 2, LENGTH, 4), (1, 2, LENGTH, 4), (2,)),
    ),
    "grouped heads": Case(
        programs.attention(1, 4, 3, LENGTH, 4, kv_heads=2),
        {1: 2, 2: 2},
        normal((1, 4, 3, 4), (1, 2, LENGTH, 4), (1, 2, LENGTH, 4)),
    ),
    "bf16 attention": Case(
        programs.attention(*_ATTENTION, dtype="bf16"),
        {1: 2, 2: 2},
        lambda rng: [
            a.astype(_bfloat16())
            for a in normal((1, 2, 3, 4), (1, 2, LENGTH, 4), (1, 2, LENGTH, 4))(rng)
        ],
    ),
    "log-sum-exp": Case(logsumexp(5, LENGTH), {0: 1}, normal((5, LENGTH))),
    "variance": Case(programs.variance(5, LENGTH), {0: 1}, normal((5, LENGTH), mean=1e3)),
    "inertia": Case(programs.inertia(3, LENGTH), {0: 1, 1: 1}, _inertia),
    "argmax": Case(ARGMAX.replace("N", str(LENGTH)), {0: 1}, normal((4, LENGTH))),
    "softmax": Case(programs.softmax(5, LENGTH), {0: 1}, normal((5, LENGTH))),
    "layernorm": Case(
        programs.layernorm(5, LENGTH), {0: 1, 1: 0, 2: 0},
        normal((5, LENGTH), (LENGTH,), (LENGTH,)),
    ),
    "open variance": Case(OPEN_VARIANCE, {0: 1}, normal((5, LENGTH), mean=1e3)),
    "open argmax": Case(ARGMAX.replace("N", "?"), {0: 1}, normal((4, LENGTH))),
}  # fmt: skip


def _bfloat16() -> type:
    import ml_dtypes

    return ml_dtypes.bfloat16
