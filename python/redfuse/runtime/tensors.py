"""NumPy arrays as torch tensors and back, on the host and on a GPU: for commands that run programs
on a GPU with data from files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import Error


def need_gpu(what: str) -> Any:
    """The module torch, where it has a GPU; raises Error, which says that ``what`` needs it."""
    try:
        import torch
    except ImportError:
        raise Error(f"{what} needs PyTorch: pip install torch") from None
    if not torch.cuda.is_available():
        raise Error(
            f"{what} needs a GPU: PyTorch {torch.__version__} sees none in this process; expected "
            "a build of PyTorch for the GPU, and one that CUDA_VISIBLE_DEVICES shows"
        )
    return torch


def to_torch(array: Any) -> Any:
    """A tensor on the same memory; bf16 of ml_dtypes is torch's."""
    import numpy
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(numpy.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def from_torch(value: Any) -> Any:
    """A NumPy array of a host tensor; bf16 becomes f32, which holds it exactly."""
    import torch

    return (value.float() if value.dtype == torch.bfloat16 else value).numpy()


def to_gpu(value: Any) -> Any:
    """A copy of an array on the current GPU; a scalar stays what it is."""
    if getattr(value, "shape", None) is None:
        return value
    return to_torch(value).cuda()


def to_host(tensor: Any) -> Any:
    """A NumPy array of a GPU's tensor, as :func:`from_torch`; waits for what makes it."""
    return from_torch(tensor.cpu())


def call(executable: Any, arrays: Sequence[Any], what: str) -> list[Any]:
    """All results of a program on NumPy arrays, by way of the GPU where it is for one. Raises
    Error about ``what`` where that cannot be."""
    on_gpu = executable.target != "cpu"
    if on_gpu:
        need_gpu(what)
    results = executable(*map(to_gpu, arrays)) if on_gpu else executable(*arrays)
    results = list(results) if isinstance(results, tuple) else [results]
    return [to_host(result) for result in results] if on_gpu else results
