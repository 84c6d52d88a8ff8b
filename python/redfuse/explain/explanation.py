"""The object behind ``explain`` (docs/user/explain.md), read off the IR between the stages.

Every decision is an attribute or the shape of an op: cascades with their schedules after
"schedule", certificates of folds after "derive", kernels after "outline", and the list
``redfuse.refused`` on functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..affine import dims_of
from ..attributes import Schedule, fields, plain
from ..errors import _position, position_text
from . import flow
from .moved import moved
from .predicted import predicted, together
from .selections import add_ways, selections

_VIEWS = ("tensor.collapse_shape", "tensor.expand_shape", "tensor.cast", "tensor.extract_slice")
_TEXT_PLACE = re.compile(r"(?<!\S)-:(?=\d+:\d)")  # as `errors.position_text` has it


class Recorder:
    """Watches a compilation: call :meth:`after` with the module when a stage is done."""

    def __init__(self) -> None:
        self.kernels: list[dict] = []
        self.refused: list[dict] = []
        self.selections: list[dict] = []

    def after(self, stage: str, module: Any) -> None:
        """Takes from the module what this stage decided."""
        if stage == "schedule":
            self.kernels = [_kernel(op) for op in walk(module.operation, "redfuse.cascade")]
        elif stage == "derive":
            self._folds(module)
        elif stage == "outline":
            names = [
                op.attributes["sym_name"].value for op in walk(module.operation, "redfuse.kernel")
            ]
            names = _unsplit(names)
            if len(names) == len(self.kernels):
                for kernel, name in zip(self.kernels, names, strict=True):
                    kernel["name"] = name
            self.refused = list(refusals(module))
        elif stage == "share":
            self._shared(module)
            self.selections = selections(walk(module.operation, "redfuse.select"))
        elif stage == "plan":
            self._plans(module)
            add_ways(self.selections, walk(module.operation, "gpu.launch_func"))

    def result(self) -> dict:
        """The explanation."""
        for number, kernel in enumerate(self.kernels):
            kernel.setdefault("name", f"kernel_{number}")
        keys = ("name", "source", "inputs", "cascades", "schedule")
        optional = (
            "flow",
            "moves",
            "predicted",
            "matrices",
            "contraction",
            "packing",
            "rounds",
            "registers",
            "taken_apart",
            "code_of",
        )
        kernels = [
            {key: kernel[key] for key in (*keys, *(k for k in optional if k in kernel))}
            for kernel in self.kernels
        ]
        result: dict = {"kernels": kernels, "refused": self.refused}
        if self.selections:
            result["selections"] = self.selections
        return result

    def _launched(self, launch: Any) -> dict | None:
        """The kernel of a launch, as it was before equal ones were joined."""
        name = "redfuse.instead_of" if "redfuse.instead_of" in launch.attributes else "kernel"
        return self._named(launch.attributes[name].value)

    def _named(self, name: str) -> dict | None:
        names = (name, name.removesuffix("_splits").removesuffix("_states"))
        return next((k for k in self.kernels if k.get("name") in names), None)

    def _shared(self, module: Any) -> None:
        """Which kernels run the code of an equal one."""
        for launch in walk(module.operation, "redfuse.launch"):
            if "redfuse.instead_of" not in launch.attributes:
                continue
            kernel, first = self._launched(launch), self._named(launch.attributes["kernel"].value)
            if kernel is not None and first is not None:
                kernel["code_of"] = first["name"]

    def _plans(self, module: Any) -> None:
        """How launches run: on matrix units, or why they do not, in tiles that are brought to
        shared memory or packed for a CPU's caches, and in registers."""
        seen = flow.Flow()
        for launch in walk(module.operation, "redfuse.launch"):
            kernel = self._launched(launch)
            if kernel is None:
                continue
            dims = [dim["name"] for dim in kernel["cascades"][0]["dims"]]
            hands = seen.of(launch, kernel["name"])
            earlier = kernel.get("flow")
            kernel["flow"] = (
                hands if earlier is None else flow.together(earlier, hands, kernel["name"])
            )
            # Of splits that other launches merge: what all of them move.
            before = kernel.get("moves", {"reads": 0, "writes": 0})
            kernel["moves"] = {
                key: None if count is None or before[key] is None else before[key] + count
                for key, count in zip(("reads", "writes"), moved(launch), strict=True)
            }
            if (time := predicted(launch)) is not None:
                first = kernel.get("predicted")
                kernel["predicted"] = time if first is None else together(first, time)
            if "redfuse.matrices" in launch.attributes:
                kernel["matrices"] = _plan(launch.attributes["redfuse.matrices"], dims)
            elif "redfuse.no_matrices" in launch.attributes:
                kernel["matrices"] = {"refused": launch.attributes["redfuse.no_matrices"].value}
            if "redfuse.contraction" in launch.attributes:
                plan = fields(launch.attributes["redfuse.contraction"], "contraction_plan") or {}
                kernel["contraction"] = _as_lists(plan)
            if "redfuse.packing" in launch.attributes:
                plan = fields(launch.attributes["redfuse.packing"], "packing_plan") or {}
                tiles = {n: size for n, size in zip(dims, plan["tiles"], strict=False) if size}
                kernel["packing"] = {**_as_lists(plan), "tiles": tiles}
            if "redfuse.persistent" in launch.parent.attributes:
                plan = launch.parent.attributes["redfuse.persistent"]
                kernel["rounds"] = _as_lists(fields(plan, "rounds_plan") or {})
            if "redfuse.registers" in launch.attributes and "registers" not in kernel:
                kernel["registers"] = _layout(launch.attributes["redfuse.registers"], dims)
            elif "redfuse.no_registers" in launch.attributes and "registers" not in kernel:
                kernel["registers"] = {"refused": launch.attributes["redfuse.no_registers"].value}
            if "redfuse.taken_apart" in launch.attributes:
                kernel["taken_apart"] = launch.attributes["redfuse.taken_apart"].value

    def _folds(self, module: Any) -> None:
        kinds = ("stream", "multipass", "split")
        streamed = [k for k in self.kernels if k["schedule"].get("kind") in kinds]
        groups = [g for g in groups_of(module) if g[0].name == "redfuse.fold"]
        if len(groups) != len(streamed):
            return  # some have no merge after all: the refusals say which
        for kernel, group in zip(streamed, groups, strict=True):
            cascade = kernel["cascades"][0]
            folds = [op for op in group if op.name == "redfuse.fold"]
            kernel["inputs"] = _fold_reads(group)
            if len(folds) > 1:
                kernel["schedule"]["passes"] = len(folds)
                cascade["passes"] = [_certificate(fold) for fold in folds]
            elif "certificate" in folds[0].attributes:
                cascade["certificate"] = _certificate(folds[0])
                _name_merges(cascade, kernel["schedule"], cascade["certificate"])


