"""How long each kernel of a program takes on a GPU, beside what it must move."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import ArgumentError, UnsupportedError, at_least
from .explain.launches import Launch, of_names
from .explain.render import bytes_text, columns

if TYPE_CHECKING:
    from .executable import Executable

# So long the GPU waits before a call, so that the host is ahead of it and no kernel waits for its
# launch: cycles of some half a nanosecond, for the call and for each launch with its events.
_CYCLES, _CYCLES_OF_LAUNCH = 200_000, 40_000


@dataclasses.dataclass(frozen=True)
class KernelTime:
    """A launch of a kernel.

    kernel: its name for the driver. source: file:line:column of its first operation, as
    ``explain`` has it; "" where that is not known. median_us, least_us: microseconds, of all
    repeats. reads, writes: bytes of its arguments and results, each whole and once; None where
    extents are open, and for copies, sorts and the like, which ``explain`` has no kernel for.
    predicted_us: microseconds that it was predicted to take, None for the same. share: of the sum
    of all medians, from 0 to 1.
    """

    kernel: str
    source: str
    median_us: float
    least_us: float
    reads: int | None
    writes: int | None
    predicted_us: float | None
    share: float

    @property
    def tb_s(self) -> float | None:
        """Terabytes (1e12) a second of ``reads`` and ``writes``, by the median."""
        if self.reads is None or self.writes is None or self.median_us <= 0:
            return None
        return (self.reads + self.writes) / (self.median_us * 1e6)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**dataclasses.asdict(self), "tb_s": self.tb_s}


@dataclasses.dataclass(frozen=True)
class Profile:
    """What :meth:`Executable.profile` found; ``str()`` is a table.

    program: name of the function. target: what it is compiled for. repeats: calls that were
    timed. cold: whether the arguments were not in the GPU's L2 cache when a call began. kernels:
    its launches, in order.
    """

    program: str
    target: str
    repeats: int
    cold: bool
    kernels: tuple[KernelTime, ...]

    @property
    def total_us(self) -> float:
        """Microseconds of all kernels together: the sum of the medians."""
        return sum(kernel.median_us for kernel in self.kernels)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "program": self.program, "target": self.target, "repeats": self.repeats,
            "cold": self.cold, "total_us": self.total_us,
            "kernels": [kernel.as_dict() for kernel in self.kernels],
        }  # fmt: skip

    def __str__(self) -> str:
        count, calls = len(self.kernels), self.repeats
        cache = "not in" if self.cold else "in"
        head = (
            f"{self.program} for {self.target}: {count} kernel{'' if count == 1 else 's'}, "
            f"{self.total_us:.1f} us (median of {calls} call{'' if calls == 1 else 's'}, arguments "
            f"{cache} the L2 cache{'' if self.cold else ' where they fit'})"
        )
        return "\n".join([head, "", *_table(self.kernels)]) if self.kernels else head


def by_kernel(found: Profile, kernels: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Microseconds of all launches of each of ``explain``'s kernels, by its name. Of equal kernels,
    which run the same code, those that were written at the place of a launch."""
    taken: dict[str, float] = {}
    for launch in found.kernels:
        ends = ("_splits", "_states", "_merge", "_map", "_rounds")
        names, name = {launch.kernel}, launch.kernel
        while name.endswith(ends):
            name = name.rpartition("_")[0]
            names.add(name)
        same = [k for k in kernels if k["name"] in names or k.get("code_of") in names]
        here = [k for k in same if k.get("source") == launch.source] or same
        if here:
            own = here[0]["name"]
            taken[own] = taken.get(own, 0.0) + launch.median_us
    return taken


def _table(kernels: Sequence[KernelTime]) -> list[str]:
    header = ["kernel", "source", "median us", "least us", "predicted", "reads", "writes", "TB/s",
              "share"]  # fmt: skip
    rows = [header]
    for kernel in kernels:
        moved = ["-" if n is None else bytes_text(n) for n in (kernel.reads, kernel.writes)]
        rate = "-" if kernel.tb_s is None else f"{kernel.tb_s:.2f}"
        expected = "-" if kernel.predicted_us is None else f"{kernel.predicted_us:.1f}"
        times = [f"{kernel.median_us:.1f}", f"{kernel.least_us:.1f}", expected]
        share = f"{100 * kernel.share:.0f} %"
        rows.append([kernel.kernel, kernel.source, *times, *moved, rate, share])
    # Numbers are aligned to the right.
    widths = [0, 0, *(max(len(row[i]) for row in rows) for i in range(2, len(header)))]
    return columns([[c.rjust(w) for c, w in zip(row, widths, strict=True)] for row in rows])


