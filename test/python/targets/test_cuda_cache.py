"""Programs for GPUs on disk: bundles of one architecture and of several, the cache, what ptxas
says."""

import logging
import multiprocessing
import time
import warnings
from pathlib import Path

import pytest
import redfuse
from processor import slowness
from redfuse.bench import programs
from redfuse.store import cache as cache_module
from redfuse.targets import cuda

ONE = "cuda:sm_90a"
ALL = "cuda:sm_80,sm_90a,sm_100a"
SOFTMAX = programs.softmax(4, 256, "f32")


def same(one: redfuse.Executable, other: redfuse.Executable) -> None:
    assert one.target == other.target
    assert str(one.signature) == str(other.signature)
    assert one.variants == other.variants
    assert one.explanation == other.explanation


@pytest.mark.parametrize("target", [ONE, ALL])
def test_a_bundle(tmp_path: Path, target: str) -> None:
    exe = redfuse.compile(SOFTMAX, target=target, options={"cache": False})
    chips = target.partition(":")[2].split(",")
    assert [variant.chip for variant in exe.variants] == chips
    for variant, chip in zip(exe.variants, chips, strict=True):
        assert f".target {chip}".encode() in variant.images[-1][1]
        assert [image[0] for image in variant.images] == [chip] * len(variant.images)
    path = tmp_path / "p.rfb"
    exe.save(path)
    same(exe, redfuse.load(path))
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)
    with pytest.raises(redfuse.CacheError, match="checksum"):
        redfuse.load(path)


def test_targets_of_several_architectures() -> None:
    assert cuda.resolve("cuda:sm_80,sm_90a,sm_80") == "cuda:sm_80,sm_90a"
    with pytest.raises(redfuse.TargetError, match="sm_70"):
        cuda.resolve("cuda:sm_80,sm_70")
    exe = redfuse.compile(SOFTMAX, target="cuda:sm_80,sm_90a", options={"cache": False})
    assert ".target sm_80" in exe.asm and ".target sm_90a" in exe.asm