def _certificate(fold: Any) -> dict:
    from .certificates import entries_of

    held = "certificate" in fold.attributes
    return entries_of(fold.attributes["certificate"]) if held else {}


def groups_of(module: Any) -> list[list[Any]]:
    """What cascades have become, in order: folds and finalisations, those of all passes of one
    cascade together, or a cascade that stayed, alone."""
    import mlir.ir as ir

    groups: dict[Any, list[Any]] = {}
    for op in walk(module.operation, "redfuse.fold", "redfuse.finalize", "redfuse.cascade"):
        if "redfuse.pass" in op.attributes:
            key: Any = ir.DenseI64ArrayAttr(op.attributes["redfuse.pass"])[0]
        elif op.name != "redfuse.finalize":
            key = op
        else:
            owners = [v.owner for v in op.operands if isinstance(v, ir.OpResult)]
            key = next((o for o in owners if o.name == "redfuse.fold"), op)
        groups.setdefault(key, []).append(op)
    return [group for group in groups.values() if group[0].name != "redfuse.finalize"]


def _fold_reads(group: list[Any]) -> list[dict]:
    """How often each function argument is read: once a pass, and once more by a finalisation that
    goes over the folded dims again."""
    import mlir.ir as ir

    counts: dict[int, int] = {}
    folded = {dim for op in group if op.name == "redfuse.fold" for dim in op.attributes["over"]}
    for op in group:
        maps = [ir.AffineMapAttr(a).value for a in op.attributes["indexing_maps"]]
        for value, affine in zip(list(op.operands)[: -len(op.results)], maps, strict=False):
            argument = argument_of(value)
            if argument is None:
                continue
            dims = set().union(*map(dims_of, affine.results))
            if op.name == "redfuse.fold" or dims & folded:
                counts[argument] = counts.get(argument, 0) + 1
            else:
                counts.setdefault(argument, 1)
    return [{"arg": f"arg{number}", "reads": count} for number, count in sorted(counts.items())]


