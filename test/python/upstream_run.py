"""Runs tensor programs through upstream's passes alone: the reference the passes are held to.

Programs are bufferized, lowered to loops and LLVM, and run in this process by MLIR's
ExecutionEngine. Slow code, but none of it is redfuse's own, but for tm_tensor ops, which
upstream does not know.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
from mlir import ir
from mlir.execution_engine import ExecutionEngine
from mlir.runtime import get_ranked_memref_descriptor, ranked_memref_to_numpy


def find_redfuse_opt() -> Path:
    """The redfuse-opt to test: $REDFUSE_OPT, or the installed one."""
    if "REDFUSE_OPT" in os.environ:
        return Path(os.environ["REDFUSE_OPT"])
    from redfuse._opt import find_program

    return Path(find_program())


BUFFERIZE = """builtin.module(
  redfuse-lower-tm-tensor,
  func.func(llvm-request-c-wrappers),
  one-shot-bufferize{bufferize-function-boundaries=1
                     function-boundary-type-conversion=identity-layout-map},
  canonicalize, cse, func.func(convert-linalg-to-loops), lower-affine)"""

LOWER = """builtin.module(
  func.func(convert-linalg-to-loops), func.func(arith-expand{include-bf16=true}),
  convert-scf-to-cf, expand-strided-metadata, lower-affine,
  convert-math-to-llvm, convert-math-to-libm, finalize-memref-to-llvm, convert-func-to-llvm,
  convert-cf-to-llvm, convert-index-to-llvm, convert-arith-to-llvm, canonicalize, cse,
  reconcile-unrealized-casts)"""

DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i64": np.int64,
    "i32": np.int32,
    "i8": np.int8,
    "i1": np.bool_,
}


def opt(binary: Path, source: str, *flags: str) -> str:
    """Run redfuse-opt on `source`; a failure shows its diagnostics."""
    done = subprocess.run(
        [str(binary), *flags],
        check=False,
        input=source,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def signature(source: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """(rank, element type) of each argument and result of @main."""
    line = next(li for li in source.splitlines() if "func.func @main" in li)
    arguments, results = line.split("->", 1)

    def tensors(text: str) -> list[tuple[int, str]]:
        found = re.findall(r"tensor<((?:[0-9?]+x)*)([a-z]+[0-9]+)>", text)
        return [(shape.count("x"), element) for shape, element in found]

    return tensors(arguments), tensors(results)


def widen_booleans(source: str) -> str:
    """Keep booleans as bytes and copy by loops: what upstream's memref-to-llvm needs."""
    source = re.sub(
        r"%(\w+) = (memref\.load .*)xi1>",
        r"%byte_of_\1 = \2xi1>\n%\1 = arith.trunci %byte_of_\1 : i8 to i1",
        source,
    )
    count = iter(range(1 << 30))

    def store(match: re.Match[str]) -> str:
        name = f"%stored_byte_{next(count)}"
        return f"{name} = arith.extui {match[1]} : i1 to i8\nmemref.store {name}, {match[2]}xi1>"

    source = re.sub(r"memref\.store (%\w+), (.*)xi1>", store, source)
    source = re.sub(
        r"memref\.copy (%\w+), (%\w+) : (.*) to (.*)",
        r"linalg.copy ins(\1 : \3) outs(\2 : \4)",
        source,
    )
    return re.sub(r"(memref<[0-9?x]*)i1\b", r"\1i8", source)


def execute(binary: Path, source: str, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run @main of `source` on `inputs`, lowered by upstream passes only."""
    arguments, results = signature(source)
    loops = opt(binary, source, f"--pass-pipeline={BUFFERIZE}")
    lowered = opt(binary, widen_booleans(loops), f"--pass-pipeline={LOWER}")
    with ir.Context(), ir.Location.unknown():
        engine = ExecutionEngine(ir.Module.parse(lowered), opt_level=1)
    arrays = [
        np.ascontiguousarray(x.astype(DTYPES[element]))
        for x, (_, element) in zip(inputs, arguments, strict=True)
    ]
    blanks = [
        get_ranked_memref_descriptor(np.zeros((1,) * rank, DTYPES[element]))
        for rank, element in results
    ]
    fields = [(f"r{i}", type(b)) for i, b in enumerate(blanks)]
    holder = type("Results", (ctypes.Structure,), {"_fields_": fields})(*blanks)
    pointers = [ctypes.pointer(ctypes.pointer(get_ranked_memref_descriptor(x))) for x in arrays]
    engine.invoke("main", ctypes.pointer(ctypes.pointer(holder)), *pointers)
    arrays = []
    for (name, _), (rank, element) in zip(fields, results, strict=True):
        memref = getattr(holder, name)
        if rank:
            arrays.append(ranked_memref_to_numpy(ctypes.pointer(memref)).copy())
        else:  # upstream's helper knows no rank 0
            value = ctypes.cast(memref.aligned, ctypes.POINTER(ctypes.c_byte))
            size = np.dtype(DTYPES[element]).itemsize
            arrays.append(np.frombuffer(ctypes.string_at(value, size), DTYPES[element])[0])
    return arrays


def error(got: np.ndarray, want: np.ndarray) -> float:
    """Largest difference relative to the largest wanted value."""
    got, want = got.astype(np.float64), want.astype(np.float64)
    assert got.shape == want.shape
    return float(
        np.max(np.abs(got - want), initial=0) / max(np.max(np.abs(want), initial=0), 1e-30)
    )
