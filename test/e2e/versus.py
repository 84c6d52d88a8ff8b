"""Two builds side by side: ``tools/dev versus OTHER [WORKLOAD ...]``.

Each build runs in a process of its own; they take turns, round after round, on the same cases of
``redfuse bench``, so that a slow minute hits both. A ratio over 1: this build is the faster one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()


def parser() -> argparse.ArgumentParser:
    """What may be asked for."""
    made = argparse.ArgumentParser(prog="tools/dev versus", description=__doc__.split("\n")[0])
    add = made.add_argument
    add("other", type=Path, help="another checkout that is built, or a folder with the package")
    add("names", nargs="*", metavar="WORKLOAD", help="as of redfuse bench; none: its default set")
    add("--target", default="cpu", help="cpu, or cuda on a machine with a GPU")
    add("--dtype", default="", help="where a case may choose (f32; on a GPU bf16)")
    add("--rounds", type=int, default=15, help="of both builds in turn (15)")
    add("--seconds", type=float, default=20.0, help="of a case at most, after three rounds (20)")
    add("--limit", type=float, default=0.0, help="begin no case after so many seconds (0: none)")
    add("--least", type=float, default=0.98, help="geometric mean that is good enough (0.98)")
    add("--json", type=Path, help="write all rows here")
    return made


# ---- one build ----------------------------------------------------------------------------------


def serve(target: str) -> int:
    """Answers lines of JSON: a case is made ready, a sample is its time in ms."""
    contender: Any = None
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if "case" in asked:
                contender = None
                contender = ready(asked["case"], asked["dtype"], target)
                answer: dict = {"compile_s": contender[1]}
            else:
                answer = {"ms": contender[0]()}
        except Exception as error:  # of any kind: the parent's row says so
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), flush=True)
    return 0


def ready(name: str, dtype: str, target: str) -> tuple[Any, float]:
    """A function that gives the ms of a call of the case, and the seconds of its compilation."""
    from redfuse.bench import cases
    from redfuse.bench.runner import Settings

    [case] = cases.select([name], dtype)
    settings = Settings(target=target)
    return on_gpu(case, settings) if target.startswith("cuda") else on_cpu(case, settings)


def on_cpu(case: Any, settings: Any) -> tuple[Any, float]:
    """Calls into memory that is there already, as many as take 2 ms."""
    import redfuse
    from redfuse.runtime.arrays import empty_numpy

    inputs = case.inputs(settings.seed)
    exe = redfuse.compile(case.program(), target="cpu", options={"cache": False})
    out = [empty_numpy(spec.shape, spec.dtype) for spec in exe.signature.outputs]
    exe(*inputs, out=out)

    def run(times: int) -> float:
        start = time.perf_counter()
        for _ in range(times):
            exe(*inputs, out=out)
        return (time.perf_counter() - start) * 1e3 / times

    inner = max(1, min(10000, math.ceil(2 / max(run(1), 1e-4))))
    return lambda: run(inner), exe.compile_seconds


def on_gpu(case: Any, settings: Any) -> tuple[Any, float]:
    """As ``redfuse bench`` times: by events or a graph, the L2 cache cold."""
    from redfuse.bench import gpu, gpu_peers
    from redfuse.bench.gpu_timing import Timer, sets_of

    # Other builds may have it elsewhere.
    draw = gpu_peers.inputs if hasattr(gpu_peers, "inputs") else gpu._inputs

    rows: list[Any] = []

    def row(name: str, **fields: Any) -> Any:
        from redfuse.bench.runner import Row

        rows.append(Row(case.workload, case.name, name, case.dtype, **fields))
        return rows[-1]

    made = list(gpu._redfuse(case, sets_of(draw(case, settings.seed)), settings, row))
    if not made:
        raise RuntimeError(rows[-1].note)
    return Timer(made[0].calls).sample, rows[0].compile_s


# ---- both ---------------------------------------------------------------------------------------


class Build:
    """A process that imports the package below ``folder``."""

    def __init__(self, folder: Path, target: str) -> None:
        paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.process = subprocess.Popen(
            [sys.executable, str(HERE), "--serve", target],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, **what: Any) -> dict:
        """The answer, or why there is none."""
        assert self.process.stdin and self.process.stdout
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process has ended"}


def package_below(place: Path) -> Path:
    """The folder to import from: of a checkout, its build."""
    for folder in (place / "build" / "dev" / "python", place):
        if (folder / "redfuse" / "__init__.py").exists():
            return folder.resolve()
    sys.exit(f"tools/dev versus: {place} has no built redfuse: run tools/dev build there")


def compare(name: str, dtype: str, builds: list[Build], given: argparse.Namespace) -> dict:
    """The row of a case: median ms of the other build and of this one."""
    row: dict[str, Any] = {"case": name}
    for build in builds:
        answer = build.ask(case=name, dtype=dtype)
        if "error" in answer:
            return {**row, "note": answer["error"]}
    samples: list[list[float]] = [[], []]
    start = time.monotonic()
    for number in range(given.rounds):
        for which in (0, 1) if number % 2 else (1, 0):
            answer = builds[which].ask(sample=True)
            if "error" in answer:
                return {**row, "note": answer["error"]}
            samples[which].append(answer["ms"])
        if number >= 2 and time.monotonic() - start > given.seconds:
            break
    other, own = (statistics.median(s) for s in samples)
    return {**row, "other_ms": other, "ms": own, "ratio": other / own}


def main() -> int:
    """0 unless this build is slower on the whole."""
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2])
    given = parser().parse_intermixed_args()
    from redfuse.bench import cases

    on_gpu = given.target.startswith("cuda")
    dtype = given.dtype or ("bf16" if on_gpu else "f32")
    chosen = cases.select(given.names, dtype, cases.GPU_DEFAULT if on_gpu else cases.CPU_DEFAULT)
    own = Path(sys.modules["redfuse"].__file__ or "").parent.parent
    builds = [Build(folder, given.target) for folder in (package_below(given.other), own)]
    rows = []
    start = time.monotonic()
    print(f"{'case':44} {'other ms':>10} {'ms':>10} {'ratio':>7}")
    for case in chosen:
        if given.limit and time.monotonic() - start > given.limit:
            print(f"{given.limit:g} s are over before {case.full_name}")
            break
        row = compare(case.full_name, dtype, builds, given)
        rows.append(row)
        numbers = "{other_ms:10.4f} {ms:10.4f} {ratio:7.3f}" if "ratio" in row else "{note}"
        print(f"{case.full_name:44} {numbers.format(**row)}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if not ratios:
        return 1
    mean = statistics.geometric_mean(ratios)
    failed = len(rows) - len(ratios)
    print(f"{len(ratios)} cases: {mean:.3f} of the other build in geometric mean, least "
          f"{min(ratios):.3f}; {failed} without an answer")  # fmt: skip
    return 0 if mean >= given.least and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
