"""Programs that read and write at computed places: calls that are right, with their results, and
calls that reach outside."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

FAR = (1 << 40, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, -(1 << 63), -(1 << 62), -(1 << 40))
X = np.random.default_rng(7).normal(size=40).astype(np.float32)
XY = np.random.default_rng(8).normal(size=(5, 7)).astype(np.float32)


@dataclasses.dataclass(frozen=True)
class Case:
    """``good``: (arguments, results); ``bad``: arguments of calls that must fail with ``match``."""

    name: str
    text: str
    good: Sequence[tuple]
    bad: Sequence[tuple]
    match: str = "outside"
    # Compiles without fusion alone, or for GPUs not at all.
    on_gpu: bool = True


CASES: list[Case] = []


def case(name: str, text: str, good: Sequence[tuple], bad: Sequence[tuple], **more: object) -> None:
    prologue = "%c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
    head, body = text.strip().split("{\n", 1)
    whole = f"func.func @main{head}{{\n  {prologue}{body}"
    CASES.append(Case(name, whole, good, bad, **more))  # type: ignore[arg-type]


def numbers(*values: int, dtype: str = "int64") -> np.ndarray:
    return np.array(values, dtype)


def pointwise(ins: str, out: str, body: str, empty: str = "") -> str:
    """A generic over one parallel dim; ``ins``: names and types of its inputs."""
    names, types = ins.split(":", 1)
    count = names.count("%")
    maps = ", ".join(["affine_map<(i) -> (i)>"] * (count + 1))
    elements = [t.split("x")[-1].strip(" >") for t in types.split(",")]
    arguments = ", ".join(f"%a{k}: {e}" for k, e in enumerate(elements))
    kind = out.split("x")[-1].strip(" >")
    return f"""%e = tensor.empty({empty}) : {out}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
      ins({names} :{types}) outs(%e : {out}) {{
  ^bb0({arguments}, %o: {kind}):
    {body}
  }} -> {out}
  return %r : {out}
}}"""


def f0(value: float) -> np.ndarray:
    return np.float32(value).reshape(())


AT = (0, 39, 17)
OUT = (-1, 40, *FAR)

# The programs stand beside their calls.
# fmt: off

# Elements on the host.
case("extract", """(%x: tensor<40xf32>, %i: index) -> tensor<f32> {
  %v = tensor.extract %x[%i] : tensor<40xf32>
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((X, i), f0(X[i])) for i in AT], [(X, i) for i in OUT])
case("extract_dynamic", """(%x: tensor<?x?xf32>, %i: index, %j: index) -> tensor<f32> {
  %v = tensor.extract %x[%i, %j] : tensor<?x?xf32>
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((XY, i, j), f0(XY[i, j])) for i, j in ((0, 0), (4, 6))],
    [(XY, 0, 7), (XY, 5, 0), (XY, -1, 0), (XY, 0, -1), (XY[:0], 0, 0), (XY[:, :0], 0, 0),
     *((XY, i, 0) for i in FAR), *((XY, 0, i) for i in FAR)])
case("extract_wraps", """(%x: tensor<40xf32>, %i: index) -> tensor<f32> {
  %c4 = arith.constant 4 : index
  %k = arith.muli %i, %c4 : index
  %v = tensor.extract %x[%k] : tensor<40xf32>
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((X, 9), f0(X[36])), ((X, 1 << 62), f0(X[0])), ((X, (1 << 62) + 1), f0(X[4]))],
    [(X, 10), (X, -1), (X, 1 << 61), (X, (1 << 62) + 10)])
case("extract_truncated", """(%x: tensor<40xf32>, %i: i64) -> tensor<f32> {
  %n = arith.trunci %i : i64 to i32
  %k = arith.index_cast %n : i32 to index
  %v = tensor.extract %x[%k] : tensor<40xf32>
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((X, (1 << 32) + 3), f0(X[3]))], [(X, 1 << 31), (X, 40), (X, -1)])
case("extract_unsigned", """(%x: tensor<40xf32>, %i: i8) -> tensor<f32> {
  %k = arith.index_castui %i : i8 to index
  %v = tensor.extract %x[%k] : tensor<40xf32>
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((X, 39), f0(X[39]))], [(X, 40), (X, -1), (X, -128)])
case("extract_selected", """(%x: tensor<40xf32>, %c: i1, %i: index, %j: index) -> tensor<f32> {
  %k = arith.select %c, %i, %j : index
  %v = tensor.extract %x[%k] : tensor<40xf32>
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((X, True, 3, 1000), f0(X[3])), ((X, False, -1, 5), f0(X[5]))],
    [(X, False, 3, 1000), (X, True, -1, 5)])
case("extract_applied", """(%x: tensor<40xf32>, %i: index) -> tensor<f32> {
  %k = affine.apply affine_map<(d0) -> (d0 floordiv 3 + 2)>(%i)
  %v = tensor.extract %x[%k] : tensor<40xf32>
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((X, 0), f0(X[2])), ((X, 113), f0(X[39])), ((X, -6), f0(X[0]))],
    [(X, 114), (X, -7), (X, 1 << 60), (X, -(1 << 60))])
