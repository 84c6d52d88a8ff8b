"""Signatures of compiled functions: element types and shapes, as MLIR spells them."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..errors import UnsupportedError

# MLIR element type -> (NumPy name, bytes). bf16 and floats of 8 bits are ml_dtypes' in NumPy. i1
# takes a byte in memory.
ELEMENT_TYPES: dict[str, tuple[str, int]] = {
    "f64": ("float64", 8),
    "f32": ("float32", 4),
    "f16": ("float16", 2),
    "bf16": ("bfloat16", 2),
    "i64": ("int64", 8),
    "i32": ("int32", 4),
    "i16": ("int16", 2),
    "i8": ("int8", 1),
    "i1": ("bool", 1),
    "f8E4M3FN": ("float8_e4m3fn", 1),
    "f8E5M2": ("float8_e5m2", 1),
    "f8E4M3FNUZ": ("float8_e4m3fnuz", 1),
    "f8E5M2FNUZ": ("float8_e5m2fnuz", 1),
    "index": ("int64", 8),
}
SMALL_FLOATS = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ")
FLOATS = ("f64", "f32", "f16", "bf16", *SMALL_FLOATS)


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """One argument or result. ``shape`` has ``None`` for a dynamic extent; a scalar is rank 0 and
    ``scalar``."""

    dtype: str
    shape: tuple[int | None, ...]
    scalar: bool = False

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return ELEMENT_TYPES[self.dtype][1]

    @property
    def is_static(self) -> bool:
        """Whether every extent is known."""
        return None not in self.shape

    @property
    def is_float(self) -> bool:
        """Whether the elements are floating point."""
        return self.dtype in FLOATS

    @property
    def native(self) -> object:
        """As the native functions take it: (element type, extents), a scalar by its type alone."""
        return self.dtype if self.scalar else (self.dtype, self.shape)

    def __str__(self) -> str:
        if self.scalar:
            return self.dtype
        return f"tensor<{''.join('?x' if n is None else f'{n}x' for n in self.shape)}{self.dtype}>"

    @classmethod
    def of(cls, kind: Any, what: str = "type") -> TensorSpec:
        """From an ``mlir.ir.Type``; ``what`` names the value in the error for types with no array
        form."""
        import mlir.ir as ir

        if str(kind) in ELEMENT_TYPES:
            return cls(str(kind), (), scalar=True)
        is_array = isinstance(kind, ir.RankedTensorType) and kind.encoding is None
        if not is_array or str(kind.element_type) not in ELEMENT_TYPES:
            raise UnsupportedError(
                f"{what}: type {kind} cannot be passed as an array; expected a ranked tensor "
                "without an encoding "
                f"(or a scalar) of {', '.join(ELEMENT_TYPES)}"
            )
        dims = range(kind.rank)
        shape = tuple(None if kind.is_dynamic_dim(d) else kind.get_dim_size(d) for d in dims)
        return cls(str(kind.element_type), shape)

    @classmethod
    def from_json(cls, value: dict) -> TensorSpec:
        """The inverse of ``dataclasses.asdict``, of lists for tuples."""
        return cls(str(value["dtype"]), tuple(value["shape"]), bool(value["scalar"]))


@dataclasses.dataclass(frozen=True)
class Signature:
    """The entry function: its name, and the types of its arguments and results."""

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]

    def __str__(self) -> str:
        results = ", ".join(map(str, self.outputs))
        return f"{self.name}({', '.join(map(str, self.inputs))}) -> ({results})"

    def to_json(self) -> dict:
        """For a bundle's header."""
        return {
            "name": self.name,
            "inputs": [dataclasses.asdict(spec) for spec in self.inputs],
            "outputs": [dataclasses.asdict(spec) for spec in self.outputs],
        }

    @classmethod
    def from_json(cls, value: dict) -> Signature:
        """The inverse of :meth:`to_json`."""
        return cls(
            str(value["name"]),
            tuple(TensorSpec.from_json(spec) for spec in value["inputs"]),
            tuple(TensorSpec.from_json(spec) for spec in value["outputs"]),
        )


def numpy_dtype(dtype: str):
    """The NumPy dtype of an MLIR element type; bf16 and floats of 8 bits need ml_dtypes."""
    import numpy

    if dtype == "bf16" or dtype in SMALL_FLOATS:
        try:
            import ml_dtypes
        except ImportError:
            raise UnsupportedError(
                f"{dtype} arrays in NumPy need the package ml_dtypes: pip install ml_dtypes (or "
                "pass torch tensors)"
            ) from None
        return numpy.dtype(getattr(ml_dtypes, ELEMENT_TYPES[dtype][0]))
    return numpy.dtype(ELEMENT_TYPES[dtype][0])
