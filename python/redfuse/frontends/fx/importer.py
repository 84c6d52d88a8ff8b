"""FX graphs of core ATen operations become linalg programs, in this process.

A graph is what ``torch.export`` and AOTAutograd make: nodes that call operations, with what
PyTorch's meta functions say of each result. An operation without a lowering here is taken apart by
PyTorch's own rules when it is met (``decompose``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from mlir import ir
from mlir.dialects import arith, func, tensor
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ...errors import ArgumentError, CompileError, Error, UnsupportedError
from ..precision import HIGHEST, Precision
from ..tracing import is_about_data, words_of
from . import (
    associative,
    attention,
    checks,
    complexes,
    indexing,
    norms,
    orders,
    pointwise,
    prims,
    products,
    recurrent,
    reductions,
    scans,
    scattering,
    triangular,
    views,
    windows,
)
from .builder import Builder, Tensor
from .complexes import Pair
from .decompose import Decomposer, attribute_of, constant_of
from .graphs import GRAPHS
from .layouts import BY_STRIDES, of_memory
from .registry import LOWERINGS, Call

# They register what they lower.
assert (
    attention and indexing and norms and orders and pointwise and prims and products and reductions
)
assert associative and recurrent and scans and scattering and triangular and views and windows

# Say something to PyTorch, and make nothing.
_NOTHING = (
    "aten._assert_async.msg", "aten._assert_scalar.default", "aten._assert_tensor_metadata.default",
    "aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default",
)  # fmt: skip
_TORCH = str(Path(torch.__file__).parent)
_FRONTENDS = str(Path(__file__).parents[1])


class _OperationError(UnsupportedError):
    """Why an operation that another one is made of cannot be compiled. names: of it, and of those
    that it was taken apart into, as far as they have other names."""

    def __init__(self, name: str, error: UnsupportedError):
        inner = isinstance(error, _OperationError)
        self.words: str = error.words if inner else str(error)
        self.names: list[str] = [name]
        for other in error.names if inner else []:
            if _plain_name(other) not in map(_plain_name, self.names):
                self.names.append(other)
        super().__init__(f"{': '.join(self.names)}: {self.words}")


def _plain_name(name: str) -> str:
    """Of an operation in any library, and in any overload: aten.special_zeta and prims.zeta, or
    aten.erfinv and prims.erf_inv, are the same."""
    parts = name.split(".")
    return (parts[1] if len(parts) > 2 else name).removeprefix("special_").replace("_", "")


def _name_of(target: Any) -> str:
    """An operation's name with its library and overload; of a Python function with its module."""
    if isinstance(target, torch._ops.OperatorBase) or not hasattr(target, "__qualname__"):
        return str(target)
    return f"{target.__module__}.{target.__qualname__}"


