"""What redfuse writes and reads: never half a file, never something else in place of a device, a
pipe or a link, and never a wait for what is no file."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import redfuse
from redfuse.executable import Executable
from redfuse.store import bundle, files
from redfuse.store import cache as cache_module

X = np.arange(15, dtype=np.float32).reshape(3, 5)
Y = np.arange(5, dtype=np.float32)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    path.chmod(0o640)
    files.write(str(path), b"after")
    assert path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path, exists: bool) -> None:
    target, link = tmp_path / "elsewhere" / "target", tmp_path / "link"
    target.parent.mkdir()
    if exists:
        target.write_bytes(b"before")
    (tmp_path / "between").symlink_to("elsewhere/target")
    link.symlink_to(tmp_path / "between")
    files.write(str(link), b"after")
    assert link.is_symlink()
    assert (tmp_path / "between").is_symlink()
    assert target.read_bytes() == b"after"
    assert names(target.parent) == ["target"]


def test_a_device_is_written_through(tmp_path: Path) -> None:
    before = os.stat("/dev/null")
    null = tmp_path / "null"  # of our own: a mistake here shall not cost the machine's
    try:
        os.mknod(null, 0o666 | stat.S_IFCHR, before.st_rdev)
    except PermissionError:
        null.symlink_to("/dev/null")
    files.write(str(null), b"data")
    assert stat.S_ISCHR(os.stat(null).st_mode)
    assert os.stat(null).st_rdev == before.st_rdev


def drained(path: Path) -> Callable[[], bytes]:
    """Reads a pipe in another thread; the function returned waits for the bytes."""
    got: list[bytes] = []
    thread = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    thread.start()

    def finish() -> bytes:
        thread.join(60)
        return got[0]

    return finish


def test_everything_writes_through_a_pipe(scale: str, tmp_path: Path) -> None:
    """Bundles, states and the command's results: more than a pipe holds at once."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    exe = redfuse.compile(scale)
    finish = drained(pipe)
    exe.save(pipe)
    data = finish()
    assert data == bundle.encode(exe)
    np.testing.assert_array_equal(Executable.of_bundle(data, "pipe")(X, Y), X * Y)
    state = redfuse.State("f", ("n",), (np.arange(100000.0),), None, None)
    finish = drained(pipe)
    state.save(pipe)
    assert redfuse.State.from_bytes(finish()).unstreamed[0][-1] == 99999
    program = tmp_path / "scale.mlir"
    program.write_text(scale)
    finish = drained(pipe)
    command = [sys.executable, "-m", "redfuse.cli", "run", program, "--save", pipe]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    assert finish().startswith(b"PK")
    finish = drained(pipe)
    command = [sys.executable, "-m", "redfuse.cli", "compile", program, "-o", pipe]
    told = subprocess.run(command, check=True, timeout=300, capture_output=True, text=True).stderr
    assert told.endswith(f", {len(finish())} bytes\n")
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)
    assert names(tmp_path) == ["pipe", "scale.mlir"]


def test_standard_output_is_a_file(scale: str, tmp_path: Path) -> None:
    program, out = tmp_path / "scale.mlir", tmp_path / "out"
    program.write_text(scale)
    command = [sys.executable, "-m", "redfuse.cli", "compile", program, "-o", "/dev/stdout"]
    with out.open("wb") as file:
        file.write(b"before\n")
        file.flush()
        subprocess.run(command, check=True, timeout=300, stdout=file, stderr=subprocess.DEVNULL)
    data = out.read_bytes()
    assert data.startswith(b"before\n")
    Executable.of_bundle(data.removeprefix(b"before\n"), "out")


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda path: path.mkdir(), "it is a folder"),
        (lambda path: path.symlink_to(path), "Too many levels"),
        (lambda path: path.symlink_to("/dev/full"), "No space left"),
    ],
)
def test_what_cannot_be_written(
    scale: str, tmp_path: Path, made: Callable[[Path], None], words: str
) -> None:
    path = tmp_path / "path"
    made(path)
    with pytest.raises(redfuse.CacheError, match=f"cannot write .*path: .*{words}"):
        redfuse.compile(scale).save(path)
    assert names(tmp_path) == ["path"]


def test_nothing_is_left_of_what_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    for function in ("fsync", "replace"):
        monkeypatch.setattr(os, function, interrupted)
        with pytest.raises(KeyboardInterrupt):
            files.write(str(path), b"after")
        monkeypatch.undo()
    assert names(tmp_path) == ["file"]
    assert path.read_bytes() == b"before"


def test_what_has_no_end_is_not_read() -> None:
    with pytest.raises(redfuse.CacheError, match="expected at most"):
        redfuse.load("/dev/zero")
    with pytest.raises(redfuse.ArgumentError, match="expected at most"):
        redfuse.compile("/dev/zero")


def test_a_program_from_a_pipe(scale: str, tmp_path: Path) -> None:
    """What cannot be read twice is read once."""
    np.savez(tmp_path / "in.npz", in0=X, in1=Y, out0=X * Y)
    line = (
        f'"{sys.executable}" -m redfuse.cli run <(cat) --inputs <(cat "{tmp_path}/in.npz") --check'
    )
    done = subprocess.run(
        ["bash", "-c", line], input=scale, text=True, capture_output=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "ok" in done.stdout


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def circle(path: Path) -> None:
    path.symlink_to(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 42)


def strangers(path: Path) -> None:
    path.write_bytes(b"")
    os.chown(path, 12345, 12345)


KINDS = [pipe, folder, circle, endless, huge]
if os.geteuid() == 0:
    KINDS.append(strangers)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [cache_module.SUFFIX, cache_module.SPELLING])
@pytest.mark.sample(3)
def test_what_is_no_file_in_the_cache(
    scale: str, cache: Path, suffix: str, kind: Callable[[Path], None]
) -> None:
    """Reported, and compiled again; nothing waits for it."""
    redfuse.compile(scale)
    (entry,) = cache.glob(f"*{suffix}")
    entry.unlink()
    kind(entry)
    cache_module._warned.clear()
    if suffix == cache_module.SUFFIX:
        with pytest.warns(redfuse.CacheWarning, match="compiling again"):
            exe = redfuse.compile(scale)
    else:
        exe = redfuse.compile(scale)
    np.testing.assert_array_equal(exe(X, Y), X * Y)
    if kind is not folder:  # which holds what only its owner may remove
        assert stat.S_ISREG(entry.lstat().st_mode)
        assert redfuse.compile(scale).compile_seconds == 0
    for arguments in (["list"], ["clear"], ["list"]):
        command = [sys.executable, "-m", "redfuse.cli", "cache", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_in_the_tuned_results(
    scale: str, cache: Path, kind: Callable[[Path], None]
) -> None:
    from redfuse.frontends.mlir import read
    from redfuse.options import Options
    from redfuse.tuning import store

    path = store.path(read(scale), Options(), "cpu")
    assert path is not None
    os.makedirs(os.path.dirname(path))
    kind(Path(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", redfuse.CacheWarning)
        exe = redfuse.compile(scale)
    np.testing.assert_array_equal(exe(X, Y), X * Y)
