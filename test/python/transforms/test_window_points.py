"""Windows of static extents: the least and the largest index that redfuse-check-accesses finds
are those of all points."""

from __future__ import annotations

import itertools
import random

import mlir.ir as ir
import pytest
import redfuse
from index_program import affine
from redfuse import _ext


def expression(draw: random.Random, dims: list, depth: int) -> ir.AffineExpr:
    kind = draw.choice(
        ["dim", "constant"] if depth == 0 else ["add", "add", "mul", "floor", "ceil", "mod"]
    )
    if kind == "dim":
        return ir.AffineDimExpr.get(draw.choice(dims))
    if kind == "constant":
        return ir.AffineConstantExpr.get(draw.randint(-5, 5))
    left = expression(draw, dims, depth - 1)
    if kind == "add":
        return left + expression(draw, dims, depth - 1)
    if kind == "mul":
        return left * draw.randint(-4, 4)
    by = draw.randint(1, 6)
    if kind == "mod":
        return left % by
    return (ir.AffineExpr.get_floor_div if kind == "floor" else ir.AffineExpr.get_ceil_div)(
        left, by
    )


def classified(e: ir.AffineExpr) -> ir.AffineExpr:
    """As an object of its own class: what folds while it is made has that of what was asked for."""
    return ir.AffineMap.get(3, 0, [e]).results[0]


def refused(index: str, extents: list[int], size: int) -> str:
    """What is said of a sum over dims of these extents that reads a tensor of ``size`` at
    ``index``; "" if nothing. One more dim is dynamic: MLIR's verifier looks at static ones alone,
    and would refuse some of them first."""
    kinds = [*(f"tensor<{n}xi8>" for n in [size, *extents]), "tensor<?xi8>"]
    dims = [f"d{d}" for d in range(len(kinds) - 1)]
    names = ", ".join(dims)
    maps = ", ".join(f"affine_map<({names}) -> ({read})>" for read in [index, *dims, ""])
    values = [f"%v{k}" for k in range(len(kinds))]
    arguments = ", ".join(f"{v}: {kind}" for v, kind in zip(values, kinds, strict=True))
    module = ir.Module.parse(f"""
func.func @main({arguments}, %o: tensor<i8>) -> tensor<i8> {{
  %r = linalg.generic {{
    indexing_maps = [{maps}], iterator_types = [{", ".join(['"reduction"'] * len(dims))}]}}
    ins({", ".join(values)} : {", ".join(kinds)}) outs(%o : tensor<i8>) {{
  ^bb0({", ".join(f"%x{k}: i8" for k in range(len(kinds)))}, %s: i8):
    %t = arith.addi %x0, %s : i8
    linalg.yield %t : i8
  }} -> tensor<i8>
  return %r : tensor<i8>
}}""")
    try:
        _ext.run_passes(module.operation, "builtin.module(redfuse-check-accesses)")
    except redfuse.CompileError as error:
        return error.diagnostics[0]["message"]
    assert "cf.assert" not in str(module)
    return ""


OUTSIDE = "linalg.generic: operand 0 is read outside its dim 0: at index"


@pytest.mark.parametrize("seed", range(8))
def test_ends_are_those_of_all_points(seed: int) -> None:
    draw = random.Random(seed)
    with ir.Context():
        for _ in range(40):
            extents = [draw.choice([1, 2, 3, 7, 13, 30]) for _ in range(3)]
            e = classified(expression(draw, [0, 1, 2], 4))
            values = [affine(e, at) for at in itertools.product(*map(range, extents))]
            low, span = min(values), max(values) - min(values)
            case = (str(e), extents)
            if isinstance(classified(e + -low), ir.AffineDimExpr):
                continue  # no window: its extent is compared
            assert refused(f"{e} + {-low}", extents, span + 1) == "", case
            said = refused(f"{e} + {-low - 1}", extents, span + 2)
            assert said.startswith(f"{OUTSIDE} -1, expected"), (case, said)
            if span:
                said = refused(f"{e} + {-low}", extents, span)
                assert said.startswith(f"{OUTSIDE} {span}, expected"), (case, said)


def test_long_dims_take_no_more_points() -> None:
    extents = [10**12 + 1, 10**12 + 2]
    with ir.Context():
        for index, low, high in (
            ("(d0 * 2) mod 8 - d1 mod 3", -2, 6),
            ("d0 - d1", -(10**12) - 1, 10**12),
        ):
            span = high - low
            assert refused(f"{index} + {-low}", extents, span + 1) == ""
            assert f"{OUTSIDE} {span}, expected" in refused(f"{index} + {-low}", extents, span)
            assert f"{OUTSIDE} -1, " in refused(f"{index} + {-low - 1}", extents, span + 2)
        many = refused("(d0 * 3 + d1) mod 1000003", extents, 1000000)
        assert "takes too many points to find out" in many


def test_indices_have_64_bits() -> None:
    with ir.Context():
        said = refused(f"d0 * {2**40} - d1 * {2**40}", [2**30, 2**30], 2**60)
        assert "has values of more than 64 bits" in said
