"""The stages of a compilation, each a textual MLIR pass pipeline.

What a stage does says lib/Pipelines: `redfuse-opt -redfuse-cpu` runs all of them at once. Here they
are run one by one: ``exe.ir["derive"]`` is the module after the stage of that name.
"""

from __future__ import annotations

from collections.abc import Sequence

from .options import Options
from .parts import Part

CPU, CUDA, ROCM = "redfuse-cpu", "redfuse-cuda", "redfuse-rocm"
STATE, STATE_CUDA, UNFUSED = "redfuse-state", "redfuse-state-cuda", "redfuse-unfused"
# Of a program that is not there yet in one piece: the compiler runs it before all others.
CHECK = "check"
# Machine code for AMD GPUs: the compiler takes LLVM IR of it, as it wants resources, too.
BINARY = "binary"


def names(pipeline: str) -> tuple[str, ...]:
    """Of the stages whose IR is shown; "source" is the program as it was read."""
    from . import _ext

    own = (CHECK, BINARY)
    return ("source", *(stage for stage in _ext.stages(pipeline) if stage not in own))


def stage(pipeline: str, name: str, words: Sequence[str] = ()) -> str:
    """The textual pipeline of one stage; ``words``: its options."""
    return f"builtin.module({pipeline}{{{' '.join([f'stages={name}', *words])}}})"


def whole(pipeline: str, words: Sequence[str] = ()) -> str:
    """That of all stages."""
    return f"builtin.module({pipeline}{{{' '.join(words)}}})"


def _all(pipeline: str, words: Sequence[str] = ()) -> list[tuple[str, str]]:
    return [(name, stage(pipeline, name, words)) for name in names(pipeline)[1:]]


def _words(options: Options, tiles: Sequence[int] = ()) -> list[str]:
    words = [f"{name}=true" for name in ("strict", "approximate") if getattr(options, name)]
    if options.schedule != "auto":
        words.append(f"schedule={options.schedule}")
    if tiles:
        words.append(f"tiles={','.join(map(str, tiles))}")
    words += [f"{n}={getattr(options, n)}" for n in ("splits", "lazy") if getattr(options, n)]
    for name in ("cuts", "joins"):
        if numbers := getattr(options, name):
            words.append(f"{name}={','.join(map(str, numbers))}")
    return words


def fused(options: Options, tiles: Sequence[int] = ()) -> list[tuple[str, str]]:
    """(stage, pipeline) pairs of the fusing compiler for the CPU. tiles: extents by iteration dim
    instead of the model's (0: the model's)."""
    return _all(CPU, _words(options, tiles))


def as_written(options: Options, along: tuple[int, int] | None = None) -> list[tuple[str, str]]:
    """The same without dims that are joined or cut, and with the kernels of a state along an axis
    of an argument; ``None``: of any."""
    argument, axis = along or (-1, 0)
    return _all(CPU, [*_words(options), f"along={argument},{axis}", "prices=false"])


def state(
    options: Options, target: str = "cpu", part: Part | None = None, only: str = ""
) -> list[tuple[str, str]]:
    """The same for init, update, merge and finalize of a program (see ``state``), or of a part of
    it; for its "first" or "last" alone, if that is ``only``."""
    along = [f"along={options.along[0]},{options.along[1]}"] if options.along else []
    words = [*_words(options), *along, *_of_part(part), *([f"only={only}"] if only else [])]
    if target == "cpu":
        return _all(STATE, words)
    return _all(STATE_CUDA, [*words, f"opt-level={options.opt_level}", "host-alone=true"])


def part(options: Options, target: str, part: Part) -> list[tuple[str, str]]:
    """The same for the program of a part of some dims."""
    words = [*_words(options), *_of_part(part)]
    if target == "cpu":
        return _all(CPU, words)
    return _all(CUDA, [*words, f"opt-level={options.opt_level}", "host-alone=true"])


def find_dims() -> str:
    """The textual pipeline that says which dims a program has, as ``redfuse.dims``."""
    return (
        "builtin.module(resolve-ranked-shaped-type-result-dims,canonicalize,cse,redfuse-find-dims)"
    )


def _of_part(part: Part | None) -> list[str]:
    if part is None:
        return []
    words = [f"chunk={part.chunk}"] if part.chunk else []
    if part.dims:
        words.append("shard=" + ",".join(f"{a},{axis}" for a, axis in part.dims))
    if any(part.sizes):
        words.append("shard-sizes=" + ",".join(map(str, part.sizes)))
    return words


def unfused() -> list[tuple[str, str]]:
    """The same for the plain path: upstream's passes, one loop nest an operation."""
    return _all(UNFUSED)


def widen() -> str:
    """The textual pipeline that makes a program's fp64 form."""
    return "builtin.module(redfuse-widen-floats)"


def attach_target(chip: str) -> str:
    """The textual pipeline that puts ``redfuse.target`` of a GPU on a module."""
    return f"builtin.module(redfuse-attach-target{{chip={chip}}})"


def fused_rocm(options: Options, tiles: Sequence[int] = ()) -> list[tuple[str, str]]:
    """The same for an AMD GPU: "rocdl" leaves kernels in the ROCDL dialect, of which LLVM IR is
    made, "llvm" the host code."""
    return _all(ROCM, [*_words(options, tiles), "host-alone=true"])


def fused_gpu(
    options: Options, tiles: Sequence[int] = (), record: bool = False
) -> list[tuple[str, str]]:
    """The same for an NVIDIA GPU: "plan" says how kernels run on matrix units, "nvvm" leaves PTX
    in a gpu.binary, "llvm" the host code alone that launches it. record: fusion says on the module
    what it made (``#redfuse.fused_kernel``)."""
    words = [f"opt-level={options.opt_level}", "host-alone=true"]
    words += ["record=true"] if record else []
    return _all(CUDA, [*_words(options, tiles), *words])
