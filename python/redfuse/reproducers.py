"""A failed compilation as a file that ``redfuse-opt --run-reproducer FILE`` runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from . import files

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
    from . import cache

    if "\n{-#" in module:
        return None
    content = text(module, stages)
    name = hashlib.sha256(content.encode()).hexdigest()[:16]
    path = os.path.join(cache.folder(), "reproducers", f"{name}.mlir")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        files.replace(path, content.encode())
    except OSError:
        return None
    return path
