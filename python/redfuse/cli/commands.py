"""The commands of ``redfuse``, for typer."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ArgumentError, Error
from . import console

File = Annotated[
    Path, typer.Argument(help="A program: MLIR text or bytecode, or a bundle of `redfuse compile`.")
]
Target = Annotated[
    str,
    typer.Option(help="cpu, cuda, rocm, or architectures as cuda:sm_90a; see `redfuse targets`."),
]
Entry = Annotated[
    str | None, typer.Option(help="The function to compile, if it is not the only one or main.")
]
NoFuse = Annotated[
    bool, typer.Option("--no-fuse", help="Compile the program as written, op by op.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--option", "-O", help="name=value, a field of redfuse.Options."),
]


def make_app(_typer: Any) -> Any:
    """The application."""
    app = typer.Typer(
        help="Compiles linalg programs; fuses cascades of reductions.", add_completion=False,
        pretty_exceptions_enable=False, rich_markup_mode=None,
    )  # fmt: skip
    for command in (compile_, run, explain, profile, verify, bench, targets, calibrate, demo):
        app.command(name=command.__name__.rstrip("_"))(command)
    from ..tuning.command import tune
    from .merging import merge

    app.command(name="merge")(merge)
    app.command(name="tune")(tune)
    cache_app = typer.Typer(
        help="Shows or empties the cache of compiled programs.", no_args_is_help=True
    )
    cache_app.command(name="list")(cache_list)
    cache_app.command(name="clear")(cache_clear)
    app.add_typer(cache_app, name="cache")
    app.callback(invoke_without_command=True)(_version)
    return app


def _version(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        from .. import __version__

        print(f"redfuse {__version__}")
        raise typer.Exit(0)
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(0)


def _options(entry: str | None, no_fuse: bool, assignments: list[str] | None) -> Any:
    import dataclasses

    from ..options import Options

    options = Options.from_assignments(assignments or [])
    if entry is not None:
        options = dataclasses.replace(options, entry=entry)
    return dataclasses.replace(options, fuse=False) if no_fuse else options


def _load(file: Path, target: str, options: Any) -> Any:
    """The executable of a program or of a bundle."""
    from ..compiler import compile, resolve_target
    from ..executable import Executable
    from ..frontends import mlir as mlir_frontend
    from ..options import Options
    from ..store import files

    resolve_target(target)
    data = files.read_given(str(file))
    if data.startswith(files.MAGIC[:7]):
        executable = Executable.of_bundle(data, str(file))
        if options != Options():
            raise ArgumentError(
                f"{file}: a bundle, which is compiled already; expected --entry, --no-fuse and "
                "--option where a program is compiled"
            )
        is_family = target in ("auto", executable.target.partition(":")[0])
        if not is_family and resolve_target(target) != executable.target:
            raise ArgumentError(
                f"{file}: a bundle for {executable.target}, got --target {target}; compile the "
                "program for it"
            )
        return executable
    with console.progress(f"compiling {file}"):
        return compile(mlir_frontend.of_bytes(data, str(file)), target=target, options=options)


def compile_(
    file: File,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a bundle here.")
    ] = None,
    emit: Annotated[
        str | None,
        typer.Option(
            help="Print instead: asm, or the IR after a stage (source, raise, derive, ...)."
        ),
    ] = None,
    target: Target = "auto",
    entry: Entry = None,
    no_fuse: NoFuse = False,
    option: Settings = None,
) -> None:
    """Compile a program, and write it to a bundle that `redfuse run` and redfuse.load read."""
    executable = _load(file, target, _options(entry, no_fuse, option))
    if emit == "asm":
        print(executable.asm)
    elif emit is not None:
        from ..errors import one_of

        if emit not in executable.ir:
            raise ArgumentError(one_of("stage", emit, ["asm", *executable.ir]))
        print(executable.ir[emit])
    if output is not None:
        count = executable.save(output)
        print(f"{output}: {executable.signature}, {count} bytes", file=sys.stderr)
    elif emit is None:
        seconds = executable.compile_seconds
        how = f"compiled in {seconds:.2f} s" if seconds else "from the cache"
        print(f"{file}: {executable.signature} for {executable.target}, {how}")


def run(
    file: File,
    inputs: Annotated[
        Path | None,
        typer.Option(
            help="An .npz with in0, in1, ... and, to compare with, out0, ...; or random inputs."
        ),
    ] = None,
    target: Target = "auto",
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Compare with out0.., or without them with fp64 of the unfused program."
        ),
    ] = False,
    save: Annotated[
        Path | None, typer.Option(help="Write the results to this .npz as out0, ...")
    ] = None,
    entry: Entry = None,
    no_fuse: NoFuse = False,
    option: Settings = None,
) -> int:
    """Run a program on arrays from a file; exit with 1 if a result is wrong."""
    from .. import check as checking
    from ..runtime.tensors import call
    from ..store.data import random_inputs

    options = _options(entry, no_fuse, option)
    held, expected = checking.load_npz(str(inputs)) if inputs is not None else ([], [])
    executable = _load(file, target, options)
    signature = executable.signature
    try:
        arrays = (
            checking.cast_inputs(held, signature)
            if inputs is not None
            else random_inputs(signature)
        )
        results = call(executable, arrays, f"running a program for {executable.target}")
    except ArgumentError as error:
        if inputs is None:
            raise
        which = "in0, in1, ..." if error.index is None else f"in{error.index}"
        raise ArgumentError(f"{error} ({which} of {inputs})") from None
    if save is not None:
        _save_npz(save, results)
    if expected and len(expected) != len(results):
        raise ArgumentError(
            f"{inputs}: expected {len(results)} outputs (out0..), got {len(expected)}"
        )
    if not expected and not check:
        for number, (result, spec) in enumerate(zip(results, signature.outputs, strict=False)):
            print(f"out{number}: {spec.dtype} {'x'.join(map(str, result.shape)) or 'scalar'}")
        return 0
    outcomes, against = _compare(executable, arrays, results, expected)
    print(f"{file}: compared with {against}")
    rules = _approximations(executable)
    for rule in rules:
        print(f"{file}: {rule}")
    if rules:
        outcomes = checking.measured(outcomes)
    for outcome in outcomes:
        console.verdict(str(outcome), outcome.ok)
    return 0 if all(outcome.ok for outcome in outcomes) else 1


def _approximations(executable: Any) -> list[str]:
    """What was approximated on request, in the words of the certificates."""
    from ..explain.render import approximations

    kernels = executable.explain(json=True).get("kernels", [])
    return list(dict.fromkeys(rule for kernel in kernels for rule in approximations(kernel)))


def _compare(executable: Any, arrays: list, results: list, expected: list) -> tuple[list, str]:
    from .. import check as checking
    from ..reference import Reference

    made: list[Any] = []

    def reference(*values: Any) -> list:
        if not made:
            made.append(Reference(executable.source, executable.signature.name))
        return made[0](*values)

    def movement() -> list[float]:
        try:
            return checking.movement(reference, arrays, executable.signature)
        except Error:  # a program without an fp64 form keeps its type's tolerance
            return [0.0] * len(results)

    against = "the expected outputs given" if expected else "fp64 of the unfused program"
    if not expected:
        with console.progress("running the unfused program in fp64"):
            expected = reference(*arrays)
    return checking.compare(results, expected, executable.signature, movement), against


def _save_npz(path: Path, results: list) -> None:
    import io

    import numpy

    from ..store import files

    held = {}
    for number, result in enumerate(results):
        wide = result.dtype.name == "bfloat16"  # .npz knows no bf16
        held[f"out{number}"] = result.astype(numpy.float32) if wide else result
    buffer = io.BytesIO()
    numpy.savez(buffer, **held)
    files.write(str(path), buffer.getvalue())


def explain(
    file: File,
    json: Annotated[
        bool, typer.Option("--json", help="The object of docs/user/explain.md.")
    ] = False,
    merges: Annotated[
        bool, typer.Option("--merges", help="Only how partial results merge.")
    ] = False,
    tex: Annotated[bool, typer.Option("--tex", help="The merges, in LaTeX.")] = False,
    html: Annotated[
        bool,
        typer.Option("--html", help="A page: the graph of kernels, their times, and all else."),
    ] = False,
    candidates: Annotated[
        int,
        typer.Option(help="For an NVIDIA GPU: at most so many other plans, by predicted time."),
    ] = 0,
    target: Target = "auto",
    entry: Entry = None,
    option: Settings = None,
) -> None:
    """Show what was fused and how, and for what was not, why and where."""
    from ..errors import at_least

    at_least("--candidates", candidates, 0)
    if json + merges + tex + html > 1:
        raise ArgumentError("expected one of --json, --merges, --tex and --html")
    if candidates and (merges or tex):
        raise ArgumentError("--candidates is for the text, --json and --html")
    executable = _load(file, target, _options(entry, False, option))
    if candidates:
        _explain_candidates(executable, candidates, json, html)
    elif json:
        print(json_module.dumps(executable.explain(json=True), indent=2))
    elif tex or html:
        print(executable.explain(tex=tex, html=html))
    elif merges:
        from ..explain.render import render_merges

        print(render_merges(executable.explain(json=True)))
    else:
        print(executable.explain())


def _explain_candidates(executable: Any, limit: int, json: bool, html: bool) -> None:
    from ..explain.candidates import candidate_lines
    from ..explain.page import page

    found = executable.candidates(limit)
    explanation = executable.explain(json=True)
    explanation["candidates"] = [one.as_dict() for one in found]
    if json:
        print(json_module.dumps(explanation, indent=2))
    elif html:
        print(page(explanation, executable.signature.name, executable.target))
    else:
        print(executable.explain())
        print("\n".join(["", *candidate_lines(found)]))


def profile(
    file: File,
    inputs: Annotated[
        Path | None, typer.Option(help="An .npz with in0, ...; by default random inputs.")
    ] = None,
    target: Target = "cuda",
    repeats: Annotated[int, typer.Option(help="How many calls are timed.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="The profile as JSON.")] = False,
    html: Annotated[
        bool, typer.Option("--html", help="The page of `explain --html`, with measured times.")
    ] = False,
    entry: Entry = None,
    option: Settings = None,
) -> None:
    """Time each kernel of a program on the GPU, beside what it must move."""
    from ..compiler import resolve_target
    from ..errors import at_least
    from ..runtime import tensors
    from .demo import inputs_of

    if json and html:
        raise ArgumentError("expected one of --json and --html")
    options = _options(entry, False, option)
    at_least("--repeats", repeats, 1)
    torch: Any = None  # of a program for the cpu the profile says what is wrong
    if target in ("cuda", "rocm") or resolve_target(target) != "cpu":
        torch = tensors.need_gpu(f"profiling a program for {target}")
    executable = _load(file, target, options)
    arrays = inputs_of(inputs, executable.signature)
    if torch is not None:
        arrays = [tensors.to_gpu(array) for array in arrays]
    found = executable.profile(*arrays, repeats=repeats)
    if json:
        print(json_module.dumps(found.as_dict(), indent=2))
        return
    if html:
        from ..explain.page import page
        from ..profiling import by_kernel

        explanation = executable.explain(json=True)
        measured = by_kernel(found, explanation["kernels"])
        print(page(explanation, executable.signature.name, executable.target, measured))
        return
    print(found)
    print(f"on {torch.cuda.get_device_name()}")


def calibrate(
    json: Annotated[bool, typer.Option("--json", help="The rates as JSON.")] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Go back to the table's rates, and measure nothing.")
    ] = False,
) -> None:
    """Measure what this machine's GPU reaches, for predicted times: some seconds."""
    from ..compiler import resolve_target
    from ..targets import calibrating, gputargets, rates

    if forget:
        device = gputargets.first_device(resolve_target("cuda"), "NVIDIA's driver")["name"]
        print(f"{device}: {'forgotten' if rates.forget(device) else 'nothing was stored'}")
        return
    with console.progress("measuring"):
        found = calibrating.calibrate()
    print(json_module.dumps(found.as_dict(), indent=2) if json else found)


