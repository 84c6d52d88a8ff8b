"""Rules of our own, for operations that PyTorch's rules make too much of, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ...errors import UnsupportedError

RULES: dict[str, Callable[..., Any]] = {}


def composes(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function of an operation's arguments that calls other operations on them. Names
    without a library are aten's."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            RULES[name if name.count(".") != 1 else f"aten.{name}"] = function
        return function

    return add


# ---- views of memory


def _in_memory(x: Tensor) -> Tensor:
    """The elements of x as they lie in memory, in one dim."""
    order = sorted(range(x.dim()), key=lambda d: (-x.stride(d), d))
    dense = x.permute(order)
    if not dense.is_contiguous():
        raise UnsupportedError(
            f"a view by strides of a tensor of shape {tuple(x.shape)} and strides {x.stride()}, "
            "between whose elements there are others"
        )
    return dense.reshape(-1)


def _strided_places(x: Tensor, size: Any, stride: Any, offset: Any) -> Tensor:
    first = (x.storage_offset() if offset is None else offset) - x.storage_offset()
    last = first + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if 0 not in size and (first < 0 or last >= x.numel()):
        raise UnsupportedError(
            "a view by strides that begins before or ends behind the tensor it is given"
        )
    at = torch.full([1] * len(size), first, dtype=torch.int64)
    for d, (n, s) in enumerate(zip(size, stride, strict=True)):
        shape = [1] * len(size)
        shape[d] = n
        at = at + (torch.arange(n) * s).reshape(shape)
    return at


@composes("as_strided.default", "as_strided_copy.default")
def _as_strided(self: Tensor, size: Any, stride: Any, storage_offset: Any = None) -> Tensor:
    places = _strided_places(self, size, stride, storage_offset)
    return _in_memory(self)[places.reshape(-1)].reshape(tuple(size))


@composes("as_strided_scatter.default")
def _as_strided_scatter(
    self: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: Any = None
) -> Tensor:
    if not self.is_contiguous():
        raise UnsupportedError("a write by strides to a tensor that is not contiguous")
    places = _strided_places(self, size, stride, storage_offset)
    flat = self.reshape(-1).index_put((places.reshape(-1),), src.reshape(-1))
    return flat.reshape(self.shape)


@composes("unfold.default", "unfold_copy.default")
def _unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    if self.dim() == 0:
        return self.expand(size)
    dim = dimension % self.dim()
    count = (self.shape[dim] - size) // step + 1
    places = (torch.arange(count) * step).unsqueeze(1) + torch.arange(size)
    made = self.movedim(dim, -1)[..., places]
    return made.movedim(-2, dim)


@composes("diagonal_scatter.default")
def _diagonal_scatter(
    self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    moved = self.movedim((dim1, dim2), (0, 1))
    at = torch.arange(src.shape[-1])
    rows, columns = (at, at + offset) if offset >= 0 else (at - offset, at)
    made = moved.index_put((rows, columns), src.movedim(-1, 0))
    return made.movedim((0, 1), (dim1, dim2))


# ---- orders


def _of_all(x: Tensor) -> Tensor:
    return x.reshape(-1)


@composes("median.dim")
def _median_of(self: Tensor, dim: int, keepdim: bool = False) -> Any:
    return _middle(self, dim, keepdim, True)


@composes("nanmedian.dim")
def _nanmedian_of(self: Tensor, dim: int, keepdim: bool = False) -> Any:
    return _middle(self, dim, keepdim, False)


@composes("median.default")
def _median(self: Tensor) -> Tensor:
    return _middle(_of_all(self), 0, False, True)[0]


@composes("nanmedian.default")
def _nanmedian(self: Tensor) -> Tensor:
    return _middle(_of_all(self), 0, False, False)[0]


def _middle(x: Tensor, dim: int, keepdim: bool, sees_nan: bool) -> Any:
    """The lower one of those in the middle, and where it is: NaN, which is last, where there is
    one and it is seen."""
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64)
    values, places = torch.sort(x, dim=dim, stable=True)
    count = x.shape[dim]
    if x.dtype.is_floating_point:
        numbers = (~x.isnan()).sum(dim, keepdim=True)
        at = (numbers - 1).clamp_min(0) // 2
        if sees_nan:
            at = torch.where(numbers < count, numbers, at)
    else:
        shape = list(x.shape)
        shape[dim] = 1
        at = torch.full(shape, (count - 1) // 2, dtype=torch.int64)
    made = values.gather(dim, at), places.gather(dim, at)
    return made if keepdim else tuple(t.squeeze(dim) for t in made)


@composes("mode.default")
def _mode(self: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The least of the most frequent ones, and where it is last."""
    if self.dim() == 0:
        return self.clone(), torch.zeros((), dtype=torch.int64)
    x = self.movedim(dim, -1)
    same = x.unsqueeze(-1) == x.unsqueeze(-2)
    counts = same.sum(-1)
    frequent = counts == counts.amax(-1, keepdim=True)
    ordered, places = torch.sort(x, dim=-1, stable=True)
    first = frequent.gather(-1, places).to(torch.int64).argmax(-1, keepdim=True)
    value = ordered.gather(-1, first)
    at = torch.where(x == value, torch.arange(x.shape[-1]), 0).amax(-1, keepdim=True)
    made = value.movedim(-1, dim), at.movedim(-1, dim)
    return made if keepdim else tuple(t.squeeze(dim) for t in made)


