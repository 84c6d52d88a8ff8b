"""Calls programs, on the CPU with NumPy's arrays, on a GPU with torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
from draws import DTYPES
from redfuse.executable import Executable
from ways import CPU


class DeviceError(Exception):
    """What a GPU did that it should not; its process is of no more use."""


def call(executable: Executable, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """The results of a program. Raises redfuse.Error, and DeviceError."""
    if executable.target == CPU:
        return listed(executable(*arguments))
    import torch

    tensors = [to_gpu(argument) for argument in arguments]
    try:
        results = listed(executable(*tensors))
        torch.cuda.synchronize()
        first = [to_host(result) for result in results]
        # Once more, over results that say what was not written.
        executable(*tensors, out=[poison(result) for result in results])
        torch.cuda.synchronize()
        second = [to_host(result) for result in results]
    except RuntimeError as error:  # torch's, of the driver
        raise DeviceError(str(error).splitlines()[0]) from None
    for at, (one, other) in enumerate(zip(first, second, strict=True)):
        if not np.array_equal(one, other) and one.tobytes() != other.tobytes():
            raise DeviceError(f"result {at} differs between two runs: {one} and {other}"[:400])
    return second


def listed(found: Any) -> list[Any]:
    """Results as a list."""
    return list(found) if isinstance(found, tuple) else [found]


def to_gpu(array: np.ndarray) -> Any:
    """A copy on the GPU; bf16 by its bits."""
    import torch

    if array.dtype == DTYPES["bf16"]:
        return torch.from_numpy(array.view(np.int16).copy()).cuda().view(torch.bfloat16)
    return torch.from_numpy(array.copy()).cuda()


def to_host(tensor: Any) -> np.ndarray:
    """The inverse of to_gpu."""
    import torch

    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).cpu().numpy().view(DTYPES["bf16"])
    return tensor.cpu().numpy()


def poison(tensor: Any) -> Any:
    """Every element set to what no program should leave: NaN, or a large negative number."""
    import torch

    if tensor.is_floating_point():
        return tensor.fill_(float("nan"))
    return tensor.fill_(True) if tensor.dtype == torch.bool else tensor.fill_(-77)
