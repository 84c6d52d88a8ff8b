"""Arguments of compiled programs: what goes in comes out, and everything wrong is an
ArgumentError."""

import pathlib

import ml_dtypes
import numpy as np
import pytest
import redfuse

PLAIN = {"fuse": False}


@pytest.fixture(scope="module", params=[True, False], ids=["fused", "unfused"])
def exe(request: pytest.FixtureRequest, scale: str) -> "redfuse.Executable":
    return redfuse.compile(scale, options={"fuse": request.param})


def arrays() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return (
        random.standard_normal((3, 5)).astype(np.float32),
        random.standard_normal(5).astype(np.float32),
    )


def test_numpy_in_numpy_out(exe: "redfuse.Executable") -> None:
    x, y = arrays()
    result = exe(x, y)
    assert isinstance(result, np.ndarray)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, x * y)


class Foreign:
    """Another library's array: DLPack and nothing else."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def test_any_array_with_dlpack_will_do(exe: "redfuse.Executable") -> None:
    x, y = arrays()
    np.testing.assert_array_equal(np.asarray(exe(Foreign(x), y)), x * y)


def test_results_do_not_share_memory(exe: "redfuse.Executable") -> None:
    x, y = arrays()
    first = exe(x, y)
    kept = first.copy()
    exe(x + 1, y)
    np.testing.assert_array_equal(first, kept)


def test_out_is_written_and_returned(exe: "redfuse.Executable") -> None:
    x, y = arrays()
    for given in (lambda out: out, lambda out: [out], lambda out: (out,)):
        out = np.zeros((3, 5), np.float32)
        assert exe(x, y, out=given(out)) is out
        np.testing.assert_array_equal(out, x * y)


@pytest.mark.parametrize("fuse", [True, False])
def test_inputs_are_not_changed(fuse: bool) -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = arith.constant 1.0 : f32
      %r = linalg.fill ins(%c : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
    """
    x = np.arange(4, dtype=np.float32)
    result = redfuse.compile(text, options={"fuse": fuse})(x)
    np.testing.assert_array_equal(result, np.ones(4))
    np.testing.assert_array_equal(x, np.arange(4))


def test_read_only_arguments_are_fine(exe: "redfuse.Executable") -> None:
    x, y = arrays()
    x.flags.writeable = False
    np.testing.assert_array_equal(exe(x, y), x * y)


def strided(shape: tuple[int, int]) -> np.ndarray:
    return np.zeros((shape[1], shape[0]), np.float32).T


X, Y = arrays()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((X,), ["takes 2 arguments", "got 1"]),
        ((X, Y, Y), ["takes 2 arguments", "got 3"]),
        ((X.T.copy(), Y), ["argument 0", "expected", "3x5", "5x3"]),
        ((X[0], Y), ["argument 0", "3x5"]),
        ((X[None], Y), ["argument 0", "3x5"]),
        ((X.astype(np.float64), Y), ["argument 0", "float32", "float64"]),
        ((X, Y.astype(np.int32)), ["argument 1", "float32", "int32"]),
        ((X, Y.astype(ml_dtypes.bfloat16)), ["argument 1", "float32", "bfloat16"]),
        ((X.astype(">f4"), Y), ["argument 0", "byte order"]),
        ((strided((3, 5)), Y), ["argument 0", "contiguous", "strides"]),
        ((np.zeros((3, 10), np.float32)[:, ::2], Y), ["argument 0", "contiguous"]),
        ((Foreign(strided((3, 5))), Y), ["argument 0", "contiguous"]),
        ((Foreign(X.astype(np.float64)), Y), ["argument 0", "float32", "float64"]),
        ((Foreign(X, device=(2, 0)), Y), ["argument 0", "cpu", "device type 2"]),
        ((X.tolist(), Y), ["argument 0", "array", "list"]),
        ((None, Y), ["argument 0", "NoneType"]),
        (("x", Y), ["argument 0", "str"]),
    ],
)  # fmt: skip
def test_wrong_arguments(exe: "redfuse.Executable", given: tuple, words: list[str]) -> None:
    with pytest.raises(redfuse.ArgumentError) as caught:
        exe(*given)
    for word in words:
        assert word in str(caught.value)
    if "argument 1" in words:
        assert caught.value.index == 1


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (np.zeros((5, 3), np.float32), ["out 0", "3x5", "5x3"]),
        (np.zeros((3, 5)), ["out 0", "float32", "float64"]),
        (strided((3, 5)), ["out 0", "contiguous"]),
        ([np.zeros((3, 5), np.float32)] * 2, ["out", "1", "2"]),
        (X, ["out 0", "shares memory", "argument 0"]),
        ("x", ["out 0"]),
    ],
)
def test_wrong_out(exe: "redfuse.Executable", out: object, words: list[str]) -> None:
    with pytest.raises(redfuse.ArgumentError) as caught:
        exe(X, Y, out=out)
    for word in words:
        assert word in str(caught.value)


