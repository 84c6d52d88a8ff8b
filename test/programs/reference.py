"""Results of a program in fp64 on its own device, and how far from them others may be.

What is allowed, of the largest |result| (``allowed``):

- twice the distance of PyTorch's own results, and one unit in the last place of the result's type;
- for the order in which sums are made, which nobody promises: ``sqrt(n)`` units of f32 (of f64 for
  f64), n being the length of the longest sum that the program was seen to make. Rounding errors of
  n summands are independent, and each is half a unit of the sum so far, which for summands of one
  sign is no larger than the result; for others PyTorch's own distance is as large as ours;
- where PyTorch's switches let f32 products or convolutions use TF32: twice the distance of the
  program in fp64 with the operands of just these rounded to TF32's 11 bits, whether PyTorch's
  kernel happened to use TF32 or not (twice, since a unit that cuts bits off is up to a whole unit
  away, where rounding is half of one).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from export import narrowed
from torch.utils._python_dispatch import TorchDispatchMode

TIMES_PEERS = 2.0
CHUNK = 1 << 26  # elements that are compared at a time
MOST_PIECES = 64
_PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "addmm": 1, "baddbmm": 1, "addmv": 1}
_ALONG_A_DIM = ("_softmax", "_log_softmax", "cumsum", "cumprod", "logcumsumexp")
_SUMS = (
    "sum", "mean", "var", "var_mean", "std", "std_mean", "norm", "linalg_vector_norm", "logsumexp",
    "prod", "nansum", "native_layer_norm", "native_group_norm",
    "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "avg_pool2d", "avg_pool3d",
)  # fmt: skip


def tensors_of(results: Any) -> list[torch.Tensor]:
    """All tensors among results."""
    leaves = torch.utils._pytree.tree_leaves(results)
    return [x.detach() for x in leaves if isinstance(x, torch.Tensor)]


class Sums(TorchDispatchMode):
    """Sees a program run. longest: summands of one element, at most. narrow: names of operations
    whose f32 operands may become TF32."""

    def __init__(self) -> None:
        super().__init__()
        self.longest, self.narrow = 1, set[str]()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[override]
        """Runs an operation as it is."""
        made = func(*args, **(kwargs or {}))
        name = func._opname
        self.longest = max(self.longest, _length(name, args, made))
        if _may_be_tf32(name) and all(
            x.dtype == torch.float32 and x.is_cuda for x in tensors_of(list(args))
        ):
            self.narrow.add(name)
        return made


def _length(name: str, args: Sequence[Any], made: Any) -> int:
    """Summands of an element of an operation's result."""
    if name in _PRODUCTS:
        return args[_PRODUCTS[name]].shape[-1]
    if name == "convolution":  # of a transposed one the result's channels are the second dim
        return args[1].numel() // args[1].shape[1 if args[6] else 0]
    if name.startswith("_scaled_dot_product"):
        return max(args[0].shape[-1], args[1].shape[-2])
    if name in _ALONG_A_DIM and args[0].dim():
        return args[0].shape[args[1]]
    if name in _SUMS:
        fewest = min((x.numel() for x in tensors_of(made) if x.numel()), default=1)
        return args[0].numel() // fewest
    return 1


def _may_be_tf32(name: str) -> bool:
    """By PyTorch's switches as they are."""
    if name == "convolution":
        return torch.backends.cudnn.allow_tf32
    return name in _PRODUCTS and torch.backends.cuda.matmul.allow_tf32


class Rounding(TorchDispatchMode):
    """Rounds f64 operands of these operations to TF32."""

    def __init__(self, names: set[str]):
        super().__init__()
        self.names = names

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[override]
        """Runs an operation; what it adds to a product is no operand of it."""
        name = func._opname
        if name in self.names:
            first = _PRODUCTS.get(name, 0)
            args = [to_tf32(x) if first <= i < first + 2 else x for i, x in enumerate(args)]
        return func(*args, **(kwargs or {}))


def to_tf32(value: Any) -> Any:
    """Of f64 the nearest with 11 bits, halves to even."""
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float64:
        return value
    bits = value.contiguous().view(torch.int64)
    lost = 52 - 10
    bits = (bits + ((1 << (lost - 1)) - 1) + ((bits >> lost) & 1)) & -(1 << lost)
    return bits.view(torch.float64)


