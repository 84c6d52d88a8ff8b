"""Recurrent layers and cells: LSTM, GRU, and those with one gate.

A layer is a loop over time. What it takes of its inputs is one product, of all times; a round
multiplies the state by its weights, and what the gates make of both is the next state, which lies
where the layer's results are. Both directions of a layer run in one loop, as their products have
one shape: the second one's inputs and results are turned around.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith, math, scf, tensor

from . import dtypes
from .builder import Builder, Tensor, projection, refuse
from .graphs import of_graphs
from .pointwise import computed_in, relu, sigmoid

Scalar = Any


def _lstm(x: list[Scalar], h: list[Scalar], state: list[Scalar]) -> list[Scalar]:
    enters, stays, new, leaves = (arith.addf(a, b) for a, b in zip(x, h, strict=True))
    kept = arith.mulf(sigmoid(stays), state[1])
    cell = arith.addf(kept, arith.mulf(sigmoid(enters), math.tanh(new)))
    return [arith.mulf(sigmoid(leaves), math.tanh(cell)), cell]


def _gru(x: list[Scalar], h: list[Scalar], state: list[Scalar]) -> list[Scalar]:
    reset, update = (sigmoid(arith.addf(a, b)) for a, b in zip(x[:2], h[:2], strict=True))
    new = math.tanh(arith.addf(x[2], arith.mulf(reset, h[2])))
    return [arith.addf(new, arith.mulf(update, arith.subf(state[0], new)))]


def _of_one_gate(function: Callable[[Scalar], Scalar]) -> Callable[..., list[Scalar]]:
    return lambda x, h, state: [function(arith.addf(x[0], h[0]))]


@dataclasses.dataclass(frozen=True)
class _Kind:
    """states: how many tensors are carried. adds: whether all gates look at the sum of the two
    products, so that biases are added once. body: the next states, of what each gate is given of
    the input and of the state, and the states."""

    gates: int
    states: int
    adds: bool
    body: Callable[..., list[Scalar]]


_LSTM, _GRU = _Kind(4, 2, True, _lstm), _Kind(3, 1, False, _gru)
_TANH = _Kind(1, 1, True, _of_one_gate(math.tanh))
_RELU = _Kind(1, 1, True, _of_one_gate(relu))


@dataclasses.dataclass
class _Weights:
    """Of one direction of a layer, or of both of them stacked. after: projects the state."""

    of_input: Any
    of_state: Any
    input_bias: Any = None
    state_bias: Any = None
    after: Any = None

    def fields(self) -> list[Any]:
        return [self.of_input, self.of_state, self.input_bias, self.state_bias, self.after]


def _split_weights(parts: Sequence[Any], has_biases: bool, count: int) -> list[_Weights]:
    """A list of parameters as PyTorch orders them: ``count`` times the same."""
    size = len(parts) // count
    made = []
    for first in range(0, len(parts), size):
        own = list(parts[first : first + size])
        biases = own[2:4] if has_biases else [None, None]
        after = own[4 if has_biases else 2 :]
        made.append(_Weights(own[0], own[1], *biases, after[0] if after else None))
    return made


# ---- shapes


def _shapes(
    input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Tensors like the results of a layer, without elements."""
    states = hx if isinstance(hx, (list, tuple)) else [hx]
    units = states[0].shape[-1] * (2 if bidirectional else 1)
    return (input.new_empty((*input.shape[:2], units)), *(t.new_empty(t.shape) for t in states))


def _refuse_packed(*_: Any) -> None:
    refuse("packed sequences (recurrent layers of torch.nn.utils.rnn); expected padded tensors")


@contextlib.contextmanager
def as_one_operation() -> Iterator[None]:
    """Where PyTorch asks what a recurrent layer's results look like, it is told. It would run all
    rounds of all layers, one after another, to find out."""
    table = torch._decomp.global_decomposition_table["post_autograd"]
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    aten = torch.ops.aten
    rules: list[tuple[Any, Any]] = []
    for packet in (aten.lstm, aten.gru, aten.rnn_tanh, aten.rnn_relu):
        rules += [(packet.input, _shapes), (packet.data, _refuse_packed)]
    # Where PyTorch looks for a rule, and the name it looks for.
    places = [*((table, op, rule) for op, rule in rules),
              *((op.py_kernels, composite, rule) for op, rule in rules)]  # fmt: skip
    before = [known.get(name) for known, name, _ in places]
    try:
        for known, name, rule in places:
            known[name] = rule
        yield
    finally:
        for (known, name, _), rule in zip(places, before, strict=True):
            known.pop(name)
            if rule is not None:
                known[name] = rule


