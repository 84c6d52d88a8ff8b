"""Arrays of any library, checked against a signature before a program exists.

The calls themselves check and convert in C++ (python/src/Arguments.cpp), with the same words.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError
from .specs import ELEMENT_TYPES, Signature, TensorSpec, numpy_dtype

ALIGNMENT = 64  # bytes: one cache line, one 512-bit vector


def is_torch(value: object) -> bool:
    """Whether ``value`` is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def empty_numpy(shape: Sequence[int], dtype: str) -> Any:
    """An uninitialised array on a 64-byte boundary."""
    import numpy

    kind = numpy_dtype(dtype)
    count = 1
    for extent in shape:
        count *= extent
    raw = numpy.empty(count * kind.itemsize + ALIGNMENT, numpy.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + count * kind.itemsize].view(kind).reshape(tuple(shape))


def check_count(arguments: Sequence[Any], signature: Signature) -> None:
    """Raises unless there is one argument for each input."""
    if len(arguments) != len(signature.inputs):
        raise ArgumentError(
            f"{signature.name} takes {len(signature.inputs)} arguments "
            f"({', '.join(map(str, signature.inputs))}), got {len(arguments)}"
        )


def check_examples(arguments: Sequence[Any], signature: Signature) -> None:
    """Raises ArgumentError unless count, dtypes and shapes are the signature's."""
    check_count(arguments, signature)
    for index, (value, spec) in enumerate(zip(arguments, signature.inputs, strict=True)):
        check_array(value, spec, f"argument {index} of {signature.name}", index)


def check_array(value: Any, spec: TensorSpec, what: str, index: int) -> None:
    """Raises ArgumentError, about ``what``, unless dtype and shape are the spec's."""
    if spec.scalar:
        return
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        raise ArgumentError(f"{what}: expected an array, got {type(value).__name__}", index)
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(value, "mask") and isinstance(value, numpy.ndarray):
        raise ArgumentError(
            f"{what}: expected a plain array, got {type(value).__name__}, whose mask a program "
            "does not know; use .filled(value), or .data if the mask is not meant",
            index,
        )
    dtype = str(value.dtype).removeprefix("torch.")
    wanted = ELEMENT_TYPES[spec.dtype][0]
    if dtype != wanted:
        raise ArgumentError(f"{what}: expected dtype {wanted}, got {dtype}", index)
    try:
        shape = tuple(value.shape)
    except TypeError:
        raise ArgumentError(
            f"{what}: expected an array, got {type(value).__name__}", index
        ) from None
    fits = len(shape) == len(spec.shape) and all(
        want in (None, got) for want, got in zip(spec.shape, shape, strict=True)
    )
    if not fits:
        raise ArgumentError(f"{what}: expected {spec}, got shape {shape}", index)