def test_read_only_out(exe: "redfuse.Executable") -> None:
    out = np.zeros((3, 5), np.float32)
    out.flags.writeable = False
    with pytest.raises(redfuse.ArgumentError, match=r"read-only|writable"):
        exe(X, Y, out=out)


class OnTheGpu:
    """What an array library shows of an array on a GPU."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **_: object) -> None:
        raise AssertionError("nobody may ask for its memory")


def test_another_device(exe: "redfuse.Executable") -> None:
    with pytest.raises(redfuse.ArgumentError, match=r"argument 0.*(cuda|device)"):
        exe(OnTheGpu(), Y)


def test_other_libraries_come_through_dlpack(exe: "redfuse.Executable") -> None:
    class Wrapped:
        def __init__(self, array: np.ndarray):
            self.array = array

        def __dlpack__(self, **options: object) -> object:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

    np.testing.assert_array_equal(exe(Wrapped(X), Wrapped(Y)), X * Y)


def elementwise(kind: str, op: str) -> str:
    tensor = f"tensor<7x{kind}>"
    return f"""
    func.func @main(%x: {tensor}, %y: {tensor}) -> {tensor} {{
      %e = tensor.empty() : {tensor}
      %r = linalg.map {{ {op} }} ins(%x, %y : {tensor}, {tensor}) outs(%e : {tensor})
      return %r : {tensor}
    }}
    """


@pytest.mark.parametrize(
    ("kind", "dtype", "op"),
    [
        ("f64", np.float64, "arith.addf"),
        ("f32", np.float32, "arith.addf"),
        ("f16", np.float16, "arith.addf"),
        ("bf16", ml_dtypes.bfloat16, "arith.addf"),
        ("i64", np.int64, "arith.addi"),
        ("i32", np.int32, "arith.addi"),
        ("i16", np.int16, "arith.addi"),
        ("i8", np.int8, "arith.addi"),
        ("i1", np.bool_, "arith.xori"),
    ],
)
@pytest.mark.parametrize("fuse", [True, False])
def test_every_element_type(kind: str, dtype: type, op: str, fuse: bool) -> None:
    exe = redfuse.compile(elementwise(kind, op), options={"fuse": fuse})
    x, y = np.array([0, 1, 1, 0, 1, 0, 0], dtype), np.array([1, 1, 0, 0, 1, 1, 0], dtype)
    result = exe(x, y)
    assert result.dtype == np.dtype(dtype)
    expected = x ^ y if kind == "i1" else x + y
    np.testing.assert_array_equal(result, expected)


DYNAMIC = """
func.func @main(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %b, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %p = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  %s = linalg.add ins(%p, %c : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}
"""


@pytest.fixture(scope="module", params=[True, False], ids=["fused", "unfused"])
def dynamic(request: pytest.FixtureRequest) -> "redfuse.Executable":
    return redfuse.compile(DYNAMIC, options={"fuse": request.param})


@pytest.mark.parametrize(("m", "k", "n"), [(3, 4, 5), (1, 1, 1), (7, 13, 11), (0, 4, 5), (3, 0, 5)])
def test_dynamic_extents(dynamic: "redfuse.Executable", m: int, k: int, n: int) -> None:
    random = np.random.default_rng(1)
    a, b, c = (random.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n), (m, n)))
    result = dynamic(a, b, c)
    assert result.shape == (m, n)
    np.testing.assert_allclose(result, a @ b + c, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "shapes", [((3, 4), (5, 6), (3, 6)), ((3, 4), (4, 6), (3, 7)), ((3, 4), (4, 6), (2, 6))]
)
def test_dynamic_extents_that_disagree(dynamic: "redfuse.Executable", shapes: tuple) -> None:
    with pytest.raises(redfuse.ExecutionError, match="extent"):
        dynamic(*(np.zeros(shape, np.float32) for shape in shapes))


def test_extents_of_nothing_are_those_of_memory() -> None:
    """Compiled code multiplies extents: of an empty array, too, they are such that it can."""
    kind = "tensor<?x?xf32>"
    exe = redfuse.compile(f"func.func @main(%x: {kind}) -> {kind} {{\n  return %x : {kind}\n}}")
    for shape in ((0, 0), (0, 1 << 31), (1 << 31, 0)):
        assert exe(np.empty(shape, np.float32)).shape == shape
    for shape in ((0, 1 << 46), (1 << 46, 0)):
        with pytest.raises(redfuse.ArgumentError, match="extents that memory could have"):
            exe(np.empty(shape, np.float32))


def test_results_of_nothing_are_arrays_that_numpy_has() -> None:
    kind = "tensor<?x?xf32>"
    exe = redfuse.compile(f"""
func.func @main(%m: index, %n: index) -> {kind} {{
  %one = arith.constant 1.0 : f32
  %e = tensor.empty(%m, %n) : {kind}
  %f = linalg.fill ins(%one : f32) outs(%e : {kind}) -> {kind}
  return %f : {kind}
}}""")
    for shape in ((0, 0), (0, 1 << 40), (1 << 40, 0), (3, 5)):
        np.testing.assert_array_equal(exe(*shape), np.ones(shape, np.float32))
    for shape in ((0, 1 << 62), (1 << 62, 0), (1 << 32, 1 << 31)):
        with pytest.raises(redfuse.ExecutionError, match="larger than any memory"):
            exe(*shape)


def test_a_rank_is_not_dynamic(dynamic: "redfuse.Executable") -> None:
    with pytest.raises(redfuse.ArgumentError, match="argument 0"):
        dynamic(np.zeros(3, np.float32), np.zeros((3, 3), np.float32), np.zeros((3, 3), np.float32))


@pytest.mark.parametrize("fuse", [True, False])
def test_zero_sized(fuse: bool) -> None:
    text = (
        "func.func @main(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {\n return %x : tensor<0x4xf32>\n}"
    )
    assert redfuse.compile(text, options={"fuse": fuse})(np.zeros((0, 4), np.float32)).shape == (
        0,
        4,
    )


@pytest.mark.parametrize("fuse", [True, False])
def test_scalars(fuse: bool) -> None:
    text = """
    func.func @main(%x: tensor<4xf32>, %s: f32, %n: i64) -> (tensor<4xf32>, tensor<i64>) {
      %e = tensor.empty() : tensor<4xf32>
      %f = linalg.fill ins(%s : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      %r = linalg.mul ins(%x, %f : tensor<4xf32>, tensor<4xf32>)
          outs(%e : tensor<4xf32>) -> tensor<4xf32>
      %k = tensor.from_elements %n : tensor<i64>
      return %r, %k : tensor<4xf32>, tensor<i64>
    }
    """
    exe = redfuse.compile(text, options={"fuse": fuse})
    x = np.arange(4, dtype=np.float32)
    scaled, n = exe(x, 2.5, 7)
    np.testing.assert_array_equal(scaled, x * 2.5)
    assert n.shape == ()
    assert n == 7
    with pytest.raises(redfuse.ArgumentError, match="argument 2"):
        exe(x, 2.5, "seven")


@pytest.mark.parametrize("fuse", [True, False])
def test_a_failed_assertion_is_an_error_and_the_next_call_is_fine(fuse: bool) -> None:
    text = """
    func.func @main(%n: tensor<1xi64>) -> tensor<1xi64> {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0 : i64
      %v = tensor.extract %n[%c0] : tensor<1xi64>
      %ok = arith.cmpi sgt, %v, %zero : i64
      cf.assert %ok, "n must be positive"
      return %n : tensor<1xi64>
    }
    """
    exe = redfuse.compile(text, options={"fuse": fuse})
    with pytest.raises(redfuse.ExecutionError, match="n must be positive"):
        exe(np.array([-1]))
    np.testing.assert_array_equal(exe(np.array([3])), [3])


def test_threads_call_at_once(exe: "redfuse.Executable") -> None:
    from concurrent.futures import ThreadPoolExecutor

    def call(seed: int) -> bool:
        x = np.random.default_rng(seed).standard_normal((3, 5)).astype(np.float32)
        return np.array_equal(exe(x, Y), x * Y)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(200)))


class Metres(np.ndarray):
    """A subclass whose numbers mean more than numbers."""


@pytest.mark.parametrize(
    ("wrap", "words"),
    [
        (lambda x: np.ma.masked_less(x, 0), r"numpy\.ma\.MaskedArray, whose mask .* \.filled"),
        (lambda x: np.ma.masked_array(x), r"MaskedArray, whose mask"),
        (lambda x: np.asmatrix(x), r"numpy\.matrix; use numpy\.asarray"),
        (lambda x: x.view(Metres), r"Metres; use numpy\.asarray"),
        (lambda x: x.astype(">f4"), "not in native byte order"),
        (lambda x: x.astype(object), "expected dtype float32, got object"),
        (lambda x: x.view([("a", "f4")]), "expected dtype float32, got"),
        (lambda x: np.broadcast_to(x[:1], x.shape), "contiguous row-major memory, got strides"),
        (lambda x: x.tolist(), "expected an array .* got list"),
    ],
)
def test_arrays_that_are_more_than_their_numbers(
    exe: "redfuse.Executable", wrap: object, words: str
) -> None:
    x, y = arrays()
    given = wrap(x)  # type: ignore[operator]
    with pytest.raises(redfuse.ArgumentError, match=f"argument 0 of main: .*{words}") as caught:
        exe(given, y)
    assert caught.value.index == 0
    if isinstance(given, np.ndarray) and given.flags.writeable:
        with pytest.raises(redfuse.ArgumentError, match="out 0 of main"):
            exe(x, y, out=given)


def test_masked_examples_and_chunks(scale: str) -> None:
    x, y = arrays()
    with pytest.raises(redfuse.ArgumentError, match="whose mask"):
        redfuse.compile(scale, inputs=[np.ma.masked_less(x, 0), y])


def test_memory_mapped_files_are_plain_arrays(
    exe: "redfuse.Executable", tmp_path: pathlib.Path
) -> None:
    x, y = arrays()
    x.tofile(tmp_path / "x")
    mapped = np.memmap(tmp_path / "x", np.float32, "r", shape=x.shape)
    np.testing.assert_array_equal(exe(mapped, y), x * y)
    out = np.memmap(tmp_path / "out", np.float32, "w+", shape=x.shape)
    assert exe(x, y, out=out) is out
    np.testing.assert_array_equal(out, x * y)
    with pytest.raises(redfuse.ArgumentError, match="read-only"):
        exe(x, y, out=mapped)
