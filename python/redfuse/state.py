"""States: a program's reductions as values that a caller holds, extends, merges and finishes.

The program becomes four functions (pass redfuse-expose-state); :class:`StateProgram` calls them and
keeps the books: which elements a :class:`State` has seen, and whether what is asked makes sense.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
from collections.abc import Sequence
from typing import Any

from .errors import ArgumentError, CacheError, CompileError, UnsupportedError, path_text
from .frontends.mlir import Source
from .functions import Functions, Keep, compile_functions
from .options import Options
from .parts import Part
from .runtime.specs import Signature, TensorSpec
from .store import files

_FORMAT = "redfuse-state-1"
_MOST_BYTES = 1 << 40  # as memory allows
Spans = tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True)
class State:
    """What a program knows of the elements it has seen. Immutable; plain data, so that it can be
    pickled, or kept in a file (:meth:`save`).

    fingerprint: of the program and its derivation; a state of another program is refused.
    names: what each component is, as a formula.
    unstreamed: the arguments of ``init``; they are part of what the state means.
    components: the arrays, of the shapes and dtypes of the program's state; ``None`` before the
        first chunk where that alone can tell the shapes.
    extents: dynamic extents of chunks along other axes, once known.
    spans: the elements seen, as disjoint ascending (start, stop).
    placed: whether a caller has said where they are, by ``offset=``.
    """

    fingerprint: str
    names: tuple[str, ...]
    unstreamed: tuple[Any, ...]
    components: tuple[Any, ...] | None
    extents: tuple[int, ...] | None
    spans: Spans = ()
    placed: bool = False

    @property
    def count(self) -> int:
        """How many elements along the streamed dim it has seen."""
        return sum(stop - start for start, stop in self.spans)

    @property
    def stop(self) -> int:
        """The index after the last element seen: where the next chunk starts by default."""
        return self.spans[-1][1] if self.spans else 0

    def __repr__(self) -> str:
        seen = ", ".join(f"{a}:{b}" for a, b in self.spans) or "nothing"
        return f"<redfuse.State of {seen}; {'; '.join(self.names)}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one .npz file, as a whole or not at all. Raises CacheError."""
        files.write(path_text(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> State:
        """The state in a file, with NumPy arrays. Raises CacheError for a file that holds none."""
        from .store.bundle import load_bytes

        return cls.from_bytes(load_bytes(path_text(path), _MOST_BYTES), path_text(path))

    def to_bytes(self) -> bytes:
        """The file that :meth:`save` writes."""
        import numpy

        arrays: dict[str, Any] = {}
        dtypes: dict[str, str] = {}
        for prefix, values in (("u", self.unstreamed), ("t", self.components or ())):
            for number, value in enumerate(values):
                array, dtype = _to_numpy(value)
                arrays[f"{prefix}{number}"] = array
                dtypes[f"{prefix}{number}"] = dtype
        header = {
            "format": _FORMAT,
            "fingerprint": self.fingerprint,
            "names": self.names,
            "extents": self.extents,
            "spans": self.spans,
            "placed": self.placed,
            "empty": self.components is None,
            "dtypes": dtypes,
        }
        file = io.BytesIO()
        numpy.savez(
            file, header=numpy.frombuffer(json.dumps(header).encode(), numpy.uint8), **arrays
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes, path: str = "<bytes>") -> State:
        """The inverse of :meth:`to_bytes`; ``path`` is for messages."""
        import numpy

        try:
            with numpy.load(io.BytesIO(data), allow_pickle=False) as file:
                header = json.loads(bytes(file["header"]))
                if header["format"] != _FORMAT:
                    raise CacheError(
                        f"{path}: a state of format {header['format']}, expected {_FORMAT}"
                    )
                values = {
                    name: _from_numpy(file[name], dtype) for name, dtype in header["dtypes"].items()
                }
            return cls(
                header["fingerprint"],
                tuple(header["names"]),
                tuple(values[n] for n in _numbered("u", values)),
                None if header["empty"] else tuple(values[n] for n in _numbered("t", values)),
                None if header["extents"] is None else tuple(header["extents"]),
                tuple((int(a), int(b)) for a, b in header["spans"]),
                bool(header["placed"]),
            )
        except CacheError:
            raise
        except Exception as error:  # NumPy and zipfile raise nearly anything for a damaged file
            raise CacheError(f"{path}: holds no redfuse state ({error})") from None


def _numbered(prefix: str, values: dict[str, Any]) -> list[str]:
    return sorted((n for n in values if n.startswith(prefix)), key=lambda n: int(n[1:]))


def _to_numpy(value: Any) -> tuple[Any, str]:
    """An array that NumPy can store, and its real dtype; scalars have the dtype ""."""
    import numpy

    if not hasattr(value, "dtype"):
        return numpy.asarray(value), ""
    dtype = str(value.dtype).removeprefix("torch.")
    if type(value).__module__.startswith("torch"):
        import torch

        value = value.detach().cpu()
        return (value.view(torch.int16) if dtype == "bfloat16" else value).numpy(), dtype
    array = numpy.asarray(value)
    return (array.view(numpy.int16) if dtype == "bfloat16" else array), dtype


def _from_numpy(array: Any, dtype: str) -> Any:
    from .runtime.specs import numpy_dtype

    if dtype == "":
        return array.item()
    return array.view(numpy_dtype("bf16")) if dtype == "bfloat16" else array


class StateProgram:
    """The four functions of a program, and what they need to be told.

    target: where they run, as of ``compile``. part: what this process has of the dims that are not
        streamed. keep: where code is looked for and put (``compile_functions``).
    """

    def __init__(
        self, source: Source, options: Options, target: str = "cpu", part: Part | None = None,
        keep: Keep | None = None,
    ):  # fmt: skip
        from . import pipelines

        if not options.fuse:
            raise ArgumentError("the option fuse=False compiles no merge; states need fuse=True")
        # The choice of schedules is another one: all of the program's stages are streamed.
        self.options = options = dataclasses.replace(options, schedules=())
        self.target, self.part = target, part or Part()
        stages = pipelines.state(options, target, part)

        def inspect(module: Any) -> tuple[dict[str, Signature], dict[str, Any]]:
            functions = _functions(module)
            info = functions["__finalize"][1]
            return {name: signature for name, (signature, _) in functions.items()}, info

        try:
            self.functions = compile_functions(
                source, options, target, stages, "state", inspect, keep
            )
        except CompileError as error:
            raise _refusal(error) from None
        info = self.functions.facts
        self.signature = _whole_signature(self.functions.signatures, info)
        self.axes = {int(a): int(axis) for a, axis in info["streamed"]}
        self.extent_axes = [(int(a), int(axis)) for a, axis in info["extents"]]
        self.length = None if info["length"] < 0 else int(info["length"])
        self.mapped = [int(axis) for axis in info["mapped"]]
        self.ordered, self.positional = bool(info["ordered"]), bool(info["positional"])
        self.prefixes = bool(info["prefixes"])
        self.names = tuple(f"{text}" for text in info["components"])
        self.takes_chunk = any(axis >= 0 for axis in self.mapped)
        self.unstreamed = [i for i in range(len(self.signature.inputs)) if i not in self.axes]
        self.specs = self.functions.signatures["__init"].outputs
        identity = [
            str(source.parse()), self.signature.name, info["streamed"], self.names,
            [str(spec) for spec in self.specs],
        ]  # fmt: skip
        self.fingerprint = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]

    # ---- the four functions ------------------------------------------------------

    def init(self, *unstreamed: Any) -> State:
        """The state of nothing; see :meth:`Executable.init`."""
        wanted = [self._describe(i) for i in self.unstreamed]
        _check_number("init", "arguments without the streamed dim", wanted, unstreamed)
        for index, value in zip(self.unstreamed, unstreamed, strict=True):
            self._check("init", index, value)
        state = State(self.fingerprint, self.names, tuple(unstreamed), None, None)
        return state if self.extent_axes else self._started(state, ())

    def update(self, state: State, *chunk: Any, offset: int | None = None) -> State:
        """One more chunk; see :meth:`Executable.update`."""
        self.check_state("update", state)
        length, extents = self._check_chunk("update", state, chunk)
        start = state.stop if offset is None else _check_offset("update", offset)
        placed = state.placed or offset is not None
        if length == 0:
            return state
        self._check_place(state, start, start + length)
        spans = _joined(state.spans, ((start, start + length),))
        state = state if state.components is not None else self._started(state, extents)
        results = self._call(
            "__update", [*state.unstreamed, *chunk, *(state.components or ()), start]
        )
        return dataclasses.replace(state, components=results, spans=spans, placed=placed)

    def merge(self, left: State, right: State) -> State:
        """The state of what both have seen; see :meth:`Executable.merge`."""
        self.check_state("merge", left)
        self.check_state("merge", right)
        self._check_same_arguments(left, right)
        if left.extents and right.extents and left.extents != right.extents:
            raise ArgumentError(
                "merge: the states have chunks of different extents: "
                f"{left.extents} and {right.extents}"
            )
        spans = self._merged_spans(left, right)
        placed = left.placed or right.placed
        if not left.spans or not right.spans:
            state = left if left.spans else right
            return dataclasses.replace(state, placed=placed)
        results = self._call("__merge", [*(left.components or ()), *(right.components or ())])
        return dataclasses.replace(left, components=results, spans=spans, placed=placed)

    def finalize(
        self, state: State, *chunk: Any, offset: int | None = None, before: State | None = None
    ) -> Any:
        """The program's results; see :meth:`Executable.finalize`."""
        self.check_state("finalize", state)
        if before is not None:
            self.check_state("finalize", before)
            if not self.prefixes:
                raise ArgumentError(
                    "finalize: before: no result of this program is a prefix along the streamed "
                    "dim; expected finalize without it"
                )
        if self.takes_chunk and not chunk:
            names = ", ".join(
                f"result {i} (axis {axis})" for i, axis in enumerate(self.mapped) if axis >= 0
            )
            raise ArgumentError(
                f"finalize: {names} of {self.signature.name} has the streamed dim, which a state "
                "has not: call finalize(state, *chunk, offset=) for each chunk, and get its part"
            )
        if not self.takes_chunk and chunk:
            raise ArgumentError(
                f"finalize: no result of {self.signature.name} has the streamed dim, so there is "
                f"nothing to compute from a chunk: expected finalize(state), got {len(chunk)} "
                "arrays more"
            )
        self._check_complete(state)
        start, extents = 0, state.extents
        if chunk:
            length, extents = self._check_chunk("finalize", state, chunk)
            start = 0 if offset is None else _check_offset("finalize", offset)
            if offset is None and self.positional and length != state.count:
                raise ArgumentError(
                    "finalize: the result depends on where the chunk is: give offset=, the index "
                    "of its first element"
                )
            if start + length > state.count:
                raise ArgumentError(
                    f"finalize: the chunk is elements {start} to {start + length - 1}, but the "
                    f"state has seen {state.count} elements"
                )
        if state.components is None:
            if extents is None:
                raise ArgumentError(
                    "finalize: nothing has been added to the state, and only a chunk can tell the "
                    "extents of the results"
                )
            state = self._started(state, extents)
        results = self._call(
            "__finalize",
            [
                *state.unstreamed, *chunk, *(state.components or ()), *(state.extents or ()),
                state.count, start, *self._earlier(state, start, before),
            ],
        )  # fmt: skip
        return results[0] if len(results) == 1 else results

    def _earlier(self, state: State, start: int, before: State | None) -> tuple[Any, ...]:
        """The components of what comes before a chunk, where results are prefixes."""
        if not self.prefixes:
            return ()
        seen = 0 if before is None else before.stop
        if seen != start:
            raise ArgumentError(
                f"finalize: the chunk starts at element {start}, and its prefixes continue from "
                f"the state of all before it: expected before= a state of elements 0 to "
                f"{start - 1}, got {'none' if before is None else _text(before.spans)}"
            )
        if before is not None and before.components is not None:
            return before.components
        return (
            self._started(dataclasses.replace(state, spans=()), state.extents or ()).components
            or ()
        )

    # ---- books -----------------------------------------------------------------------

    def _started(self, state: State, extents: tuple[int, ...]) -> State:
        components = self._call("__init", [*state.unstreamed, *extents])
        return dataclasses.replace(state, components=components, extents=tuple(extents))

    def _call(self, name: str, arguments: list[Any]) -> tuple[Any, ...]:
        return self.functions(name, arguments)

    def _describe(self, index: int) -> str:
        return f"argument {index}: {self._spec(index)}"

    def _spec(self, index: int) -> TensorSpec:
        """The type of an argument, with the streamed dim as long as chunks are."""
        return self.signature.inputs[index]

    def _check(self, call: str, index: int, value: Any) -> None:
        from .runtime.arrays import check_array

        spec = self._spec(index)
        what = f"{call}: argument {index} of {self.signature.name}"
        if index in self.axes:
            what += f" (axis {self.axes[index]} is streamed)"
        check_array(value, spec, what, index)

    def _check_chunk(
        self, call: str, state: State, chunk: Sequence[Any]
    ) -> tuple[int, tuple[int, ...]]:
        """Length and other dynamic extents of a chunk."""
        wanted = [self._describe(i) for i in self.axes]
        _check_number(call, "arrays of a chunk", wanted, chunk)
        values = dict(zip(self.axes, chunk, strict=True))
        for index, value in values.items():
            self._check(call, index, value)
        lengths = {i: int(values[i].shape[axis]) for i, axis in self.axes.items()}
        if len(set(lengths.values())) > 1:
            text = ", ".join(
                f"{n} in argument {i} (axis {self.axes[i]})" for i, n in lengths.items()
            )
            raise ArgumentError(
                f"{call}: the arrays of a chunk have different lengths along the streamed dim: "
                f"{text}"
            )
        extents = tuple(int(values[i].shape[axis]) for i, axis in self.extent_axes)
        if state.extents is not None and extents != state.extents:
            at = next(k for k, n in enumerate(extents) if n != state.extents[k])
            index, axis = self.extent_axes[at]
            raise ArgumentError(
                f"{call}: argument {index} has extent {extents[at]} along axis {axis}, but the "
                f"chunks before had {state.extents[at]}",
                index,
            )
        return next(iter(lengths.values())), extents

    def check_state(self, call: str, state: Any) -> None:
        """Raises ArgumentError, about ``call``, for what is no state of this program."""
        if not isinstance(state, State):
            raise ArgumentError(
                f"{call}: expected a redfuse.State (from init, update, merge or State.load), got "
                f"{type(state).__name__}"
            )
        if state.fingerprint != self.fingerprint:
            raise ArgumentError(
                f"{call}: the state is of another program: its components are "
                f"{'; '.join(state.names)}; those of {self.signature.name} are "
                f"{'; '.join(self.names)} (fingerprints {state.fingerprint[:8]} and "
                f"{self.fingerprint[:8]})"
            )

    def _check_same_arguments(self, left: State, right: State) -> None:
        for index, a, b in zip(self.unstreamed, left.unstreamed, right.unstreamed, strict=True):
            if a is not b and not _is_same(a, b):
                raise ArgumentError(
                    f"merge: the states were made with different values of argument {index}; "
                    "they can be merged only if it is the same array",
                    index,
                )

    def _check_place(self, state: State, start: int, stop: int) -> None:
        """Refuses a chunk that was added before, lies past the end or out of order."""
        for a, b in state.spans:
            if max(a, start) < min(b, stop):
                raise ArgumentError(
                    f"update: elements {max(a, start)} to {min(b, stop) - 1} are in the state "
                    f"already (it has seen {_text(state.spans)})"
                )
        if self.length is not None and stop > self.length:
            raise ArgumentError(
                f"update: the chunk is elements {start} to {stop - 1}, but the program's streamed "
                f"dim has {self.length}; write it with '?' for a length that is open"
            )
        if self.ordered and state.spans and start != state.stop:
            raise ArgumentError(
                f"update: the reduction is ordered, and the state ends at {state.stop}: expected "
                f"that offset, got {start}; start another state there and merge them in order"
            )

    def _merged_spans(self, left: State, right: State) -> Spans:
        if not left.spans or not right.spans:
            return left.spans or right.spans
        matters = self.positional or self.ordered
        clash = any(max(a, c) < min(b, d) for a, b in left.spans for c, d in right.spans)
        if clash and not matters and not (left.placed and right.placed):
            # Counted from 0 on both sides: one after the other.
            shift = left.stop
            moved = tuple((a + shift, b + shift) for a, b in right.spans)
            return self._bounded(_joined(left.spans, moved))
        if clash:
            hint = (
                ""
                if left.placed and right.placed
                else "; give offset= to the first update of each state"
            )
            raise ArgumentError(
                f"merge: both states have seen some of the same elements: {_text(left.spans)} and "
                f"{_text(right.spans)}{hint}"
            )
        if self.ordered and left.stop != right.spans[0][0]:
            swap = " (the other way round they fit)" if right.stop == left.spans[0][0] else ""
            raise ArgumentError(
                "merge: the reduction is ordered: expected the right state to start where the "
                f"left one ends, got {_text(left.spans)} and {_text(right.spans)}{swap}"
            )
        return self._bounded(_joined(left.spans, right.spans))

    def _bounded(self, spans: Spans) -> Spans:
        count = sum(b - a for a, b in spans)
        if self.length is not None and count > self.length:
            raise ArgumentError(
                f"merge: together the states have seen {count} elements, but the program's "
                f"streamed dim has {self.length}; write it with '?' for a length that is open"
            )
        return spans

    def _check_complete(self, state: State) -> None:
        if self.length is not None and state.count != self.length:
            raise ArgumentError(
                f"finalize: the state has seen {state.count} elements, but the program is about "
                f"{self.length} (its own constants may be, as the divisor of a mean is); add the "
                "rest, or write the program with '?' for a length that is open"
            )
        if self.positional and state.spans and state.spans != ((0, state.count),):
            raise ArgumentError(
                "finalize: the results depend on positions, and there are gaps: the state has "
                f"seen {_text(state.spans)}, expected all from 0 on"
            )


def _joined(a: Spans, b: Spans) -> Spans:
    """The union of disjoint spans, touching ones as one."""
    result: list[tuple[int, int]] = []
    for start, stop in sorted(a + b):
        if result and result[-1][1] == start:
            result[-1] = (result[-1][0], stop)
        else:
            result.append((start, stop))
    return tuple(result)


def _text(spans: Spans) -> str:
    return ", ".join(f"{a} to {b - 1}" for a, b in spans) or "nothing"


def _is_same(a: Any, b: Any) -> bool:
    import numpy

    x, x_type = _to_numpy(a)
    y, y_type = _to_numpy(b)
    return x_type == y_type and x.shape == y.shape and numpy.array_equal(
        x.reshape(-1).view(numpy.uint8), y.reshape(-1).view(numpy.uint8)
    )  # fmt: skip


def _check_number(call: str, what: str, wanted: list[str], given: Sequence[Any]) -> None:
    if len(given) != len(wanted):
        raise ArgumentError(
            f"{call}: expected {len(wanted)} {what} ({'; '.join(wanted) or 'none'}), got "
            f"{len(given)}"
        )


def _check_offset(call: str, offset: Any) -> int:
    import operator

    try:
        value = operator.index(offset)
    except TypeError:
        raise ArgumentError(
            f"{call}: offset: expected an integer, got {type(offset).__name__}"
        ) from None
    if value < 0:
        raise ArgumentError(f"{call}: offset: expected 0 or more, got {value}")
    return value


def _functions(module: Any) -> dict[str, tuple[Signature, dict[str, Any]]]:
    """Signatures of the functions by suffix, with ``redfuse.state`` as Python values."""
    from .frontends import mlir as mlir_frontend

    found: dict[str, tuple[Signature, dict[str, Any]]] = {}
    for operation in module.body.operations:
        if operation.operation.name != "func.func" or operation.is_external:
            continue
        signature = mlir_frontend.signature(operation)
        info: dict[str, Any] = {}
        if "redfuse.state" in operation.attributes:
            for item in operation.attributes["redfuse.state"]:
                info[item.name] = _value(item.attr)
        found["__" + signature.name.rpartition("__")[2]] = (signature, info)
    return found


@dataclasses.dataclass(frozen=True)
class StateFacts:
    """What is known of the state of a program, without code.

    axes: the axis of each argument that has the streamed dim; specs, names: of the components;
    ordered, positional, prefixes: as of :class:`StateProgram`; takes_chunk: whether finalize does.
    """

    axes: dict[int, int]
    specs: tuple[TensorSpec, ...]
    names: tuple[str, ...]
    ordered: bool
    positional: bool
    prefixes: bool
    takes_chunk: bool


def state_end(
    source: Source, options: Options, target: str, part: Part, only: str, keep: Keep | None = None
) -> Functions | None:
    """What stands at an end of a chain of chunks, as one function: ``__first``, the state of a
    chunk, or ``__last``, the results of a state and one more chunk; ``None`` where a program has no
    such last one."""
    from . import pipelines

    def inspect(module: Any) -> tuple[dict[str, Signature], dict[str, Any]]:
        return {name: signature for name, (signature, _) in _functions(module).items()}, {}

    asked = dataclasses.replace(options, schedules=())
    stages = pipelines.state(asked, target, part, only)
    try:
        return compile_functions(source, asked, target, stages, "state", inspect, keep)
    except CompileError as error:
        if only == "last" and "its last chunk is not folded" in str(error):
            return None
        raise _refusal(error) from None


def state_facts(source: Source, options: Options, part: Part | None = None) -> StateFacts:
    """Raises UnsupportedError, with the reason, for a program whose reductions have no merge."""
    from . import pipelines
    from .lowering import lower_stages

    asked = dataclasses.replace(options, schedules=())
    try:
        lowered = lower_stages(source, asked, pipelines.state(asked, "cpu", part), "state")
    except CompileError as error:
        raise _refusal(error) from None
    functions = _functions(lowered.module)
    info = functions["__finalize"][1]
    return StateFacts(
        axes={int(a): int(axis) for a, axis in info["streamed"]},
        specs=functions["__init"][0].outputs,
        names=tuple(f"{text}" for text in info["components"]),
        ordered=bool(info["ordered"]),
        positional=bool(info["positional"]),
        prefixes=bool(info["prefixes"]),
        takes_chunk=any(int(axis) >= 0 for axis in info["mapped"]),
    )


def _whole_signature(functions: dict[str, Signature], info: dict[str, Any]) -> Signature:
    """The program's own, of chunks: its arguments are those of update, in another order."""
    update = functions["__update"]
    streamed = [int(argument) for argument, _ in info["streamed"]]
    count = len(update.inputs) - len(functions["__init"].outputs) - 1
    plain = iter(update.inputs[: count - len(streamed)])
    chunk = iter(update.inputs[count - len(streamed) : count])
    inputs = [next(chunk if number in streamed else plain) for number in range(count)]
    name = update.name.rpartition("__")[0]
    return Signature(name, tuple(inputs), functions["__finalize"].outputs)


def _value(attribute: Any) -> Any:
    import mlir.ir as ir

    if isinstance(attribute, (ir.IntegerAttr, ir.StringAttr, ir.BoolAttr)):
        return attribute.value
    if isinstance(attribute, ir.ArrayAttr):
        return [_value(a) for a in attribute]
    return list(attribute)


def _refusal(error: CompileError) -> Exception:
    """A refusal of the pass, in its own words."""
    lines = [line for line in str(error).splitlines() if "no state can be carried" in line]
    if not lines:
        lines = str(error).splitlines()[1:] or [str(error)]
    return UnsupportedError(
        "this program's reductions cannot be held as a state: "
        + "\n".join(line.replace("no state can be carried: ", "") for line in lines)
    )
