"""What programs are compiled for: GPUs, and the tools that make their code."""
