"""Triangular systems and Cholesky factors: a loop over rows or columns, each of which is a product
of what is made already. In fp64: as near as PyTorch's, whose order of sums is another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith, math, scf
from torch import Tensor as TorchTensor

from .builder import Builder, Tensor, projection, refuse
from .composed import composes
from .registry import Call, lowers

MOST = 512  # rows; of larger ones a blocked method would make products, which this does not
_F64 = torch.float64


def _square(x: Tensor) -> int:
    """The rows of a matrix or of each of many."""
    rows, columns = x.shape[-2:]
    if not isinstance(rows, int) or rows != columns:
        refuse(f"matrices of {rows} x {columns}; expected square ones of a known size")
    if rows > MOST:
        refuse(f"matrices of {rows} rows; expected at most {MOST}")
    return rows


def _many(b: Builder, x: Tensor, lead: tuple[Any, ...]) -> Tensor:
    """Matrices, expanded to the dims ``lead``, in fp64 and with one dim before theirs."""
    x = b.cast(b.expand(x, (*lead, *x.shape[-2:])), _F64)
    count: Any = 1
    for n in lead:
        count = n if isinstance(count, int) and count == 1 else count * n
    return b.reshape(x, (count, *x.shape[-2:]))


def _transposed(b: Builder, x: Tensor) -> Tensor:
    return b.permute(x, (*range(x.rank - 2), x.rank - 1, x.rank - 2))


def _triangle(b: Builder, x: Tensor, keeps: Any) -> Tensor:
    """A stack of matrices with zeros where their row and column do not compare so."""

    def body(element: Any) -> Any:
        is_kept = arith.cmpi(keeps, b.position(1), b.position(2))
        zero = arith.ConstantOp(ir.F64Type.get(), 0.0).result
        return arith.select(is_kept, element, zero)

    return b.map([x], x.shape, x.dtype, body)


def _diagonal(b: Builder, x: Tensor) -> Tensor:
    """Of a stack of matrices, as columns: [k, n, n] as [k, n, 1]."""
    shape = (x.shape[0], x.shape[1], 1)
    out = [(b.empty(shape, x.dtype), projection(3, (0, 1, 2)))]
    made = b.generic([(x.value, projection(3, (0, 1, 1)))], out, (), lambda element, _: element)
    return Tensor(made[0], shape, x.dtype)


def _loop(b: Builder, rounds: int, start: Tensor, body: Callable[[Any, Tensor], Tensor]) -> Tensor:
    """The tensor that rounds have made of ``start``; ``body`` gets their number and the tensor."""
    op = scf.ForOp(b.index(0), b.index(rounds), b.index(1), [start.value])
    with ir.InsertionPoint(op.body):
        held = Tensor(op.inner_iter_args[0], start.shape, start.dtype)
        scf.YieldOp([body(op.induction_variable, held).value])
    return Tensor(op.results[0], start.shape, start.dtype)


# ---- systems


def _solved(b: Builder, a: Tensor, right: Tensor, upper: bool, unit: bool) -> Tensor:
    """X of A X = B, for stacks of matrices; of A the triangle is read."""
    count, (many, _, columns) = a.shape[-1], right.shape
    compare = arith.CmpIPredicate
    strict = _triangle(b, a, compare.slt if upper else compare.sgt)
    diagonal = None if unit else _diagonal(b, a)

    def row(number: Any, found: Tensor) -> Tensor:
        # Rows that are not found yet are zero, and so are their coefficients.
        at = arith.subi(b.index(count - 1), number) if upper else number
        place = [0, at, 0]
        given = b.slices(right, place, (many, 1, columns), [1] * 3)
        own = b.slices(strict, place, (many, 1, count), [1] * 3)
        known = b.contract("bij,bjk->bik", own, found, _F64, _F64)
        made = b.map([given, known], given.shape, _F64, arith.subf)
        if diagonal is not None:
            pivot = b.slices(diagonal, place, (many, 1, 1), [1] * 3)
            made = b.map([made, pivot], given.shape, _F64, arith.divf)
        return b.insert(made, found, place, [1] * 3)

    return _loop(b, count, b.full(right.shape, _F64, 0), row)


@lowers("linalg_solve_triangular.default")
def _solve_triangular(
    c: Call, self: Tensor, B: Tensor, upper: bool, left: bool = True,  # noqa: N803
    unitriangular: bool = False,
) -> Tensor:  # fmt: skip
    b, lead = c.b, c.shape[:-2]
    _square(self)
    if not left:  # the same as from the left, transposed
        self, B, upper = _transposed(b, self), _transposed(b, B), not upper  # noqa: N806
    made = _solved(b, _many(b, self, lead), _many(b, B, lead), upper, unitriangular)
    made = b.reshape(b.cast(made, c.dtype), (*lead, *made.shape[-2:]))
    return made if left else _transposed(b, made)


@composes("triangular_solve.default")
def _triangular_solve(
    self: TorchTensor, A: TorchTensor, upper: bool = True, transpose: bool = False,  # noqa: N803
    unitriangular: bool = False,
) -> Any:  # fmt: skip
    matrix = A.mT if transpose else A
    made = torch.linalg.solve_triangular(
        matrix, self, upper=upper != transpose, unitriangular=unitriangular
    )
    return made, A.expand(*made.shape[:-2], *A.shape[-2:]).clone()


# ---- Cholesky factors


@lowers("linalg_cholesky_ex.default")
def _cholesky_ex(c: Call, self: Tensor, upper: bool = False, check_errors: bool = False) -> Any:
    """The factor, NaN from the first column on whose pivot is not above zero; and the number of
    that column, from 1 on, or 0."""
    b, lead = c.b, self.shape[:-2]
    count = _square(self)
    a = _many(b, _transposed(b, self) if upper else self, lead)
    many = a.shape[0]

    def column(at: Any, found: Tensor) -> Tensor:
        # Columns that are not found yet are zero. What is above the diagonal is left out later.
        own = b.slices(found, [0, at, 0], (many, 1, count), [1] * 3)
        known = b.contract("bij,bkj->bik", found, own, _F64, _F64)
        given = b.slices(a, [0, 0, at], (many, count, 1), [1] * 3)
        rest = b.map([given, known], given.shape, _F64, arith.subf)
        pivot = b.slices(rest, [0, at, 0], (many, 1, 1), [1] * 3)
        root = b.map([pivot], pivot.shape, _F64, math.sqrt)
        made = b.map([rest, root], rest.shape, _F64, arith.divf)
        return b.insert(made, found, [0, 0, at], [1] * 3)

    made = _loop(b, count, b.full(a.shape, _F64, 0), column)
    made = _triangle(b, made, arith.CmpIPredicate.sge)
    failed = _first_failed(b, _diagonal(b, made))
    factor = b.reshape(b.cast(made, self.dtype), self.shape)
    return [_transposed(b, factor) if upper else factor, b.reshape(failed, tuple(lead))]


def _first_failed(b: Builder, diagonal: Tensor) -> Tensor:
    """The number of the first root that is not above zero, from 1 on; 0 where all are."""
    count = diagonal.shape[1]
    i32 = ir.IntegerType.get_signless(32)

    def place(root: Any, first: Any) -> Any:
        zero = arith.ConstantOp(ir.F64Type.get(), 0.0).result
        is_good = arith.cmpf(arith.CmpFPredicate.OGT, root, zero)
        last = arith.ConstantOp(i32, count).result
        return arith.minsi(first, arith.select(is_good, last, arith.index_cast(i32, b.position(1))))

    (first,) = b.reduce([diagonal], [1, 2], [(count, torch.int32)], place)

    def number(x: Any) -> Any:
        one, none = (arith.ConstantOp(i32, n).result for n in (1, 0))
        is_none = arith.cmpi(arith.CmpIPredicate.eq, x, arith.ConstantOp(i32, count).result)
        return arith.select(is_none, none, arith.addi(x, one))

    return b.map([first], first.shape, torch.int32, number)


@composes("linalg_cholesky.default", "cholesky.default")
def _cholesky(self: TorchTensor, upper: bool = False) -> TorchTensor:
    """NaN where PyTorch raises: the matrix is not positive definite."""
    return torch.ops.aten.linalg_cholesky_ex.default(self, upper=upper)[0]


@composes("cholesky_solve.default")
def _cholesky_solve(self: TorchTensor, input2: TorchTensor, upper: bool = False) -> TorchTensor:
    lower = input2.mT if upper else input2
    half = torch.linalg.solve_triangular(lower, self, upper=False)
    return torch.linalg.solve_triangular(lower.mT, half, upper=True)


@composes("cholesky_inverse.default")
def _cholesky_inverse(self: TorchTensor, upper: bool = False) -> TorchTensor:
    unit = torch.eye(self.shape[-1], dtype=self.dtype, device=self.device).expand(self.shape)
    return _cholesky_solve(unit, self, upper)