def _name_merges(cascade: dict, schedule: dict, entries: dict) -> None:
    """Says for each stage over a streamed dim how its partial results combine."""
    from .certificates import Certificate
    from .notation import equations

    certificate = Certificate.of(entries)
    merged = {
        node.key: e.text()
        for e in equations(certificate)
        if e.section == "merge"
        for node in e.left.walk()
    }
    streamed = set(schedule.get("stream", []))
    stages = [stage for stage in cascade["stages"] if streamed & set(stage["over"])]
    for stage, reduction in zip(stages, certificate.source, strict=False):
        formula = certificate.finalise.get(reduction.names[0])
        if formula is None:
            continue
        used = {name for name in formula.names() if name in certificate.state}
        own = (used - set(certificate.pivots)) or used
        texts = [merged[f"{name}'"] for name in sorted(own) if f"{name}'" in merged]
        stage["merge"] = "; ".join(dict.fromkeys(texts))


def _unsplit(names: list[str]) -> list[str]:
    """Kernel names with the kernels of one split fold as one."""
    result = []
    for name in names:
        ends = [end for end in ("_splits", "_states", "_merge", "_map") if name.endswith(end)]
        base = name.removesuffix(ends[0]) if ends else name
        name = base if {f"{base}_splits", f"{base}_states"} & set(names) else name
        if name not in result:
            result.append(name)
    return result


def walk(operation: Any, *wanted: str) -> Iterator[Any]:
    """The operations of these names below another, in order; not those inside of one of them."""
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                if inner.operation.name in wanted:
                    yield inner.operation
                else:
                    yield from walk(inner.operation, *wanted)


def _kernel(cascade: Any) -> dict:
    import mlir.ir as ir

    maps = [ir.AffineMapAttr(a).value for a in cascade.attributes["indexing_maps"]]
    operands = list(cascade.operands)
    count = maps[0].n_dims if maps else 0
    extents: list[int | None] = [None] * count
    for value, affine in zip(operands, maps, strict=True):
        kind = ir.RankedTensorType(value.type)
        for dim, expression in enumerate(affine.results):
            if isinstance(expression, ir.AffineDimExpr) and not kind.is_dynamic_dim(dim):
                at = expression.position
                extents[at] = extents[at] or kind.get_dim_size(dim)
    names = [f"i{i}" for i in range(count)]
    inputs = operands[: len(operands) - len(list(cascade.results))]
    body = cascade.regions[0].blocks[0]
    stages = [_stage(op.operation, names) for op in body.operations
              if op.operation.name == "redfuse.reduce"]  # fmt: skip
    return {
        "source": where(cascade),
        "inputs": _reads(inputs),
        "cascades": [
            {
                "dims": [
                    {"name": name, "extent": extent}
                    for name, extent in zip(names, extents, strict=True)
                ],
                "stages": stages,
            }
        ],
        "schedule": _schedule(cascade, names),
    }


