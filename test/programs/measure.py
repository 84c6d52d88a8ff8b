"""One PyTorch program on one device: redfuse beside eager and torch.compile.

All are called with the same inputs, in turn, round after round, each call with cold caches; errors
are distances from the program in fp64. Only ``measured`` is called from elsewhere, in a process of
its own (``processes``). Several of them may compile and compare at once; while one is timed, no other
uses the device.
"""

from __future__ import annotations

import contextlib
import fcntl
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from export import AS_WRITTEN, load, narrowed
from processes import WAITING
from reference import Reference, Sums, allowed, distance, tensors_of, unit

# Bytes written before each call, which are more than caches have.
FLUSHED = {"cuda": 256 << 20, "cpu": 64 << 20}
MOST_ROUNDS, FEWEST_ROUNDS = 30, 3
PROFILED = 5  # calls
MOST_BEHIND = 8  # times the chosen plan's prediction: slower plans are not timed
LONG_S = 10.0  # one call: what takes longer is timed by it alone
CPU_LIMIT_S = 1.0  # of eager: the leading dim of larger programs is halved
LARGE = 1 << 30  # bytes of inputs and parameters: of such programs one is on a GPU at a time


class Program:
    """A model or function with its inputs; on the CPU until it is placed. Before that inputs for a
    GPU have a shape and no data, which take long to make there."""

    def __init__(self, job: dict):
        self.device, self.cut, self.dtype = job["device"], 1, job["dtype"]
        self.module, self.name = load(Path(job["file"]), "program"), job["program"]
        torch.manual_seed(0)
        self.model = _model(self.module, self.name)
        if isinstance(self.model, torch.nn.Module):
            self.model = self.model.eval()
            if self.dtype != AS_WRITTEN:
                self.model = self.model.to(getattr(torch, self.dtype))
        self.inputs = self._shaped() if self.device == "cuda" else self._drawn("cpu")

    def _drawn(self, device: str) -> list[Any]:
        torch.manual_seed(1)
        with torch.device(device):
            made = _inputs(self.module, self.name)
        return [_placed(narrowed(x, self.dtype), device) for x in made]

    def _shaped(self) -> list[Any]:
        try:
            made = self._drawn("meta")
        except (RuntimeError, TypeError, ValueError):  # it looks at what it has drawn
            return self._drawn("cpu")
        return [
            torch.empty_strided(x.shape, x.stride(), dtype=x.dtype)
            if isinstance(x, torch.Tensor) else x for x in made
        ]  # fmt: skip

    def place(self) -> None:
        """Moves the model to the GPU, and draws inputs there."""
        if self.device == "cpu":
            return
        if isinstance(self.model, torch.nn.Module):
            self.model = self.model.to(self.device)
        try:
            self.inputs = self._drawn(self.device)
        except (RuntimeError, TypeError):  # it names the CPU itself, or a generator there
            self.inputs = [_placed(x, self.device) for x in self._drawn("cpu")]

    def bytes(self) -> int:
        """Of inputs and parameters."""
        own = self.model.state_dict().values() if isinstance(self.model, torch.nn.Module) else ()
        return sum(x.nbytes for x in (*self.inputs, *own) if isinstance(x, torch.Tensor))

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


def _model(module: Any, name: str) -> Any:
    if hasattr(module, "get_inputs"):
        return module.Model(*module.get_init_inputs())
    if hasattr(module, "models"):
        return next(make() for n, make, _ in module.models() if n == name)
    return module.C[name][0]


def _inputs(module: Any, name: str) -> list:
    if hasattr(module, "get_inputs"):
        return module.get_inputs()
    if hasattr(module, "models"):
        return next(list(inputs) for n, _, inputs in module.models() if n == name)
    return [_random(shape, dtype) for shape, dtype in module.C[name][1]]


def _random(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 100, shape).to(dtype)


def _placed(value: Any, device: str) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value


