"""Bundles: a compiled program in one file.

Layout: 8 bytes of magic, the length of the header (8 bytes, little endian), the header (JSON),
the machine code (of a program for GPUs: for each architecture its host code and images, PTX and
cubins), the source if it is bytecode, and SHA-256 of all before it. The header names the format,
the version of redfuse, the target and the host it was made for, the signature and the options, and
holds a source that is text: ``exe.ir`` works after loading.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

from ..errors import CacheError, Error, TargetError
from . import files
from .files import MAGIC

FORMAT = 4
_LIMIT = 1 << 32  # bytes; a longer header is nonsense


def write(path: str, executable: Any) -> int:
    """Writes ``executable`` to what ``path`` names (see ``files.write``); how many bytes it has."""
    data = encode(executable)
    if len(data) > files.MOST_BYTES:
        raise CacheError(
            f"cannot write {path}: the bundle would have {len(data)} bytes, expected at most "
            f"{files.MOST_BYTES}; make constants arguments of the program (PyTorch: the option "
            "parameters='arguments')"
        )
    files.write(path, data)
    return len(data)


def encode(executable: Any) -> bytes:
    """The bytes of a bundle."""
    source = executable.source
    is_text = isinstance(source.text, str)
    header = {
        "format": FORMAT,
        "version": _version(),
        "target": executable.target,
        "host": host_key(executable.target),
        "signature": executable.signature.to_json(),
        "options": dataclasses.asdict(executable.options),
        "explanation": executable.explanation,
        "source": source.text if is_text else len(source.text),
        "source_name": source.name,
        "variants": [
            {
                "chip": variant.chip,
                "code_bytes": len(variant.code),
                "images": [(chip, len(image)) for chip, image in variant.images],
                "resources": [dataclasses.asdict(kernel) for kernel in variant.resources],
                "listing": variant.listing,
            }
            for variant in executable.variants
        ],
    }
    code = executable.code
    if executable.variants:
        parts = [[v.code, *(image for _, image in v.images)] for v in executable.variants]
        code = b"".join(part for variant in parts for part in variant)
    header["code_bytes"] = len(code)
    text = json.dumps(header).encode()
    parts = [MAGIC, len(text).to_bytes(8, "little"), text, code]
    if not is_text:
        parts.append(source.text)
    # Constants may be gigabytes: joined once.
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join([*parts, digest.digest()])


def describe(path: str) -> str:
    """One line about a bundle: its function, target and source; "damaged" where it does not
    read. Nothing is loaded."""
    try:
        with files.open_own(path, files.MOST_BYTES) as file:
            start = file.read(16)
            length = int.from_bytes(start[8:16], "little")
            header = json.loads(file.read(length)) if length <= _LIMIT else {}
        if not start.startswith(MAGIC):
            return "damaged"
        signature, target = header["signature"], header["target"]
        return f"{signature['name']} for {target}, from {header['source_name']}"
    except (OSError, CacheError, ValueError, KeyError, TypeError):
        return "damaged"


def load_bytes(path: str, most: int = files.MOST_BYTES) -> bytes:
    """What is in a file that holds a bundle or a state; raises CacheError."""
    try:
        return files.read(path, most)
    except OSError as error:
        raise CacheError(f"cannot read {path}: {error.strerror or error}") from None
    except Error as error:
        raise CacheError(str(error)) from None


def decode(data: bytes, path: str) -> dict[str, Any]:
    """What an :class:`Executable` is made of, from the bytes of a bundle; ``path`` is for messages.

    Raises CacheError for what is no bundle, is damaged, or is of another version, and TargetError
    for one made for another machine.
    """
    from ..frontends.mlir import Source
    from ..options import Options
    from ..runtime.specs import Signature

    if not data.startswith(MAGIC[:7]):
        raise CacheError(
            f"{path}: not a redfuse bundle (it starts with {data[:8]!r}, expected {MAGIC!r})"
        )
    if data[7:8] != MAGIC[7:]:
        raise CacheError(
            f"{path}: a bundle of format {data[7:8].hex() or 'nothing'}, expected {FORMAT:02x}; "
            "compile again"
        )
    length = int.from_bytes(data[8:16], "little")
    if len(data) < 16 + 32 or length > _LIMIT or len(data) < 16 + length + 32:
        raise CacheError(f"{path}: truncated bundle ({len(data)} bytes); compile and save it again")
    if hashlib.sha256(memoryview(data)[:-32]).digest() != data[-32:]:
        raise CacheError(
            f"{path}: damaged bundle (truncated or changed: its checksum does not match); "
            "compile and save it again"
        )
    try:
        header = json.loads(data[16 : 16 + length])
        source = header["source"]
        count = 0 if isinstance(source, str) else source
        if not 0 <= count <= len(data) - 48 - length:
            raise ValueError(f"{count} bytes of source are listed")
        behind = len(data) - 32 - count
        code = data[16 + length : behind]
        if header["version"] != _version():
            raise CacheError(
                f"{path}: made by redfuse {header['version']}, this is {_version()}; compile "
                "and save it again"
            )
        here = host_key(header["target"])
        if header["host"] != here:
            raise TargetError(
                f"{path}: made for {header['target']} on {header['host']}, this machine is "
                f"{here}; compile it here"
            )
        if header["code_bytes"] != len(code):
            raise CacheError(
                f"{path}: expected {header['code_bytes']} bytes of code, got {len(code)}"
            )
        variants = _variants(header["variants"], code)
        if variants:
            code = variants[0].code
        text = source if isinstance(source, str) else data[behind:-32]
        return {
            "source": Source(text, header["source_name"]),
            "options": Options.of(header["options"]),
            "target": header["target"],
            "signature": Signature.from_json(header["signature"]),
            "code": code,
            "explanation": header["explanation"],
            "variants": variants,
        }
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, Error):
            raise
        raise CacheError(
            f"{path}: damaged bundle (its header does not read: {error}); compile and save it again"
        ) from None


def _variants(listed: list[dict], code: bytes) -> list[Any]:
    """The programs for GPUs in the code of a bundle; raises ValueError where lengths differ."""
    if not listed:
        return []
    from ..targets.cuda import Resources, Variant

    at = 0

    def take(count: int) -> bytes:
        nonlocal at
        at += count
        return code[at - count : at]

    made = []
    for entry in listed:
        host_code = take(entry["code_bytes"])
        images = [(chip, take(count)) for chip, count in entry["images"]]
        resources = [Resources(**kernel) for kernel in entry["resources"]]
        made.append(Variant(entry["chip"], host_code, images, resources, entry["listing"]))
    if at != len(code):
        raise ValueError(f"{at} bytes of code are listed, there are {len(code)}")
    return made


def host_key(target: str = "cpu") -> str:
    """What machine code depends on: triple, cpu and its features, shortened. The host code of
    programs for GPUs suits any machine of the triple."""
    from .. import _ext

    host = _ext.host()
    if target != "cpu":
        return str(host.get("triple", ""))
    features = str(host.get("features", ""))
    digest = hashlib.sha256(features.encode()).hexdigest()[:8]
    return f"{host.get('triple', '')}/{host.get('cpu', '')}/{digest}"


def _version() -> str:
    from .. import __version__

    return __version__
