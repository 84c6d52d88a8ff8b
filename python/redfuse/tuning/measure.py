"""The process in which candidates are compiled and timed: one that hangs, crashes or spoils the
GPU's context ends this process alone.

Reads a JSON line that says what is tuned, then one a candidate; writes a JSON line for each (see
``Subject``). The schedules of the first candidate make the results that others are compared with.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import check
from ..compiler import compile
from ..errors import CodeWarning, Error, FusionWarning
from ..frontends.mlir import Source
from ..options import Options
from ..runtime.specs import Signature
from ..runtime.tensors import to_gpu, to_host
from .hints import kinds_of

_LOOSER = 10.0  # than the tolerance against fp64: both results have errors of their own
_HOPELESS = 5.0  # times the first candidate's time: one call is enough to know
_MOVED = 1e-3  # the share of integers that may differ: ranks of values that nearly tie


class Subject:
    """A program with arguments, on the machine that runs it.

    request: ``text`` (bytecode as ``hex``), ``name``, ``target``, ``options``, ``shapes`` (one an
        argument, empty where all are static), ``inputs`` (an .npz, or empty for random ones),
        ``seconds`` (of timing a candidate).
    """

    def __init__(self, request: dict):
        text = bytes.fromhex(request["hex"]) if "hex" in request else request["text"]
        self.program = Source(text, request["name"])
        self.target = request["target"]
        self.options = {**request["options"], "cache": False, "tuned": False}
        self.shapes, self.inputs_file = request["shapes"], request["inputs"]
        self.seconds = float(request["seconds"])
        self.sets: list[list[Any]] = []
        self.expected: list[Any] = []
        self.times: dict[str, float] = {}
        self.first: Callable[[], float] | None = None
        self.first_ms = 0.0
        self.flaws: tuple[int, int, str] = (0, 0, "")

    def trial(self, schedules: Sequence[str]) -> dict[str, Any]:
        """Compiles and times. ``ms``, or ``error`` where it cannot be used; ``compile_s``;
        ``same`` if an earlier one has the same code; ``kernels``: the kind of each cascade's (see
        ``hints``)."""
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            exe = compile(
                self.program, target=self.target,
                options=Options.of({**self.options, "schedules": list(schedules)}),
            )  # fmt: skip
        found: dict[str, Any] = {"compile_s": time.perf_counter() - start}
        if any(issubclass(w.category, FusionWarning) for w in told):
            return {**found, "error": "not fused"}
        code = _code_of(exe)
        key = hashlib.sha256(code).hexdigest()
        found["kernels"] = self._kinds(exe)
        if key in self.times:
            return {**found, "ms": self.times[key], "same": True}
        flaws = _flaws_of(exe, told)
        if not self.expected:
            self._prepare(exe.signature)
            self.flaws = flaws
        elif any(mine > first for mine, first in zip(flaws[:2], self.flaws[:2], strict=True)):
            return {**found, "error": f"pruned: {flaws[2][:300]}"}
        problem = self._wrong(exe)
        if problem:
            return {**found, "error": problem}
        once = self._once(exe)
        if self.first is not None and once > _HOPELESS * self.first_ms + 1.0:
            self.times[key] = once
        else:
            self.times[key] = self._time(self._sampler(exe))
        return {**found, "ms": self.times[key]}

    def _kinds(self, exe: Any) -> list[str]:
        return kinds_of(exe.explanation) if self.target.startswith("cuda") else []

    def _prepare(self, signature: Signature) -> None:
        arrays = arguments(signature, self.shapes, self.inputs_file)
        if self.target == "cpu":
            self.sets = [arrays]
            return
        from ..bench import gpu_timing

        self.sets = gpu_timing.sets_of([to_gpu(array) for array in arrays])

    def _wrong(self, exe: Any) -> str:
        """Why the results are not those of the first candidate; empty if they are."""
        results = _listed(exe(*self.sets[0]))
        if self.target != "cpu":
            results = [_poisoned(result) for result in results]
            exe(*self.sets[0], out=tuple(results))
            results = [to_host(result) for result in results]
        if not self.expected:
            self.expected = results
            return ""
        outcomes = check.compare(results, self.expected, exe.signature)
        wrong = [o for o in outcomes if not o.ok and o.error > (_LOOSER * o.tolerance or _MOVED)]
        return f"another result: {wrong[0]}" if wrong else ""

    def _once(self, exe: Any) -> float:
        """ms of one call."""
        start = time.perf_counter()
        exe(*self.sets[0])
        if self.target != "cpu":
            import torch

            torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e3

    def _sampler(self, exe: Any) -> Callable[[], float]:
        """ms of a call, when called."""
        made = _listed(exe(*self.sets[0]))
        if self.target == "cpu":
            out = tuple(made)
            return _host_sampler(lambda: exe(*self.sets[0], out=out))
        import torch

        from ..bench.gpu_timing import Timer

        outs = [tuple(torch.empty_like(t) for t in made) for _ in self.sets]
        return Timer(
            [
                lambda a=arrays, o=out: exe(*a, out=o)
                for arrays, out in zip(self.sets, outs, strict=True)
            ]
        ).sample

    def _time(self, sample: Callable[[], float]) -> float:
        """Median ms of a call. The first candidate is timed in turn with every other, so that a
        slow minute of the machine slows both: what counts is the ratio."""
        if self.first is None:
            self.first, self.first_ms = (
                sample,
                statistics.median(_samples([sample], self.seconds)[0]),
            )
            return self.first_ms
        mine, first = _samples([sample, self.first], self.seconds)
        return self.first_ms * statistics.median(mine) / statistics.median(first)


def _samples(samplers: Sequence[Callable[[], float]], seconds: float) -> list[list[float]]:
    """Of each, in turn."""
    found: list[list[float]] = [[] for _ in samplers]
    start = time.perf_counter()
    while len(found[0]) < 5 or (len(found[0]) < 200 and time.perf_counter() - start < seconds):
        for sampler, samples in zip(samplers, found, strict=True):
            samples.append(sampler())
    return found


def _host_sampler(call: Callable[[], Any]) -> Callable[[], float]:
    """ms of a call, of as many in a row as take 2 ms."""
    call()
    start = time.perf_counter()
    call()
    count = max(1, min(10000, int(2e-3 / max(time.perf_counter() - start, 1e-7))))

    def sample() -> float:
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) * 1e3 / count

    return sample


def _flaws_of(exe: Any, told: Sequence[Any]) -> tuple[int, int, str]:
    """What ptxas complains of: bytes of spills, the number of other complaints (matrix
    instructions that wait for each other, say), and its words."""
    words = "; ".join(str(w.message) for w in told if issubclass(w.category, CodeWarning))
    spills = sum(kernel.spills for kernel in exe.resources)
    return spills, len(re.findall(r"Performance Loss|ptxas warning", words)), words


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple) else [results]


def _code_of(exe: Any) -> bytes:
    parts = [exe.code]
    for variant in exe.variants:
        parts += [variant.code, *(image for _, image in variant.images)]
    return b"".join(parts)


def arguments(signature: Signature, shapes: Sequence[Sequence[int]], file: str) -> list[Any]:
    """NumPy arrays for a signature; ``shapes`` for extents that are dynamic. Raises
    ArgumentError."""
    import dataclasses

    from ..store.data import random_inputs

    if file:
        return check.cast_inputs(check.load_npz(file)[0], signature)
    if shapes:
        specs = tuple(
            dataclasses.replace(spec, shape=tuple(shape))
            for spec, shape in zip(signature.inputs, shapes, strict=True)
        )
        signature = dataclasses.replace(signature, inputs=specs)
    return random_inputs(signature)


def _poisoned(tensor: Any) -> Any:
    return tensor.fill_(float("nan") if tensor.is_floating_point() else 1)


def _is_alive(target: str) -> bool:
    """Whether the GPU still takes work: a kernel's illegal access spoils the whole context."""
    if target == "cpu":
        return True
    import torch

    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


def main() -> int:
    """The other process."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    subject = Subject(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        try:
            found = subject.trial(json.loads(line))
        except (Error, RuntimeError, MemoryError) as error:
            words = str(error).strip().splitlines() or [""]
            found = {"error": f"{type(error).__name__}: {words[0][:300]}"}
        found["over"] = not _is_alive(subject.target)
        answers.write(json.dumps(found) + "\n")
        answers.flush()
        if found["over"]:
            return 3
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
