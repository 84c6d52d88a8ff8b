"""Attributes by the names of their fields: what is read can be written, and is the same."""

import re
from pathlib import Path

import mlir.ir as ir
import pytest
import redfuse
from cascades import CASCADES
from mlir.passmanager import PassManager
from redfuse.attributes import attribute_of, fields, made_of, plain
from redfuse.errors import ArgumentError
from redfuse.explain.certificates import Certificate, entries_of

ROOT = Path(__file__).resolve().parents[3]
DECLARED = ROOT / "include" / "redfuse" / "Dialect" / "Redfuse" / "IR" / "RedfuseAttrs.td"

SHARES = "<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 2, threads = 32, bit = 0>"
TILE = "<argument = 0, map = affine_map<(d0, d1) -> (d0, d1)>, bytes = 1024>"
TEXTS = {
    "hints": "rows = 128, scheduler = dynamic, keep = true",
    "schedule": "split, grid = [0, 2], tiles = [1, 64, 1], stream = [1], splits = 4, lazy = 2, "
    'hints = {step = 32, early = at_use}, reason = "one row"',
    "matrix_plan": "wgmma, row_dim = 0, tiles = [128, 64], consumers = 2, consumer_rows = 64, "
    "left = [kept, packed], sum_splits = 1, splits = 4, cluster = 2, blocks = 1, stages = 5, "
    "staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1",
    "contraction_plan": "mma_sync, warps = [2, 4], instructions = [4, 2], slabs = 2, stages = 2, splits = 3",
    "predicted_time": "total = 23100, launch = 4400, memory = 18700, matrix = 0, vector = 310, "
    "blocks = 4096",
    "rates": "launch = 4400, round = 1100, memory = 4125, vector = 28150, matrix = 501000",
    "fused_kernel": 'cascades = [0, 2], places = ["a.mlir:1:2", "a.mlir:3:4"], cuts = [2], joins = []',
    "rounds_plan": "cluster = 16, warps = 7, grid_parts = 2, warp_parts = 4",
    "packing_plan": "tiles = [256, 0, 128], registers = [8, 3], microkernel = inner",
    "dim_share": "lanes = 4, repeats = 8, threads = 32, bit = 5, run = 4",
    "input_tile": TILE[1:-1],
    "register_layout": f"threads = 32, cluster = 1, lanes = 4, dims = [{SHARES}], blocks = 2, "
    f"shared_bytes = 0, looping_blocks = 3, kept = [{TILE}], moved_once = [0, 2], ahead = [], "
    f"ahead_tiles = 7, following = [{TILE}], choices = [stay_packed, await_loads]",
    "formula": '"exp(t0 - t0\')*t1"',
    "target": '"cuda", units = 132, vector_bits = 512, l1 = 233472, l2 = 397187, flops = 67000, '
    'bandwidth = 4800, launch_ns = 3000, chip = "sm_90a"',
}


@pytest.fixture
def context() -> ir.Context:
    context = ir.Context()
    redfuse.register_dialect(context)
    return context


def test_all_attributes_are_tried() -> None:
    declared = re.findall(r'Redfuse_Attr<"\w+", "(\w+)">', DECLARED.read_text())
    assert set(declared) == set(TEXTS)


@pytest.mark.parametrize("mnemonic", TEXTS)
def test_what_is_read_can_be_written(mnemonic: str, context: ir.Context) -> None:
    with context, ir.Location.unknown():
        attribute = ir.Attribute.parse(f"#redfuse.{mnemonic}<{TEXTS[mnemonic]}>")
        found = fields(attribute, mnemonic)
        assert found
        assert attribute_of(mnemonic, found) == attribute
        assert fields(attribute, "another") is None
        with pytest.raises(ArgumentError, match=r"\"strange\"; expected one of"):
            attribute_of(mnemonic, {**found, "strange": 1})


def test_fields_have_their_values(context: ir.Context) -> None:
    with context:
        attribute = ir.Attribute.parse(f"#redfuse.register_layout<{TEXTS['register_layout']}>")
        found = fields(attribute, "register_layout")
    assert found is not None
    assert found["dims"][1] == {"lanes": 4, "repeats": 2, "threads": 32, "bit": 0, "run": 1}
    assert str(found["kept"][0]["map"]) == "(d0, d1) -> (d0, d1)"
    assert (found["ahead"], found["choices"]) == ((), ("stay_packed", "await_loads"))


@pytest.mark.parametrize("name", ["softmax", "variance"])
def test_a_certificate_is_read_and_written(name: str, context: ir.Context) -> None:
    with context, ir.Location.unknown():
        module = ir.Module.parse(CASCADES[name].text({"i": 3, "j": 37, "d": 2}))
        PassManager.parse("builtin.module(redfuse-derive{all=true})").run(module.operation)
        folds = [op for op in module.body.operations[0].regions[0].blocks[0].operations
                 if op.operation.name == "redfuse.fold"]  # fmt: skip
        assert folds
        for fold in folds:
            attribute = fold.attributes["certificate"]
            assert plain(made_of(plain(attribute))) == plain(attribute)
            certificate = Certificate.of(entries_of(attribute))
            assert certificate.entries == entries_of(attribute)
            # Every text that is a formula is one in the attribute, too.
            for entry in ir.DictAttr(attribute)["finalise"]:
                assert fields(entry["formula"], "formula") == {"text": plain(entry["formula"])}
                assert made_of(plain(entry)) == entry
