"""What no stage can compile, refused by its name and place before the first stage sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import UnsupportedError
from .mlir import position_of

# What the stages take, or leave as ordinary code that upstream's passes lower.
_DIALECTS = {
    "affine", "arith", "bufferization", "builtin", "cf", "complex", "func", "index", "linalg",
    "math", "memref", "ml_program", "redfuse", "scf", "shape", "tensor", "tm_tensor", "ub",
    "vector",
}  # fmt: skip
_EXPECTED = (
    "expected linalg, tensor, arith, math, scf and cf; lower other operations to these first"
)
_CALLS = ("func.call", "func.call_indirect")
# Only what computes shapes of tensors has a form in memory.
_SHAPELESS = ("!shape.shape", "!shape.size")
_WIDEST = 64
_NO_ARITHMETIC = ("f80", "f128", "tf32", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E8M0FNU")
_LARGEST = (1 << 63) - 1


def check(module: Any, entry: str) -> None:
    """Raises UnsupportedError for what a function, and what it calls, may not hold."""
    functions = {
        op.name.value: op for op in module.body.operations if op.operation.name == "func.func"
    }
    known: dict[Any, str] = {}
    seen, waiting = {entry}, [entry]
    while waiting:
        for operation in _walk(functions[waiting.pop()].operation):
            reason = _refused(operation) or _refused_types(operation, known)
            if reason:
                raise UnsupportedError(f"{position_of(operation)}{reason}")
            callee = _callee(operation).removeprefix("@")
            if callee in functions and callee not in seen:
                seen.add(callee)
                waiting.append(callee)


def check_calls(function: Any) -> None:
    """Raises UnsupportedError for a call that was not inlined."""
    for operation in _walk(function.operation):
        if operation.name in _CALLS:
            raise UnsupportedError(
                f"{position_of(operation)}{function.name.value} calls "
                f"{_callee(operation) or 'a function value'}, which cannot be inlined (recursive, "
                "or without a body); expected a program that is complete in itself"
            )


def _callee(operation: Any) -> str:
    if operation.name not in _CALLS or "callee" not in operation.attributes:
        return ""
    return str(operation.attributes["callee"])


def _walk(operation: Any) -> Iterator[Any]:
    """An operation and all inside, in order."""
    waiting = [operation]
    while waiting:
        at = waiting.pop()
        yield at
        inner = [i.operation for region in at.regions for block in region for i in block.operations]
        waiting += reversed(inner)


def _refused(operation: Any) -> str:
    """Why an operation cannot be compiled; empty if it can."""
    name = operation.name
    if name.partition(".")[0] not in _DIALECTS:
        return f"{name} cannot be compiled; {_EXPECTED}"
    return ""


def _refused_types(operation: Any, known: dict[Any, str]) -> str:
    """Why a type of what an operation makes cannot be compiled; empty if all can."""
    if _is_rounding(operation):
        return ""
    types = [result.type for result in operation.results]
    types += [a.type for region in operation.regions for block in region for a in block.arguments]
    for kind in types:
        if kind not in known:
            known[kind] = _refused_type(kind)
        if known[kind]:
            return f"{operation.name} has {known[kind]}"
    return ""


def _is_rounding(operation: Any) -> bool:
    """Whether it rounds a scalar to TF32, and its only users make it an f32 again."""
    import mlir.ir as ir

    if operation.name != "arith.truncf" or not isinstance(operation.result.type, ir.FloatTF32Type):
        return False
    return all(use.owner.name == "arith.extf" for use in operation.result.uses)


def _refused_type(kind: Any) -> str:
    import mlir.ir as ir

    text = str(kind)
    if text in _SHAPELESS:
        return f"a value of type {text}, which has no form in memory; {_EXPECTED}"
    is_shaped = isinstance(kind, ir.ShapedType)
    element = kind.element_type if is_shaped else kind
    if str(element) in _NO_ARITHMETIC or (
        isinstance(element, ir.IntegerType) and element.width > _WIDEST
    ):
        return (
            f"a value of type {text}: there is no code for {element}; expected integers of up to "
            f"{_WIDEST} bits, index, and floats of 16, 32 or 64 bits or fp8"
        )
    if not is_shaped or not kind.has_rank:
        return ""
    count = 1
    for axis in range(kind.rank):
        if not kind.is_dynamic_dim(axis):
            count *= max(1, kind.get_dim_size(axis))
    if count * _bytes(kind.element_type) <= _LARGEST:
        return ""
    return (
        f"a value of type {text}, which is larger than any memory: expected at most 2^63 - 1 bytes"
    )


def _bytes(element: Any) -> int:
    import mlir.ir as ir

    if isinstance(element, ir.ComplexType):
        return 2 * _bytes(element.element_type)
    return max(1, getattr(element, "width", 64) // 8)
