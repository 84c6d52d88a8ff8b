"""One PyTorch program on one device: redfuse beside eager and torch.compile.

All are called with the same inputs, in turn, round after round, each call with cold caches; errors
are distances from the program in fp64. Only ``measured`` is called from elsewhere, in a process of
its own (``processes``). Several of them may compile at once; calls are made while a lock is held.
"""

from __future__ import annotations

import contextlib
import copy
import fcntl
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from export import AS_WRITTEN, load, narrowed

# Bytes written before each call, which are more than caches have.
FLUSHED = {"cuda": 256 << 20, "cpu": 64 << 20}
MOST_ROUNDS, FEWEST_ROUNDS = 30, 3
LONG_S = 10.0  # one call: what takes longer is timed by it alone
CPU_LIMIT_S = 1.0  # of eager: the leading dim of larger programs is halved
UNITS_ALLOWED = 2.0  # of PyTorch's own distance from fp64, and one unit of the result's type


class Program:
    """A model or function with its inputs, and the same in fp64; on the CPU until it is placed."""

    def __init__(self, job: dict):
        self.device, self.cut = job["device"], 1
        torch.manual_seed(0)
        module = load(Path(job["file"]), "program")
        model, inputs = _made(module, job["program"])
        if isinstance(model, torch.nn.Module):
            model = model.eval()
            if job["dtype"] != AS_WRITTEN:
                model = model.to(getattr(torch, job["dtype"]))
        self.model = model
        self.inputs = [narrowed(x, job["dtype"]) for x in inputs]

    def place(self) -> None:
        """Moves all to the device."""
        if isinstance(self.model, torch.nn.Module):
            self.model = self.model.to(self.device)
        self.inputs = [_placed(x, self.device) for x in self.inputs]

    def halve(self) -> bool:
        """Takes half of the leading dim of all inputs; False, and nothing is changed, if they have
        none in common or the program does not run so."""
        tensors = [x for x in self.inputs if isinstance(x, torch.Tensor)]
        leading = {x.shape[0] if x.dim() else 0 for x in tensors}
        if len(leading) != 1 or (size := leading.pop()) < 2:
            return False
        shorter = [
            x[: size // 2].contiguous() if isinstance(x, torch.Tensor) else x for x in self.inputs
        ]
        try:
            self.model(*shorter)
        except RuntimeError:  # the dim is no batch
            return False
        self.inputs, self.cut = shorter, self.cut * 2
        return True

    def exact(self) -> list[Any]:
        """Results in fp64; raises torch.OutOfMemoryError where they have no room."""
        model = self.model
        if isinstance(model, torch.nn.Module):
            model = copy.deepcopy(model).double()
        results = _flat(model(*(narrowed(x, "float64") for x in self.inputs)))
        return [x.cpu() for x in results]


def _made(module: Any, name: str) -> tuple[Any, list]:
    if hasattr(module, "get_inputs"):
        return module.Model(*module.get_init_inputs()), module.get_inputs()
    if hasattr(module, "models"):
        return next((make(), list(inputs)) for n, make, inputs in module.models() if n == name)
    function, specs = module.C[name][:2]
    return function, [_drawn(shape, dtype) for shape, dtype in specs]


def _drawn(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 100, shape).to(dtype)


def _placed(value: Any, device: str) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value


def _flat(results: Any) -> list[torch.Tensor]:
    leaves = torch.utils._pytree.tree_leaves(results)
    return [x.detach() for x in leaves if isinstance(x, torch.Tensor)]


def distance(results: Any, exact: Sequence[torch.Tensor]) -> float:
    """The largest |difference| over the largest finite |exact|, of all results; infinite where
    one has a NaN or an infinity that the other has not, or where shapes differ."""
    worst = 0.0
    found = [x.cpu().double() for x in _flat(results)]
    if len(found) != len(exact):
        return float("inf")
    for got, wanted in zip(found, (x.double() for x in exact), strict=True):
        if got.shape != wanted.shape:
            return float("inf")
        finite = wanted.isfinite()
        if not bool(((got == wanted) | (got.isnan() & wanted.isnan()))[~finite].all()):
            return float("inf")
        if not bool(finite.any()):
            continue
        scale = float(wanted[finite].abs().max()) or 1.0
        far = float((got - wanted)[finite].abs().max()) / scale
        worst = max(worst, float("inf") if far != far else far)
    return worst


def unit(results: Any) -> float:
    """One unit in the last place of 1 of the coarsest type among the results."""
    return max(
        (torch.finfo(x.dtype).eps for x in _flat(results) if x.dtype.is_floating_point),
        default=0.0,
    )


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """While nobody else is who asks for the same file."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Clock:
    """Times a call with cold caches, in ms."""

    def __init__(self, device: str):
        self.is_gpu = device == "cuda"
        self.swept = torch.empty(FLUSHED[device], dtype=torch.uint8, device=device)

    def sample(self, call: Callable[[], Any]) -> float:
        """One call's. On a GPU between events, behind the sweep, so that launches are ahead."""
        if not self.is_gpu:
            self.swept.fill_(1)
            start = time.perf_counter()
            call()
            return (time.perf_counter() - start) * 1e3
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.swept.fill_(1)
        first.record()
        call()
        last.record()
        last.synchronize()
        return first.elapsed_time(last)


def medians(calls: dict[str, Callable[[], Any]], clock: Clock, budget: float) -> dict[str, float]:
    """ms of each, sampled in turn; budget: seconds of each."""
    one = {name: min(clock.sample(call), clock.sample(call)) for name, call in calls.items()}
    rounds = {
        name: max(FEWEST_ROUNDS, min(MOST_ROUNDS, int(budget * 1e3 / max(ms, 1e-3))))
        for name, ms in one.items()
    }
    samples: dict[str, list[float]] = {
        name: [ms] if ms > LONG_S * 1e3 else [] for name, ms in one.items()
    }
    for turn in range(max(rounds.values())):
        for name, call in calls.items():
            if turn < rounds[name] and one[name] <= LONG_S * 1e3:
                samples[name].append(clock.sample(call))
    return {name: statistics.median(taken) for name, taken in samples.items()}


def measured(job: dict, tell: Callable[[str], None]) -> dict:
    """A row: errors, times in ms, kernels, seconds to compile; ``status`` is right, wrong or
    refused."""
    import redfuse

    torch.set_grad_enabled(False)
    tell("loading")
    program = Program(job)
    calls = {"eager": lambda: program.model(*program.inputs)}
    while program.device == "cpu" and _seconds(calls["eager"]) > CPU_LIMIT_S and program.halve():
        pass
    row: dict[str, Any] = {"cut": program.cut, "status": "right"}
    tell("redfuse.compile")
    start = time.perf_counter()
    try:
        exe = redfuse.compile(program.model, inputs=program.inputs, target=program.device,
                              options={"cache": False})  # fmt: skip
    except redfuse.Error as error:
        row.update(status="refused", words=str(error).splitlines()[0])
    else:
        row["compile_s"] = time.perf_counter() - start
        row["kernels"] = len(exe.explanation["kernels"])
        calls["redfuse"] = lambda: exe(*program.inputs)
    tell("waiting")
    with alone(Path(job["lock"])):
        tell("placing")
        program.place()
        if "compile" in job["peers"]:
            tell("torch.compile")
            start = time.perf_counter()
            compiled = torch.compile(program.model)
            compiled(*program.inputs)
            row["inductor_compile_s"] = time.perf_counter() - start
            calls["inductor"] = lambda: compiled(*program.inputs)
        tell("comparing")
        _compare(program, calls, row)
        tell("timing")
        if program.device == "cuda":
            torch.cuda.empty_cache()
        times = medians(calls, Clock(program.device), job["budget"])
        row.update({f"{name}_ms": ms for name, ms in times.items()})
    return row


def _seconds(call: Callable[[], Any]) -> float:
    call()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _compare(program: Program, calls: dict[str, Callable[[], Any]], row: dict) -> None:
    """Errors of all calls against fp64, or against eager where fp64 has no room."""
    results = {name: call() for name, call in calls.items()}
    try:
        exact = program.exact()
        row["reference"] = "fp64"
    except (torch.OutOfMemoryError, RuntimeError, TypeError) as error:
        exact = [x.cpu() for x in _flat(results["eager"])]
        row["reference"] = f"eager ({type(error).__name__})"
    for name, found in results.items():
        row[f"{name}_error"] = distance(found, exact)
    if "redfuse" in results:
        peers = max(row[f"{n}_error"] for n in results if n != "redfuse")
        allowed = UNITS_ALLOWED * peers + unit(results["redfuse"])
        if row["reference"] != "fp64":  # both are away from it, in any direction
            allowed += unit(results["redfuse"])
        if not row["redfuse_error"] <= allowed:
            row["status"] = "wrong"
