"""fp64 of the unfused program: what every result is compared with.

The program's float types all become f64 (redfuse-widen-floats), and the plain path (upstream
passes, one loop nest an operation) compiles the rest: no pass that fuses has touched it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import pipelines
from .frontends import mlir as mlir_frontend
from .frontends.mlir import Source
from .frontends.stageerrors import REFERENCE
from .options import Options


class Reference:
    """The fp64 program: call it with the fused program's arguments; results are float64 (integers
    as they were).

    opt_level: LLVM's; what 3 does more takes as long again, and loops over fp64 sums do not run
    faster for it."""

    def __init__(self, source: Any, entry: str | None = None, opt_level: int = 2):
        from .compiler import compile

        program = mlir_frontend.read(source)
        module = program.parse()  # an operation does not keep its module alive
        self.signature = mlir_frontend.signature(mlir_frontend.find_entry(module, entry))
        options = Options(entry=self.signature.name, fuse=False, opt_level=opt_level)
        self.executable = compile(Source(to_f64(program)), options=options)

    def __call__(self, *arguments: Any) -> list[Any]:
        """Runs on arrays of any float width; returns a list of NumPy arrays."""
        results = self.executable(
            *[
                _widen(value, spec)
                for value, spec in zip(arguments, self.signature.inputs, strict=False)
            ]
        )
        return list(results) if isinstance(results, tuple) else [results]


def reference(
    source: Any, arguments: Sequence[Any], entry: str | None = None, opt_level: int = 2
) -> list[Any]:
    """Results of the unfused program in fp64, as a list of NumPy arrays."""
    return Reference(source, entry, opt_level)(*arguments)


def _widen(value: Any, spec: Any) -> Any:
    import numpy

    from .runtime.specs import SMALL_FLOATS, numpy_dtype

    if type(value).__module__.startswith("torch"):
        value = value.detach().double().numpy() if spec.is_float else value.numpy()
    if isinstance(value, (bool, int, float)):
        return value  # the call knows what it stands for
    array = numpy.asarray(value)
    if not spec.is_float:
        return array
    dtype = numpy_dtype(spec.dtype) if spec.dtype in SMALL_FLOATS else numpy.float64
    # ascontiguousarray would give an array without dims one.
    return numpy.asarray(array, dtype=dtype, order="C")


def to_f64(source: Source) -> str:
    """The text of the program, floats of more than 8 bits made f64 (redfuse-widen-floats);
    UnsupportedError where it reads bits."""
    from .lowering import run_pipeline

    module = source.parse()
    run_pipeline(module, pipelines.widen(), REFERENCE)
    return str(module)
