"""What the cache takes for the same program: spellings, and what they must not share."""

import re
import time
from pathlib import Path

import numpy as np
import pytest
import redfuse
from redfuse.bench import programs
from redfuse.compiler import canonical
from redfuse.frontends.mlir import read
from redfuse.options import Options
from redfuse.store import bundle
from redfuse.store import cache as cache_module

PROGRAM = """
#rows = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %init = tensor.empty() : tensor<4xf32>
  %from = linalg.fill ins(%zero : f32) outs(%init : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%from : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %next = arith.addf %in, %out : f32
    linalg.yield %next : f32
  } -> tensor<4xf32>
  return %sum : tensor<4xf32>
}
"""
# Other names, aliases, blank lines, a comment, positions, a helper that is inlined.
SPELLED = """
// The same.
module @other {
  func.func private @helper(%arg: f32, %b: f32) -> f32 {
    %r = arith.addf %arg, %b : f32
    return %r : f32
  }
  func.func private @unused(%arg: f32) -> f32 { return %arg : f32 }

  func.func @main(%0: tensor<4x8xf32>) -> tensor<4xf32> {
    %c = arith.constant 0.000000e+00 : f32 loc("here")
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %s = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%0 : tensor<4x8xf32>) outs(%f : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %n = func.call @helper(%a, %b) : (f32, f32) -> f32
      linalg.yield %n : f32
    } -> tensor<4xf32>
    return %s : tensor<4xf32>
  }
}
"""


def entries(cache: Path) -> int:
    return len(list(cache.glob("*.rfb")))


def text_of(source: str) -> str:
    return canonical(read(source), Options())


def test_spellings_share_an_entry(cache: Path) -> None:
    first = redfuse.compile(PROGRAM)
    second = redfuse.compile(SPELLED)
    assert (first.compile_seconds > 0, second.compile_seconds) == (True, 0)
    assert entries(cache) == 1 and len(list(cache.glob("*.key"))) == 2
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    np.testing.assert_array_equal(second(x), x.sum(1))
    # Once more, by the spelling alone.
    assert redfuse.compile(SPELLED).compile_seconds == 0
    assert "loc(" not in text_of(SPELLED) and "helper" not in text_of(SPELLED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("arith.addf", "arith.maximumf"),
        ("0.0 : f32", "1.0 : f32"),
        ("4x8x", "4x9x"),
        ("@main", "@start"),
        ("arith.constant 0.0", "arith.constant {note} 0.0"),
    ],
)
def test_other_programs_do_not(cache: Path, old: str, new: str) -> None:
    assert text_of(PROGRAM) != text_of(PROGRAM.replace(old, new))


def test_data_of_constants_counts() -> None:
    """Also that which is in no attribute, and long lists."""
    text = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %c = arith.constant dense_resource<blob> : tensor<2xf32>
      %s = arith.addf %x, %c : tensor<2xf32>
      return %s : tensor<2xf32>
    }
    {-# dialect_resources: { builtin: { blob: "0x040000000000803F0000803F" } } #-}
    """
    assert text_of(text) != text_of(text.replace("0x040000000000803F", "0x0400000000000040"))
    values = ", ".join(str(float(n)) for n in range(200))
    text = f"""
    func.func @main(%x: tensor<200xf32>) -> tensor<200xf32> {{
      %c = arith.constant dense<[{values}]> : tensor<200xf32>
      %s = arith.addf %x, %c : tensor<200xf32>
      return %s : tensor<200xf32>
    }}
    """
    assert text_of(text) != text_of(text.replace("150.0", "150.5"))


def test_explanations_name_the_positions_of_the_caller(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.mlir"
    text = programs.softmax(4, 256, "f32")
    path.write_text(text)
    first = redfuse.compile(path)
    moved = tmp_path / "q.mlir"
    moved.write_text("\n\n\n" + text)
    second = redfuse.compile(moved)
    assert second.compile_seconds == 0
    lines = [re.findall(r"[pq]\.mlir:(\d+)", str(exe.explanation)) for exe in (first, second)]
    assert lines[0] and [int(n) + 3 for n in lines[0]] == [int(n) for n in lines[1]]
    assert "q.mlir" in second.explain() and "p.mlir" not in second.explain()


def test_messages_name_the_positions_of_the_caller(cache: Path, tmp_path: Path) -> None:
    """Of checks of dynamic extents, which the code holds: such spellings do not share an entry."""
    text = """
    func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
      %s = linalg.add ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%o : tensor<?xf32>)
          -> tensor<?xf32>
      return %s : tensor<?xf32>
    }
    """
    for name, lines, count in (("p.mlir", "", 1), ("q.mlir", "\n\n", 2)):
        path = tmp_path / name
        path.write_text(lines + text)
        exe = redfuse.compile(path)
        assert entries(cache) == count
        a, b = np.zeros(3, np.float32), np.zeros(4, np.float32)
        with pytest.raises(redfuse.ExecutionError, match=name):
            exe(a, b, a)


def test_finding_is_fast(cache: Path) -> None:
    source = programs.attention(1, 2, 64, 64, 32, "f32", 2, "causal")
    redfuse.compile(source)
    spelled = source.replace("%0", "%first")

    def best(text: str, forget: bool) -> float:
        least = 1.0
        for _ in range(10):
            if forget:
                for path in cache.glob("*.key"):
                    path.unlink()
            start = time.perf_counter()
            assert redfuse.compile(text).compile_seconds == 0
            least = min(least, time.perf_counter() - start)
        return least

    known, new = best(source, False), best(spelled, True)
    print(f"{known * 1e3:.1f} ms, a new spelling {new * 1e3:.1f} ms")
    assert known < 0.02 and new < 0.1


def test_what_points_nowhere_is_not_followed(cache: Path) -> None:
    redfuse.compile(PROGRAM)
    (spelling,) = cache.glob("*.key")
    for text in (b"", b"no key", b"\xff\xfe", b"../../x" * 6, b"0" * 40):
        spelling.write_bytes(text)
        assert redfuse.compile(PROGRAM).compile_seconds == 0
        assert re.fullmatch("[0-9a-f]{40}", spelling.read_text())
    assert cache_module.clear() == 1
    assert not list(cache.iterdir())


def test_lists_say_what_is_damaged(cache: Path) -> None:
    redfuse.compile(PROGRAM)
    (entry,) = cache_module.entries()
    assert bundle.describe(entry.path) == "main for cpu, from -"
    data = Path(entry.path).read_bytes()
    other = cache / "other.rfb"
    for damaged in (b"", b"RFB", data[:20], b"x" * 100, data[:8] + b"\xff" * 8 + data[16:]):
        other.write_bytes(damaged)
        assert bundle.describe(str(other)) == "damaged"
    assert bundle.describe(str(cache / "none.rfb")) == "damaged"
