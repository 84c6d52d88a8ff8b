"""Runs the corpus on a GPU against the fp64 references, outputs poisoned: `python test/hardware/corpus.py`.

Not collected by pytest: it needs a GPU and torch. One line a program and schedule; exit status 1 if
one fails.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from pathlib import Path

import cli
import numpy as np

CORPUS = Path(__file__).parent.parent / "e2e" / "corpus"
SCHEDULES = ("auto", "stream", "resident", "split")
# After these the GPU's context is of no use any more.
LOST = ("illegal", "misaligned", "unspecified", "launch timed out", "hardware stack")


def to_gpu(value: np.ndarray):
    """A copy on the GPU; bf16 by its bits."""
    import torch

    if value.dtype.name == "bfloat16":
        return torch.from_numpy(value.view(np.int16).copy()).cuda().view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(value)).cuda()


def poison(tensor):
    """Every element set to what no program should leave: NaN, or a large negative number."""
    import torch

    if tensor.is_floating_point():
        return tensor.fill_(float("nan"))
    return tensor.fill_(True) if tensor.dtype == torch.bool else tensor.fill_(-77)


def run(name: str, target: str, schedule: str) -> list:
    """Compiles and runs one program three times; the last result is compared."""
    import redfuse
    import torch
    from redfuse import check
    from redfuse.reference import Reference

    path = CORPUS / f"{name}.mlir"
    inputs, expected = check.load_npz(str(path.with_suffix(".npz")))
    exe = redfuse.compile(path, target=target, options={"schedule": schedule})
    arrays = check.cast_inputs(inputs, exe.signature)
    tensors = [
        value if spec.scalar else to_gpu(np.asarray(value))
        for value, spec in zip(arrays, exe.signature.inputs, strict=True)
    ]
    results = exe(*tensors)
    results = list(results) if isinstance(results, tuple) else [results]
    first = [result.clone() for result in results]
    for _ in range(2):
        exe(*tensors, out=[poison(result) for result in results])
    torch.cuda.synchronize()
    for one, other in zip(first, results, strict=True):
        if not torch.equal(one.nan_to_num(), other.nan_to_num()):
            raise AssertionError("results differ between two runs")
    host = [result.cpu() for result in results]
    reference = Reference(path)
    return check.compare(
        host, expected, exe.signature, lambda: check.movement(reference, arrays, exe.signature)
    )


def trial(name: str, target: str, schedule: str) -> dict:
    """One line of the report: whether it is right, and in what words."""
    import redfuse

    start = time.perf_counter()
    try:
        outcomes = run(name, target, schedule)
        good = all(outcome.ok for outcome in outcomes)
        text = "; ".join(map(str, outcomes))
    except Exception as error:
        good, text = False, f"{type(error).__name__}: {str(error)[:300]}"
        if not isinstance(error, redfuse.Error):
            text += " " + traceback.format_exc(limit=-2).replace("\n", " | ")[-300:]
    return {"ok": good, "text": text, "seconds": time.perf_counter() - start}


def work() -> None:
    """A process that answers a line of JSON for each it reads."""
    out = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        task = json.loads(line)
        answer = {**task, **trial(task["name"], task["target"], task["schedule"])}
        out.write(json.dumps(answer) + "\n")
        out.flush()
        if not answer["ok"] and any(word in answer["text"] for word in LOST):
            return  # the pool starts another process


def main() -> int:
    """The command line."""
    parser = cli.parser(__doc__)
    parser.add_argument("names", nargs="*")
    cli.add_target(parser)
    parser.add_argument("--schedules", default=",".join(SCHEDULES))
    parser.add_argument("--jobs", type=int, default=1, help="processes; 1: in this one")
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in CORPUS.glob("*.mlir"))
    tasks = [
        {"id": f"{schedule} {name}", "name": name, "schedule": schedule, "target": options.target}
        for schedule in options.schedules.split(",")
        for name in names
    ]
    failures = 0
    for answer in answers(tasks, options.jobs):
        good = answer.get("ok", False)
        # The pool's own words for a process that died or hangs.
        text = answer.get("text") or " ".join(
            str(answer.get(part, "")) for part in ("kind", "where", "detail")
        )
        failures += not good
        seconds = answer.get("seconds", 0.0)
        print(f"{'ok  ' if good else 'FAIL'} {answer['id']} {seconds:.1f}s {text}", flush=True)
    print(f"{failures} failed of {len(tasks)}: {len(names)} programs, {options.schedules}")
    return 1 if failures else 0


def answers(tasks: list[dict], jobs: int):
    """Of all tasks, as they come."""
    if jobs > 1:
        sys.path.insert(0, str(Path(__file__).parent.parent / "fuzz"))
        from pool import run as run_pool

        yield from run_pool(tasks, jobs, Path(__file__))
        return
    for task in tasks:
        answer = trial(task["name"], task["target"], task["schedule"])
        yield {**task, **answer}
        if not answer["ok"] and any(word in answer["text"] for word in LOST):
            print("the GPU's context is lost; stopping", flush=True)
            return


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        work()
    else:
        sys.exit(main())
