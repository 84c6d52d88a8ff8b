"""What the bodies of cascades, folds and finalisations do, op by op, on arrays over a space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .arithmetic import Arithmetic, NotInterpretable
from .space import Declared, Range, Space, combine, merge_best, prefixes, reduce, scattered

_PREDICATES = {
    "arith.cmpf": [
        "false",
        "oeq",
        "ogt",
        "oge",
        "olt",
        "ole",
        "one",
        "ord",
        "ueq",
        "ugt",
        "uge",
        "ult",
        "ule",
        "une",
        "uno",
        "true",
    ],
    "arith.cmpi": ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"],
}

# What stands for a scalar from outside of a body.
OUTSIDE = 1.5


def identity_value(reducer: str, type_: str) -> Any:
    """What a reducer gives over nothing, as a Python number; None for an unknown one."""
    from .symbolic import identity_of

    found = identity_of(reducer, type_)
    if found is None:
        return None
    value: Any = found.value
    return float(value) if isinstance(value, float) or type_[0] in "fb" else int(value)


class Bodies:
    """An interpreter. It knows the ops by name, and nothing of how folds are derived."""

    def __init__(self, numbers: Arithmetic, space: Space):
        self.numbers, self.space = numbers, space

    def run(self, block: Any, arguments: Sequence[Any], ranges: Sequence[Range]) -> list[Any]:
        """The yielded values of a block."""
        values: dict[Any, Any] = dict(zip(block.arguments, arguments, strict=True))
        for op in block.operations:
            operation = op.operation
            operands = [self._operand(v, values) for v in operation.operands]
            if operation.name == "redfuse.yield":
                return operands
            results = self._op(operation, operands, ranges)
            values.update(zip(operation.results, results, strict=True))
        raise NotInterpretable("a body without redfuse.yield")

    def _operand(self, value: Any, values: Mapping[Any, Any]) -> Any:
        if value in values:
            return values[value]
        owner = getattr(value, "owner", None)
        if getattr(owner, "name", "") == "arith.constant":
            return self._constant(owner.attributes["value"])
        if str(value.type).startswith("tensor"):
            return None  # Read by tensor.extract alone.
        if str(value.type) in ("f64", "f32", "f16", "bf16"):
            return self.numbers.number(OUTSIDE).reshape([1] * self.space.rank)
        raise NotInterpretable(f"a body uses a value from outside, of type {value.type}")

    def _constant(self, attribute: Any) -> Any:
        return self.numbers.number(constant(attribute)).reshape([1] * self.space.rank)

    def _op(self, op: Any, operands: list[Any], ranges: Sequence[Range]) -> list[Any]:
        if op.name == "redfuse.reduce":
            over = [int(d) for d in op.attributes["over"]]
            rank_dim, declared = self._rank_dim(op, operands), self._declared(op)
            return reduce(self.numbers, self.space, ranges, reducer_of(op), over, operands,
                          rank_dim, declared)  # fmt: skip
        if op.name == "redfuse.scan":
            reducer = self._declared(op) or self._known(op)
            return prefixes(self.space, ranges, int(op.attributes["dim"]), operands, reducer,
                            "exclusive" in op.attributes)  # fmt: skip
        if op.name == "redfuse.combine":
            return self.run(op.regions[0].blocks[0], operands, self.space.ranges())
        if op.name == "redfuse.merge_topk":
            return merge_best(operands[:2], operands[2:], int(op.attributes["dim"]))
        if op.name == "redfuse.index":
            return [self.space.positions(int(op.attributes["dim"]), ranges)]
        if op.name == "arith.constant":
            return [self._constant(op.attributes["value"])]
        if op.name == "cf.assert":
            return []
        if op.name == "tensor.extract":
            return [scattered(self.numbers, operands[1:])]
        if op.regions or len(op.results) != 1:
            raise NotInterpretable(f"'{op.name}' is not interpreted")
        kind = op.name.partition(".")[2]
        if op.name in _PREDICATES:
            kind += "_" + _PREDICATES[op.name][int(op.attributes["predicate"])]
        return [self.numbers.apply(kind, *operands)]

    def _declared(self, op: Any) -> Declared | None:
        """The reducer of the program's own in ``op``, if it has one."""
        if not op.regions or not len(op.regions[0].blocks):
            return None
        block = op.regions[0].blocks[0]
        ranges = self.space.ranges()
        identities = [self._constant(a) for a in op.attributes["identities"]]
        return Declared(identities, lambda a, b: self.run(block, [*a, *b], ranges))

    def _known(self, op: Any) -> Declared:
        """A reducer of the dialect as a declared one."""
        reducer = reducer_of(op)
        identity = identity_value(reducer, str(op.results[0].type))
        if identity is None:
            raise NotInterpretable(f"a scan by '{reducer}'")
        start = self.numbers.number(identity).reshape([1] * self.space.rank)
        return Declared([start], lambda a, b: combine(self.numbers, reducer, a, b))

    @staticmethod
    def _rank_dim(op: Any, operands: Sequence[Any]) -> int | None:
        """The dim of the ranks: the one of ``into`` that operands lack."""
        if reducer_of(op) != "topk":
            return None
        shape = np.broadcast_shapes(*(np.shape(v) for v in operands))
        own = [d for d in map(int, op.attributes["into"]) if shape[d] == 1]
        return own[-1] if own else None


