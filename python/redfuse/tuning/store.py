"""What a tuner found, on disk: a file for each program, options and machine, and, where extents
are dynamic, for each shape that was tuned. The folder is ``tuned`` in that of the cache.

A file is a line of JSON and a line with its SHA-256. One that is damaged is reported and ignored.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import warnings
from collections.abc import Sequence
from typing import Any

from ..errors import CacheError, CacheWarning, TargetError
from ..frontends.mlir import Source
from ..options import Options
from ..store import bundle, files

SUFFIX = ".tuned"
FORMAT = 3
_MOST_BYTES = 64 << 20


@dataclasses.dataclass
class Record:
    """schedules: the best found, one a cascade (see ``Options.schedules``); empty where the
    model's choice is the best. Times are medians in ms. shapes: of the arguments that were used.
    build: of the compiler that measured; failures: why candidates were not used, by their
    schedules."""

    schedules: list[str]
    ms: float
    default_ms: float
    device: str
    shapes: list[list[int]]
    build: str
    failures: dict[str, str] = dataclasses.field(default_factory=dict)
    program: str = ""


def device_name(target: str) -> str:
    """The machine that times are of; empty where programs for ``target`` cannot run here."""
    from .. import _ext

    if target == "cpu":
        return f"{bundle.host_key()} {_ext.host()['threads']} threads"
    if not target.startswith("cuda"):
        return ""
    try:
        devices = _ext.devices()
    except TargetError:
        return ""
    return f"{devices[0]['name']} {target}" if devices else ""


def may_apply(options: Options) -> bool:
    """Whether these options leave the choice of schedules open."""
    plan = options.schedules or options.cuts or options.joins
    chosen = plan or options.schedule != "auto" or options.splits
    return options.tuned and options.fuse and not chosen and not options.deterministic


def path(
    program: Source, options: Options, target: str, shapes: Sequence[Sequence[int]] | None = None
) -> str | None:
    """The file for a program; ``shapes`` where extents are dynamic. None where programs for the
    target do not run here."""
    device = device_name(target)
    if not device:
        return None
    text = program.text.encode() if isinstance(program.text, str) else program.text
    plain = dataclasses.replace(options, schedules=())
    threads = str(options.threads) if target == "cpu" else ""
    digest = hashlib.sha256()
    for part in (text, plain.key().encode(), device.encode(), threads.encode(),
                 json.dumps(shapes).encode()):  # fmt: skip
        digest.update(len(part).to_bytes(8, "little") + part)
    return os.path.join(files.cache_folder(), "tuned", digest.hexdigest()[:40] + SUFFIX)


def read(file: str | None) -> Record | None:
    """The record in a file; None if there is none, or none that can be used."""
    if file is None:
        return None
    try:
        line, _, rest = files.read_own(file, _MOST_BYTES).partition(b"\n")
    except OSError:
        return None
    except CacheError as error:
        warnings.warn(f"{error}; it is not used: tune again", CacheWarning, stacklevel=3)
        return None
    try:
        if hashlib.sha256(line).hexdigest() != rest.decode().strip():
            raise ValueError("its checksum does not match")
        held = json.loads(line)
        if held.pop("format") != FORMAT:
            return None
        return Record(**held)
    except (ValueError, TypeError, KeyError) as error:
        warnings.warn(f"{file} is damaged ({error}); tune again", CacheWarning, stacklevel=3)
        return None


def write(file: str, record: Record) -> None:
    """Stores a record by atomic rename; raises CacheError."""
    folder = os.path.dirname(file)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise CacheError(f"cannot make {folder}: {error.strerror or error}") from None
    line = json.dumps({"format": FORMAT, **dataclasses.asdict(record)}).encode()
    data = line + b"\n" + hashlib.sha256(line).hexdigest().encode() + b"\n"
    try:
        files.replace(file, data)
    except OSError as error:
        raise CacheError(f"cannot write {file}: {error.strerror or error}") from None


def applied(program: Source, options: Options, target: str, inputs: Sequence[Any] | None
            ) -> Options:  # fmt: skip
    """``options`` with the schedules stored for the program, if there are any."""
    if not may_apply(options) or not os.path.isdir(os.path.join(files.cache_folder(), "tuned")):
        return options
    record = None
    if inputs is not None:
        shapes = [list(getattr(value, "shape", ())) for value in inputs]
        record = read(path(program, options, target, shapes))
    record = record or read(path(program, options, target))
    if record is None or not any(record.schedules):
        return options
    return dataclasses.replace(options, schedules=tuple(record.schedules))
