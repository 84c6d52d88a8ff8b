"""torch-mlir's end-to-end cases, compiled by our importer: ``tools/dev torch-mlir FOLDER``.

FOLDER is a clone of torch-mlir. A case is a module and calls of it; its results are held to
PyTorch's as torch-mlir holds them (relative 1e-3), and integers to be the same. Counted are the
cases that torch-mlir's own importer of FX graphs brings to linalg on tensors.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attempts
import judging
import records
import redfuse
import torch

FOLDER = records.ROOT / "build" / "torch-mlir"
TESTS = "projects/pt1"
_NOT_NEEDED = ("torch_mlir", "torchvision", "multiprocess")


def parser() -> argparse.ArgumentParser:
    """What may be asked for."""
    made = argparse.ArgumentParser(prog="tools/dev torch-mlir", description=__doc__.split("\n")[0])
    made.add_argument("folder", type=Path, help="a clone of torch-mlir")
    records.add_arguments(made, FOLDER / "record.jsonl")
    return made


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Empty packages instead of those that cases import and few of them use."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Of a package that is not installed."""
        if name.partition(".")[0] not in _NOT_NEEDED:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        """An empty one."""
        made = types.ModuleType(spec.name)
        if spec.name == "multiprocess":
            made.set_start_method = lambda how: None  # type: ignore[attr-defined]
        if spec.name == "torch_mlir._version":
            made.version = _Versions  # type: ignore[attr-defined]
            made.torch_version_for_comparison = (  # type: ignore[attr-defined]
                lambda: _Versions.parse(torch.__version__)
            )
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        """It has no code."""


class _Versions:
    @staticmethod
    def parse(words: str) -> tuple[int, ...]:
        """The numbers at the front."""
        return tuple(int(w) for w in words.partition("+")[0].split(".")[:3] if w.isdigit())


def load(folder: Path) -> tuple[dict[str, Any], set[str]]:
    """The cases by name, and the names of those that torch-mlir itself does not lower."""
    root = folder / TESTS
    if not (root / "python" / "torch_mlir_e2e_test").is_dir():
        raise SystemExit(f"{folder} is no clone of torch-mlir: it has no {TESTS}/python")
    sys.path[:0] = [str(root / "python"), str(root / "e2e_testing")]
    sys.meta_path.append(_Absent())
    from torch_mlir_e2e_test.registry import GLOBAL_TEST_REGISTRY  # type: ignore[import-not-found]
    from torch_mlir_e2e_test.test_suite import register_all_tests  # type: ignore[import-not-found]

    register_all_tests()
    import xfail_sets  # type: ignore[import-not-found]

    lacking = xfail_sets.FX_IMPORTER_XFAIL_SET | xfail_sets.FX_IMPORTER_CRASHING_SET
    return {t.unique_name: t for t in GLOBAL_TEST_REGISTRY}, set(lacking)


class _Calls:
    """Stands for a module; notes what is called with which arguments, and what it returns."""

    def __init__(self, module: Any):
        self._module = module
        self.calls: list[tuple[str, tuple, Any]] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._module, name)
        if not callable(method):
            return method

        def call(*args: Any) -> Any:
            given = attempts.pytree.tree_map(
                lambda x: x.clone() if isinstance(x, torch.Tensor) else x, args
            )
            with torch.no_grad():
                result = method(*args)
            self.calls.append((name, given, result))
            return result

        return call


def is_like(got: Any, expected: Any) -> str:
    """What differs, as torch-mlir compares; "" if nothing does."""
    mine, theirs = (attempts.pytree.tree_leaves(x) for x in (got, expected))
    if len(mine) != len(theirs):
        return f"expected {len(theirs)} results, got {len(mine)}"
    for a, b in zip(mine, theirs, strict=True):
        if not isinstance(b, torch.Tensor):
            if a != b and not (isinstance(b, float) and abs(a - b) <= 1e-4 * abs(b)):
                return f"expected {b}, got {a}"
            continue
        if not isinstance(a, torch.Tensor) or a.shape != b.shape or a.dtype != b.dtype:
            kind = (tuple(a.shape), a.dtype) if isinstance(a, torch.Tensor) else a
            return f"expected {tuple(b.shape)} of {b.dtype}, got {kind}"
        if not torch.allclose(a, b, rtol=1e-3, atol=1e-7, equal_nan=True):
            far = (a.double() - b.double()).abs().max()
            return f"differs by up to {far:.3g}"
    return ""