def verify(
    file: File,
    json: Annotated[bool, typer.Option("--json", help="The report as JSON.")] = False,
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Check derivations only, and run nothing.")
    ] = False,
    seconds: Annotated[float, typer.Option(help="About how long it may take.")] = 20.0,
    entry: Entry = None,
    option: Settings = None,
) -> int:
    """Check every derivation, and the results on awkward data; exit with 1 if a check fails."""
    from ..verification import report as reports
    from ..verification import verify as verify_program

    options = _options(entry, False, option)
    with console.progress(f"verifying {file}"):
        report = verify_program(file, options=options, run=not no_run, seconds=seconds)
    if json:
        print(json_module.dumps(report.as_json(), indent=2))
    else:
        reports.print_table(report)
    return 0 if report.ok else 1


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="WORKLOAD or WORKLOAD/CASE (* for any text); none: the default set."),
    ] = None,
    target: Target = "auto",
    peers: Annotated[
        bool, typer.Option("--peers", help="Time PyTorch beside it, in turn.")
    ] = False,
    unfused: Annotated[
        bool, typer.Option("--unfused", help="Time the unfused program too.")
    ] = False,
    json: Annotated[Path | None, typer.Option(help="Write all rows here.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the cases and stop.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="On a GPU: draw the shares of the floor, SVG or PNG.")
    ] = None,
    dtype: Annotated[
        str,
        typer.Option(
            help="Element type where a case may choose: f32, f16, bf16 (f32; on a GPU bf16)."
        ),
    ] = "",
    seconds: Annotated[
        float, typer.Option(help="Time limit of a case, after its first rounds.")
    ] = 10.0,
    rounds: Annotated[int, typer.Option(help="Rounds at most.")] = 30,
    threads: Annotated[int, typer.Option(help="Threads of all implementations; 0: all cores.")] = 0,
    limit: Annotated[
        float, typer.Option(help="On a GPU: seconds after which no further case is started.")
    ] = 0.0,
    peer: Annotated[
        list[str] | None,
        typer.Option(help="On a GPU: this peer only (cudnn, flex, compile, ...); may be repeated."),
    ] = None,
    peer_seconds: Annotated[
        float, typer.Option(help="On a GPU: how long a peer may take to be ready; 0: for ever.")
    ] = 120.0,
    warm: Annotated[
        int,
        typer.Option(
            help="On a GPU: compile peers in that many processes before anything is timed."
        ),
    ] = 0,
    option: Settings = None,
) -> int:
    """Time the workloads: median, min and max, rates, error against fp64, and PyTorch beside it."""
    from ..bench import cases, report
    from ..bench.runner import Settings as RunnerSettings
    from ..compiler import resolve_target
    from ..errors import at_least, one_of

    for name, number in {
        "--seconds": seconds, "--limit": limit, "--peer-seconds": peer_seconds, "--warm": warm,
        "--rounds": rounds, "--threads": threads,
    }.items():  # fmt: skip
        at_least(name, number, 0)
    for path in filter(None, (json, plot)):
        if not path.absolute().parent.is_dir():  # found out before hours of measuring
            raise ArgumentError(f"cannot write {path}: its folder does not exist")
    target = target if list_ else resolve_target(target)
    on_gpu = target.startswith("cuda")
    if target.startswith("rocm") and not list_:
        raise ArgumentError(f"--target {target}: expected cpu or cuda; AMD GPUs are not timed")
    dtype = dtype or ("bf16" if on_gpu else "f32")
    if dtype not in cases.BYTES:
        raise ArgumentError("--dtype: " + one_of("element type", dtype, cases.BYTES))
    default = cases.GPU_DEFAULT if on_gpu else cases.CPU_DEFAULT
    chosen = (
        cases.select(names or [], dtype, default)
        if names or not list_
        else list(cases.all_cases(dtype).values())
    )
    if list_:
        for case in chosen:
            print(case.full_name)
        return 0
    settings = RunnerSettings(
        target=target,
        seconds=min(seconds, 1.0) if on_gpu else seconds,
        rounds=max(3, rounds),
        threads=threads,
        peers=peers,
        unfused=unfused,
        limit=limit,
        peer_names=_peer_names(peers, peer or []) if on_gpu else (),
        peer_seconds=peer_seconds,
        warm=warm,
        options=_given_options(option),
    )
    if on_gpu:
        return report.run_gpu(chosen, settings, json, plot)
    if plot is not None or limit or peer or warm:
        raise ArgumentError("--plot, --limit, --peer and --warm are for --target cuda")
    return report.run(chosen, settings, json)


