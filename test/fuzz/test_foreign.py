"""Other projects' programs through the passes and the compiler: how files are taken apart, and what the table says."""

from __future__ import annotations

import sys
from pathlib import Path

import foreign
import pytest

FILE = """
// RUN: other-opt %s
#map = affine_map<(d0) -> (d0)>

func.func @doubled(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>  // a brace in a comment: }
  return %y : tensor<4xf32>
}

func.func private @declared(tensor<4xf32>)

// -----

func.func @foreign(%x: tensor<4xf32>) -> tensor<4xf32> attributes {other.name = "}"} {
  %y = "other.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

func.func @scalar(%x: f32) -> f32 {
  return %x : f32
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With one file."""
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "other.mlir").write_text(FILE)
    return tmp_path / "inputs"


def test_functions_come_with_what_they_need(folder: Path) -> None:
    """Each with the aliases of its part and the functions that it calls; those without tensors and
    those without bodies are left out."""
    found = list(foreign.programs(folder))
    assert [(where, name) for where, name, _ in found] == [
        ("other.mlir:0", "doubled"), ("other.mlir:0", "twice"), ("other.mlir:1", "foreign"),
    ]  # fmt: skip
    doubled = found[0][2]
    assert "#map = " in doubled
    assert "func.func private @twice" in doubled
    assert "@declared" not in doubled
    assert found[2][2].rstrip().endswith("}")


def test_every_pass_is_tried() -> None:
    """Those that are declared by a class of passes, too."""
    assert {"redfuse-derive", "redfuse-normalize-selections"} <= set(foreign.passes())


def test_the_table_counts_outcomes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    """What compiles, and what is no MLIR that is known here; nothing breaks."""
    out = tmp_path / "record.json"
    words = ["tools/dev foreign", str(folder), "--jobs", "1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", words)
    assert foreign.main() == 0
    told = capsys.readouterr().out
    assert "| 2 | fused: compiled |" in told
    assert "| 1 | parse: not MLIR that is known here |" in told
    assert "3 functions, 0 that crash, hang or end in a raw error" in told
    assert out.exists()


def test_no_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["tools/dev foreign", str(tmp_path / "none")])
    with pytest.raises(SystemExit, match="is no folder"):
        foreign.main()
