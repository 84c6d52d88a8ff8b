"""Compiled functions in the cache on disk: the ranks of one host compile a program once."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable

from ..errors import CacheError
from ..store import bundle, cache, files


def kept(text: str, make: Callable[[], bytes]) -> bytes:
    """What ``make`` gives, from the cache where it is there; ``text`` tells all that it depends on
    besides this machine and build."""
    digest = hashlib.sha256()
    for part in (text, cache.build_id(), bundle.host_key()):
        digest.update(part.encode() + b"\0")
    key = digest.hexdigest()[:40]
    found = _read(key)
    if found is not None:
        return found
    with cache.alone(key):
        found = _read(key)  # another process may have made it meanwhile
        if found is None:
            found = make()
            with contextlib.suppress(CacheError, OSError):  # a cache that cannot be written
                os.makedirs(files.cache_folder(), exist_ok=True)
                files.replace(_path(key), hashlib.sha256(found).digest() + found)
    return found


def _path(key: str) -> str:
    return os.path.join(files.cache_folder(), key + cache.FUNCTIONS)


def _read(key: str) -> bytes | None:
    """An entry that is whole; a damaged one is made again."""
    try:
        data = files.read_own(_path(key), cache.MAX_BYTES)
    except (CacheError, OSError):
        return None
    return data[32:] if hashlib.sha256(data[32:]).digest() == data[:32] else None