def _stage(reduce: Any, names: list[str]) -> dict:
    import mlir.ir as ir

    from ..dialects.redfuse import Reducer

    def dims(attribute: str) -> list[str]:
        return [names[d] for d in ir.DenseI64ArrayAttr(reduce.attributes[attribute])]

    # Not by printing the operation, for which all of the function is numbered.
    reducer = Reducer(ir.IntegerAttr(reduce.attributes["reducer"]).value)
    return {
        "reducer": str(reducer),
        "over": dims("over"),
        "into": dims("into"),
        "type": str(reduce.results[0].type),
        "location": where(reduce),
    }


def _schedule(cascade: Any, names: list[str]) -> dict:
    if "schedule" not in cascade.attributes:
        return {"kind": "none"}
    schedule = Schedule.of(cascade.attributes["schedule"])
    # What a resident schedule folds is in one piece.
    stream = () if schedule.kind == "resident" else schedule.stream
    found: dict[str, Any] = {
        "kind": schedule.kind,
        "grid": [names[d] for d in schedule.grid],
        "tile": {n: size for n, size in zip(names, schedule.tiles, strict=False) if size},
        "stream": [names[d] for d in stream],
    }
    if schedule.splits:
        found["splits"] = schedule.splits
    if schedule.reason:
        found["reason"] = schedule.reason
    return found


def _plan(attribute: Any, dims: list[str]) -> dict:
    """A ``#redfuse.matrix_plan`` by the names of its fields."""
    found = fields(attribute, "matrix_plan") or {}
    found["left"], found["cluster_shape"] = list(found["left"]), list(found["cluster_shape"])
    found["row_dim"] = dims[found["row_dim"]]
    found["tiles"] = {n: size for n, size in zip(dims, found["tiles"], strict=False) if size}
    return found


def _layout(attribute: Any, dims: list[str]) -> dict:
    """A ``#redfuse.register_layout`` by the names of its fields."""
    found = fields(attribute, "register_layout") or {}
    found["dims"] = dict(zip(dims, found["dims"], strict=False))
    for inputs in ("kept", "ahead", "following"):
        found[inputs] = [one["argument"] for one in found[inputs]]
    return _as_lists(found)


def _as_lists(found: dict) -> dict:
    """With lists, as JSON has them."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in found.items()}


def _reads(inputs: list) -> list[dict]:
    """How often a tile of the kernel loads each function argument: once an operand."""
    counts: dict[int, int] = {}
    for value in inputs:
        argument = argument_of(value)
        if argument is not None:
            counts[argument] = counts.get(argument, 0) + 1
    return [{"arg": f"arg{number}", "reads": count} for number, count in sorted(counts.items())]


def argument_of(value: Any) -> int | None:
    """The function argument that a value is a view of."""
    import mlir.ir as ir

    for _ in range(64):
        if isinstance(value, ir.BlockArgument):
            parent = value.owner.owner
            name = parent.operation.name if hasattr(parent, "operation") else parent.name
            return value.arg_number if name == "func.func" else None
        owner = value.owner
        if owner.name not in _VIEWS:
            return None
        value = owner.operands[0]
    return None


def where(operation: Any) -> str:
    """Where an operation was written, as file:line:column."""
    return position_text(*_position(operation.location))


def refusals(module: Any) -> Iterator[dict]:
    """What was not fused, and why, as the passes left it on the functions."""
    for operation in module.body.operations:
        attributes = operation.operation.attributes
        if "redfuse.refused" not in attributes:
            continue
        for entry in attributes["redfuse.refused"]:
            held = plain(entry)
            keys = ("op", "location", "condition", "detail", "remedy")
            yield {key: _TEXT_PLACE.sub("<text>:", held.get(key, "")) for key in keys}
