"""redfuse: a compiler that fuses cascades of reductions."""

from mlir._mlir_libs import get_dialect_registry  # loads the one MLIR of the process

from . import _ext

_ext.register_dialects(get_dialect_registry())
_ext.register_passes()
