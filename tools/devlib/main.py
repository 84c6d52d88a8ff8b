"""The commands of tools/dev."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from . import checks, docs, gpu, passes, same, sanitize
from .build import build
from .setup import Venv, ensure_supported_python, install_cpu_torch, install_extra, setup
from .shell import BUILD, ROOT, DevError, alone, call, say
from .wheel import wheel


def ready(arguments: list[str], *, joined: bool = True) -> Venv:
    """Everything set up and built (``joined``: as `build` says, of a build from scratch)."""
    venv = Venv()
    if venv.owned:
        ensure_supported_python(arguments)
    with alone():
        setup(venv)
        build(venv, joined=joined)
    return venv


def environment(venv: Venv) -> dict[str, str]:
    """For children: the build tree is what `import redfuse` and `redfuse-opt` find."""
    env = dict(os.environ)
    paths = [str(BUILD / "python"), *filter(None, [env.get("PYTHONPATH")])]
    env["PYTHONPATH"] = os.pathsep.join(paths)
    env["PATH"] = os.pathsep.join([str(BUILD / "bin"), str(venv.path / "bin"), env["PATH"]])
    env["VIRTUAL_ENV"] = str(venv.path)
    return env


def command_setup(arguments: list[str]) -> int:
    ready(["setup", *arguments])
    say(f"ready: {Venv().path / 'bin' / 'redfuse'}, or `source {Venv().path}/bin/activate`")
    return 0


def command_build(arguments: list[str]) -> int:
    """--separate begins anew, each file compiled alone: for who edits C++ all day."""
    if strays := [a for a in arguments if a != "--separate"]:
        raise DevError(f"build takes --separate alone, got {strays[0]}")
    separate = "--separate" in arguments
    if separate:
        shutil.rmtree(BUILD, ignore_errors=True)
    ready(["build", *arguments], joined=not separate)
    return 0


def command_run(arguments: list[str]) -> int:
    """Sets up and runs `redfuse demo FILE`."""
    if not arguments:
        raise DevError("which program? Try: tools/dev run examples/attention.mlir")
    ready(["run", *arguments])
    redfuse = str(BUILD / "bin" / "redfuse")
    os.execv(redfuse, [redfuse, "demo", *arguments])


def command_bench(arguments: list[str]) -> int:
    """Sets up and runs `redfuse bench`."""
    ready(["bench", *arguments])
    redfuse = str(BUILD / "bin" / "redfuse")
    os.execv(redfuse, [redfuse, "bench", *arguments])


# Tests that need PyTorch.
TORCH_FOLDERS = ("python/distributed", "operators", "pytorch")


def absolute(arguments: list[str]) -> list[str]:
    """Arguments that name files from here, as the tests run in the repository's root."""
    return [str(Path(a).absolute()) if Path(a).exists() else a for a in arguments]


def run_lit(venv: Venv, arguments: list[str]) -> int:
    arguments = absolute(arguments)
    if not any(Path(a).exists() for a in arguments):
        arguments = [*arguments, str(ROOT / "test")]
    # Not the script in bin/: a venv that was moved has scripts that point to its old place.
    code = "from lit.main import main; main()"
    return call([venv.python, "-c", code, "-v", *arguments], env=environment(venv))


def run_pytest(venv: Venv, arguments: list[str], workers: int = 1) -> int:
    """Tests share nothing but the build: each process has a cache of its own (test/conftest.py)."""
    several = workers > 1 and (venv.site / "xdist").is_dir()
    spread = ["-n", str(workers), "--dist", "worksteal"] if several else []
    # glibc overwrites what is freed: what is used afterwards shows.
    words = {"MALLOC_PERTURB_": "165", **environment(venv)}
    return call([venv.python, "-m", "pytest", *spread, *absolute(arguments)], env=words)


def available_workers() -> int:
    return min(8, len(os.sched_getaffinity(0)))


