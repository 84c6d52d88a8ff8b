"""Constants of more than a mebibyte stand behind the object code: their values, files, damage,
and how often they are in memory."""

import io
import subprocess
import sys
import warnings
from pathlib import Path

import ml_dtypes
import mlir.ir as ir
import numpy as np
import pytest
import redfuse
from redfuse import _ext
from redfuse.store import bundle, cache, files

TYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i64": np.int64,
}
SHAPE = (1117, 1193)
FRESH = {"cache": False}


def numbers(kind: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-20, 20, SHAPE).astype(TYPES[kind])


def text_of(kind: str, *constants: np.ndarray) -> str:
    """x + the constants, which are in the text."""
    shape = f"tensor<{SHAPE[0]}x{SHAPE[1]}x{kind}>"
    lines, last = [], "%x"
    for i, constant in enumerate(constants):
        lines += [
            f'%c{i} = arith.constant dense<"0x{constant.tobytes().hex().upper()}"> : {shape}',
            f"%y{i} = linalg.add ins({last}, %c{i} : {shape}, {shape}) outs(%e : {shape}) -> {shape}",
        ]
        last = f"%y{i}"
    body = "\n".join(lines)
    return (
        f"func.func @f(%x: {shape}) -> {shape} {{\n%e = tensor.empty() : {shape}\n{body}\n"
        f"return {last} : {shape} }}"
    )


def bytecode_of(text: str) -> bytes:
    with ir.Context():
        module = ir.Module.parse(text)
        stream = io.BytesIO()
        module.operation.write_bytecode(stream)
        return stream.getvalue()


@pytest.mark.sample(3)
@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("kind", TYPES)
def test_values(kind: str, fuse: bool) -> None:
    """Exact: sums of small whole numbers."""
    first, second, x = (numbers(kind, seed) for seed in range(3))
    exe = redfuse.compile(
        text_of(kind, first, second), target="cpu", options={**FRESH, "fuse": fuse}
    )
    np.testing.assert_array_equal(exe(x), x + first + second)
    assert len(exe.code) >= first.nbytes + second.nbytes


def test_the_object_has_none_of_them() -> None:
    """It is as long as that of a program with another such constant."""
    x = numbers("f64", 0)
    codes = [
        redfuse.compile(text_of("f64", numbers("f64", s)), target="cpu", options=FRESH).code
        for s in (1, 2)
    ]
    assert len(codes[0]) == len(codes[1])
    differ = np.frombuffer(codes[0], np.uint8) != np.frombuffer(codes[1], np.uint8)
    assert differ.any() and np.ptp(differ.nonzero()[0]) < x.nbytes


@pytest.mark.parametrize("as_bytecode", [False, True])
def test_a_bundle(tmp_path: Path, as_bytecode: bool) -> None:
    constant, x = numbers("f32", 5), numbers("f32", 6)
    source = text_of("f32", constant)
    file = tmp_path / "program.mlir"
    file.write_bytes(bytecode_of(source) if as_bytecode else source.encode())
    path = tmp_path / "saved.rfb"
    count = redfuse.compile(file, target="cpu", options=FRESH).save(path)
    assert count == path.stat().st_size
    again = redfuse.load(path)
    np.testing.assert_array_equal(again(x), x + constant)
    assert "linalg.add" in again.ir["source"]


MEMORY = """
import resource
import numpy as np
import redfuse
from mlir import ir
from redfuse import _ext

def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

rows, columns = 4099, 16411
kind = f"tensor<{rows}x{columns}xf32>"
text = f'''
func.func @f(%x: {kind}) -> {kind} {{
  %w = arith.constant dense<0.0> : {kind}
  %e = tensor.empty() : {kind}
  %y = linalg.add ins(%x, %w : {kind}, {kind}) outs(%e : {kind}) -> {kind}
  return %y : {kind}
}}'''
weights = np.empty((rows, columns), np.float32)
weights[:] = np.arange(columns) % 17
with ir.Context(), ir.Location.unknown():
    module = ir.Module.parse(text)
    constant = module.body.operations[0].entry_block.operations[0]
    constant.attributes["value"] = ir.DenseResourceElementsAttr.get_from_buffer(
        weights, "w", ir.Type.parse(kind), alignment=8)
    before = most()
    source = _ext.bytecode(module.operation)
exe = redfuse.compile(source, target="cpu", options={"cache": False})
taken = (most() - before) / weights.nbytes
x = np.ones_like(weights)
assert (exe(x) == x + weights).all()
del source, module, constant
exe.code = exe.source = None
assert (exe(x) == x + weights).all()
print(taken)
"""


def test_how_often_they_are_in_memory() -> None:
    """In the program, and with its code."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2.3


def test_code_that_is_damaged_behind_the_object() -> None:
    """Numbers of the table of constants point anywhere: refused, nothing foreign is read."""
    code = redfuse.compile(text_of("f64", numbers("f64", 7)), target="cpu", options=FRESH).code
    _ext.load(code)
    for at in (8, 16, 32, 40, 48, 56, 64):  # from the end on: the table and where it is
        for number in (0, 1, 2**31, 2**63, 2**64 - 1):
            data = bytearray(code)
            data[-at - 8 : -at] = number.to_bytes(8, "little")
            try:
                _ext.load(bytes(data))
            except redfuse.CacheError as error:
                assert "cannot load machine code" in str(error)
    with pytest.raises(redfuse.CacheError, match="damaged"):
        _ext.load(code[-40:])


def test_what_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the cache: compiled, not kept; for a bundle: refused with a way out."""
    monkeypatch.setenv("REDFUSE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "MOST_OF_A_SOURCE", 1 << 20)
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 20)
    constant, x = numbers("f32", 8), numbers("f32", 9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exe = redfuse.compile(text_of("f32", constant), target="cpu")
    np.testing.assert_array_equal(exe(x), x + constant)
    assert not list(tmp_path.glob("*.rfb"))
    with pytest.raises(redfuse.CacheError, match="parameters='arguments'"):
        exe.save(tmp_path / "long.rfb")
    assert not (tmp_path / "long.rfb").exists()
    assert len(bundle.encode(exe)) > files.MOST_BYTES
