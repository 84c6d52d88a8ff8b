"""A deep model: equal layers are compiled once, all of it in bounded time."""

import time

import redfuse
import torch
from processor import slowness
from torch import nn

LAYERS, HIDDEN, HEADS, LENGTH = 32, 1024, 16, 512
LIMIT_SECONDS = 60  # from the module to machine code, export included, on two cores


class Layer(nn.Module):
    """Of a decoder: norm, causal attention, norm, feed-forward, with residuals."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(HIDDEN) for _ in range(2))
        self.projections = nn.ModuleList(nn.Linear(HIDDEN, HIDDEN) for _ in range(4))
        self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        y = self.norms[0](x)
        q, k, v = (
            p(y).view(batch, length, HEADS, HIDDEN // HEADS).transpose(1, 2)
            for p in self.projections[:3]
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projections[3](mixed.transpose(1, 2).reshape(batch, length, HIDDEN))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


def test_a_transformer_of_32_layers_compiles_within_a_minute() -> None:
    with torch.device("meta"):
        model = nn.Sequential(*(Layer() for _ in range(LAYERS)))
    names = [name for name, _ in model.named_parameters()]
    # Weights as arguments: 1.6 GB of them need not be constants to be compiled for.
    weights = [torch.empty(p.shape) for p in model.parameters()]

    def run(x: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(model, dict(zip(names, given, strict=True)), (x,))

    # Of the processor, on all threads: at least what passes where nothing else runs.
    start = time.process_time()
    exe = redfuse.compile(
        run, inputs=[torch.empty(1, LENGTH, HIDDEN), *weights], options={"cache": False}
    )
    seconds = time.process_time() - start
    print(f"{LAYERS} layers: {seconds:.1f} s, {exe.timings}")
    kernels = exe.explanation["kernels"]
    own = [kernel for kernel in kernels if "code_of" not in kernel]
    assert len(own) <= len(kernels) / 2
    assert seconds < LIMIT_SECONDS * slowness()
