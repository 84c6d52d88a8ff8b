"""What can be compiled: MLIR text, a path, an ``mlir.ir.Module``, a PyTorch function or module."""
