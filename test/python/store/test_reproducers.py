"""A compilation that fails leaves a file that redfuse-opt fails on, too."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import redfuse
from redfuse import pipelines
from redfuse.store import reproducers


def opt(path: str) -> subprocess.CompletedProcess[str]:
    found = shutil.which("redfuse-opt") or str(
        Path(redfuse.__file__).parent / "_bin" / "redfuse-opt"
    )
    return subprocess.run(
        [found, "--run-reproducer", path], capture_output=True, text=True, check=False
    )


def test_the_file_fails_as_the_compilation_did(
    scale: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = pipelines._words
    monkeypatch.setattr(pipelines, "_words", lambda *given: [*words(*given), "lazy=99"])
    with pytest.warns(redfuse.FusionWarning, match="run-reproducer") as caught:
        redfuse.compile(scale)
    path = re.search(r"--run-reproducer (\S+)", str(caught[0].message))[1]  # type: ignore[index]
    assert Path(path).parent == cache / "reproducers"
    done = opt(path)
    assert done.returncode
    assert "99" in done.stderr


def test_a_program_op_by_op_leaves_one_too(
    scale: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [("prepare", "builtin.module(redfuse-schedule{lazy=99})")]
    monkeypatch.setattr(pipelines, "unfused", lambda: broken)
    with pytest.raises(redfuse.Error, match="run-reproducer") as caught:
        redfuse.compile(scale, options={"fuse": False})
    done = opt(re.search(r"--run-reproducer (\S+)", str(caught.value))[1])  # type: ignore[index]
    assert done.returncode
    assert "99" in done.stderr


def test_schedules_that_were_asked_for_are_in_it(
    scale: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = pipelines._words
    monkeypatch.setattr(pipelines, "_words", lambda *given: [*words(*given), "lazy=99"])
    text = "#redfuse.schedule<resident, grid = [0], tiles = [3, 5]>"
    with pytest.raises(redfuse.Error, match="run-reproducer") as caught:
        redfuse.compile(scale, options={"schedules": [text]})
    path = re.search(r"--run-reproducer (\S+)", str(caught.value))[1]  # type: ignore[index]
    assert f"redfuse.schedules = [{text}]" in Path(path).read_text()
    done = opt(path)
    assert done.returncode
    assert "99" in done.stderr


@pytest.mark.parametrize("target", ["cuda:sm_90a", "rocm:gfx942"])
def test_programs_for_gpus_leave_one_with_their_target(
    scale: str, cache: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    words = pipelines._words
    monkeypatch.setattr(pipelines, "_words", lambda *given: [*words(*given), "lazy=99"])
    with pytest.raises(redfuse.Error, match="run-reproducer") as caught:
        redfuse.compile(scale, target=target)
    path = re.search(r"--run-reproducer (\S+)", str(caught.value))[1]  # type: ignore[index]
    assert f'chip = "{target.partition(":")[2]}"' in Path(path).read_text()
    done = opt(path)
    assert done.returncode
    assert "99" in done.stderr


def test_the_newest_are_kept(cache: Path) -> None:
    paths = [reproducers.write(f"module {{}} // {i}", []) for i in range(25)]
    left = list((cache / "reproducers").iterdir())
    assert len(left) == 20
    assert Path(str(paths[-1])) in left


def test_what_compiles_leaves_none(scale: str, cache: Path) -> None:
    redfuse.compile(scale, options={"cache": False})
    assert not (cache / "reproducers").exists()
