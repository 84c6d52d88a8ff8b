"""What the generated op classes expect beside them: upstream's helpers."""

from mlir.dialects import _ods_common as _upstream

globals().update({k: v for k, v in vars(_upstream).items() if not k.startswith("__")})
