"""PyTorch models on a GPU: right, and how long a call takes beside eager's.

``python3 test/hardware/models.py FILE``: FILE has ``models()``, which yields (name, a function that
makes a model, its inputs), as ``tools/dev programs`` takes it. Each model's first result is compared
with eager's, products of f32 without TF32.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cli
import redfuse
import torch

TOLERANCE = 1e-3  # of the largest element


class First(torch.nn.Module):
    """The first result of a model, without a cache of keys and values."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        config = getattr(model, "config", None)
        self.words = {"use_cache": False} if hasattr(config, "use_cache") else {}

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.model(*inputs, **self.words)[0]


def milliseconds(call: Callable[[], Any], count: int = 20) -> float:
    """Of a call, in a row of many."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / count * 1e3


def measure(make: Callable[[], Any], inputs: tuple[torch.Tensor, ...]) -> tuple[bool, str]:
    """Whether a model is right, and a line about it."""
    torch.manual_seed(0)
    model = First(make()).eval().cuda()
    given = tuple(x.cuda() for x in inputs)
    start = time.perf_counter()
    with torch.no_grad():
        exe = redfuse.compile(model, inputs=given, target="cuda", options={"cache": False})
        seconds = time.perf_counter() - start
        got, expected = exe(*given), model(*given)
        error = float((got - expected).abs().max() / expected.abs().max())
        own, eager = milliseconds(lambda: exe(*given)), milliseconds(lambda: model(*given))
    kernels = len(exe.explanation["kernels"])
    words = (
        f"error {error:.1e}, {kernels} kernels in {seconds:.1f} s, {own:.3f} ms beside {eager:.3f}"
    )
    return error <= TOLERANCE, words


def main() -> int:
    """0 if all are right."""
    parser = cli.parser(__doc__)
    parser.add_argument("file", type=Path)
    spec = importlib.util.spec_from_file_location("models", parser.parse_args().file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    warnings.simplefilter("ignore")
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    failed = 0
    for name, make, inputs in module.models():
        try:
            is_right, words = measure(make, inputs)
        except redfuse.Error as error:
            is_right, words = False, f"{type(error).__name__}: {str(error).splitlines()[0]}"
        failed += not is_right
        print(f"{'ok  ' if is_right else 'BAD '} {name}: {words}", flush=True)
    print(f"{failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
