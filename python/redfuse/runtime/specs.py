"""Signatures of compiled functions: element types and shapes, as MLIR spells them."""

from __future__ import annotations

import dataclasses
import re

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
_TENSOR = re.compile(r"^tensor<((?:(?:\d+|\?)x)*)([a-z]\w*)>$")


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
    def parse(cls, text: str, what: str = "type") -> TensorSpec:
        """From MLIR's spelling; ``what`` names the value in the error for types with no array
        form."""
        if text in ELEMENT_TYPES:
            return cls(text, (), scalar=True)
        match = _TENSOR.match(text)
        if match is None or match[2] not in ELEMENT_TYPES:
            raise UnsupportedError(
                f"{what}: type {text} cannot be passed as an array; expected a ranked tensor "
                "without an encoding "
                f"(or a scalar) of {', '.join(ELEMENT_TYPES)}"
            )
        shape = tuple(None if n == "?" else int(n) for n in match[1].split("x")[:-1])
        return cls(match[2], shape)


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
            "inputs": [str(spec) for spec in self.inputs],
            "outputs": [str(spec) for spec in self.outputs],
        }

    @classmethod
    def from_json(cls, value: dict) -> Signature:
        """The inverse of :meth:`to_json`."""
        return cls(
            str(value["name"]),
            tuple(TensorSpec.parse(text) for text in value["inputs"]),
            tuple(TensorSpec.parse(text) for text in value["outputs"]),
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
