"""Products of packed operands on a CPU, by plans of every shape, beside fp64."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from typing import Any

import mlir.ir as ir
import numpy as np
import pytest
import redfuse
from redfuse import lowering

# Rows, columns and sums; how their operands are laid out; a block's tiles; the microkernel.
SHAPES = [(64, 80, 96), (61, 113, 57), (7, 200, 300), (130, 5, 71), (33, 47, 2)]
TILES = [(16, 32, 24), (0, 0, 0), (13, 29, 31), (5, 0, 17), (0, 48, 64)]
REGISTERS = [(8, 3), (4, 4), (6, 4), (16, 1), (1, 8), (5, 2)]
LAYOUTS = [("mk", "kn"), ("mk", "nk"), ("km", "kn"), ("km", "nk")]


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function that compiles a program with a plan of one's own for each product."""
    run, plan = lowering.run_pipeline, ""

    def run_with_plan(module: Any, pipeline: str, stage: str, source: Any = None) -> None:
        def replace(op: Any) -> Any:
            if op.name == "redfuse.launch":
                op.attributes["redfuse.packing"] = ir.Attribute.parse(plan)
            return ir.WalkResult.ADVANCE

        if stage == "generate":
            with module.context:
                module.operation.walk(replace)
        run(module, pipeline, stage, source)

    monkeypatch.setattr(lowering, "run_pipeline", run_with_plan)

    def compile_with(
        text: str, tiles: tuple[int, ...], registers: tuple[int, int], more: str = ""
    ) -> Any:
        nonlocal plan
        plan = f"#redfuse.packing_plan<tiles = {list(tiles)}, registers = {list(registers)}{more}>"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return redfuse.compile(text, target="cpu", options={"cache": False})

    yield compile_with


def product(shape: tuple[int, ...], layout: tuple[str, str], dtype: str = "f32") -> str:
    """relu(a b + row) of operands in a layout; 16-bit operands are summed in f32."""
    sizes = dict(zip("mnk", shape, strict=True))
    types = ["x".join(str(sizes[c]) for c in of) for of in layout]
    maps = [f"affine_map<(m, n, k) -> ({', '.join(of)})>" for of in (*layout, "mn")]
    sum_type = {"f64": "f64", "i32": "i32"}.get(dtype, "f32")
    kind = "i" if sum_type == "i32" else "f"
    widen = dtype in ("bf16", "f16")
    zero = "0" if kind == "i" else "0.0"
    out = f"{sizes['m']}x{sizes['n']}x{sum_type}"
    factors = ["%x", "%y"]
    casts = ""
    if widen:
        casts = f"""%a = arith.extf %x : {dtype} to f32
    %c = arith.extf %y : {dtype} to f32"""
        factors = ["%a", "%c"]
    relu = "maxsi" if kind == "i" else "maximumf"
    return f"""
func.func @main(%l: tensor<{types[0]}x{dtype}>, %r: tensor<{types[1]}x{dtype}>,
    %row: tensor<{sizes["n"]}x{sum_type}>) -> tensor<{out}> {{
  %zero = arith.constant {zero} : {sum_type}
  %e = tensor.empty() : tensor<{out}>
  %f = linalg.fill ins(%zero : {sum_type}) outs(%e : tensor<{out}>) -> tensor<{out}>
  %p = linalg.generic {{indexing_maps = [{", ".join(maps)}],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%l, %r : tensor<{types[0]}x{dtype}>, tensor<{types[1]}x{dtype}>)
      outs(%f : tensor<{out}>) {{
  ^bb0(%x: {dtype}, %y: {dtype}, %s: {sum_type}):
    {casts}
    %q = arith.mul{kind} {factors[0]}, {factors[1]} : {sum_type}
    %t = arith.add{kind} %s, %q : {sum_type}
    linalg.yield %t : {sum_type}
  }} -> tensor<{out}>
  %b = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>,
      affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%p, %row : tensor<{out}>, tensor<{sizes["n"]}x{sum_type}>) outs(%e : tensor<{out}>) {{
  ^bb0(%s: {sum_type}, %y: {sum_type}, %o: {sum_type}):
    %t = arith.add{kind} %s, %y : {sum_type}
    %u = arith.{relu} %t, %zero : {sum_type}
    linalg.yield %u : {sum_type}
  }} -> tensor<{out}>
  return %b : tensor<{out}>
}}"""


