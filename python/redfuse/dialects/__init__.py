"""Op classes that the MLIR bindings find by dialect name."""

from mlir._mlir_libs._mlir import globals as _globals

_globals.append_dialect_search_prefix(__name__)
