"""``redfuse calibrate``: measures what this machine's GPU reaches.

Five programs, each limited by one of the rates, are compiled and timed like ``redfuse profile``
does. A rate is what makes the prediction of its program the time that was measured, with the rates
that were found before it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any

from . import rates
from .rates import Rates

_SMALL, _LARGE, _POINTS, _SIDE = 1024, 1 << 27, 1 << 24, 8192
_STEPS, _UNITS, _ROWS = 200, 96, 5
_CHAIN = 64  # multiplications, and as many additions, of an element
REPEATS = 20
# Predictions of the programs are made with these, and found ones follow from them.
ASSUMED = rates.TABLE["NVIDIA H200"]
# Programs before the one that a rate is measured by; "launch" is needed by all.
ORDER = ("launch", "memory", "vector", "matrix", "round")


def _map(extent: int, kind: str, body: str) -> str:
    map = "affine_map<(i) -> (i)>"
    return f"""
func.func @main(%x: tensor<{extent}x{kind}>) -> tensor<{extent}x{kind}> {{
  %e = tensor.empty() : tensor<{extent}x{kind}>
  %r = linalg.generic {{indexing_maps = [{map}, {map}], iterator_types = ["parallel"]}}
      ins(%x : tensor<{extent}x{kind}>) outs(%e : tensor<{extent}x{kind}>) {{
  ^bb0(%v0: {kind}, %o: {kind}):
    %c = arith.constant 0.25 : {kind}
{body}
  }} -> tensor<{extent}x{kind}>
  return %r : tensor<{extent}x{kind}>
}}
"""


def _chain(count: int, kind: str = "f32") -> str:
    """x * x + 1/4 again and again: nothing of it can be left out."""
    lines = []
    for i in range(count):
        lines += [f"    %m{i} = arith.mulf %v{i}, %v{i} : {kind}",
                  f"    %v{i + 1} = arith.addf %m{i}, %c : {kind}"]  # fmt: skip
    return "\n".join([*lines, f"    linalg.yield %v{count} : {kind}"])


def _product() -> str:
    kind = f"tensor<{_SIDE}x{_SIDE}x"
    return f"""
func.func @main(%a: {kind}bf16>, %b: {kind}bf16>) -> {kind}bf16> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : {kind}f32>
  %i = linalg.fill ins(%z : f32) outs(%e : {kind}f32>) -> {kind}f32>
  %p = linalg.matmul ins(%a, %b : {kind}bf16>, {kind}bf16>) outs(%i : {kind}f32>) -> {kind}f32>
  %h = tensor.empty() : {kind}bf16>
  %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%p : {kind}f32>) outs(%h : {kind}bf16>) {{
  ^bb0(%v: f32, %o: bf16):
    %t = arith.truncf %v : f32 to bf16
    linalg.yield %t : bf16
  }} -> {kind}bf16>
  return %r : {kind}bf16>
}}
"""


def _recurrence() -> str:
    """Each round reads what the one before it has written behind all earlier ones."""
    one, all_of = f"tensor<{_ROWS}x{_UNITS}xf32>", f"tensor<{_STEPS + 1}x{_ROWS}x{_UNITS}xf32>"
    size = f"[1, {_ROWS}, {_UNITS}] [1, 1, 1]"
    return f"""
