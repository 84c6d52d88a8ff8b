"""Programs of any length, a kind at a time: what compile time grows with.

``KINDS[name](n)`` is a program of about ``n`` tensor operations (fills and empty tensors are not
counted), each block of it fed by the one before.
"""

from __future__ import annotations

from collections.abc import Callable

ROWS, COLUMNS = 64, 96
LENGTHS = 40


class Chain:
    """A function ``@main`` that grows at its end; values are names."""

    def __init__(self, rows: int = ROWS, columns: int = COLUMNS):
        self.kind = f"tensor<{rows}x{columns}xf32>"
        self.row_kind = f"tensor<{rows}xf32>"
        self.arguments = [("%x", self.kind)]
        self.lines = [f"%e = tensor.empty() : {self.kind}"]
        self.lines += [
            "%zero = arith.constant 0.0 : f32",
            f"%re = tensor.empty() : {self.row_kind}",
        ]
        self.lines += [self._fill("%rz", "%re", self.row_kind), self._fill("%ez", "%e", self.kind)]
        self.count = 0
        self.results: list[tuple[str, str]] = []

    @staticmethod
    def _fill(name: str, empty: str, kind: str) -> str:
        return f"{name} = linalg.fill ins(%zero : f32) outs({empty} : {kind}) -> {kind}"

    def text(self, value: str) -> str:
        """The program that returns a value, and the results noted."""
        results = [(value, self.kind), *self.results]
        names, kinds = (", ".join(part) for part in zip(*results, strict=True))
        arguments = ", ".join(f"{name}: {kind}" for name, kind in self.arguments)
        lines = [f"func.func @main({arguments}) -> ({kinds}) {{"]
        lines += [f"  {line}" for line in self.lines]
        return "\n".join([*lines, f"  return {names} : {kinds}", "}", ""])

    def argument(self, kind: str) -> str:
        """One more."""
        self.arguments.append((f"%a{len(self.arguments)}", kind))
        return self.arguments[-1][0]

    def emit(self, line: str) -> str:
        """The name of a line's value."""
        self.count += 1
        self.lines.append(f"%{self.count} = {line}")
        return f"%{self.count}"

    def named(self, op: str, *operands: str) -> str:
        """linalg.op of tensors of this shape."""
        kinds = ", ".join([self.kind] * len(operands))
        return self.emit(
            f"linalg.{op} ins({', '.join(operands)} : {kinds}) outs(%e : {self.kind}) -> {self.kind}"
        )

    def softmax(self, x: str, axis: int) -> str:
        """linalg.softmax."""
        return self.emit(
            f"linalg.softmax dimension({axis}) ins({x} : {self.kind}) outs(%e : {self.kind}) "
            f"-> {self.kind}"
        )

    def rows(self, x: str, body: tuple[str, ...] = ()) -> str:
        """The sums of the rows, of what ``body`` makes of %a."""
        value = "%v" if body else "%a"
        return self.emit(
            "linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> "
            '(i)>], iterator_types = ["parallel", "reduction"]} '
            f"ins({x} : {self.kind}) outs(%rz : {self.row_kind}) {{ ^bb0(%a: f32, %o: f32): "
            + " ".join((*body, f"%r = arith.addf {value}, %o : f32", "linalg.yield %r : f32"))
            + f" }} -> {self.row_kind}"
        )

    def with_rows(self, x: str, rows: str, *body: str) -> str:
        """%v, made of the elements %a and those of their rows %b."""
        return self.emit(
            "linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> "
            '(i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} '
            f"ins({x}, {rows} : {self.kind}, {self.row_kind}) outs(%e : {self.kind}) "
            "{ ^bb0(%a: f32, %b: f32, %o: f32): "
            + " ".join((*body, "linalg.yield %v : f32"))
            + f" }} -> {self.kind}"
        )

    def product(self, x: str, y: str, transposed: bool = False) -> str:
        """x y, or x times y transposed, of square matrices."""
        maps = "(i, j, k) -> "
        order = "(j, k)" if transposed else "(k, j)"
        return self.emit(
            f"linalg.matmul indexing_maps = [affine_map<{maps}(i, k)>, affine_map<{maps}{order}>, "
            f"affine_map<{maps}(i, j)>] ins({x}, {y} : {self.kind}, {self.kind}) "
            f"outs(%ez : {self.kind}) -> {self.kind}"
        )


