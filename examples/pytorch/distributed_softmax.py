"""A softmax whose columns are on several processes.

    torchrun --nproc-per-node 2 examples/pytorch/distributed_softmax.py

Each rank reduces its own columns to two numbers a row; these are merged, and each finishes its
part.
"""

from pathlib import Path

import redfuse.distributed as rd
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (ranks,))
softmax = rd.compile(Path(__file__).parents[1] / "softmax.mlir", mesh, [Shard(1)])

torch.manual_seed(0)
whole = torch.randn(4096, 4096)
layout = rd.Layout.even(4096, ranks)
part = softmax(layout.shard(whole, 1, rank))

want = layout.shard(torch.softmax(whole.double(), 1), 1, rank)
error = float((part - want).abs().max() / want.abs().max())
if rank == 0:
    print(softmax.explain())
print(f"rank {rank}: {tuple(part.shape)} of the result, largest difference from fp64 {error:.1e}")
assert error < 1e-5
dist.destroy_process_group()
