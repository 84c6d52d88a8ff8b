"""Bundles and the cache: what is saved comes back, and what is damaged or foreign is refused."""

import hashlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import redfuse
from redfuse.store import cache as cache_module
from redfuse.store import files

X = np.arange(15, dtype=np.float32).reshape(3, 5)
Y = np.arange(5, dtype=np.float32)
PLAIN = {"fuse": False, "cache": False}


@pytest.fixture
def saved(scale: str, tmp_path: Path) -> Path:
    path = tmp_path / "scale.rfb"
    redfuse.compile(scale, options=PLAIN).save(path)
    return path


def test_save_and_load(saved: Path) -> None:
    exe = redfuse.load(saved)
    np.testing.assert_array_equal(exe(X, Y), X * Y)
    assert exe.explain(json=True) == {"kernels": [], "refused": []}
    assert "linalg.generic" in exe.ir["source"]
    assert not [name for name in os.listdir(saved.parent) if name.startswith(".")]


def test_load_in_another_process(saved: Path) -> None:
    code = (
        "import sys, redfuse, numpy as np\n"
        "exe = redfuse.load(sys.argv[1])\n"
        "print(exe(np.full((3, 5), 2, np.float32), np.full(5, 3, np.float32)).sum())\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, saved], capture_output=True, text=True, check=True
    )
    assert float(out.stdout) == 90.0


@pytest.mark.parametrize("length", [0, 1, 7, 8, 15, 16, 40, 200, -33, -1])
def test_truncated(saved: Path, length: int) -> None:
    saved.write_bytes(saved.read_bytes()[:length])
    with pytest.raises(redfuse.CacheError, match=r"truncated|not a redfuse bundle|format"):
        redfuse.load(saved)


@pytest.mark.parametrize("at", [9, 20, 300, -100, -5])
def test_one_byte_changed(saved: Path, at: int) -> None:
    data = bytearray(saved.read_bytes())
    data[at] ^= 1
    saved.write_bytes(data)
    with pytest.raises(redfuse.CacheError, match=r"damaged|truncated"):
        redfuse.load(saved)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 a zip", b"\x7fELF" + bytes(100), b"REDFUSE\x04" + bytes(100)]
)
def test_foreign_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.rfb"
    path.write_bytes(content)
    with pytest.raises(redfuse.CacheError):
        redfuse.load(path)


def change_header(path: Path, **changes: object) -> None:
    """Rewrites fields of the header, with a checksum that is right."""
    data = path.read_bytes()
    length = int.from_bytes(data[8:16], "little")
    header = {**json.loads(data[16 : 16 + length]), **changes}
    text = json.dumps(header).encode()
    body = data[:8] + len(text).to_bytes(8, "little") + text + data[16 + length : -32]
    path.write_bytes(body + hashlib.sha256(body).digest())


def test_another_version(saved: Path) -> None:
    change_header(saved, version="0.0.1")
    with pytest.raises(redfuse.CacheError, match=r"made by redfuse 0\.0\.1"):
        redfuse.load(saved)


def test_another_machine(saved: Path) -> None:
    change_header(saved, host="aarch64-linux/neoverse/0")
    with pytest.raises(redfuse.TargetError, match="neoverse"):
        redfuse.load(saved)
    change_header(saved, target="cuda:sm_90a")
    with pytest.raises(redfuse.TargetError, match="sm_90a"):
        redfuse.load(saved)


def test_a_header_without_its_fields(saved: Path) -> None:
    change_header(saved, signature={})
    with pytest.raises(redfuse.CacheError, match="damaged"):
        redfuse.load(saved)


def test_code_that_is_no_code(saved: Path) -> None:
    data = saved.read_bytes()
    length = int.from_bytes(data[8:16], "little")
    code = data[16 + length : -32]
    body = data[: 16 + length] + bytes(len(code))
    saved.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(redfuse.CacheError, match="code"):
        redfuse.load(saved)


def test_missing_and_unwritable(scale: str, saved: Path, tmp_path: Path) -> None:
    with pytest.raises(redfuse.CacheError, match="No such file"):
        redfuse.load(tmp_path / "nothing.rfb")
    exe = redfuse.load(saved)
    with pytest.raises(redfuse.CacheError, match="cannot write"):
        exe.save(tmp_path / "no" / "folder.rfb")
    with pytest.raises(redfuse.CacheError, match="cannot write"):
        exe.save(tmp_path)


def test_a_failed_save_keeps_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()
    exe = redfuse.load(saved)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(redfuse.CacheError, match="No space left"):
        exe.save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_the_cache_is_used(scale: str, cache: Path) -> None:
    options = {"fuse": False}
    first = redfuse.compile(scale, options=options)
    assert len(cache_module.entries()) == 1
    assert first.compile_seconds > 0
    second = redfuse.compile(scale, options=options)
    assert second.compile_seconds == 0
    np.testing.assert_array_equal(second(X, Y), X * Y)
    redfuse.compile(scale, options={**options, "opt_level": 1})
    redfuse.compile(scale.replace("mulf", "addf"), options=options)
    assert len(cache_module.entries()) == 3
    redfuse.compile(scale, options={**options, "cache": False})
    assert len(cache_module.entries()) == 3
    assert cache_module.clear() == 3
    assert cache_module.entries() == []


def test_a_damaged_entry_is_reported_and_made_again(scale: str, cache: Path) -> None:
    options = {"fuse": False}
    redfuse.compile(scale, options=options)
    (entry,) = cache_module.entries()
    Path(entry.path).write_bytes(Path(entry.path).read_bytes()[:-7])
    with pytest.warns(redfuse.CacheWarning, match="compiling again"):
        exe = redfuse.compile(scale, options=options)
    np.testing.assert_array_equal(exe(X, Y), X * Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert redfuse.compile(scale, options=options).compile_seconds == 0


def test_a_cache_that_cannot_be_written(
    scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    monkeypatch.setenv("REDFUSE_CACHE_DIR", str(in_the_way / "cache"))
    with pytest.warns(redfuse.CacheWarning, match="REDFUSE_CACHE_DIR"):
        exe = redfuse.compile(scale, options={"fuse": False})
    np.testing.assert_array_equal(exe(X, Y), X * Y)
    monkeypatch.setenv("REDFUSE_CACHE_DIR", str(in_the_way))
    with pytest.raises(redfuse.CacheError, match="cannot read the cache"):
        cache_module.entries()


def test_the_oldest_entries_go(scale: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "MAX_BYTES", 1)
    for op in ("mulf", "addf", "subf"):
        redfuse.compile(scale.replace("mulf", op), options={"fuse": False})
    assert len(cache_module.entries()) == 1


def test_format_is_in_the_magic(saved: Path) -> None:
    assert saved.read_bytes()[:8] == files.MAGIC
