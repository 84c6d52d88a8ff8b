"""The wheel: built, then installed and tried in an environment that knows nothing of the tree."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from .shell import ROOT, DevError, say, step

TRY = """
import mlir.ir, redfuse, pathlib
root = pathlib.Path(redfuse.__file__).parent
with mlir.ir.Context() as context:
    assert context.is_registered_operation("redfuse.cascade")
for line in open("/proc/self/maps"):
    path = line.split()[-1]
    if "libRedfuse" in path or "libMLIR" in path or "libLLVM" in path:
        assert path.startswith(str(root.parent)), path
print("redfuse", root)
"""


def wheel(arguments: list[str]) -> int:
    """Builds a wheel into dist/ with this Python or the one given, installs it and imports it."""
    python = shutil.which(arguments[0]) if arguments else sys.executable
    if not python:
        raise DevError(f"no Python named {arguments[0]}")
    dist = ROOT / "dist"
    with tempfile.TemporaryDirectory(prefix="redfuse-wheel-") as folder:
        venv = Path(folder, "venv")
        step("making an environment", [python, "-m", "venv", venv], log="wheel-venv.log")
        pip = [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
        build = [*pip, "wheel", "--no-deps", "-w", folder, ROOT]
        step("building the wheel (MLIR is downloaded)", build, log="wheel-build.log")
        built = next(Path(folder).glob("redfuse-*.whl"))
        install = [*pip, "install", f"{built}[cli]"]
        step("installing it", install, log="wheel-install.log")
        attempt = [venv / "bin" / "python", "-I", "-c", TRY]
        step("importing it", attempt, log="wheel-import.log")
        step("redfuse-opt", [venv / "bin" / "redfuse-opt", "--version"], log="wheel-opt.log")
        dist.mkdir(exist_ok=True)
        kept = shutil.copy(built, dist)
    say(f"wheel: {kept} ({Path(kept).stat().st_size / 2**20:.1f} MiB)")
    return 0
