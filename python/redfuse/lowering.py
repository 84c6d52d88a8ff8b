"""From a program to the LLVM dialect: the stages of ``pipelines``, one after another."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Sequence
from typing import Any

from . import pipelines
from .attributes import Target
from .errors import CompileError, FusionWarning, UnsupportedError
from .explain.explanation import Recorder
from .frontends import mlir as mlir_frontend
from .frontends.mlir import Source
from .frontends.stageerrors import stage_error
from .options import Options
from .runtime.specs import Signature
from .targets import gputargets, rates

LOG = logging.getLogger("redfuse")
# Logged with a stage's name as it begins, for who wants to know where a compilation is.
AT_STAGE = "stage %s"


def _device(target: str) -> Any:
    """The module of a target that is not the cpu."""
    from .targets import cuda, rocm

    return rocm if target.startswith("rocm") else cuda


def host_cpu() -> str:
    """What the host code of programs for GPUs is made for: any machine of this kind, as it does
    little and its bundles travel."""
    from . import _ext

    return "x86-64" if str(_ext.host()["triple"]).startswith("x86_64") else "generic"


class Lowered:
    """A module on its way down, with what was learnt: ``signature``, ``explanation``, seconds by
    stage."""

    def __init__(self, module: Any, signature: Signature, source: Source):
        self.module, self.signature, self.source = module, signature, source
        self.explanation: dict = {"kernels": [], "refused": []}
        self.timings: dict[str, float] = {}
        # Of a program for a GPU: what the driver chooses from, its PTX, and ptxas's report.
        self.device: list[tuple[str, bytes]] = []
        self.ptx = b""
        self.kernels_ir = self.listing = ""  # of an AMD GPU: LLVM IR, and assembly
        self.resources: list = []

    def variant(self, chip: str, code: bytes) -> Any:
        """The program for one architecture, with its host code."""
        from .targets.cuda import Variant

        return Variant(chip, code, self.device, self.resources, self.listing)

    def object_code(self, options: Options, cpu: str = "") -> bytes:
        """Machine code of a fully lowered module; ``cpu``: for another processor than this."""
        from . import _ext

        LOG.debug(AT_STAGE, "object")
        start = time.perf_counter()
        try:
            code = _ext.emit_object(self.module.operation, cpu=cpu, opt_level=options.opt_level)
        except CompileError as error:
            raise stage_error(error, "object", self.source) from None
        self.timings["object"] = time.perf_counter() - start
        return code

    def assembly(self, options: Options) -> str:
        """Its text."""
        from . import _ext

        return _ext.emit_asm(self.module.operation, opt_level=options.opt_level)


def lower(
    program: Source, options: Options, stop_after: str | None = None, target: str = "cpu"
) -> Lowered:
    """Runs the stages, all of them or up to ``stop_after``.

    A failure of a fusing stage is a warning (FusionWarning) and an entry in the explanation: the
    program is then compiled op by op. Any valid program runs, fused or not.
    """
    if target != "cpu":
        return _lower_gpu(program, options, stop_after, target)
    if not options.fuse:
        return lower_stages(program, options, pipelines.unfused(), stop_after)
    try:
        return lower_stages(program, options, pipelines.fused(options), stop_after)
    except (CompileError, UnsupportedError) as error:
        if stop_after is not None or options.schedules:
            raise
        failure = str(error)
    lowered = lower_stages(program, options.unfused(), pipelines.unfused(), None)
    first = failure.splitlines()[0]
    warnings.warn(f"not fused, compiled op by op: {failure}", FusionWarning, stacklevel=4)
    refusal = {
        "op": "func.func",
        "location": "",
        "condition": first,
        "detail": " ".join(failure.splitlines()[1:]),
        "remedy": "please report this program: the fusing stages should take it",
    }
    lowered.explanation = {"kernels": [], "refused": [refusal]}
    return lowered


def _lower_gpu(program: Source, options: Options, stop_after: str | None, target: str) -> Lowered:
    if not options.fuse:
        raise UnsupportedError(
            f"target {target}: fuse=False is for the cpu; expected fuse=True, which compiles what "
            "cannot be fused to a kernel an operation"
        )
    from .targets import cuda, rocm

    device = _device(target)
    chip = gputargets.chips_of(target)[0]
    stages = (pipelines.fused_rocm if device is rocm else pipelines.fused_gpu)(options)
    lowered = lower_stages(program, options, stages, stop_after, chip)
    if stop_after is not None:
        return lowered
    LOG.debug(AT_STAGE, "assembler")
    start = time.perf_counter()
    if device is cuda:
        lowered.device, lowered.resources = cuda.images(lowered.ptx, chip)
    elif lowered.kernels_ir:
        image, lowered.listing, lowered.resources = rocm.code_object(
            lowered.kernels_ir, chip, options.opt_level
        )
        lowered.device = [(chip, image)]
    lowered.timings["assembler"] = time.perf_counter() - start
    return lowered


def _host_target(options: Options) -> Target:
    """What the cost model needs to know of this machine; with ``deterministic``, of a machine that
    is always the same but for the width of its vectors.

    Capacities are the machine's own. The rates (GFLOP/s, GB/s) are those of a core of its vector
    width; only their ratio decides anything.
    """
    from . import _ext

    host = _ext.host()
    if options.deterministic:
        host = {**host, "threads": 16, "l1": 32 << 10, "l2": 1 << 20}
    units, bits = max(1, host["threads"]), max(128, host["vector_bits"])
    return Target(
        "cpu", units, bits, max(1, host["l1"]), max(1, host["l2"]),
        flops=units * bits // 4, bandwidth=20 * units, launch_ns=2000,
    )  # fmt: skip


def lower_stages(
    program: Source,
    options: Options,
    stages: list[tuple[str, str]],
    stop_after: str | None,
    chip: str | None = None,
) -> Lowered:
    """Runs the given stages, pairs of names and textual pipelines, up to ``stop_after``. chip: the
    GPU that the program is for."""
    start = time.perf_counter()
    module = program.parse()
    entry = mlir_frontend.find_entry(module, options.entry)
    signature = mlir_frontend.signature(entry)
    lowered = Lowered(module, signature, program)
    lowered.timings["source"] = time.perf_counter() - start
    if stop_after == "source":
        return lowered
    prepare(module, signature.name)
    if options.schedules:
        _ask_for(module, options.schedules)
    if chip:
        run_pipeline(module, pipelines.attach_target(chip), "target", program)
        _add_rates(module, chip)
    elif options.fuse and "redfuse.target" not in module.operation.attributes:
        _set_target(module, _host_target(options))
    recorder = Recorder()
    for stage, pipeline in stages:
        LOG.debug(AT_STAGE, stage)
        start = time.perf_counter()
        if stage == "schedule" and options.schedules:
            from .tuning import schedules

            schedules.check(module, options.schedules)
        try:
            run_pipeline(module, pipeline, stage, program)
        except CompileError as error:
            _add_reproducer(error, program, options, stages, module)
            raise
        lowered.timings[stage] = time.perf_counter() - start
        recorder.after(stage, module)
        if stage == "nvvm":
            lowered.ptx = gputargets.binary_of(module)
        if stage == "rocdl":
            lowered.kernels_ir = kernels_ir_of(module)
        if stage == stop_after:
            break
    lowered.explanation = recorder.result()
    return lowered


def _add_rates(module: Any, chip: str) -> None:
    """Has times predicted by what this machine's GPU reaches, if the program is for it."""
    found = rates.of_chip(chip)
    if found is not None and "redfuse.rates" not in module.operation.attributes:
        with module.context:
            module.operation.attributes["redfuse.rates"] = found.attribute()