def reducer_of(op: Any) -> str:
    """The reducer of a redfuse.reduce, by name."""
    from ..dialects._redfuse_enum_gen import Reducer

    return str(Reducer(int(op.attributes["reducer"])))


def constant(attribute: Any) -> Any:
    """The Python number in an attribute."""
    value = getattr(attribute, "value", None)
    if not isinstance(value, (bool, int, float)):
        raise NotInterpretable(f"the constant {attribute} is not interpreted")
    return value


class FoldOps:
    """A redfuse.fold and the redfuse.finalize of its state, as functions of arrays.

    reads: names of the cascade's inputs that the two have, in order.
    """

    def __init__(self, fold: Any, finalize: Any | None, reads: Mapping[str, Sequence[str]]):
        self.fold, self.finalize = fold, finalize
        self.step_inputs = list(reads.get("step", ()))
        self.last_inputs = list(reads.get("finalise", ()))
        self.over = [int(d) for d in fold.attributes["over"]]
        self.outputs = list(reads.get("outputs", ()))
        self.count = len(fold.attributes["identities"])
        inputs = len(list(fold.operands)) - len(list(fold.results))
        if inputs != len(self.step_inputs):
            raise NotInterpretable(
                f"the fold has {inputs} inputs, its certificate names {len(self.step_inputs)}"
            )

    def identity(self, bodies: Bodies) -> list[Any]:
        """The state that the fold starts from."""
        return [bodies._constant(a) for a in self.fold.attributes["identities"]]

    def step(
        self, bodies: Bodies, inputs: Mapping[str, Any], state: Sequence[Any], cut: Range | None
    ) -> list[Any]:
        """``state`` with one segment included."""
        return self.stepped(bodies, inputs, state, cut)[0]

    def stepped(
        self, bodies: Bodies, inputs: Mapping[str, Any], state: Sequence[Any], cut: Range | None
    ) -> tuple[list[Any], list[Any]]:
        """The same, and the outputs of the segment."""
        space = bodies.space
        ranges = space.ranges(self.over, cut)
        read = [space.part(inputs[name], ranges) for name in self.step_inputs]
        made = bodies.run(self.fold.regions[0].blocks[0], [*read, *state], ranges)
        return made[: self.count], made[self.count :]

    def merge(self, bodies: Bodies, a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        """Two states as one."""
        return bodies.run(self.fold.regions[1].blocks[0], [*a, *b], bodies.space.ranges())

    def finalised(
        self, bodies: Bodies, inputs: Mapping[str, Any], state: Sequence[Any]
    ) -> list[Any]:
        """The results from a state."""
        assert self.finalize is not None
        operands = list(self.finalize.operands)
        operands = operands[: len(operands) - len(list(self.finalize.results))]
        results = {value: k for k, value in enumerate(self.fold.results)}
        names = iter(self.last_inputs)
        arguments = []
        for operand in operands:
            if operand in results:
                arguments.append(state[results[operand]])
                continue
            name = next(names, None)
            if name is None:
                raise NotInterpretable("the finalisation reads more than its certificate names")
            arguments.append(inputs[name])
        block = self.finalize.regions[0].blocks[0]
        return bodies.run(block, arguments, bodies.space.ranges())
