"""The dialect from Python: op classes, builders, attributes, and the examples of its pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import redfuse  # noqa: F401  (registers the dialect)
from mlir import ir
from mlir.dialects import arith, func, math
from redfuse.dialects import redfuse as rf

SOURCES = Path(__file__).resolve().parents[3] / "include" / "redfuse" / "Dialect" / "Redfuse" / "IR"


@pytest.fixture
def context():
    with ir.Context() as ctx, ir.Location.unknown():
        yield ctx


def tensor(*shape: int, of: str = "f32") -> ir.Type:
    dims = [ir.ShapedType.get_dynamic_size() if d < 0 else d for d in shape]
    return ir.RankedTensorType.get(dims, ir.Type.parse(of))


def build(arguments: list[ir.Type], make) -> ir.Module:
    """A module with @main(arguments), which returns what `make(*arguments)` returns."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("main", (arguments, []))
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            results = list(make(*block.arguments))
            func.ReturnOp(results)
        kinds = ir.FunctionType.get(arguments, [r.type for r in results])
        function.attributes["function_type"] = ir.TypeAttr.get(kinds)
    assert module.operation.verify()
    return module


def softmax_rows(x: ir.Value):
    low = rf.reduce("maximumf", x, over=[1], into=[0])
    e = math.exp(arith.subf(x, low))
    return arith.divf(e, rf.reduce("add", e, over=[1], into=[0]))


ROWS = ["(i, j) -> (i, j)", "(i, j) -> (i, j)"]


def test_cascade_from_python(context):
    kind = tensor(6, 7)
    made = []

    def make(x, init):
        op = rf.cascade([x], [init], ROWS, softmax_rows)
        made.append(op)
        return op.results

    module = build([kind, kind], make)
    assert isinstance(made[0], rf.CascadeOp)
    text = str(module)
    assert "redfuse.reduce maximumf" in text and "over [1] into [0] : f32" in text
    # What was built is what the parser reads.
    assert str(ir.Module.parse(text)) == text


def test_op_classes_of_parsed_ops(context):
    kind = tensor(-1, -1)
    module = build(
        [kind, kind], lambda x, init: rf.cascade([x], [init], ROWS, softmax_rows).results
    )
    again = ir.Module.parse(str(module))
    op = again.body.operations[0].entry_block.operations[0]
    assert isinstance(op, rf.CascadeOp)
    assert len(op.inputs) == 1 and len(op.inits) == 1
    assert [ir.AffineMapAttr(m).value.n_dims for m in op.indexing_maps] == [2, 2]
    inner = list(op.body.blocks[0].operations)
    assert isinstance(inner[0], rf.ReduceOp) and isinstance(inner[-1], rf.YieldOp)
    assert list(inner[0].over) == [1] and list(inner[0].into) == [0]


def test_fold_merge_and_finalize(context):
    x, row = tensor(6, 7), tensor(6)

    def step(e, total):
        return arith.addf(total, rf.reduce(rf.Reducer.Add, e, over=[1], into=[0]))

    def make(x, zero, out):
        state = rf.fold(
            [x], [zero], ["(i, j) -> (i, j)", "(i, j) -> (i)"], step, arith.addf,
            over=[1], identities=[0.0],
        )  # fmt: skip
        both = rf.merge([state.results[0]], [zero], ["(i) -> (i)"], arith.addf)
        return rf.finalize(
            both.results, [out], ["(i) -> (i)", "(i) -> (i)"], lambda s: math.sqrt(s)
        ).results

    text = str(build([x, row, row], make))
    for op in ("redfuse.fold", "redfuse.merge", "redfuse.finalize", "over = array<i64: 1>"):
        assert op in text


def test_indices_and_pairs(context):
    def body(x):
        value, place = rf.reduce("argmax", x, rf.index(1), over=[1], into=[0])
        return [value, place]

    maps = ["(i, j) -> (i, j)", "(i, j) -> (i)", "(i, j) -> (i)"]
    module = build(
        [tensor(6, 7), tensor(6), tensor(6, of="index")],
        lambda x, a, b: rf.cascade([x], [a, b], maps, body).results,
    )
    assert "redfuse.reduce argmax" in str(module) and "redfuse.index 1" in str(module)


def test_wrong_arguments_are_told(context):
    with pytest.raises(ValueError, match="unknown reducer 'plus'; expected one of add, mul"):
        build([tensor(6), tensor(6)], lambda x, a: rf.cascade(
            [x], [a], ["(i) -> (i)"] * 2, lambda e: rf.reduce("plus", e, over=[0], into=[])
        ).results)  # fmt: skip
    with pytest.raises(ValueError, match="not an affine map: 'i -> i'"):
        rf.affine_map("i -> i")
    with pytest.raises(ValueError, match="expected 1 identities, one for each component"):
        build([tensor(6), tensor()], lambda x, a: rf.fold(
            [x], [a], ["(i) -> (i)", "(i) -> ()"], None, None, over=[0], identities=[]
        ).results)  # fmt: skip


