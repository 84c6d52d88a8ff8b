"""The metadata of AMD code objects: an ELF note that holds MessagePack."""

from __future__ import annotations

import struct
from typing import Any

from ..errors import CompileError
from . import gputargets

MACHINE = 224  # EM_AMDGPU


def chip(image: bytes) -> str:
    """The architecture of a code object."""
    _check(image)
    flags = struct.unpack_from("<I", image, 48)[0]
    machine = flags & 0xFF
    named = (c.name for c in gputargets.chips("rocm").values() if c.elf_machine == machine)
    return next(named, f"{machine:#x}")


def _check(image: bytes) -> None:
    if image[:5] != b"\x7fELF\x02" or struct.unpack_from("<H", image, 18)[0] != MACHINE:
        raise CompileError("no AMD code object: expected a 64-bit ELF file for AMDGPU")


def notes(image: bytes) -> dict[str, Any]:
    """The metadata: ``amdhsa.kernels`` lists, for each kernel, name, registers, LDS, wave..."""
    _check(image)
    start, size, count = (
        struct.unpack_from("<Q", image, 32)[0],
        *struct.unpack_from("<HH", image, 54),
    )
    for number in range(count):
        at = start + number * size
        kind, _, offset = struct.unpack_from("<IIQ", image, at)
        length = struct.unpack_from("<Q", image, at + 32)[0]
        if kind != 4:  # PT_NOTE
            continue
        end = offset + length
        while offset < end:
            name, data, what = struct.unpack_from("<III", image, offset)
            body = offset + 12 + (name + 3 & ~3)
            if what == 32 and image[offset + 12 : offset + 18] == b"AMDGPU":
                return _Reader(image[body : body + data]).value()
            offset = body + (data + 3 & ~3)
    raise CompileError("the code object has no metadata of kernels")


class _Reader:
    """Values of MessagePack, as far as the metadata has them."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def number(self, form: str) -> int:
        value = struct.unpack_from(">" + form, self.data, self.at)[0]
        self.at += struct.calcsize(form)
        return value

    def text(self, length: int) -> str:
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def value(self) -> Any:
        first = self.number("B")
        if first < 0x80:
            return first
        if first >= 0xE0:
            return first - 0x100
        if first < 0x90:
            return self.table(first & 15)
        if first < 0xA0:
            return self.sequence(first & 15)
        if first < 0xC0:
            return self.text(first & 31)
        numbers = {0xCC: "B", 0xCD: "H", 0xCE: "I", 0xCF: "Q",
                   0xD0: "b", 0xD1: "h", 0xD2: "i", 0xD3: "q"}  # fmt: skip
        if first in numbers:
            return self.number(numbers[first])
        if first in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[first]
        if first in (0xD9, 0xDA, 0xDB):
            return self.text(self.number({0xD9: "B", 0xDA: "H", 0xDB: "I"}[first]))
        if first in (0xDC, 0xDD):
            return self.sequence(self.number({0xDC: "H", 0xDD: "I"}[first]))
        if first in (0xDE, 0xDF):
            return self.table(self.number({0xDE: "H", 0xDF: "I"}[first]))
        raise CompileError(f"the code object's metadata has a value of kind {first:#x}")

    def table(self, count: int) -> dict:
        return {self.value(): self.value() for _ in range(count)}

    def sequence(self, count: int) -> list:
        return [self.value() for _ in range(count)]
