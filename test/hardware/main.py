"""Everything that needs a GPU, in one command: `tools/dev gpu --here`, or `run.sh` of a pack.

What only has to be right runs at the same time (the corpus under every schedule, random cascades,
a few programs under the memory checker); what is timed runs afterwards, alone. Logs, numbers and
plots go to one folder of few files; the end of the output is a table of all steps.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
# One program of each kind: rows, columns, contractions, masks, dynamic dims, top-k, integers.
SANITIZED = ("softmax", "layernorm", "attention_causal", "attention_dynamic", "moe_routing",
             "quant_int8_gemm", "cross_entropy", "multi_consumer")  # fmt: skip

# Kernels for matrix units.
UNITS = ("checked.py", "--repeat", "1")


@dataclasses.dataclass
class Step:
    """A command: its name, its words, whether it may share the GPU, and what became of it."""

    name: str
    command: list[str]
    shared: bool = False
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    process: subprocess.Popen | None = None
    log: Path | None = None
    verdict: str = "not run"
    seconds: float = 0.0

    def start(self, folder: Path) -> None:
        """Starts it, its output in a log."""
        self.log = folder / f"{self.name}.log"
        self.seconds = time.monotonic()
        with self.log.open("w") as file:
            self.process = subprocess.Popen(
                self.command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **self.environment},
                start_new_session=True,
            )  # fmt: skip

    def ended(self, until: float) -> bool:
        """Whether it is over; at the time ``until`` it is, with all its processes."""
        assert self.process is not None
        code = self.process.poll()
        if code is None and time.monotonic() < until:
            return False
        if code is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.verdict = "out of time"
        else:
            self.verdict = "ok" if code == 0 else f"FAILED (exit status {code})"
        self.seconds = time.monotonic() - self.seconds
        return True

    def text(self) -> str:
        """What it wrote."""
        return self.log.read_text(errors="replace") if self.log and self.log.exists() else ""


def make_steps(given: argparse.Namespace, out: Path) -> list[Step]:
    """All of them, in order."""
    python = [sys.executable]
    cores = len(os.sched_getaffinity(0))
    jobs = given.jobs or max(1, min(12, cores // 2))
    steps = [
        Step("corpus", [*python, str(HERE / "corpus.py"), "--jobs", str(jobs)], shared=True),
        Step("calls", [*python, str(HERE / "calls.py")], shared=True),
        Step("commands", [*python, str(HERE / "commands.py")], shared=True),
        Step("twice", [*python, str(HERE / "checked.py"), "--repeat", "300"], shared=True),
        Step(
            "fuzz",
            [
                *python, str(HERE.parent / "fuzz" / "main.py"), "--target", "cuda", "--restart",
                "--count", str(given.fuzz), "--jobs", str(jobs), "--out", str(out / "logs" / "fuzz.json"),
                "--minutes", f"{max(0.5, given.budget * given.checks / 60 - 1.0):.1f}",
                "--keep", "5",
            ],
            shared=True,
        ),
    ]  # fmt: skip
    sanitizer = find_sanitizer()
    if sanitizer:
        # Allocations of their own, so that the checker sees where each array ends.
        environment = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
        for tool in TOOLS:
            # What the kernels that are left out have written counts as never written: copies of
            # that to the host are not to be checked.
            copies = ["--check-api-memory-access", "no"] if tool == "initcheck" else []
            command = [
                sanitizer, "--tool", tool, "--error-exitcode", "9", "--kernel-name", "kns=main", "--kernel-name", "kns=host_",
                "--report-api-errors", "no", *copies, "--print-limit", "20", *python,
            ]  # fmt: skip
            corpus = ["corpus.py", "--schedules", given.sanitize_schedules, *SANITIZED]
            for name, (script, *words) in {tool: corpus, f"{tool}-units": UNITS}.items():
                whole = [*command, str(HERE / script), *words]
                steps.append(Step(name, whole, shared=True, environment=environment))
    steps += [
        Step("latency", [*python, str(HERE / "latency.py"), "--json", str(out / "latency.json")]),
        Step("bandwidth", [*python, str(HERE / "bandwidth.py")]),
        Step(
            "bench",
            [
                *python, "-m", "redfuse.cli", "bench", "--target", "cuda", "--peers",
                "--json", str(out / "bench.json"), "--plot", str(out / "bench.svg"),
                "--limit", "LIMIT", *shlex.split(given.bench),
            ],
        ),
    ]  # fmt: skip
    return steps


def find_sanitizer() -> str | None:
    """compute-sanitizer, on PATH or of a toolkit."""
    found = shutil.which("compute-sanitizer")
    for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        for place in ("bin/compute-sanitizer", "compute-sanitizer/compute-sanitizer"):
            if not found and root and (Path(root) / place).is_file():
                found = str(Path(root) / place)
    return found


def machine() -> dict[str, str]:
    """What the numbers depend on."""
    code = (
        "import redfuse, torch; from redfuse.targets import cuda;"
        "print(redfuse.__version__, '|', torch.__version__, '|', cuda.assembler(), '|',"
        " cuda.machine_text())"
    )
    about = {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "commit": os.environ.get("REDFUSE_COMMIT") or _output("git", "describe", "--always"),
        "gpu": _output("nvidia-smi", "--query-gpu=name,driver_version,memory.total",
                       "--format=csv,noheader"),
        "sanitizer": find_sanitizer() or "none",
        "redfuse | torch | ptxas | machine": _output(sys.executable, "-c", code),
    }  # fmt: skip
    return about


def _output(*command: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, cwd=HERE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (done.stdout or done.stderr).strip()[-2000:]


def collect(steps: Sequence[Step], about: dict[str, str], out: Path) -> None:
    """All logs as one file, and a summary."""
    parts = [f"== {step.name}: {step.verdict}\n{step.text()}" for step in steps if step.log]
    (out / "log.txt").write_text("\n".join(parts))
    record = out / "logs" / "fuzz.json"
    if record.exists():
        shutil.copy(record, out)
    summary = {
        **about,
        "steps": {s.name: {"verdict": s.verdict, "seconds": round(s.seconds, 1)} for s in steps},
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")


def main() -> int:
    """The command line; 0 if every step that was asked for is ok."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Steps: corpus, calls, commands, twice, fuzz, memcheck, racecheck, initcheck, synccheck and "
        "the same with -units (kernels for matrix units), latency, bandwidth, bench; none: all.",
    )
    parser.add_argument("steps", nargs="*")
    parser.add_argument("--out", type=Path, default=Path("build/gpu/results"))
    parser.add_argument("--budget", type=float, default=570, help="seconds in all (570)")
    parser.add_argument("--checks", type=float, default=0.5,
                        help="the share of them that the untimed steps may take (0.5)")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=0, help="processes of a step; 0: by the cores")
    parser.add_argument("--fuzz", type=int, default=2000, help="random cascades at most (2000)")
    parser.add_argument("--sanitize-schedules", default="auto,stream")
    parser.add_argument("--bench", default="", help="arguments of redfuse bench, as one word")
    given = parser.parse_args()
    start = time.monotonic()
    end = start + given.budget
    out = given.out.absolute()
    logs = out / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    every = make_steps(given, out)
    unknown = set(given.steps) - {step.name for step in every}
    if unknown:
        words = ", ".join(sorted(unknown))
        print(f"not run: {words}; there are {', '.join(s.name for s in every)}", file=sys.stderr)
        if unknown - {name for tool in TOOLS for name in (tool, f"{tool}-units")}:
            return 2
    steps = [step for step in every if not given.steps or step.name in given.steps]
    about = machine()
    for name, value in about.items():
        print(f"{name}: {value}", flush=True)
    collect(steps, about, out)

    shared = [step for step in steps if step.shared]
    alone = [step for step in steps if not step.shared]
    until = start + given.budget * given.checks if alone else end
    for group, limit in ((shared, until), *(([step], end) for step in alone)):
        for step in group:
            seconds = max(10.0, end - time.monotonic() - 20)
            step.command = [f"{seconds:.0f}" if word == "LIMIT" else word for word in step.command]
            step.start(logs)
        running = list(group)
        while running:
            time.sleep(0.05)
            for step in [step for step in running if step.ended(limit)]:
                running.remove(step)
                report(step)
                collect(steps, about, out)
    shutil.rmtree(logs, ignore_errors=True)
    print(f"\n{time.monotonic() - start:.0f} s in all; everything that was said: {out}/log.txt")
    for step in steps:
        print(f"  {step.name:10} {step.seconds:6.0f} s  {step.verdict}")
    return 0 if all(step.verdict == "ok" for step in steps) else 1


def report(step: Step) -> None:
    """What matters of a step's output: failures, and its last lines."""
    lines = step.text().splitlines()
    bad = [line for line in lines if line.startswith(("FAIL", "=========")) or "rror:" in line]
    bad = [line for line in bad if line.strip("= ")]
    tail = lines[-40:] if not step.shared else lines[-3:]
    print(f"\n== {step.name}: {step.verdict}, {step.seconds:.0f} s")
    for line in [*(line for line in bad[:30] if line not in tail), *tail]:
        print("  " + line.rpartition("\r")[2][:220], flush=True)


if __name__ == "__main__":
    sys.exit(main())
