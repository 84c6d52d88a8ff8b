"""Extents that a program promises and a call does not have: an error, never foreign memory."""

from __future__ import annotations

import numpy
import pytest
import redfuse

CAST = """
func.func @main(%x: tensor<?x?xf32>) -> tensor<?x8xf32> {
  %y = tensor.cast %x : tensor<?x?xf32> to tensor<?x8xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %r = linalg.exp ins(%y : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
"""
SLICE = """
func.func @main(%x: tensor<?xf32>, %start: index, %size: index) -> tensor<?xf32> {
  %y = tensor.extract_slice %x[%start] [%size] [2] : tensor<?xf32> to tensor<?xf32>
  %e = tensor.empty(%size) : tensor<?xf32>
  %r = linalg.exp ins(%y : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""


def test_a_cast_names_the_extent_that_is_another() -> None:
    executable = redfuse.compile(CAST, options={"cache": False})
    x = numpy.linspace(-1, 1, 24, dtype=numpy.float32).reshape(3, 8)
    numpy.testing.assert_allclose(executable(x), numpy.exp(x), rtol=1e-6)
    with pytest.raises(
        redfuse.ExecutionError, match=r"<text>:3:\d+: tensor.cast: extent 1 is not 8"
    ):
        executable(x.reshape(4, 6))


@pytest.mark.parametrize(
    ("start", "size", "inside"),
    [
        *((0, 5, True), (1, 4, True), (0, 0, True), (10, 0, True), (8, 1, True)),
        *((1, 5, False), (9, 1, False), (-1, 1, False), (0, -1, False), (0, 6, False)),
    ],
)
def test_a_slice_stays_inside(start: int, size: int, inside: bool) -> None:
    executable = redfuse.compile(SLICE, options={"cache": False})
    x = numpy.linspace(-1, 1, 9, dtype=numpy.float32)
    if inside:
        want = numpy.exp(x[start : start + 2 * size : 2][:size])
        numpy.testing.assert_allclose(executable(x, start, size), want, rtol=1e-6)
        return
    with pytest.raises(redfuse.ExecutionError, match=r"dim 0 reaches outside|negative extent"):
        executable(x, start, size)


EXPAND = """
func.func @main(%a: tensor<2x?x2xf32>, %p: tensor<?x?x4xf32>) -> tensor<?x?x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %a, %c1 : tensor<2x?x2xf32>
  %s = tensor.extract_slice %a[1, 0, 0] [1, %n, 1] [1, 1, 1] : tensor<2x?x2xf32> to tensor<?xf32>
  %d0 = tensor.dim %p, %c0 : tensor<?x?x4xf32>
  %d1 = tensor.dim %p, %c1 : tensor<?x?x4xf32>
  %e = tensor.expand_shape %s [[0, 1, 2]] output_shape [%d0, %d1, 4]
     : tensor<?xf32> into tensor<?x?x4xf32>
  %o = tensor.empty(%d0, %d1) : tensor<?x?x4xf32>
  %r = linalg.add ins(%e, %p : tensor<?x?x4xf32>, tensor<?x?x4xf32>)
                  outs(%o : tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  return %r : tensor<?x?x4xf32>
}
"""
INSERT = """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>, %start: index, %size: index)
    -> tensor<?xf32> {
  %r = tensor.insert_slice %x into %y[%start] [%size] [1] : tensor<?xf32> into tensor<?xf32>
  return %r : tensor<?xf32>
}
"""
CONCAT = """
func.func @main(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = tensor.concat dim(1) %x, %y
     : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
"""
WINDOWS = """
func.func @main(%x: tensor<1x?xf32>, %w: tensor<1x3xf32>, %n: index) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (0, i * 2 + j)>, affine_map<(i, j) -> (0, j)>,
                     affine_map<(i, j) -> (i)>],
    iterator_types = ["parallel", "reduction"]}
    ins(%x, %w : tensor<1x?xf32>, tensor<1x3xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %c : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""
BRANCH = """
func.func @main(%x: tensor<?xf32>, %start: index, %wanted: i1) -> tensor<2xf32> {
  %r = scf.if %wanted -> tensor<2xf32> {
    %y = tensor.extract_slice %x[%start] [2] [1] : tensor<?xf32> to tensor<2xf32>
    %e = tensor.empty() : tensor<2xf32>
    %z = linalg.exp ins(%y : tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>
    scf.yield %z : tensor<2xf32>
  } else {
    %one = arith.constant dense<1.0> : tensor<2xf32>
    scf.yield %one : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}
"""
WAYS = pytest.mark.parametrize("fuse", [True, False])


def made(program: str, fuse: bool) -> redfuse.Executable:
    return redfuse.compile(program, options={"cache": False, "fuse": fuse})


def numbers(*shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(len(shape)).random(shape, dtype=numpy.float32)


@WAYS
def test_extents_of_a_group_have_the_product_of_their_dim(fuse: bool) -> None:
    executable = made(EXPAND, fuse)
    for n, m in ((3, 5), (1, 60), (1, 1), (7, 2), (0, 3)):
        x, p = numbers(2, n * m * 4, 2), numbers(n, m, 4)
        numpy.testing.assert_array_equal(executable(x, p), x[1, :, 0].reshape(n, m, 4) + p)
    with pytest.raises(redfuse.ExecutionError, match="made of dim 0 have another product"):
        executable(numbers(2, 8, 2), numbers(300, 5, 4))


@WAYS
@pytest.mark.parametrize(("start", "size"), [(7, 3), (-1, 3), (0, 2), (0, 4)])
def test_an_inserted_slice_fits_its_place(fuse: bool, start: int, size: int) -> None:
    executable = made(INSERT, fuse)
    x, y = numbers(3), numbers(9)
    want = numpy.concatenate([y[:2], x, y[5:]])
    numpy.testing.assert_array_equal(executable(x, y.copy(), 2, 3), want)
    with pytest.raises(redfuse.ExecutionError, match=r"reaches outside|not the size of its place"):
        executable(x, y, start, size)


@WAYS
def test_joined_tensors_agree_in_other_dims(fuse: bool) -> None:
    executable = made(CONCAT, fuse)
    x, y = numbers(3, 4), numbers(3, 2)
    numpy.testing.assert_array_equal(executable(x, y), numpy.concatenate([x, y], 1))
    with pytest.raises(redfuse.ExecutionError, match="extent 0 of operand 1 differs"):
        executable(x, numbers(5, 2))


@WAYS
def test_windows_end_inside(fuse: bool) -> None:
    executable = made(WINDOWS, fuse)
    x, w = numbers(1, 11), numbers(1, 3)
    want = [numpy.dot(x[0, 2 * i : 2 * i + 3], w[0]) for i in range(5)]
    numpy.testing.assert_allclose(executable(x, w, 5), want, rtol=1e-6)
    with pytest.raises(redfuse.ExecutionError, match="operand 0 is read outside its dim 1"):
        executable(x, w, 6)


def read_at(at: str) -> str:
    return f"""
func.func @main(%x: tensor<?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %y, %c0 : tensor<?x?xf32>
  %n = tensor.dim %y, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> ({at})>, affine_map<(i, j) -> (i, j)>,
                     affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}}
    ins(%x, %y : tensor<?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }} -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}}"""


@pytest.mark.sample(3)
@WAYS
@pytest.mark.parametrize(
    "at", ["7 - i", "i - j + 4", "i * 2 - j + 3", "(i + j) floordiv 3", "(i + j) mod 5",
           "(7 - i - j) ceildiv 2", "(i floordiv 2) mod 3 - j + 4", "5",
     # Not every value between the ends occurs: the program tries points.
     "(i * 2 + j) mod 7", "i mod 3 + (i + j) mod 4", "(i - j * 2) mod 4 + i floordiv 2",
     "j + (i * 3 - j) ceildiv 2", "(i * 6 + j * 3) mod 9"],
)  # fmt: skip
def test_any_window_is_inside(at: str, fuse: bool) -> None:
    """Signs, quotients and remainders: an error if, and only if, an index is outside."""
    executable = made(read_at(at), fuse)
    code = at.replace("floordiv", "//").replace("mod", "%")
    code = {"(7 - i - j) ceildiv 2": "-(-(7 - i - j) // 2)",
            "j + (i * 3 - j) ceildiv 2": "j - (-(i * 3 - j) // 2)"}.get(at, code)  # fmt: skip
    outcomes = set()
    for m, n, length in (
        (3, 4, 8),
        (3, 4, 5),
        (8, 8, 2),
        (2, 2, 6),
        (5, 5, 3),
        (9, 1, 9),
        (0, 4, 0),
    ):
        x, y = numbers(length), numbers(m, n)
        indices = np_indices(code, m, n)
        inside = bool(((indices >= 0) & (indices < length)).all())
        outcomes.add(inside)
        if inside:
            want = x[indices] + y if indices.size else y
            numpy.testing.assert_allclose(executable(x, y), want, rtol=1e-6)
        else:
            with pytest.raises(redfuse.ExecutionError, match="operand 0 is read outside its dim 0"):
                executable(x, y)
    assert outcomes == {True, False}


def test_the_host_of_a_gpus_program_tries_points() -> None:
    """No kernel: the loops hold nothing but the check."""
    executable = redfuse.compile(read_at("(i * 2 + j) mod 7"), target="cuda:sm_90a")
    assert [line.split("(")[0] for line in executable.asm.splitlines() if ".entry" in line] == [
        ".visible .entry main_0"
    ]


def np_indices(code: str, m: int, n: int) -> numpy.ndarray:
    i, j = numpy.meshgrid(numpy.arange(m), numpy.arange(n), indexing="ij")
    return eval(code, {"i": i, "j": j}) + 0 * i


def static_read_at(at: str, m: int, n: int, length: int) -> str:
    text = read_at(at).replace("tensor<?x?xf32>", f"tensor<{m}x{n}xf32>")
    return text.replace("tensor<?xf32>", f"tensor<{length}xf32>").replace(
        "empty(%m, %n)", "empty()"
    )


@pytest.mark.parametrize(
    ("at", "m", "n", "length", "index"),
    [
        # MLIR's verifier looks at the first and the last point alone.
        ("i - j + 1", 4, 4, 5, -2),
        # More points than could all be tried.
        ("(i * 2) mod 8 + j mod 3", 1000003, 1000, 8, 8),
        ("i mod 7 - j mod 5 + 3", 123456, 1000, 10, -1),
        ("(i * 6 + j * 4) mod 12", 50001, 50000, 10, 10),
    ],
)
def test_a_static_window_outside_is_refused(
    at: str, m: int, n: int, length: int, index: int
) -> None:
    match = rf"operand 0 is read outside its dim 0: at index {index}, expected"
    with pytest.raises(redfuse.UnsupportedError, match=match):
        redfuse.compile(static_read_at(at, m, n, length))


@pytest.mark.parametrize(
    ("at", "m", "n", "length"),
    [("(i * 2) mod 8 + j mod 3", 100003, 3, 9), ("(i * 6 + j * 4) mod 12", 5000, 100, 11),
     ("(i * 3 + j * 5) mod 4000037", 5000, 4, 4000037)],
)  # fmt: skip
def test_a_static_window_inside_is_read(at: str, m: int, n: int, length: int) -> None:
    executable = redfuse.compile(static_read_at(at, m, n, length), options={"cache": False})
    x, y = numbers(length), numbers(m, n)
    numpy.testing.assert_allclose(
        executable(x, y), x[np_indices(at.replace("mod", "%"), m, n)] + y, rtol=1e-6
    )


def test_a_static_window_that_cannot_be_decided_is_refused() -> None:
    text = static_read_at("(i * 3 + j * 5) mod 4000037", 5000000, 4, 4000000)
    match = "may be read outside its dim 0: its index .* lies between 0 and 4000036, .* tensor.pad"
    with pytest.raises(redfuse.UnsupportedError, match=match):
        redfuse.compile(text)


def test_a_window_that_takes_too_many_points_is_refused_where_it_may_be_outside() -> None:
    executable = made(read_at("(i * 3 + j * 5) mod 40037"), fuse=True)
    x, y = numbers(40037), numbers(20000, 4)
    numpy.testing.assert_allclose(
        executable(x, y), x[np_indices("(i * 3 + j * 5) % 40037", 20000, 4)] + y, rtol=1e-6
    )
    with pytest.raises(redfuse.ExecutionError, match="operand 0 may be read outside its dim 0"):
        executable(numbers(40000), y)


@WAYS
def test_an_index_that_wraps_around_is_refused(fuse: bool) -> None:
    """(2**24 - 1) * 2**40 is negative as a number of 64 bits: below any extent."""
    text = """
func.func @main(%x: tensor<?xi8>, %y: tensor<?xi8>) -> tensor<?xi8> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i * 1099511627776)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]} ins(%x : tensor<?xi8>) outs(%y : tensor<?xi8>) {
  ^bb0(%a: i8, %c: i8):
    %s = arith.addi %a, %c : i8
    linalg.yield %s : i8
  } -> tensor<?xi8>
  return %r : tensor<?xi8>
}"""
    executable = made(text, fuse)
    x = numpy.array([3], numpy.int8)
    numpy.testing.assert_array_equal(executable(x, numpy.array([4], numpy.int8)), [7])
    numpy.testing.assert_array_equal(executable(x, numpy.zeros(0, numpy.int8)), [])
    with pytest.raises(redfuse.ExecutionError, match="may have values of more than 64 bits"):
        executable(x, numpy.zeros(1 << 24, numpy.int8))
    with pytest.raises(redfuse.ExecutionError, match="operand 0 is read outside its dim 0"):
        executable(x, numpy.zeros(2, numpy.int8))


@pytest.mark.parametrize("at", ["i floordiv -2", "i mod 0", "j ceildiv 0"])
def test_quotients_by_no_positive_number_are_refused(at: str) -> None:
    match = r"linalg.generic: .* is not known: expected"
    with pytest.raises(redfuse.UnsupportedError, match=match):
        redfuse.compile(read_at(at))


@WAYS
def test_checks_belong_to_their_branch(fuse: bool) -> None:
    executable = made(BRANCH, fuse)
    x = numbers(4)
    numpy.testing.assert_allclose(executable(x, 2, True), numpy.exp(x[2:]), rtol=1e-6)
    numpy.testing.assert_array_equal(executable(x, 3, False), [1, 1])
    with pytest.raises(redfuse.ExecutionError, match="dim 0 reaches outside"):
        executable(x, 3, True)


INLINED = """
func.func private @part(%x: tensor<5xf32>, %into: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.exp ins(%x : tensor<5xf32>) outs(%into : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func @main(%x: tensor<5xf32>, %n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = call @part(%x, %e) : (tensor<5xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""


@pytest.mark.parametrize("fuse", [True, False])
def test_nothing_is_simplified_before_it_is_checked(fuse: bool) -> None:
    """Upstream's patterns take one extent of a dim for all of its operands'."""
    exe = redfuse.compile(INLINED, options={"fuse": fuse})
    assert exe(numpy.zeros(5, numpy.float32), 5).shape == (5,)
    with pytest.raises(redfuse.ExecutionError, match="extent"):
        exe(numpy.zeros(5, numpy.float32), 7)
