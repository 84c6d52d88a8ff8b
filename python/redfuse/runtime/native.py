"""Loaded machine code, and one call of it through the packed C entry.

``void f__packed(void **args)``: ``args[i]`` points to the descriptor ``{allocated, aligned,
offset, sizes[rank], strides[rank]}`` (64-bit words) of argument i, or to the scalar itself.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from .. import _ext
from ..errors import ExecutionError
from .specs import Signature, TensorSpec, numpy_dtype

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Function:
    """A packed entry. ``words(...)`` memory must stay alive during a call."""

    def __init__(self, library: Any, name: str):
        self.library = library  # keeps the code mapped
        self.name = name
        self.entry = _ENTRY(library.address(name + "__packed"))
        self.lock = threading.Lock()

    def __call__(self, arguments: Sequence[tuple[int, Sequence[int]] | bytes]) -> None:
        """Runs with (address, shape) pairs for arrays and bytes for scalars."""
        words: list[int] = []
        starts: list[int] = []
        scalars = []
        for argument in arguments:
            if isinstance(argument, bytes):
                scalar = ctypes.create_string_buffer(argument, max(8, len(argument)))
                scalars.append(scalar)
                starts.append(-ctypes.addressof(scalar))
                continue
            address, shape = argument
            starts.append(len(words))
            strides = [1] * len(shape)
            for dim in range(len(shape) - 2, -1, -1):
                strides[dim] = strides[dim + 1] * max(shape[dim + 1], 1)
            words += [address, address, 0, *shape, *strides]
        memory = (ctypes.c_int64 * max(len(words), 1))(*words)
        base = ctypes.addressof(memory)
        pointers = (ctypes.c_void_p * max(len(starts), 1))(
            *[-s if s < 0 else base + 8 * s for s in starts]
        )
        _ext.clear_failure()
        self.entry(ctypes.addressof(pointers))
        message = _ext.take_failure()
        if message:
            raise ExecutionError(f"{self.name}: {message}")
        del scalars


def scalar_bytes(array: Any, spec: TensorSpec) -> bytes:
    """The bytes of a scalar argument in the program's own type."""
    return array.astype(numpy_dtype(spec.dtype)).tobytes()


class Program:
    """An entry function and, where extents are dynamic, its shapes function."""

    def __init__(self, library: Any, signature: Signature):
        self.signature = signature
        self.main = Function(library, signature.name)
        dynamic = not all(spec.is_static for spec in (*signature.inputs, *signature.outputs))
        self.shapes = Function(library, signature.name + "__shapes") if dynamic else None

    def output_shapes(self, arguments: list) -> list[tuple[int, ...]]:
        """Extents of the results for these inputs; also runs the program's own shape checks."""
        outputs = self.signature.outputs
        if self.shapes is None:
            return [spec.shape for spec in outputs]  # type: ignore[misc]
        total = sum(len(spec.shape) for spec in outputs)
        extents = (ctypes.c_int64 * max(total, 1))()
        self.shapes([*arguments, (ctypes.addressof(extents), (total,))])
        shapes, start = [], 0
        for spec in outputs:
            shapes.append(tuple(extents[start : start + len(spec.shape)]))
            start += len(spec.shape)
        for shape in shapes:
            if any(extent < 0 for extent in shape):
                raise ExecutionError(
                    f"{self.signature.name}: a result has a negative extent: {shape}"
                )
        return shapes
