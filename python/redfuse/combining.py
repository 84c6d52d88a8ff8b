"""Reducers of the program's own, from a Python function of two states.

    import redfuse
    from redfuse.combining import exp, maximum

    @redfuse.combiner(identity=(float("-inf"), 0.0))
    def logsumexp(left, right):
        (m, s), (n, t) = left, right
        top = maximum(m, n)
        return top, s * exp(m - top) + t * exp(n - top)

    exe = redfuse.compile(redfuse.reduction(logsumexp, (64, 4096), axis=1))
    top, total = exe(x, ones)

The function is called twice: with NumPy arrays, to see whether it is associative, and with
``Scalar`` objects that write down what it does. It may use ``+ - * /``, whole powers,
comparisons, ``& | ~`` and the functions of this module.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

from .errors import ArgumentError, Error

_FLOATS = ("f16", "bf16", "f32", "f64")
_INTEGERS = ("i8", "i16", "i32", "i64")
_COMPARISONS = {
    "lt": ("olt", "slt"),
    "le": ("ole", "sle"),
    "gt": ("ogt", "sgt"),
    "ge": ("oge", "sge"),
    "eq": ("oeq", "eq"),
    "ne": ("une", "ne"),
}
_MAX_POWER = 8
_POINTS = 256
_TOLERANCE = 1e-6


class _Trace:
    """The lines of a region, as they are written."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def emit(self, operation: str, dtype: str) -> Scalar:
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {operation}")
        return Scalar(self, name, dtype)

    def constant(self, value: Any, dtype: str) -> Scalar:
        return self.emit(f"arith.constant {_literal(value, dtype)}", dtype)


