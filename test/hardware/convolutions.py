"""Convolutions on a GPU: `python test/hardware/convolutions.py [--seed 0] [--count 100] [--dtype bf16]`.

Random ones with a bias and a rectifier behind them, against fp64, two launches equal in every bit. Then times
of layers of ResNet-50 and others, NCHW and NHWC, beside cuDNN's convolution and PyTorch's operations behind it
(`--no-times` leaves them out). Exit status 1 if one is wrong.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from attention import measure
from judging import TORCH, compiled, judge_drawn, judge_twice, parser, poisoned, time_all, unit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from convolution_programs import Convolution, draw

# Size of the result, window, channels, filters, batch, stride. No padding: windows lie inside.
LAYERS = [
    Convolution((56, 56), (1, 1), 64, 256, 32),
    Convolution((56, 56), (3, 3), 64, 64, 32),
    Convolution((28, 28), (3, 3), 128, 128, 32),
    Convolution((14, 14), (3, 3), 256, 256, 32),
    Convolution((7, 7), (3, 3), 512, 512, 32),
    Convolution((28, 28), (3, 3), 128, 128, 32, stride=2),
    Convolution((112, 112), (7, 7), 3, 64, 32, stride=2),
    Convolution((56, 56), (3, 3), 256, 256, 32),
    Convolution((1024,), (9,), 256, 256, 16),
    Convolution((16, 28, 28), (3, 3, 3), 64, 64, 4),
]


def result(program: Convolution) -> torch.Tensor:
    return poisoned(program.shapes[-1], program.dtype)


def check(program: Convolution, seed: int) -> tuple[str, str]:
    return judge_twice(program, seed, lambda: [result(program)])


def time_one(program: Convolution) -> None:
    exe = compiled(program)
    given, weights, bias, _ = program.shapes
    dtype = TORCH[program.dtype]
    x, w = (torch.randn(shape, device="cuda", dtype=dtype) for shape in (given, weights))
    e = torch.randn(bias, device="cuda")
    out = result(program)
    # The same memory, as PyTorch's operation takes it.
    seen = x.movedim(-1, 1) if program.is_channels_last else x
    kernel = w
    if program.is_channels_last and len(program.size) == 2:
        kernel = w.contiguous(memory_format=torch.channels_last)
    function = (torch.conv1d, torch.conv2d, torch.conv3d)[len(program.size) - 1]
    convolve = partial(
        function, seen, kernel, None, program.stride, 0, program.dilation, program.groups
    )
    narrow = e.to(dtype)
    fused = partial(
        function, seen, kernel, narrow, program.stride, 0, program.dilation, program.groups
    )
    times = measure({
        "redfuse": partial(exe, x, w, e, out=out), "cudnn": convolve,
        "cudnn, bias, relu": lambda: torch.relu(fused()),
    })  # fmt: skip
    flops = 2.0 * np.prod(program.shapes[-1]) * np.prod(program.window) * program.channels
    rates = {name: round(flops / ms / 1e9, 1) for name, ms in times.items()}
    layout = "NHWC" if program.is_channels_last else "NCHW"
    print(f"{layout} {program.dtype} {program.channels}->{program.filters} {program.window} to "
          f"{program.size} by {program.stride} {unit(exe)}: TFLOP/s {rates}, of cuDNN "
          f"{times['cudnn'] / times['redfuse']:.3f}, with what follows "
          f"{times['cudnn, bias, relu'] / times['redfuse']:.3f}", flush=True)  # fmt: skip


def main() -> int:
    options = parser(__doc__, count=100)
    options.add_argument("--dtype", choices=("bf16", "f16", "f32"), default="bf16")
    options.add_argument("--allow-tf32", action="store_true", help="in cuDNN, of f32")
    chosen = options.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = chosen.allow_tf32
    wrong = judge_drawn(chosen, "convolutions", lambda seed: draw(seed, (chosen.dtype,)), check)
    if chosen.no_times:
        return int(wrong > 0)
    programs = [
        replace(layer, dtype=chosen.dtype, is_channels_last=is_channels_last)
        for layer in LAYERS
        for is_channels_last in (False, True)
    ]
    return int(wrong + time_all(programs, time_one) > 0)


if __name__ == "__main__":
    sys.exit(main())
