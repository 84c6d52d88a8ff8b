"""Files that a user names: one way to write them, and one to read them.

What is written is never seen half: a file is replaced as a whole, or not at all. What is no file
(a terminal, /dev/null, a pipe) is written through and stays what it is; a link stays a link, and
the file that it leads to is replaced.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO

from ..errors import ArgumentError, CacheError, Error

MAGIC = b"REDFUSE\x04"  # how a bundle begins, for those that read it and those that refuse it
MOST_BYTES = 16 << 30  # a longer file is no program and no bundle
_MOST_OF_A_STREAM = 1 << 30  # /dev/zero has no end
_MOST_LINKS = 40


def cache_folder() -> str:
    """Where what can be made again is kept; it need not exist."""
    chosen = os.environ.get("REDFUSE_CACHE_DIR")
    if chosen:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "redfuse")


def write(path: str, data: bytes) -> None:
    """Writes ``data`` to what ``path`` names; raises CacheError."""
    try:
        try:
            status = os.stat(path)
        except FileNotFoundError:
            status = None
        target = _followed(path)
        if isinstance(target, int) or (status and _is_stream(status)):
            _write_through(target, data)
        elif status and stat.S_ISDIR(status.st_mode):
            raise CacheError(f"cannot write {path}: it is a folder; expected the name of a file")
        else:
            replace(target, data, status)
    except OSError as error:
        raise CacheError(f"cannot write {path}: {error.strerror or error}") from None


def replace(path: str, data: bytes, like: os.stat_result | None = None) -> None:
    """Puts a file of these bytes in the place of whatever ``path`` is, a link too; raises OSError.

    A reader sees the old file or the new one. ``like``: whose mode and owner the file has.
    """
    temporary = os.path.join(
        os.path.dirname(os.path.abspath(path)), f".redfuse-{os.getpid()}-{secrets.token_hex(8)}"
    )
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with open(os.open(temporary, flags, 0o666), "wb") as file:
            file.write(data)
            if like is not None:
                with contextlib.suppress(OSError):
                    os.fchown(file.fileno(), like.st_uid, like.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:  # of Ctrl-C too nothing is left
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def read(path: str, most: int = MOST_BYTES) -> bytes:
    """The bytes of what ``path`` names, a pipe too; raises OSError, and Error for more than
    ``most`` bytes."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        most = min(most, _MOST_OF_A_STREAM) if _is_stream(status) else most
        if status.st_size > most:
            raise Error(_too_long(path, status.st_size, most))
        if not _is_stream(status):
            return file.read()
        data = bytearray()  # not the limit at once: memory for it may not be there
        while len(data) <= most and (part := file.read(1 << 20)):
            data += part
        if len(data) > most:
            raise Error(_too_long(path, len(data), most))
        return bytes(data)


def read_given(path: str) -> bytes:
    """The bytes of a file that a user gave; raises ArgumentError."""
    try:
        return read(path)
    except OSError as error:
        raise ArgumentError(f"{path}: {error.strerror or error}") from None
    except Error as error:
        raise ArgumentError(str(error)) from None


@contextlib.contextmanager
def open_own(path: str, most: int) -> Iterator[BinaryIO]:
    """A file that this user wrote: of anything else (a pipe, a device, a folder, another user's
    file, one of more than ``most`` bytes) nothing is read, and nothing waited for. Raises OSError
    and CacheError."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise CacheError(f"{path} is no file")
    with os.fdopen(handle, "rb") as file:
        if status.st_uid not in (os.geteuid(), 0):
            raise CacheError(f"{path} belongs to another user (number {status.st_uid})")
        if status.st_size > most:
            raise CacheError(_too_long(path, status.st_size, most))
        yield file


def read_own(path: str, most: int) -> bytes:
    """The bytes of such a file."""
    with open_own(path, most) as file:
        return file.read()


def _too_long(path: str, got: int, most: int) -> str:
    return f"{path}: {got} bytes or more, expected at most {most}"


def _is_stream(status: os.stat_result) -> bool:
    kind = stat.S_IFMT(status.st_mode)
    return kind in (stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK)


def _followed(path: str) -> str | int:
    """Where the links from ``path`` lead: a path, or the number of an open file, as from
    /dev/stdout."""
    for _ in range(_MOST_LINKS):
        if not os.path.islink(path):
            return path
        folder = os.path.realpath(os.path.dirname(path) or ".")
        if folder == f"/proc/{os.getpid()}/fd":
            return int(os.path.basename(path))
        path = os.path.join(folder, os.readlink(path))
    return path  # a circle, which stat has told already


def _write_through(target: str | int, data: bytes) -> None:
    opened = isinstance(target, int)
    handle = os.dup(target) if opened else os.open(target, os.O_WRONLY | os.O_CLOEXEC)
    with open(handle, "wb", buffering=0) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) or 0 :]