def _add_reproducer(
    error: CompileError, program: Source, options: Options, stages: list[tuple[str, str]], made: Any
) -> None:
    """Writes the program as it was before all stages, for redfuse-opt, and says so in the error."""
    from .store import reproducers

    module = program.parse()
    if options.schedules:
        _ask_for(module, options.schedules)
    _name_entry(module, mlir_frontend.find_entry(module, options.entry).name.value)
    if "redfuse.target" in made.operation.attributes:
        _set_target(module, Target.of(made.operation.attributes["redfuse.target"]))
    check = pipelines.stage(pipelines.CPU, pipelines.CHECK)
    path = reproducers.write(str(module), [check, *(text for _, text in stages)])
    if path is not None:
        error.args = (f"{error}\nto see it again: redfuse-opt --run-reproducer {path}",)


def _ask_for(module: Any, texts: Sequence[str]) -> None:
    from .tuning import schedules

    schedules.ask(module, texts)


def _set_target(module: Any, target: Target) -> None:
    with module.context:
        module.operation.attributes["redfuse.target"] = target.attribute()


def _name_entry(module: Any, entry: str) -> None:
    """Says which function is compiled; the first stage leaves what it needs."""
    import mlir.ir as ir

    with module.context:
        module.operation.attributes["redfuse.entry"] = ir.FlatSymbolRefAttr.get(entry)


def kernels_ir_of(module: Any) -> str:
    """LLVM IR of a module's kernels for an AMD GPU; empty if it has none."""
    alone = module.operation.clone()
    line = pipelines.stage(pipelines.ROCM, pipelines.BINARY, ["format=llvm"])
    run_pipeline(alone, line, pipelines.BINARY)
    return gputargets.binary_of(alone).decode()


def prepare(module: Any, entry: str) -> None:
    """A parsed module as the first stage takes it: one function, with checks of its accesses."""
    _name_entry(module, entry)
    run_pipeline(module, pipelines.stage(pipelines.CPU, pipelines.CHECK), pipelines.CHECK)


def run_pipeline(module: Any, pipeline: str, stage: str, source: Source | None = None) -> None:
    """Runs a textual pass pipeline in place; raises CompileError with the diagnostics, where they
    point, and the operations of the source there."""
    from . import _ext

    try:
        _ext.run_passes(module.operation, pipeline)
    except CompileError as error:
        raise stage_error(error, stage, source) from None