# ---- a round


def _sums(b: Builder, dims: str, left: Tensor, right: Tensor) -> Tensor:
    inner = computed_in(left.dtype)
    return b.contract(dims, left, right, inner, inner)


def _biased(b: Builder, made: Tensor, biases: Sequence[Tensor | None], lead: int) -> Tensor:
    """Biases (of ``lead`` directions and a gate's units) added to times x directions x ..."""
    given = [t for t in biases if t is not None]
    if not given:
        return made
    rank = made.rank
    kept = [*range(rank - lead - 2, rank - 2)] if lead else []

    def body(x: Scalar, *rest: Scalar) -> Scalar:
        total = None
        for value, bias in zip(rest, given, strict=False):
            value = dtypes.convert(value, bias.dtype, made.dtype)
            total = value if total is None else arith.addf(total, value)
        return arith.addf(x, total)

    identity = ir.AffineMap.get_identity(rank)
    pairs = [(made.value, identity)]
    pairs += [(t.value, projection(rank, [*kept, rank - 1])) for t in given]
    out = [(b.empty(made.shape, made.dtype), identity)]
    value = b.generic(pairs, out, (), lambda *s: body(*s[:-1]))[0]
    return Tensor(value, made.shape, made.dtype)


def _next(
    b: Builder, kind: _Kind, of_input: Tensor, weights: _Weights, states: Sequence[Tensor]
) -> list[Tensor]:
    """The states after a round. of_input: the product of the input, biases added. Tensors begin
    with the directions where these are two."""
    hidden = states[0]
    lead = "d" if hidden.rank == 3 else ""
    product = _sums(b, f"{lead}nk,{lead}gk->{lead}ng", hidden, weights.of_state)
    if not kind.adds:
        product = _biased(b, product, [weights.state_bias], len(lead))
    inner = product.dtype
    last, units = product.rank - 1, weights.of_state.shape[-2] // kind.gates
    gates = [b.slice(t, last, g * units, units)
             for t in (of_input, product) for g in range(kind.gates)]  # fmt: skip
    # A projected state is not one of those that the gates look at.
    read = states if weights.after is None else states[1:]
    pairs = [(t.value, ir.AffineMap.get_identity(t.rank)) for t in (*gates, *read)]
    shape = gates[0].shape
    types = [inner if weights.after is not None else hidden.dtype, *[s.dtype for s in states[1:]]]
    outs = [(b.empty(shape, kept), ir.AffineMap.get_identity(len(shape))) for kept in types]

    def body(*scalars: Scalar) -> list[Scalar]:
        own = list(scalars[: 2 * kind.gates])
        old = [dtypes.convert(v, t.dtype, inner)
               for v, t in zip(scalars[len(own) :], read, strict=False)]  # fmt: skip
        if weights.after is not None:
            old = [None, *old]
        made = kind.body(own[: kind.gates], own[kind.gates :], old)
        return [dtypes.convert(v, inner, t) for v, t in zip(made, types, strict=True)]

    made = [Tensor(v, shape, t) for v, t in zip(b.generic(pairs, outs, (), body), types,
                                                strict=True)]  # fmt: skip
    if weights.after is not None:
        whole = b.contract(f"{lead}nk,{lead}hk->{lead}nh", made[0], weights.after, hidden.dtype,
                           inner)  # fmt: skip
        made[0] = whole
    return made


# ---- layers


def _turned(b: Builder, x: Tensor) -> Tensor:
    """The last time first."""

    def body(_: Scalar) -> Scalar:
        last = arith.subi(b.extent(x.shape[0]), b.index(1))
        places = [arith.subi(last, b.position(0)), *(b.position(d) for d in range(1, x.rank))]
        return tensor.extract(x.value, places)

    out = [(b.empty(x.shape, x.dtype), ir.AffineMap.get_identity(x.rank))]
    return Tensor(b.generic([], out, (), body)[0], x.shape, x.dtype)


