"""How a PyTorch program is called: what it is given as a list of tensors, and what it returns.

A compiled program takes and returns tensors alone. The module it was made of may take keywords,
containers and numbers, write to its arguments and buffers, have unsigned integers and complex
numbers, and return containers.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, UnsupportedError
from ..runtime.strides import Layout, as_contiguous, is_contiguous, is_repeated, on_stream

Rebuild = Callable[[Iterator[Any]], Any]
# Types that programs hold in the signed type of their width.
UNSIGNED = {"uint8": "int8", "uint16": "int16", "uint32": "int32", "uint64": "int64"}
# Types whose parts lie beside each other, which programs hold with one more dim, of 2.
COMPLEX = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_OTHERWISE = {*UNSIGNED, *COMPLEX}


@dataclasses.dataclass
class Interface:
    """Of one program.

    spec: the pytree of (arguments, keywords) that it was exported with; leaves: its leaves, None
        where a tensor is expected. bound: read for each call, behind the caller's tensors
        (parameters, buffers that are written). writes: for each of the first results, the number of
        the argument that gets it. results: types of all results. rebuild: makes of the others what
        the module returns; None where that is the tuple of them, or the only one. layouts: of each
        argument how it lies in memory; None where it is row-major.
    """

    spec: Any
    leaves: list[Any]
    bound: list[Callable[[], Any]]
    writes: list[int]
    types: list[str]
    results: list[str]
    rebuild: Rebuild | None
    layouts: list[Layout | None]

    def is_plain(self) -> bool:
        """Whether calls need nothing of it."""
        return self._takes_and_returns_tensors and not self.has_layouts

    @functools.cached_property
    def _takes_and_returns_tensors(self) -> bool:
        """Whether it tells nothing but layouts."""
        from torch.utils import _pytree as pytree

        expected = pytree.tree_structure(((0,) * len(self.leaves), {}))
        return (
            self.spec == expected and all(x is TENSOR for x in self.leaves) and bool(self.leaves)
            and not self.bound and not self.writes and self.rebuild is None
            and not _OTHERWISE & {*self.types, *self.results}
        )  # fmt: skip

    def call(
        self, invoke: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any],
        out: Any, stream: Any,
    ) -> Any:  # fmt: skip
        """``invoke(tensors, out, stream)``, and what the module would return. ``out`` is flat:
        for each tensor in that, in the order of its leaves."""
        if (
            self._only_rebuilds and not named and len(arguments) == len(self.leaves)
            and all(map(_is_torch, arguments))
        ):  # fmt: skip
            made = invoke(arguments, out, stream)
            return self.rebuild(iter(made if isinstance(made, (tuple, list)) else (made,)))
        if self._takes_and_returns_tensors and not named and len(arguments) == len(self.layouts):
            try:
                return invoke(self._in_memory(arguments), out, stream)
            except ArgumentError:
                self._check_shapes(arguments)
                raise
        given = self._given(arguments, named)
        if out is not None and self.writes:
            raise ArgumentError(
                "out: this program writes to its arguments or buffers; expected a call without out"
            )
        self._check_written(given)
        try:
            made = invoke(self._held(given), self._held_out(out), stream)
        except ArgumentError:
            self._check_shapes(given)
            raise
        made = list(made) if isinstance(made, (tuple, list)) else [made]
        if not self._held_otherwise.isdisjoint(self.results):
            made = [_as_named(x, kind) for x, kind in zip(made, self.results, strict=True)]
        for place, value in zip(self.writes, made, strict=False):
            with on_stream(stream, given[place]):
                _write(given[place], value)
        if not any(_is_torch(x) for x in given):
            made = [_as_torch(x) for x in made]
        left = made[len(self.writes) :]
        if self.rebuild is not None:
            return self.rebuild(iter(left))
        return left[0] if len(left) == 1 else tuple(left)

    @functools.cached_property
    def _only_rebuilds(self) -> bool:
        """Whether a call with tensors takes nothing but putting its results together, as one with a
        named tuple does: that is to take no longer than a small kernel."""
        return (
            self.rebuild is not None and self._takes_tensors and not self.bound
            and not self.writes and not self._held_otherwise and not self.has_layouts
        )  # fmt: skip

    def tensors(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """What the compiled program is given."""
        return self._held(self._given(arguments, named))

    # ---- how arguments lie in memory

    @functools.cached_property
    def has_layouts(self) -> bool:
        """Whether an argument is not row-major."""
        return bool(self._permuted)

    def in_memory(self, places: Sequence[int], values: Sequence[Any]) -> tuple[Any, ...]:
        """Values for the arguments of these numbers, as the program takes them."""
        made = []
        for place, value in zip(places, values, strict=True):
            layout = self.layouts[place]
            made.append(value if layout is None else layout.in_memory(value))
        return tuple(made)

    def _in_memory(self, values: Sequence[Any]) -> list[Any]:
        """The same for all arguments."""
        made = list(values)
        for place, layout in self._permuted:
            made[place] = layout.in_memory(made[place])
        return made

    @functools.cached_property
    def _permuted(self) -> list[tuple[int, Layout]]:
        return [(place, layout) for place, layout in enumerate(self.layouts) if layout is not None]

    def arguments(self) -> list[dict[str, Any]]:
        """For an explanation: arguments that are not row-major, with their extents and the order of
        their dims in memory."""
        return [
            {"arg": f"arg{number}", "shape": list(layout.shape), "order": list(layout.order)}
            for number, layout in self._permuted
        ]

    def _check_shapes(self, given: Sequence[Any]) -> None:
        """Raises ArgumentError about an argument that is not row-major in the caller's words: the
        program knows its extents in the order of memory."""
        for number, (value, layout) in enumerate(zip(given, self.layouts, strict=False)):
            if layout is not None and hasattr(value, "shape") and not layout.fits(value):
                raise ArgumentError(
                    f"argument {number}: expected shape {_extents(layout.shape)}, got "
                    f"{_extents(value.shape)}",
                    number,
                )

    def _check_written(self, given: Sequence[Any]) -> None:
        """Raises ArgumentError for what is written and cannot be, before anything has run."""
        for place in self.writes:
            value = given[place] if place < len(given) else None
            if _is_torch(value) and value.is_contiguous():
                continue
            is_array = isinstance(value, np.ndarray)
            if not is_array and not _is_torch(value):
                raise ArgumentError(
                    f"argument {place}: the program writes to it; expected a torch tensor or a "
                    f"NumPy array, got {type(value).__name__}",
                    place,
                )
            if is_array and not value.flags.writeable:
                raise ArgumentError(
                    f"argument {place}: the program writes to it; expected a writable array, got a "
                    "read-only one",
                    place,
                )
            if is_repeated(value):
                raise ArgumentError(
                    f"argument {place}: the program writes to it; expected elements with places of "
                    "their own in memory, got an expanded tensor; use .contiguous()",
                    place,
                )

    # ---- what is given

    @functools.cached_property
    def _takes_tensors(self) -> bool:
        """Whether all arguments are tensors by their positions, in no container."""
        from torch.utils import _pytree as pytree

        expected = pytree.tree_structure(((0,) * len(self.leaves), {}))
        return self.spec == expected and all(x is TENSOR for x in self.leaves)

    def _given(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        import torch
        from torch.utils import _pytree as pytree

        # PyTorch takes longer to look for containers than a small kernel runs.
        if (
            not named and len(arguments) == len(self.leaves) and self._takes_tensors
            and all(isinstance(x, (torch.Tensor, np.ndarray)) for x in arguments)
        ):  # fmt: skip
            return [*arguments, *(get() for get in self.bound)]
        leaves, spec = pytree.tree_flatten((tuple(arguments), dict(named)))
        if spec != self.spec:
            raise ArgumentError(
                f"expected arguments of the structure {_words(self.spec, self.leaves)}, got "
                f"{_words(spec, leaves)}"
            )
        made = []
        for number, (value, known) in enumerate(zip(leaves, self.leaves, strict=True)):
            if known is TENSOR:
                made.append(value)
            elif type(value) is not type(known) or value != known:
                raise ArgumentError(
                    f"argument {number}: the program was compiled for {known!r}, got {value!r}; "
                    "compile it again for other values",
                    number,
                )
        return [*made, *(get() for get in self.bound)]

    @functools.cached_property
    def _held_otherwise(self) -> frozenset[str]:
        """Types of arguments and results that the program holds as others."""
        return frozenset(_OTHERWISE & {*self.types, *self.results})

    def _held(self, values: list[Any]) -> list[Any]:
        if len(values) != len(self.types):
            return values
        if self.has_layouts:
            values = self._in_memory(values)
        if not self._held_otherwise:
            return values
        return [
            _as_held(as_contiguous(x) if kind in COMPLEX and not _is_torch(x) else x, kind)
            for x, kind in zip(values, self.types, strict=True)
        ]

    def _held_out(self, out: Any) -> Any:
        if out is None or self._held_otherwise.isdisjoint(self.results):
            return out
        whole = list(out) if isinstance(out, (list, tuple)) else [out]
        for number, x in enumerate(whole):
            if _is_torch(x) and x.is_conj():
                raise ArgumentError(
                    f"out {number}: expected memory of its own, got a conjugate view; use "
                    ".resolve_conj()"
                )
        made = [_as_held(x, kind) for x, kind in zip(whole, self.results, strict=True)]
        return made if isinstance(out, (list, tuple)) else made[0]


def _as_held(value: Any, kind: str) -> Any:
    """An argument of a type, or a result to write into, as the program holds it."""
    if kind in COMPLEX:
        return _in_parts(value, kind)
    return _as_type(value, kind, UNSIGNED[kind]) if kind in UNSIGNED else value


def _as_named(value: Any, kind: str) -> Any:
    """A result as PyTorch has it."""
    if kind in COMPLEX:
        if not _is_torch(value):
            return value.view(kind)[..., 0]
        import torch

        if not value.numel():  # whose strides may be any
            value = torch.empty(value.shape, dtype=value.dtype, device=value.device)
        return torch.view_as_complex(value)
    return _as_type(value, UNSIGNED[kind], kind) if kind in UNSIGNED else value


def _in_parts(value: Any, kind: str) -> Any:
    """The memory of complex numbers as their parts: [...] as [..., 2]."""
    dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if dtype != kind:
        raise ArgumentError(f"expected an array of {kind}, got one of {dtype or type(value)}")
    if _is_torch(value):
        import torch

        return torch.view_as_real(value.resolve_conj())
    if isinstance(value, np.ndarray):
        if not is_contiguous(value):
            raise ArgumentError(
                f"expected contiguous row-major memory, got strides {value.strides}; use "
                "numpy.ascontiguousarray"
            )
        return value[..., None].view(COMPLEX[kind])
    raise ArgumentError(
        f"complex numbers in {type(value).__name__}; expected a torch tensor or a NumPy array"
    )


class _Tensor:
    def __repr__(self) -> str:
        return "a tensor"


TENSOR = _Tensor()


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _as_torch(value: Any) -> Any:
    from ..runtime.tensors import to_torch

    return value if _is_torch(value) else to_torch(value)


def _write(target: Any, value: Any) -> None:
    """The elements of a result into an argument, of any strides."""
    if _is_torch(target):
        target.copy_(_as_torch(value))
        return
    if _is_torch(value):
        import torch

        raw = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        value = raw.view(target.dtype).reshape(target.shape)
    np.copyto(target, value)


def _extents(shape: Sequence[int | None]) -> str:
    """As the call's own messages have them."""
    return "x".join("?" if n is None else str(n) for n in shape) or "no dims"


