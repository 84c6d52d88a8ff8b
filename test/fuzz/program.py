"""Programs as graphs of tensors over named dims: what the fuzzer generates, writes as linalg and
evaluates.

A :class:`Node` is a tensor over the dims of its ``space``, a word of letters of :data:`DIMS` in
their order; every letter has one extent in a program. :meth:`Program.text` spells nodes the way
torch-mlir does, an operation each, or puts element-wise nodes into the body of the reduction that
needs them (``inline``).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from steps import COMBINERS, STEPS, Line

DIMS = "bijkd"
FLOATS = ("f64", "f32", "f16", "bf16")
BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}
INFINITY = {"f64": "0x7FF0000000000000", "f32": "0x7F800000", "f16": "0x7C00", "bf16": "0x7F80"}
MINUS_INFINITY = {
    "f64": "0xFFF0000000000000", "f32": "0xFF800000", "f16": "0xFC00", "bf16": "0xFF80"
}  # fmt: skip
LARGEST = {"f64": 1.7976931348623157e308, "f32": 3.4028234663852886e38, "f16": 65504.0,
           "bf16": 3.3895313892515355e38}  # fmt: skip

# name: the scalar operations, %0.. operands, {t} the type of the operands, {r} that of the result
UNARY = {
    "exp": "math.exp {0} : {t}", "exp2": "math.exp2 {0} : {t}", "log": "math.log {0} : {t}",
    "sqrt": "math.sqrt {0} : {t}", "rsqrt": "math.rsqrt {0} : {t}",
    "absf": "math.absf {0} : {t}", "negf": "arith.negf {0} : {t}", "tanh": "math.tanh {0} : {t}",
    "roundeven": "math.roundeven {0} : {t}",
}  # fmt: skip
BINARY = {
    "addf", "subf", "mulf", "divf", "maximumf", "minimumf", "addi", "subi", "muli", "andi", "ori",
    "maxsi", "minsi",
}  # fmt: skip
# What reads tensors only: nothing is put into the bodies of these.
WHOLE = ("argmax", "argmin", "rank", "rankindex", "steps", "prefixes")
# What has no tensor of its own.
SCALARS = ("const", "index", "extent")
# reducer: (arith op for floats, for integers, the identity)
REDUCERS = {
    "add": ("addf", "addi", 0), "mul": ("mulf", "muli", 1),
    "max": ("maximumf", "maxsi", -math.inf), "min": ("minimumf", "minsi", math.inf),
    "and": (None, "andi", -1), "or": (None, "ori", 0), "xor": (None, "xori", 0),
    "maxnum": ("maxnumf", None, -math.inf), "minnum": ("minnumf", None, math.inf),
    "maxu": (None, "maxui", 0), "minu": (None, "minui", -1),
}  # fmt: skip


@dataclasses.dataclass
class Node:
    """One tensor.

    op: "arg", "const" (``value``), "index" (``value``: the dim), "extent" (of the dims ``value``,
        multiplied, as a float), a key of UNARY or BINARY,
        "cmpf" and "cmpi" (``value``: the predicate), "select", "cast", "reduce" (``value``: the
        reducer, ``over``), "argmax" and "argmin" (the index; operand 0 is the data), "rank" (the
        ``value`` largest, over the last dim, which becomes "k"; "rankindex" its indices), "steps"
        (what a reduction by the step of a name comes to: ``value`` is the name, which of its
        values, and the initial ones; the operands are elements), "prefixes" (all that it was).
    """

    number: int
    op: str
    operands: tuple[int, ...]
    space: str
    dtype: str
    value: Any = None
    over: str = ""
    inline: bool = False
    keepdim: bool = False


class Program:
    """A graph of nodes in the order of dependence, extents of the dims, and results.

    dynamic: dims whose extent the text leaves open.
    """

    def __init__(self, extents: dict[str, int], dynamic: str = "") -> None:
        self.extents = extents
        self.dynamic = dynamic
        self.nodes: list[Node] = []
        self.results: list[int] = []

    def add(self, op: str, *operands: Node, dtype: str | None = None, **fields: Any) -> Node:
        """A new node; its space is that of its operands unless ``space`` is given."""
        space = fields.pop("space", None)
        if space is None:
            letters = {c for node in operands for c in node.space}
            space = "".join(c for c in DIMS if c in letters)
        kind = dtype or operands[0].dtype
        numbers = tuple(node.number for node in operands)
        node = Node(len(self.nodes), op, numbers, space, kind, **fields)
        self.nodes.append(node)
        return node

    def reduce(self, reducer: str, node: Node, over: str, keepdim: bool = False) -> Node:
        """A reduction of ``node``."""
        left = "".join(c for c in node.space if c not in over)
        return self.add(
            "reduce", node, space=left, value=reducer, over=over, keepdim=keepdim and bool(left)
        )

    @property
    def arguments(self) -> list[Node]:
        """The function's arguments."""
        return [node for node in self.nodes if node.op == "arg"]

    def live(self) -> list[Node]:
        """Arguments, and nodes that results need."""
        wanted = set(self.results)
        for node in reversed(self.nodes):
            if node.number in wanted:
                wanted.update(node.operands)
        return [node for node in self.nodes if node.op == "arg" or node.number in wanted]

    def shape(self, node: Node, extents: dict[str, int] | None = None) -> tuple[int, ...]:
        """The extents of a node's dims."""
        return tuple((extents or self.extents)[c] for c in node.space)

    def text(self) -> str:
        """The module."""
        return _Writer(self).text()


