"""Compiled programs on disk: bundles named by a hash of everything that their code depends on.

What the program is, is its canonical text: parsed, reduced to the entry function, and printed
without positions, names of values and aliases, so that two spellings of a program share an entry.
A file of 40 bytes beside it says which entry a spelling has, so that finding it parses nothing.

The folder is ``$REDFUSE_CACHE_DIR``, else ``$XDG_CACHE_HOME/redfuse``, else ``~/.cache/redfuse``.
A damaged entry is reported once and compiled again; a folder that cannot be used costs a warning
and no more.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import stat
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..errors import CacheError, CacheWarning, TargetError
from ..executable import Executable
from ..frontends.mlir import Source
from ..options import Options
from . import bundle, files

SUFFIX = ".rfb"
SPELLING = ".key"
# Of kernels that graphs of PyTorch call: what to compile them from, and a number of the folder.
SOURCE = ".mlirbc"
FOLDER_ID = "dynamo.id"
# Functions of states and of parts of programs (redfuse.distributed).
FUNCTIONS = ".rff"
MAX_BYTES = 2 << 30  # the oldest entries go when the folder grows over this
# A longer source is full of constants: to print, hash and write them takes longer than to compile.
MOST_OF_A_SOURCE = MAX_BYTES >> 3
_warned: set[str] = set()
_build: str | None = None


class Entry(NamedTuple):
    """One cached program. ``used`` is seconds since the epoch."""

    key: str
    path: str
    nbytes: int
    used: float


def key(canonical: str, options: Options, target: str) -> str:
    """A name for the binary of a program (``compiler.canonical``): it changes with all that the
    binary depends on."""
    return _hash(canonical, options, target)


def spelling(source: Source, options: Options, target: str) -> str:
    """A name for the source as it is written."""
    return _hash(source.text, options, target, source.name)


def _hash(text: str | bytes, options: Options, target: str, *more: str) -> str:
    digest = hashlib.sha256()
    tools, host = _tools(target), bundle.host_key(target)
    for part in (text, options.key(), target, host, build_id(), tools, *more):
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:40]


def _tools(target: str) -> str:
    """What else makes code for a target: the ptxas or nvJitLink that is found, by its place, size
    and time."""
    if not target.startswith("cuda"):
        return ""
    from ..targets import cuda

    path = cuda.assembler()
    try:
        status = os.stat(path) if path else None
    except OSError:
        status = None
    return f"{path} {status.st_size} {status.st_mtime_ns}" if status else str(path)


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """Only one process compiles what has this key; others wait for it and then find it.

    Where the folder or the file system has no locks, nobody waits.
    """
    path = os.path.join(files.cache_folder(), f".redfuse-{name}.lock")
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            os.makedirs(files.cache_folder(), exist_ok=True)
            # Before there is a file: Ctrl-C may come at any place.
            stack.callback(_remove, path)
            flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC  # never wait for a pipe
            fcntl.flock(stack.enter_context(open(os.open(path, flags, 0o666))), fcntl.LOCK_EX)
        yield


def build_id() -> str:
    """Identifies this build of the compiler: version, and size and time of its library and its
    Python files."""
    global _build
    if _build is None:
        from .. import __path__, __version__, _ext

        digest = hashlib.sha256(__version__.encode())
        files = [_ext.__file__]
        for place in __path__:
            for folder_of_some, _, names in sorted(os.walk(place, followlinks=True)):
                some = sorted(name for name in names if name.endswith(".py"))
                files += [os.path.join(folder_of_some, name) for name in some]
            files.append(os.path.join(place, "_lib", "libRedfuse.so"))
        for path in files:
            try:
                status = os.stat(path)
                digest.update(
                    f"{os.path.basename(path)} {status.st_size} {status.st_mtime_ns}".encode()
                )
            except OSError:
                continue
        _build = digest.hexdigest()[:16]
    return _build


def follow(name: str) -> str | None:
    """The key that the source of that spelling has; ``None`` where nobody has compiled it here."""
    try:
        found = files.read_own(os.path.join(files.cache_folder(), name + SPELLING), 64)
    except (OSError, CacheError):
        return None
    return found.decode() if re.fullmatch(b"[0-9a-f]{40}", found) else None


def refer(name: str, to: str) -> None:
    """Notes the key of a spelling, where that is possible."""
    with contextlib.suppress(CacheError, OSError):
        os.makedirs(files.cache_folder(), exist_ok=True)
        files.replace(os.path.join(files.cache_folder(), name + SPELLING), to.encode())


def find(name: str) -> Any:
    """The executable of that key, or ``None``. A damaged entry is removed with a warning."""
    path = os.path.join(files.cache_folder(), name + SUFFIX)
    try:
        executable = Executable.of_bundle(files.read_own(path, MAX_BYTES), path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (CacheError, TargetError) as error:
        return _refused(path, str(error))
    except OSError as error:
        return _refused(path, f"cannot read {path}: {error.strerror or error}")
    with contextlib.suppress(OSError):
        os.utime(path)
    return executable


def _refused(path: str, reason: str) -> None:
    _warn(f"{reason}; compiling again")
    _remove(path)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def put(name: str, executable: Any) -> None:
    """Stores an executable; warns once where that is not possible."""
    place = files.cache_folder()
    try:
        os.makedirs(place, exist_ok=True)
    except OSError as error:
        _warn(
            f"the cache {place} cannot be made: {error.strerror or error}; set "
            "REDFUSE_CACHE_DIR to a folder you can write"
        )
        return
    path = os.path.join(place, name + SUFFIX)
    try:
        files.replace(path, bundle.encode(executable))
    except OSError as error:
        _warn(
            f"cannot write {path}: {error.strerror or error}; set REDFUSE_CACHE_DIR to a folder "
            "you can write"
        )
        return
    _trim()


def entries() -> list[Entry]:
    """What is cached, the latest used first."""
    found = []
    try:
        names = os.listdir(files.cache_folder())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CacheError(
            f"cannot read the cache {files.cache_folder()}: {error.strerror or error}"
        ) from None
    for name in names:
        if not name.endswith(SUFFIX):
            continue
        path = os.path.join(files.cache_folder(), name)
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISDIR(status.st_mode):
            continue
        found.append(Entry(name.removesuffix(SUFFIX), path, status.st_size, status.st_mtime))
    return sorted(found, key=lambda entry: -entry.used)


def clear() -> int:
    """Removes every entry and returns how many; raises CacheError if one cannot be removed."""
    removed = 0
    for entry in entries():
        try:
            os.unlink(entry.path)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise CacheError(f"cannot remove {entry.path}: {error.strerror or error}") from None
        removed += 1
    _remove_left_overs()
    _remove_spellings()
    _remove_sources()
    return removed


def _remove_left_overs() -> None:
    """Temporary files of writers that were killed an hour ago or longer."""
    try:
        names = os.listdir(files.cache_folder())
    except OSError:
        return
    for name in names:
        path = os.path.join(files.cache_folder(), name)
        try:
            if name.startswith(".redfuse-") and os.stat(path).st_mtime < time.time() - 3600:
                os.unlink(path)
        except OSError:
            continue


def _remove_sources() -> None:
    with contextlib.suppress(OSError):
        for name in os.listdir(files.cache_folder()):
            if name.endswith((SOURCE, FUNCTIONS)) or name == FOLDER_ID:
                _remove(os.path.join(files.cache_folder(), name))


def _remove_spellings() -> None:
    """Those of entries that are gone."""
    with contextlib.suppress(OSError):
        for name in os.listdir(files.cache_folder()):
            of = follow(name.removesuffix(SPELLING)) if name.endswith(SPELLING) else ""
            if of is None or (
                of and not os.path.exists(os.path.join(files.cache_folder(), of + SUFFIX))
            ):
                _remove(os.path.join(files.cache_folder(), name))


def _trim() -> None:
    try:
        found = entries()
    except CacheError:
        return
    total = sum(entry.nbytes for entry in found)
    if total <= MAX_BYTES:
        return
    while total > MAX_BYTES and len(found) > 1:
        oldest = found.pop()
        _remove(oldest.path)
        total -= oldest.nbytes
    _remove_spellings()


def _warn(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, CacheWarning, stacklevel=4)