def tiles_of(shape: tuple[int, ...], tiles: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(0 if tile >= size else tile for tile, size in zip(tiles, shape, strict=True))


def check(exe: Any, operands: list[np.ndarray], layout: tuple[str, str], unit: float) -> None:
    """Against fp64: every product and sum may be wrong by a unit of the largest sum so far."""
    left, right, row = operands
    a = left.astype(np.float64) if layout[0] == "mk" else left.astype(np.float64).T
    b = right.astype(np.float64) if layout[1] == "kn" else right.astype(np.float64).T
    want = np.maximum(a @ b + row.astype(np.float64), 0)
    bound = (np.abs(a) @ np.abs(b) + np.abs(row)) * unit * (a.shape[1] + 2)
    got = exe(*operands).astype(np.float64)
    assert (np.abs(got - want) <= bound).all()


@pytest.mark.sample(3)
@pytest.mark.parametrize("layout", LAYOUTS, ids="-".join)
@pytest.mark.parametrize("registers", REGISTERS, ids=str)
def test_plans(planned, registers: tuple[int, int], layout: tuple[str, str]) -> None:
    rng = np.random.default_rng(LAYOUTS.index(layout) + 10 * REGISTERS.index(registers))
    for shape, tiles in zip(SHAPES, TILES, strict=True):
        exe = planned(product(shape, layout), tiles_of(shape, tiles), registers)
        sizes = dict(zip("mnk", shape, strict=True))
        for draw in (functools.partial(rng.standard_normal), rng.random):
            operands = [draw([sizes[c] for c in of]).astype(np.float32) for of in (*layout, "n")]
            check(exe, operands, layout, np.finfo(np.float32).eps)


# What reads operands where they lie, and how these may.
IN_PLACE = [
    ("packed_rows", ("mk", "kn")), ("packed_rows", ("km", "kn")), ("outer", ("mk", "kn")),
    ("outer", ("km", "kn")), ("inner", ("mk", "nk")),
]  # fmt: skip


@pytest.mark.sample(4)
@pytest.mark.parametrize(("kind", "layout"), IN_PLACE, ids=str)
@pytest.mark.parametrize("registers", [*REGISTERS, (3, 7), (14, 2)], ids=str)
def test_operands_that_are_read_where_they_lie(
    planned, registers: tuple[int, int], kind: str, layout: tuple[str, str]
) -> None:
    rng = np.random.default_rng(3)
    more = f", microkernel = {kind}"
    for shape, tiles in zip(SHAPES, TILES, strict=True):
        exe = planned(product(shape, layout), tiles_of(shape, tiles), registers, more)
        sizes = dict(zip("mnk", shape, strict=True))
        operands = [rng.standard_normal([sizes[c] for c in of]) for of in (*layout, "n")]
        check(exe, [x.astype(np.float32) for x in operands], layout, np.finfo(np.float32).eps)


@pytest.mark.sample(2)
@pytest.mark.parametrize("registers", [(3, 5), (8, 3), (5, 1)], ids=str)
@pytest.mark.parametrize("kind", ("outer", "inner"))
def test_rows_of_several_dims(planned, kind: str, registers: tuple[int, int]) -> None:
    """Which are not side by side in memory; and extents that are known when it runs."""
    right = "nk" if kind == "inner" else "kn"
    for b, t, n, k, tiles in ((3, 5, 37, 70, (0, 0, 0, 0)), (4, 3, 21, 40, (2, 0, 8, 16))):
        for known in (True, False):
            size = {"b": b if known else "?", "t": t, "n": n, "k": k if known else "?"}

            def kind_of(letters: str, size: dict[str, Any] = size) -> str:
                return f"tensor<{'x'.join(str(size[c]) for c in letters)}xf32>"

            exe = planned(
                f"""
func.func @main(%l: {kind_of("tbk")}, %r: {kind_of(right)}, %o: {kind_of("btn")}) -> {kind_of("btn")} {{
  %p = linalg.generic {{indexing_maps = [affine_map<(b, t, n, k) -> (t, b, k)>,
      affine_map<(b, t, n, k) -> ({", ".join(right)})>, affine_map<(b, t, n, k) -> (b, t, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%l, %r : {kind_of("tbk")}, {kind_of(right)}) outs(%o : {kind_of("btn")}) {{
  ^bb0(%x: f32, %y: f32, %s: f32):
    %q = arith.mulf %x, %y : f32
    %u = arith.addf %s, %q : f32
    linalg.yield %u : f32
  }} -> {kind_of("btn")}
  return %p : {kind_of("btn")}
}}""",
                # What is not known has a tile.
                tuple(x or (0 if known else {0: b, 3: k}.get(i, 0)) for i, x in enumerate(tiles)),
                registers,
                f", microkernel = {kind}",
            )
            rng = np.random.default_rng(11)
            x = rng.standard_normal((t, b, k)).astype(np.float32)
            w = rng.standard_normal((n, k) if kind == "inner" else (k, n)).astype(np.float32)
            wide = w.astype(np.float64).T if kind == "inner" else w.astype(np.float64)
            got = exe(x, w, np.zeros((b, t, n), np.float32))
            x = x.transpose(1, 0, 2)
            bound = np.abs(x) @ np.abs(wide) * np.finfo(np.float32).eps * (k + 2)
            assert (np.abs(got - x.astype(np.float64) @ wide) <= bound).all()


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("more", "layout"),
    [("", ("mk", "nk")), *((f", microkernel = {kind}", layout) for kind, layout in IN_PLACE)],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["f64", "f16", "i32"])
