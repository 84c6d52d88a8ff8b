"""``python _link_cubin.py LIBRARY CHIP PTX CUBIN``: a cubin by nvJitLink; its report on stdout.

A script, run by ``nvjitlink.py``: what the library is at for seconds ends with this process. It
imports nothing of redfuse. On failure it ends with status 1 and says on stderr what failed.
"""

import ctypes
import os
import re
import sys

PTX = 2  # nvJitLinkInputType


class LinkError(Exception):
    """What is said on stderr."""


class Linker:
    """nvJitLink's functions, and a handle of it."""

    def __init__(self, path: str, chip: str):
        try:
            self._library = ctypes.CDLL(path)
        except OSError as error:
            raise LinkError(f"{path} does not load: {error}") from None
        found = re.search(r"\.so\.(\d+)", os.path.realpath(path))
        self._path, self._version = path, f"_{found[1] if found else 12}_0"
        self._handle = ctypes.c_void_p()
        words = [f"-arch={chip}".encode(), b"-O3", b"-verbose"]
        options = (ctypes.c_char_p * len(words))(*words)
        at = ctypes.byref(self._handle)
        if code := self._call("Create", at, ctypes.c_uint32(len(words)), options):
            raise LinkError(f"nvJitLink does not know {chip} (error {code})")

    def _call(self, name: str, *arguments: object) -> int:
        try:
            function = getattr(self._library, f"__nvJitLink{name}{self._version}")
        except AttributeError:
            raise LinkError(
                f"{self._path} has no nvJitLink{name}: expected CUDA 12 or 13"
            ) from None
        return function(*arguments)

    def _bytes(self, name: str, size_name: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(size_name, self._handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value + 1)
        self._call(name, self._handle, buffer)
        return buffer.raw[: size.value]

    def log(self, kind: str) -> str:
        """What it says: "Info" or "Error"."""
        text = self._bytes(f"Get{kind}Log", f"Get{kind}LogSize")
        return text.partition(b"\0")[0].decode(errors="replace")

    def link(self, ptx: bytes, chip: str) -> bytes:
        """The cubin."""
        text = ptx.rstrip(b"\0") + b"\0"
        size = ctypes.c_size_t(len(text))
        code = self._call("AddData", self._handle, PTX, text, size, b"kernels")
        if code or self._call("Complete", self._handle):
            raise LinkError(f"nvJitLink -arch={chip} failed:\n{self.log('Error')[:2000]}")
        return self._bytes("GetLinkedCubin", "GetLinkedCubinSize")


def main() -> int:
    """Links argv[3] to argv[4]."""
    library, chip, source, target = sys.argv[1:]
    try:
        linker = Linker(library, chip)
        with open(source, "rb") as file:
            cubin = linker.link(file.read(), chip)
    except LinkError as error:
        print(error, file=sys.stderr)
        return 1
    with open(target, "wb") as file:
        file.write(cubin)
    sys.stdout.write(linker.log("Info"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