def profile(
    executable: Executable, given: Sequence[Any], repeats: int, out: Any, stream: Any
) -> Profile:
    """``Executable.profile`` with arguments as the compiled program takes them."""
    at_least("repeats", repeats, 1)
    if not isinstance(repeats, int):
        raise ArgumentError(f"repeats: expected a whole number, got {repeats!r}")
    if executable.target == "cpu":
        raise UnsupportedError(
            "profile: kernels are timed on a GPU, and this program is for the cpu; compile it for "
            "target='cuda', or time whole calls on a CPU with redfuse bench or redfuse demo"
        )
    if out is not None and not isinstance(out, (list, tuple)):
        out = [out]
    sets = _sets(given, stream)
    call = executable.timed_call
    names = [name for name, _ in call(given, out, stream)]  # the warm-up
    samples: list[list[tuple[str, float]]] = []
    for number in range(1, repeats + 1):  # the warm-up has used the first
        arguments = sets[number % len(sets)] if sets else given
        if sets:
            _delay(arguments, stream, len(names))
        samples.append(call(arguments, out, stream))
        if [name for name, _ in samples[-1]] != names:
            raise UnsupportedError(
                f"profile: {executable.signature.name} launches other kernels from call to call, "
                "which have no times in common"
            )
    known = of_names(executable.launches, names)
    times = [[_microseconds(sample[i]) for sample in samples] for i in range(len(names))]
    kernels = tuple(_kernel_times(known, times))
    cold = bool(sets)
    return Profile(executable.signature.name, executable.target, repeats, cold, kernels)


def _microseconds(time: tuple[str, float]) -> float:
    return round(time[1] * 1e-3, 3)  # no event is closer than that


def _kernel_times(known: Sequence[Launch], times: Sequence[list[float]]) -> Iterator[KernelTime]:
    medians = [statistics.median(each) for each in times]
    total = sum(medians)
    for launch, each, median in zip(known, times, medians, strict=True):
        share = median / total if total else 0.0
        yield KernelTime(
            launch.kernel, launch.source, median, min(each), launch.reads, launch.writes,
            launch.predicted_us, share,
        )  # fmt: skip


def _sets(given: Sequence[Any], stream: Any) -> list[list[Any]]:
    """Copies of the arguments that take turns, so that none is in the L2 cache when its turn
    comes; none where PyTorch cannot make them. Made on the stream of the calls."""
    from .bench.gpu_timing import sets_of
    from .runtime.strides import on_stream

    tensors = {i: tensor for i, x in enumerate(given) if (tensor := _tensor(x)) is not None}
    if not tensors:
        return []
    made, arrays = [], list(tensors.values())
    with on_stream(stream, arrays[0]):
        sets = sets_of(arrays, least=1)
    for copies in sets:
        arguments = list(given)
        for place, tensor in zip(tensors, copies, strict=True):
            arguments[place] = tensor
        made.append(arguments)
    return made


def _tensor(value: Any) -> Any:
    """A torch tensor on the memory of an array on a GPU; None for scalars, and where the installed
    PyTorch sees no GPU."""
    is_array = hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__")
    if not is_array or getattr(value, "shape", None) == ():
        return None
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    if not isinstance(value, torch.Tensor):
        try:
            value = torch.from_dlpack(value) if hasattr(value, "__dlpack__") else None
        except Exception:  # of any library: the call says what is wrong
            return None
    return value if value is not None and value.is_cuda else None


def _delay(arguments: Sequence[Any], stream: Any, count: int) -> None:
    """Has the GPU wait while the host launches ``count`` kernels."""
    import torch

    from .runtime.strides import on_stream

    tensor = next(x for x in arguments if isinstance(x, torch.Tensor) and x.is_cuda)
    with torch.cuda.device(tensor.device), on_stream(stream, tensor):
        torch.cuda._sleep(_CYCLES + _CYCLES_OF_LAUNCH * count)
