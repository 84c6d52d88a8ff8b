"""Runs what `redfuse-opt -redfuse-cpu` printed: ``... | run.py PROGRAM.mlir``. The arguments and the
results that are expected are in PROGRAM.npz, as `redfuse run` takes them."""

import sys
from pathlib import Path

import numpy as np
from redfuse import _ext
from redfuse.executable import Executable
from redfuse.frontends import mlir
from redfuse.options import Options

path = Path(sys.argv[1])
source = mlir.read(path)
module = source.parse()
entry = mlir.find_entry(module, None)
lowered = mlir.read(sys.stdin.read()).parse()
code = _ext.emit_object(lowered.operation)
made = Executable(source, Options(), "cpu", mlir.signature(entry), code, {})
data = np.load(path.with_suffix(".npz"))
inputs = [data[name] for name in sorted(data) if name.startswith(("in", "arg"))]
got = made(*inputs)
expected = [data[name] for name in sorted(data) if name.startswith(("out", "expected"))]
for one, want in zip(got if isinstance(got, tuple) else [got], expected, strict=True):
    np.testing.assert_allclose(one, want, rtol=1e-4, atol=1e-5)
print(f"{path.name}: {len(expected)} results are right")
