"""What a PyTorch program returns, as tensors and as the way to put them together again."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import UnsupportedError

_CONSTANTS = (type(None), bool, int, float, str)
Rebuild = Callable[[Iterator[Any]], Any]


def flatten(results: Any) -> tuple[tuple[Any, ...], Rebuild | None]:
    """The tensors of ``results`` in order, and what makes the same of others: None where
    ``results`` is one tensor, or a tuple of several.

    Containers are those that PyTorch knows. None, numbers and words are returned as they are. Of
    other objects that have tensors (caches of keys and values) a copy gets the tensors.
    """
    from torch.utils import _pytree as pytree

    named, spec = pytree.tree_flatten_with_path(results)
    tensors: list[Any] = []
    made = [_leaf(leaf, pytree.keystr(path), tensors, ()) for path, leaf in named]

    def rebuild(values: Iterator[Any]) -> Any:
        return pytree.tree_unflatten([make(values) for make in made], spec)

    if not tensors:
        raise UnsupportedError("the PyTorch program returns no tensor")
    count = spec.num_leaves
    expected = pytree.tree_structure((0,) * count if count > 1 else 0)
    is_flat = all(make is next for make in made)
    if is_flat and spec == expected:
        return tuple(tensors), None
    return tuple(tensors), (is_flat and _of_list(results)) or rebuild


def _of_list(results: Any) -> Rebuild | None:
    """What makes a list or a named tuple of tensors alone, faster than PyTorch's trees do."""
    import torch

    kind = type(results)
    if not isinstance(results, (list, tuple)) or not all(
        isinstance(x, torch.Tensor) for x in results
    ):
        return None
    # torch.return_types' are made of an iterator, as lists are.
    if kind is list or hasattr(kind, "n_sequence_fields"):
        return kind
    return getattr(kind, "_make", None)


def _leaf(value: Any, place: str, tensors: list[Any], around: tuple[Any, ...]) -> Rebuild:
    import torch

    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return next
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        raise UnsupportedError(
            f"the PyTorch program returns {value} as result{place}, a number that depends on open "
            "extents; expected tensors and numbers that are known"
        )
    if isinstance(value, _CONSTANTS):
        return lambda values: value
    count = len(tensors)
    fields = {}
    if not isinstance(value, torch.nn.Module) and not any(value is other for other in around):
        for name, inner in getattr(value, "__dict__", {}).items():
            fields[name] = _field(inner, f"{place}.{name}", tensors, (*around, value))
    if len(tensors) == count:
        if around:
            return lambda values: value
        raise UnsupportedError(
            f"the PyTorch program returns {type(value).__name__} as result{place}; expected "
            "tensors, numbers or None, in tuples, lists, dictionaries, objects and what else "
            "torch.utils._pytree knows"
        )

    def rebuild(values: Iterator[Any]) -> Any:
        made = copy.copy(value)
        for name, make in fields.items():
            object.__setattr__(made, name, make(values))
        return made

    return rebuild


def _field(value: Any, place: str, tensors: list[Any], around: tuple[Any, ...]) -> Rebuild:
    """Of an object: its lists and dictionaries may have objects in them as well."""
    if type(value) in (list, tuple):
        items = [_field(x, f"{place}[{i}]", tensors, around) for i, x in enumerate(value)]
        return lambda values: type(value)(make(values) for make in items)
    if type(value) is dict:
        entries = {k: _field(x, f"{place}[{k!r}]", tensors, around) for k, x in value.items()}
        return lambda values: {k: make(values) for k, make in entries.items()}
    return _leaf(value, place, tensors, around)