class GraphImporter:
    """Makes the ops of one graph."""

    def __init__(self, name: str = "main", precision: Precision = HIGHEST):
        self.name = name
        self.values: dict[Any, Any] = {}
        self.symbols: dict[str, Any] = {}
        self.builder = Builder(self.extent, precision)
        self.decomposer = Decomposer()
        self._around: list[str] = []  # operations that are being taken apart
        self._held: dict[Any, Any] = {}  # data of nodes that are constants

    # ---- extents

    def extent(self, size: Any) -> Any:
        """A ``torch.SymInt`` as an index."""
        return self._index_of(size.node.expr)

    def _index_of(self, expr: Any) -> Any:
        if expr.is_Integer:
            return Builder.index(int(expr))
        if expr.is_Symbol:
            if str(expr) not in self.symbols:
                raise UnsupportedError(f"the extent {expr} is of no argument")
            return self.symbols[str(expr)]
        made = [self._index_of(a) for a in expr.args]
        name = type(expr).__name__
        if name in ("Add", "Mul"):
            total = made[0]
            for other in made[1:]:
                total = (arith.addi if name == "Add" else arith.muli)(total, other)
            return total
        binary = {"FloorDiv": arith.floordivsi, "CleanDiv": arith.floordivsi,
                  "Mod": arith.remsi, "PythonMod": arith.remsi, "Max": arith.maxsi,
                  "Min": arith.minsi}  # fmt: skip
        if name in binary and len(made) == 2:
            return binary[name](*made)
        raise UnsupportedError(f"the extent {expr} cannot be computed")

    def _find_symbols(self, value: Tensor) -> None:
        for d, size in enumerate(value.shape):
            if not isinstance(size, int) and size.node.expr.is_Symbol:
                name = str(size.node.expr)
                if name not in self.symbols:
                    self.symbols[name] = tensor.dim(value.value, Builder.index(d))

    # ---- the graph

    def build(
        self, graph: Any, arguments: Sequence[Any], constants: Callable[[str], Any],
        results: Callable[[Any], Sequence[Any]] = lambda graph: graph.output_node().args[0],
        ranges: Mapping[Any, Any] | None = None,
        orders: Mapping[str, Sequence[int]] | None = None,
    ) -> Any:  # fmt: skip
        """``func.func @main``. arguments: names of the placeholders that are arguments, in order;
        the others' tensors are ``constants(name)``. results: of the graph's, what is returned.
        ranges: of open extents; with it the program checks its arguments' extents. orders: of
        arguments that lie in memory with their dims in another order, which the function has."""
        nodes = {n.name: n for n in graph.nodes if n.op == "placeholder"}
        with ir.Location.name(self.name):
            order_of = orders or {}
            specs = [self._argument_type(nodes[n], order_of.get(n)) for n in arguments]
            function = func.FuncOp(self.name, ir.FunctionType.get(specs, []))
            block = function.add_entry_block()
            with ir.InsertionPoint(block):
                for name, value in zip(arguments, block.arguments, strict=True):
                    node = nodes[name]
                    fake = node.meta["val"]
                    shape = _in_order(fake.shape, order_of.get(name))
                    self._find_symbols(Tensor(value, shape, fake.dtype))
                    self.values[node] = self._argument(value, fake, order_of.get(name))
                if ranges is not None:
                    checks.check_extents(self, arguments, nodes, ranges)
                for node in graph.nodes:
                    self._visit(node, constants)
                returned = [self._result(x) for x in results(graph)]
                func.ReturnOp(returned)
            kind = ir.FunctionType.get(specs, [v.type for v in returned])
            function.attributes["function_type"] = ir.TypeAttr.get(kind)
        return function

    def _argument_type(self, node: Any, order: Sequence[int] | None) -> Any:
        fake = node.meta["val"]
        if not isinstance(fake, torch.Tensor):
            raise UnsupportedError(
                f"argument {node.name} is {type(fake).__name__}; expected a tensor"
            )
        shape = _in_order(fake.shape, order)
        if fake.is_complex():
            return self.builder.type_of((*shape, 2), fake.dtype.to_real())
        return self.builder.type_of(shape, fake.dtype)

    def _argument(self, value: Any, fake: Any, order: Sequence[int] | None) -> Any:
        """An argument as its tensor. Of a complex one the parts are beside each other, as PyTorch's
        memory has them: [...] as [..., 2]. order: of its dims in memory."""
        shape = _in_order(fake.shape, order)
        place = range(len(shape)) if order is None else [order.index(d) for d in range(len(shape))]
        if not fake.is_complex():
            return self.builder.permute(Tensor(value, shape, fake.dtype), place)
        both = Tensor(value, (*shape, 2), fake.dtype.to_real())
        parts = (self.builder.slice(both, len(shape), at, 1) for at in (0, 1))
        return Pair(*(self.builder.permute(self.builder.reshape(part, shape), place)
                      for part in parts))  # fmt: skip

    def _result(self, given: Any) -> Any:
        value = self._value(given)
        if isinstance(value, Pair):
            value = self.builder.beside(value.real, value.imag)
        if not isinstance(value, Tensor):
            raise UnsupportedError(f"the program returns {given}; expected tensors")
        return value.value

    def _value(self, given: Any) -> Any:
        if isinstance(given, torch.fx.Node):
            return self.values[given]
        if isinstance(given, (list, tuple)):
            return [self._value(x) for x in given]
        return given

    def _visit(self, node: Any, constants: Callable[[str], Any]) -> None:
        if node in self.values or node.op == "output":
            return
        with _location(node):
            if node.op == "placeholder":
                held = constants(node.name)
                if held is not None:
                    self._held[node] = held
                    self.values[node] = self.constant(held)
            elif node.op == "get_attr":
                self.values[node] = self._attribute(node, constants(node.target))
            elif node.op == "call_function":
                self.values[node] = self._call(node)

    def _attribute(self, node: Any, held: Any = None) -> Any:
        """A graph, or a tensor's data."""
        if held is None:
            held = attribute_of(node)
        if isinstance(held, torch.fx.GraphModule):
            return held
        data = constant_of(held)
        if data is None:
            raise UnsupportedError(f"the data of {node.target} is not known to PyTorch")
        return self.constant(data)

    def held(self, node: Any) -> Any:
        """The data of a node that is a constant of the program; None of another."""
        return self._held.get(node)

    def constant(self, held: Any) -> Any:
        """A tensor's data in the program."""
        with unset_fake_temporarily():  # a compiler is called while PyTorch traces
            return self._constant(held)

    def _constant(self, held: Any) -> Any:
        if held.is_meta:
            raise ArgumentError(
                f"a parameter or buffer of shape {tuple(held.shape)} is on the meta device, where "
                "it has no data: load it before, or compile with "
                'options={"parameters": "arguments"}'
            )
        held = held.detach().cpu().contiguous()
        if held.is_complex():
            held = torch.view_as_real(held.resolve_conj())
            return Pair(*(self._constant(part) for part in held.unbind(-1)))
        shape, dtype = tuple(held.shape), held.dtype
        kind = self.builder.type_of(shape, dtype)
        if not held.numel():
            return self.builder.full(shape, dtype, 0)
        if held.numel() == 1 or _is_one_value(held.flatten()):  # one NaN equals none
            return self.builder.full(shape, dtype, held.flatten()[0].item())
        if dtype == torch.bool:
            import numpy as np

            packed = np.packbits(held.numpy().reshape(-1), bitorder="little")
            attribute = ir.DenseElementsAttr.get(packed, type=kind, signless=True)
        else:
            raw = held.view(torch.uint8) if held.dim() else held.reshape(1).view(torch.uint8)
            # No more than Python's bytes have: bytecode is read where it is.
            attribute = ir.DenseResourceElementsAttr.get_from_buffer(
                raw.numpy(), "weight", kind, alignment=8
            )
        return Tensor(arith.ConstantOp(kind, attribute).result, shape, dtype)

    def _call(self, node: Any) -> Any:
        target = node.target
        if target is operator.getitem:
            return self._value(node.args[0])[node.args[1]]
        if isinstance(target, type) and issubclass(target, tuple):  # a named tuple
            return [self._value(x) for x in node.args]
        fake = node.meta.get("val")
        if isinstance(fake, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool)):
            return fake
        name = _name_of(target)
        if name in _NOTHING:
            return None
        try:
            if complexes.concerns(node):
                return self._of_complex(node)
            lowering = LOWERINGS.get(name)
            if name in GRAPHS:
                return GRAPHS[name](self, node, *self._value(node.args), **self._named(node))
            if lowering is None:
                return self._taken_apart(of_memory(node) if name in BY_STRIDES else node)
            return lowering(Call(self.builder, fake), **self._arguments(node))
        except UnsupportedError as error:
            raise self._refusal(node, name, error) from None
        except Error:
            raise
        except Exception as error:
            if is_about_data(error):
                refusal = UnsupportedError(words_of(error))
                raise self._refusal(node, name, refusal) from error
            raise CompileError(
                f"{_where(node)}{name}: the importer failed with {type(error).__name__}: "
                f"{words_of(error)}; this is a fault of redfuse, not of the program"
            ) from error

    def _refusal(self, node: Any, name: str, error: UnsupportedError) -> UnsupportedError:
        """Of a node; with its place, where no other operation is being taken apart."""
        found = _OperationError(name, error)
        return found if self._around else UnsupportedError(f"{_where(node)}{found}")

    def _named(self, node: Any) -> dict[str, Any]:
        return {name: self._value(value) for name, value in node.kwargs.items()}

    def _arguments(self, node: Any) -> dict[str, Any]:
        """What is given, by the names of the operation's schema."""
        given = {}
        for number, argument in enumerate(node.target._schema.arguments):
            if number < len(node.args):
                given[argument.name] = self._value(node.args[number])
            elif argument.name in node.kwargs:
                given[argument.name] = self._value(node.kwargs[argument.name])
        return given

    def _of_complex(self, node: Any) -> Any:
        """The result of an operation of complex tensors: by their parts where there is such a rule,
        else by the operations that it is made of."""
        name = str(node.target)
        if name in GRAPHS:
            if name not in complexes.GRAPHS:
                raise UnsupportedError(f"complex tensors in {name}; expected real ones")
            return GRAPHS[name](self, node, *self._value(node.args), **self._named(node))
        if name in complexes.INTERLEAVES:
            pair = self._value(node.args[0])
            return self.builder.beside(pair.real, pair.imag)
        return self._taken_apart(node, is_complex=True)

    def _taken_apart(self, node: Any, is_complex: bool = False) -> Any:
        """The result of an operation without a lowering, by operations that it is made of."""
        made = None
        by_parts = is_complex and complexes.rule_of(node.target) is not None
        if is_complex and not by_parts and complexes.is_for_real(str(node.target)):
            raise UnsupportedError(_why_not(node.target, is_complex))
        # What is made of itself twice over is made of nothing else.
        if self._around.count(str(node.target)) < 2 and isinstance(
            node.target, torch._ops.OperatorBase
        ):
            made = self.decomposer.graph_of(node, by_parts)
        if made is None:
            raise UnsupportedError(_why_not(node.target, is_complex))
        inner, arguments = made
        given = [self._value(a) for a in arguments]
        said = node.meta.get("val")
        if by_parts:
            given = [part for x in given for part in
                     ((x.real, x.imag) if isinstance(x, Pair) else (x,))]  # fmt: skip
        self._around.append(str(node.target))
        try:
            found = self.inline(inner, given)
            return self._as_said(complexes.paired(found, said) if by_parts else found, said)
        finally:
            self._around.pop()

    def _as_said(self, made: Any, said: Any) -> Any:
        """In the type that PyTorch says the result has: some rules leave the promotion out."""
        if isinstance(made, (list, tuple)) and isinstance(said, (list, tuple)):
            if len(made) != len(said):
                return made
            return [self._as_said(m, s) for m, s in zip(made, said, strict=True)]
        if isinstance(made, Pair) and isinstance(said, torch.Tensor):
            kind = said.dtype.to_real()
            return Pair(*(self.builder.cast(part, kind) for part in (made.real, made.imag)))
        if isinstance(made, Tensor) and isinstance(said, torch.Tensor):
            return self.builder.cast(made, said.dtype)
        return made

    def inline(self, inner: Any, given: Sequence[Any]) -> Any:
        """What a graph module makes of values, by ops at the insertion point."""
        outer, self.values = self.values, {}
        try:
            places = [n for n in inner.graph.nodes if n.op == "placeholder"]
            self.values.update(zip(places, given, strict=True))
            for part in inner.graph.nodes:
                if part.op == "get_attr":
                    self.values[part] = self._attribute(part)
                elif part.op == "call_function":
                    self.values[part] = self._call(part)
            return self._value(inner.graph.output_node().args[0])
        finally:
            self.values = outer


