"""redfuse.compile: sources, targets, options, and an error of its own for everything wrong."""

import subprocess
import sys
import time
from pathlib import Path

import mlir.ir as ir
import numpy as np
import pytest
import redfuse
from processor import slowness

X = np.arange(15, dtype=np.float32).reshape(3, 5)
Y = np.arange(5, dtype=np.float32)
PLAIN = {"fuse": False}


def test_text_path_and_module_give_the_same(scale: str, tmp_path: Path) -> None:
    path = tmp_path / "scale.mlir"
    path.write_text(scale)
    with ir.Context():
        module = ir.Module.parse(scale)
    for source in (scale, path, str(path), module):
        result = redfuse.compile(source, options=PLAIN)(X, Y)
        np.testing.assert_array_equal(result, X * Y)
    assert "linalg.generic" in str(module), "a module given is not changed"


def test_bytecode(scale: str, tmp_path: Path) -> None:
    path = tmp_path / "scale.mlirbc"
    with ir.Context(), open(path, "wb") as file:
        ir.Module.parse(scale).operation.write_bytecode(file)
    for source in (path, path.read_bytes()):
        np.testing.assert_array_equal(redfuse.compile(source, options=PLAIN)(X, Y), X * Y)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("func.func @main() {", 1, ["expected"]),
        (
            "module {\n  func.func @main(%a: tensor<f32>) -> tensor<f32> {\n"
            "    return %b : tensor<f32>\n  }\n}",
            3,
            ["undeclared"],
        ),
        ("func.func @main() {\n  %0 = foo.bar : f32\n  return\n}", 2, ["foo", "dialect"]),
        ('"foo.bar"() : () -> ()\n', 1, ["unregistered"]),
        (
            "func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> {\n  return %a : tensor<3xf32>\n}",
            2,
            ["tensor"],
        ),
        ("{ this is no program }", 1, []),
        (
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
            '  %0 = "linalg.exp"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n'
            "  return %0 : tensor<4xf32>\n}",
            2,
            [],
        ),
    ],
)
def test_malformed_text(text: str, line: int, words: list[str]) -> None:
    with pytest.raises(redfuse.ParseError) as caught:
        redfuse.compile(text)
    assert caught.value.line == line
    assert caught.value.column is not None
    assert f":{line}:" in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_malformed_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text("module {\n  nonsense\n}\n")
    with pytest.raises(redfuse.ParseError, match=r"bad\.mlir:2:") as caught:
        redfuse.compile(path)
    assert caught.value.file == str(path)


def test_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.mlir"
    path.write_bytes(bytes(range(128, 256)))
    with pytest.raises(redfuse.ParseError, match="neither MLIR text"):
        redfuse.compile(path)


def test_truncated_bytecode(scale: str, tmp_path: Path) -> None:
    path = tmp_path / "scale.mlirbc"
    with ir.Context(), open(path, "wb") as file:
        ir.Module.parse(scale).operation.write_bytecode(file)
    for length in (4, 5, 20, 200, path.stat().st_size - 1):
        with pytest.raises(redfuse.ParseError):
            redfuse.compile(path.read_bytes()[:length])


@pytest.mark.parametrize("source", ["no/such/file.mlir", Path("no/such/file.mlir"), "file"])
def test_missing_file(source: object) -> None:
    with pytest.raises(redfuse.ArgumentError, match="No such file"):
        redfuse.compile(source)


@pytest.mark.parametrize("source", [None, 3, ["x"], object()])
def test_what_is_no_source(source: object) -> None:
    with pytest.raises(redfuse.ArgumentError, match="expected a path, MLIR text"):
        redfuse.compile(source)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("module {\n}\n", ["nothing to compile"]),
        ("func.func private @main(tensor<4xf32>)\n", ["nothing to compile"]),
        ("func.func @main(%a: tensor<*xf32>) {\n  return\n}", ["argument 0", "tensor<*xf32>"]),
        ("func.func @main(%a: tensor<4xcomplex<f32>>) {\n  return\n}", ["argument 0", "complex"]),
        ("func.func @main(%a: tensor<4xf8E3M4>) {\n  return\n}", ["argument 0", "f8E3M4"]),
        ("func.func @main(%a: memref<4xf32>) {\n  return\n}", ["argument 0", "memref"]),
        (
            "func.func private @g(tensor<4xf32>) -> tensor<4xf32>\n"
            "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
            "  %0 = call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}",
            ["calls @g"],
        ),
        (
            "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
            "  %0 = call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : "
            "tensor<4xf32>\n}",
            ["calls @main"],
        ),
    ],
)
def test_unsupported_programs(text: str, words: list[str]) -> None:
    with pytest.raises(redfuse.UnsupportedError) as caught:
        redfuse.compile(text, options=PLAIN)
    for word in words:
        assert word in str(caught.value)