def test_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second compilation reads a file; another ptxas, target or option is another entry."""
    first = redfuse.compile(SOFTMAX, target=ONE)
    assert first.compile_seconds > 0
    second = redfuse.compile(SOFTMAX, target=ONE)
    assert second.compile_seconds == 0
    same(first, second)
    assert len(list(cache.glob("*.rfb"))) == 1
    redfuse.compile(SOFTMAX, target="cuda:sm_80")
    redfuse.compile(SOFTMAX, target=ONE, options={"opt_level": 2})
    assert len(list(cache.glob("*.rfb"))) == 3
    before = cache_module.key("func", first.options, ONE)
    monkeypatch.setenv("REDFUSE_PTXAS", "/no/such/ptxas")
    assert cache_module.key("func", first.options, ONE) != before
    assert not list(cache.glob(".redfuse-*"))


def test_loads_are_fast(cache: Path) -> None:
    source = (Path(__file__).parents[2] / "e2e" / "corpus" / "attention_causal.mlir").read_text()
    redfuse.compile(source, target=ONE)
    best = 1.0
    for _ in range(20):
        start = time.perf_counter()
        redfuse.compile(source, target=ONE)
        best = min(best, time.perf_counter() - start)
    print(f"{best * 1e3:.1f} ms")
    assert best < 0.02 * slowness()


def test_a_line_of_log(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    """When something is compiled, and only then."""
    with caplog.at_level(logging.INFO, logger="redfuse"):
        redfuse.compile(SOFTMAX, target=ONE)
        redfuse.compile(SOFTMAX, target=ONE)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(f"compiled main from - for {ONE} in ")


def _compile(folder: str, number: int, out: multiprocessing.Queue) -> None:
    import os

    os.environ["REDFUSE_CACHE_DIR"] = folder
    out.put(redfuse.compile(SOFTMAX, target=ONE).compile_seconds > 0)


def test_processes_compile_once(cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    started = [context.Process(target=_compile, args=(str(cache), n, out)) for n in range(3)]
    for process in started:
        process.start()
    compiled = [out.get(timeout=120) for _ in started]
    for process in started:
        process.join()
    assert sum(compiled) == 1


def ptxas_that_says(folder: Path, text: str) -> str:
    """A program that behaves like ptxas."""
    path = folder / "ptxas"
    path.write_text(
        '#!/bin/sh\nfor last; do :; done\ncase $last in -*) ;; *) printf "\\177ELF" > "$last";; esac\n'
        f"cat >&2 <<'END'\n{text}\nEND\n"
    )
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
            "    0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
            "ptxas info    : Used 255 registers",
            "k: 20 bytes of registers are spilled",
        ),
        ("ptxas warning : Value of threads per SM is out of range", "out of range"),
        (
            "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
            "serialized",
            "serialized",
        ),
    ],
)
def test_what_ptxas_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.setenv("REDFUSE_PTXAS", ptxas_that_says(tmp_path, text))
    with pytest.warns(redfuse.CodeWarning, match=message):
        cuda.images(b".version 8.0\0", "sm_90a")


def test_a_quiet_ptxas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDFUSE_PTXAS", ptxas_that_says(tmp_path, "ptxas info : Used 24 registers"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        images, _ = cuda.images(b".version 8.0\0", "sm_90a")
    assert images[0][1] == b"\x7fELF"


LINKER = """
#include <stdint.h>
#include <string.h>
int __nvJitLinkCreate_13_0(void **h, uint32_t n, const char **options) {
  *h = (void *)1;
  return n != 3 || strcmp(options[0], "-arch=sm_90a");
}
int __nvJitLinkDestroy_13_0(void **h) { return 0; }
int __nvJitLinkAddData_13_0(void *h, int kind, const char *data, size_t size, const char *name) {
  return kind != 2 || data[size - 1] || strstr(data, "garbage") != 0;
}
int __nvJitLinkComplete_13_0(void *h) { return 0; }
int __nvJitLinkGetLinkedCubinSize_13_0(void *h, size_t *n) { *n = 4; return 0; }
int __nvJitLinkGetLinkedCubin_13_0(void *h, char *out) { memcpy(out, "\177ELF", 4); return 0; }
static const char *info = "ptxas info : Compiling entry function 'k' for 'sm_90a'\\n"
  "ptxas info : Used 47 registers\\ninfo : Function properties for 'k':\\n";
int __nvJitLinkGetInfoLogSize_13_0(void *h, size_t *n) { *n = strlen(info) + 1; return 0; }
int __nvJitLinkGetInfoLog_13_0(void *h, char *out) { strcpy(out, info); return 0; }
int __nvJitLinkGetErrorLogSize_13_0(void *h, size_t *n) { *n = 9; return 0; }
int __nvJitLinkGetErrorLog_13_0(void *h, char *out) { strcpy(out, "bad PTX!"); return 0; }
"""


def test_nvjitlink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no ptxas."""
    import subprocess

    (tmp_path / "link.c").write_text(LINKER)
    library = tmp_path / "libnvJitLink.so.13"
    command = ["cc", "-shared", "-fPIC", "-o", library, tmp_path / "link.c"]
    subprocess.run(list(map(str, command)), check=True)
    monkeypatch.setattr(cuda, "find_ptxas", lambda: None)
    monkeypatch.setenv("REDFUSE_NVJITLINK", str(library))
    assert cuda.assembler() == str(library)
    images, resources = cuda.images(b".version 8.0\0", "sm_90a")
    assert images[0] == ("sm_90a", b"\x7fELF")
    assert resources == [cuda.Resources("k", 47, 0, 0, 0)]
    with pytest.raises(redfuse.CompileError, match="bad PTX!"):
        cuda.images(b"garbage", "sm_90a")
    with pytest.raises(redfuse.CompileError, match="does not know sm_80"):
        cuda.images(b".version 8.0\0", "sm_80")
    monkeypatch.setenv("REDFUSE_NVJITLINK", "/no/such/library")
    with pytest.raises(redfuse.CompileError, match="does not load"):
        cuda.images(b".version 8.0\0", "sm_90a")