def _in_order(shape: Sequence[Any], order: Sequence[int] | None) -> tuple[Any, ...]:
    """Extents with the dims in that order."""
    return tuple(shape) if order is None else tuple(shape[d] for d in order)


def _is_one_value(flat: Any) -> bool:
    """Of weights of gigabytes the first elements mostly tell."""
    return all(bool((part == flat[0]).all()) for part in (flat[:4096], flat[4096:]))


def _why_not(target: Any, is_complex: bool) -> str:
    """An operation without a lowering and without a rule."""
    if "_functorch" in (getattr(target, "__module__", None) or ""):
        return (
            "a transformation of functions that torch.export has kept; expected the module or "
            "function itself as source, which is traced without them"
        )
    tags = getattr(target, "tags", ())
    if torch.Tag.nondeterministic_seeded in tags:
        return "it draws random numbers; expected a program that is given them as an argument"
    if torch.Tag.dynamic_output_shape in tags or torch.Tag.data_dependent_output in tags:
        return "what it makes is known from its data alone; expected shapes that are known"
    return complexes.REFUSED if is_complex else "no lowering, and no rule that takes it apart"


def frame_of(node: Any) -> tuple[str, int] | None:
    """The file and line of the user's code that made a node."""
    frames = []
    for line in (node.meta.get("stack_trace") or "").splitlines():
        file, _, rest = line.strip().removeprefix('File "').partition('", line ')
        number = rest.partition(",")[0]
        if number.isdigit():
            frames.append((file, int(number)))
    own = [f for f in frames if not f[0].startswith((_TORCH, _FRONTENDS, "<"))]
    return (own or frames or [None])[-1]


def _location(node: Any) -> Any:
    frame = frame_of(node)
    if frame is None:
        return ir.Location.name(node.name)
    return ir.Location.file(frame[0], frame[1], 0)


def _where(node: Any) -> str:
    frame = frame_of(node)
    path = ""
    stack = node.meta.get("nn_module_stack")
    if stack:
        path = str(list(stack.values())[-1][0])
        if "frontends.torch._Flat." in str(next(iter(stack.values()))[1]):  # around the user's
            path = path.removeprefix("inner").removeprefix(".")
    words = [f"{frame[0]}:{frame[1]}" if frame else "", f"in {path}" if path else ""]
    text = " ".join(w for w in words if w)
    return f"{text}: " if text else ""
