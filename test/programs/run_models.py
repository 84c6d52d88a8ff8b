"""Compiles whole models and compares them with fp64: ``tools/dev models`` (``--help``).

Every model is a process of its own, with limits of time and memory. What this build made right
before is not made again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import processes
import redfuse
from redfuse.frontends.results import flatten
from redfuse.store import cache

FOLDER = Path(__file__).resolve().parents[2] / "build" / "models"
# A kernel's sums have an order of their own: as far from the exact result as PyTorch's, and some.
TIMES, UNITS = 4.0, 32 * 2.0**-23
RIGHT, WRONG, REFUSED, FAILED = "right", "wrong", "refused", "failed"


def parser() -> argparse.ArgumentParser:
    """What may be asked for."""
    made = argparse.ArgumentParser(prog="tools/dev models", description=__doc__.split("\n")[0])
    add = made.add_argument
    add("--only", default="", metavar="NAME,...", help="these models")
    add("--import", dest="only_import", action="store_true", help="time the importer: ms a node")
    add("--list", action="store_true", help="their names")
    add("--out", type=Path, default=FOLDER / "record.jsonl", metavar="FILE", help="the record")
    add("--restart", action="store_true", help="forget the record")
    add("--jobs", type=int, default=1, help="processes (1)")
    add("--seconds", type=float, default=300.0, help="for one model (300)")
    add("--memory", type=float, default=12.0, help="GiB of addresses for one model (12)")
    return made


def leaves(results: Any) -> list[Any]:
    """The tensors of what a model returns."""
    return list(flatten(results)[0])


def distance(got: Any, exact: Any) -> float:
    """The largest difference, as a part of the largest element."""
    got, exact = got.double(), exact.double()
    if got.shape != exact.shape:
        return float("inf")
    if not exact.numel():
        return 0.0
    return float((got - exact).abs().max() / exact.abs().max().clamp_min(1e-30))


def exact_results(model: Any, inputs: tuple) -> list[Any] | None:
    """Results in fp64; None where a model insists on f32 somewhere."""
    import copy

    try:
        given = [x.double() if x.is_floating_point() else x for x in inputs]
        return leaves(copy.deepcopy(model).double()(*given))
    except RuntimeError:
        return None


def attempt(job: dict, tell: Callable[[str], None]) -> dict:
    """The fields of a row for ``{"model"}``."""
    import models
    import torch
    from redfuse.frontends import torch as frontend

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    model, inputs = models.MODELS[job["model"]]()
    model = model.eval()
    tell("export")
    start = time.perf_counter()
    try:
        with torch.no_grad():
            source, interface = frontend.export(model, inputs)
            imported = time.perf_counter() - start
            tell("compile")
            start = time.perf_counter()
            exe = redfuse.compile(source, target="cpu", options={"cache": False})
            compiled = time.perf_counter() - start
            exe.interface = interface
            tell("run")
            got = leaves(exe(*inputs))
            eager = leaves(model(*inputs))
            exact = exact_results(model, inputs)
    except redfuse.UnsupportedError as error:
        return {"status": REFUSED, "message": str(error)}
    except redfuse.Error as error:
        return {"status": FAILED, "message": f"{type(error).__name__}: {error}"}
    exact = eager if exact is None else exact
    mine = max(distance(g, e) for g, e in zip(got, exact, strict=True))
    theirs = max(distance(g, e) for g, e in zip(eager, exact, strict=True))
    is_right = len(got) == len(eager) and mine <= TIMES * theirs + UNITS
    return {
        "status": RIGHT if is_right else WRONG,
        "import_s": round(imported, 2), "compile_s": round(compiled, 2),
        "kernels": len(exe.explanation["kernels"]), "refusals": len(exe.explanation["refused"]),
        "error": mine, "eager_error": theirs,
    }  # fmt: skip


def time_import(job: dict, tell: Callable[[str], None]) -> dict:
    """Nodes of a model's graph, and what its import takes of a CPU: first, with PyTorch's rules to
    be traced, and again, as equal layers and other models of the process have it."""
    import models
    import torch
    from redfuse.frontends import torch as frontend
    from redfuse.frontends.fx.program import import_program

    warnings.simplefilter("ignore")
    model, inputs = models.MODELS[job["model"]]()
    with torch.no_grad():
        tell("export")
        flat = frontend._Flat(model.eval(), keeps=False)
        exported = torch.export.export(flat.module, inputs)
        tell("import")
        seconds = []
        for _ in range(2):
            start = time.process_time()
            import_program(exported)
            seconds.append(time.process_time() - start)
    return {"nodes": len(exported.graph.nodes), "first_s": seconds[0], "again_s": seconds[1]}


def show_imports(names: list[str], given: argparse.Namespace) -> int:
    """A table; 0 if all take under a millisecond a node once rules are traced."""
    print("| model | nodes | first, ms a node | again, ms a node |")
    print("|---" * 4 + "|", flush=True)
    slow = 0
    jobs = iter([{"model": n} for n in names])
    for outcome in processes.run(time_import, jobs, given.jobs, given.seconds, given.memory):
        name, row = outcome.job["model"], outcome.answer
        if row is None:
            print(f"| {name} | {outcome.how} at {outcome.last} |", flush=True)
            slow += 1
            continue
        first, again = (1e3 * row[k] / row["nodes"] for k in ("first_s", "again_s"))
        slow += again > 1
        print(f"| {name} | {row['nodes']} | {first:.2f} | {again:.2f} |", flush=True)
    return bool(slow)


def row_of(outcome: processes.Outcome) -> dict:
    """A line of the record."""
    row = {"model": outcome.job["model"], "build": outcome.job["build"]}
    if outcome.answer is not None:
        return {**row, **outcome.answer}
    last = outcome.words.strip().splitlines()[-1:] or [""]
    return {**row, "status": FAILED, "message": f"{outcome.how} at {outcome.last}: {last[0]}"}


def line_of(row: dict) -> str:
    """A row of the table."""
    if "error" not in row:
        return f"| {row['model']} | {row['status']}: {row['message'].splitlines()[0][:160]} |"
    return (
        f"| {row['model']} | {row['status']} | {row['import_s']:.1f} | {row['compile_s']:.1f} | "
        f"{row['kernels']} | {row['error']:.1e} | {row['eager_error']:.1e} |"
    )


def known_rows(path: Path, restart: bool) -> dict[str, dict]:
    """The last row of each model."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if restart:
        path.unlink(missing_ok=True)
    lines = path.read_text().splitlines() if path.exists() else []
    return {row["model"]: row for row in map(json.loads, lines)}


