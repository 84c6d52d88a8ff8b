"""What scripts that draw programs share: they judge random ones, then time what models have."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import cli
import ml_dtypes
import numpy as np
import redfuse
import torch

Program = TypeVar("Program")

TORCH = {
    "bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "tf32": torch.float32,
    "f64": torch.float64,
}  # fmt: skip


class Numeric(Protocol):
    """A program with data and with results that are known to within a bound."""

    def program(self) -> str: ...

    def data(self, rng: np.random.Generator) -> list[np.ndarray]: ...

    def judge(self, given: list[np.ndarray], got: list[np.ndarray]) -> str: ...


def compiled(program: Numeric) -> redfuse.Executable:
    return redfuse.compile(program.program(), target="cuda", options={"cache": False})


def poisoned(shape: Sequence[int], dtype: str) -> torch.Tensor:
    """Where a result goes: what is not written is a NaN."""
    return torch.full(tuple(shape), float("nan"), device="cuda", dtype=TORCH[dtype])


def launch(exe: redfuse.Executable, given: list[torch.Tensor], out: list[torch.Tensor]) -> None:
    exe(*given, out=out if len(out) > 1 else out[0])


def judge_twice(
    program: Numeric, seed: int, results: Callable[[], list[torch.Tensor]]
) -> tuple[str, str]:
    """What is wrong with two launches, into new ``results`` each, and what multiplies."""
    exe = compiled(program)
    data = program.data(np.random.default_rng(seed))
    given = [on_device(x) for x in data]
    first, second = results(), results()
    for out in (first, second):
        launch(exe, given, out)
    torch.cuda.synchronize()
    if not all(torch.equal(x, y) for x, y in zip(first, second, strict=True)):
        return "two launches differ, or an element was not written", unit(exe)
    return program.judge(data, [x.double().cpu().numpy() for x in first]), unit(exe)


def unit(exe: redfuse.Executable) -> str:
    """What multiplies."""
    return next((name for name in ("wgmma", "mma.sync") if name in exe.asm), "scalar")


def on_device(array: np.ndarray) -> torch.Tensor:
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).cuda()
    return torch.from_numpy(array).cuda()


def parser(doc: str | None, count: int) -> argparse.ArgumentParser:
    """With the options of all of them."""
    made = cli.parser(doc)
    cli.add_draws(made, count)
    made.add_argument("--no-times", action="store_true")
    return made


def judge_drawn(
    chosen: argparse.Namespace,
    kind: str,
    draw: Callable[[int], Program],
    check: Callable[[Program, int], tuple[str, str]],
) -> int:
    """How many programs of the seeds are wrong. ``check`` says what is wrong, and what multiplies."""
    wrong, ways = 0, Counter[str]()
    for seed in range(chosen.seed, chosen.seed + chosen.count):
        program = draw(seed)
        try:
            verdict, way = check(program, seed)
        except Exception as problem:
            verdict, way = f"{type(problem).__name__}: {problem}"[:400], "failed"
        ways[way] += 1
        if verdict:
            wrong += 1
            print(f"FAILED {seed} {program}: {verdict}", flush=True)
    print(f"{chosen.count} {kind}, {wrong} wrong; {dict(ways)}", flush=True)
    return wrong


def time_all(programs: Iterable[Program], time_one: Callable[[Program], None]) -> int:
    """How many of them fail."""
    wrong = 0
    for program in programs:
        try:
            time_one(program)
        except Exception as problem:
            wrong += 1
            print(f"FAILED {program}: {problem}"[:400], flush=True)
    return wrong