def _literal(value: float | int, dtype: str) -> str:
    """A constant with its type; infinities of integers are their ends."""
    if dtype in FLOATS:
        if math.isinf(value):
            literal = (INFINITY if value > 0 else MINUS_INFINITY)[dtype]
        else:
            literal = f"{float(value):.17e}"
    elif dtype == "i1":
        literal = str(int(bool(value)))
    else:
        bits = int(dtype[1:])
        if value == math.inf:
            value = 2 ** (bits - 1) - 1
        elif value == -math.inf:
            value = -(2 ** (bits - 1))
        literal = str(int(value))
    return f"{literal} : {dtype}"


def scalar(node: Node | Line, kind: str, names: list[str]) -> str:
    """The scalar operation of a node on operands of these names, of the type ``kind``."""
    if node.op in UNARY:
        return UNARY[node.op].format(*names, t=kind)
    if node.op in BINARY:
        return f"arith.{node.op} {', '.join(names)} : {kind}"
    if node.op in ("cmpf", "cmpi"):
        return f"arith.{node.op} {node.value}, {', '.join(names)} : {kind}"
    if node.op == "select":
        return f"arith.select {', '.join(names)} : {kind if kind != 'i1' else node.dtype}"
    assert node.op == "cast", node.op
    if kind in FLOATS and node.dtype in FLOATS:
        name = "extf" if BITS[node.dtype] > BITS[kind] else "truncf"
    elif kind in FLOATS:
        name = "fptosi"
    elif node.dtype in FLOATS:
        name = "uitofp" if kind == "i1" else "sitofp"
    else:
        wider = "extui" if kind == "i1" else "extsi"
        name = wider if int(node.dtype[1:]) > int(kind[1:]) else "trunci"
    return f"arith.{name} {names[0]} : {kind} to {node.dtype}"


