"""From a source to an :class:`Executable`, by way of the cache and what was tuned."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from .ending import outlives_threads
from .errors import ArgumentError, CacheWarning, CompileError, TargetError, one_of
from .executable import Executable
from .frontends import mlir as mlir_frontend
from .frontends.mlir import Source
from .lowering import LOG, host_cpu, lower, prepare
from .options import Options
from .runtime.specs import Signature
from .targets import gputargets


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
    if is_torch_callable(source):
        from .frontends.precision import Precision
        from .frontends.torch import export

        precision = Precision.chosen(chosen.precision, target_name)
        # Dims that `along` names are the caller's.
        text, interface = export(
            source, inputs, kwargs, dynamic_shapes, chosen.parameters, precision,
            keeps_strides=chosen.along is None,
        )  # fmt: skip
        given = inputs
        if interface is not None:
            given = None if inputs is None else interface.tensors(inputs, kwargs or {})
        executable = _tuned(text, chosen, target_name, given)
        executable.interface = interface
        executable.copies_strided()
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

    if chosen.cache and len(program.text) <= cache.MOST_OF_A_SOURCE:
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
    from . import _ext

    module = program.parse()
    prepare(module, mlir_frontend.find_entry(module, options.entry).name.value)
    if "sym_name" in module.operation.attributes:
        del module.operation.attributes["sym_name"]
    # Not in local scope, which leaves out the data of resources.
    return _ext.generic_text(module.operation)


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


def is_torch_callable(source: Any) -> bool:
    import sys

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(source, (torch.nn.Module, torch.export.ExportedProgram)):
        return True
    return callable(source) and not mlir_frontend.is_module(source) and not isinstance(source, type)
