"""Packs the compiler and its tests for a machine with a GPU, Python 3.10 to 3.14 and no network.

Archives: ``base`` holds MLIR and LLVM and changes with their versions only, ``redfuse`` the
project, ``tests`` what runs there. ``setup.sh`` unpacks them, ``run.sh`` runs
test/hardware/main.py.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

from .setup import Venv
from .shell import BUILD, ROOT, DevError, output, say, step

GPU = ROOT / "build" / "gpu"
BINDINGS = "xtc-mlir-python-bindings"
# The folder of the extension module's objects in the build.
EXTENSION = "_ext.dir"
# Modules of dialects that the project does not touch, 1.4 MB each.
UNUSED = ("AMDGPU", "NVGPU", "PDL", "Quant", "SMT", "SparseTensor")
TESTS = ("test/hardware", "test/fuzz", "test/e2e/corpus", "examples")
SETUP = """\
# `source` this on the other machine: unpacks the archives and sets PYTHONPATH and PATH.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
site=${REDFUSE_SITE:-/tmp/redfuse-site}
mkdir -p "$site"
for part in base redfuse tests; do
  [ -f "$here/$part.tar.xz" ] || continue
  stamp=$(sha256sum "$here/$part.tar.xz" | cut -c1-16)
  if [ "$(cat "$site/.$part" 2>/dev/null)" != "$stamp" ]; then
    tar -C "$site" -xf "$here/$part.tar.xz" && echo "$stamp" >"$site/.$part"
  fi
done
export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH} PATH=$site/redfuse/_bin:$PATH
export REDFUSE_COMMIT=COMMIT
"""
RUN = """\
#!/usr/bin/env bash
# Unpacks and runs the tests and benchmarks: run.sh [--out FOLDER] [--budget SECONDS] [STEP...]
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
tests=$site/test
[ -f "$here/tests.tar.xz" ] || tests=$(pwd)/test
exec python3 "$tests/hardware/main.py" "$@"
"""


def pack(venv: Venv, out: Path, version: str, tests: bool) -> None:
    """Writes the archives and scripts to ``out``, for Python ``version`` ("3.12")."""
    out.mkdir(parents=True, exist_ok=True)
    _pack_base(venv, out, version)
    _pack_redfuse(venv, out, version)
    (out / "tests.tar.xz").unlink(missing_ok=True)
    if tests:
        _pack_tests(out)
    commit = output(["git", "describe", "--always", "--dirty", "--abbrev=12"]).strip()
    (out / "setup.sh").write_text(SETUP.replace("=COMMIT", f"={shlex.quote(commit)}"))
    (out / "run.sh").write_text(RUN)
    (out / "run.sh").chmod(0o755)


def own_version(venv: Venv) -> str:
    """The Python of the build, as "3.11"."""
    return venv.site.parent.name.removeprefix("python")


def _archive(folder: Path, target: Path, preset: int) -> None:
    """``folder``'s contents as a .tar.xz. The x86 filter makes machine code a tenth smaller."""
    filters = [
        {"id": lzma.FILTER_X86},
        {"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": 1 << 26},
    ]
    part = target.with_suffix(".part")
    check = lzma.CHECK_CRC64
    with (
        lzma.open(part, "wb", filters=filters, check=check) as file,
        tarfile.open(fileobj=file, mode="w|") as archive,
    ):
        for path in sorted(folder.iterdir()):
            archive.add(path, arcname=path.name)
    part.rename(target)


def _strip(folder: Path) -> None:
    if not shutil.which("strip"):
        raise DevError("strip (of binutils) is not on PATH")
    for path in folder.rglob("*.so"):
        subprocess.run(["strip", "--strip-unneeded", str(path)], check=True)


# ---- MLIR and LLVM ------------------------------------------------------------------------------


def _pack_base(venv: Venv, out: Path, version: str) -> None:
    libraries = [
        venv.site / "mlir/_mlir_libs/libMLIRPythonCAPI.so",
        venv.site / "llvm/lib/libLLVM.so",
    ]
    sizes = [f"{path.name} {path.stat().st_size}" for path in libraries]
    key = hashlib.sha256(f"{version} {sizes} {UNUSED} x86".encode()).hexdigest()[:16]
    cached = GPU / f"base-{version}-{key}.tar.xz"
    if not cached.exists():
        say("gpu: packing MLIR and LLVM (some minutes, once)")
        GPU.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder) / "site"
            bindings = venv.site / "mlir"
            if version != own_version(venv):
                bindings = _download_bindings(venv, Path(folder), version)
            ignore = shutil.ignore_patterns(
                "__pycache__", "include", "bin", "lib", "src",
                *(f"_mlirDialects{name}.*" for name in UNUSED),
            )  # fmt: skip
            shutil.copytree(bindings, site / "mlir", ignore=ignore)
            (site / "llvm/lib").mkdir(parents=True)
            shutil.copy(libraries[1], site / "llvm/lib")
            _strip(site)
            _archive(site, cached, preset=6)
    shutil.copy(cached, out / "base.tar.xz")