case("extract_of_computed", """(%x: tensor<40xf32>, %i: index) -> tensor<f32> {
  %e = tensor.empty() : tensor<40xf32>
  %y = linalg.exp ins(%x : tensor<40xf32>) outs(%e : tensor<40xf32>) -> tensor<40xf32>
  %v = tensor.extract %y[%i] : tensor<40xf32>
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((X, i), f0(np.exp(X[i]))) for i in AT], [(X, i) for i in OUT])
case("extract_of_constant", """(%i: index) -> tensor<i64> {
  %t = arith.constant dense<[3, 1, 4, 1, 5]> : tensor<5xi64>
  %v = tensor.extract %t[%i] : tensor<5xi64>
  %r = tensor.from_elements %v : tensor<i64>
  return %r : tensor<i64>
}""", [((2,), np.int64(4).reshape(()))], [(5,), (-1,), *((i,) for i in FAR)])
case("extract_in_branch", """(%x: tensor<?xf32>, %c: i1, %i: index) -> tensor<f32> {
  %v = scf.if %c -> f32 {
    %a = tensor.extract %x[%i] : tensor<?xf32>
    scf.yield %a : f32
  } else {
    %b = arith.constant 2.0 : f32
    scf.yield %b : f32
  }
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((X, True, 39), f0(X[39])), *(((X, False, i), f0(2)) for i in OUT)],
    [(X, True, i) for i in OUT])