def test_types(planned, dtype: str, more: str, layout: tuple[str, str]) -> None:
    rng = np.random.default_rng(7)
    shape = (37, 61, 83)
    exe = planned(product(shape, layout, dtype), (16, 0, 40), (4, 2), more)
    sizes = dict(zip("mnk", shape, strict=True))
    np_type = {"f64": np.float64, "f16": np.float16, "i32": np.int32}[dtype]
    row_type = {"f64": np.float64, "i32": np.int32}.get(dtype, np.float32)
    scale = 100 if dtype == "i32" else 1
    operands = [
        (rng.standard_normal([sizes[c] for c in of]) * scale).astype(t)
        for of, t in zip((*layout, "n"), (np_type, np_type, row_type), strict=True)
    ]
    unit = {"f64": np.finfo(np.float64).eps, "i32": 0.0}.get(dtype, np.finfo(np.float32).eps)
    if dtype == "f64":
        left, right, row = (operand.astype(np.longdouble) for operand in operands)
        left = left.T if layout[0] == "km" else left
        right = right.T if layout[1] == "nk" else right
        want = np.maximum(left @ right + row, 0)
        bound = (np.abs(left) @ np.abs(right) + np.abs(row)) * unit * 85
        assert (np.abs(exe(*operands) - want) <= bound).all()
        return
    check(exe, operands, layout, unit)


def test_what_is_not_finite_stays_in_its_row_and_column(planned) -> None:
    """What vectors reach beyond the end of, and what no block has, reaches no result."""
    layout, shape = ("km", "nk"), (19, 37, 45)
    exe = planned(product(shape, layout), (0, 21, 16), (8, 3))
    rng = np.random.default_rng(3)
    left = rng.standard_normal((45, 19)).astype(np.float32)
    right = rng.standard_normal((37, 45)).astype(np.float32)
    left[44, 18], right[36, 0] = np.nan, np.inf
    got = exe(left, right, np.zeros(37, np.float32))
    other = np.ones_like(got, bool)
    other[18, :] = other[:, 36] = False
    assert np.isfinite(got[other]).all()
    assert np.isnan(got[18, :36]).all()
    assert not np.isfinite(got[:, 36][left[0] > 0]).any()


WINDOWS = [
    # Strides, dilations, and tiles by image, channel, height, width, channel and taps.
    ((1, 1), (1, 1), (1, 4, 0, 0, 0, 0, 0)),
    ((1, 1), (1, 1), (0, 0, 0, 0, 2, 0, 0)),
    ((2, 1), (1, 2), (1, 0, 3, 0, 1, 2, 0)),
    ((1, 2), (2, 1), (1, 5, 1, 4, 1, 1, 2)),
    ((1, 1), (1, 1), (2, 7, 0, 0, 5, 0, 0)),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize("registers", [(8, 3), (5, 2), (4, 4)], ids=str)
@pytest.mark.parametrize(("strides", "dilations", "tiles"), WINDOWS, ids=str)
def test_windows(planned, strides, dilations, tiles, registers: tuple[int, int]) -> None:
    """Sums over channels and taps, whose filters are read along all of them at a time."""
    images, channels, filters, height, width = 3, 5, 7, 6, 9
    rows = (height - 1) * strides[0] + 2 * dilations[0] + 1
    columns = (width - 1) * strides[1] + 2 * dilations[1] + 1
    x_type = f"tensor<{images}x{channels}x{rows}x{columns}xf32>"
    w_type = f"tensor<{filters}x{channels}x3x3xf32>"
    out = f"tensor<{images}x{filters}x{height}x{width}xf32>"
    exe = planned(
        f"""
func.func @main(%x: {x_type}, %w: {w_type}) -> {out} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {out}
  %f = linalg.fill ins(%zero : f32) outs(%e : {out}) -> {out}
  %r = linalg.conv_2d_nchw_fchw {{strides = dense<{list(strides)}> : vector<2xi64>,
      dilations = dense<{list(dilations)}> : vector<2xi64>}}
      ins(%x, %w : {x_type}, {w_type}) outs(%f : {out}) -> {out}
  return %r : {out}
}}""",
        tiles,
        registers,
    )
    rng = np.random.default_rng(5)
    x = rng.standard_normal((images, channels, rows, columns)).astype(np.float32)
    w = rng.standard_normal((filters, channels, 3, 3)).astype(np.float32)
    want, size = np.zeros((images, filters, height, width)), 0.0
    for r in range(3):
        for s in range(3):
            top, left = r * dilations[0], s * dilations[1]
            taken = x[
                :, :,
                top : top + (height - 1) * strides[0] + 1 : strides[0],
                left : left + (width - 1) * strides[1] + 1 : strides[1],
            ].astype(np.float64)  # fmt: skip
            want += np.einsum("nchw,oc->nohw", taken, w[:, :, r, s].astype(np.float64))
            size += np.einsum("nchw,oc->nohw", np.abs(taken), np.abs(w[:, :, r, s]))
    assert (np.abs(exe(x, w) - want) <= size * np.finfo(np.float32).eps * 47).all()
