"""Recurrent layers on a GPU, whose rounds one kernel makes: `python test/hardware/rounds.py [CALLS]`.

Each layer is called 300 times, every third time beside products on another stream: results must be
equal bit by bit. Beside it the largest error against PyTorch in fp64. Ends with 1 if a call differs,
or if an error is above 1e-5: states stay below 1, and rounds forget what those before them rounded.
"""

from __future__ import annotations

import sys
import warnings
from typing import NamedTuple

import redfuse
import torch

MOST_ERROR = 1e-5


class Layer(NamedTuple):
    """PyTorch's kind of layer, and its sizes."""

    kind: str
    inputs: int
    units: int
    layers: int
    is_wide: bool
    batch: int
    times: int


LAYERS = (
    Layer("LSTM", 33, 128, 2, False, 9, 257),
    Layer("GRU", 17, 109, 2, True, 6, 301),
    Layer("LSTM", 20, 256, 1, False, 10, 256),
    Layer("GRU", 20, 208, 1, False, 8, 300),
    Layer("RNN", 7, 130, 1, False, 1, 400),
    Layer("LSTM", 9, 67, 1, True, 3, 200),
    Layer("GRU", 5, 31, 3, False, 40, 64),
    # Too many units: a launch a round.
    Layer("RNN", 5, 500, 1, False, 2, 100),
)


class Program(torch.nn.Module):
    def __init__(self, of: Layer):
        super().__init__()
        kind = getattr(torch.nn, of.kind)
        self.layer = kind(of.inputs, of.units, of.layers, bidirectional=of.is_wide)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


def check(of: Layer, calls: int) -> bool:
    """Whether all calls are equal, and right."""
    torch.manual_seed(0)
    module = Program(of).cuda().eval()
    x = torch.randn(of.times, of.batch, of.inputs, device="cuda")
    made = redfuse.compile(module, inputs=[x], options={"cache": False})
    first, equal = made(x).clone(), 0
    noise, stream = torch.randn(4096, 4096, device="cuda"), torch.cuda.Stream()
    for call in range(calls):
        if call % 3 == 0:
            with torch.cuda.stream(stream):
                torch.mm(noise, noise)
        equal += bool(torch.equal(made(x), first))
    error = float((first.double() - module.double()(x.double())).abs().max())
    by = "one kernel" if "_rounds" in made.ir["generate"] else "launches"
    print(f"{of}: by {by}; {equal} of {calls} equal; error {error:.1e}", flush=True)
    return equal == calls and error <= MOST_ERROR


def main() -> int:
    warnings.simplefilter("ignore")
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with torch.no_grad():
        failed = [layer for layer in LAYERS if not check(layer, calls)]
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