def test_verifier_speaks_through_python(context):
    with pytest.raises(ir.MLIRError, match="reduce it first"):
        build([tensor(6, 7), tensor(6)], lambda x, a: rf.cascade(
            [x], [a], ["(i, j) -> (i, j)", "(i, j) -> (i)"], lambda e: e
        ).results)  # fmt: skip


@pytest.mark.parametrize(
    "schedule",
    [
        rf.Schedule("resident"),
        rf.Schedule("map", grid=(0, 1), tiles=(1, 64)),
        rf.Schedule("stream", (0, 1), (1, 64, 256, 0, 0), (2,), "fits l1, so says the model"),
        rf.Schedule("split", (0,), (1, 64), (1,), "so, lazy = 3", splits=4, lazy=8),
        rf.Schedule(
            "stream", (0,), (1, 64), (1,), ", hints = {rows = 9}", hints=(("operand", "shared"),)
        ),
        rf.Schedule(
            "stream", (0,), (1, 64), (1,), lazy=4, hints=(("columns", 96), ("scheduler", "dynamic"))
        ),
        rf.Schedule("multipass", tiles=(8,), reason='a "quoted" \\ line\nand, grid = [7] µs'),
    ],
)
def test_schedule_round_trip(context, schedule):
    attribute = schedule.attribute()
    assert rf.Schedule.of(attribute) == schedule
    assert ir.Attribute.parse(str(attribute)) == attribute


def test_target_round_trip(context):
    target = rf.Target("cpu, units = 3", 2, 512, 49152, 1048576, 300, 40, 2000)
    assert rf.Target.of(target.attribute()) == target


def test_wrong_attributes_are_told(context):
    with pytest.raises(ValueError, match=r"a #redfuse\.schedule attribute, got 1 : i64"):
        rf.Schedule.of(ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1))
    with pytest.raises(ValueError, match="'grid' names dim 4, but 'tiles' has 1 entries"):
        rf.Schedule("map", grid=(4,), tiles=(8,)).attribute()
    with pytest.raises(
        ValueError, match='no hint is called "store"; expected one of rows, columns'
    ):
        rf.Schedule("map", hints=(("store", 1),)).attribute()
    with pytest.raises(ValueError, match='hint "scheduler": expected one of static, dynamic'):
        rf.Schedule("map", hints=(("scheduler", 1),)).attribute()
    with pytest.raises(ValueError, match="hint 'rows' is 65; expected 64 to 192, a multiple of 64"):
        rf.Schedule("map", hints=(("rows", 65),)).attribute()
    with pytest.raises(ValueError, match='field "kind": expected the name of a case'):
        rf.Schedule("spiral").attribute()
    with pytest.raises(ValueError, match="expected positive capacities and rates, got 0"):
        rf.Target("cpu", 0, 512, 1, 1, 1, 1).attribute()


def test_schedule_on_an_op(context):
    kind = tensor(6, 7)
    schedule = rf.Schedule("resident", grid=(0,), tiles=(2, 0))
    module = build(
        [kind, kind],
        lambda x, a: rf.cascade([x], [a], ROWS, softmax_rows, schedule=schedule).results,
    )
    op = module.body.operations[0].entry_block.operations[0]
    assert rf.Schedule.of(op.schedule) == schedule


def examples() -> list[str]:
    text = "\n".join(path.read_text() for path in sorted(SOURCES.glob("*.td")))
    return re.findall(r"```mlir\n(.*?)```", text, flags=re.S)


def test_every_example_of_the_dialect_parses(context):
    """Ops stand in a function whose arguments are what the example does not define."""
    found = examples()
    assert len(found) >= 7
    kernels = "\n".join(e for e in found if "redfuse.kernel" in e)
    for example in found:
        if example.lstrip().startswith("#"):
            ir.Attribute.parse(example.strip())
            continue
        if "redfuse.kernel" in example:
            ir.Module.parse(example)
            continue
        defined = set(re.findall(r"(%\w+)(?::\d+)? = ", example))
        arguments: dict[str, str] = {}
        for names, kinds in re.findall(
            r"(?:ins|outs|values|positions)\((%[^:]*) : ([^)]*)\)", example
        ):
            for name, kind in zip(names.split(", "), kinds.split(", "), strict=True):
                if name not in defined:
                    arguments[name] = kind
        signature = ", ".join(f"{n}: {k}" for n, k in arguments.items())
        ir.Module.parse(f"{kernels}\nfunc.func @f({signature}) {{\n{example}\nreturn\n}}")


def test_each_op_is_described(context):
    text = (SOURCES / "RedfuseOps.td").read_text()
    ops = re.split(r"^def Redfuse_(?=\w+Op )", text, flags=re.M)[1:]
    assert len(ops) == 12
    for op in ops:
        name = op.split("Op")[0]
        assert "let summary" in op and "let description" in op, name
        assert "Example:" in op, name