def maps(n: int) -> str:
    """Element-wise operations, one after another."""
    c, x = Chain(), "%x"
    for i in range(n):
        x = c.named("add", x, "%x") if i % 3 == 2 else c.named(("tanh", "negf")[i % 3], x)
    return c.text(x)


def doubled(n: int) -> str:
    """x + x, again and again: 2^n paths."""
    c, x = Chain(), "%x"
    for _ in range(n):
        x = c.named("add", x, x)
    return c.text(x)


def diamonds(n: int) -> str:
    """Two functions of a value, and their product."""
    c, x = Chain(), "%x"
    for _ in range(max(1, n // 3)):
        x = c.named("mul", c.named("tanh", x), c.named("abs", x))
    return c.text(x)


def softmaxes(n: int) -> str:
    """Along one axis."""
    c, x = Chain(), "%x"
    for _ in range(n):
        x = c.softmax(x, 1)
    return c.text(x)


def alternating(n: int) -> str:
    """Softmaxes along rows and columns by turns."""
    c, x = Chain(), "%x"
    for i in range(n):
        x = c.softmax(x, i % 2)
    return c.text(x)


def _norm(c: Chain, x: str) -> str:
    width = f"%w = arith.constant {COLUMNS}.0 : f32"
    mean = ("%m = arith.divf %b, %w : f32", "%v = arith.subf %a, %m : f32")
    centred = c.with_rows(x, c.rows(x), width, *mean)
    squares = c.rows(centred, ("%v = arith.mulf %a, %a : f32",))
    return c.with_rows(
        centred, squares, width, "%m = arith.divf %b, %w : f32",
        "%h = arith.constant 1.0e-5 : f32", "%s = arith.addf %m, %h : f32",
        "%g = math.rsqrt %s : f32", "%v = arith.mulf %a, %g : f32",
    )  # fmt: skip


def norms(n: int) -> str:
    """Layer norms, each added to what it was made of: five operations a norm."""
    c, x = Chain(), "%x"
    for _ in range(max(1, n // 5)):
        x = c.named("add", _norm(c, x), x)
    return c.text(x)


def sums(n: int) -> str:
    """Sums of rows that three maps read, two of them in the next step: five operations a step."""
    c, x = Chain(), "%x"
    before = c.rows(x)
    for _ in range(max(1, n // 5)):
        total = c.rows(x)
        less = c.with_rows(x, total, "%v = arith.subf %a, %b : f32")
        scaled = c.with_rows(x, total, "%v = arith.mulf %a, %b : f32")
        x = c.with_rows(c.named("add", less, scaled), before, "%v = arith.addf %a, %b : f32")
        before = total
    c.results.append((before, c.row_kind))
    return c.text(x)


def lengths(n: int) -> str:
    """The sum of all elements of slices of forty lengths by turns: two operations a slice."""
    c = Chain(columns=COLUMNS + LENGTHS + n)
    c.lines += ["%te = tensor.empty() : tensor<f32>", c._fill("%tz", "%te", "tensor<f32>")]
    total = "%tz"
    for i in range(max(1, n // 2)):
        columns = COLUMNS + i % LENGTHS
        kind = f"tensor<{ROWS}x{columns}xf32>"
        part = c.emit(
            f"tensor.extract_slice %x[0, {i}] [{ROWS}, {columns}] [1, 1] : {c.kind} to {kind}"
        )
        both = f"ins({part} : {kind}) outs(%tz : tensor<f32>) dimensions = [0, 1]"
        part = c.emit(f"linalg.reduce {{ arith.addf }} {both}")
        kinds = "tensor<f32>, tensor<f32>"
        total = c.emit(
            f"linalg.add ins({total}, {part} : {kinds}) outs(%te : tensor<f32>) -> tensor<f32>"
        )
    c.results.append((total, "tensor<f32>"))
    return c.text("%x")


def products(n: int) -> str:
    """Matrices, multiplied one after another."""
    c, x = Chain(48, 48), "%x"
    weight = c.argument(c.kind)
    for _ in range(n):
        x = c.product(x, weight)
    return c.text(x)


def attention(n: int) -> str:
    """Attention of one head with its projections, each added to its input: eight operations."""
    c, x = Chain(48, 48), "%x"
    for _ in range(max(1, n // 8)):
        q, k, v, last = (c.argument(c.kind) for _ in range(4))
        weights = c.softmax(c.product(c.product(x, q), c.product(x, k), transposed=True), 1)
        x = c.named("add", c.product(c.product(weights, c.product(x, v)), last), x)
    return c.text(x)


def loops(n: int) -> str:
    """Loops that carry a tensor through a map and a softmax: three operations a loop."""
    c, x = Chain(), "%x"
    for bound, value in (("%c0", 0), ("%c1", 1), ("%c8", 8)):
        c.lines.append(f"{bound} = arith.constant {value} : index")
    for _ in range(max(1, n // 3)):
        x = c.emit(
            f"scf.for %i = %c0 to %c8 step %c1 iter_args(%t = {x}) -> ({c.kind}) {{\n"
            f"    %s = linalg.softmax dimension(1) ins(%t : {c.kind}) outs(%e : {c.kind}) -> {c.kind}\n"
            f"    %u = linalg.add ins(%s, %t : {c.kind}, {c.kind}) outs(%e : {c.kind}) -> {c.kind}\n"
            f"    scf.yield %u : {c.kind}\n  }}"
        )
    return c.text(x)


def branches(n: int) -> str:
    """Maps of what was there, or of the beginning: three operations a branch."""
    c, x = Chain(), "%x"
    c.lines += ["%c0 = arith.constant 0 : index"]
    for _ in range(max(1, n // 3)):
        first = c.emit(f"tensor.extract {x}[%c0, %c0] : {c.kind}")
        positive = c.emit(f"arith.cmpf ogt, {first}, %zero : f32")
        x = c.emit(
            f"scf.if {positive} -> ({c.kind}) {{\n"
            f"    %u = linalg.negf ins({x} : {c.kind}) outs(%e : {c.kind}) -> {c.kind}\n"
            f"    scf.yield %u : {c.kind}\n  }} else {{\n"
            f"    scf.yield {x} : {c.kind}\n  }}"
        )
    return c.text(x)


def choices(n: int) -> str:
    """Branches as above, but an argument decides, as it must where the GPU has the values."""
    c, x = Chain(), "%x"
    chosen = c.argument("f32")
    for i in range(max(1, n // 3)):
        least = c.emit(f"arith.constant {i}.5 : f32")
        above = c.emit(f"arith.cmpf ogt, {chosen}, {least} : f32")
        x = c.emit(
            f"scf.if {above} -> ({c.kind}) {{\n"
            f"    %u = linalg.negf ins({x} : {c.kind}) outs(%e : {c.kind}) -> {c.kind}\n"
            f"    scf.yield %u : {c.kind}\n  }} else {{\n"
            f"    scf.yield {x} : {c.kind}\n  }}"
        )
    return c.text(x)


def inserts(n: int) -> str:
    """Rows that are taken, mapped and put back elsewhere: three operations a row."""
    c, x = Chain(), "%x"
    row = f"tensor<{COLUMNS}xf32>"
    for i in range(max(1, n // 3)):
        taken, put = 5 * i % ROWS, 3 * i % ROWS
        part = c.emit(
            f"tensor.extract_slice {x}[{taken}, 0] [1, {COLUMNS}] [1, 1] : {c.kind} to {row}"
        )
        mapped = c.emit(f"linalg.tanh ins({part} : {row}) outs({part} : {row}) -> {row}")
        x = c.emit(
            f"tensor.insert_slice {mapped} into {x}[{put}, 0] [1, {COLUMNS}] [1, 1] "
            f": {row} into {c.kind}"
        )
    return c.text(x)


def separate(n: int) -> str:
    """The sums of rows of as many arguments, each a result."""
    c, results = Chain(), []
    for _ in range(n):
        x = c.argument(c.kind)
        both = f"ins({x} : {c.kind}) outs(%rz : {c.row_kind}) dimensions = [1]"
        results.append(c.emit(f"linalg.reduce {{ arith.addf }} {both}"))
    c.results += [(result, c.row_kind) for result in results]
    return c.text("%x")


KINDS: dict[str, Callable[[int], str]] = {
    made.__name__: made
    for made in (
        maps, doubled, diamonds, softmaxes, alternating, norms, sums, lengths, products, attention,
        loops, branches, choices, inserts, separate,
    )
}  # fmt: skip

# What programs for a GPU may not do, with words of the refusal (see the guide's Sources).
REFUSED_ON_GPUS = {"branches": "a value in the GPU's memory decides"}
