"""MLIR's Python IR, at the place where the generated enums of `redfuse.dialects` look for it."""

from mlir.ir import *  # noqa: F403
from mlir.ir import register_attribute_builder  # noqa: F401
