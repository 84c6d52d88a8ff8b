"""The stages of a compilation, each a textual MLIR pass pipeline.

``exe.ir["derive"]`` is the module after the stage of that name; the layers are those of
docs/design/architecture.md.
"""

from __future__ import annotations

from .options import Options

# Stage names in order; "source" is the program as it was read.
STAGES = (
    "source",
    "normalize",
    "raise",
    "fuse",
    "schedule",
    "derive",
    "outline",
    "bufferize",
    "share",
    "generate",
    "llvm",
)
UNFUSED_STAGES = ("source", "prepare", "bufferize", "loops", "llvm")


def fused(options: Options) -> list[tuple[str, str]]:
    """(stage, pipeline) pairs of the fusing compiler for the CPU."""
    rules = [name + "=true" for name in ("strict", "approximate") if getattr(options, name)]
    kind = [] if options.schedule == "auto" else [f"kind={options.schedule}"]
    if options.parts:
        kind.append(f"parts={options.parts}")
    if options.lazy:
        kind.append(f"lazy={options.lazy}")
    narrow = "" if options.strict else "redfuse-narrow-doubles,cse,"
    return [
        ("normalize", "builtin.module(redfuse-normalize)"),
        ("raise", "builtin.module(redfuse-raise,redfuse-widen-accumulators)"),
        ("fuse", "builtin.module(redfuse-fuse,redfuse-keep-roundings)"),
        (
            "schedule",
            f"builtin.module({narrow}redfuse-schedule{{{' '.join(kind + rules)}}})",
        ),
        ("derive", f"builtin.module(redfuse-derive{{{' '.join(rules)}}})"),
        ("outline", "builtin.module(redfuse-outline,redfuse-split)"),
        ("bufferize", "builtin.module(redfuse-lower-tm-tensor,redfuse-bufferize)"),
        ("share", "builtin.module(redfuse-share-kernels)"),
        ("generate", "builtin.module(redfuse-kernel-to-cpu)"),
        ("llvm", "builtin.module(redfuse-lower-to-llvm)"),
    ]


def state(options: Options) -> list[tuple[str, str]]:
    """The same for init, update, merge and finalize of a program (see ``state``)."""
    chosen = [f"along={options.along[0]},{options.along[1]}"] if options.along else []
    chosen += [name + "=true" for name in ("strict", "approximate") if getattr(options, name)]
    expose = f"redfuse-expose-state{{{' '.join(chosen)}}}"
    stages = fused(options)
    after = [stage for stage, _ in stages].index("fuse") + 1
    exposing = (
        "builtin.module(resolve-ranked-shaped-type-result-dims,canonicalize,cse,"
        f"{expose},canonicalize,cse)"
    )
    return [*stages[:after], ("state", exposing), *stages[after:]]


def unfused() -> list[tuple[str, str]]:
    """(stage, pipeline) pairs of the plain path: upstream passes, one loop nest an operation.

    The entry must be in destination style already (see ``destinations``). int-range-optimizations
    removes divisions by extents that torch-mlir guards with a select, and that trap when an
    extent is zero. Results are copied to their destinations: upstream's eliminate-empty-tensors
    puts two results that start from one fill into the same destination.
    """
    return [
        (
            "prepare",
            "builtin.module(redfuse-normalize-transposes,redfuse-normalize-generalize,"
            "redfuse-lower-tm-tensor,"
            "convert-elementwise-to-linalg,redfuse-widen-integers,canonicalize,cse,"
            "resolve-ranked-shaped-type-result-dims,"
            "func.func(int-range-optimizations),canonicalize,cse,redfuse-normalize-generalize)",
        ),
        (
            "bufferize",
            "builtin.module(one-shot-bufferize{bufferize-function-boundaries=1 "
            "allow-return-allocs-from-loops=1 "
            "function-boundary-type-conversion=identity-layout-map},canonicalize,cse,"
            "buffer-deallocation-pipeline,linalg-generalize-named-ops)",
        ),
        ("loops", "builtin.module(convert-linalg-to-loops,canonicalize,cse)"),
        ("llvm", "builtin.module(redfuse-lower-to-llvm)"),
    ]


ROCM_STAGES = (*STAGES[:-1], "rocdl", "llvm")


def fused_rocm(options: Options, chip: str) -> list[tuple[str, str]]:
    """The same for an AMD GPU: "rocdl" leaves kernels in the ROCDL dialect, of which LLVM IR is
    made, "llvm" the host code."""
    units = "" if options.strict else f"{{chip={chip}}}"
    front = [pair for pair in fused(options) if pair[0] not in ("generate", "llvm")]
    return [
        *front,
        ("generate", f"builtin.module(redfuse-host-to-gpu,redfuse-kernel-to-gpu{units})"),
        ("rocdl", f"builtin.module(redfuse-lower-to-rocdl{{chip={chip}}})"),
        ("llvm", "builtin.module(redfuse-lower-device-launches,redfuse-lower-to-llvm)"),
    ]


GPU_STAGES = (*STAGES[:-2], "plan", "generate", "nvvm", "llvm")


def fused_gpu(options: Options, chip: str, features: str) -> list[tuple[str, str]]:
    """(stage, pipeline) pairs of the fusing compiler for an NVIDIA GPU: the CPU's down to
    buffers. "plan" says how kernels run on matrix units, "nvvm" leaves PTX in a gpu.binary,
    "llvm" the host code that launches it. Matrix units add up in an order and with roundings of
    their own: not where the source's are asked for."""
    units = "" if options.strict else f"{{chip={chip}}}"
    front = [pair for pair in fused(options) if pair[0] not in ("generate", "llvm")]
    return [
        *front,
        (
            "plan",
            f"builtin.module(redfuse-host-to-gpu,redfuse-plan-matrices{units},redfuse-lazy-pivots)",
        ),
        ("generate", f"builtin.module(redfuse-kernel-to-gpu{units})"),
        (
            "nvvm",
            f"builtin.module(redfuse-lower-to-nvvm{{chip={chip} features={features} "
            f"opt-level={options.opt_level} strict={str(options.strict).lower()}}},"
            "gpu-module-to-binary{format=isa})",
        ),
        ("llvm", "builtin.module(redfuse-lower-device-launches,redfuse-lower-to-llvm)"),
    ]
