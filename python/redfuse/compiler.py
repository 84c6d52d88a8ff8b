"""From a source to an :class:`Executable`: the stages of ``pipelines``, one after another."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from . import pipelines
from .attributes import Target
from .ending import outlives_threads
from .errors import (
    ArgumentError,
    CacheWarning,
    CompileError,
    FusionWarning,
    TargetError,
    UnsupportedError,
    one_of,
)
from .executable import Executable
from .explain.explanation import Recorder
from .frontends import mlir as mlir_frontend
from .frontends.mlir import Source
from .frontends.stageerrors import stage_error
from .options import Options
from .runtime.specs import Signature
from .targets import gputargets

LOG = logging.getLogger("redfuse")
# Logged with a stage's name as it begins, for who wants to know where a compilation is.
AT_STAGE = "stage %s"


@outlives_threads
def compile(
    source: Any,
    *,
    target: str = "auto",
    inputs: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    options: Options | Mapping[str, object] | None = None,
) -> Executable:
    """Compiles a program.

    source: a path, MLIR text, an ``mlir.ir.Module``, or (with the extra ``torch``) a PyTorch
        function or module with example ``inputs``, or a ``torch.export.ExportedProgram``.
    target: "auto" or "cpu", "cuda" (this machine's GPU), "cuda:sm_90a" and the like, several as
        "cuda:sm_80,sm_90a", or "rocm", "rocm:gfx942" and the like for AMD GPUs. See
        ``redfuse targets``.
    inputs: example arrays. PyTorch sources need them; for MLIR they are checked against the
        signature.
    kwargs, dynamic_shapes: of a PyTorch function or module: examples of keywords, and which extents
        are open, as ``torch.export.export`` takes them.
    options: an :class:`Options` or a mapping of its fields.

    Raises ParseError, UnsupportedError, ArgumentError, TargetError, CompileError: all
        ``redfuse.Error``.
    """
    chosen = Options.of(options)
    target_name = resolve_target(target)
    if inputs is not None and not isinstance(inputs, (list, tuple)):
        raise ArgumentError(
            f"inputs: expected a list or tuple of arrays, got {type(inputs).__name__}"
        )
    if _is_torch_callable(source):
        from .frontends.precision import Precision
        from .frontends.torch import export

        precision = Precision.chosen(chosen.precision, target_name)
        text, interface = export(
            source, inputs, kwargs, dynamic_shapes, chosen.parameters, precision
        )
        given = inputs
        if interface is not None:
            given = None if inputs is None else interface.tensors(inputs, kwargs or {})
        executable = _tuned(text, chosen, target_name, given)
        executable.interface = interface
        return executable
    if kwargs or dynamic_shapes is not None:
        raise ArgumentError(
            "kwargs and dynamic_shapes: expected a PyTorch function or module as source"
        )
    return _tuned(mlir_frontend.read(source), chosen, target_name, inputs)


def _tuned(
    program: Source, chosen: Options, target_name: str, inputs: Sequence[Any] | None
) -> Executable:
    """With the schedules that ``redfuse tune`` found, if it did and they can be used."""
    from .tuning import store

    tuned = store.applied(program, chosen, target_name, inputs)
    if tuned is not chosen:
        try:
            return _cached(program, tuned, target_name, inputs)
        except (CompileError, ArgumentError) as error:  # stored by another build, say
            executable = _cached(program, chosen, target_name, inputs)
            first = str(error).splitlines()[0]
            warnings.warn(
                f"the tuned schedules are not used: {first}; tune again", CacheWarning, stacklevel=3
            )
            return executable
    return _cached(program, chosen, target_name, inputs)


def _cached(
    program: Source, chosen: Options, target_name: str, inputs: Sequence[Any] | None
) -> Executable:
    """From the cache, or compiled and put there."""
    from .store import cache

    if chosen.cache:
        spelling = cache.spelling(program, chosen, target_name)
        known = cache.follow(spelling)
        executable = cache.find(known) if known else None
        if executable is None:
            key = cache.key(canonical(program, chosen), chosen, target_name)
            executable = _found_or_made(key, program, chosen, target_name)
            cache.refer(spelling, key)
        executable.adopt(program, chosen)
    else:
        executable = _compile(program, chosen, target_name)
    _check_along(chosen.along, executable.signature)
    if inputs is not None:
        from .runtime.arrays import check_examples

        check_examples(inputs, executable.signature)
    return executable


def _check_along(along: tuple[int, int] | None, signature: Signature) -> None:
    """Raises ArgumentError for an axis that no argument has."""
    if along is None:
        return
    number, axis = along
    given = f"option 'along': expected an argument of {signature} and one of its axes, got {along}"
    if number >= len(signature.inputs):
        raise ArgumentError(f"{given}: there are {len(signature.inputs)} arguments")
    if axis >= len(signature.inputs[number].shape):
        raise ArgumentError(f"{given}: argument {number} is {signature.inputs[number]}")


def _found_or_made(key: str, program: Source, options: Options, target: str) -> Executable:
    from .store import cache

    executable = cache.find(key)
    if executable is None:
        with cache.alone(key):
            # Another process may have compiled it meanwhile.
            executable = cache.find(key)
            if executable is None:
                executable = _compile(program, options, target)
                cache.put(key, executable)
    return executable


def canonical(program: Source, options: Options) -> str:
    """What of a source decides the code: the entry function as it is compiled, without positions
    and without what the source calls values and aliases.

    Positions are left where a program says them while it runs: in the messages of the checks of
    dynamic extents.
    """
    module = program.parse()
    _prepare(module, mlir_frontend.find_entry(module, options.entry).name.value)
    if "sym_name" in module.operation.attributes:
        del module.operation.attributes["sym_name"]
    # Not in local scope, which leaves out the data of resources.
    return module.operation.get_asm(print_generic_op_form=True)


def _compile(program: Source, options: Options, target: str) -> Executable:
    start = time.perf_counter()
    if target == "cpu":
        lowered = lower(program, options)
        variants = None
        code = lowered.object_code(options)
    else:
        variants = []
        for chip in reversed(gputargets.chips_of(target)):  # the first one's facts are kept
            lowered = lower(program, options, target=f"{target.partition(':')[0]}:{chip}")
            code = lowered.object_code(options, host_cpu())
            variants.insert(0, lowered.variant(chip, code))
    executable = Executable(
        program, options, target, lowered.signature, code, lowered.explanation,
        timings=lowered.timings, variants=variants,
    )  # fmt: skip
    executable.compile_seconds = time.perf_counter() - start
    LOG.info(
        "compiled %s from %s for %s in %.2f s",
        lowered.signature.name, program.name, target, executable.compile_seconds,
    )  # fmt: skip
    return executable


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
        return _lower(program, options, pipelines.unfused(), stop_after)
    try:
        return _lower(program, options, pipelines.fused(options), stop_after)
    except (CompileError, UnsupportedError) as error:
        if stop_after is not None or options.schedules:
            raise
        failure = str(error)
    lowered = _lower(program, options.unfused(), pipelines.unfused(), None)
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
    lowered = _lower(program, options, stages, stop_after, chip)
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


def _lower(
    program: Source,
    options: Options,
    stages: list[tuple[str, str]],
    stop_after: str | None,
    chip: str | None = None,
) -> Lowered:
    start = time.perf_counter()
    module = program.parse()
    entry = mlir_frontend.find_entry(module, options.entry)
    signature = mlir_frontend.signature(entry)
    lowered = Lowered(module, signature, program)
    lowered.timings["source"] = time.perf_counter() - start
    if stop_after == "source":
        return lowered
    _prepare(module, signature.name)
    if chip:
        run_pipeline(module, pipelines.attach_target(chip), "target", program)
    elif options.fuse and "redfuse.target" not in module.operation.attributes:
        _set_target(module, _host_target(options))
    recorder = Recorder()
    for stage, pipeline in stages:
        LOG.debug(AT_STAGE, stage)
        start = time.perf_counter()
        if stage == "schedule" and options.schedules:
            from .tuning.schedules import pin

            pin(module, options.schedules)
        try:
            run_pipeline(module, pipeline, stage, program)
        except CompileError as error:
            _add_reproducer(error, program, options, stages, module)
            raise
        lowered.timings[stage] = time.perf_counter() - start
        recorder.after(stage, module)
        if stage == "nvvm":
            from .targets import cuda

            lowered.ptx = cuda.take_ptx(module)
        if stage == "rocdl":
            from .targets import rocm

            lowered.kernels_ir = rocm.take_ir(module)
        if stage == stop_after:
            break
    lowered.explanation = recorder.result()
    return lowered


def _add_reproducer(
    error: CompileError, program: Source, options: Options, stages: list[tuple[str, str]], made: Any
) -> None:
    """Writes the program as it was before all stages, for redfuse-opt, and says so in the error.
    Not where the stages are not all that was done."""
    from .store import reproducers

    if options.schedules:
        return
    module = program.parse()
    _keep_only(module, mlir_frontend.find_entry(module, options.entry).name.value)
    if "redfuse.target" in made.operation.attributes:
        _set_target(module, Target.of(made.operation.attributes["redfuse.target"]))
    check = pipelines.stage(pipelines.CPU, pipelines.CHECK)
    path = reproducers.write(str(module), [check, *(text for _, text in stages)])
    if path is not None:
        error.args = (f"{error}\nto see it again: redfuse-opt --run-reproducer {path}",)


def _set_target(module: Any, target: Target) -> None:
    with module.context:
        module.operation.attributes["redfuse.target"] = target.attribute()


def _keep_only(module: Any, entry: str) -> None:
    """Makes ``entry`` the only public function."""
    import mlir.ir as ir

    with module.context:
        for operation in module.body.operations:
            if operation.operation.name == "func.func":
                visibility = "public" if operation.name.value == entry else "private"
                operation.attributes["sym_visibility"] = ir.StringAttr.get(visibility)


def _prepare(module: Any, entry: str) -> None:
    """A parsed module as the first stage takes it: one function, with checks of its accesses."""
    from .frontends import sourcechecks

    sourcechecks.check(module, entry)
    _keep_only(module, entry)
    run_pipeline(module, pipelines.stage(pipelines.CPU, pipelines.CHECK), pipelines.CHECK)
    sourcechecks.check_calls(mlir_frontend.find_entry(module, entry))


def run_pipeline(module: Any, pipeline: str, stage: str, source: Source | None = None) -> None:
    """Runs a textual pass pipeline in place; raises CompileError with the diagnostics, where they
    point, and the operations of the source there."""
    from . import _ext

    try:
        _ext.run_passes(module.operation, pipeline)
    except CompileError as error:
        raise stage_error(error, stage, source) from None


def resolve_target(target: str) -> str:
    """The target to compile for; raises TargetError for one that is unknown or not in this
    build."""
    if not isinstance(target, str):
        raise TargetError(f"target: expected a name, got {type(target).__name__}")
    family = target.partition(":")[0]
    if family in ("auto", "cpu"):
        if ":" in target:
            raise TargetError(f"target '{target}': the cpu target takes no variant; use 'cpu'")
        return "cpu"
    if family == "cuda":
        from .targets import cuda

        return cuda.resolve(target)
    if family == "rocm":
        from .targets import rocm

        return rocm.resolve(target)
    if family in ("gpu", "nvidia", "amd", "hip"):  # "gpu" is near to "cpu" only as a word
        raise TargetError(
            f"unknown target '{target}'; expected cuda for an NVIDIA GPU, rocm for an AMD GPU, or "
            "one of their architectures, as in cuda:sm_90a"
        )
    raise TargetError(one_of("target", target, ("auto", "cpu", "cuda", "rocm")))


def available_targets() -> dict[str, str]:
    """Names of the targets that this build compiles for, each with a line about this machine."""
    from . import _ext
    from .targets import cuda, rocm

    return {
        "cpu": host_text(_ext.host()),
        "cuda": cuda.machine_text(),
        "rocm": rocm.machine_text(),
    }


def host_text(host: Mapping[str, Any]) -> str:
    """One line about the host."""
    caches = "/".join(f"{host[level] >> 10}" for level in ("l1", "l2", "l3"))
    return (
        f"{host['cpu']}, {host['vector_bits']}-bit vectors, {host['threads']} threads, "
        f"caches {caches} kB"
    )


def _is_torch_callable(source: Any) -> bool:
    import sys

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(source, (torch.nn.Module, torch.export.ExportedProgram)):
        return True
    return callable(source) and not mlir_frontend.is_module(source) and not isinstance(source, type)
