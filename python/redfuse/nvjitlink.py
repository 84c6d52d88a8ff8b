"""Cubins by nvJitLink, the library that PyTorch's CUDA packages bring: for machines without a
ptxas."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path

from .errors import CompileError

PTX = 2  # nvJitLinkInputType


def find() -> str | None:
    """The library: ``REDFUSE_NVJITLINK``, of an installed package, or of a toolkit."""
    named = os.environ.get("REDFUSE_NVJITLINK")
    if named:
        return named
    return next((str(path) for path in _places()), None)


def _places() -> Iterator[Path]:
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(Path(folder).glob("*/lib/libnvJitLink.so.1?"), reverse=True)
    for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if root:
            yield from sorted(Path(root).glob("lib64/libnvJitLink.so.1?"), reverse=True)


def link(ptx: bytes, chip: str, path: str) -> tuple[bytes, str]:
    """A cubin of PTX, and what ptxas says. Raises CompileError with the library's words."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise CompileError(f"{path} does not load: {error}") from None
    found = re.search(r"\.so\.(\d+)", os.path.realpath(path))
    version = f"_{found[1] if found else 12}_0"

    def call(name: str, *arguments: object) -> int:
        try:
            function = getattr(library, f"__nvJitLink{name}{version}")
        except AttributeError:
            raise CompileError(f"{path} has no nvJitLink{name}: expected CUDA 12 or 13") from None
        return function(*arguments)

    words = [f"-arch={chip}".encode(), b"-O3", b"-verbose"]
    options = (ctypes.c_char_p * len(words))(*words)
    handle = ctypes.c_void_p()
    text = ptx.rstrip(b"\0") + b"\0"

    def log(kind: str) -> str:
        size = ctypes.c_size_t()
        call(f"Get{kind}LogSize", handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value + 1)
        call(f"Get{kind}Log", handle, buffer)
        return buffer.value.decode(errors="replace")

    code = call("Create", ctypes.byref(handle), ctypes.c_uint32(len(words)), options)
    if code:
        raise CompileError(f"nvJitLink does not know {chip} (error {code})")
    try:
        code = call("AddData", handle, PTX, text, ctypes.c_size_t(len(text)), b"kernels")
        code = code or call("Complete", handle)
        if code:
            raise CompileError(f"nvJitLink -arch={chip} failed:\n{log('Error')[:2000]}")
        size = ctypes.c_size_t()
        call("GetLinkedCubinSize", handle, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        call("GetLinkedCubin", handle, cubin)
        return cubin.raw, log("Info")
    finally:
        call("Destroy", ctypes.byref(handle))