def test_an_operation_without_lowering() -> None:
    text = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tosa.exp %a : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    for options in (PLAIN, {}):
        with pytest.raises(redfuse.UnsupportedError, match=r"<text>:2:.*tosa\.exp"):
            redfuse.compile(text, options=options)


def test_entries(scale: str) -> None:
    two = scale.replace("@main", "@f") + scale.replace("@main", "@g").replace("mulf", "addf")
    with pytest.raises(redfuse.ArgumentError, match="entry=NAME: f, g"):
        redfuse.compile(two)
    with pytest.raises(redfuse.ArgumentError, match="unknown function 'h'"):
        redfuse.compile(two, options={"entry": "h"})
    f = redfuse.compile(two, options={"entry": "f", "fuse": False})
    g = redfuse.compile(two, options={"entry": "g", "fuse": False})
    np.testing.assert_array_equal(f(X, Y), X * Y)
    np.testing.assert_array_equal(g(X, Y), X + Y)
    only = scale.replace("@main", "@f") + scale.replace("@main", "private @g")
    np.testing.assert_array_equal(redfuse.compile(only, options=PLAIN)(X, Y), X * Y)


def test_calls_are_inlined() -> None:
    text = """
    func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>)
          outs(%e : tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = call @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = call @double(%0) : (tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    """
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(redfuse.compile(text, options=PLAIN)(x), 4 * x)


@pytest.mark.parametrize("target", ["rocket", "tpu", "", "cpu:avx9", "Cpu"])
def test_targets_that_are_not_there(scale: str, target: str) -> None:
    with pytest.raises(redfuse.TargetError, match="cpu"):
        redfuse.compile(scale, target=target)


def test_targets(scale: str) -> None:
    assert "cpu" in redfuse.available_targets()
    with pytest.raises(redfuse.TargetError, match="expected a name"):
        redfuse.compile(scale, target=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fuze": True}, ["unknown option 'fuze'", "did you mean 'fuse'"]),
        ({"fuse": 1}, ["fuse", "bool", "int"]),
        ({"schedule": "steam"}, ["steam", "did you mean 'stream'"]),
        ({"opt_level": 9}, ["opt_level", "0 to 3"]),
        ({"threads": -1}, ["threads"]),
        ({"threads": True}, ["threads", "bool"]),
        ({"entry": 3}, ["entry"]),
        (["fuse"], ["options", "list"]),
    ],
)
def test_wrong_options(scale: str, options: object, words: list[str]) -> None:
    with pytest.raises(redfuse.ArgumentError) as caught:
        redfuse.compile(scale, options=options)
    for word in words:
        assert word in str(caught.value)


def test_example_inputs_are_checked(scale: str) -> None:
    redfuse.compile(scale, options=PLAIN, inputs=[X, Y])
    with pytest.raises(redfuse.ArgumentError, match="argument 1"):
        redfuse.compile(scale, options=PLAIN, inputs=[X, X])
    with pytest.raises(redfuse.ArgumentError, match="2 arguments"):
        redfuse.compile(scale, options=PLAIN, inputs=[X])


def test_ir_and_assembly(scale: str) -> None:
    exe = redfuse.compile(scale, options=PLAIN)
    assert next(iter(exe.ir)) == "source"
    assert "linalg.generic" in exe.ir["source"]
    assert "memref" in exe.ir["loops"]
    assert "llvm.func" in exe.ir["llvm"]
    with pytest.raises(KeyError, match="unknown stage"):
        exe.ir["nonsense"]
    assert "main" in exe.asm


def test_a_function_needs_example_inputs() -> None:
    def double(x: object) -> object:
        return x + x  # type: ignore[operator]

    with pytest.raises(redfuse.ArgumentError, match="example inputs"):
        redfuse.compile(double)


def test_import_is_fast_and_light() -> None:
    code = (
        "import time, sys; t = time.process_time(); import redfuse; d = time.process_time() - t; "
        "print(d, [m for m in ('numpy', 'torch', 'rich', 'typer') if m in sys.modules])"
    )
    times = []
    for _ in range(3):
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        seconds, _, modules = out.stdout.partition(" ")
        assert modules.strip() == "[]"
        times.append(float(seconds))
    assert min(times) < 0.3 * slowness()