class Scalar:
    """A number while a combiner is written down. Not for use outside of one."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: _Trace, name: str, dtype: str):
        self.trace, self.name, self.dtype = trace, name, dtype

    @property
    def is_float(self) -> bool:
        return self.dtype in _FLOATS

    def _other(self, value: Any) -> Scalar:
        if not isinstance(value, Scalar):
            return self.trace.constant(value, self.dtype)
        if value.dtype != self.dtype:
            raise ArgumentError(
                f"a combiner mixes {self.dtype} and {value.dtype}: all parts of one expression "
                "must be of one type"
            )
        return value

    def _binary(self, name: str, value: Any, *, swap: bool = False) -> Scalar:
        if self.dtype == "i1":
            raise ArgumentError(f"a combiner computes '{name}' of a comparison; use where(...)")
        left, right = self, self._other(value)
        if swap:
            left, right = right, left
        suffix = "f" if self.is_float else "i"
        return self.trace.emit(
            f"arith.{name}{suffix} {left.name}, {right.name} : {self.dtype}", self.dtype
        )

    def _compare(self, name: str, value: Any) -> Scalar:
        other = self._other(value)
        predicate = _COMPARISONS[name][0 if self.is_float else 1]
        op = "cmpf" if self.is_float else "cmpi"
        return self.trace.emit(
            f"arith.{op} {predicate}, {self.name}, {other.name} : {self.dtype}", "i1"
        )

    def _logic(self, name: str, value: Any) -> Scalar:
        if self.dtype != "i1":
            raise ArgumentError("a combiner uses & | ~ on numbers: they are for comparisons")
        other = value if isinstance(value, Scalar) else self.trace.constant(value, "i1")
        return self.trace.emit(f"arith.{name} {self.name}, {other.name} : i1", "i1")

    def __add__(self, value: Any) -> Scalar:
        return self._binary("add", value)

    def __radd__(self, value: Any) -> Scalar:
        return self._binary("add", value, swap=True)

    def __sub__(self, value: Any) -> Scalar:
        return self._binary("sub", value)

    def __rsub__(self, value: Any) -> Scalar:
        return self._binary("sub", value, swap=True)

    def __mul__(self, value: Any) -> Scalar:
        return self._binary("mul", value)

    def __rmul__(self, value: Any) -> Scalar:
        return self._binary("mul", value, swap=True)

    def _divide(self, value: Any, *, swap: bool) -> Scalar:
        if not self.is_float:
            raise ArgumentError(f"a combiner divides {self.dtype}; division is for floats")
        return self._binary("div", value, swap=swap)

    def __truediv__(self, value: Any) -> Scalar:
        return self._divide(value, swap=False)

    def __rtruediv__(self, value: Any) -> Scalar:
        return self._divide(value, swap=True)

    def __pow__(self, exponent: Any) -> Scalar:
        if not isinstance(exponent, int) or not 1 <= exponent <= _MAX_POWER:
            raise ArgumentError(
                f"a combiner takes the power {exponent!r}; whole ones from 1 to {_MAX_POWER} work"
            )
        result = self
        for _ in range(exponent - 1):
            result = result * self
        return result

    def __neg__(self) -> Scalar:
        if self.is_float:
            return self.trace.emit(f"arith.negf {self.name} : {self.dtype}", self.dtype)
        return 0 - self

    def __abs__(self) -> Scalar:
        name = "absf" if self.is_float else "absi"
        return self.trace.emit(f"math.{name} {self.name} : {self.dtype}", self.dtype)

    def __lt__(self, value: Any) -> Scalar:
        return self._compare("lt", value)

    def __le__(self, value: Any) -> Scalar:
        return self._compare("le", value)

    def __gt__(self, value: Any) -> Scalar:
        return self._compare("gt", value)

    def __ge__(self, value: Any) -> Scalar:
        return self._compare("ge", value)

    def __eq__(self, value: Any) -> Scalar:  # type: ignore[override]
        return self._compare("eq", value)

    def __ne__(self, value: Any) -> Scalar:  # type: ignore[override]
        return self._compare("ne", value)

    def __and__(self, value: Any) -> Scalar:
        return self._logic("andi", value)

    def __or__(self, value: Any) -> Scalar:
        return self._logic("ori", value)

    def __invert__(self) -> Scalar:
        return self._logic("xori", True)

    def __bool__(self) -> bool:
        raise ArgumentError(
            "a combiner decides by 'if', 'and', 'or' or 'not' on a value that is only known at run "
            "time; use where(condition, a, b) and & | ~"
        )


def _unary(name: str, x: Any) -> Any:
    if isinstance(x, Scalar):
        if not x.is_float:
            raise ArgumentError(f"a combiner takes {name} of {x.dtype}; it is for floats")
        return x.trace.emit(f"math.{name} {x.name} : {x.dtype}", x.dtype)
    import numpy

    return getattr(numpy, name)(x)


def exp(x: Any) -> Any:
    """e**x."""
    return _unary("exp", x)


def log(x: Any) -> Any:
    """The natural logarithm."""
    return _unary("log", x)


def sqrt(x: Any) -> Any:
    """The square root."""
    return _unary("sqrt", x)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return _unary("tanh", x)


def _extreme(name: str, a: Any, b: Any) -> Any:
    if isinstance(b, Scalar) and not isinstance(a, Scalar):
        a, b = b, a
    if isinstance(a, Scalar):
        other = a._other(b)
        op = f"{name}imumf" if a.is_float else f"{name}si"
        return a.trace.emit(f"arith.{op} {a.name}, {other.name} : {a.dtype}", a.dtype)
    import numpy

    return getattr(numpy, f"{name}imum")(a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger one; NaN if one is NaN."""
    return _extreme("max", a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller one; NaN if one is NaN."""
    return _extreme("min", a, b)


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where the condition holds, else ``b``."""
    if not isinstance(condition, Scalar):
        import numpy

        return numpy.where(condition, a, b)
    if not isinstance(a, Scalar):
        if not isinstance(b, Scalar):
            raise ArgumentError("where(condition, a, b) of two constants: make one a value")
        a = b._other(a)
    b = a._other(b)
    return condition.trace.emit(
        f"arith.select {condition.name}, {a.name}, {b.name} : {a.dtype}", a.dtype
    )


def _literal(value: Any, dtype: str) -> str:
    if dtype == "i1":
        return "true" if value else "false"
    if dtype in _INTEGERS:
        if int(value) != value:
            raise ArgumentError(f"a combiner uses {value!r} where the type is {dtype}")
        return f"{int(value)} : {dtype}"
    number = float(value)
    if math.isfinite(number):
        return f"{number:.17e} : {dtype}"
    bits = {
        "f16": ("0x7C00", "0xFC00", "0x7E00"),
        "bf16": ("0x7F80", "0xFF80", "0x7FC0"),
        "f32": ("0x7F800000", "0xFF800000", "0x7FC00000"),
        "f64": ("0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000"),
    }[dtype]
    return f"{bits[2 if math.isnan(number) else int(number < 0)]} : {dtype}"


class Combiner:
    """An associative function of two states with an identity.

    ``identity`` has a number for each part of a state; ``ordered`` says that the left state must
    stay left. Called with two states it evaluates the function (on numbers or NumPy arrays).
    """

    def __init__(
        self,
        function: Callable[[Any, Any], Any],
        identity: float | Sequence[float],
        *,
        ordered: bool = False,
        sample: Callable[[Any], Sequence[Any]] | None = None,
    ):
        self.function = function
        self.is_plain = not isinstance(identity, Sequence)
        self.identity = (identity,) if self.is_plain else tuple(identity)  # type: ignore[arg-type]
        self.ordered = ordered
        self.name = getattr(function, "__name__", "combiner")
        if not callable(function):
            raise ArgumentError(
                f"combiner: expected a function of two states, got {type(function).__name__}"
            )
        if not self.identity:
            raise ArgumentError(f"combiner {self.name}: expected an identity of at least one part")
        for part in self.identity:
            if not isinstance(part, numbers.Real):
                raise ArgumentError(
                    f"combiner {self.name}: expected an identity of numbers, got {part!r}"
                )
        self._check(sample)

    @property
    def size(self) -> int:
        """The number of parts of a state."""
        return len(self.identity)

    def __repr__(self) -> str:
        order = ", ordered" if self.ordered else ""
        return f"<redfuse.combiner {self.name}: identity {self.identity}{order}>"

    def __call__(self, left: Any, right: Any) -> Any:
        return self.function(left, right)

    def _apply(self, left: Sequence[Any], right: Sequence[Any]) -> tuple[Any, ...]:
        states = (left[0], right[0]) if self.is_plain else (tuple(left), tuple(right))
        try:
            result = self.function(*states)
            parts = (result,) if self.is_plain else tuple(result)
        except Error:
            raise
        except Exception as error:
            raise ArgumentError(
                f"combiner {self.name} failed for two states: {type(error).__name__}: {error}. It "
                "is called with arrays of numbers, and once to write down what it computes: in "
                "place of `if` it has redfuse.combining.where, and no other functions but those "
                "beside it"
            ) from error
        if len(parts) != self.size:
            raise ArgumentError(
                f"combiner {self.name} returned {len(parts)} parts, expected {self.size} as in its "
                "identity"
            )
        return parts

    def _check(self, sample: Callable[[Any], Sequence[Any]] | None) -> None:
        """Tries the laws at random points, which does not prove them but finds mistakes."""
        import numpy

        rng = numpy.random.default_rng(0)

        def draw() -> tuple[Any, ...]:
            if sample is not None:
                parts = tuple(numpy.asarray(p) for p in sample(rng))
                if len(parts) != self.size:
                    raise ArgumentError(
                        f"combiner {self.name}: sample(rng) gave {len(parts)} parts, expected "
                        f"{self.size}"
                    )
                return parts
            return tuple(
                rng.integers(-9, 10, _POINTS) if isinstance(e, int) else rng.normal(size=_POINTS)
                for e in self.identity
            )

        a, b, c = draw(), draw(), draw()
        with numpy.errstate(all="ignore"):
            self._compare(
                "is not associative: combining (a, b) with c differs from a with (b, c)",
                "a state needs parts for which the order of combining does not matter",
                self._apply(self._apply(a, b), c),
                self._apply(a, self._apply(b, c)),
                (a, b, c),
            )
            neutral = tuple(
                numpy.full(numpy.shape(p), e) for p, e in zip(a, self.identity, strict=True)
            )
            for left, right, where_ in ((neutral, a, "left"), (a, neutral, "right")):
                self._compare(
                    f"has an identity that is not neutral on the {where_}",
                    "give the state that changes nothing",
                    self._apply(left, right),
                    a,
                    (a,),
                )
            if not self.ordered:
                self._compare(
                    "is not commutative: combining a with b differs from b with a",
                    "declare it with ordered=True",
                    self._apply(a, b),
                    self._apply(b, a),
                    (a, b),
                )

    def _compare(
        self, what: str, remedy: str, got: Sequence[Any], expected: Sequence[Any], at: Any
    ) -> None:
        import numpy

        for part, (x, y) in enumerate(zip(got, expected, strict=True)):
            for value in (x, y):
                if numpy.asarray(value).dtype.kind not in "biuf":
                    raise ArgumentError(
                        f"combiner {self.name} returned {type(value).__name__} as part {part}, "
                        "expected a number"
                    )
            x, y = numpy.broadcast_arrays(numpy.asarray(x), numpy.asarray(y))
            scale = 1 + numpy.maximum(abs(x), abs(y))
            with numpy.errstate(all="ignore"):
                same = (abs(x - y) <= _TOLERANCE * scale) | (x == y) | ((x != x) & (y != y))
            if same.all():
                continue
            i = int(numpy.argmin(same.ravel()))
            points = "; ".join(
                f"{name} = ({', '.join(f'{float(numpy.ravel(p)[i]):.4g}' for p in state)})"
                for name, state in zip("abc", at, strict=False)
            )
            raise ArgumentError(
                f"combiner {self.name} {what}: part {part} is {float(x.ravel()[i]):.6g} and "
                f"{float(y.ravel()[i]):.6g} at {points}. {remedy[0].upper()}{remedy[1:]}. If only "
                "some states are valid, give sample=, a function of a NumPy generator that draws "
                "arrays of them."
            )

    def dtypes(self, dtype: str | Sequence[str] = "f32") -> tuple[str, ...]:
        """An MLIR type for each part, from one for all or one for each."""
        types = (dtype,) * self.size if isinstance(dtype, str) else tuple(dtype)
        if len(types) != self.size:
            raise ArgumentError(
                f"combiner {self.name}: {len(types)} types for {self.size} parts of a state"
            )
        for t in types:
            if t not in _FLOATS + _INTEGERS:
                raise ArgumentError(
                    f"combiner {self.name}: unknown type {t!r}; expected one of "
                    f"{', '.join(_FLOATS + _INTEGERS)}"
                )
        return types

    def lines(
        self, left: Sequence[str], right: Sequence[str], dtype: str | Sequence[str] = "f32"
    ) -> tuple[list[str], list[str]]:
        """The ops that combine the SSA names ``left`` and ``right``, and the names of the
        results."""
        types = self.dtypes(dtype)
        trace = _Trace()
        states = [
            [Scalar(trace, name, t) for name, t in zip(names, types, strict=True)]
            for names in (left, right)
        ]
        results = []
        for part, (value, t) in enumerate(zip(self._apply(*states), types, strict=True)):
            if not isinstance(value, Scalar):
                value = trace.constant(value, t)
            if value.dtype != t:
                raise ArgumentError(
                    f"combiner {self.name}: part {part} comes out as {value.dtype}, expected {t}"
                )
            results.append(value.name)
        return trace.lines, results

    def attribute(self, dtype: str | Sequence[str] = "f32") -> str:
        """The attribute ``redfuse.combiner`` of a linalg.generic with this combiner as its
        body."""
        types = self.dtypes(dtype)
        identities = ", ".join(_literal(e, t) for e, t in zip(self.identity, types, strict=True))
        return f"{{identity = [{identities}]{', ordered' if self.ordered else ''}}}"

    def mlir(
        self,
        shape: Sequence[int | None],
        dtype: str | Sequence[str] = "f32",
        axis: int = -1,
        *,
        prefixes: bool = False,
    ) -> str:
        """A program that reduces along ``axis``: one tensor of ``shape`` (``None``: dynamic) for
        each part of an element, and one without the axis for each part of the result; with
        ``prefixes`` one of the whole shape, of what is combined so far."""
        types = self.dtypes(dtype)
        if not isinstance(shape, Sequence) or not all(
            n is None or (isinstance(n, numbers.Integral) and n >= 0) for n in shape
        ):
            raise ArgumentError(
                f"combiner {self.name}: expected a shape of extents, None where one is dynamic, "
                f"got {shape!r}"
            )
        if not isinstance(axis, numbers.Integral):
            raise ArgumentError(f"combiner {self.name}: expected a number as axis, got {axis!r}")
        rank = len(shape)
        if not -rank <= axis < rank:
            raise ArgumentError(
                f"combiner {self.name}: axis {axis} is not one of a tensor of rank {rank}"
            )
        return _Reduction(self, shape, types, axis % rank, prefixes).text()


class _Reduction:
    """Writes the program that reduces k tensors along an axis by a combiner."""

    def __init__(
        self,
        combiner: Combiner,
        shape: Sequence[int | None],
        types: tuple[str, ...],
        axis: int,
        prefixes: bool,
    ) -> None:
        self.combiner, self.shape, self.types = combiner, shape, types
        self.axis, self.prefixes = axis, prefixes
        self.whole = list(range(len(shape)))
        self.reduced = [d for d in self.whole if d != axis]

    def tensor(self, dims: Sequence[int], t: str) -> str:
        sizes = ["?" if self.shape[d] is None else str(self.shape[d]) for d in dims]
        return f"tensor<{''.join(f'{size}x' for size in sizes)}{t}>"

    def affine(self, dims: Sequence[int]) -> str:
        every, some = (", ".join(f"d{d}" for d in of) for of in (self.whole, dims))
        return f"affine_map<({every}) -> ({some})>"

    def empty(self, name: str, dims: Sequence[int], t: str) -> str:
        dynamic = ", ".join(f"%n{d}" for d in dims if self.shape[d] is None)
        return f"{name} = tensor.empty({dynamic}) : {self.tensor(dims, t)}"

    def destinations(self) -> tuple[list[str], list[str], list[str]]:
        """Lines that make them, their names and their types: results, then prefixes."""
        lines, names, kinds = [], [], []
        for i, t in enumerate(self.types):
            kind = self.tensor(self.reduced, t)
            lines += [
                f"%i{i} = arith.constant {_literal(self.combiner.identity[i], t)}",
                self.empty(f"%e{i}", self.reduced, t),
                f"%s{i} = linalg.fill ins(%i{i} : {t}) outs(%e{i} : {kind}) -> {kind}",
            ]
            names.append(f"%s{i}")
            kinds.append(kind)
        for i, t in enumerate(self.types if self.prefixes else ()):
            lines.append(self.empty(f"%p{i}", self.whole, t))
            names.append(f"%p{i}")
            kinds.append(self.tensor(self.whole, t))
        return lines, names, kinds

    def body(self) -> tuple[str, str]:
        """The arguments of the operation's block, and its lines: accumulators are left."""
        repeats = 2 if self.prefixes else 1
        arguments = [f"%{side}{i}: {t}" for side in "rlo"[: 1 + repeats]
                     for i, t in enumerate(self.types)]  # fmt: skip
        left, right = ([f"%{side}{i}" for i in range(len(self.types))] for side in "lr")
        lines, results = self.combiner.lines(left, right, self.types)
        yields = f"linalg.yield {', '.join(results * repeats)} : {', '.join(self.types * repeats)}"
        return ", ".join(arguments), "\n      ".join([*lines, yields])

    def text(self) -> str:
        size = self.combiner.size
        inputs = [f"%x{i}" for i in range(size)]
        in_types = [self.tensor(self.whole, t) for t in self.types]
        lines = [f"%d{d} = arith.constant {d} : index" for d in self.whole]
        lines += [
            f"%n{d} = tensor.dim %x0, %d{d} : {in_types[0]}"
            for d in self.whole
            if self.shape[d] is None
        ]
        made, outs, kinds = self.destinations()
        first = size if self.prefixes else 0
        maps = [self.affine(self.whole)] * size + [self.affine(self.reduced)] * size
        maps += [self.affine(self.whole)] * first
        iterators = ", ".join('"reduction"' if d == self.axis else '"parallel"' for d in self.whole)
        arguments, inner = self.body()
        text = "\n    ".join([*lines, *made])
        parameters = ", ".join(f"{x}: {t}" for x, t in zip(inputs, in_types, strict=True))
        results = ", ".join(f"%m#{first + i}" for i in range(size))
        out_types = ", ".join(kinds[first:])
        return f"""func.func @main({parameters})
    -> ({out_types}) {{
    {text}
    %m:{len(kinds)} = linalg.generic {{indexing_maps = [{", ".join(maps)}],
        iterator_types = [{iterators}], redfuse.combiner = {self.combiner.attribute(self.types)}}}
        ins({", ".join(inputs)} : {", ".join(in_types)})
        outs({", ".join(outs)} : {", ".join(kinds)}) {{
    ^bb0({arguments}):
      {inner}
    }} -> ({", ".join(kinds)})
    return {results} : {out_types}
}}
"""


def combiner(
    identity: float | Sequence[float],
    *,
    ordered: bool = False,
    sample: Callable[[Any], Sequence[Any]] | None = None,
) -> Callable[[Callable[[Any, Any], Any]], Combiner]:
    """Decorates a function of two states, left and right, that returns the combined one.

    A state is a number where ``identity`` is one, else a tuple. The laws (associative, neutral
    identity, commutative unless ``ordered``) are tried at random points, or at what
    ``sample(rng)`` draws; ArgumentError says where one does not hold.
    """

    def decorate(function: Callable[[Any, Any], Any]) -> Combiner:
        return Combiner(function, identity, ordered=ordered, sample=sample)

    return decorate


def _as_combiner(given: Any) -> Combiner:
    if isinstance(given, Combiner):
        return given
    raise ArgumentError(
        f"expected what redfuse.combiner(identity=...) makes of a function, got {given!r}"
    )


def reduction(
    combiner: Combiner,
    shape: Sequence[int | None],
    dtype: str | Sequence[str] = "f32",
    axis: int = -1,
) -> str:
    """A source for ``redfuse.compile``: reduces k tensors of ``shape`` along ``axis``."""
    return _as_combiner(combiner).mlir(shape, dtype, axis)


def scan(
    combiner: Combiner,
    shape: Sequence[int | None],
    dtype: str | Sequence[str] = "f32",
    axis: int = -1,
) -> str:
    """A source for ``redfuse.compile``: every prefix along ``axis`` of k tensors of
    ``shape``."""
    return _as_combiner(combiner).mlir(shape, dtype, axis, prefixes=True)
