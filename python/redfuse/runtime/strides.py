"""Arrays whose elements lie in memory in another order than a program reads them.

A program takes dense row-major arrays. Of a dense array with its dims in another order (a
transposed matrix, images in channels_last) the permuted view is such a one, on the same memory.
All others (with gaps, repeated, reversed) are copied.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError
from .arrays import is_torch

# DLPack's numbers of memory that a CPU reads.
_HOST = (1, 3)
_LOG = logging.getLogger("redfuse")


@dataclasses.dataclass(frozen=True)
class Layout:
    """Of an argument: ``order`` has its dims as they lie in memory, the outermost first, ``shape``
    its extents in the caller's order, with None for an open one."""

    order: tuple[int, ...]
    shape: tuple[int | None, ...]

    def in_memory(self, value: Any) -> Any:
        """The view of an array with its dims in this order. What has another number of dims, or is
        no array, stays as it is, which the call refuses. Raises ArgumentError where an array of
        another library cannot be exchanged."""
        value = _with_dims(value)
        if len(getattr(value, "shape", ())) != len(self.order):
            return value
        return value.permute(self.order) if is_torch(value) else value.transpose(self.order)

    def fits(self, value: Any) -> bool:
        """Whether a value has these extents."""
        shape = tuple(getattr(value, "shape", ()))
        return len(shape) == len(self.shape) and all(
            known in (None, n) for known, n in zip(self.shape, shape, strict=True)
        )


def _with_dims(value: Any) -> Any:
    """An array as one whose dims can be permuted: what others than torch, NumPy, CuPy and JAX have
    is theirs on the same memory."""
    if is_torch(value) or (hasattr(value, "shape") and hasattr(value, "transpose")):
        return value
    try:
        if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
            if int(value.__dlpack_device__()[0]) in _HOST:
                import numpy

                return numpy.from_dlpack(value)
            import torch

            return torch.from_dlpack(value)
        if hasattr(value, "__cuda_array_interface__"):
            import torch

            return torch.as_tensor(value, device="cuda")
    except Exception as error:  # of any library
        raise ArgumentError(f"DLPack exchange failed: {error}") from error
    return value


def order_of(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...] | None:
    """The dims of a dense array from the outermost in memory to the innermost; None where they are
    in order, or where the array is not dense."""
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], d))
    if 0 in shape or _is_row_major(shape, strides):
        return None
    if not _is_row_major([shape[d] for d in order], [strides[d] for d in order]):
        return None
    return tuple(order)


def _is_row_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    expected = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and stride != expected:
            return False
        expected *= n
    return True


def is_repeated(value: Any) -> bool:
    """Whether several elements of a torch tensor or a NumPy array are at one place in memory, as
    of an expanded one."""
    strides = value.stride() if is_torch(value) else value.strides
    return any(n > 1 and stride == 0 for n, stride in zip(value.shape, strides, strict=True))


def is_contiguous(value: Any) -> bool:
    """Whether an array is dense and row-major, as far as torch tensors and NumPy arrays are
    concerned: of others this is not known, and the call tells."""
    if is_torch(value):
        import torch

        return value.layout is not torch.strided or value.is_contiguous()
    return not _is_numpy(value) or bool(value.flags.c_contiguous)


class Copies:
    """The copies that calls of one program make of arguments that are not contiguous."""

    def __init__(self, name: str):
        self.name = name
        self._told: set[tuple[int, tuple[int, ...]]] = set()

    def contiguous(self, arguments: Sequence[Any], stream: Any) -> list[Any] | None:
        """The arguments with copies for those that are not contiguous, made on the device where
        these are; None where all are. stream: of the call that gets them (None: the current one).

        The log says once for each argument and its strides what is copied, at its level "info".
        """
        copied = [i for i, x in enumerate(arguments) if not is_contiguous(x)]
        if not copied:
            return None
        made = list(arguments)
        for i in copied:
            self._tell(i, made[i])
            with on_stream(stream, made[i]):
                made[i] = as_contiguous(made[i])
        return made

    def _tell(self, number: int, value: Any) -> None:
        if not _LOG.isEnabledFor(logging.INFO):
            return
        strides = tuple(value.stride() if is_torch(value) else value.strides)
        if (number, strides) not in self._told:
            self._told.add((number, strides))
            _LOG.info(
                "argument %d of %s has strides %s and is copied by each call: the program was "
                "compiled for another order in memory", number, self.name, strides,
            )  # fmt: skip


def as_contiguous(value: Any) -> Any:
    """A dense row-major copy of a torch tensor or a NumPy array; itself where it is so."""
    if is_contiguous(value):
        return value
    if is_torch(value):
        return value.contiguous()
    import numpy

    return numpy.ascontiguousarray(value)


def on_stream(stream: Any, value: Any) -> Any:
    """A context in which PyTorch works on ``stream`` (a number, or a stream of torch or CuPy)
    where ``value`` is a tensor on a GPU."""
    if stream is None or not is_torch(value) or not value.is_cuda:
        return contextlib.nullcontext()
    import torch

    if not isinstance(stream, torch.cuda.Stream):
        stream = torch.cuda.ExternalStream(int(getattr(stream, "ptr", stream)), value.device)
    return torch.cuda.stream(stream)


def _is_numpy(value: Any) -> bool:
    """Of NumPy's own types: others (masked arrays) mean more than their numbers, and are refused
    by the call."""
    import numpy

    return type(value) in (numpy.ndarray, numpy.memmap)
