"""Rules for quantised numbers: integers that stand for (number - zero point) * scale."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .composed import composes


def _quantised(x: Tensor, scale: Any, zero: Any, least: int, most: int, dtype: Any) -> Tensor:
    made = torch.round(x.to(torch.float32) * (1.0 / scale)) + zero
    return made.clamp(least, most).to(dtype)


def _number(x: Tensor, scale: Any, zero: Any, dtype: Any) -> Tensor:
    return ((x.to(torch.float32) - zero) * scale).to(dtype or torch.float32)


@composes(
    "quantized_decomposed.quantize_per_tensor.default",
    "quantized_decomposed.quantize_per_tensor.tensor",
    "quantized_decomposed.quantize_per_tensor.tensor2",
)
def _quantize(
    input: Tensor, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any
) -> Tensor:
    return _quantised(input, scale, zero_point, quant_min, quant_max, dtype)


@composes(
    "quantized_decomposed.dequantize_per_tensor.default",
    "quantized_decomposed.dequantize_per_tensor.tensor",
    "quantized_decomposed.dequantize_per_tensor.tensor2",
)
def _dequantize(
    input: Tensor, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any, *,
    out_dtype: Any = None,
) -> Tensor:  # fmt: skip
    return _number(input, scale, zero_point, out_dtype)


def _along(x: Tensor, axis: int, of: Tensor) -> Tensor:
    shape = [1] * x.dim()
    shape[axis] = -1
    return of.reshape(shape)


@composes("quantized_decomposed.quantize_per_channel.default")
def _quantize_channels(
    input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int, quant_max: int,
    dtype: Any,
) -> Tensor:  # fmt: skip
    by, zero = _along(input, axis, scales), _along(input, axis, zero_points)
    return _quantised(input, by, zero, quant_min, quant_max, dtype)


@composes("quantized_decomposed.dequantize_per_channel.default")
def _dequantize_channels(
    input: Tensor, scales: Tensor, zero_points: Tensor | None, axis: int, quant_min: int,
    quant_max: int, dtype: Any, *, out_dtype: Any = None,
) -> Tensor:  # fmt: skip
    zero = 0 if zero_points is None else _along(input, axis, zero_points)
    return _number(input, _along(input, axis, scales), zero, out_dtype)


@composes("fake_quantize_per_tensor_affine_cachemask.default")
def _fake_quantize(
    self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> Any:
    number = torch.round(self * (1.0 / scale)) + zero_point
    inside = (number >= quant_min) & (number <= quant_max)
    return (number.clamp(quant_min, quant_max) - zero_point) * scale, inside


@composes("fake_quantize_per_tensor_affine.default")
def _fake_quantize_alone(
    self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> Tensor:
    return _fake_quantize(self, scale, zero_point, quant_min, quant_max)[0]


@composes("_int_mm.default")
def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    return self.to(torch.int32) @ mat2.to(torch.int32)
