"""fp64 of the unfused program: what every result is compared with.

The program's float types all become f64 in place, constants keep their exact values, casts
between floats become nothing, and the plain path (upstream passes, one loop nest an operation)
compiles the rest: no pass that fuses has touched it. Floats of 8 bits stay what they are: who
rounds to them means it, as with integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import UnsupportedError
from .frontends import mlir as mlir_frontend
from .frontends.mlir import Source, position_of
from .options import Options

_FLOAT_CASTS = ("arith.extf", "arith.truncf")
# What reads or makes the bits of a float cannot follow a change of type.
_BIT_CASTS = (
    "arith.bitcast",
    "tensor.bitcast",
    "vector.bitcast",
    "arith.scaling_extf",
    "arith.scaling_truncf",
)


class Reference:
    """The fp64 program: call it with the fused program's arguments; results are float64 (integers
    as they were).

    opt_level: LLVM's; what 3 does more takes as long again, and loops over fp64 sums do not run
    faster for it."""

    def __init__(self, source: Any, entry: str | None = None, opt_level: int = 2):
        from .compiler import compile

        program = mlir_frontend.read(source)
        module = program.parse()  # an operation does not keep its module alive
        self.signature = mlir_frontend.signature(mlir_frontend.find_entry(module, entry))
        options = Options(entry=self.signature.name, fuse=False, opt_level=opt_level)
        self.executable = compile(Source(to_f64(program)), options=options)

    def __call__(self, *arguments: Any) -> list[Any]:
        """Runs on arrays of any float width; returns a list of NumPy arrays."""
        results = self.executable(
            *[
                _widen(value, spec)
                for value, spec in zip(arguments, self.signature.inputs, strict=False)
            ]
        )
        return list(results) if isinstance(results, tuple) else [results]


def reference(
    source: Any, arguments: Sequence[Any], entry: str | None = None, opt_level: int = 2
) -> list[Any]:
    """Results of the unfused program in fp64, as a list of NumPy arrays."""
    return Reference(source, entry, opt_level)(*arguments)


def _widen(value: Any, spec: Any) -> Any:
    import numpy

    from .runtime.specs import SMALL_FLOATS, numpy_dtype

    if type(value).__module__.startswith("torch"):
        value = value.detach().double().numpy() if spec.is_float else value.numpy()
    if isinstance(value, (bool, int, float)):
        return value  # the call knows what it stands for
    array = numpy.asarray(value)
    if not spec.is_float:
        return array
    dtype = numpy_dtype(spec.dtype) if spec.dtype in SMALL_FLOATS else numpy.float64
    # ascontiguousarray would give an array without dims one.
    return numpy.asarray(array, dtype=dtype, order="C")


def to_f64(source: Source) -> str:
    """The text of the program, floats of more than 8 bits made f64; UnsupportedError where it
    reads bits."""
    import mlir.ir as ir

    module = source.parse()
    with module.context, ir.Location.unknown():
        _Widener(ir).operation(module.operation)
        module.operation.verify()
    return str(module)


class _Widener:
    """Rewrites types, attributes and casts below an operation, in place."""

    def __init__(self, ir: Any):
        self.ir = ir
        self.f64 = ir.F64Type.get()
        self.types: dict[str, Any] = {}

    def operation(self, operation: Any) -> None:
        """Widens ``operation`` and all inside it."""
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    self._value(argument)
                for inner in list(block.operations):
                    self.operation(inner.operation)
        if operation.name == "arith.constant" and self._widen_constant(operation):
            return
        if operation.name in _BIT_CASTS:
            raise UnsupportedError(
                f"{position_of(operation)}{operation.name} reads the bits of a float, so there "
                "is no fp64 form of "
                "this program to compare with; give expected outputs (out0..) in the npz instead"
            )
        for result in operation.results:
            self._value(result)
        for named in list(operation.attributes):
            name = named if isinstance(named, str) else named.name
            attribute = operation.attributes[name]
            widened = self.attribute(attribute)
            if widened is not attribute:
                operation.attributes[name] = widened
        if (
            operation.name in _FLOAT_CASTS
            and operation.results[0].type == operation.operands[0].type
        ):
            operation.results[0].replace_all_uses_with(operation.operands[0])
            operation.erase()

    def _widen_constant(self, operation: Any) -> bool:
        """Puts a cast behind a constant of several values: it folds, exactly, for every type."""
        from mlir.dialects import arith

        ir = self.ir
        value = operation.attributes["value"]
        kind = operation.results[0].type
        if not isinstance(kind, (ir.RankedTensorType, ir.VectorType)) or (
            isinstance(value, ir.DenseElementsAttr) and value.is_splat
        ):
            return False
        wide = self.type(kind)
        if wide == kind:
            return True
        uses = list(operation.results[0].uses)
        with ir.InsertionPoint.after(operation):
            cast = arith.ExtFOp(wide, operation.results[0])
        for use in uses:
            use.owner.operands[use.operand_number] = cast.result
        return True

    def _value(self, value: Any) -> None:
        old = value.type
        new = self.type(old)
        if new != old:
            value.set_type(new)

    def type(self, kind: Any) -> Any:
        """The f64 form of a type."""
        text = str(kind)
        if text not in self.types:
            self.types[text] = self._type(kind)
        return self.types[text]

    def _type(self, kind: Any) -> Any:
        ir = self.ir
        if isinstance(kind, ir.FloatType):
            return kind if kind.width == 8 else self.f64
        if isinstance(kind, ir.RankedTensorType):
            return ir.RankedTensorType.get(kind.shape, self.type(kind.element_type), kind.encoding)
        if isinstance(kind, ir.UnrankedTensorType):
            return ir.UnrankedTensorType.get(self.type(kind.element_type))
        if isinstance(kind, ir.VectorType):
            return ir.VectorType.get(
                kind.shape,
                self.type(kind.element_type),
                scalable=kind.scalable_dims if kind.scalable else None,
            )
        if isinstance(kind, ir.MemRefType):
            return ir.MemRefType.get(
                kind.shape, self.type(kind.element_type), kind.layout, kind.memory_space
            )
        if isinstance(kind, ir.FunctionType):
            return ir.FunctionType.get(
                [self.type(t) for t in kind.inputs], [self.type(t) for t in kind.results]
            )
        if isinstance(kind, ir.TupleType):
            return ir.TupleType.get_tuple(
                [self.type(kind.get_type(i)) for i in range(kind.num_types)]
            )
        return kind

    def attribute(self, attribute: Any) -> Any:
        """The f64 form of an attribute; the same object if nothing changes."""
        ir = self.ir
        if isinstance(attribute, ir.FloatAttr):
            if self.type(attribute.type) == attribute.type:
                return attribute
            return ir.FloatAttr.get(self.f64, attribute.value)
        if isinstance(attribute, ir.TypeAttr):
            new = self.type(attribute.value)
            return attribute if new == attribute.value else ir.TypeAttr.get(new)
        if isinstance(attribute, ir.ArrayAttr):
            old = list(attribute)
            new = [self.attribute(a) for a in old]
            return (
                attribute
                if all(a is b for a, b in zip(old, new, strict=False))
                else ir.ArrayAttr.get(new)
            )
        if isinstance(attribute, ir.DictAttr):
            entries = {item.name: item.attr for item in attribute}
            new = {name: self.attribute(a) for name, a in entries.items()}
            return attribute if all(new[n] is entries[n] for n in new) else ir.DictAttr.get(new)
        return self._elements(attribute)

    def _elements(self, attribute: Any) -> Any:
        ir = self.ir
        kind = getattr(attribute, "type", None)
        if not isinstance(kind, (ir.RankedTensorType, ir.VectorType)):
            return attribute
        element = kind.element_type
        if not isinstance(element, ir.FloatType) or self.type(element) == element:
            return attribute
        if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
            value = attribute.get_splat_value().value
            return ir.DenseElementsAttr.get_splat(
                self.type(kind), ir.FloatAttr.get(self.f64, value)
            )
        raise UnsupportedError(
            f"a constant stored as {type(attribute).__name__} of {kind} has no fp64 form here; "
            "expected dense elements"
        )
