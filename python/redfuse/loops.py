"""Loop orders of the plain path: contractions walk along rows, so that LLVM can vectorise them.

Upstream's loops follow the order of an operation's iteration dims, which for a matmul ends with
the reduction: a stride through one operand and a serial sum. With the last dim of the result
innermost, every element of the result still sees its terms in the same order, so the numbers are
the same.
"""

from __future__ import annotations

from typing import Any


def order(module: Any) -> None:
    """Reorders the iteration dims of every ``linalg.generic`` in place, where that helps."""
    import mlir.ir as ir

    with module.context, ir.Location.unknown():
        for operation in module.body.operations:
            _visit(ir, operation.operation)


def _visit(ir: Any, operation: Any) -> None:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                if inner.operation.name == "linalg.generic":
                    _reorder(ir, inner.operation)
                else:
                    _visit(ir, inner.operation)


def _reorder(ir: Any, operation: Any) -> None:
    maps = [
        ir.AffineMapAttr(attribute).value for attribute in operation.attributes["indexing_maps"]
    ]
    kinds = list(operation.attributes["iterator_types"])
    reductions = [dim for dim, kind in enumerate(kinds) if "reduction" in str(kind)]
    if not reductions or len(kinds) < 3 or any(m.n_symbols for m in maps):
        return
    innermost = _last_dim(ir, maps[-1])
    if innermost is None or innermost in reductions or innermost > max(reductions):
        return
    for affine in maps[:-1]:
        results = list(affine.results)
        used = [innermost in _dims(ir, expression) for expression in results]
        if any(used[:-1]) or (results and not used[-1] and _dims(ir, results[-1]) == set()):
            return
    if _uses_index(operation):
        return
    outer = [dim for dim in range(len(kinds)) if dim != innermost]
    new_order = [*(d for d in outer if d not in reductions), *reductions, innermost]
    place = {old: new for new, old in enumerate(new_order)}
    rebuilt = [
        ir.AffineMap.get(len(kinds), 0, [_replace(ir, e, place) for e in affine.results])
        for affine in maps
    ]
    operation.attributes["indexing_maps"] = ir.ArrayAttr.get(
        [ir.AffineMapAttr.get(affine) for affine in rebuilt]
    )
    operation.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[old] for old in new_order])


def _last_dim(ir: Any, affine: Any) -> int | None:
    """The dim that the innermost extent of a result runs along."""
    results = list(affine.results)
    if not results or not isinstance(results[-1], ir.AffineDimExpr):
        return None
    return results[-1].position


def _dims(ir: Any, expression: Any) -> set[int]:
    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position}
    if isinstance(expression, ir.AffineBinaryExpr):
        return _dims(ir, expression.lhs) | _dims(ir, expression.rhs)
    return set()


def _replace(ir: Any, expression: Any, place: dict[int, int]) -> Any:
    if isinstance(expression, ir.AffineDimExpr):
        return ir.AffineDimExpr.get(place[expression.position])
    if isinstance(expression, ir.AffineBinaryExpr):
        kind = type(expression)
        return kind.get(_replace(ir, expression.lhs, place), _replace(ir, expression.rhs, place))
    return expression


def _uses_index(operation: Any) -> bool:
    """Whether the body asks for its position: those numbers would have to follow."""
    for inner in operation.regions[0].blocks[0].operations:
        if inner.operation.name == "linalg.index":
            return True
    return False
