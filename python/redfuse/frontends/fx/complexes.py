"""Complex numbers: a tensor of them is a pair of real ones, from which rules in PyTorch's own words
make the parts of each result.

A rule is traced as any other (``decompose``), with pairs among its arguments and in its result, so
that the importer's lowerings see operations of real tensors alone. Operations without a rule are
taken apart by PyTorch's, whose operations are met in turn.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ...errors import UnsupportedError
from . import composed

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


@dataclasses.dataclass(frozen=True)
class Pair:
    """A complex tensor as its parts, real tensors of its shape and of one type: torch's in a rule,
    the builder's in the importer."""

    real: Any
    imag: Any


pytree.register_pytree_node(
    Pair, lambda pair: ([pair.real, pair.imag], None), lambda parts, _: Pair(*parts)
)

# Why an operation is not taken whose rules are for real tensors.
REFUSED = "no rule for complex tensors; expected operations of their parts, as by view_as_real"
# Rules of our own that hold for complex tensors, too (``composed``).
_COMPOSED = ("aten.addbmm.default", "aten._trilinear.default")
# [...] complex as [..., 2]: the importer makes one loop of it.
INTERLEAVES = ("aten.view_as_real.default", "aten.view_as_real_copy.default")
# Operations of graphs that may take complex tensors.
GRAPHS = ("cond", "wrap_with_set_grad_enabled")
# Types of parts in which no arithmetic is done.
_NARROW = (torch.float16, torch.bfloat16)