case("extract_in_switch", """(%x: tensor<?xf32>, %c: index, %i: index) -> tensor<f32> {
  %v = scf.index_switch %c -> f32
  case 2 {
    %a = tensor.extract %x[%i] : tensor<?xf32>
    scf.yield %a : f32
  }
  default {
    %b = arith.constant 2.0 : f32
    scf.yield %b : f32
  }
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((X, 2, 39), f0(X[39])), ((X, 3, 40), f0(2))], [(X, 2, i) for i in OUT])
case("insert", """(%x: tensor<40xf32>, %i: index) -> tensor<40xf32> {
  %one = arith.constant 1.0 : f32
  %r = tensor.insert %one into %x[%i] : tensor<40xf32>
  return %r : tensor<40xf32>
}""", [((X, i), np.where(np.arange(40) == i, np.float32(1), X)) for i in AT],
    [(X, i) for i in OUT])
case("insert_dynamic", """(%x: tensor<?xf32>, %i: index) -> tensor<?xf32> {
  %one = arith.constant 1.0 : f32
  %r = tensor.insert %one into %x[%i] : tensor<?xf32>
  return %r : tensor<?xf32>
}""", [((X, i), np.where(np.arange(40) == i, np.float32(1), X)) for i in AT],
    [*((X, i) for i in OUT), (X[:0], 0), (X[:3], 3)])

# Loops.
case("insert_loop", """(%x: tensor<40xf32>, %n: index) -> tensor<40xf32> {
  %one = arith.constant 1.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> (tensor<40xf32>) {
    %s = tensor.insert %one into %y[%i] : tensor<40xf32>
    scf.yield %s : tensor<40xf32>
  }
  return %r : tensor<40xf32>
}""", [((X, n), np.where(np.arange(40) < n, np.float32(1), X)) for n in (0, 1, 40, -5, -(1 << 63))],
    [(X, 41), (X, 60), (X, 1 << 40), (X, (1 << 63) - 1)])
case("insert_moved", """(%x: tensor<?xf32>, %n: index, %by: index) -> tensor<?xf32> {
  %one = arith.constant 1.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> (tensor<?xf32>) {
    %k = arith.addi %i, %by : index
    %s = tensor.insert %one into %y[%k] : tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}""", [((X, 5, 35), np.where(np.arange(40) >= 35, np.float32(1), X)), ((X, 0, 1 << 62), X),
       ((X, -1, -1), X)],
    [(X, 5, 36), (X, 1, -1), (X, 7, (1 << 63) - 3), (X, 7, -3), *((X, 40, i) for i in FAR)])
case("insert_backwards", """(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %one = arith.constant 1.0 : f32
  %size = tensor.dim %x, %c0 : tensor<?xf32>
  %last = arith.subi %size, %c1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> (tensor<?xf32>) {
    %k = arith.subi %last, %i : index
    %s = tensor.insert %one into %y[%k] : tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}""", [((X, 3), np.where(np.arange(40) >= 37, np.float32(1), X)), ((X[:0], 0), X[:0])],
    [(X, 41), (X[:0], 1), (X, (1 << 63) - 1)])
case("insert_steps", """(%x: tensor<?xf32>, %a: index, %b: index, %s: index) -> tensor<?xf32> {
  %one = arith.constant 1.0 : f32
  %r = scf.for %i = %a to %b step %s iter_args(%y = %x) -> (tensor<?xf32>) {
    %t = tensor.insert %one into %y[%i] : tensor<?xf32>
    scf.yield %t : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}""", [((X, 4, 40, 6), np.where(np.arange(40) % 6 == 4, np.float32(1), X)), ((X, 9, 9, 1), X)],
    [(X, 4, 41, 6), (X, -1, 3, 1), (X, 0, 41, 1), (X, 0, 1 << 62, 1 << 61)])
case("loop_stands_still", """(%x: tensor<?xf32>, %s: index) -> tensor<?xf32> {
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = scf.for %i = %c0 to %n step %s iter_args(%y = %x) -> (tensor<?xf32>) {
    %t = tensor.insert %one into %y[%i] : tensor<?xf32>
    scf.yield %t : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}""", [((X, 1), np.ones_like(X))], [(X, 0), (X, -1), (X, -(1 << 63))], match="not positive")
case("gather_loop", """(%x: tensor<?xf32>, %at: tensor<?xi64>) -> tensor<?xf32> {
  %n = tensor.dim %at, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %e) -> (tensor<?xf32>) {
    %a = tensor.extract %at[%i] : tensor<?xi64>
    %k = arith.index_cast %a : i64 to index
    %v = tensor.extract %x[%k] : tensor<?xf32>
    %s = tensor.insert %v into %y[%i] : tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}""", [((X, numbers(3, 39, 0, 3)), X[[3, 39, 0, 3]]), ((X[:0], numbers()), X[:0])],
    [*((X, numbers(3, i, 0)) for i in OUT), (X[:0], numbers(0)), (X[:2], numbers(2))])
case("sum_gathered", """(%x: tensor<40xf32>, %at: tensor<?xi32>) -> tensor<f32> {
  %n = tensor.dim %at, %c0 : tensor<?xi32>
  %zero = arith.constant 0.0 : f32
  %v = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (f32) {
    %a = tensor.extract %at[%i] : tensor<?xi32>
    %k = arith.index_cast %a : i32 to index
    %e = tensor.extract %x[%k] : tensor<40xf32>
    %s = arith.addf %sum, %e : f32
    scf.yield %s : f32
  }
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((X, numbers(3, 39, dtype="int32")), f0(X[3] + X[39])), ((X, numbers(dtype="int32")), f0(0))],
    [(X, numbers(3, i, dtype="int32")) for i in (-1, 40, (1 << 31) - 1, -(1 << 31))])
case("no_rounds", """(%x: tensor<?xf32>, %y: tensor<?xf32>, %k: index) -> tensor<?xf32> {
  %n = tensor.dim %y, %c0 : tensor<?xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %y) -> (tensor<?xf32>) {
    %v = tensor.extract %x[%k] : tensor<?xf32>
    %s = tensor.insert %v into %t[%i] : tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}""", [*((((X, X[:0], i)), X[:0]) for i in OUT), ((X, X[:4], 5), np.full(4, X[5]))],
    [(X, X[:4], i) for i in OUT])
case("no_rounds_around_slices", """(%x: tensor<?xf32>, %n: index, %k: index, %m: index)
    -> tensor<?xf32> {
  %e = tensor.empty(%m) : tensor<?xf32>
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %f) -> (tensor<?xf32>) {
    %v = tensor.extract_slice %x[%k] [%m] [1] : tensor<?xf32> to tensor<?xf32>
    %s = linalg.add ins(%v, %t : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>)
        -> tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}""", [*((((X, 0, i, 3)), np.zeros(3, np.float32)) for i in OUT), ((X, 1, 30, 10), X[30:])],
    [(X, 1, i, 3) for i in OUT])
case("chase", """(%next: tensor<?xi64>, %start: index, %steps: index) -> tensor<i64> {
  %end:2 = scf.while (%k = %start, %left = %steps) : (index, index) -> (index, index) {
    %more = arith.cmpi sgt, %left, %c0 : index
    scf.condition(%more) %k, %left : index, index
  } do {
  ^bb0(%k: index, %left: index):
    %a = tensor.extract %next[%k] : tensor<?xi64>
    %b = arith.index_cast %a : i64 to index
    %less = arith.subi %left, %c1 : index
    scf.yield %b, %less : index, index
  }
  %v = arith.index_cast %end#0 : index to i64
  %r = tensor.from_elements %v : tensor<i64>
  return %r : tensor<i64>
}""", [((numbers(2, 7, 1), 0, 3), np.int64(7).reshape(())), ((numbers(5), 9, 0),
                                                            np.int64(9).reshape(()))],
    [(numbers(2, 7, 1), 0, 4), (numbers(2, -1, 1), 0, 4), (numbers(1), 1, 1),
     (numbers(1 << 62), 0, 2)], on_gpu=False)
case("triangle", """(%x: tensor<?xf32>, %n: index) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %v = scf.for %i = %c0 to %n step %c1 iter_args(%outer = %zero) -> (f32) {
    %w = scf.for %j = %c0 to %i step %c1 iter_args(%sum = %outer) -> (f32) {
      %k = arith.subi %i, %j : index
      %e = tensor.extract %x[%k] : tensor<?xf32>
      %s = arith.addf %sum, %e : f32
      scf.yield %s : f32
    }
    scf.yield %w : f32
  }
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((np.arange(5, dtype=np.float32), 5), f0(20)), ((X[:0], 1), f0(0)), ((X[:0], -3), f0(0))],
    [(X[:4], 5), (X[:1], 2), (X, 1 << 62)])
case("guarded_read", """(%x: tensor<?xf32>) -> tensor<?xf32> {
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %e) -> (tensor<?xf32>) {
    %c = arith.cmpi sgt, %i, %c0 : index
    %v = scf.if %c -> f32 {
      %k = arith.subi %i, %c1 : index
      %a = tensor.extract %x[%k] : tensor<?xf32>
      scf.yield %a : f32
    } else {
      scf.yield %zero : f32
    }
    %s = tensor.insert %v into %y[%i] : tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}""", [((X,), np.concatenate([np.zeros(1, np.float32), X[:-1]])), ((X[:0],), X[:0])], [])
case("clamped_read", """(%x: tensor<?xf32>) -> tensor<?xf32> {
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %e) -> (tensor<?xf32>) {
    %b = arith.subi %i, %c1 : index
    %k = arith.maxsi %b, %c0 : index
    %v = tensor.extract %x[%k] : tensor<?xf32>
    %s = tensor.insert %v into %y[%i] : tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}""", [((X,), np.concatenate([X[:1], X[:-1]])), ((X[:0],), X[:0])], [])
case("forall", """(%x: tensor<?xf32>, %n: index, %by: index) -> tensor<?xf32> {
  %one = arith.constant dense<1.0> : tensor<3xf32>
  %c3 = arith.constant 3 : index
  %r = scf.forall (%i) in (%n) shared_outs(%y = %x) -> (tensor<?xf32>) {
    %k = arith.muli %i, %c3 : index
    %at = arith.addi %k, %by : index
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %one into %y[%at] [3] [1] : tensor<3xf32> into tensor<?xf32>
    }
  }
  return %r : tensor<?xf32>
}""", [((X, 13, 1), np.where(np.arange(40) >= 1, np.float32(1), X)), ((X, 0, 500), X)],
    [(X, 13, 2), (X, 1, -1), (X, 1, 1 << 62), (X, 1, 38)])

# Bodies.
GATHER = pointwise("%i : tensor<?xi64>", "tensor<?xf32>", """%k = arith.index_cast %a0 : i64 to index
    %v = tensor.extract %x[%k] : tensor<40xf32>
    linalg.yield %v : f32""", "%n")
case("gather", """(%x: tensor<40xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  %n = tensor.dim %i, %c0 : tensor<?xi64>
  """ + GATHER, [((X, numbers(*AT)), X[list(AT)]), ((X, numbers()), X[:0]),
                 ((X, numbers(*range(40))), X)],
    [(X, numbers(*([5] * 30), i)) for i in OUT])
case("gather_static", """(%x: tensor<40xf32>, %i: tensor<9xi64>) -> tensor<9xf32> {
  """ + GATHER.replace("?xi64", "9xi64").replace("?xf32", "9xf32").replace("%n", ""),
    [((X, numbers(*range(31, 40))), X[31:])], [(X, numbers(*([5] * 8), i)) for i in OUT])
case("gather_of_none", """(%x: tensor<?xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  %n = tensor.dim %i, %c0 : tensor<?xi64>
  """ + GATHER.replace("40", "?"),
    [((X[:0], numbers()), X[:0]), ((X[:2], numbers(1)), X[1:2])],
    [(X[:0], numbers(0)), (X[:0], numbers(-1)), (X[:2], numbers(0, 2, 1))])
case("gather_rows", """(%x: tensor<?x?xf32>, %i: tensor<?xi64>) -> tensor<?x?xf32> {
  %n = tensor.dim %i, %c0 : tensor<?xi64>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%i : tensor<?xi64>)
      outs(%e : tensor<?x?xf32>) {
  ^bb0(%a: i64, %o: f32):
    %k = arith.index_cast %a : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %x[%k, %j] : tensor<?x?xf32>
    linalg.yield %v : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}""", [((XY, numbers(4, 0, 4)), XY[[4, 0, 4]]), ((XY[:, :0], numbers(9)), XY[:1, :0])],
    [(XY, numbers(4, i)) for i in (-1, 5, *FAR)])
case("gather_small_ints", """(%x: tensor<40xi1>, %i: tensor<?xi8>) -> tensor<?xi1> {
  %n = tensor.dim %i, %c0 : tensor<?xi8>
  """ + pointwise("%i : tensor<?xi8>", "tensor<?xi1>", """%k = arith.index_cast %a0 : i8 to index
    %v = tensor.extract %x[%k] : tensor<40xi1>
    linalg.yield %v : i1""", "%n"),
    [((X > 0, numbers(3, 39, dtype="int8")), (X > 0)[[3, 39]])],
    [(X > 0, numbers(3, i, dtype="int8")) for i in (-1, 40, 127, -128)])
case("gather_of_gather", """(%x: tensor<40xf32>, %i: tensor<?xi64>, %j: tensor<?xi64>)
    -> tensor<?xf32> {
  %n = tensor.dim %i, %c0 : tensor<?xi64>
  %m = tensor.dim %j, %c0 : tensor<?xi64>
  %first = """ + GATHER.split("%r = ")[1].split("  return")[0].replace("outs(%e", "outs(%e0") + """
  """ + GATHER.replace("%x[", "%first[").replace("tensor<40", "tensor<?").replace("%i ", "%j ")
    .replace("%n", "%m"),
    [((X, numbers(5, 6, 39), numbers(2, 0)), X[[39, 5]])],
    [*((X, numbers(5, 6), numbers(0, i)) for i in (-1, 2, *FAR)),
     *((X, numbers(5, i), numbers(0, 1)) for i in OUT)])
CASES[-1] = dataclasses.replace(CASES[-1], text=CASES[-1].text.replace(
    "  %first =", "  %e0 = tensor.empty(%n) : tensor<?xf32>\n  %first ="))
case("gather_then_softmax", """(%x: tensor<?x8xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  %n = tensor.dim %i, %c0 : tensor<?xi64>
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%i : tensor<?xi64>)
      outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: i64, %o: f32):
    %k = arith.index_cast %a : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %x[%k, %j] : tensor<?x8xf32>
    linalg.yield %v : f32
  } -> tensor<?x8xf32>
  %s = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%low : f32) outs(%s : tensor<?xf32>) -> tensor<?xf32>
  %max = linalg.reduce {arith.maximumf} ins(%g : tensor<?x8xf32>) outs(%f : tensor<?xf32>)
      dimensions = [1]
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%g, %max : tensor<?x8xf32>, tensor<?xf32>) outs(%z : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %p = math.exp %d : f32
    %q = arith.addf %p, %o : f32
    linalg.yield %q : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}""", [((X.reshape(5, 8), numbers(4, 1)),
        np.exp(X.reshape(5, 8)[[4, 1]] - X.reshape(5, 8)[[4, 1]].max(1, keepdims=True)).sum(1))],
    [(X.reshape(5, 8), numbers(4, i)) for i in (-1, 5, *FAR)])
case("position", """(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %n = tensor.dim %y, %c0 : tensor<?xf32>
  """ + pointwise("%y : tensor<?xf32>", "tensor<?xf32>", """%k = linalg.index 0 : index
    %v = tensor.extract %x[%k] : tensor<?xf32>
    %s = arith.addf %v, %a0 : f32
    linalg.yield %s : f32""", "%n"),
    [((X, X), X + X), ((X, X[:7]), X[:7] + X[:7]), ((X[:0], X[:0]), X[:0])],
    [(X[:39], X), (X[:0], X[:1])])
case("position_reversed", """(%x: tensor<?xf32>, %y: tensor<?xf32>, %from: index)
    -> tensor<?xf32> {
  %n = tensor.dim %y, %c0 : tensor<?xf32>
  """ + pointwise("%y : tensor<?xf32>", "tensor<?xf32>", """%i = linalg.index 0 : index
    %k = arith.subi %from, %i : index
    %v = tensor.extract %x[%k] : tensor<?xf32>
    %s = arith.addf %v, %a0 : f32
    linalg.yield %s : f32""", "%n"),
    [((X, X, 39), X[::-1] + X), ((X, X[:0], 1 << 62), X[:0])],
    [(X, X, 38), (X, X, 40), *((X, X[:5], i) for i in FAR)])
case("position_twice", """(%x: tensor<?xf32>, %y: tensor<5xf32>, %z: tensor<7xf32>, %by: index)
    -> tensor<5x7xf32> {
  %e = tensor.empty() : tensor<5x7xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%y, %z : tensor<5xf32>, tensor<7xf32>) outs(%e : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.addi %i, %j : index
    %l = arith.addi %k, %by : index
    %v = tensor.extract %x[%l] : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<5x7xf32>
  return %r : tensor<5x7xf32>
}""", [((X, X[:5], X[:7], b), X[np.add.outer(np.arange(5), np.arange(7)) + b]) for b in (0, 29)],
    [*((X, X[:5], X[:7], b) for b in (-1, 30, *FAR)), (X[:10], X[:5], X[:7], 0)])
case("remainder", """(%x: tensor<40xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  %n = tensor.dim %i, %c0 : tensor<?xi64>
  %m = arith.constant 40 : index
  """ + GATHER.replace("%v = ", "%h = arith.remui %k, %m : index\n    %v = ").replace(
        "%x[%k]", "%x[%h]"),
    [((X, numbers(41, -1, 80)), X[[1, (2**64 - 1) % 40, 0]])], [])
case("asserted", """(%x: tensor<?xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  %n = tensor.dim %i, %c0 : tensor<?xi64>
  %m = tensor.dim %x, %c0 : tensor<?xf32>
  %none = arith.constant 0 : i64
  """ + GATHER.replace("40", "?").replace("%v = ", """%p = arith.cmpi slt, %k, %m : index
    cf.assert %p, "it is outside above"
    %q = arith.cmpi sge, %a0, %none : i64
    cf.assert %q, "it is outside below"
    %v = """),
    [((X, numbers(*AT)), X[list(AT)])], [(X, numbers(3, i)) for i in OUT])
case("asserted_too_weakly", """(%x: tensor<?xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  %n = tensor.dim %i, %c0 : tensor<?xi64>
  %m = tensor.dim %x, %c0 : tensor<?xf32>
  %low = arith.constant -3 : i64
  """ + GATHER.replace("40", "?").replace("%v = ", """%p = arith.cmpi sle, %k, %m : index
    cf.assert %p, "it is outside above"
    %q = arith.cmpi sge, %a0, %low : i64
    cf.assert %q, "it is outside below"
    %v = """),
    [((X, numbers(*AT)), X[list(AT)])], [(X, numbers(3, i)) for i in (*OUT, -2, 40)])
case("from_behind", """(%x: tensor<?xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  %n = tensor.dim %i, %c0 : tensor<?xi64>
  %m = tensor.dim %x, %c0 : tensor<?xf32>
  %size = arith.index_cast %m : index to i64
  %none = arith.constant 0 : i64
  """ + GATHER.replace("40", "?").replace("%k = arith.index_cast %a0", """\
%neg = arith.cmpi slt, %a0, %none : i64
    %wrapped = arith.addi %a0, %size : i64
    %at = arith.select %neg, %wrapped, %a0 : i64
    %k = arith.index_cast %at"""),
    [((X, numbers(0, -1, -40, 39)), X[[0, 39, 0, 39]])],
    [(X, numbers(3, i)) for i in (40, -41, *FAR)])
case("map_with_reads", """(%x: tensor<?xf32>, %y: tensor<40xf32>) -> tensor<40xf32> {
  %e = tensor.empty() : tensor<40xf32>
  %r = linalg.map ins(%y : tensor<40xf32>) outs(%e : tensor<40xf32>) (%a: f32, %o: f32) {
    %i = linalg.index 0 : index
    %v = tensor.extract %x[%i] : tensor<?xf32>
    %s = arith.addf %v, %a : f32
    linalg.yield %s : f32
  }
  return %r : tensor<40xf32>
}""", [((X, X), X + X)], [(X[:39], X), (X[:0], X)])
case("tensor_gather", """(%x: tensor<?x7xf32>, %i: tensor<?x1xindex>) -> tensor<?x7xf32> {
  %r = tensor.gather %x[%i] gather_dims([0]) : (tensor<?x7xf32>, tensor<?x1xindex>)
      -> tensor<?x7xf32>
  return %r : tensor<?x7xf32>
}""", [((XY, numbers(4, 0).reshape(2, 1)), XY[[4, 0]])],
    [(XY, numbers(4, i).reshape(2, 1)) for i in (-1, 5, *FAR)])
case("generate", """(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %r = tensor.generate %n {
  ^bb0(%i: index):
    %v = tensor.extract %x[%i] : tensor<?xf32>
    tensor.yield %v : f32
  } : tensor<?xf32>
  return %r : tensor<?xf32>
}""", [((X, 40), X), ((X, 0), X[:0])], [(X, 41), (X, 1 << 40), (X, -1), (X, -(1 << 63))],
    match="outside|negative|bytes|memory")
case("pad_with_reads", """(%x: tensor<?xf32>, %k: index) -> tensor<?xf32> {
  %r = tensor.pad %x low[1] high[2] {
  ^bb0(%i: index):
    %v = tensor.extract %x[%k] : tensor<?xf32>
    tensor.yield %v : f32
  } : tensor<?xf32> to tensor<?xf32>
  return %r : tensor<?xf32>
}""", [((X, 5), np.concatenate([X[5:6], X, X[[5, 5]]]))], [(X, i) for i in OUT])

# Slices.
case("slice", """(%x: tensor<?xf32>, %o: index, %n: index, %s: index) -> tensor<?xf32> {
  %y = tensor.extract_slice %x[%o] [%n] [%s] : tensor<?xf32> to tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.abs ins(%y : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}""", [((X, 0, 40, 1), np.abs(X)), ((X, 1, 13, 3), np.abs(X[1::3])), ((X, 5, 0, 1), X[:0]),
       ((X, 39, 40, -1), np.abs(X[::-1]))],
    [(X, 0, 41, 1), (X, 1, 14, 3), (X, -1, 2, 1), (X, 0, -1, 1), (X, 39, 41, -1),
     (X, 0, 2, -1), *((X, i, 1, 1) for i in FAR), *((X, 0, 2, i) for i in FAR),
     (X, 0, (1 << 62) + 1, 4), (X, 0, 1 << 62, 4), (X, 8, (1 << 63) - 1, 2)],
    match="outside|negative|bytes|memory", on_gpu=False)
case("slice_sum", """(%x: tensor<?xi8>, %o: index, %n: index) -> tensor<i8> {
  %y = tensor.extract_slice %x[%o] [%n] [2] : tensor<?xi8> to tensor<?xi8>
  %zero = arith.constant 0 : i8
  %e = tensor.empty() : tensor<i8>
  %f = linalg.fill ins(%zero : i8) outs(%e : tensor<i8>) -> tensor<i8>
  %r = linalg.reduce {arith.addi} ins(%y : tensor<?xi8>) outs(%f : tensor<i8>) dimensions = [0]
  return %r : tensor<i8>
}""", [((np.arange(9, dtype=np.int8), 0, 5), np.int8(20).reshape(()))],
    [(np.arange(9, dtype=np.int8), 0, n) for n in (6, 1 << 62, (1 << 62) + 1, (1 << 63) - 1)])
case("slice_inserted", """(%x: tensor<?xf32>, %y: tensor<?xf32>, %o: index, %s: index)
    -> tensor<?xf32> {
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = tensor.insert_slice %x into %y[%o] [%n] [%s] : tensor<?xf32> into tensor<?xf32>
  return %r : tensor<?xf32>
}""", [((X[:2], X, 38, 1), np.concatenate([X[:38], X[:2]])), ((X[:0], X, 3, 1), X)],
    [(X[:2], X, 39, 1), (X[:2], X, 38, 2), (X, X[:39], 0, 1), *((X[:2], X, i, 1) for i in FAR),
     *((X[:2], X, 0, i) for i in FAR)], on_gpu=False)

# Sizes.
case("empty", """(%n: index) -> tensor<?xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}""", [((n,), np.ones(n, np.float32)) for n in (0, 1, 33)], [(-1,), *((i,) for i in FAR[1:])],
    match="negative|bytes|memory")
case("large_between", """(%x: tensor<1xf32>, %n: index, %m: index) -> tensor<f32> {
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %one = arith.constant 1.0 : f32
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %s = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %r = linalg.reduce {arith.addf} ins(%f : tensor<?x?xf32>) outs(%z : tensor<f32>)
      dimensions = [0, 1]
  return %r : tensor<f32>
}""", [((X[:1], 3, 4), f0(12)), ((X[:1], 0, 4), f0(0))],
    [(X[:1], 1 << 40, 1 << 40), (X[:1], 1 << 32, 1 << 32), (X[:1], -1, 4), (X[:1], -4, -4),
     (X[:1], 1 << 62, 4), (X[:1], 0, 1 << 62)], match="negative|bytes|memory")
case("splat", """(%v: f32, %n: index) -> tensor<?xf32> {
  %r = tensor.splat %v[%n] : tensor<?xf32>
  return %r : tensor<?xf32>
}""", [((2.0, 3), np.full(3, 2, np.float32))], [(2.0, -1), (2.0, -(1 << 63)), (2.0, 1 << 62)],
    match="negative|bytes|memory")
case("alloc_tensor", """(%n: index, %i: index) -> tensor<f32> {
  %two = arith.constant 2.0 : f32
  %e = bufferization.alloc_tensor(%n) : tensor<?xf32>
  %f = linalg.fill ins(%two : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %g = linalg.exp ins(%f : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %v = tensor.extract %g[%i] : tensor<?xf32>
  %r = tensor.from_elements %v : tensor<f32>
  return %r : tensor<f32>
}""", [((3, 2), f0(np.exp(np.float32(2))))], [(3, 3), (-1, 0), (1 << 62, 5), (0, 0)],
    match="negative|bytes|outside|memory")
case("pad", """(%x: tensor<?xf32>, %l: index, %h: index) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %r = tensor.pad %x low[%l] high[%h] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<?xf32>
  return %r : tensor<?xf32>
}""", [((X, 2, 1), np.pad(X, (2, 1))), ((X[:0], 0, 0), X[:0])],
    [(X, -1, 1), (X, 1, -1), (X, -41, 0), ((X, (1 << 63) - 1, (1 << 63) - 1)),
     (X, 1 << 62, 1 << 62), (X, -(1 << 63), -(1 << 63))], match="negative|padding|bytes|memory")
case("dim", """(%x: tensor<?x?xf32>, %d: index) -> tensor<i64> {
  %n = tensor.dim %x, %d : tensor<?x?xf32>
  %v = arith.index_cast %n : index to i64
  %r = tensor.from_elements %v : tensor<i64>
  return %r : tensor<i64>
}""", [((XY, 0), np.int64(5).reshape(())), ((XY, 1), np.int64(7).reshape(()))],
    [(XY, i) for i in (-1, 2, *FAR)], match="no such dim")
case("shape_from_data", """(%sizes: tensor<?xi64>, %k: index) -> tensor<?xf32> {
  %a = tensor.extract %sizes[%k] : tensor<?xi64>
  %n = arith.index_cast %a : i64 to index
  %one = arith.constant 1.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}""", [((numbers(3, 0), 0), np.ones(3, np.float32)), ((numbers(3, 0), 1), X[:0])],
    [*((numbers(3, 0), i) for i in (-1, 2, *FAR)), (numbers(-3), 0), (numbers(1 << 62), 0)],
    match="outside|negative|bytes|memory", on_gpu=False)

# Shapes.
case("reshape", """(%a: tensor<?xf32>, %s: tensor<2xindex>) -> tensor<?x?xf32> {
  %r = tensor.reshape %a(%s) : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}""", [((X, numbers(5, 8)), X.reshape(5, 8)), ((X[:0], numbers(0, 9)), X[:0].reshape(0, 9))],
    [(X, numbers(5, 9)), (X, numbers(-5, -8)), (X, numbers(1 << 32, 1 << 32)),
     (X[:0], numbers(1 << 32, 1 << 32)), (X, numbers(7, 5)), (X[:0], numbers(1 << 62, 4))],
    match="number of elements|negative|memory", on_gpu=False)
case("reshape_listed", """(%a: tensor<?x?xf32>, %n: index, %m: index) -> tensor<?x?xf32> {
  %s = tensor.from_elements %n, %m : tensor<2xindex>
  %y = tensor.reshape %a(%s) : (tensor<?x?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %r = linalg.abs ins(%y : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}""", [((XY, 7, 5), np.abs(XY.reshape(7, 5)))],
    [(XY, 7, 6), (XY, -7, -5), (XY, 1 << 33, 1 << 33), (XY[:0], 1 << 33, 1 << 33)],
    match="number of elements|negative|memory")
case("expand", """(%a: tensor<?xf32>, %n: index, %m: index) -> tensor<?x?x4xf32> {
  %r = tensor.expand_shape %a [[0, 1, 2]] output_shape [%n, %m, 4]
      : tensor<?xf32> into tensor<?x?x4xf32>
  return %r : tensor<?x?x4xf32>
}""", [((X, 5, 2), X.reshape(5, 2, 4))],
    [(X, 5, 3), (X, -5, -2), (X[:0], 1 << 31, 1 << 31), (X[:0], 1 << 62, 1),
     (X, (1 << 62) + 5, 2)], match="another product|negative|memory")
case("cast", """(%x: tensor<?xf32>) -> tensor<40xf32> {
  %y = tensor.cast %x : tensor<?xf32> to tensor<40xf32>
  %e = tensor.empty() : tensor<40xf32>
  %r = linalg.abs ins(%y : tensor<40xf32>) outs(%e : tensor<40xf32>) -> tensor<40xf32>
  return %r : tensor<40xf32>
}""", [((X,), np.abs(X))], [(X[:39],), (X[:0],)], match="extent 0 is not 40")
case("concat", """(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = tensor.concat dim(0) %x, %y : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}""", [((XY, XY), np.concatenate([XY, XY]))], [(XY, XY[:, :6].copy()), (XY[:, :0], XY)],
    match="differs")
case("pack", """(%x: tensor<?x4xf32>, %n: index) -> tensor<?x4x8x1xf32> {
  %e = tensor.empty(%n) : tensor<?x4x8x1xf32>
  %r = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [8, 1] into %e
      : tensor<?x4xf32> -> tensor<?x4x8x1xf32>
  return %r : tensor<?x4x8x1xf32>
}""", [((np.tile(X, 4).reshape(40, 4), 5),
        np.tile(X, 4).reshape(5, 8, 4).transpose(0, 2, 1)[..., None])],
    [(np.tile(X, 4).reshape(40, 4), n) for n in (4, 6, 0, -1)]
    + [(np.tile(X, 4).reshape(40, 4)[:39], 5)], match="packed|negative|memory")
case("pack_padded", """(%x: tensor<?xf32>, %n: index) -> tensor<?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %r = linalg.pack %x padding_value(%zero : f32) inner_dims_pos = [0] inner_tiles = [8] into %e
      : tensor<?xf32> -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}""", [((X[:37], 5), np.pad(X[:37], (0, 3)).reshape(5, 8))], [(X[:37], 4), (X[:37], 0)],
    match="packed")
case("unpack", """(%s: tensor<?x8xf32>, %n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.unpack %s inner_dims_pos = [0] inner_tiles = [8] into %e
      : tensor<?x8xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}""", [((X.reshape(5, 8), 37), X[:37]), ((X.reshape(5, 8), 40), X)],
    [(X.reshape(5, 8), 41), (X.reshape(5, 8), 1 << 40), (X.reshape(5, 8)[:0], 1)],
    match="packed|bytes|memory")

# Extents that disagree.
case("add", """(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.add ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>)
      -> tensor<?xf32>
  return %r : tensor<?xf32>
}""", [((X, X, 40), X + X)], [(X, X[:39], 40), (X[:39], X, 40), (X, X, 39), (X, X, 41)],
    match="differs")
case("matmul", """(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>, %z: tensor<?x?xf32>)
    -> tensor<?x?xf32> {
  %r = linalg.matmul ins(%x, %y : tensor<?x?xf32>, tensor<?x?xf32>) outs(%z : tensor<?x?xf32>)
      -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}""", [((XY, XY.T.copy(), np.zeros((5, 5), np.float32)), XY @ XY.T)],
    [(XY, XY, np.zeros((5, 5), np.float32)), (XY, XY.T.copy(), np.zeros((5, 6), np.float32)),
     (XY, XY.T.copy(), np.zeros((4, 5), np.float32))], match="differs")
case("softmax", """(%x: tensor<?x?xf32>, %e: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.softmax dimension(1) ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>)
      -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}""", [((XY, XY), np.exp(XY) / np.exp(XY).sum(1, keepdims=True))],
    [(XY, XY[:4]), (XY, XY[:, :6].copy()), (XY[:4], XY)], match="differs")
case("sort", """(%x: tensor<?xf32>, %i: tensor<?xi64>) -> (tensor<?xf32>, tensor<?xi64>) {
  %r:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<?xf32>, tensor<?xi64>) {
  ^bb0(%a: f32, %b: f32, %p: i64, %q: i64):
    %c = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %c : i1
  } -> tensor<?xf32>, tensor<?xi64>
  return %r#0, %r#1 : tensor<?xf32>, tensor<?xi64>
}""", [((X, numbers(*range(40))), (np.sort(X), np.argsort(X)))],
    [(X, numbers(*range(39))), (X[:3], numbers())], match="differs")
case("scan", """(%x: tensor<?x?xf32>, %o: tensor<?x?xf32>, %l: tensor<?xf32>)
    -> tensor<?x?xf32> {
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<?x?xf32>)
      outs(%o, %l : tensor<?x?xf32>, tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tm_tensor.yield %c : f32
  } -> tensor<?x?xf32>, tensor<?xf32>
  return %r#0 : tensor<?x?xf32>
}""", [((XY, XY, X[:5]), np.cumsum(XY, 1))],
    [(XY, XY[:4], X[:5]), (XY, XY, X[:4]), (XY, XY[:, :6].copy(), X[:5])], match="differs")
SCATTER = """(%u: tensor<?x?xf32>, %i: tensor<?x1xi64>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false)
      ins(%u, %i : tensor<?x?xf32>, tensor<?x1xi64>) outs(%o : tensor<?x?xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}"""
case("scatter", SCATTER, [((XY[:1], numbers(2).reshape(1, 1), 0 * XY),
                           np.where(np.arange(5)[:, None] == 2, XY[:1], 0 * XY))],
    [*((XY[:1], numbers(i).reshape(1, 1), XY) for i in (-1, 5, *FAR)),
     (XY[:2], numbers(2).reshape(1, 1), XY), (XY[:1], numbers(2).reshape(1, 1), XY[:, :6].copy()),
     (XY[:1], numbers(0).reshape(1, 1), XY[:0])], match="outside|position|fit")

# A table of elements that are read at computed places: all of them are looked up, whichever is read.
case(
    "some_of_a_table",
    """(%x: tensor<40xf32>, %places: tensor<4xi64>, %which: tensor<2xi64>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %table = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%places : tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%p: i64, %o: f32):
    %at = arith.index_cast %p : i64 to index
    %v = tensor.extract %x[%at] : tensor<40xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %f = tensor.empty() : tensor<2xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%which : tensor<2xi64>) outs(%f : tensor<2xf32>) {
  ^bb0(%w: i64, %o: f32):
    %at = arith.index_cast %w : i64 to index
    %v = tensor.extract %table[%at] : tensor<4xf32>
    linalg.yield %v : f32
  } -> tensor<2xf32>
  return %r : tensor<2xf32>
}""",
    [((X, numbers(3, 39, 0, 7), numbers(3, 1)), X[[7, 39]])],
    [(X, numbers(40, 39, 0, 7), numbers(3, 1)), (X, numbers(3, 39, -1, 7), numbers(3, 1)),
     (X, numbers(3, 39, 0, 7), numbers(4, 1))],
)