def _as_type(value: Any, old: str, new: str) -> Any:
    """The same memory as elements of another type of the same width."""
    dtype = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if dtype != old:
        if dtype == new:
            raise ArgumentError(f"expected an array of {old}, got one of {new}")
        return value  # which the call refuses, by its number
    if _is_torch(value):
        import torch

        return value.view(getattr(torch, new))
    return value.view(new)


def _words(spec: Any, leaves: Sequence[Any]) -> str:
    from torch.utils import _pytree as pytree

    class Name:
        def __init__(self, value: Any):
            self.value = value

        def __repr__(self) -> str:
            return "a tensor" if hasattr(self.value, "shape") else repr(self.value)

    args, named = pytree.tree_unflatten([Name(x) for x in leaves], spec)
    return ", ".join([*map(repr, args), *(f"{k}={v!r}" for k, v in named.items())]) or "()"


def check_leaves(inputs: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Raises ArgumentError for example arguments that are neither tensors nor constants."""
    from torch.utils import _pytree as pytree

    for what, values in (("inputs", tuple(inputs)), ("kwargs", dict(named))):
        for path, value in pytree.tree_flatten_with_path(values)[0]:
            if not _is_torch(value) and not _is_constant(value):
                remedy = "; use torch.from_numpy" if hasattr(value, "__array__") else ""
                raise ArgumentError(
                    f"{what}{pytree.keystr(path)} is {type(value).__name__}; expected tensors, "
                    f"{_IN_CONTAINERS}{remedy}"
                )


_IN_CONTAINERS = "numbers, words or None, in containers that torch.utils._pytree knows"


def _is_constant(value: Any) -> bool:
    """Whether a program can be compiled for this value of an argument."""
    import torch

    return value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device))


def leaves_of(values: Sequence[Any]) -> list[Any]:
    """Of example arguments: what must be given again, and where tensors are; raises
    UnsupportedError for what a program cannot be compiled for."""
    import torch

    made: list[Any] = []
    for number, value in enumerate(values):
        if isinstance(value, torch.Tensor):
            made.append(TENSOR)
        elif _is_constant(value):
            made.append(value)
        else:
            raise UnsupportedError(
                f"argument {number} is {type(value).__name__}; expected tensors, {_IN_CONTAINERS}"
            )
    return made
