"""The ways to compile a program: schedules, tiles, splits, states; and compiling without falling
back to the unfused path.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, NamedTuple

import numpy as np
from redfuse import lowering, pipelines
from redfuse.executable import Executable
from redfuse.frontends.mlir import Source
from redfuse.options import Options
from redfuse.targets import gputargets

CPU = "cpu"
# Why a schedule was chosen: no part of the program.
REASON = re.compile(r'reason = "(?:[^"\\]|\\.)*"')


class Parsed(Source):
    """A program that is parsed once, into one context for all ways to compile it."""

    _module: Any = None

    def parse(self) -> Any:
        if self._module is None:
            self._module = super().parse()
        return self._module.operation.clone()


@dataclasses.dataclass(frozen=True)
class Variant:
    """A way to compile: options, and the extent of all tiles of reduced dims (0: as chosen)."""

    name: str
    options: Options
    tile: int = 0
    target: str = CPU

    @property
    def cuts(self) -> bool:
        """Whether segments may be so short that powers are taken from a few elements' mean."""
        return bool(self.tile) or self.options.schedule == "split"


def options(opt_level: int, **fields: Any) -> Options:
    """Options of one thread, without the cache."""
    return Options(opt_level=opt_level, cache=False, threads=1, **fields)


def variants(opt_level: int, seed: int = 0, more: int = 99, target: str = CPU) -> list[Variant]:
    """The unfused program, on the CPU, the three schedules that an option asks for, and up to
    ``more`` of the ways to cut, drawn by ``seed``."""

    def way(name: str, tile: int = 0, **fields: Any) -> Variant:
        return Variant(name, options(opt_level, **fields), tile, target)

    always = [
        Variant("unfused", options(opt_level, fuse=False)),
        way("auto"),
        way("resident", schedule="resident"),
        way("stream", schedule="stream"),
    ]
    cuts = [
        *(way(f"stream, tiles of {n}", n, schedule="stream") for n in (1, 2, 3, 8)),
        *(way(f"split, {n} splits", schedule="split", splits=n) for n in (2, 3, 5, 16)),
        *(
            way(f"split, {n} splits, tiles of {tile}", tile, schedule="split", splits=n)
            for n, tile in ((2, 1), (3, 2))
        ),
        way("deterministic", deterministic=True),
        way("strict", strict=True),
    ]
    if more < len(cuts):
        chosen = np.random.default_rng([seed, 1]).choice(len(cuts), more, replace=False)
        cuts = [cuts[i] for i in sorted(chosen)]
    return [*always, *cuts]


def stages(variant: Variant) -> tuple[list[tuple[str, str]], str | None]:
    """The pipelines of a variant, and its architecture, for a GPU."""
    chip = None
    if not variant.options.fuse:
        return pipelines.unfused(), None
    tiles = [variant.tile] * 8 if variant.tile else []
    if variant.target == CPU:
        pairs = pipelines.fused(variant.options, tiles)
    else:
        chip = gputargets.chips_of(variant.target)[0]
        pairs = pipelines.fused_gpu(variant.options, tiles)
    return pairs, chip


class Built(NamedTuple):
    """An executable, which several variants may share, and what was decided for this one."""

    executable: Executable
    explanation: dict

    @property
    def schedules(self) -> list[str]:
        """The kinds of the schedules of kernels that reduce."""
        return [
            kernel["schedule"]["kind"]
            for kernel in self.explanation["kernels"]
            if any(cascade["stages"] for cascade in kernel["cascades"])
        ]


def build(source: Source, variant: Variant, made: dict[str, Executable] | None = None) -> Built:
    """Compiles without falling back to the unfused path; raises redfuse.Error.

    made: executables by what the program was before code was generated; one that is there
        already is not made again.
    """
    pairs, chip = stages(variant)
    shared = "outline" if variant.options.fuse else "prepare"
    lowered = lowering.lower_stages(source, variant.options, pairs, shared, chip)
    key = f"{variant.target} {REASON.sub('', str(lowered.module))}"
    if made is not None and key in made:
        return Built(made[key], lowered.explanation)
    after = [name for name, _ in pairs].index(shared) + 1
    for stage, line in pairs[after:]:
        lowering.run_pipeline(lowered.module, line, stage)
        if stage == "nvvm":
            from redfuse.targets import cuda

            chip = gputargets.chips_of(variant.target)[0]
            lowered.ptx = gputargets.binary_of(lowered.module)
            lowered.device, lowered.resources = cuda.images(lowered.ptx, chip)
    code = lowered.object_code(variant.options)
    executable = Executable(
        source, variant.options, variant.target, lowered.signature, code, lowered.explanation,
        variants=None if variant.target == CPU else [lowered.variant(chip, code)],
    )  # fmt: skip
    if made is not None:
        made[key] = executable
    return Built(executable, lowered.explanation)
