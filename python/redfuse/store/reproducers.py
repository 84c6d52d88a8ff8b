"""A failed compilation as a file that ``redfuse-opt --run-reproducer FILE`` runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from . import files

_MOST = 20  # files that are kept

# What MLIR reads as its own crash reproducers.
_RESOURCE = """
{{-#
  external_resources: {{
    mlir_reproducer: {{
      pipeline: "{pipeline}",
      disable_threading: true,
      verify_each: true
    }}
  }}
#-}}
"""


def text(module: str, stages: Sequence[str]) -> str:
    """A module as text, and the pipelines that are run on it."""
    passes = [s.removeprefix("builtin.module(").removesuffix(")") for s in stages]
    return module + _RESOURCE.format(pipeline=f"builtin.module({','.join(passes)})")


def write(module: str, stages: Sequence[str]) -> str | None:
    """The file, in the cache's folder; None if it cannot be written, or if the program has data of
    its own behind it (weights), which would be copied."""
    if "\n{-#" in module:
        return None
    content = text(module, stages)
    name = hashlib.sha256(content.encode()).hexdigest()[:16]
    folder = os.path.join(files.cache_folder(), "reproducers")
    path = os.path.join(folder, f"{name}.mlir")
    try:
        os.makedirs(folder, exist_ok=True)
        files.replace(path, content.encode())
        with os.scandir(folder) as entries:
            made = sorted((entry.stat().st_mtime, entry.path) for entry in entries)
        for _, old in made[:-_MOST]:
            if old != path:
                os.unlink(old)
    except OSError:  # another process removes them, too
        return path if os.path.exists(path) else None
    return path
