"""Runs what `redfuse-opt -redfuse-cpu` or `-redfuse-cuda` printed: ``... | run.py PROGRAM.mlir [CHIP]``.
Of a GPU's program the host code calls a driver of the tests, and a simulator runs the PTX that it
launches. The arguments and the results that are expected are in PROGRAM.npz, as `redfuse run` takes
them."""

import sys
from pathlib import Path

import numpy as np
from redfuse import _ext
from redfuse.executable import Executable
from redfuse.frontends import mlir
from redfuse.options import Options
from redfuse.targets import cuda, gputargets

path, chips = Path(sys.argv[1]), sys.argv[2:]
source = mlir.read(path)
module = source.parse()  # which the entry is a part of
signature = mlir.signature(mlir.find_entry(module, None))
lowered = mlir.read(sys.stdin.read()).parse()
code = _ext.emit_object(lowered.operation)
data = np.load(path.with_suffix(".npz"))
inputs = [data[name] for name in sorted(data) if name.startswith(("in", "arg"))]
expected = [data[name] for name in sorted(data) if name.startswith(("out", "expected"))]
if chips:
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    from drivers import simulated

    ptx = [(chips[0], gputargets.binary_of(lowered) + b"\0")]
    variants = [cuda.Variant(chips[0], code, ptx, [])]
    target = f"cuda:{chips[0]}"
    made = Executable(source, Options(), target, signature, code, {}, variants=variants)
    got, launched = simulated.execute(made, inputs, expected)
    print("launched:", *launched)
else:
    made = Executable(source, Options(), "cpu", signature, code, {})
    results = made(*inputs)
    got = results if isinstance(results, tuple) else [results]
for one, want in zip(got, expected, strict=True):
    np.testing.assert_allclose(one, want, rtol=1e-4, atol=1e-5)
print(f"{path.name}: {len(expected)} results are right")