class _Writer:
    """Writes a program. A value is an SSA name and a layout: the node's space, with "1" in place
    of a dim that a reduction kept as one of extent 1."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lines: list[str] = []
        self.constants: dict[tuple[str, str], str] = {}
        self.values: dict[int, tuple[str, str]] = {}
        self.sizes: dict[str, str] = {}
        self.sorts: dict[int, str] = {}
        self.stepped: dict[tuple, list[tuple[str, str]]] = {}
        self.count = 0

    def text(self) -> str:
        program = self.program
        live = program.live()
        heads = []
        for number, node in enumerate(program.arguments):
            self.values[node.number] = (f"%arg{number}", node.space)
            heads.append(f"%arg{number}: {self.type(node.space, node.dtype)}")
        for node in live:
            if node.op not in ("arg", *SCALARS) and not self.is_inlined(node, live):
                self.statement(node)
        names, types = [], []
        for number in program.results:
            node = program.nodes[number]
            name, layout = self.values[number]
            names.append(name)
            types.append(self.type(layout, node.dtype))
        constants = [
            f"    {name} = arith.constant {literal} : {kind}"
            for (literal, kind), name in self.constants.items()
        ]
        returned = f"    return {', '.join(names)} : {', '.join(types)}"
        return "\n".join([
            "module {", f"  func.func @main({', '.join(heads)}) -> ({', '.join(types)}) {{",
            *constants, *self.lines, returned, "  }", "}", "",
        ])  # fmt: skip

    def is_inlined(self, node: Node, live: list[Node]) -> bool:
        if not node.inline or node.number in self.program.results:
            return False
        return all(user.op not in WHOLE for user in live if node.number in user.operands)

    def type(self, layout: str, dtype: str) -> str:
        sizes = "".join(
            "1x" if c == "1" else "?x" if c in self.program.dynamic
            else f"{self.program.extents[c]}x"
            for c in layout
        )  # fmt: skip
        return f"tensor<{sizes}{dtype}>"

    def constant(self, value: float | int, dtype: str) -> str:
        key = (_literal(value, dtype).partition(" :")[0], dtype)
        return self.constants.setdefault(key, f"%c{len(self.constants)}")

    def name(self) -> str:
        self.count += 1
        return f"%{self.count}"

    def emit(self, line: str) -> str:
        name = self.name()
        self.lines.append(f"    {name} = {line}")
        return name

    def size(self, dim: str) -> str:
        """The SSA extent of a dynamic dim, read off an argument."""
        if dim not in self.sizes:
            holder = next(a for a in self.program.arguments if dim in a.space)
            at = holder.space.index(dim)
            index = self.constants.setdefault((str(at), "index"), f"%c{len(self.constants)}")
            name = self.values[holder.number][0]
            kind = self.type(holder.space, holder.dtype)
            self.sizes[dim] = self.emit(f"tensor.dim {name}, {index} : {kind}")
        return self.sizes[dim]

    def empty(self, layout: str, dtype: str) -> tuple[str, str]:
        kind = self.type(layout, dtype)
        sizes = ", ".join(self.size(c) for c in layout if c in self.program.dynamic)
        return self.emit(f"tensor.empty({sizes}) : {kind}"), kind

    def filled(self, layout: str, dtype: str, value: float) -> tuple[str, str]:
        empty, kind = self.empty(layout, dtype)
        scalar = self.constant(value, dtype)
        name = self.emit(f"linalg.fill ins({scalar} : {dtype}) outs({empty} : {kind}) -> {kind}")
        return name, kind

    def statement(self, node: Node) -> None:
        if node.op == "reduce":
            self.reduction(node)
        elif node.op in ("argmax", "argmin"):
            self.selection(node)
        elif node.op in ("rank", "rankindex"):
            self.ranking(node)
        elif node.op in ("steps", "prefixes"):
            self.steps(node)
        else:
            empty, kind = self.empty(node.space, node.dtype)
            leaves, body, result = self.body(node, node.space, root=True)
            self.generic(node, node.space, leaves, [(node.space, empty, kind, node.dtype)], body,
                         [result], "")  # fmt: skip

    def body(self, node: Node, space: str, root: bool) -> tuple[list[Node], list[str], str]:
        """The scalar operations of a node, and of what is inlined into it: the nodes that are
        read, the lines, the result."""
        leaves: list[Node] = []
        lines: list[str] = []
        done: dict[int, str] = {}

        def leaf(node: Node) -> str:
            if node not in leaves:
                leaves.append(node)
            return f"%in{leaves.index(node)}"

        def visit(node: Node, is_root: bool) -> str:
            if node.number in done:
                return done[node.number]
            if node.op == "const":
                return self.constant(node.value, node.dtype)
            if node.op == "index":
                at = f"%x{len(done)}"
                lines.append(f"{at} = linalg.index {space.index(node.value)} : index")
                result = f"%y{len(done)}"
                lines.append(f"{result} = arith.index_cast {at} : index to {node.dtype}")
            elif node.op == "extent":
                result = self.extent(node, lines, len(done))
            elif is_root or (node.number not in self.values and node.inline):
                names = [visit(self.program.nodes[n], False) for n in node.operands]
                result = f"%v{len(done)}"
                kind = self.program.nodes[node.operands[0]].dtype
                lines.append(f"{result} = {scalar(node, kind, names)}")
            else:
                result = leaf(node)
            done[node.number] = result
            return result

        return leaves, lines, visit(node, root)

    def extent(self, node: Node, lines: list[str], at: int) -> str:
        """The number of points of some dims, as a float."""
        if not set(node.value) & set(self.program.dynamic):
            return self.constant(math.prod(self.program.extents[c] for c in node.value), node.dtype)
        factors = []
        for c in node.value:
            if c in self.program.dynamic:
                factors.append(self.size(c))
            else:
                literal = (str(self.program.extents[c]), "index")
                factors.append(self.constants.setdefault(literal, f"%c{len(self.constants)}"))
        product = factors[0]
        for i, factor in enumerate(factors[1:]):
            lines.append(f"%n{at}_{i} = arith.muli {product}, {factor} : index")
            product = f"%n{at}_{i}"
        lines.append(f"%z{at} = arith.index_cast {product} : index to i64")
        lines.append(f"%s{at} = arith.sitofp %z{at} : i64 to {node.dtype}")
        return f"%s{at}"

    def generic(
        self, node: Node, space: str, leaves: list[Node], outs: list[tuple[str, str, str, str]],
        body: list[str], results: list[str], over: str, attributes: str = "",
    ) -> list[tuple[str, str]]:  # fmt: skip
        """A linalg.generic; outs are (layout, name, type, dtype), and the last result is the
        node's. Names and layouts of all."""
        dims = {c: f"d{i}" for i, c in enumerate(space)}
        maps, ins, kinds, arguments = [], [], [], []
        for i, leaf in enumerate(leaves):
            name, layout = self.values[leaf.number]
            maps.append(layout)
            ins.append(name)
            kinds.append(self.type(layout, leaf.dtype))
            arguments.append(f"%in{i}: {leaf.dtype}")
        for i, (layout, _, _, dtype) in enumerate(outs):
            maps.append(layout)
            arguments.append(f"%out{i}: {dtype}")
        written = ", ".join(
            f"affine_map<({', '.join(dims.values())}) -> "
            f"({', '.join(dims.get(c, '0') for c in layout)})>"
            for layout in maps
        )
        iterators = ", ".join('"reduction"' if c in over else '"parallel"' for c in space)
        source = f"ins({', '.join(ins)} : {', '.join(kinds)}) " if ins else ""
        targets = ", ".join(name for _, name, _, _ in outs)
        types = ", ".join(kind for _, _, kind, _ in outs)
        dtypes = ", ".join(dtype for _, _, _, dtype in outs)
        name = self.name()
        several = f":{len(outs)}" if len(outs) > 1 else ""
        self.lines.append(
            f"    {name}{several} = linalg.generic {{indexing_maps = [{written}], "
            f"iterator_types = [{iterators}]{attributes}}} {source}outs({targets} : {types}) {{"
        )
        self.lines.append(f"    ^bb0({', '.join(arguments)}):")
        self.lines += [f"      {line}" for line in body]
        self.lines.append(f"      linalg.yield {', '.join(results)} : {dtypes}")
        closing = f"({types})" if several else types
        self.lines.append(f"    }} -> {closing}")
        names = [f"{name}#{i}" if several else name for i in range(len(outs))]
        made = [(result, out[0]) for result, out in zip(names, outs, strict=True)]
        self.values[node.number] = made[-1]
        return made

    def layout(self, node: Node, source: str) -> str:
        if not node.keepdim:
            return node.space
        return "".join("1" if c in node.over else c for c in source)

    def reduction(self, node: Node) -> None:
        operand = self.program.nodes[node.operands[0]]
        floats, integers, identity = REDUCERS[node.value]
        op = floats if node.dtype in FLOATS else integers
        if node.dtype == "i1" and node.value == "and":
            identity = 1
        layout = self.layout(node, operand.space)
        start, kind = self.filled(layout, node.dtype, identity)
        leaves, body, result = self.body(operand, operand.space, root=False)
        covered = {c for leaf in leaves for c in leaf.space}
        if not set(operand.space) <= covered:
            self.statement(operand)
            leaves, body, result = [operand], [], "%in0"
        body.append(f"%r = arith.{op} {result}, %out0 : {node.dtype}")
        self.generic(node, operand.space, leaves, [(layout, start, kind, node.dtype)], body,
                     ["%r"], node.over)  # fmt: skip

    def selection(self, node: Node) -> None:
        operand = self.program.nodes[node.operands[0]]
        largest = node.op == "argmax"
        kind = operand.dtype
        start, type_ = self.filled(node.space, kind, -math.inf if largest else math.inf)
        at, index_type = self.filled(node.space, node.dtype, 0)
        position = operand.space.index(node.over)
        body = [
            f"%i = linalg.index {position} : index",
            f"%j = arith.index_cast %i : index to {node.dtype}",
            f"%m = arith.{'maximumf' if largest else 'minimumf'} %in0, %out0 : {kind}",
            f"%c = arith.cmpf {'ogt' if largest else 'olt'}, %in0, %out0 : {kind}",
            f"%k = arith.select %c, %j, %out1 : {node.dtype}",
        ]
        outs = [(node.space, start, type_, kind), (node.space, at, index_type, node.dtype)]
        self.generic(node, operand.space, [operand], outs, body, ["%m", "%k"], node.over)

    def steps(self, node: Node) -> None:
        """One loop for all values of a step and their prefixes."""
        name, part, initial = node.value
        elements = [self.program.nodes[n] for n in node.operands]
        key = (node.op, name, node.operands, node.over, initial)
        if key not in self.stepped:
            step, dtype = STEPS[name], node.dtype
            letters = {c for element in elements for c in element.space}
            space = "".join(c for c in DIMS if c in letters)
            left = space.replace(node.over, "")
            outs = [(left, *self.filled(left, dtype, value), dtype) for value in initial]
            if node.op == "prefixes":
                outs += [(space, *self.empty(space, dtype), dtype) for _ in initial]
            # A declared combiner has an input for each value of its state, also where they are one.
            names = {f"e{i}": f"%in{i}" for i in range(len(elements))}
            names |= {f"h{i}": f"%out{i}" for i in range(step.states)}
            body = [self.line(line, dtype, names) for line in step.lines]
            results = [names[result] for result in step.results]
            if node.op == "prefixes":
                results *= 2
            attributes = ""
            if name in COMBINERS:
                values = ", ".join(_literal(value, dtype) for value in step.identity)
                order = ", ordered" if step.ordered else ""
                attributes = f", redfuse.combiner = {{identity = [{values}]{order}}}"
            made = self.generic(node, space, elements, outs, body, results, node.over, attributes)
            self.stepped[key] = made[-step.states :]
        self.values[node.number] = self.stepped[key][part]

    def line(self, line: Line, dtype: str, names: dict[str, str]) -> str:
        """A scalar operation of a step; its name is added."""
        operands = [
            names[o] if isinstance(o, str) else self.constant(o, dtype) for o in line.operands
        ]
        names[line.name] = f"%s_{line.name}"
        return f"{names[line.name]} = {scalar(line, dtype, operands)}"

    def ranking(self, node: Node) -> None:
        """Both results of a sort; a second node of the same operand reads the first's."""
        operand = self.program.nodes[node.operands[0]]
        if operand.number in self.sorts:
            self.slice(node, operand, self.sorts[operand.number])
            return
        source, layout = self.values[operand.number]
        kind, wide = self.type(layout, operand.dtype), self.type(layout, "i64")
        empty, _ = self.empty(layout, "i64")
        last = len(layout) - 1
        dims = ", ".join(f"d{i}" for i in range(len(layout)))
        iterators = ", ".join(['"parallel"'] * len(layout))
        numbers = self.name()
        self.lines += [
            f"    {numbers} = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>], "
            f"iterator_types = [{iterators}]}} outs({empty} : {wide}) {{",
            "    ^bb0(%o: i64):", f"      %i = linalg.index {last} : index",
            "      %j = arith.index_cast %i : index to i64", "      linalg.yield %j : i64",
            f"    }} -> {wide}",
        ]  # fmt: skip
        base = self.sorts[operand.number] = self.name()
        self.lines += [
            f"    {base}:2 = tm_tensor.sort dimension({last}) outs({source}, {numbers} : {kind}, "
            f"{wide}) {{",
            f"    ^bb0(%a: {operand.dtype}, %b: {operand.dtype}, %i: i64, %j: i64):",
            f"      %c = arith.cmpf oge, %a, %b : {operand.dtype}",
            "      tm_tensor.yield %c : i1", f"    }} -> {kind}, {wide}",
        ]  # fmt: skip
        self.slice(node, operand, base)

    def slice(self, node: Node, operand: Node, base: str) -> None:
        layout = operand.space
        number = 1 if node.op == "rankindex" else 0
        whole = self.type(layout, node.dtype)
        part = self.type(node.space, node.dtype)
        sizes = [
            self.size(c) if c in self.program.dynamic else str(self.program.extents[c])
            for c in node.space
        ]
        zeros, ones = ", ".join("0" * len(sizes)), ", ".join("1" * len(sizes))
        name = self.emit(
            f"tensor.extract_slice {base}#{number}[{zeros}] [{', '.join(sizes)}] [{ones}] : "
            f"{whole} to {part}"
        )
        self.values[node.number] = (name, node.space)
