"""Hand-written programs in the form that layer 8 takes, compiled and loaded."""

from __future__ import annotations

import mlir.ir as ir
from redfuse import _ext

SHAPES = """
func.func @f__shapes(%x: memref<?x{src}>, %o: memref<?xindex>) {{
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x{src}>
  memref.store %n, %o[%c0] : memref<?xindex>
  return
}}"""


def compile_text(text: str, cpu: str = "", **options):
    """The loaded library of a module on memrefs."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        _ext.run_passes(
            module.operation, "redfuse-lower-to-llvm" + (f"{{cpu={cpu}}}" if cpu else "")
        )
        return _ext.load(_ext.emit_object(module.operation, cpu=cpu, **options))


def elementwise(
    body: str, src: str = "f32", dst: str | None = None, lanes: int = 16, cpu: str = ""
):
    """``y = body(%v)`` over a dynamic 1-D array, ``lanes`` elements at a time (1: scalars).

    body: lines that define ``%e`` from ``%v``; T and U stand for the types of the two.
    """
    dst = dst or src
    vector = (lambda t: f"vector<{lanes}x{t}>") if lanes > 1 else (lambda t: t)
    body = body.replace("T", vector(src)).replace("U", vector(dst))
    zero = f"arith.constant 0.0 : {src}" if src[0] in "fb" else f"arith.constant 0 : {src}"
    load, store = "%v = memref.load %x[%i] : memref<?xS>", "memref.store %e, %y[%i] : memref<?xD>"
    if lanes > 1:
        load = "%v = vector.transfer_read %x[%i], %zero : memref<?xS>, vector<LxS>"
        store = "vector.transfer_write %e, %y[%i] : vector<LxD>, memref<?xD>"
    load, store = (
        t.replace("S", src).replace("D", dst).replace("L", str(lanes)) for t in (load, store)
    )
    text = f"""
func.func @f(%x: memref<?x{src}>, %y: memref<?x{dst}>) {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {lanes} : index
  %zero = {zero}
  %n = memref.dim %x, %c0 : memref<?x{src}>
  scf.for %i = %c0 to %n step %step {{
    {load}
    {body}
    {store}
  }}
  return
}}{SHAPES.format(src=src)}"""
    function = compile_text(text, cpu).function("f", [(src, (None,))], [(dst, (None,))])
    return lambda x, out=None: function((x,), None if out is None else (out,))[0]