def pairs(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule for operations of aten, in all their overloads, where an argument or the
    result is complex. It gets their arguments, complex tensors as pairs."""

    def add(rule: Rule) -> Rule:
        RULES.update((f"aten.{name}", rule) for name in names)
        return rule

    return add


# ---- what the importer asks


def is_complex(value: Any) -> bool:
    """Whether what PyTorch knows of a value is a complex tensor."""
    return isinstance(value, torch.Tensor) and value.is_complex()


def concerns(node: Any) -> bool:
    """Whether a node of a graph takes or makes complex tensors."""
    if node.op != "call_function":
        return False
    metas = [node.meta.get("val"), *(n.meta.get("val") for n in node.all_input_nodes)]
    return any(map(is_complex, pytree.tree_leaves(metas)))


def rule_of(op: Any) -> Rule | None:
    """What makes the parts of an operation's results of the parts of its arguments; None where
    PyTorch's rules are to take it apart."""
    name = str(op).rpartition(".")[0]
    if name in _MOVES:
        return functools.partial(_flat_result, functools.partial(_by_part, op))
    rule = RULES.get(name)
    return None if rule is None else functools.partial(_arithmetic, rule)


def is_for_real(name: str) -> bool:
    """Whether an operation is composed by a rule of our own that holds for real tensors alone."""
    return name in composed.RULES and name not in _COMPOSED


def in_parts(values: Sequence[Any], spec: Any, mode: Any) -> tuple[list[Any], Any]:
    """Leaves of arguments and their structure, with fake tensors of the parts for complex ones."""

    def parts(value: Any) -> Any:
        if not is_complex(value):
            return value
        kind = value.dtype.to_real()
        with mode:
            return Pair(*(
                torch.empty_strided(value.shape, value.stride(), dtype=kind, device=value.device)
                for _ in range(2)
            ))  # fmt: skip

    return pytree.tree_flatten(pytree.tree_unflatten(map(parts, values), spec))


def paired(made: Any, said: Any) -> Any:
    """A rule's result with pairs where PyTorch says that a tensor is complex."""
    if is_complex(said):
        return Pair(*made)
    if isinstance(said, (list, tuple)):
        return [paired(m, s) for m, s in zip(made, said, strict=True)]
    return made


def _flat_result(rule: Rule, *args: Any, **kwargs: Any) -> Any:
    """Graphs return tuples, and no pairs."""
    made = rule(*args, **kwargs)
    return pytree.tree_map(
        lambda x: (x.real, x.imag) if isinstance(x, Pair) else x,
        made, is_leaf=lambda x: isinstance(x, Pair),
    )  # fmt: skip


def _arithmetic(rule: Rule, *args: Any, **kwargs: Any) -> Any:
    """Half-precision parts are computed with in f32."""

    def wide(x: Any) -> Any:
        if isinstance(x, Pair) and x.real.dtype in _NARROW:
            return Pair(x.real.float(), x.imag.float())
        return x

    args, kwargs = pytree.tree_map(wide, (args, kwargs), is_leaf=lambda x: isinstance(x, Pair))
    return _flat_result(rule, *args, **kwargs)


# ---- parts


def real_of(x: Any) -> Any:
    """The real part of a pair, a real tensor or a number."""
    return x.real if isinstance(x, (Pair, complex)) else x


def imag_of(x: Any) -> Any:
    """The imaginary part, which of what is real is zero."""
    if isinstance(x, (Pair, complex)):
        return x.imag
    return torch.zeros_like(x) if isinstance(x, torch.Tensor) else 0


def is_real(x: Any) -> bool:
    """Whether there is no imaginary part."""
    return not isinstance(x, (Pair, complex))


def as_pair(x: Any) -> Pair:
    """A number or tensor with both parts."""
    return x if isinstance(x, Pair) else Pair(real_of(x), imag_of(x))


def each(x: Any, function: Callable[[Any], Any]) -> Any:
    """The same of each part; of what is real, of itself."""
    return Pair(function(x.real), function(x.imag)) if isinstance(x, Pair) else function(x)


# ---- operations that do with both parts what they do with real tensors

# Move elements, or are linear. What they make has the parts of what is given.
_MOVES = frozenset(f"aten.{name}" for name in (
    "_reshape_alias", "_unsafe_index", "_unsafe_view", "alias", "alias_copy",
    "as_strided_scatter", "broadcast_to", "cat", "chunk", "clone", "constant_pad_nd", "contiguous",
    "cumsum", "detach", "detach_", "diag", "diag_embed", "diagonal", "diagonal_copy",
    "diagonal_scatter", "expand", "expand_copy", "flatten", "flip", "gather", "index",
    "index_add", "index_copy", "index_fill", "index_put", "index_select", "lift", "lift_fresh",
    "lift_fresh_copy", "masked_fill", "masked_scatter",
    "mean", "narrow", "nansum", "neg", "permute",
    "permute_copy", "pixel_shuffle", "pixel_unshuffle", "reflection_pad1d", "reflection_pad2d",
    "reflection_pad3d", "repeat", "replication_pad1d", "replication_pad2d", "replication_pad3d",
    "reshape", "resolve_conj", "resolve_neg", "roll", "rot90", "scatter", "scatter_add", "select",
    "select_copy", "select_scatter", "slice", "slice_copy", "slice_scatter", "split", "split_copy",
    "split_with_sizes", "split_with_sizes_copy", "squeeze", "squeeze_copy", "stack",
    "sum", "sum_to_size", "t", "t_copy", "take", "trace", "transpose", "transpose_copy", "tril",
    "triu", "unbind", "unbind_copy", "unflatten", "unfold", "unfold_copy", "unsqueeze",
    "unsqueeze_copy", "view_copy", "where", "_neg_view", "positive", "put",
))  # fmt: skip
# Their arguments that have parts; masks and places among the others go to both.
_DATA = ("self", "input", "other", "src", "source", "tensors", "value", "values")


def _by_part(op: Any, *args: Any, **kwargs: Any) -> Any:
    """An operation of the real parts, and of the imaginary ones."""
    names = [a.name for a in op._schema.arguments]
    named = {**dict(zip(names, args, strict=False)), **kwargs}
    if isinstance(named.get("alpha"), complex):
        raise UnsupportedError("a complex factor alpha; expected a real one")
    if named.get("reduce") not in (None, "add"):
        raise UnsupportedError(
            f"a reduction {named['reduce']!r} of complex numbers; expected 'add'"
        )
    if isinstance(named.get("dtype"), torch.dtype) and named["dtype"].is_complex:
        named["dtype"] = named["dtype"].to_real()

    def made(part: Callable[[Any], Any]) -> Any:
        return op(**{
            name: pytree.tree_map(part, value, is_leaf=lambda x: isinstance(x, Pair))
            if name in _DATA else value for name, value in named.items()
        })  # fmt: skip

    real, imag = made(real_of), made(imag_of)
    if isinstance(real, (list, tuple)):
        return [Pair(r, i) for r, i in zip(real, imag, strict=True)]
    return Pair(real, imag)


# ---- parts and types


@pairs("view_as_complex", "view_as_complex_copy")
def _view_as_complex(self: Any) -> Pair:
    return Pair(self.select(-1, 0), self.select(-1, 1))


@pairs("real")
def _real(self: Any) -> Any:
    return self.real


@pairs("imag")
def _imag(self: Any) -> Any:
    return self.imag


@pairs("complex")
def _complex(real: Any, imag: Any) -> Pair:
    return Pair(*torch.broadcast_tensors(real, imag))


@pairs("polar")
def polar(abs: Any, angle: Any) -> Pair:
    """A length and an angle."""
    return Pair(abs * torch.cos(angle), abs * torch.sin(angle))


@pairs("_conj", "conj", "conj_physical", "_conj_physical", "_conj_copy")
def conj(self: Any) -> Any:
    """The conjugate."""
    return self if is_real(self) else Pair(self.real, -self.imag)


@pairs("_to_copy", "to", "type_as")
def _to_copy(self: Any, *args: Any, dtype: Any = None, **named: Any) -> Any:
    for given in args:
        dtype = given if isinstance(given, torch.dtype) else getattr(given, "dtype", dtype)
        dtype = given.real.dtype.to_complex() if isinstance(given, Pair) else dtype
    if dtype is None:
        return self
    return converted(self, dtype)


def converted(x: Any, dtype: torch.dtype) -> Any:
    """Elements of another type; a real one takes the real parts."""
    if not dtype.is_complex:
        return real_of(x).to(dtype) if dtype != torch.bool else _is_not_zero(x)
    kind = dtype.to_real()
    return Pair(*(part.to(kind) for part in (real_of(x), imag_of(x))))


@pairs("copy")
def _copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    dtype = self.real.dtype.to_complex() if isinstance(self, Pair) else self.dtype
    return each(converted(src, dtype), lambda part: part.expand(_shape_of(self)))


def _shape_of(x: Any) -> Any:
    return real_of(x).shape


def _is_not_zero(x: Any) -> Any:
    return (real_of(x) != 0) | (imag_of(x) != 0)


@pairs("view")
def _view(self: Any, size: Any) -> Any:
    if isinstance(size, torch.dtype):
        return _viewed(self, size)
    return Pair(self.real.view(size), self.imag.view(size))


def _viewed(x: Any, dtype: torch.dtype) -> Any:
    """The same memory as elements of another type."""
    if is_real(x) and dtype.is_complex and x.dtype == dtype.to_real():
        return _view_as_complex(x.unflatten(-1, (-1, 2)))
    if not is_real(x) and dtype == x.real.dtype:
        return torch.stack([x.real, x.imag], -1).flatten(-2)
    if not is_real(x) and dtype == x.real.dtype.to_complex():
        return x
    raise UnsupportedError(f"complex numbers whose memory is viewed as {dtype}")


def _filled(number: Any, shape: Any, dtype: torch.dtype, device: Any) -> Any:
    def full(part: Any, kind: torch.dtype) -> Any:
        if isinstance(part, torch.Tensor):
            return part.to(kind).expand(shape)
        return torch.full(shape, part, dtype=kind, device=device)

    if not dtype.is_complex:
        return full(real_of(number), dtype)
    return Pair(full(real_of(number), dtype.to_real()), full(imag_of(number), dtype.to_real()))


def _fills(name: str, arguments: str, number: Any) -> None:
    """arguments: those that are given by their places. number: what is filled in."""

    @pairs(name)
    def rule(*args: Any, **named: Any) -> Any:
        given = {**dict(zip(arguments.split(), args, strict=False)), **named}
        like, dtype = given.get("self"), given.get("dtype")
        value = given.get("value", number)
        if dtype is None:
            is_pair = isinstance(like, Pair)
            kind = like.real.dtype if is_pair else torch.get_default_dtype()
            dtype = kind.to_complex()
        shape = given.get("size", () if like is None else real_of(like).shape)
        device = given.get("device")
        if device is None and like is not None:
            device = real_of(like).device
        return _filled(value, shape, dtype, device)


for _name, _number in (("zeros", 0), ("ones", 1), ("empty", 0)):
    _fills(_name, "size", _number)
    _fills(f"{_name}_like", "self", _number)
    _fills(f"new_{_name}", "self size", _number)
_fills("full", "size value", 0)
_fills("full_like", "self value", 0)
_fills("new_full", "self size value", 0)
_fills("fill", "self value", 0)
_fills("scalar_tensor", "value", 0)
for _name in ("empty_strided", "empty_permuted"):
    _fills(_name, "size strides", 0)
_fills("new_empty_strided", "self size strides", 0)
