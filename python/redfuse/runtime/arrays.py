"""Arrays of any library, seen as an address and a shape, checked against a signature."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import ArgumentError
from .specs import ELEMENT_TYPES, Signature, TensorSpec, numpy_dtype

ALIGNMENT = 64  # bytes: one cache line, one 512-bit vector
_CPU = (1, 3)  # kDLCPU, kDLCUDAHost: memory the host can read
_DEVICES = {
    2: "cuda",
    4: "opencl",
    7: "vulkan",
    8: "metal",
    10: "rocm",
    13: "cuda (managed)",
    14: "oneapi",
}


class View(NamedTuple):
    """Contiguous memory of one argument. ``owner`` keeps it alive."""

    address: int
    shape: tuple[int, ...]
    nbytes: int
    owner: Any


def is_torch(value: object) -> bool:
    """Whether ``value`` is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _name(role: str, index: int) -> str:
    return f"{role} {index}"


def _check_shape(
    what: str, index: int, shape: Sequence[int], spec: TensorSpec, context: str
) -> None:
    if len(shape) != len(spec.shape) or any(
        want is not None and want != got for want, got in zip(spec.shape, shape, strict=False)
    ):
        wanted = "x".join("?" if n is None else str(n) for n in spec.shape) or "no dims"
        got = "x".join(map(str, shape)) or "no dims"
        raise ArgumentError(f"{what} of {context}: expected shape {wanted}, got {got}", index)


def _check_dtype(
    what: str, index: int, got: str, spec: TensorSpec, context: str, cast: str
) -> None:
    wanted = ELEMENT_TYPES[spec.dtype][0]
    if got != wanted:
        raise ArgumentError(
            f"{what} of {context}: expected dtype {wanted}, got {got}; {cast}", index
        )


def _strides_error(
    what: str, index: int, strides: Sequence[int], context: str, fix: str
) -> ArgumentError:
    return ArgumentError(
        f"{what} of {context}: expected contiguous row-major memory, got strides "
        f"{tuple(strides)}; {fix}",
        index,
    )


def _view_torch(value: Any, spec: TensorSpec, what: str, index: int, context: str) -> View:
    if value.device.type != "cpu":
        raise ArgumentError(
            f"{what} of {context}: expected a tensor on the cpu, got one on {value.device}; use "
            ".cpu()",
            index,
        )
    if value.layout != sys.modules["torch"].strided:
        raise ArgumentError(
            f"{what} of {context}: expected a dense tensor, got layout {value.layout}; use "
            ".to_dense()",
            index,
        )
    _check_dtype(
        what,
        index,
        str(value.dtype).removeprefix("torch."),
        spec,
        context,
        f"use .to(torch.{ELEMENT_TYPES[spec.dtype][0]})",
    )
    _check_shape(what, index, tuple(value.shape), spec, context)
    if not value.is_contiguous():
        raise _strides_error(what, index, value.stride(), context, "use .contiguous()")
    if value.is_conj() or value.is_neg():
        value = value.resolve_conj().resolve_neg()
    return View(value.data_ptr(), tuple(value.shape), value.numel() * value.element_size(), value)


def _as_numpy(value: Any, spec: TensorSpec, what: str, index: int, context: str) -> Any:
    import numpy

    if isinstance(value, numpy.ndarray):
        return value
    if isinstance(value, numpy.generic) or (not spec.shape and isinstance(value, (int, float))):
        if isinstance(value, numpy.generic):
            return numpy.asarray(value)
        try:
            array = numpy.asarray(value, dtype=numpy_dtype(spec.dtype))
        except (OverflowError, ValueError) as error:
            raise ArgumentError(
                f"{what} of {context}: {value!r} does not fit {spec.dtype}: {error}", index
            ) from None
        if not spec.is_float and array.item() != value:
            raise ArgumentError(f"{what} of {context}: expected {spec.dtype}, got {value!r}", index)
        return array
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        device, number = value.__dlpack_device__()
        if device not in _CPU:
            name = _DEVICES.get(int(device), f"device type {int(device)}")
            raise ArgumentError(
                f"{what} of {context}: expected an array on the cpu, got one on "
                f"{name}:{number}; copy it to the host",
                index,
            )
        try:
            return numpy.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise ArgumentError(
                f"{what} of {context}: DLPack exchange failed: {error}", index
            ) from None
    raise ArgumentError(
        f"{what} of {context}: expected an array (NumPy, torch, or any with __dlpack__), got "
        f"{type(value).__name__}",
        index,
    )


def view(
    value: Any, spec: TensorSpec, role: str, index: int, context: str, writable: bool = False
) -> View:
    """Checks ``value`` against ``spec`` and returns its memory; raises :class:`ArgumentError`.

    role: "argument" or "out"; context: the function's name.
    """
    what = _name(role, index)
    if is_torch(value):
        return _view_torch(value, spec, what, index, context)
    array = _as_numpy(value, spec, what, index, context)
    name = ELEMENT_TYPES[spec.dtype][0]
    _check_dtype(what, index, array.dtype.name, spec, context, f"use .astype({name!r})")
    if not array.dtype.isnative:
        raise ArgumentError(
            f"{what} of {context}: expected native byte order, got {array.dtype.str}; "
            f"use .astype({name!r})", index,
        )  # fmt: skip
    _check_shape(what, index, array.shape, spec, context)
    if not array.flags.c_contiguous:
        raise _strides_error(what, index, array.strides, context, "use numpy.ascontiguousarray")
    if writable and not array.flags.writeable:
        raise ArgumentError(
            f"{what} of {context}: expected a writable array, got a read-only one", index
        )
    if not array.flags.aligned:
        if writable:
            raise ArgumentError(
                f"{what} of {context}: expected memory aligned to its elements", index
            )
        array = array.copy()
    return View(array.ctypes.data, array.shape, array.nbytes, array)


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


def allocate(
    shapes: Sequence[Sequence[int]], specs: Sequence[TensorSpec], torch_out: bool
) -> list[Any]:
    """Uninitialised results, torch tensors where an argument was one."""
    if not torch_out:
        return [empty_numpy(shape, spec.dtype) for shape, spec in zip(shapes, specs, strict=False)]
    torch = sys.modules["torch"]
    return [
        torch.empty(tuple(shape), dtype=getattr(torch, ELEMENT_TYPES[spec.dtype][0]))
        for shape, spec in zip(shapes, specs, strict=False)
    ]


def check_count(arguments: Sequence[Any], signature: Signature) -> None:
    """Raises unless there is one argument for each input."""
    if len(arguments) != len(signature.inputs):
        raise ArgumentError(
            f"{signature.name} takes {len(signature.inputs)} arguments "
            f"({', '.join(map(str, signature.inputs))}), got {len(arguments)}"
        )


def check_overlap(inputs: Sequence[View], outputs: Sequence[View], context: str) -> None:
    """Raises if an ``out`` array shares memory with an argument or with another ``out``."""
    for index, out in enumerate(outputs):
        others = [("argument", i, other) for i, other in enumerate(inputs)]
        others += [("out", i, other) for i, other in enumerate(outputs[:index])]
        for role, number, other in others:
            if (
                out.nbytes
                and other.nbytes
                and (
                    out.address < other.address + other.nbytes
                    and other.address < out.address + out.nbytes
                )
            ):
                raise ArgumentError(
                    f"out {index} of {context}: shares memory with {role} {number}; pass an "
                    "array of its own",
                    index,
                )
