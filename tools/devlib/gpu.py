"""Packs the compiler for a machine that has a GPU and Python 3.10 to 3.14 but no network.

Two archives: `base` holds MLIR and LLVM and changes with their versions only; `redfuse` holds
the project and is made at each call. Nothing is run on a GPU here.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from .build import BUILD
from .setup import Venv
from .shell import ROOT, DevError, output, say

# What MLIR and the project need at run time.
BASE = ("mlir", "llvm/lib/libLLVM.so", "llvm/__init__.py")
SETUP = """\
# `source` this on the other machine: unpacks both archives and sets PYTHONPATH and PATH.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
site=${REDFUSE_SITE:-/tmp/redfuse-site}
mkdir -p "$site"
for part in base redfuse; do
  stamp=$(sha256sum "$here/$part.tar.xz" | cut -c1-16)
  if [ "$(cat "$site/.$part" 2>/dev/null)" != "$stamp" ]; then
    tar -C "$site" -xf "$here/$part.tar.xz" && echo "$stamp" >"$site/.$part"
  fi
done
export PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH} PATH=$site/redfuse/_bin:$PATH
"""


def _archive(folder: Path, target: Path, preset: int) -> None:
    part = target.with_suffix(".part")
    with tarfile.open(part, "w:xz", preset=preset) as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, arcname=path.name)
    part.rename(target)


def _strip(folder: Path) -> None:
    if not shutil.which("strip"):
        raise DevError("strip (of binutils) is not on PATH")
    for path in folder.rglob("*.so"):
        subprocess.run(["strip", "--strip-unneeded", str(path)], check=True)


def _pack_base(venv: Venv, out: Path) -> None:
    libraries = [venv.site / "mlir/_mlir_libs/libMLIRPythonCAPI.so", venv.site / BASE[1]]
    sizes = [f"{path.name} {path.stat().st_size}" for path in libraries]
    key = hashlib.sha256(f"{sys.version_info[:2]} {sizes}".encode()).hexdigest()[:16]
    cached = ROOT / "build" / "gpu" / f"base-{key}.tar.xz"
    if not cached.exists():
        say("gpu: packing MLIR and LLVM (some minutes, once)")
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder)
            ignore = shutil.ignore_patterns("__pycache__", "include", "bin", "lib", "src")
            shutil.copytree(venv.site / "mlir", site / "mlir", ignore=ignore)
            for name in BASE[1:]:
                if (venv.site / name).exists():
                    (site / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(venv.site / name, site / name)
            _strip(site)
            _archive(site, cached, preset=6)
    shutil.copy(cached, out / "base.tar.xz")


def _pack_redfuse(venv: Venv, out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder)
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "python" / "redfuse", site / "redfuse", ignore=ignore)
        # Installed libraries find MLIR beside them, those of the build tree by absolute paths.
        install = [venv.tool("cmake"), "--install", BUILD, "--component", "redfuse"]
        output([*install, "--prefix", site / "redfuse"])
        _strip(site)
        _archive(site, out / "redfuse.tar.xz", preset=6)


def pack(venv: Venv, arguments: list[str]) -> int:
    """Writes base.tar.xz, redfuse.tar.xz and setup.sh to a folder (build/gpu/pack)."""
    out = Path(arguments[0]).absolute() if arguments else ROOT / "build" / "gpu" / "pack"
    out.mkdir(parents=True, exist_ok=True)
    _pack_base(venv, out)
    _pack_redfuse(venv, out)
    (out / "setup.sh").write_text(SETUP)
    version = ".".join(map(str, sys.version_info[:2]))
    size = sum(path.stat().st_size for path in out.iterdir()) / 2**20
    say(f"gpu: {out} ({size:.0f} MiB), for Python {version}. Nothing was run on a GPU: copy the")
    say(f"gpu: folder to the machine and `source {out.name}/setup.sh` there.")
    return 0
