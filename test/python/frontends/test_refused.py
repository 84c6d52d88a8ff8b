"""Valid programs that cannot be compiled: an UnsupportedError that names the operation of the
source, its place and what would work. Whatever stage fails, it is the source that is spoken of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import redfuse
from redfuse import CompileError
from redfuse.frontends.mlir import Source
from redfuse.frontends.stageerrors import stage_error

SPARSE = "#s = #sparse_tensor.encoding<{map = (d0) -> (d0 : compressed)}>\n"
HUGE = "tensor<4294967296x4294967296xf32>"


def program(body: str, result: str = "%x", kind: str = "tensor<4xf32>", before: str = "") -> str:
    """A function whose body starts on the second line of the text."""
    return (
        f"func.func @main(%x: tensor<4xf32>) -> {kind} {{\n{body}\n  return {result} : {kind}\n}}\n"
        + before
    )


SPLAT = "\n  %r = tensor.splat %f : tensor<4xf32>"
BODY = """%r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%x : tensor<4xf32>) {
  ^bb0(%b: f32):
    vector.print %b : f32
    linalg.yield %b : f32
  } -> tensor<4xf32>"""

# Text, the operation that is named, and its line.
REFUSED = {
    "prints": (program('vector.print str "hi"'), "vector.print", 2),
    "prints in a body": (program(BODY, "%r"), "vector.print", 5),
    "frees": (program("bufferization.dealloc_tensor %x : tensor<4xf32>"),
              "bufferization.dealloc_tensor", 2),
    "calls": (program("%f = call @ext() : () -> f32" + SPLAT, "%r",
                      before="func.func private @ext() -> f32"), "func|@ext", 2),
    "calls by LLVM": (program("%f = llvm.call @ext() : () -> f32" + SPLAT, "%r",
                              before="llvm.func @ext() -> f32"), "llvm.call", 2),
    "follows a pointer": (program("%c = llvm.mlir.constant(0 : i64) : i64\n"
                                  "%p = llvm.inttoptr %c : i64 to !llvm.ptr\n"
                                  "%f = llvm.load %p : !llvm.ptr -> f32" + SPLAT, "%r"),
                          "llvm.mlir.constant", 2),
    "gpu": (program("gpu.barrier"), "gpu.barrier", 2),
    "gpu prints": (program('gpu.printf "hi"'), "gpu.printf", 2),
    "async": (program("%t = async.execute { async.yield }\nasync.await %t : !async.token"),
              "async.execute", 2),
    "openmp": (program("omp.parallel { omp.terminator }"), "omp.parallel", 2),
    "openacc": (program("acc.parallel { acc.yield }"), "acc.parallel", 2),
    "nvvm": (program("nvvm.barrier0"), "nvvm.barrier0", 2),
    "spirv": (program("%f = spirv.Constant 1.0 : f32" + SPLAT, "%r"), "spirv.Constant", 2),
    "in a function that is called": (program("call @g() : () -> ()",
                                             before="func.func private @g() {\ngpu.barrier\n"
                                                    "return\n}"), "gpu.barrier", 6),
    "emitc": (program('emitc.verbatim "hi"'), "emitc.verbatim", 2),
    "tosa": (program("%r = tosa.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
                     "%r"), "tosa.add", 2),
    "sparse": (SPARSE + program("%s = sparse_tensor.convert %x : tensor<4xf32> to "
                                "tensor<4xf32, #s>"), "sparse_tensor.convert", 3),
    "mpi": (program("%e = mpi.init : !mpi.retval"), "mpi.init", 2),
    "amx": (program("%z = amx.tile_zero : !amx.tile<16x16xf32>"), "amx.tile_zero", 2),
    "shape": (program("%s = shape.shape_of %x : tensor<4xf32> -> !shape.shape\n"
                      "%n = shape.num_elements %s : !shape.shape -> !shape.size"),
              "shape.shape_of", 2),
    "branches back": (program("%c = arith.constant true\ncf.br ^h(%x : tensor<4xf32>)\n"
                              "^h(%y: tensor<4xf32>):\ncf.cond_br %c, ^h(%y : tensor<4xf32>), ^e\n"
                              "^e:", "%y"), "func.func", 1),
    "bitcast": (program("%c = complex.constant [1.0 : f32, 2.0 : f32] : complex<f32>\n"
                        "%i = complex.bitcast %c : complex<f32> to i64\n"
                        "%r = tensor.from_elements %i : tensor<1xi64>", "%r", "tensor<1xi64>"),
                "complex.bitcast", 3),
    "tf32": (program("%a = arith.truncf %x : tensor<4xf32> to tensor<4xtf32>\n"
                     "%r = arith.extf %a : tensor<4xtf32> to tensor<4xf32>", "%r"),
             "arith.truncf", 2),
    "f4": (program("%a = arith.truncf %x : tensor<4xf32> to tensor<4xf4E2M1FN>\n"
                   "%r = arith.extf %a : tensor<4xf4E2M1FN> to tensor<4xf32>", "%r"),
           "arith.truncf", 2),
    "i65": (program("%a = arith.fptosi %x : tensor<4xf32> to tensor<4xi65>\n"
                    "%r = arith.sitofp %a : tensor<4xi65> to tensor<4xf32>", "%r"),
            "arith.fptosi", 2),
    "cast of a type": (program("%r = builtin.unrealized_conversion_cast %x : tensor<4xf32> to "
                               "tensor<4xi32>", "%r", "tensor<4xi32>"),
                       "builtin.unrealized_conversion_cast", 2),
    "huge argument": (f"func.func @main(%x: {HUGE}) -> {HUGE} {{\nreturn %x : {HUGE}\n}}",
                      "func.func", 1),
    "huge bytes": ("func.func @main(%x: tensor<4611686018427387904xf32>) -> tensor<4xf32> {\n"
                   "%r = tensor.extract_slice %x[0] [4] [1] : tensor<4611686018427387904xf32> to "
                   "tensor<4xf32>\nreturn %r : tensor<4xf32>\n}", "func.func", 1),
    "huge without elements": ("func.func @main(%x: tensor<0x4294967296x4294967296xf32>) -> "
                              "tensor<4xf32> {\n%r = tensor.empty() : tensor<4xf32>\n"
                              "return %r : tensor<4xf32>\n}", "func.func", 1),
    "huge intermediate": (program(f"%f = arith.constant 1.0 : f32\n%s = tensor.splat %f : {HUGE}\n"
                                  "%c = arith.constant 0 : index\n"
                                  f"%e = tensor.extract %s[%c, %c] : {HUGE}\n"
                                  "%r = tensor.splat %e : tensor<4xf32>", "%r"),
                          "tensor.splat", 3),
    "huge constant": (program(f"%s = arith.constant dense<1.0> : {HUGE}\n"
                              "%c = arith.constant 0 : index\n"
                              f"%e = tensor.extract %s[%c, %c] : {HUGE}\n"
                              "%r = tensor.splat %e : tensor<4xf32>", "%r"),
                      "arith.constant", 2),
    "huge part of a shape": ("func.func @main(%x: tensor<4294967296x?x4294967296xf32>) -> "
                             "tensor<4xf32> {\n%r = tensor.empty() : tensor<4xf32>\n"
                             "return %r : tensor<4xf32>\n}", "func.func", 1),
}  # fmt: skip


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("name", list(REFUSED))
def test_the_source_is_named(name: str, fuse: bool, capfd: pytest.CaptureFixture[str]) -> None:
    text, operation, line = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", redfuse.FusionWarning)
        with pytest.raises(redfuse.UnsupportedError, match=operation) as caught:
            redfuse.compile(text, options={"fuse": fuse, "cache": False})
    said = str(caught.value)
    assert f"<text>:{line}:" in said
    assert "expected" in said
    first = next(row for row in said.splitlines() if f"<text>:{line}:" in row)
    assert any(part in first for part in operation.split("|"))
    assert capfd.readouterr().err == "", "libraries say nothing beside it"


LARGE = """
func.func @main(%n: index) -> tensor<RESULT> {
  %z = arith.constant 1.0 : f32
  %e = tensor.empty(%n, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %s = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%z : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %m = linalg.reduce { arith.maximumf } ins(%f : tensor<?x?xf32>) outs(%i : tensor<f32>)
      dimensions = [0, 1]
  return VALUE : tensor<RESULT>
}
"""


@pytest.mark.parametrize("extent", [1 << 32, (1 << 32) + 1, 1 << 31, 3037000500, 1 << 62, -5])
def test_extents_that_are_too_large_when_it_runs(extent: int) -> None:
    """Of an intermediate, and of a result; their product is checked, not what is left of it."""
    inner = LARGE.replace("RESULT", "f32").replace("VALUE", "%m")
    exe = redfuse.compile(inner, options={"fuse": False})
    assert exe(3) == 1
    with pytest.raises(redfuse.ExecutionError):
        exe(extent)
    exe = redfuse.compile(LARGE.replace("RESULT", "?x?xf32").replace("VALUE", "%f"))
    np.testing.assert_array_equal(exe(3), np.ones((3, 3), np.float32))
    with pytest.raises(redfuse.ExecutionError):
        exe(extent)


@pytest.mark.parametrize("said", ["no", "'memref.alloc' op no"])
def test_whatever_a_stage_says_the_source_is_named(said: str) -> None:
    """Diagnostics of operations that passes have made, at the place of the source's: only that
    is what somebody wrote."""
    error = CompileError("the pipeline failed")
    error.diagnostics = [  # type: ignore[attr-defined]
        {"message": said, "file": "-", "line": 2, "column": 8, "operation": "memref.alloc",
         "notes": []}
    ]  # fmt: skip
    source = Source(
        "func.func @main(%x: f32) -> f32 {\n  %y = math.erf %x : f32\n  return %y : f32 }"
    )
    made = stage_error(error, "bufferize", source)
    assert isinstance(made, redfuse.UnsupportedError)
    assert "<text>:2:8: math.erf: no\n" in str(made)