def jobs(names: list[str], known: dict[str, dict], build: str) -> Iterator[dict]:
    """What this build has not made right yet."""
    for name in names:
        row = known.get(name)
        if row is None or row["build"] != build or row["status"] != RIGHT:
            yield {"model": name, "build": build}


def main() -> int:
    """0 if all are right."""
    given = parser().parse_args()
    import models

    names = [n for n in given.only.split(",") if n] or list(models.MODELS)
    if unknown := [n for n in names if n not in models.MODELS]:
        print(f"no model {', '.join(unknown)}; there are {', '.join(models.MODELS)}")
        return 2
    if given.list:
        print("\n".join(names))
        return 0
    if given.only_import:
        return show_imports(names, given)
    known = known_rows(given.out, given.restart)
    todo = list(jobs(names, known, cache.build_id()))
    print("| model | status | import, s | compile, s | kernels | error | eager's |")
    print("|---" * 7 + "|", flush=True)
    for outcome in processes.run(attempt, iter(todo), given.jobs, given.seconds, given.memory):
        row = row_of(outcome)
        known[row["model"]] = row
        with given.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(line_of(row), flush=True)
    wrong = [n for n in names if known[n]["status"] != RIGHT]
    print(
        f"{len(names)} models, {len(names) - len(wrong)} right; not: {', '.join(wrong) or 'none'}"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