@contextlib.contextmanager
def held(path: Path, tell: Callable[[str], None], shared: bool = False) -> Iterator[None]:
    """While nobody else holds the same file, or (shared) nobody holds it alone. The wait does not
    count against the program's time."""
    with open(path, "w") as file:
        tell(WAITING)
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
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
        if job.get("profile"):
            tell("redfuse.compile for the profile")
            _ = exe.launches
        if job.get("candidates"):
            tell("redfuse.compile for other plans")
            row["candidates"], others = _other_plans(exe, job["candidates"])
            calls.update({name: _called(one, program) for name, one in others.items()})
    lock = Path(job["lock"])
    is_large = program.device == "cuda" and program.bytes() > LARGE
    with contextlib.ExitStack() as large:
        if is_large:
            large.enter_context(held(lock.with_suffix(".large"), tell))
        # Work of others on the device would be in the times, so it is not done while one is timed.
        with held(lock, tell, shared=True):
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
            if program.device == "cuda":
                torch.cuda.synchronize()
                torch.cuda.empty_cache()
        with held(lock, tell):
            tell("timing")
            clock, plans = Clock(program.device), row.get("candidates", [])
            others = {plan["name"]: calls.pop(plan["name"]) for plan in plans[1:]
                      if plan["name"] in calls}  # fmt: skip
            times = medians(calls, clock, job["budget"])
            row.update({f"{name}_ms": ms for name, ms in times.items()})
            if others:  # among themselves: what runs before a call is in its time
                own = {plans[0]["name"]: calls["redfuse"]}
                times = medians({**own, **others}, clock, job["budget"])
                for plan in plans:
                    plan["ms"] = times.get(plan["name"])
            if "redfuse" in calls and job.get("profile"):
                tell("profiling")
                found = exe.profile(*program.inputs, repeats=PROFILED)
                row["profile"] = [kernel.as_dict() for kernel in found.kernels]
    return row


def _called(exe: Any, program: Program) -> Callable[[], Any]:
    return lambda: exe(*program.inputs)


def _other_plans(exe: Any, limit: int) -> tuple[list[dict], dict[str, Any]]:
    """What the compiler says of other plans, the chosen one first, and those that can be called."""
    import redfuse

    found, made = exe.candidates(limit), {}
    for plan in found[1:]:
        if not plan.predicted_us or plan.predicted_us > MOST_BEHIND * (found[0].predicted_us or 0):
            continue
        with contextlib.suppress(redfuse.Error):
            options = {"cache": False, **plan.options}
            one = redfuse.compile(exe.source.text, target=exe.target, options=options)
            one.interface = exe.interface
            one.copies_strided()
            made[plan.name] = one
    return [plan.as_dict() for plan in found], made


def _seconds(call: Callable[[], Any]) -> float:
    call()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _compare(program: Program, calls: dict[str, Callable[[], Any]], row: dict) -> None:
    """Errors of all calls against fp64, or against eager where fp64 has no room; one call's results
    are there at a time."""
    with Sums() as seen:
        eager = tensors_of(calls["eager"]())
    tf32 = 0.0
    try:
        reference = Reference(program.model, program.inputs, eager)
        exact = reference.results
        row["reference"] = "fp64"
    except (torch.OutOfMemoryError, RuntimeError, TypeError) as error:
        exact = eager
        row["reference"] = f"eager ({type(error).__name__})"
    else:
        if seen.narrow:
            tf32 = row["tf32_error"] = distance(reference.rounded(seen.narrow), exact)
    row["eager_error"] = distance(eager, exact)
    del eager
    plans = {plan["name"]: plan for plan in row.get("candidates", [])}
    for name in calls.keys() - {"eager", "redfuse", *plans}:
        row[f"{name}_error"] = distance(calls[name](), exact)
    if "redfuse" in calls:
        peers = max(row[f"{n}_error"] for n in calls if f"{n}_error" in row)
        results = calls["redfuse"]()
        row["redfuse_error"] = distance(results, exact)
        row["allowed_error"] = allowed(results, peers, seen.longest, tf32)
        if row["reference"] != "fp64":  # both are away from it, in any direction
            row["allowed_error"] += unit(results)
        if not row["redfuse_error"] <= row["allowed_error"]:
            row["status"] = "wrong"
        for name in plans.keys() & calls.keys():
            plans[name]["error"] = distance(calls[name](), exact)
            if not plans[name]["error"] <= row["allowed_error"]:
                row.update(status="wrong", words=f"by another plan: {name}")