def _joined(b: Builder, parts: Sequence[Tensor], dim: int) -> Tensor:
    if len(parts) == 1:
        return parts[0]
    size = sum(t.shape[dim] for t in parts)
    shape = (*parts[0].shape[:dim], size, *parts[0].shape[dim + 1 :])
    kind = b.type_of(shape, parts[0].dtype)
    made = tensor.ConcatOp(kind, dim, [t.value for t in parts])
    return Tensor(made.result, shape, parts[0].dtype)


def _stacked(b: Builder, parts: Sequence[Tensor], dim: int = 0) -> Tensor:
    """``torch.stack``; a single tensor as it is."""
    if len(parts) == 1:
        return parts[0]
    wide = [b.reshape(t, (*t.shape[:dim], 1, *t.shape[dim:])) for t in parts]
    return _joined(b, wide, dim)


def _row(b: Builder, x: Tensor, at: Any) -> Tensor:
    part = b.slices(x, [at, *[0] * (x.rank - 1)], (1, *x.shape[1:]), [1] * x.rank)
    return b.reshape(part, x.shape[1:])


def _insert_row(b: Builder, row: Tensor, into: Tensor, at: Any) -> Tensor:
    wide = b.reshape(row, (1, *row.shape))
    return b.insert(wide, into, [at, *[0] * (into.rank - 1)], [1] * into.rank)