def _download_bindings(venv: Venv, folder: Path, version: str) -> Path:
    """MLIR's bindings for another Python: that Python need not be here."""
    pins = [pin for pin in venv.requirements("base") if pin.startswith(BINDINGS)]
    platforms = [f"--platform=manylinux_2_{n}_x86_64" for n in (17, 27, 28)]
    command = [
        *(venv.python, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"),
        *(f"--python-version={version}", "--implementation=cp", *platforms, "-d", folder, *pins),
    ]
    step(f"fetching MLIR's bindings for Python {version}", command, log="gpu-bindings.log")
    wheel = next(folder.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "wheel")
    return folder / "wheel" / "mlir"


# ---- the project --------------------------------------------------------------------------------


def _pack_redfuse(venv: Venv, out: Path, version: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder)
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "python" / "redfuse", site / "redfuse", ignore=ignore)
        # Installed libraries find MLIR beside them, those of the build tree by absolute paths.
        install = [venv.tool("cmake"), "--install", BUILD, "--component", "redfuse"]
        output([*install, "--prefix", site / "redfuse"])
        if version != own_version(venv):
            for path in (site / "redfuse").glob("_ext.*.so"):
                path.unlink()
            extension = _extension(venv, version)
            shutil.copy(extension, site / "redfuse" / extension.name)
        _strip(site)
        _archive(site, out / "redfuse.tar.xz", preset=6)


def find_python(version: str) -> str:
    """A Python of that version with its headers, on PATH or of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))]
    for python in filter(None, found):
        code = "import sys; print(*sys.version_info[:2], sep='.')"
        done = subprocess.run([str(python), "-c", code], capture_output=True, text=True)
        if done.stdout.strip() == version and (_include(str(python)) / "Python.h").exists():
            return str(python)
    raise DevError(
        f"no Python {version} with headers found on PATH or in {pyenv}: install it (python3-dev), "
        "or pack for another version with --python"
    )


def _include(python: str | Path) -> Path:
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    return Path(output([python, "-c", code]).strip())


def _extension(venv: Venv, version: str) -> Path:
    """The extension module for another Python: the build's compiler calls with its headers."""
    python = find_python(version)
    code = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"
    suffix = output([python, "-c", code]).strip()
    sources = sorted((ROOT / "python" / "src").iterdir())
    sources += sorted((ROOT / "include" / "redfuse-c").iterdir())
    digest = hashlib.sha256(suffix.encode())
    for source in sources:
        digest.update(source.read_bytes())
    folder = GPU / f"ext-{version}-{digest.hexdigest()[:16]}"
    target = folder / f"_ext{suffix}"
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    old, new = str(_include(venv.python)), str(_include(python))
    objects, compilations = [], []
    for entry in commands:
        words = [new if word == old else word for word in shlex.split(entry["command"])]
        at = words.index("-o") + 1
        made = Path(words[at])
        if EXTENSION not in made.parts:
            continue
        objects.append(folder / made.name)
        words[at] = str(objects[-1])
        compilations.append((words, entry["directory"]))
    say(f"gpu: compiling the extension module for Python {version}")
    running = [subprocess.Popen(words, cwd=place) for words, place in compilations]
    codes = [process.wait() for process in running]
    if any(codes):
        raise DevError(f"the extension module does not compile for Python {version}")
    mlir = venv.site / "mlir" / "_mlir_libs"
    libraries = (BUILD / "python" / "redfuse" / "_lib", mlir)
    output([
        compilations[0][0][0], "-shared", *objects, *(f"-L{path}" for path in libraries),
        "-lRedfuse", "-lMLIRPythonCAPI", f"-Wl,-rpath-link,{venv.site / 'llvm' / 'lib'}",
        "-Wl,-rpath,$ORIGIN/_lib:$ORIGIN/../mlir/_mlir_libs:$ORIGIN/../llvm/lib",
        "-o", folder / "part.so",
    ])  # fmt: skip
    (folder / "part.so").rename(target)
    return target


def _pack_tests(out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ignore = shutil.ignore_patterns("__pycache__")
        for name in TESTS:
            shutil.copytree(ROOT / name, Path(folder) / name, ignore=ignore)
        _archive(Path(folder), out / "tests.tar.xz", preset=6)


def size_text(out: Path) -> str:
    """The archives' sizes."""
    parts = [f"{p.name} {p.stat().st_size / 2**20:.1f}" for p in sorted(out.glob("*.tar.xz"))]
    total = sum(path.stat().st_size for path in out.iterdir()) / 2**20
    return f"{total:.1f} MiB: {', '.join(parts)}"
