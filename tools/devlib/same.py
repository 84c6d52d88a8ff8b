"""A build of another commit beside this one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .setup import Venv
from .shell import ROOT, DevError, output, say

_BUILD = "from devlib.setup import Venv; from devlib.build import build; build(Venv(), joined=True)"


def build_of(revision: str, venv: Venv) -> Path:
    """The Python package of a commit, built in build/same unless it is there; with this venv."""
    try:
        name = str(output(["git", "-C", ROOT, "rev-parse", "--short=12", f"{revision}^{{commit}}"]))
    except DevError:
        raise DevError(f"{revision} is no commit here") from None
    folder = ROOT / "build" / "same" / name.strip()
    if not (folder / "build").exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", name.strip()], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    say(f"building {name.strip()} in {folder.relative_to(ROOT)}")
    env = {
        **os.environ,
        "PYTHONPATH": str(folder / "tools"),
        "REDFUSE_VENV": str(venv.path),
        "CCACHE_BASEDIR": str(folder),
    }
    if subprocess.run([sys.executable, "-c", _BUILD], env=env, check=False).returncode:
        raise DevError(f"{revision} was not built; see {folder / 'build' / 'logs'}")
    return folder / "build" / "dev" / "python"
