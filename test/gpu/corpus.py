"""Runs the corpus on a GPU against the fp64 references, outputs poisoned: `python test/gpu/corpus.py`.

Not collected by pytest: it needs a GPU and torch. One line a program; exit status 1 if one fails.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import redfuse
import torch
from redfuse import check
from redfuse.reference import Reference

CORPUS = Path(__file__).parent.parent / "e2e" / "corpus"


def to_gpu(value: np.ndarray) -> torch.Tensor:
    """A copy on the GPU; bf16 by its bits."""
    if value.dtype.name == "bfloat16":
        return torch.from_numpy(value.view(np.int16).copy()).cuda().view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(value)).cuda()


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Every element set to what no program should leave: NaN, or a large negative number."""
    if tensor.is_floating_point():
        return tensor.fill_(float("nan"))
    return tensor.fill_(True) if tensor.dtype == torch.bool else tensor.fill_(-77)


def run(name: str, target: str, schedule: str) -> list[check.Outcome]:
    """Compiles and runs one program three times; the last result is compared."""
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


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--schedules", default="auto,resident,stream")
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in CORPUS.glob("*.mlir"))
    failures = 0
    for schedule in options.schedules.split(","):
        for name in names:
            start = time.perf_counter()
            try:
                outcomes = run(name, options.target, schedule)
                good = all(outcome.ok for outcome in outcomes)
                text = "; ".join(map(str, outcomes))
            except Exception as error:
                good, text = False, f"{type(error).__name__}: {str(error)[:300]}"
                if not isinstance(error, redfuse.Error):
                    text += " " + traceback.format_exc(limit=-2).replace("\n", " | ")[-300:]
            failures += not good
            seconds = time.perf_counter() - start
            print(
                f"{'ok  ' if good else 'FAIL'} {schedule} {name} {seconds:.1f}s {text}", flush=True
            )
            if "illegal" in text or "misaligned" in text or "unspecified" in text:
                print("the GPU's context is lost; stopping", flush=True)
                return 1
    print(f"{failures} failed of {len(names)} programs")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