def run_torch_sample(venv: Venv) -> int:
    """What of the tests with PyTorch is in CI: programs over several processes, a sample of its
    operations, and one of eleven of the others."""
    if not install_cpu_torch(venv):
        say("no PyTorch for CPUs among pip's indexes: its tests are left out (test --torch)")
        return 0
    os.environ["REDFUSE_TEST_TORCH"] = "11"
    folders = [str(ROOT / "test" / name) for name in TORCH_FOLDERS]
    return run_pytest(venv, folders, workers=available_workers())


def run_rocm(venv: Venv, arguments: list[str]) -> int:
    install_extra(venv, "rocm")
    tests = arguments or [
        str(ROOT / "test" / "rocm"),
        str(ROOT / "test" / "simulators" / "test_waves.py"),
    ]
    return run_pytest(venv, tests, workers=available_workers())


def command_test(arguments: list[str]) -> int:
    """lit and pytest; `test lit ...` or `test pytest ...` runs one with arguments of its own."""
    venv = ready(["test", *arguments])
    if "--all" in arguments:
        os.environ["REDFUSE_TEST_ALL"] = "1"
        arguments = [a for a in arguments if a != "--all"]
    kind, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if kind == "lit":
        return run_lit(venv, rest)
    if kind == "pytest":
        return run_pytest(venv, rest)
    if kind == "--torch":
        install_extra(venv, "torch")
        install_extra(venv, "models")
        return run_pytest(venv, rest or [str(ROOT / "test" / name) for name in TORCH_FOLDERS])
    if kind == "--rocm":
        return run_rocm(venv, rest)
    if kind == "--sanitize":
        return sanitize.test(venv, absolute(rest), available_workers())
    if strays := [a for a in arguments if a.startswith("-")]:
        raise DevError(
            f"{strays[0]} is for lit or for pytest? Say `tools/dev test lit {strays[0]}` "
            f"or `tools/dev test pytest {strays[0]}`"
        )
    python = [
        a
        for a in arguments
        if re.search(r"\.py(::|$)|test/(python|e2e|pytorch|operators|rocm)\b", a)
    ]
    mlir = [a for a in arguments if a not in python]
    codes = []
    if mlir or not arguments:
        codes.append(run_lit(venv, mlir))
    if python or not arguments:
        codes.append(run_pytest(venv, python, available_workers() if not python else 1))
    return max(codes)


def command_lint(arguments: list[str]) -> int:
    """ruff, clang-format, file lengths, machine paths, links of pages. --fix formats."""
    venv = Venv()
    if venv.owned:
        ensure_supported_python(["lint", *arguments])
    with alone():
        setup(venv)
    return checks.lint(venv, fix="--fix" in arguments)


def command_docs(arguments: list[str]) -> int:
    """Writes the pages of docs/generated that are made from the .td files, and what commands print
    into docs/generated/merges.md and docs/design/walkthrough.md (if it is built); --check compares
    only."""
    venv = Venv()
    if venv.owned:
        ensure_supported_python(["docs", *arguments])
    with alone():
        setup(venv)
    return docs.docs(venv, check="--check" in arguments)


def command_pass(arguments: list[str]) -> int:
    """Where passes are: declaration, file, docs, tests."""
    return passes.show(arguments)


def command_fuzz(arguments: list[str]) -> int:
    """Random programs; what fails is minimised and saved in build/fuzz."""
    venv = ready(["fuzz", *arguments])
    env = environment(venv)
    if "--sanitize" in arguments:
        arguments = [a for a in arguments if a != "--sanitize"]
        env = sanitize.prepare(venv)
    script = ROOT / "test" / "fuzz" / "main.py"
    return call([venv.python, script, *arguments], env=env)


def command_programs(arguments: list[str]) -> int:
    """Compiles programs, our own or a folder's, for all targets, and prints how each fared."""
    venv = ready(["programs", *arguments])
    if "--suite" in arguments and not {"-h", "--help"} & set(arguments):
        install_extra(venv, "torch")
    install_extra(venv, "rocm")
    script = ROOT / "test" / "programs" / "compile_all.py"
    return call([venv.python, script, *absolute(arguments)], env=environment(venv))


