"""Op classes that the MLIR bindings find by dialect name."""