# Elements that are all compared; in more a place is found by halves.
FEW_COMPARED = 32


def _found(row: Tensor, value: Tensor, is_right: bool) -> Tensor:
    """How many elements of an ordered row go before a value, a binary digit after another."""
    size = row.shape[-1]
    count = torch.zeros_like(value, dtype=torch.int64)
    for digit in reversed(range(size.bit_length())):
        last = count + ((1 << digit) - 1)
        at = last.clamp(0, size - 1)
        element = row[at] if row.dim() == 1 else row.gather(-1, at)
        behind = element > value if is_right else element >= value
        count = torch.where((last < size) & behind.logical_not(), last + 1, count)
    return count


@composes("searchsorted.Tensor")
def _searchsorted(
    sorted_sequence: Tensor, self: Tensor, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """How many are less; NaN is behind all."""
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    is_right = right or side == "right"
    size = sorted_sequence.shape[-1]
    if isinstance(size, int) and size > FEW_COMPARED:
        count = _found(sorted_sequence, self, is_right)
        return count.to(torch.int32) if out_int32 else count
    value, row = self.unsqueeze(-1), sorted_sequence.unsqueeze(-2)
    if sorted_sequence.dim() == 1:
        row = sorted_sequence
    behind = row > value if is_right else row >= value
    count = behind.logical_not().sum(-1)
    return count.to(torch.int32) if out_int32 else count


@composes("searchsorted.Scalar")
def _searchsorted_number(sorted_sequence: Tensor, self: Any, **more: Any) -> Tensor:
    return _searchsorted(sorted_sequence, torch.full((), self, dtype=sorted_sequence.dtype), **more)


@composes("bucketize.Tensor")
def _bucketize(
    self: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    return _searchsorted(boundaries, self, out_int32=out_int32, right=right)


@composes("bucketize.Scalar")
def _bucketize_number(self: Any, boundaries: Tensor, **more: Any) -> Tensor:
    return _bucketize(torch.full((), self, dtype=boundaries.dtype), boundaries, **more)


# ---- places that are data


@composes("masked_scatter.default")
def _masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    self, mask = torch.broadcast_tensors(self, mask)
    if source.numel() == 0:
        return self.clone()
    number = mask.reshape(-1).to(torch.int64).cumsum(0) - 1
    taken = source.reshape(-1)[number.clamp(0, source.numel() - 1)].reshape(self.shape)
    return torch.where(mask, taken, self)


@composes("put.default")
def _put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    flat = self.reshape(-1)
    made = flat.index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return made.reshape(self.shape)


@composes("index_reduce.default")
def _index_reduce(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *,
    include_self: bool = True,
) -> Tensor:  # fmt: skip
    if self.dim() == 0:
        made = _index_reduce(self.reshape(1), 0, index.reshape(-1), source.reshape(1), reduce,
                             include_self=include_self)  # fmt: skip
        return made.reshape(())
    shape = [1] * self.dim()
    shape[dim] = -1
    at = index.reshape(shape).expand(source.shape)
    return torch.scatter_reduce(self, dim, at, source, reduce, include_self=include_self)


@composes("_embedding_bag.default", "_embedding_bag_forward_only.default")
def _embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False,
    mode: int = 0, sparse: bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False, padding_idx: int = -1,
) -> Any:  # fmt: skip
    """Sums (0), means (1) or maxima (2) of rows; bag i begins at offset i. Of the other results,
    those that PyTorch leaves empty or zero are so."""
    bags = offsets.shape[0] - int(include_last_offset)
    number = torch.arange(indices.shape[0], dtype=offsets.dtype)
    bag = (offsets[:bags].unsqueeze(0) <= number.unsqueeze(1)).sum(1) - 1
    rows = weight[indices]
    counted = torch.ones_like(indices, dtype=torch.bool)
    if padding_idx >= 0:
        counted = indices != padding_idx
    size = torch.zeros(bags, dtype=torch.int64).index_add(0, bag, counted.to(torch.int64))
    column, at = counted.unsqueeze(1), bag.unsqueeze(1).expand(rows.shape)
    places = size.to(indices.dtype)
    if mode == 2:
        start = torch.full((bags, weight.shape[1]), float("-inf"), dtype=weight.dtype)
        most = start.scatter_reduce(0, at, torch.where(column, rows, float("-inf")), "amax")
        is_it = column & (rows == most[bag])
        first = torch.full((bags, weight.shape[1]), indices.shape[0] - 1, dtype=torch.int64)
        where = torch.where(is_it, number.to(torch.int64).unsqueeze(1), indices.shape[0] - 1)
        first = first.scatter_reduce(0, at, where, "amin")
        some = size.unsqueeze(1) > 0
        made = torch.where(some, most, 0.0).to(weight.dtype)
        return made, bag.to(indices.dtype), places, torch.where(some, indices[first], 0)
    wide = torch.float32 if weight.dtype.itemsize < 4 else weight.dtype
    rows = torch.where(column, rows, 0).to(wide)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    made = torch.zeros((bags, weight.shape[1]), dtype=wide).index_add(0, bag, rows)
    if mode == 1:
        made = made / size.clamp_min(1).unsqueeze(1)
        return made.to(weight.dtype), bag.to(indices.dtype), places, places
    none = torch.zeros_like(places)
    whose = bag.to(indices.dtype) if padding_idx >= 0 else torch.zeros(0, dtype=indices.dtype)
    return made.to(weight.dtype), whose, none, none


# ---- pooling


def pooling_windows(size: int, made: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of a dim that is pooled to ``made`` elements: places in the input (made x longest window),
    lengths of windows, and which places are inside theirs."""
    starts = [i * size // made for i in range(made)]
    ends = [-(-(i + 1) * size // made) for i in range(made)]
    longest = max(e - s for s, e in zip(starts, ends, strict=True))
    places = torch.tensor(starts).unsqueeze(1) + torch.arange(longest)
    counts = torch.tensor([e - s for s, e in zip(starts, ends, strict=True)])
    return places.clamp_max(size - 1), counts, torch.arange(longest) < counts.unsqueeze(1)


def _adaptive_sizes(x: Tensor, output_size: Any) -> list[tuple[int, int]]:
    sizes = [output_size] if isinstance(output_size, int) else list(output_size)
    lead = x.dim() - len(sizes)
    return [(lead + i, x.shape[lead + i] if n is None else n) for i, n in enumerate(sizes)]


@composes("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default",
          "adaptive_avg_pool1d.default")  # fmt: skip
def _adaptive_avg_pool(self: Tensor, output_size: Any) -> Tensor:
    sizes = _adaptive_sizes(self, output_size)
    if all(self.shape[d] % n == 0 for d, n in sizes):
        kernel = [self.shape[d] // n for d, n in sizes]
        return getattr(torch.ops.aten, f"avg_pool{len(sizes)}d").default(self, kernel, kernel)
    made = self.to(torch.float32) if self.dtype.itemsize < 4 else self
    for d, size in sizes:
        at, counts, is_in = pooling_windows(made.shape[d], size)
        parts = made.index_select(d, at.reshape(-1)).unflatten(d, at.shape)
        behind = [1] * (made.dim() - d - 1)
        parts = torch.where(is_in.reshape(*at.shape, *behind), parts, 0)
        made = parts.sum(d + 1) / counts.to(made.dtype).reshape(-1, *behind)
    return made.to(self.dtype)


@composes("adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def _adaptive_max_pool(self: Tensor, output_size: Any) -> Any:
    """The largest of each window, and where it is first, counted through the pooled dims."""
    sizes = _adaptive_sizes(self, output_size)
    made = self
    places = torch.arange(_product(self.shape[d] for d, _ in sizes)).reshape(
        [self.shape[d] for d, _ in sizes]
    )
    inside = torch.ones([1] * 2 * len(sizes), dtype=torch.bool)
    for i, (d, size) in enumerate(sizes):
        at, _, is_in = pooling_windows(self.shape[d], size)
        made = made.index_select(d + i, at.reshape(-1)).unflatten(d + i, at.shape)
        places = places.index_select(2 * i, at.reshape(-1)).unflatten(2 * i, at.shape)
        shape = [1] * 2 * len(sizes)
        shape[2 * i], shape[2 * i + 1] = at.shape
        inside = inside & is_in.reshape(shape)
    lead = sizes[0][0]
    order = [*range(0, 2 * len(sizes), 2), *range(1, 2 * len(sizes), 2)]
    made = made.permute([*range(lead), *(lead + i for i in order)]).flatten(lead + len(sizes))
    places = places.permute(order).flatten(len(sizes)).expand(made.shape)
    inside = inside.permute(order).flatten(len(sizes))
    least = float("-inf") if self.dtype.is_floating_point else torch.iinfo(self.dtype).min
    value, at = torch.where(inside, made, least).max(-1, keepdim=True)
    return value.squeeze(-1), places.gather(-1, at).squeeze(-1)


def _product(sizes: Any) -> int:
    made = 1
    for n in sizes:
        made = made * n
    return made


# ---- products and norms


@composes("addbmm.default")
def _addbmm(
    self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    wide = torch.float32 if self.dtype.is_floating_point and self.dtype.itemsize < 4 else self.dtype
    made = torch.einsum("bij,bjk->ik", batch1.to(wide), batch2.to(wide))
    made = made if alpha == 1 else made * alpha
    if beta != 0:
        made = made + (self.to(wide) if beta == 1 else self.to(wide) * beta)
    return made.to(self.dtype)


@composes("_cdist_forward.default")
def _cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None = None) -> Tensor:
    return torch.linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, dim=-1)


@composes("_pdist_forward.default")
def _pdist(self: Tensor, p: float = 2) -> Tensor:
    rows, columns = _pairs(self.shape[0])
    return torch.linalg.vector_norm(self[rows] - self[columns], p, dim=-1)


def _pairs(count: int) -> tuple[Tensor, Tensor]:
    """Row and column of the elements above a diagonal."""
    first = [i for i in range(count) for _ in range(i + 1, count)]
    second = [j for i in range(count) for j in range(i + 1, count)]
    return torch.tensor(first, dtype=torch.int64), torch.tensor(second, dtype=torch.int64)


@composes("_trilinear.default")
def _trilinear(
    i1: Tensor, i2: Tensor, i3: Tensor, expand1: Any, expand2: Any, expand3: Any, sumdim: Any,
    unroll_dim: int = 1,
) -> Tensor:  # fmt: skip
    """The sum of products of three tensors, to each of which dims of extent 1 are added."""
    for dims, number in ((expand1, 1), (expand2, 2), (expand3, 3)):
        for d in sorted(dims):
            if number == 1:
                i1 = i1.unsqueeze(d)
            elif number == 2:
                i2 = i2.unsqueeze(d)
            else:
                i3 = i3.unsqueeze(d)
    made = i1 * i2 * i3
    return made.sum(list(sumdim)) if sumdim else made


@composes("_convolution.default", "_convolution.deprecated")
def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, *_: Any,
) -> Tensor:  # fmt: skip
    return torch.ops.aten.convolution.default(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


@composes("rrelu_with_noise_functional.default")
def _rrelu(
    self: Tensor, noise: Tensor, lower: float = 0.125, upper: float = 1 / 3,
    training: bool = False, generator: Any = None,
) -> Any:  # fmt: skip
    if training:
        raise UnsupportedError("it draws random numbers in training; expected eval mode")
    return torch.nn.functional.leaky_relu(self, (lower + upper) / 2), noise.clone()


@composes("flex_attention")
def _flex_attention(*args: Any, **named: Any) -> Any:
    """The scores, as the program's functions make them of all at once, and their weighted sums."""
    from torch._higher_order_ops.flex_attention import math_attention

    return math_attention(*args, **named)


# ---- the nearest elements


def _nearest(x: Tensor, size: Any, scales: Any, shift: float) -> Tensor:
    """The elements at (i + shift) * ratio of the dims behind the first two, at most the last."""
    places: list[Any] = [None, None]
    for d, (made, scale) in enumerate(zip(size, scales, strict=True), 2):
        ratio = x.shape[d] / made if scale is None else 1 / scale
        at = (torch.arange(made, dtype=torch.float32) + shift) * ratio
        at = at.to(torch.int64).clamp_max(x.shape[d] - 1)
        places.append(at.reshape(-1, *[1] * (x.dim() - 1 - d)))
    return torch.ops.aten.index.Tensor(x, places)


def _add_nearest(name: str, dims: int, shift: float) -> None:
    @composes(f"{name}{dims}d.default")
    def rule(self: Tensor, output_size: Any, *scales: Any, **named: Any) -> Tensor:
        given = [*scales, *named.values()]
        return _nearest(self, output_size, given or [None] * dims, shift)


for _dims in (1, 2, 3):
    _add_nearest("upsample_nearest", _dims, 0.0)
    _add_nearest("_upsample_nearest_exact", _dims, 0.5)