func.func @main(%h: {one}, %w: tensor<{_UNITS}x{_UNITS}xf32>) -> {all_of} {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant {_STEPS} : index
  %z = arith.constant 0.0 : f32
  %a = tensor.empty() : {all_of}
  %f = tensor.insert_slice %h into %a[0, 0, 0] {size} : {one} into {all_of}
  %r = scf.for %t = %zero to %end step %one iter_args(%s = %f) -> ({all_of}) {{
    %next = arith.addi %t, %one : index
    %b = tensor.extract_slice %s[%t, 0, 0] {size} : {all_of} to {one}
    %e = tensor.empty() : {one}
    %i = linalg.fill ins(%z : f32) outs(%e : {one}) -> {one}
    %p = linalg.generic {{
        indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                         affine_map<(i, j, k) -> (i, j)>],
        iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%b, %w : {one}, tensor<{_UNITS}x{_UNITS}xf32>) outs(%i : {one}) {{
    ^bb0(%x: f32, %y: f32, %o: f32):
      %m = arith.mulf %x, %y : f32
      %q = arith.addf %o, %m : f32
      linalg.yield %q : f32
    }} -> {one}
    %n = linalg.generic {{
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}}
        ins(%p : {one}) outs(%e : {one}) {{
    ^bb0(%v: f32, %o: f32):
      %y = math.tanh %v : f32
      linalg.yield %y : f32
    }} -> {one}
    %g = tensor.insert_slice %n into %s[%next, 0, 0] {size} : {one} into {all_of}
    scf.yield %g : {all_of}
  }}
  return %r : {all_of}
}}
"""


PROGRAMS: dict[str, Callable[[], str]] = {
    "launch": lambda: _map(_SMALL, "f32", _chain(1)),
    "memory": lambda: _map(_LARGE, "bf16", _chain(1, "bf16")),
    "vector": lambda: _map(_POINTS, "f32", _chain(_CHAIN)),
    "matrix": _product,
    "round": _recurrence,
}


@dataclasses.dataclass(frozen=True)
class Calibration:
    """device: the GPU's name. rates: as measured. before: what predictions took so far; None:
    shares of the peaks of its architecture. seconds: how long it took. file: where they are stored.
    """

    device: str
    rates: Rates
    before: Rates | None
    seconds: float
    file: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        units = {"launch": "ns", "round": "ns", "memory": "GB/s", "vector": "10^9 additions/s",
                 "matrix": "10^9 multiply-adds/s"}  # fmt: skip
        lines = [f"{self.device}, in {self.seconds:.1f} s:"]
        for name, unit in units.items():
            was = "" if self.before is None else f" (before: {getattr(self.before, name)})"
            lines.append(f"  {name:8}{getattr(self.rates, name):>8} {unit}{was}")
        return "\n".join([*lines, f"stored in {self.file}"])


def calibrate() -> Calibration:
    """Measures the rates of this machine's first GPU of NVIDIA's and stores them, for predictions
    of later compilations. Needs PyTorch; raises TargetError without a GPU, CacheError where they
    cannot be stored."""
    from ..compiler import resolve_target
    from ..runtime import tensors
    from .gputargets import first_device

    start = time.perf_counter()
    target = resolve_target("cuda")
    device = first_device(target, "NVIDIA's driver")["name"]
    tensors.need_gpu("measuring what a GPU reaches")
    found = dataclasses.asdict(ASSUMED)
    for name in ORDER:
        measured, parts = _measured(PROGRAMS[name](), target)
        found[name] = rates.check(name, new_rate(name, found, measured, parts))
    made, before = Rates(**found), rates.of_device(device)
    file = rates.store(device, made)
    return Calibration(device, made, before, time.perf_counter() - start, file)


def new_rate(
    name: str, found: Mapping[str, int], measured: float, parts: Mapping[str, float]
) -> float:
    """One rate. found: all, of which those that come first in ``ORDER`` are new. measured:
    nanoseconds of the program of that name. parts: what was predicted of it with ``ASSUMED``, in
    nanoseconds: ``total``, ``launch``, ``memory``, ``matrix``, ``vector``."""
    if name == "launch":
        return measured
    scale = {p: getattr(ASSUMED, p) / found[p] for p in ("memory", "vector", "matrix")}
    now = {p: parts[p] * scale[p] for p in scale}
    longest = max(parts[p] for p in scale)
    rest = sum(parts[p] for p in scale) - longest
    added = (parts["total"] - parts["launch"] - longest) / rest if rest else 0.0
    if name == "round":  # total = launch + rounds * round + work
        work = max(now.values()) + added * (sum(now.values()) - max(now.values()))
        return max(1.0, (measured - found["launch"] - work) / _STEPS)
    others = [now[p] for p in scale if p != name]
    part = rates.solved(parts[name], measured, found["launch"], others, added)
    return getattr(ASSUMED, name) * parts[name] / part


def _measured(text: str, target: str) -> tuple[float, dict[str, float]]:
    """Nanoseconds of a program's kernels, and what was predicted of them."""
    import torch

    from ..compiler import compile

    kinds = {"f32": torch.float32, "bf16": torch.bfloat16}
    text = f"module attributes {{redfuse.rates = {_text(ASSUMED)}}} {{{text}}}"
    executable = compile(text, target=target, options={"cache": False, "tuned": False})
    arguments = [
        torch.rand(spec.shape, device="cuda").to(kinds[spec.dtype])
        for spec in executable.signature.inputs
    ]
    profile = executable.profile(*arguments, repeats=REPEATS)
    kernels = executable.explain(json=True)["kernels"]
    parts = {
        key: 1e3 * sum(kernel["predicted"][f"{key}_us"] for kernel in kernels)
        for key in ("total", "launch", "memory", "matrix", "vector")
    }
    # Not the copies around it, of which nothing is predicted.
    took = [k.median_us for k in profile.kernels if k.predicted_us is not None]
    return 1e3 * sum(took), parts


def _text(held: Rates) -> str:
    fields = ", ".join(f"{name} = {value}" for name, value in dataclasses.asdict(held).items())
    return f"#redfuse.rates<{fields}>"
