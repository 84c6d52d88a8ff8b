"""PyTorch's element types in MLIR, and scalars between them."""

from __future__ import annotations

import functools
from typing import Any

from ...errors import UnsupportedError

ELEMENT_NAMES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
    "int32": "i32", "int16": "i16", "int8": "i8", "bool": "i1",
    "uint8": "i8", "uint16": "i16", "uint32": "i32", "uint64": "i64",
    "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2", "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
}  # fmt: skip
_UNSIGNED = ("bool", "uint8", "uint16", "uint32", "uint64")


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def element_type(dtype: Any) -> Any:
    """The MLIR type of a ``torch.dtype``; raises UnsupportedError for one without."""
    from mlir import ir

    name = _name(dtype)
    if name not in ELEMENT_NAMES:
        raise UnsupportedError(
            f"tensors of {name} cannot be compiled; expected {', '.join(ELEMENT_NAMES)}"
        )
    return ir.Type.parse(ELEMENT_NAMES[name])


def is_float(dtype: Any) -> bool:
    """Whether it is a floating-point type."""
    return bool(dtype.is_floating_point)


def is_signed(dtype: Any) -> bool:
    """Whether an integer type has a sign."""
    return _name(dtype) not in _UNSIGNED


def bits(dtype: Any) -> int:
    """Of an element; a bool has one."""
    return 1 if _name(dtype) == "bool" else dtype.itemsize * 8


def constant(value: Any, dtype: Any) -> Any:
    """A scalar, as PyTorch converts a Python number."""
    from mlir import ir
    from mlir.dialects import arith

    kind = element_type(dtype)
    if is_float(dtype):
        return arith.ConstantOp(kind, ir.FloatAttr.get(kind, float(value))).result
    number = int(bool(value)) if bits(dtype) == 1 else int(value)
    width = bits(dtype)
    number &= (1 << width) - 1
    if width > 1 and number >> (width - 1):
        number -= 1 << width
    return arith.ConstantOp(kind, ir.IntegerAttr.get(kind, number)).result


def convert(value: Any, old: Any, new: Any) -> Any:
    """A scalar in another type, as ``Tensor.to`` converts it."""
    from mlir.dialects import arith

    if old == new:
        return value
    kind = element_type(new)
    if bits(new) == 1:
        return _is_not_zero(value, old)
    if is_float(new) and bits(new) == 8:
        return _as_small_float(value, old, new)
    if is_float(old):
        if not is_float(new):
            to_int = arith.fptosi if is_signed(new) else arith.fptoui
            return to_int(kind, value)
        if bits(old) == bits(new):  # f16 and bf16
            import torch

            return convert(convert(value, old, torch.float32), torch.float32, new)
        return (arith.extf if bits(old) < bits(new) else arith.truncf)(kind, value)
    if is_float(new):
        return (arith.sitofp if is_signed(old) else arith.uitofp)(kind, value)
    if bits(old) == bits(new):
        return value
    if bits(old) > bits(new):
        return arith.trunci(kind, value)
    return (arith.extsi if is_signed(old) else arith.extui)(kind, value)


def _as_small_float(value: Any, old: Any, new: Any) -> Any:
    """In a float of 8 bits: PyTorch converts all types to f32 first."""
    import torch
    from mlir.dialects import arith

    from .bounds import bounds_of

    if saturates(new):
        most = torch.finfo(new).max
        low, high = bounds_of(value) if is_float(old) else _range(old)
        if low < -most or high > most:
            value, old = convert(value, old, torch.float32), torch.float32
            least, largest = (constant(n, torch.float32) for n in (-most, most))
            value = arith.minimumf(arith.maximumf(value, least), largest)  # NaN stays
    if not is_float(old) or bits(old) in (8, 64):
        value = convert(value, old, torch.float32)
    return arith.truncf(element_type(new), value)


def _range(dtype: Any) -> tuple[int, int]:
    """Of an integer type."""
    import torch

    if bits(dtype) == 1:
        return 0, 1
    info = torch.iinfo(dtype)
    return info.min, info.max


@functools.cache
def saturates(dtype: Any) -> bool:
    """Whether the installed PyTorch makes the largest number of a float of 8 bits of what is
    larger, and of infinity; else that is NaN or infinity, as the type has it.

    PyTorch 2.13 does so for float8_e4m3fn alone, older ones for no type. The functions that convert
    (torch/headeronly/util/Float8_*.h, in older ones c10/util) are C10_HOST_DEVICE: kernels on GPUs
    are compiled of the same code as those on CPUs, which are asked here.
    """
    import torch
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    with unset_fake_temporarily():  # a compiler may be called while PyTorch traces
        large = torch.tensor([2 * torch.finfo(dtype).max, float("inf")], device="cpu")
        return bool(large.to(dtype).to(torch.float32).isfinite().all())


def rounded_to_tf32(value: Any) -> Any:
    """A scalar of f32 with the 11 significant bits that matrix units take of it."""
    from mlir import ir
    from mlir.dialects import arith

    return arith.extf(ir.F32Type.get(), arith.truncf(ir.FloatTF32Type.get(), value))


def _is_not_zero(value: Any, dtype: Any) -> Any:
    from mlir.dialects import arith

    zero = constant(0, dtype)
    if is_float(dtype):
        return arith.cmpf(arith.CmpFPredicate.UNE, value, zero)
    return arith.cmpi(arith.CmpIPredicate.ne, value, zero)
