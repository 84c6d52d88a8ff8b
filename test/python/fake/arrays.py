"""Arrays that say they are on a GPU and are in host memory: for the driver of cuda.c, or of hip.c
where FAKE_FAMILY is rocm."""

from __future__ import annotations

import ctypes
import os
from typing import Any, ClassVar

import numpy as np
import redfuse.rocm

FAMILY = os.environ.get("FAKE_FAMILY", "cuda")
IS_CUDA = FAMILY == "cuda"
TARGET = "cuda:sm_90a" if IS_CUDA else "rocm:gfx942"
KIND = 2 if IS_CUDA else 10  # of the device, in DLPack
driver = ctypes.CDLL("libcuda.so.1" if IS_CUDA else "libamdhip64.so")
if not IS_CUDA:
    # The tools that make code objects are not needed: what runs, if anything, is LLVM IR.
    redfuse.rocm.code_object = lambda text, chip, level: (
        b"\x7fELF of " + chip.encode(), f"; {chip}\n{text}", [],
    )  # fmt: skip
HIP_NAMES = {
    "cuModuleLoadDataEx": "hipModuleLoadDataEx", "cuLaunchKernel": "hipModuleLaunchKernel",
    "cuMemAlloc_v2": "hipMalloc", "cuMemFree_v2": "hipFree",
    "cuStreamWaitEvent": "hipStreamWaitEvent", "cuStreamSynchronize": "hipStreamSynchronize",
}  # fmt: skip
driver.fake_calls.restype = ctypes.c_long
driver.fake_bytes.restype = ctypes.c_int64
driver.fake_exchange.restype = ctypes.c_void_p
driver.fake_exchange.argtypes = [ctypes.c_void_p]
driver.fake_current.restype = ctypes.c_void_p
driver.fake_global.restype = ctypes.c_void_p
driver.fake_global.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64]
driver.fake_capture.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
driver.fake_work_stream.argtypes = [ctypes.c_uint64]

_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_NAME = b"dlpack_exchange_api"


class Launch(ctypes.Structure):
    """What the driver was asked to launch."""

    _fields_ = [("kernel", ctypes.c_char * 128), ("stream", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("blocks", ctypes.c_uint),
                ("threads", ctypes.c_uint), ("shared", ctypes.c_uint)]  # fmt: skip


driver.fake_launch.restype = ctypes.POINTER(Launch)


def last_launch() -> Launch:
    """The latest launch."""
    return driver.fake_launch(driver.fake_launches() - 1).contents


def fail(name: str, code: int = 0, after: int = 0) -> None:
    """Calls of ``name`` fail with ``code`` after so many more; 0: no longer."""
    driver.fake_fail(_spelled(name), code, after)


def calls(name: str) -> int:
    """How often the driver was asked."""
    return driver.fake_calls(_spelled(name))


def _spelled(name: str) -> bytes:
    """A function of CUDA as the driver at hand calls it."""
    return (name if IS_CUDA else HIP_NAMES[name]).encode()


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

    def __init__(self, array: np.ndarray, device: int = 0):
        self.array, self.device, self.streams = array, device, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return KIND, self.device

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        self.streams.append(stream)
        capsule = self.array.__dlpack__()
        place = _api.PyCapsule_GetPointer(capsule, b"dltensor") + 8
        ctypes.cast(place, ctypes.POINTER(ctypes.c_int32))[0] = KIND
        ctypes.cast(place, ctypes.POINTER(ctypes.c_int32))[1] = self.device
        return capsule


class Typed(Dlpack):
    """One of a type that NumPy's DLPack does not know, by its bits."""

    CODES: ClassVar = {"bfloat16": 4, "bool": 6, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11,
                       "float8_e5m2": 12, "float8_e5m2fnuz": 13}  # fmt: skip

    def __init__(self, array: np.ndarray):
        self.code = self.CODES.get(array.dtype.name)
        super().__init__(array if self.code is None else array.view(f"i{array.itemsize}"))

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        capsule = super().__dlpack__(stream=stream, max_version=max_version)
        place = _api.PyCapsule_GetPointer(capsule, b"dltensor") + 20
        if self.code is not None:
            ctypes.cast(place, ctypes.POINTER(ctypes.c_uint8))[0] = self.code
        return capsule


def torch_type() -> type:
    """A type of torch tensors that its DLPack functions call tensors of a GPU."""
    import torch

    real = _api.PyCapsule_GetPointer(torch.Tensor.__dlpack_c_exchange_api__, _NAME)
    capsule = _api.PyCapsule_New(driver.fake_exchange(real), _NAME, None)
    return type(
        "Tensor", (torch.Tensor,),
        {"__torch_function__": torch._C._disabled_torch_function_impl,
         "__dlpack_c_exchange_api__": capsule},
    )  # fmt: skip
