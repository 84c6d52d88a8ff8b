"""States of tensors: chunks in, saved and read back, finished."""

import redfuse
import torch
from redfuse.bench import programs


def test_chunks_of_tensors() -> None:
    torch.manual_seed(0)
    x = torch.randn(6, 37) + 100
    exe = redfuse.compile(programs.variance(6, 37), options={"along": (0, 1)})
    state = exe.update(exe.init(), x[:, :5].contiguous())
    state = redfuse.State.from_bytes(state.to_bytes())
    state = exe.update(state, x[:, 5:].contiguous())
    result = torch.as_tensor(exe.finalize(state)).flatten()
    want = torch.var(x.double(), 1, correction=0).float()
    torch.testing.assert_close(result, want, rtol=1e-5, atol=0)