def test_compiling_is_fast() -> None:
    """Processor time, so that other work on the machine does not count."""
    path = Path(__file__).resolve().parents[3] / "examples" / "attention.mlir"
    seconds = []
    for _ in range(3):
        start = time.process_time()
        exe = redfuse.compile(path, options={"cache": False})
        seconds.append(time.process_time() - start)
        assert exe.compile_seconds > 0
    assert min(seconds) < 1.0 * slowness()


def test_every_stage_has_its_ir() -> None:
    exe = redfuse.compile(Path(__file__).resolve().parents[3] / "examples" / "softmax.mlir")
    wanted = {
        "source": "linalg.generic", "normalize": "linalg.generic", "raise": "redfuse.cascade",
        "fuse": "redfuse.cascade", "schedule": "#redfuse.schedule", "derive": "redfuse.",
        "outline": "redfuse.kernel", "bufferize": "memref", "share": "redfuse.launch",
        "plan": "redfuse.launch", "generate": "vector", "llvm": "llvm.func",
    }  # fmt: skip
    assert list(exe.ir) == list(wanted)
    for stage, word in wanted.items():
        assert word in exe.ir[stage], stage


def test_python_classes_of_the_dialect() -> None:
    from redfuse.dialects import redfuse as dialect

    names = {name for name in dir(dialect) if name.endswith("Op")}
    assert {
        "CascadeOp",
        "ReduceOp",
        "FoldOp",
        "MergeOp",
        "FinalizeOp",
        "KernelOp",
        "LaunchOp",
    } <= names


def test_two_results_from_one_fill() -> None:
    """As written, op by op: each result has a buffer of its own."""
    reduction = """linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
        iterator_types = ["reduction"]} ins(%NAME : tensor<4xf32>) outs(%start : tensor<f32>) {
    ^bb0(%x: f32, %o: f32):
      %m = arith.mulf %x, %o : f32
      linalg.yield %m : f32
    } -> tensor<f32>"""
    text = f"""
    func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {{
      %one = arith.constant 1.0 : f32
      %e = tensor.empty() : tensor<f32>
      %start = linalg.fill ins(%one : f32) outs(%e : tensor<f32>) -> tensor<f32>
      %r = {reduction.replace("%NAME", "%a")}
      %s = {reduction.replace("%NAME", "%b")}
      return %r, %s : tensor<f32>, tensor<f32>
    }}"""
    a, b = np.array([1, 2, 3, 4], np.float32), np.array([5, 1, 1, 1], np.float32)
    for options in (PLAIN, {}):
        assert [float(r) for r in redfuse.compile(text, options=options)(a, b)] == [24.0, 5.0]


def test_ops_of_torch_mlir_that_are_not_known() -> None:
    """What to do instead, not only that the op is unknown."""
    text = """
func.func @main(%x: tensor<1x8x4xf32>) -> tensor<1x8x4xf32> {
  %r = tm_tensor.unique ins(%x, %x, %x : tensor<1x8x4xf32>, tensor<1x8x4xf32>,
       tensor<1x8x4xf32>) outs(%x : tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
  return %r : tensor<1x8x4xf32>
}
"""
    match = r"(?s)<text>:3:.*sort.*are known"
    with pytest.raises(redfuse.ParseError, match=match):
        redfuse.compile(text)


def test_complex_numbers_run_as_ordinary_code() -> None:
    text = """
#of = affine_map<(i) -> (i)>
func.func @main(%x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %e = tensor.empty() : tensor<5xcomplex<f32>>
  %z = linalg.generic {indexing_maps = [#of, #of, #of], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<5xf32>, tensor<5xf32>) outs(%e : tensor<5xcomplex<f32>>) {
  ^bb0(%a: f32, %b: f32, %o: complex<f32>):
    %c = complex.create %a, %b : complex<f32>
    linalg.yield %c : complex<f32>
  } -> tensor<5xcomplex<f32>>
  %f = tensor.empty() : tensor<5xf32>
  %r = linalg.generic {indexing_maps = [#of, #of], iterator_types = ["parallel"]}
      ins(%z : tensor<5xcomplex<f32>>) outs(%f : tensor<5xf32>) {
  ^bb0(%a: complex<f32>, %o: f32):
    %s = complex.mul %a, %a : complex<f32>
    %n = complex.abs %s : complex<f32>
    linalg.yield %n : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}
"""
    x, y = np.random.default_rng(5).normal(size=(2, 5)).astype(np.float32)
    executable = redfuse.compile(text)
    np.testing.assert_allclose(executable(x, y), x * x + y * y, rtol=1e-6)
    reasons = [entry["detail"] for entry in executable.explanation["refused"]]
    assert reasons == ["an operand holds complex<f32>"] * 2