def _peer_names(peers: bool, chosen: list[str]) -> tuple[str, ...]:
    from ..bench.gpu_peers import PEERS
    from ..errors import one_of

    for name in chosen:
        if name not in PEERS:
            raise ArgumentError("--peer: " + one_of("peer", name, PEERS))
    return tuple(chosen) or (PEERS if peers else ())


def _given_options(assignments: list[str] | None) -> dict:
    import dataclasses

    from ..options import Options

    chosen, default = Options.from_assignments(assignments or []), Options()
    names = [field.name for field in dataclasses.fields(Options)]
    return {n: getattr(chosen, n) for n in names if getattr(chosen, n) != getattr(default, n)}


def targets() -> None:
    """List what this build compiles for."""
    from ..compiler import available_targets

    for name, line in available_targets().items():
        print(f"{name}: {line}")


def demo(
    file: File,
    inputs: Annotated[
        Path | None, typer.Option(help="An .npz with in0, ...; by default random inputs.")
    ] = None,
    target: Target = "auto",
    entry: Entry = None,
    option: Settings = None,
) -> int:
    """Compile, explain, run, check and time one program: the tour."""
    from .demo import show

    return show(file, inputs, target, _options(entry, False, option))


def cache_list() -> None:
    """List the cached programs, the latest used first."""
    import time

    from ..store import bundle, cache, files

    found = cache.entries()
    for entry in found:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        print(f"{entry.key[:12]}  {entry.nbytes:>10}  {when}  {bundle.describe(entry.path)}")
    total = sum(entry.nbytes for entry in found)
    print(f"{len(found)} programs, {total} bytes in {files.cache_folder()}")


def cache_clear() -> None:
    """Remove all cached programs."""
    from ..store import cache, files

    print(f"{cache.clear()} programs removed from {files.cache_folder()}")
