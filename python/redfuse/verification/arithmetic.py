"""Operations on arrays of numbers: 50 digits by mpmath, or NumPy's float64 with its infinities.

Both have the operations under the names that arith and math give them, so that bodies in IR and
formulas of certificates are computed by the same table. Arrays of :class:`Exact` hold Python
objects: mpf, int and bool.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

DIGITS = 50

# What a comparison of floats holds for: equal, greater, less, unordered.
_FLOAT_PREDICATES = {
    "false": "", "oeq": "e", "ogt": "g", "oge": "ge", "olt": "l", "ole": "le", "one": "gl",
    "ord": "gle", "ueq": "eu", "ugt": "gu", "uge": "geu", "ult": "lu", "ule": "leu",
    "une": "glu", "uno": "u", "true": "gleu",
}  # fmt: skip
_INT_PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
_SAME = (
    "extf", "truncf", "index_cast", "index_castui", "extsi", "extui", "trunci",
)  # fmt: skip


class NotInterpretable(Exception):  # noqa: N818  what it says is not an error of the program
    """An operation that has no meaning here; what it belongs to is not checked."""


class Arithmetic:
    """What both kinds of numbers share: comparisons, choices, logic."""

    name = ""

    def __init__(self) -> None:
        self.table: dict[str, Callable[..., Any]] = {
            "select": lambda c, a, b: np.where(np.asarray(c, bool), a, b),
            "andi": lambda a, b: np.bitwise_and(a, b),
            "ori": lambda a, b: np.bitwise_or(a, b),
            "xori": lambda a, b: np.bitwise_xor(a, b),
            "addi": np.add,
            "subi": np.subtract,
            "muli": np.multiply,
            "maxsi": np.maximum,
            "minsi": np.minimum,
            "maxui": np.maximum,
            "minui": np.minimum,
            "remsi": lambda a, b: a - b * self.table["divsi"](a, b),
            "divsi": lambda a, b: np.sign(a) * np.sign(b) * (abs(a) // abs(b)),
            "addf": np.add,
            "subf": np.subtract,
            "mulf": np.multiply,
            "negf": np.negative,
        }
        for predicate, cases in _FLOAT_PREDICATES.items():
            self.table[f"cmpf_{predicate}"] = self._float_comparison(cases)
        for predicate in _INT_PREDICATES:
            self.table[f"cmpi_{predicate}"] = self._int_comparison(predicate[-2:])
        for cast in _SAME:
            self.table[cast] = lambda a: a

    def apply(self, name: str, *operands: Any) -> Any:
        """The result of an operation; raises NotInterpretable for an unknown one."""
        if name not in self.table:
            raise NotInterpretable(f"the operation '{name}' is not interpreted")
        return self.table[name](*operands)

    def is_nan(self, a: Any) -> Any:
        """Where an array of floats holds NaN."""
        return np.asarray(a != a, bool)

    def _float_comparison(self, cases: str) -> Callable[[Any, Any], Any]:
        def compare(a: Any, b: Any) -> Any:
            holds = np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b)), bool)
            parts: dict[str, Callable[[], Any]] = {
                "e": lambda: a == b,
                "g": lambda: a > b,
                "l": lambda: a < b,
                "u": lambda: self.is_nan(a) | self.is_nan(b),
            }
            for case in cases:
                holds = holds | np.asarray(parts[case](), bool)
            return holds

        return compare

    @staticmethod
    def _int_comparison(kind: str) -> Callable[[Any, Any], Any]:
        compare = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
                   "gt": np.greater, "ge": np.greater_equal}[kind]  # fmt: skip
        return lambda a, b: np.asarray(compare(a, b), bool)

    def number(self, value: Any) -> Any:
        """A number of this kind, as an array without axes."""
        raise NotImplementedError

    def to_float(self, a: Any) -> Any:
        """Integers as floats."""
        raise NotImplementedError


class Double(Arithmetic):
    """float64 as NumPy and the machine have it. Call it inside ``np.errstate(all="ignore")``."""

    name = "f64"

    def __init__(self) -> None:
        super().__init__()
        error_function = np.vectorize(math.erf, otypes=[np.float64])
        self.table |= {
            "divf": np.divide,
            "absf": np.abs,
            "exp": np.exp,
            "exp2": np.exp2,
            "expm1": np.expm1,
            "log": np.log,
            "log2": np.log2,
            "log1p": np.log1p,
            "sqrt": np.sqrt,
            "rsqrt": lambda a: 1 / np.sqrt(a),
            "sin": np.sin,
            "cos": np.cos,
            "tanh": np.tanh,
            "erf": error_function,
            "floor": np.floor,
            "ceil": np.ceil,
            "trunc": np.trunc,
            "round": lambda a: np.copysign(np.floor(np.abs(a) + 0.5), a),
            "roundeven": np.rint,
            "powf": np.power,
            "fpowi": lambda a, n: np.power(a, np.asarray(n, np.float64)),
            "maximumf": np.maximum,
            "minimumf": np.minimum,
            "maxnumf": np.fmax,
            "minnumf": np.fmin,
            "fma": lambda a, b, c: a * b + c,
            "sitofp": self.to_float,
            "uitofp": self.to_float,
            "fptosi": lambda a: np.trunc(a).astype(np.int64),
        }

    def number(self, value: Any) -> Any:
        if isinstance(value, (bool, int)) and not isinstance(value, np.generic):
            return np.asarray(value)
        return np.asarray(float(value))

    def to_float(self, a: Any) -> Any:
        return np.asarray(a, np.float64)


class Exact(Arithmetic):
    """50 digits: what is equal over the reals is equal here to 40."""

    name = "50 digits"

    def __init__(self) -> None:
        import mpmath

        super().__init__()
        self.mp = mpmath.mp.clone()
        self.mp.dps = DIGITS
        mp = self.mp
        zero, one, nan, inf = mp.mpf(0), mp.mpf(1), mp.nan, mp.inf

        def each(function: Callable[..., Any], count: int = 1) -> Callable[..., Any]:
            return np.frompyfunc(function, count, 1)

        def real(function: Callable[..., Any]) -> Callable[..., Any]:
            def guarded(*values: Any) -> Any:
                try:
                    result = function(*values)
                except ZeroDivisionError:
                    return nan
                return result if isinstance(result, mp.mpf) else nan

            return guarded

        def divide(a: Any, b: Any) -> Any:
            if b == 0:
                return nan if a == 0 or a != a else (inf if a > 0 else -inf)
            return mp.mpf(a) / b

        def power(a: Any, b: Any) -> Any:
            if b == int(b) and not mp.isinf(b):
                return a ** int(b) if b >= 0 else divide(one, a ** int(-b))
            return mp.power(a, b)

        def extreme(sign: int, keeps_nan: bool) -> Callable[[Any, Any], Any]:
            def choose(a: Any, b: Any) -> Any:
                if a != a or b != b:
                    return nan if keeps_nan else (b if a != a else a)
                return a if (a - b if a != b else zero) * sign >= 0 else b

            return choose

        def rounded(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
            return lambda a: a if mp.isinf(a) or a != a else mp.mpf(function(a))

        half = mp.mpf("0.5")
        self.table |= {
            "divf": each(divide, 2),
            "absf": each(abs),
            "exp": each(real(mp.exp)),
            "exp2": each(real(lambda a: mp.power(2, a))),
            "expm1": each(real(mp.expm1)),
            "log": each(real(mp.log)),
            "log2": each(real(lambda a: mp.log(a, 2))),
            "log1p": each(real(mp.log1p)),
            "sqrt": each(real(mp.sqrt)),
            "rsqrt": each(real(lambda a: divide(one, mp.sqrt(a)))),
            "sin": each(real(mp.sin)),
            "cos": each(real(mp.cos)),
            "tanh": each(real(mp.tanh)),
            "erf": each(real(mp.erf)),
            "floor": each(rounded(mp.floor)),
            "ceil": each(rounded(mp.ceil)),
            "trunc": each(rounded(lambda a: mp.floor(a) if a >= 0 else mp.ceil(a))),
            "round": each(rounded(lambda a: mp.sign(a) * mp.floor(abs(a) + half))),
            "roundeven": each(rounded(mp.nint)),
            "powf": each(real(power), 2),
            "fpowi": each(real(power), 2),
            "maximumf": each(extreme(1, True), 2),
            "minimumf": each(extreme(-1, True), 2),
            "maxnumf": each(extreme(1, False), 2),
            "minnumf": each(extreme(-1, False), 2),
            "fma": lambda a, b, c: a * b + c,
            "sitofp": self.to_float,
            "uitofp": self.to_float,
            "fptosi": each(int),
        }
        self._to_float = each(mp.mpf)

    def number(self, value: Any) -> Any:
        made = np.empty((), object)
        if isinstance(value, (bool, np.bool_)):
            return np.asarray(bool(value))
        if isinstance(value, int):
            made[()] = value
        elif hasattr(value, "numerator") and not isinstance(value, float):
            made[()] = self.mp.mpf(value.numerator) / value.denominator
        else:
            made[()] = self.mp.mpf(float(value))
        return made

    def to_float(self, a: Any) -> Any:
        return self._to_float(np.asarray(a, object))