def command_scoreboard(arguments: list[str]) -> int:
    """A folder's PyTorch programs: redfuse beside eager and torch.compile, a table."""
    venv = ready(["scoreboard", *arguments])
    install_extra(venv, "torch")
    script = ROOT / "test" / "programs" / "scoreboard.py"
    return call([venv.python, script, *absolute(arguments)], env=environment(venv))


def command_backend(arguments: list[str]) -> int:
    """Models through torch.compile on the CPU, by redfuse and by Inductor; a line each."""
    venv = ready(["backend", *arguments])
    install_extra(venv, "torch")
    install_extra(venv, "models")
    script = ROOT / "test" / "hardware" / "backend.py"
    record = BUILD.parent / "backend.jsonl"
    given = ["--device", "cpu", "--out", str(record), *absolute(arguments)]
    return call([venv.python, "-W", "ignore", script, *given], env=environment(venv))


def command_models(arguments: list[str]) -> int:
    """Whole models of PyTorch, small and with random weights, against fp64; a table."""
    venv = ready(["models", *arguments])
    install_extra(venv, "torch")
    install_extra(venv, "models")
    script = ROOT / "test" / "programs" / "run_models.py"
    return call([venv.python, "-W", "ignore", script, *absolute(arguments)], env=environment(venv))


def _operators(name: str, script: str, arguments: list[str]) -> int:
    venv = ready([name, *arguments])
    install_extra(venv, "torch")
    path = ROOT / "test" / "operators" / script
    return call([venv.python, "-W", "ignore", path, *absolute(arguments)], env=environment(venv))


def command_opinfo(arguments: list[str]) -> int:
    """PyTorch's samples of all its operations, against fp64; a table."""
    return _operators("opinfo", "opinfo.py", arguments)


def command_torch_mlir(arguments: list[str]) -> int:
    """The end-to-end cases of a clone of torch-mlir; a table."""
    return _operators("torch-mlir", "torch_mlir_cases.py", arguments)


def command_foreign(arguments: list[str]) -> int:
    """Other projects' programs: none may crash or hang the compiler."""
    venv = ready(["foreign", *arguments])
    script = ROOT / "test" / "fuzz" / "foreign.py"
    return call([venv.python, script, *absolute(arguments)], env=environment(venv))


def command_verify(arguments: list[str]) -> int:
    """The corpus and the examples, or some files: derivations and results."""
    venv = ready(["verify", *arguments])
    script = ROOT / "test" / "e2e" / "verified.py"
    return call([venv.python, script, *absolute(arguments)], env=environment(venv))


def command_versus(arguments: list[str]) -> int:
    """Another build and this one, timed in turn on the cases of `redfuse bench`."""
    venv = ready(["versus", *arguments])
    script = ROOT / "test" / "e2e" / "versus.py"
    return call([venv.python, script, *absolute(arguments)], env=environment(venv))


def command_growth(arguments: list[str]) -> int:
    """Programs of 10, 100, 1000 operations: how compile time grows."""
    venv = ready(["growth", *arguments])
    script = ROOT / "test" / "e2e" / "growth.py"
    return call([venv.python, script, *arguments], env=environment(venv))


def command_same(arguments: list[str]) -> int:
    """Another commit's build and this one: whether they make the same code."""
    if not arguments or arguments[0].startswith("-"):
        raise DevError("the same as which commit? Try: tools/dev same HEAD~1")
    venv = ready(["same", *arguments])
    other = same.build_of(arguments[0], venv)
    script = ROOT / "test" / "e2e" / "same.py"
    builds = ["--other", other, "--own", BUILD / "python"]
    command = [venv.python, script, *builds, *absolute(arguments[1:])]
    return call(command, env=environment(venv))


