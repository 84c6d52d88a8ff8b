"""PyTorch's graphs in: see ``importer``."""