class Reference:
    """Results of ``model`` in fp64. own: its results as it is, in which it is looked for whether
    the leading dim is a batch, where there is no room for all of it at once.

    Raises torch.OutOfMemoryError, RuntimeError or TypeError where there are none.
    """

    def __init__(self, model: Callable, inputs: Sequence[Any], own: Sequence[torch.Tensor]):
        self.model = copy.deepcopy(model).double() if hasattr(model, "double") else model
        self.inputs, self.pieces = inputs, 1
        try:
            self.results = self._whole(self.inputs)
        except torch.OutOfMemoryError:
            while self.pieces < MOST_PIECES:
                self.pieces *= 2
                self._check_batch(model, own)
                try:
                    self.results = self._run()
                    return
                except torch.OutOfMemoryError:
                    torch.cuda.empty_cache()
            raise

    def rounded(self, names: set[str]) -> list[torch.Tensor]:
        """The same with these operations' operands in TF32."""
        with Rounding(names):
            return self._run()

    def _run(self) -> list[torch.Tensor]:
        if self.pieces == 1:
            return self._whole(self.inputs)
        parts = [self._whole(some) for some in self._split()]
        return [torch.cat(together) for together in zip(*parts, strict=True)]

    def _split(self) -> list[list[Any]]:
        size = next(x.shape[0] for x in self.inputs if isinstance(x, torch.Tensor) and x.dim())
        step = -(-size // self.pieces)
        return [
            [x[at : at + step] if isinstance(x, torch.Tensor) else x for x in self.inputs]
            for at in range(0, size, step)
        ]

    def _whole(self, inputs: Sequence[Any]) -> list[torch.Tensor]:
        return tensors_of(self.model(*(narrowed(x, "float64") for x in inputs)))

    def _check_batch(self, model: Callable, own: Sequence[torch.Tensor]) -> None:
        """Raises RuntimeError if rows depend on the others."""
        given = [x for x in self.inputs if isinstance(x, torch.Tensor)]
        sizes = {x.shape[0] if x.dim() else 0 for x in (*given, *own)}
        if len(sizes) != 1 or 0 in sizes:
            raise RuntimeError("the leading dim is no batch")
        some = self._split()[0]
        rows = next(x.shape[0] for x in some if isinstance(x, torch.Tensor))
        alone = tensors_of(model(*some))
        if not distance(alone, [x[:rows] for x in own]) <= 1e3 * unit(own):
            raise RuntimeError("rows depend on the others")


def distance(results: Any, exact: Sequence[torch.Tensor]) -> float:
    """The largest |difference| over the largest finite |exact|, of all results; infinite where
    one has a NaN or an infinity that the other has not, or where shapes differ. It is computed
    where ``exact`` is."""
    worst = 0.0
    found = tensors_of(results)
    if len(found) != len(exact):
        return float("inf")
    for got, wanted in zip(found, exact, strict=True):
        if got.shape != wanted.shape:
            return float("inf")
        off, scale = 0.0, 0.0
        pairs = zip(got.flatten().split(CHUNK), wanted.flatten().split(CHUNK), strict=True)
        for x, y in pairs:
            x, y = x.to(y.device).double(), y.double()
            finite = y.isfinite()
            if not bool((finite | (x == y) | (x.isnan() & y.isnan())).all()):
                return float("inf")
            far = torch.where(finite, x - y, 0.0).abs().max() if y.numel() else y.new_zeros(())
            if not bool(far.isfinite()):
                return float("inf")
            off = max(off, float(far))
            if y.numel():
                scale = max(scale, float(torch.where(finite, y, 0.0).abs().max()))
        worst = max(worst, off / (scale or 1.0))
    return worst


def unit(results: Any) -> float:
    """One unit in the last place of 1 of the coarsest type among the results."""
    return max(
        (torch.finfo(x.dtype).eps for x in tensors_of(results) if x.dtype.is_floating_point),
        default=0.0,
    )


def allowed(results: Any, peers: float, longest: int, tf32: float) -> float:
    """How far results may be; peers, tf32: how far others are. See the top of this file."""
    kinds = [x.dtype for x in tensors_of(results) if x.dtype.is_floating_point]
    if not kinds:
        return TIMES_PEERS * peers
    is_double = all(kind == torch.float64 for kind in kinds)
    sums = torch.finfo(torch.float64 if is_double else torch.float32).eps * math.sqrt(longest)
    return TIMES_PEERS * max(peers, tf32) + unit(results) + sums
