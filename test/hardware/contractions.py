"""Contractions of any dims on a GPU: `python test/hardware/contractions.py [--seed 0] [--count 200]`.

Random ones with what follows them, against fp64, two launches equal in every bit. Then times of shapes
that models have, beside PyTorch's own (`--no-times` leaves them out). `--dtype f32`, `f64` or `tf32` (programs that
round f32 to 11 bits, beside PyTorch's TF32) instead of 16-bit floats, with the errors of both in the largest
and the 2-norm, from the product of the operands as they are given. Random programs are judged by what the
sums may lose beside the roundings that the program says. Exit status 1 if one is wrong.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from attention import measure
from judging import (
    TORCH,
    compiled,
    judge_drawn,
    judge_twice,
    launch,
    parser,
    poisoned,
    time_all,
    unit,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from contraction_programs import Contraction, draw

# Long sums and few rows or columns, of which f32 has more.
LONG = [
    Contraction(notation, {"m": m, "n": n, "k": k})
    for m, n, k in ((256, 256, 524288), (1024, 1024, 131072), (4096, 32, 8192), (16, 4096, 16384))
    for notation in ("mk,kn->mn", "mk,nk->mn")
]
# Weights of Llama-3-8B: the sum and the columns.
LLAMA = [(4096, 6144), (4096, 4096), (4096, 28672), (14336, 4096), (4096, 128256)]
OTHERS = [
    Contraction("bsk,hdk->bhsd", {"b": 4, "s": 2048, "h": 16, "d": 128, "k": 2048}),
    Contraction("bsk,hdk->bhsd", {"b": 4, "s": 2048, "h": 32, "d": 64, "k": 2048}),
    Contraction("bhsd,ehd->bse", {"b": 4, "s": 2048, "h": 16, "d": 128, "e": 2048}),
    Contraction("bsk,nk->bsn", {"b": 4, "s": 2048, "k": 4096, "n": 4096}, "bias"),
    Contraction("zmk,zkn->zmn", {"z": 64, "m": 1024, "k": 1024, "n": 1024}),
    *(
        Contraction(notation, {"m": n, "n": n, "k": n})
        for n in (333, 1000, 4096, 4097)
        for notation in ("mk,kn->mn", "mk,nk->mn", "km,kn->mn", "km,nk->mn")
    ),
]


def results(program: Contraction) -> list[torch.Tensor]:
    """Where results go."""
    kinds = [program.result, program.sum] if program.epilogue == "two" else [program.result]
    return [poisoned(program.shape(program.indices[2]), kind) for kind in kinds]


def check(program: Contraction, seed: int) -> tuple[str, str]:
    return judge_twice(program, seed, partial(results, program))


def errors_of(program: Contraction, operands: list, got: torch.Tensor) -> str:
    """Of ours and of PyTorch's sums against fp64, of what has no epilogue. With TF32 both have the
    errors of their roundings."""
    if program.epilogue != "none":
        return ""
    want = torch.einsum(program.notation, *(x.double() for x in operands))
    told = []
    for value in (got, torch.einsum(program.notation, *operands)):
        off = value.double() - want
        told.append(f"{off.abs().max() / want.abs().max():.1e}; {off.norm() / want.norm():.1e}")
    return f", errors {told[0]} ({told[1]})"


def time_one(program: Contraction) -> None:
    exe = compiled(program)
    left, right, _ = program.indices
    given = [torch.randn(program.shape(x), device="cuda", dtype=TORCH[program.dtype])
             for x in (left, right)]  # fmt: skip
    operands = list(given)
    if program.extra is not None:
        shape = program.shape(program.extra)
        given.append(torch.randn(shape, device="cuda", dtype=TORCH[program.sum]))
    out = results(program)
    # PyTorch's einsum permutes and calls cuBLAS; what follows is not in its time.
    times = measure({
        "redfuse": partial(launch, exe, given, out),
        "torch": partial(torch.einsum, program.notation, *operands),
    })  # fmt: skip
    flops = 2 * np.prod([float(n) for n in program.extents.values()])
    rates = {name: round(flops / ms / 1e9, 1) for name, ms in times.items()}
    ratio = times["torch"] / times["redfuse"]
    errors = errors_of(program, operands, out[0]) if program.dtype in ("f32", "tf32") else ""
    print(f"{program.notation} {program.extents} {program.epilogue} {unit(exe)}: "
          f"TFLOP/s {rates}, of PyTorch {ratio:.3f}{errors}", flush=True)  # fmt: skip


def main() -> int:
    options = parser(__doc__, count=200)
    options.add_argument("--dtype", choices=("16-bit", "f32", "tf32", "f64"), default="16-bit")
    chosen = options.parse_args()
    is_narrow = chosen.dtype == "16-bit"
    dtypes = ("bf16", "bf16", "f16") if is_narrow else (chosen.dtype,)
    torch.backends.cuda.matmul.allow_tf32 = chosen.dtype == "tf32"
    wrong = judge_drawn(chosen, "contractions", lambda seed: draw(seed, dtypes=dtypes), check)
    if chosen.no_times:
        return int(wrong > 0)
    llama = [
        Contraction("mk,nk->mn", {"m": rows, "n": columns, "k": length})
        for length, columns in LLAMA
        for rows in (1, 16, 64, 256, 2048, 8192)
    ]
    programs = [*OTHERS, *llama, *([] if is_narrow else LONG)]
    if not is_narrow:
        programs = [
            replace(program, dtype=chosen.dtype, result=replace(program, dtype=chosen.dtype).sum)
            for program in programs
        ]
    return int(wrong + time_all(programs, time_one) > 0)


if __name__ == "__main__":
    sys.exit(main())