def _layer(
    b: Builder, kind: _Kind, x: Tensor, dims: str, weights: _Weights, start: Sequence[Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """The results of all times (times x batch x directions * units), and the last states. dims:
    those of x, by the letters t, n and i. start: states, which begin with the directions where
    these are two."""
    is_twofold = start[0].rank == 3
    lead = 1 if is_twofold else 0
    both = [weights.input_bias, *([weights.state_bias] if kind.adds else [])]
    if is_twofold:
        # The inputs of the second direction are turned by the time that comes first.
        made = _sums(b, f"{dims},dgi->tdng", x, weights.of_input)
        parts = [b.slice(made, 1, d, 1) for d in range(2)]
        made = _joined(b, [parts[0], _turned(b, parts[1])], 1)
    else:
        made = _sums(b, f"{dims},gi->tng", x, weights.of_input)
    of_input = _biased(b, made, both, lead)
    times, hidden = of_input.shape[0], start[0]
    rows = Tensor(b.empty((times + 1, *hidden.shape), hidden.dtype), (times + 1, *hidden.shape),
                  hidden.dtype)  # fmt: skip
    rows = _insert_row(b, hidden, rows, 0)
    carried = [rows, *start[1:]]
    op = scf.ForOp(b.index(0), b.extent(times), b.index(1), [t.value for t in carried])
    with ir.InsertionPoint(op.body):
        at = op.induction_variable
        held = [dataclasses.replace(t, value=v)
                for t, v in zip(carried, op.inner_iter_args, strict=True)]  # fmt: skip
        states = [_row(b, held[0], at), *held[1:]]
        after = _next(b, kind, _row(b, of_input, at), weights, states)
        rows = _insert_row(b, after[0], held[0], arith.addi(at, b.index(1)))
        scf.YieldOp([rows.value, *(t.value for t in after[1:])])
    rows, *rest = (dataclasses.replace(t, value=v)
                   for t, v in zip(carried, op.results, strict=True))  # fmt: skip
    ends = [_row(b, rows, times), *rest]
    made = b.slice(rows, 0, 1, times)
    if is_twofold:
        parts = [b.slice(made, 1, d, 1) for d in range(2)]
        parts = [b.reshape(t, (t.shape[0], *t.shape[2:])) for t in parts]
        made = _joined(b, [parts[0], _turned(b, parts[1])], 2)
    return made, ends


def _recurrent(
    importer: Any, node: Any, kind: _Kind, x: Tensor, start: Sequence[Tensor], has_biases: bool,
    layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> list[Tensor]:  # fmt: skip
    b = importer.builder
    if train and dropout > 0 and layers > 1:
        refuse("dropout between layers draws random numbers; expected a module in eval mode")
    directions = 2 if bidirectional else 1
    weights = _split_weights(node.args[2], has_biases, layers * directions)
    dims = "nti" if batch_first else "tni"
    ends = []
    for number in range(layers):
        own = range(number * directions, (number + 1) * directions)
        both = _Weights(*(_of_both(importer, nodes) for nodes in zip(
            *(weights[i].fields() for i in own), strict=True)))  # fmt: skip
        begin = [_stacked(b, [_row(b, t, i) for i in own]) for t in start]
        x, end = _layer(b, kind, x, dims, both, begin)
        dims = "tni"
        ends.append(end)
    if batch_first:
        x = b.permute(x, [1, 0, 2])
    finals = [_ended(b, [end[s] for end in ends], bidirectional) for s in range(kind.states)]
    return [x, *finals]


def _ended(b: Builder, states: Sequence[Tensor], bidirectional: bool) -> Tensor:
    """Of all layers, layers * directions x batch x units."""
    if bidirectional:
        return _joined(b, states, 0)
    return _joined(b, [b.reshape(t, (1, *t.shape)) for t in states], 0)


def _of_both(importer: Any, nodes: Sequence[Any]) -> Tensor | None:
    """Weights of all directions: stacked now where they are constants."""
    if nodes[0] is None:
        return None
    if len(nodes) > 1:
        data = [importer.held(node) for node in nodes]
        if all(t is not None for t in data):
            return importer.constant(torch.stack(data))
    return _stacked(importer.builder, [importer.values[node] for node in nodes])


@of_graphs("aten.lstm.input")
def _of_lstm(
    importer: Any, node: Any, input: Tensor, hx: Sequence[Tensor], params: Any, has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> list[Tensor]:  # fmt: skip
    return _recurrent(importer, node, _LSTM, input, hx, has_biases, num_layers, dropout, train,
                      bidirectional, batch_first)  # fmt: skip


def _of_kind(name: str, kind: _Kind) -> None:
    @of_graphs(name)
    def _of(
        importer: Any, node: Any, input: Tensor, hx: Tensor, params: Any, has_biases: bool,
        num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool,
    ) -> list[Tensor]:  # fmt: skip
        return _recurrent(importer, node, kind, input, [hx], has_biases, num_layers, dropout,
                          train, bidirectional, batch_first)  # fmt: skip


for _name, _own in (("gru", _GRU), ("rnn_tanh", _TANH), ("rnn_relu", _RELU)):
    _of_kind(f"aten.{_name}.input", _own)


for _name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):

    @of_graphs(f"aten.{_name}.data")
    def _packed(importer: Any, node: Any, *_: Any, **__: Any) -> None:
        _refuse_packed()


# ---- cells


def _cell(
    importer: Any, kind: _Kind, x: Tensor, states: Sequence[Tensor], weights: _Weights
) -> list[Tensor]:
    b = importer.builder
    both = [weights.input_bias, *([weights.state_bias] if kind.adds else [])]
    of_input = _biased(b, _sums(b, "ni,gi->ng", x, weights.of_input), both, 0)
    return _next(b, kind, of_input, weights, states)


@of_graphs("aten.lstm_cell.default")
def _lstm_cell(
    importer: Any, node: Any, input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor,
    b_ih: Tensor | None = None, b_hh: Tensor | None = None,
) -> list[Tensor]:  # fmt: skip
    return _cell(importer, _LSTM, input, hx, _Weights(w_ih, w_hh, b_ih, b_hh))


def _of_cell(name: str, kind: _Kind) -> None:
    @of_graphs(name)
    def _of(
        importer: Any, node: Any, input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor,
        b_ih: Tensor | None = None, b_hh: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        return _cell(importer, kind, input, [hx], _Weights(w_ih, w_hh, b_ih, b_hh))[0]


for _name, _own in (("gru", _GRU), ("rnn_tanh", _TANH), ("rnn_relu", _RELU)):
    _of_cell(f"aten.{_name}_cell.default", _own)
