"""Compiled programs whose arguments are shared out over the ranks of a mesh."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from ..compiler import is_torch_callable, resolve_target
from ..errors import ArgumentError, Error, RankError, UnsupportedError, one_of
from ..frontends import mlir as mlir_frontend
from ..frontends.mlir import Source
from ..options import Options
from ..runtime.specs import ELEMENT_TYPES, Signature
from . import links as link_model
from .arguments import Taken, give, kinds_of, take, take_again
from .call import Call
from .dims import Dim, dims_of
from .folding import Folds, Parts
from .groups import Group
from .keeping import kept
from .layout import ORDERS, Layout
from .links import Links, Sizes
from .masks import Mask
from .sharding import Sharding, shard
from .states import run_on_states
from .strategies import STRATEGIES
from .work import Work, work_of

CHECKS = ("always", "first")
_AUTO = "auto"


def compile(
    source: Any,
    mesh: Any,
    placements: Sequence[Any],
    *,
    inputs: Sequence[Any] | None = None,
    mesh_dim: str | int | None = None,
    target: str = "auto",
    options: Options | dict[str, object] | None = None,
    order: str = "contiguous",
    strategy: str = _AUTO,
    merge: str = _AUTO,
    deterministic: bool = False,
    segment: int = 0,
    links: Links | None = None,
    check: str = "always",
    timeout: float | None = None,
) -> Program:
    """A program whose arguments are shared out over the ranks of a mesh. Every rank calls this,
    with the same arguments.

    source, inputs, target, options: as for ``redfuse.compile``; the target "auto" is the mesh's
        device. Of a PyTorch function or module, ``inputs`` are whole arguments (of the "meta"
        device, if they are large), and tensors are all that it takes and returns.
    mesh: a ``torch.distributed.device_mesh.DeviceMesh``; mesh_dim: the name or number of its dim,
        where it has several.
    placements: for each argument ``Shard(axis)``, ``Replicate()``, or ``None`` for what follows
        from the others. Which dims of the program these are, and the results' placements, are
        derived from it.
    order: how shards lie in the whole: "contiguous", in the order of ranks and of any lengths, or
        "zigzag" (:meth:`Layout.zigzag`), which shares out the work under a causal mask.
    strategy: how rows meet a stream where both are sharded: "ring", "gather", "rows", "heads", or
        "auto" for the one with the least predicted time.
    merge: of states: "gather" (every rank gets all states), "tree", or "auto".
    deterministic: the same bits for any number of ranks; ``segment`` elements of the streamed dim
        are then folded at a time, and shards start at multiples of it.
    links: what predictions are made from; by default constants of two H200s, or of a host.
    check: whether ranks compare what they are given in each call, or in the first of each shape
        (then nothing waits for the host, and a mismatch is found by the time-out).
    timeout: seconds after which a rank that does not answer is an error; by default that of the
        process group.

    Raises what ``redfuse.compile`` raises, UnsupportedError also for dims that cannot be shared
    out, ArgumentError for placements that contradict each other.
    """
    for name, value, known in (
        ("order", order, ORDERS),
        ("strategy", strategy, (_AUTO, *STRATEGIES)),
        ("merge", merge, (_AUTO, "gather", "tree")),
        ("check", check, CHECKS),
    ):
        if value not in known:
            raise ArgumentError(f"{name}: " + one_of(name, str(value), known))
    if deterministic and segment < 1:
        raise ArgumentError(
            "deterministic: expected segment=, how many elements of the streamed dim are folded at "
            "a time, as 4096"
        )
    if segment and not deterministic:
        raise ArgumentError("segment: expected deterministic=True with it")
    group = Group(mesh, mesh_dim, timeout)
    chosen = Options.of(options)
    if deterministic:
        chosen = dataclasses.replace(chosen, deterministic=True)
    if target == _AUTO:
        target = "cuda" if group.on_gpu else "cpu"
    program = _read(source, inputs, chosen, resolve_target(target))
    return Program(
        program, group, tuple(placements), resolve_target(target), chosen, order, strategy, merge,
        segment, links or (Links() if group.on_gpu else link_model.HOST), check,
    )  # fmt: skip


class Program:
    """A distributed program; call it on every rank.

    sharding: what is shared out. group: the ranks.
    """

    def __init__(
        self, source: Source, group: Group, placements: tuple[Any, ...], target: str,
        options: Options, order: str, strategy: str, merge: str, segment: int, links: Links,
        check: str,
    ):  # fmt: skip
        self.source, self.group, self.target, self.options = source, group, target, options
        self.order, self.strategy, self.merge = order, strategy, merge
        self.segment, self.links, self.check = segment, links, check
        signature, dims, self.work = _facts(source, options)
        self.sharding = shard(signature, dims, placements)
        self._static = target != "cpu"
        rows = [dim.source for dim in self.sharding.rows]
        stream = self.sharding.stream
        self.folds: Folds | None = None
        if stream is not None:
            along = dataclasses.replace(options, along=stream.source)
            self.folds = Folds(source, along, target, rows, self._static)
            self._check_order(self.folds)
        self._parts = Parts(source, options, target, rows, self._static) if rows else None
        self._heads = _heads_of(self.sharding, group.size)
        self._head_parts = None
        if self._heads is not None:
            dims_of_heads = [self._heads.source]
            self._head_parts = Parts(source, options, target, dims_of_heads, self._static)
        if self.sharding.rows and self.folds is not None and strategy != _AUTO:
            self._check_strategy()
        self._identity = hashlib.sha256(
            json.dumps(
                [
                    source.text, options.key(), target, [str(p) for p in placements], order,
                    strategy, merge, segment, dataclasses.astuple(links), check,
                ]
            ).encode()
        ).hexdigest()[:16]  # fmt: skip
        self._seen: dict[tuple, tuple[Layout, ...]] = {}
        # Of calls that came before: what was found of their arguments, and what was chosen.
        self._taken: dict[tuple, Taken] = {}
        self._choices: dict[tuple, str] = {}
        self._live = self.work.live(self.sharding)
        # The layouts and shapes of the last call.
        self._last: tuple[tuple[Layout, ...], list[tuple[int, ...]]] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """This rank's part of the results, from its part of the arguments.

        arguments: for each argument of the program this rank's shard (a torch tensor, or a NumPy
            array on the host), or a DTensor with the stated placement on the program's mesh.
            Shards may have any lengths, also 0, and need not be contiguous in memory.

        Returns the result, or a tuple of them: DTensors if an argument is one, else this rank's
        shards. Raises ArgumentError for what is wrong on this rank, RankError for what is wrong on
        another, or hangs.
        """
        error: Exception | None = None
        taken: Taken | None = None
        try:
            taken = self._take(arguments)
        except Error as wrong:
            error = wrong
        layouts = self._layouts(taken, error)
        assert taken is not None
        try:
            call = self._prepared(taken, layouts)
            results = self._run(call, (layouts, taken.key))
        except RankError:
            raise
        except BaseException as wrong:
            self.group.failed(wrong)
            raise
        shapes = [tuple(getattr(tensor, "shape", ())) for tensor in taken.tensors]
        self._last = (layouts, shapes)
        return give(results, taken, self.sharding, layouts, self.group)

    def __repr__(self) -> str:
        sharded = "; ".join(dim.text() for dim in self.sharding.sharded) or "nothing"
        return (
            f"<redfuse.distributed.Program {self.sharding.signature} over {self.group.size} ranks: "
            f"{sharded}>"
        )

    def explain(self, json: bool = False) -> Any:
        """What is shared out, which collectives follow from it and why, and their predicted times:
        text, or with ``json`` an object. After a call, of its sizes; else of the program's own."""
        from .explaining import explained, render

        found = explained(self, None if self._last is None else self._described(*self._last))
        return found if json else render(found)

    # ---- a call ------------------------------------------------------------------

    def _take(self, arguments: Sequence[Any]) -> Taken:
        kinds = kinds_of(arguments)
        known = None if kinds is None else self._taken.get(kinds)
        if known is not None:
            return take_again(arguments, known)
        taken = take(arguments, self.sharding, self.group)
        if kinds is not None:
            self._taken[kinds] = dataclasses.replace(taken, tensors=[])
        return taken

    def _layouts(self, taken: Taken | None, error: Exception | None) -> tuple[Layout, ...]:
        """Who has what, as all ranks say. Raises RankError where they disagree."""
        known = self._seen.get(taken.key) if taken is not None and error is None else None
        if known is not None and self.check == "first":
            return known
        said: dict[str, Any] = {}
        if taken is not None:
            said = {
                "program": self._identity,
                "shapes": taken.shapes,
                "lengths": taken.lengths,
            }
        everyone = self.group.agree(said, error)
        assert taken is not None
        self.group.check_same(
            everyone,
            {
                "call": "how many calls there were",
                "program": "the program and its options",
                "shapes": "the shapes of the arguments (-1: the sharded axis)",
            },
        )
        layouts = []
        for number, dim in enumerate(self.sharding.sharded):
            lengths = [one["lengths"][number] for one in everyone]
            layout = Layout.of(self.order, lengths)
            if dim.length is not None and layout.length != dim.length:
                raise RankError(
                    f"the shards of {dim.text()} have {', '.join(map(str, lengths))} elements on "
                    f"ranks 0 to {self.group.size - 1}, together {layout.length}; expected "
                    f"{dim.length}, as the program says"
                )
            layouts.append(layout)
        self._seen[taken.key] = tuple(layouts)
        return tuple(layouts)

    def _prepared(self, taken: Taken, layouts: tuple[Layout, ...]) -> Call:
        return Call(
            self.group, self.sharding, taken.tensors, layouts, self.folds, self._parts,
            self._heads, self._head_parts, self.segment, self._live,
        )  # fmt: skip

    def _run(self, call: Call, sizes: tuple) -> list[tuple[Any, ...]]:
        """``sizes``: what choices depend on, for a lookup."""
        sharding = self.sharding
        if sharding.stream is None:
            units = call.row_units()
            return [call.whole(unit, ()) for unit in units]
        choice = self._choices.get(sizes)
        if choice is None:
            choose = self.chosen_strategy if sharding.rows else self.chosen_merge
            choice = self._choices[sizes] = choose(call)
        return STRATEGIES[choice](call) if sharding.rows else run_on_states(call, choice)

    # ---- choices -----------------------------------------------------------------

    def sizes(self, call: Call) -> Sizes:
        """What the choices depend on, of a call."""
        sharding = self.sharding

        def of(arguments: Sequence[int]) -> float:
            total = 0
            for i in arguments:
                value, dim = call.arguments[i], sharding.dim_of(i)
                count = value.numel() * value.element_size()
                if dim is not None:
                    axis = dim.axis_of(i) or 0
                    mine = max(1, value.shape[axis])
                    count = count // mine * dim.scale_of(i)
                    count *= max(call.layout_of(dim).lengths)
                total += count
            return float(total)

        rows = [i for i in range(len(call.arguments)) if sharding.dim_of(i) in sharding.rows]
        return Sizes(
            ranks=self.group.size,
            operations=self.work.operations(call),
            stream=of(call.sharding.stream_arguments),
            rows=of(rows),
            results=of(rows),
            state=self.work.state_bytes(call),
            heads=0.0
            if self._heads is None or not self._heads.length
            else link_model.share_of_heads(self._heads.length, self.group.size),
        )

    def chosen_strategy(self, call: Call) -> str:
        """The strategy of a call: the one asked for, or the one predicted to be the fastest."""
        if self.strategy != _AUTO:
            return self.strategy
        possible = self.possible(call)
        return min(possible, key=lambda name: possible[name])

    def _check_strategy(self) -> None:
        why = self._why_not(self.strategy)
        if why:
            raise UnsupportedError(f"strategy={self.strategy}: {why}")

    def possible(self, call: Call) -> dict[str, float]:
        """Predicted seconds of the strategies that give what is asked for."""
        times = link_model.predicted(self.sizes(call), self.links)
        return {name: time for name, time in times.items() if not self._why_not(name)}

    def impossible(self) -> dict[str, str]:
        """The strategies that do not give what is asked for, with the reason."""
        return {name: why for name in STRATEGIES if (why := self._why_not(name))}

    def imagined(self) -> Call | None:
        """A call of the program's own sizes, evenly shared out, without data; ``None`` where one of
        them is open."""
        layouts = []
        for dim in self.sharding.sharded:
            if dim.length is None:
                return None
            if self.order == "zigzag":
                layouts.append(Layout.zigzag(dim.length, self.group.size))
            else:
                layouts.append(Layout.even(dim.length, self.group.size))
        shapes: list[tuple[int, ...]] = []
        for index, spec in enumerate(self.sharding.signature.inputs):
            shape = list(spec.shape)
            dim = self.sharding.dim_of(index)
            if dim is not None:
                layout = layouts[self.sharding.sharded.index(dim)]
                shape[dim.axis_of(index) or 0] = layout.lengths[0] * dim.scale_of(index)
            if None in shape:
                return None
            shapes.append(tuple(shape))
        return self._described(tuple(layouts), shapes)

    def _described(self, layouts: tuple[Layout, ...], shapes: Sequence[tuple[int, ...]]) -> Call:
        """A call of such sizes, without data."""
        import torch

        tensors = [
            torch.empty(shape, dtype=getattr(torch, ELEMENT_TYPES[spec.dtype][0]), device="meta")
            for shape, spec in zip(shapes, self.sharding.signature.inputs, strict=True)
        ]
        return self._prepared(Taken(tensors, [], [], False), layouts)

    def _why_not(self, strategy: str) -> str:
        assert self.folds is not None
        if strategy == "heads" and self._heads is None:
            found = "; ".join(f"{dim.text()}: {dim.length}" for dim in _exchangeable(self.sharding))
            return (
                "no dim that is parallel in all sharded arguments and results has an element for "
                f"each of {self.group.size} ranks ({found or 'there is none of known length'})"
            )
        if self.segment and strategy != "gather":
            return "deterministic=True folds segments in order, which strategy='gather' does"
        if strategy in ("ring", "rows") and self.order != "contiguous" and self.folds.facts.ordered:
            return "the merge is ordered, and shards are not"
        if strategy == "ring" and self.folds.facts.ordered:
            return "the merge is ordered: blocks of a ring come from the middle"
        return ""

    def chosen_merge(self, call: Call) -> str:
        """How states are merged: as asked for, or what is predicted to be the fastest."""
        if self.merge != _AUTO:
            return self.merge
        return link_model.merge_by(self.work.state_bytes(call), self.group.size, self.links)

    def _check_order(self, folds: Folds) -> None:
        ordered = folds.facts.ordered or folds.facts.prefixes
        if self.order == "zigzag" and ordered:
            raise UnsupportedError(
                "order='zigzag': the reduction is ordered, so that states are merged in the order "
                "of their elements; expected order='contiguous'"
            )
        if self.segment and folds.facts.prefixes:
            raise UnsupportedError(
                "deterministic: results are prefixes, which continue from one rank's elements to "
                "the next's; expected deterministic=False"
            )
        if self.sharding.rows and folds.facts.prefixes:
            raise UnsupportedError(
                "placements: results are prefixes along a dim that is sharded, and rows are "
                "sharded, too; expected rows whole, or over another dim of the mesh"
            )


