"""Drivers of GPUs that run nothing, and arrays that say they are on such a GPU and are in host memory.

``cuda`` and ``hip`` are what the runtime finds in this process instead of NVIDIA's driver and AMD's
runtime; test/conftest.py loads both before the first test.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import redfuse.targets.rocm

from .processes import build

_HIP_NAMES = {
    "cuModuleLoadDataEx": "hipModuleLoadDataEx", "cuLaunchKernel": "hipModuleLaunchKernel",
    "cuMemAlloc_v2": "hipMalloc", "cuMemFree_v2": "hipFree",
    "cuStreamWaitEvent": "hipStreamWaitEvent", "cuStreamSynchronize": "hipStreamSynchronize",
    "cuEventCreate": "hipEventCreateWithFlags", "cuEventDestroy_v2": "hipEventDestroy",
    "cuEventElapsedTime": "hipEventElapsedTime",
}  # fmt: skip
# Of AMD's devices, one after another.
HIP_CHIPS = ("gfx942", "gfx942", "gfx90a", "gfx1100")


class Launch(ctypes.Structure):
    """What the driver was asked to launch."""

    _fields_ = [("kernel", ctypes.c_char * 128), ("stream", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("blocks", ctypes.c_uint),
                ("threads", ctypes.c_uint), ("shared", ctypes.c_uint)]  # fmt: skip


# What runs kernels: name, blocks, threads, bytes of shared memory, addresses of the arguments.
RUN = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint,
                       ctypes.c_void_p)  # fmt: skip
_RESULTS = {
    "fake_calls": ctypes.c_long, "fake_bytes": ctypes.c_int64, "fake_exchange": ctypes.c_void_p,
    "fake_current": ctypes.c_void_p, "fake_global": ctypes.c_void_p,
    "fake_launch": ctypes.POINTER(Launch),
}  # fmt: skip
_ARGUMENTS = {
    "fake_exchange": [ctypes.c_void_p],
    "fake_global": [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64],
    "fake_capture": [ctypes.c_uint64, ctypes.c_uint64],
    "fake_work_stream": [ctypes.c_uint64],
    "fake_block": [ctypes.c_int, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64)],
}  # fmt: skip


class FakeDriver:
    """A family's driver in this process. Its functions fake_* are attributes.

    target: what programs are compiled for that its first device runs.
    kind: of its devices, in DLPack.
    stream: on which simulated programs run."""

    def __init__(self, family: str, library: str, target: str, kind: int, settings: str):
        self.family, self.target, self.kind = family, target, kind
        self._name, self._settings, self.stream = library, settings, 1 << 20

    @functools.cached_property
    def library(self) -> ctypes.CDLL:
        """Loaded once, under the name by which the runtime asks for it: so it finds this one."""
        with tempfile.TemporaryDirectory() as folder:
            source = "cuda.c" if self.family == "cuda" else "hip.c"
            library = ctypes.CDLL(build(Path(folder), source, self._name) / self._name)
        for name, result in _RESULTS.items():
            getattr(library, name).restype = result
        for name, arguments in _ARGUMENTS.items():
            getattr(library, name).argtypes = arguments
        library.fake_settings(self._settings.encode())
        return library

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("fake_"):
            raise AttributeError(name)
        return getattr(self.library, name)

    def spelled(self, name: str) -> bytes:
        """A function of CUDA as this driver calls it."""
        return (name if self.family == "cuda" else _HIP_NAMES[name]).encode()

    def fail(self, name: str, code: int = 0, after: int = 0) -> None:
        """Calls of ``name`` fail with ``code`` after so many more; 0: no longer."""
        self.fake_fail(self.spelled(name), code, after)

    def calls(self, name: str) -> int:
        """How often the driver was asked."""
        return self.fake_calls(self.spelled(name))

    def last_launch(self) -> Launch:
        return self.fake_launch(self.fake_launches() - 1).contents

    def allocated(self) -> Iterator[tuple[int, int]]:
        """Starts and sizes in bytes of what is allocated."""
        start, size = ctypes.c_uint64(), ctypes.c_uint64()
        number = 0
        while self.fake_block(number, start, size):
            number += 1
            if start.value:
                yield start.value, size.value

    def dlpack(self, array: np.ndarray, device: int = 0) -> Dlpack:
        return Dlpack(array, device, self.kind)

    def typed(self, array: np.ndarray, device: int = 0) -> Typed:
        return Typed(array, device, self.kind)


cuda = FakeDriver("cuda", "libcuda.so.1", "cuda:sm_90a", 2, "devices=2")
hip = FakeDriver("rocm", "libamdhip64.so", "rocm:gfx942", 10,
                 f"devices={len(HIP_CHIPS)} arch={','.join(HIP_CHIPS)}")  # fmt: skip


@contextlib.contextmanager
def without_tools() -> Iterator[None]:
    """Compiles for AMD GPUs without the tools that make code objects: what runs, if anything, is the
    LLVM IR, with its architecture in a comment in front."""

    def code_object(text: str, chip: str, level: int) -> tuple[bytes, str, list]:
        return b"\x7fELF of " + chip.encode(), f"; {chip}\n{text}", []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redfuse.targets.rocm, "code_object", code_object)
        yield


_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_NAME = b"dlpack_exchange_api"


class Interface:
    """An array with __cuda_array_interface__."""

    def __init__(self, array: np.ndarray, stream: int | None = None, read_only: bool = False):
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "version": 3, "stream": stream,
            "data": (array.ctypes.data, read_only),
            "strides": None if array.flags.c_contiguous else array.strides,
        }  # fmt: skip


class Dlpack:
    """An array with __dlpack__ alone."""

    def __init__(self, array: np.ndarray, device: int = 0, kind: int = cuda.kind):
        self.array, self.device, self.kind, self.streams = array, device, kind, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, self.device

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        self.streams.append(stream)
        capsule = self.array.__dlpack__()
        place = _api.PyCapsule_GetPointer(capsule, b"dltensor") + 8
        ctypes.cast(place, ctypes.POINTER(ctypes.c_int32))[0] = self.kind
        ctypes.cast(place, ctypes.POINTER(ctypes.c_int32))[1] = self.device
        return capsule


class Typed(Dlpack):
    """One of a type that NumPy's DLPack does not know, by its bits."""

    CODES: ClassVar = {"bfloat16": 4, "bool": 6, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11,
                       "float8_e5m2": 12, "float8_e5m2fnuz": 13}  # fmt: skip

    def __init__(self, array: np.ndarray, device: int = 0, kind: int = cuda.kind):
        self.code = self.CODES.get(array.dtype.name)
        bits = array if self.code is None else array.view(f"i{array.itemsize}")
        super().__init__(bits, device, kind)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        capsule = super().__dlpack__(stream=stream, max_version=max_version)
        place = _api.PyCapsule_GetPointer(capsule, b"dltensor") + 20
        if self.code is not None:
            ctypes.cast(place, ctypes.POINTER(ctypes.c_uint8))[0] = self.code
        return capsule


def torch_type() -> type:
    """A type of torch tensors that its DLPack functions call tensors of an NVIDIA GPU."""
    import torch

    real = _api.PyCapsule_GetPointer(torch.Tensor.__dlpack_c_exchange_api__, _NAME)
    capsule = _api.PyCapsule_New(cuda.fake_exchange(real), _NAME, None)
    return type(
        "Tensor", (torch.Tensor,),
        {"__torch_function__": torch._C._disabled_torch_function_impl,
         "__dlpack_c_exchange_api__": capsule},
    )  # fmt: skip


def aligned(shape: Any, dtype: Any = np.float32, offset: int = 0) -> np.ndarray:
    """Zeros so many bytes behind a multiple of 256."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 256 + offset, np.uint8)
    start = -raw.ctypes.data % 256 + offset
    return raw[start : start + size].view(dtype).reshape(shape)


def aligned_copy(array: np.ndarray) -> np.ndarray:
    copy = aligned(array.shape, array.dtype)
    copy[...] = array
    return copy
