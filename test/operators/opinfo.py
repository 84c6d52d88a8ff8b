"""PyTorch's own samples of operations, compiled and compared with fp64: ``tools/dev opinfo``.

The samples are those of torch.testing's op_db. Results are right that are at most twice as far from
fp64 as PyTorch's, and one unit in the last place; places of sorted elements are those of the lowest
index among equals.
"""

from __future__ import annotations

import argparse
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attempts
import judging
import records
import torch

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# Of which there are samples for those who ask.
MORE = {"complex64": torch.complex64}
FOLDER = records.ROOT / "build" / "opinfo"
# What PyTorch leaves open: which of equal elements comes first.
_ORDERS = ("sort", "msort", "topk", "argsort")
# Which of several places they return, with their arguments.
_PLACES = {"mode": ("dim", "keepdim"), "median": ("dim", "keepdim"),
           "nanmedian": ("dim", "keepdim"), "kthvalue": ("k", "dim", "keepdim")}  # fmt: skip


def parser() -> argparse.ArgumentParser:
    """What may be asked for."""
    made = argparse.ArgumentParser(prog="tools/dev opinfo", description=__doc__.split("\n")[0])
    records.add_arguments(made, FOLDER / "record.jsonl")
    made.add_argument(
        "--dtype", default=",".join(DTYPES), help="float32,bfloat16 (both), complex64"
    )
    made.add_argument("--samples", type=int, default=2, help="of each operation, 0: all (2)")
    return made


def name_of(op: Any) -> str:
    """An operation and its variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def operations() -> dict[str, Any]:
    """By name."""
    from torch.testing._internal.common_methods_invocations import op_db

    return {name_of(op): op for op in op_db}


def samples_of(op: Any, dtype: torch.dtype) -> list[Any]:
    """All samples; the same each time."""
    torch.manual_seed(0)
    return list(op.sample_inputs("cpu", dtype, requires_grad=False))


def spread(count: int, wanted: int) -> list[int]:
    """Indices of some of many, the first and the last among them."""
    if not wanted or count <= wanted:
        return list(range(count))
    if wanted == 1:
        return [0]
    return sorted({round(i * (count - 1) / (wanted - 1)) for i in range(wanted)})


def first_places(op: Any, sample: Any, results: Any) -> Any:
    """Results of an operation that orders, with the lowest index first among equals."""
    if (
        op.name not in _ORDERS
        or not isinstance(sample.input, torch.Tensor)
        or not sample.input.dim()
    ):
        return results
    values, kwargs = sample.input, dict(sample.kwargs)
    names = {"topk": ("k", "dim", "largest"), "sort": ("dim", "descending"),
             "argsort": ("dim", "descending"), "msort": ()}[op.name]  # fmt: skip
    kwargs.update(zip(names, sample.args, strict=False))
    most = kwargs.get("largest", True) if op.name == "topk" else kwargs.get("descending", False)
    dim = 0 if op.name == "msort" else kwargs.get("dim", -1)
    ordered = torch.sort(values, dim=dim, descending=most, stable=True)
    if op.name == "msort":
        return ordered.values
    if op.name == "argsort":
        return ordered.indices
    if op.name == "sort":
        return ordered
    return tuple(x.narrow(dim, 0, kwargs["k"]) for x in ordered)


def elements_at(name: str, sample: Any, results: Any) -> Any:
    """Instead of the places of what an operation found, of which there may be several, the elements
    that are there."""
    if name not in _PLACES or not isinstance(results, tuple) or not sample.input.dim():
        return results
    kwargs = {**dict(zip(_PLACES[name], sample.args, strict=False)), **sample.kwargs}
    dim, keeps = kwargs.get("dim", -1), kwargs.get("keepdim", False)
    values, places = results
    at = places if keeps else places.unsqueeze(dim)
    found = sample.input.gather(dim, at)
    return values, found if keeps else found.squeeze(dim)


class Sorted(attempts.Program):
    """An operation on a sample, with one order of equal elements where PyTorch has any."""

    def __init__(self, op: Any, sample: Any):
        super().__init__(op.op, [sample.input, *sample.args], sample.kwargs)
        self.op = op

    def forward(self, *tensors: torch.Tensor) -> Any:
        """The operation's results."""
        results = super().forward(*tensors)
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        (first, *args), kwargs = attempts.pytree.tree_unflatten(leaves, self.spec)
        sample = types.SimpleNamespace(input=first, args=args, kwargs=kwargs)
        results = elements_at(self.op.name, sample, results)
        if torch.compiler.is_exporting():
            return results
        return first_places(self.op, sample, results)