def _read(source: Any, inputs: Sequence[Any] | None, options: Options, target: str) -> Source:
    """The text of a program: it is the same on all ranks."""
    if not is_torch_callable(source):
        return mlir_frontend.read(source)
    from ..frontends.precision import Precision
    from ..frontends.torch import export

    precision = Precision.chosen(options.precision, target)
    found, interface = export(source, inputs, precision=precision)
    if interface is not None:
        raise UnsupportedError(
            "redfuse.distributed: this function takes, changes or returns something else than "
            "tensors, or has parameters of its own; expected tensors as arguments and results"
        )
    return mlir_frontend.read(str(found.parse()))


def _facts(source: Source, options: Options) -> tuple[Signature, tuple[Dim, ...], Work]:
    """What is known of a program before placements; found once on a host."""

    def make() -> bytes:
        signature, dims, module = dims_of(source, options)
        work = work_of(module, dims)
        found = [
            signature.to_json(),
            [dataclasses.asdict(d) for d in dims],
            dataclasses.asdict(work),
        ]
        return json.dumps(found).encode()

    text = json.dumps(["dims", source.text, source.name, options.key()])
    signature, dims, work = json.loads(kept(text, make))
    found = tuple(Dim(**{name: _tuples(one) for name, one in dim.items()}) for dim in dims)
    masks = tuple(Mask(**{name: _tuples(one) for name, one in m.items()}) for m in work["masks"])
    return Signature.from_json(signature), found, Work(_tuples(work["reductions"]), masks)


def _tuples(value: Any) -> Any:
    """Lists of JSON as the tuples that they were."""
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value


def _heads_of(sharding: Sharding, ranks: int) -> Dim | None:
    """The dim that ranks can exchange, of which each has something: as evenly as there is one."""
    if sharding.stream is None or not sharding.rows:
        return None
    found = [d for d in _exchangeable(sharding) if (d.length or 0) >= ranks]
    return min(found, key=lambda d: link_model.share_of_heads(d.length or 1, ranks), default=None)


def _exchangeable(sharding: Sharding) -> list[Dim]:
    """Dims that are parallel, and in all sharded arguments and results."""
    arguments = [i for i, axis in enumerate(sharding.inputs) if axis is not None]
    found = []
    for dim in sharding.dims:
        if dim.kind != "parallel" or dim in sharding.rows or not dim.length:
            continue
        everywhere = all(dim.axis_of(i) not in (None, sharding.inputs[i]) for i in arguments)
        results = all(axis >= 0 for axis in dim.results)
        placed = all(axis is not None for axis in sharding.outputs)
        if everywhere and results and placed:
            found.append(dim)
    return found
