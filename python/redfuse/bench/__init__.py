"""Benchmarks: the workloads of three papers and a few of the CPU's, timed beside PyTorch
(docs/user/guide.md)."""