def work(job: dict, tell: Callable[[dict], None]) -> None:
    """The samples of one operation in one type."""
    from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

    op = operations()[job["name"]]
    if "empty" in op.name:
        for row in job["trials"]:
            words = "its elements are what memory held"
            tell({**row, "status": judging.SKIPPED, "message": words})
        return
    samples = samples_of(op, (DTYPES | MORE)[job["dtype"]])
    by_element = isinstance(op, (UnaryUfuncInfo, BinaryUfuncInfo))
    for row in job["trials"]:
        program = Sorted(op, samples[row["sample"]])
        tell({**row, **attempts.attempt(program, program.inputs, by_element)})


def jobs_of(
    ops: dict[str, Any], given: Any, record: records.Record, rows: list[dict]
) -> Iterator[dict]:
    """What is not done. rows: gets all trials that were asked for, done or not."""
    for name, op in ops.items():
        for dtype in given.dtype.split(","):
            kind = (DTYPES | MORE)[dtype]
            if kind not in op.supported_dtypes("cpu"):
                continue
            try:
                count = len(samples_of(op, kind))
            except Exception:  # PyTorch has no samples for this machine
                continue
            trials = [{"name": name, "dtype": dtype, "sample": i}
                      for i in spread(count, given.samples)]  # fmt: skip
            rows.extend(trials)
            left = [t for t in trials if not record.is_done(t, given.again)]
            if left:
                yield {"name": name, "dtype": dtype, "trials": left}


def table(rows: list[dict]) -> str:
    """Operations that are right in all samples, and the others with the reason."""
    by_name: dict[str, list[dict]] = {}
    for row in rows:
        by_name.setdefault(row["name"], []).append(row)
    lines = [
        "# PyTorch's operations",
        "",
        "Made by `tools/dev opinfo --table FILE`: samples of torch.testing's op_db on a CPU, compiled "
        "and compared with fp64.",
        "A result is right that is at most twice as far from fp64 as PyTorch's own, and one unit "
        "in the last place.",
        "",
        "| type | samples |",
        "|---|---|",
    ]
    for dtype in DTYPES:
        found = records.counts(r for r in rows if r["dtype"] == dtype)
        if found:
            lines.append(f"| {dtype} | {records.totals(found)} |")
    good = [n for n, of in by_name.items() if {r["status"] for r in of} <= {"right", "skipped"}]
    lines += ["", "## Supported", "", ", ".join(f"`{n}`" for n in sorted(good)), "",
              "## Not, or not wholly", "", "| operation | samples | the first reason |",
              "|---|---|---|"]  # fmt: skip
    for name, of in sorted(by_name.items()):
        if name in good:
            continue
        bad = next(r for r in of if r["status"] not in ("right", "skipped"))
        reason = records.reason(bad)
        lines.append(f"| `{name}` | {records.totals(records.counts(iter(of)))} | {reason} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """0 if none is wrong and none crashed."""
    given = parser().parse_args()
    if unknown := [d for d in given.dtype.split(",") if d not in DTYPES | MORE]:
        print(f"no samples of {', '.join(unknown)}; there are {', '.join(DTYPES | MORE)}")
        return 2
    ops = {n: op for n, op in operations().items() if records.is_chosen(n, given.only)}
    if not ops:
        print(f"no operation is named {given.only}; names are those of op_db")
        return 2
    attempts.prepare()
    record = records.Record(given.resume, given.restart)
    asked: list[dict] = []
    jobs = list(jobs_of(ops, given, record, asked))

    def show(row: dict) -> None:
        if row["status"] != judging.RIGHT:
            print(f"{row['name']} {row['dtype']} #{row['sample']}: {row['status']}: "
                  f"{row['message']}", flush=True)  # fmt: skip

    records.run(work, jobs, given, record, show)
    rows = [record.rows[record.key(t)] for t in asked]
    for dtype in given.dtype.split(","):
        found = records.counts(r for r in rows if r["dtype"] == dtype)
        print(f"{dtype}: {sum(found.values())} samples: {records.totals(found)}")
    if given.table:
        given.table.write_text(table(rows))
    return int(any(r["status"] in ("wrong", "crashed", "timed out") for r in rows))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    sys.exit(main())
