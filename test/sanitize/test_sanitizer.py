"""`tools/dev test --sanitize` reports wrong accesses of the code that is made: programs without the
checks that the compiler adds, each in a process that a report ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """
import sys
import numpy as np
from native_programs import compile_text
function = compile_text(sys.argv[1]).function("f", [("f32", (8,)), ("i64", ())], [("f32", (8,))])
x = np.arange(8, dtype=np.float32)
"""
SHAPES = """
func.func @f__shapes(%x: memref<8xf32>, %i: memref<i64>, %o: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 8 : index
  memref.store %n, %o[%c0] : memref<?xindex>
  return
}"""


def program(body: str, globals_: str = "") -> str:
    """A function that does as it is told, at the index that it is given."""
    return f"""{globals_}
func.func @f(%x: memref<8xf32>, %p: memref<i64>, %y: memref<8xf32>) {{
  %c0 = arith.constant 0 : index
  %word = memref.load %p[] : memref<i64>
  %i = arith.index_cast %word : i64 to index
  {body}
  memref.store %v, %y[%c0] : memref<8xf32>
  return
}}{SHAPES}"""


LOAD = program("%v = memref.load %x[%i] : memref<8xf32>")
STORE = program("""%v = memref.load %x[%c0] : memref<8xf32>
  memref.store %v, %y[%i] : memref<8xf32>""")
BUFFER = program("""%b = memref.alloc() : memref<8xf32>
  memref.copy %x, %b : memref<8xf32> to memref<8xf32>
  %v = memref.load %b[%i] : memref<8xf32>
  memref.dealloc %b : memref<8xf32>""")
CONSTANT = program("""%t = memref.get_global @table : memref<8xf32>
  %v = memref.load %t[%i] : memref<8xf32>""",
  "memref.global \"private\" constant @table : memref<8xf32> = dense<[0.,1.,2.,3.,4.,5.,6.,7.]>")  # fmt: skip
VECTOR = program("""%w = vector.load %x[%i] : memref<8xf32>, vector<4xf32>
  %v = vector.extract %w[0] : f32 from vector<4xf32>""")
# name: a program, an index that is none, and the last that is
WRONG = {
    "load": (LOAD, 8, 7), "load in front": (LOAD, -1, 0), "store": (STORE, 9, 7),
    "store in front": (STORE, -3, 0), "buffer": (BUFFER, 8, 7),
    "buffer in front": (BUFFER, -1, 0), "constant": (CONSTANT, 8, 7), "vector": (VECTOR, 5, 4),
}  # fmt: skip


def run(text: str, index: int, folder: Path) -> subprocess.CompletedProcess[str]:
    options = os.environ.get("ASAN_OPTIONS", "")
    kept = [part for part in options.split(":") if part and not part.startswith("log_path")]
    env = {**os.environ, "ASAN_OPTIONS": ":".join([*kept, f"log_path={folder / 'report'}"])}
    paths = [str(Path(__file__).parents[1] / "python"), env.get("PYTHONPATH", "")]
    env["PYTHONPATH"] = os.pathsep.join(paths)
    code = f"{PRELUDE}\nfunction((x, np.array({index})), None)"
    return subprocess.run(
        [sys.executable, "-c", code, text], env=env, capture_output=True, text=True
    )


@pytest.mark.parametrize("name", WRONG)
def test_wrong_accesses(name: str, tmp_path: Path) -> None:
    text, wrong, right = WRONG[name]
    assert run(text, right, tmp_path).returncode == 0
    assert not list(tmp_path.glob("report*"))
    assert run(text, wrong, tmp_path).returncode
    assert "AddressSanitizer" in next(tmp_path.glob("report*")).read_text()