def attempt(case: Any) -> dict:
    """The status of a case and, if it is not right, why."""
    from torch_mlir_e2e_test.framework import TestUtils  # type: ignore[import-not-found]

    warnings.simplefilter("ignore")
    try:
        calls = _Calls(case.program_factory().eval())
        case.program_invoker(calls, TestUtils())
    except Exception as error:
        return {"status": judging.SKIPPED, "message": f"PyTorch: {attempts.first_line(error)}"}
    for name, args, expected in calls.calls:
        module = case.program_factory().eval()
        module.load_state_dict(calls._module.state_dict())
        row = _call(module, name, args, expected)
        if row["status"] != judging.RIGHT:
            return row
    return {"status": judging.RIGHT, "message": ""}


def _call(module: Any, name: str, args: tuple, expected: Any) -> dict:
    program = module
    if name != "forward" or not all(isinstance(x, torch.Tensor) for x in args):
        program = attempts.Program(getattr(module, name), args, {})
        program.module = module
        args = tuple(program.inputs)
    try:
        exe = attempts.compiled(program, args)
        got = exe(*attempts.copies(args))
    except redfuse.UnsupportedError as error:
        return {"status": judging.REFUSED, "message": attempts.first_line(error)}
    except redfuse.Error as error:
        refused = "torch.export cannot trace" in str(error)
        status = judging.REFUSED if refused else judging.FAILED
        return {"status": status, "message": attempts.first_line(error)}
    except Exception as error:
        words = f"{type(error).__name__}: {attempts.first_line(error)}"
        return {"status": judging.FAILED, "message": words}
    fault = is_like(got, expected)
    return {"status": judging.WRONG if fault else judging.RIGHT, "message": fault}


def main() -> int:
    """0 if at least 90 % are right and none is wrong or crashed."""
    given = parser().parse_args()
    cases, lacking = load(given.folder)
    attempts.prepare()
    record = records.Record(given.resume, given.restart)
    names = [n for n in sorted(cases) if records.is_chosen(n, given.only)]
    trials = [{"name": n} for n in names]
    jobs = [{"name": t["name"], "trials": [t]} for t in trials
            if not record.is_done(t, given.again)]  # fmt: skip

    def work(job: dict, tell: Callable[[dict], None]) -> None:
        tell({**job["trials"][0], **attempt(cases[job["name"]])})

    def show(row: dict) -> None:
        if row["status"] != judging.RIGHT:
            mark = " (torch-mlir neither)" if row["name"] in lacking else ""
            print(f"{row['name']}: {row['status']}: {row['message']}{mark}", flush=True)

    records.run(work, jobs, given, record, show)
    rows = [record.rows[record.key(t)] for t in trials]
    counted = [r for r in rows if r["name"] not in lacking and r["status"] != judging.SKIPPED]
    found = records.counts(iter(counted))
    share = found[judging.RIGHT] / max(1, len(counted))
    print(f"all: {len(rows)} cases: {records.totals(records.counts(iter(rows)))}")
    print(f"that torch-mlir lowers: {len(counted)} cases: {records.totals(found)}: {share:.1%}")
    if given.table:
        given.table.write_text(table(rows, lacking, found, share))
    return int(share < 0.9 or any(r["status"] in ("wrong", "crashed") for r in counted))


def table(rows: list[dict], lacking: set[str], found: Any, share: float) -> str:
    """What is not right, and why."""
    lines = [
        "# torch-mlir's end-to-end cases",
        "",
        "Made by `tools/dev torch-mlir FOLDER --table`: each case exported, imported, compiled for "
        "the CPU and compared with PyTorch.",
        f"Of those that torch-mlir's own importer brings to linalg: {records.totals(found)} "
        f"({share:.1%}).",
        "",
        "| case | status | reason |",
        "|---|---|---|",
    ]
    for row in rows:
        if row["status"] == judging.RIGHT or row["name"] in lacking:
            continue
        reason = records.reason(row)
        lines.append(f"| {row['name']} | {row['status']} | {reason} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