def command_gpu(arguments: list[str]) -> int:
    """Packs the compiler and its tests for a machine with a GPU, or runs them."""
    venv = ready(["gpu", *arguments])
    return gpu.gpu(venv, arguments, environment(venv))


def command_ci(arguments: list[str]) -> int:
    """Set-up, build, lint, docs and tests, of those with many parameters fewer than `test` runs;
    --clean removes .venv and build/dev first."""
    os.environ.setdefault("REDFUSE_TEST_FEWER", "4")
    if "--clean" in arguments:
        shutil.rmtree(BUILD, ignore_errors=True)
        if Venv().owned:
            shutil.rmtree(Venv().path, ignore_errors=True)
    venv = ready(["ci", *(a for a in arguments if a != "--clean")])
    return checks.ci(
        {
            "lint": lambda: checks.lint(venv, fix=False),
            "docs": lambda: docs.docs(venv, check=True),
            "lit": lambda: run_lit(venv, []),
            "pytest": lambda: run_pytest(venv, [], workers=available_workers()),
            "torch": lambda: run_torch_sample(venv),
        }
    )


COMMANDS: dict[str, tuple[Callable[[list[str]], int], str]] = {
    "setup": (command_setup, "make .venv with the redfuse command in it"),
    "build": (command_build, "[--separate]: bring the C++ build in build/dev up to date"),
    "run": (command_run, "FILE.mlir: what is fused, how exact, how fast (redfuse demo)"),
    "test": (
        command_test,
        "[--all] [lit|pytest|--torch|--rocm|--sanitize] [ARGUMENTS or files]: tests",
    ),
    "lint": (command_lint, "[--fix]: formatting, ruff, file lengths, machine paths, links"),
    "pass": (command_pass, "[FLAG...]: a pass's declaration, file, docs and tests"),
    "docs": (command_docs, "[--check]: pages made from the .td files and of printed output"),
    "bench": (command_bench, "[ARGUMENTS]: redfuse bench"),
    "fuzz": (command_fuzz, "[--host] [--count N] [--jobs J] [--target T]: random programs"),
    "foreign": (command_foreign, "FOLDER: other projects' .mlir files: compiled, refused, why"),
    "verify": (command_verify, "[--jobs J] [FILE...]: redfuse verify of the corpus and examples"),
    "versus": (command_versus, "OTHER [WORKLOAD...]: another build and this one, timed in turn"),
    "scoreboard": (command_scoreboard, "--suite DIR: a folder's programs beside PyTorch"),
    "programs": (command_programs, "[--suite DIR] [--target T,...]: how each compiles, a table"),
    "backend": (command_backend, "[--only NAME,...]: torch.compile beside Inductor on the CPU"),
    "models": (command_models, "[--only NAME,...]: whole PyTorch models on the CPU, a table"),
    "opinfo": (command_opinfo, "[--only NAME,...] [--samples N]: operations against fp64, a table"),
    "torch-mlir": (command_torch_mlir, "FOLDER: the end-to-end cases of a clone, a table"),
    "same": (command_same, "REV [FILE...]: whether that commit's build makes the same code"),
    "growth": (command_growth, "[--sizes N,...] [--target T] [KIND...]: how compile time grows"),
    "gpu": (command_gpu, "[--here] [FOLDER]: pack the GPU tests for a machine without a network"),
    "wheel": (wheel, "[PYTHON]: build a wheel into dist/, install it elsewhere and import it"),
    "ci": (command_ci, "[--clean]: all of the above that CI checks"),
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tools/dev",
        description="Sets up what is missing (.venv, build/dev), then does what is asked.",
        epilog="\n".join(f"  {name:8} {text}" for name, (_, text) in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    if not arguments:
        parser.print_help()
        return 2
    given = parser.parse_args(arguments[:1])
    # A terminated tools/dev takes its compilers with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return COMMANDS[given.command][0](arguments[1:])
    except DevError as error:
        print(f"tools/dev {given.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
