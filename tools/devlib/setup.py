"""The virtual environment: made once, then known by a stamp."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from functools import cached_property
from pathlib import Path

from .shell import BUILD, ROOT, DevError, output, say, step

OLDEST, NEWEST = (3, 10), (3, 14)
CMAKE_OLDEST = (3, 20)

# What the venv's Python is asked for pyproject.toml: tomllib is in 3.11 and later, pip carries a
# copy for 3.10.
_READ_REQUIREMENTS = """
import json, sys
try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib
with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)
extras = project["project"]["optional-dependencies"]
print(json.dumps({
    "base": project["build-system"]["requires"] + project["project"]["dependencies"]
            + extras["cli"] + extras["verify"] + extras["test"] + extras["dev"],
    **extras,
}))
"""


class Venv:
    """A virtual environment that the project is built with and runs in.

    It is .venv of the repository, made and filled as needed, or the one that REDFUSE_VENV names,
    which is used as it is.
    """

    def __init__(self) -> None:
        named = os.environ.get("REDFUSE_VENV")
        self.owned = not named
        self.path = Path(named).absolute() if named else ROOT / ".venv"
        self.python = self.path / "bin" / "python"
        self.stamp = self.path / "redfuse-dev.json"

    @cached_property
    def site(self) -> Path:
        """site-packages."""
        found = sorted(self.path.glob("lib/python3.*/site-packages"))
        if not found:
            raise DevError(f"{self.path} has no site-packages; remove it and run again")
        return found[0]

    def tool(self, name: str) -> str:
        """A program of the venv, or else of PATH."""
        own = self.path / "bin" / name
        if own.exists():
            return str(own)
        if found := shutil.which(name):
            return found
        raise DevError(f"{name} is neither in {self.path} nor on PATH; run tools/dev setup")

    def key(self) -> str:
        """What the set-up depends on."""
        parts = [(ROOT / "pyproject.toml").read_text(), str(self.path), str(sys.version_info[:2])]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def read_stamp(self) -> dict[str, object]:
        try:
            return json.loads(self.stamp.read_text())
        except (OSError, ValueError):
            return {}

    def requirements(self, kind: str) -> list[str]:
        """The requirements of an extra of pyproject.toml, or "base": all that development needs."""
        text = output([self.python, "-c", _READ_REQUIREMENTS, ROOT / "pyproject.toml"])
        return json.loads(text)[kind]

    def install(self, title: str, requirements: list[str], log: str) -> None:
        command = [self.python, "-m", "pip", "install", "--progress-bar=off"]
        step(title, [*command, "--disable-pip-version-check", *requirements], log=log)


def _python_problem() -> str | None:
    """Why the running Python cannot be used, or None."""
    version = sys.version_info[:2]
    if not OLDEST <= version <= NEWEST:
        return (
            f"Python {'.'.join(map(str, version))} is not supported "
            f"(the MLIR wheels exist for {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]})"
        )
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return f"{sys.executable} has no Python.h (on Debian: apt install python3-dev)"
    return None


def _other_python() -> str | None:
    """Another Python on PATH that can be used."""
    test = (
        "import sys, sysconfig, os; "
        "sys.exit(not os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')))"
    )
    for minor in (12, 11, 13, 10, 14):
        path = shutil.which(f"python3.{minor}")
        if path and not subprocess.run([path, "-c", test], capture_output=True).returncode:
            return path
    return None


def ensure_supported_python(arguments: list[str]) -> None:
    """Starts this script again under a Python that can be used, or says what is missing."""
    problem = _python_problem()
    if not problem:
        return
    other = _other_python()
    if not other:
        raise DevError(f"{problem}; no other usable Python 3.10 to 3.14 is on PATH")
    say(f"{problem}; using {other}")
    os.execv(other, [other, str(ROOT / "tools" / "dev"), *arguments])


def _make_venv(path: Path) -> None:
    step("making .venv", [sys.executable, "-m", "venv", path], log="venv.log")


def _create(venv: Venv) -> None:
    try:
        _make_venv(venv.path)
    except DevError as error:
        # Debian's python3 leaves ensurepip out; virtualenv brings its own pip.
        shutil.rmtree(venv.path, ignore_errors=True)
        target = ROOT / "build" / "virtualenv"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target)]
        if subprocess.run([*pip, "virtualenv"], capture_output=True).returncode:
            raise DevError(f"{error}\n(on Debian: apt install python3-venv)") from error
        env = {**os.environ, "PYTHONPATH": str(target)}
        step(
            "making .venv with virtualenv",
            [sys.executable, "-m", "virtualenv", venv.path],
            log="venv.log",
            env=env,
        )


def _cmake_is_enough() -> bool:
    found = shutil.which("cmake")
    if not found:
        return False
    done = subprocess.run([found, "--version"], capture_output=True, text=True)
    version = re.search(r"version (\d+)\.(\d+)", done.stdout)
    return bool(version) and (int(version[1]), int(version[2])) >= CMAKE_OLDEST


def setup(venv: Venv) -> None:
    """Makes the venv what pyproject.toml asks for. Does nothing when the stamp says it is."""
    if not venv.owned:
        if not venv.python.exists():
            raise DevError(f"REDFUSE_VENV={venv.path} has no bin/python")
        return
    key = venv.key()
    if venv.python.exists() and venv.read_stamp().get("key") == key:
        return
    if not shutil.which("g++") and not shutil.which("clang++") and not shutil.which("c++"):
        raise DevError("no C++ compiler on PATH: install gcc's g++ 9 or newer, or clang")
    if venv.path.exists() and _version_of(venv) != sys.version_info[:2]:
        say("the .venv is of another Python: making it anew")
        shutil.rmtree(venv.path)
    if not venv.python.exists():
        _create(venv)
    requirements = venv.requirements("base")
    if not _cmake_is_enough():
        requirements.append("cmake>=3.20")
    if not shutil.which("ninja"):
        requirements.append("ninja")
    venv.install("installing MLIR 22.1.8 and tools (about 400 MB)", requirements, "install.log")
    # The build tree is importable in the venv, as an installed package would be.
    (venv.site / "redfuse-dev.pth").write_text(f"{BUILD / 'python'}\n")
    venv.stamp.write_text(json.dumps({"key": key}))


def _version_of(venv: Venv) -> tuple[int, int] | None:
    if not venv.python.exists():
        return None
    code = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([venv.python, "-c", code], capture_output=True, text=True)
    parts = done.stdout.split()
    return (int(parts[0]), int(parts[1])) if len(parts) == 2 else None


# PyTorch for tests in CI: without what GPUs need, a tenth of what PyPI's own build brings.
CPU_TORCH = "torch==2.13.0+cpu"


def install_cpu_torch(venv: Venv) -> bool:
    """Adds PyTorch and transformers for tests; whether pip's indexes have a PyTorch for CPUs."""
    if venv.owned and "torch" not in _extras(venv):
        with tempfile.TemporaryDirectory() as folder:
            pip = [venv.python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
            if subprocess.run([*pip, CPU_TORCH], capture_output=True).returncode:
                return False
            wheels = [str(path) for path in Path(folder).iterdir()]
            venv.install("installing PyTorch for CPUs", wheels, "torch.log")
        _add_extra(venv, "torch")
    install_extra(venv, "models")
    return True


def install_extra(venv: Venv, extra: str) -> None:
    """Adds an extra of pyproject.toml to the venv, once."""
    if not venv.owned or extra in _extras(venv):
        return
    venv.install(f"installing the {extra} extra", venv.requirements(extra), f"install-{extra}.log")
    _add_extra(venv, extra)


def _extras(venv: Venv) -> list[str]:
    return list(venv.read_stamp().get("extras", []))  # type: ignore[call-overload]


def _add_extra(venv: Venv, extra: str) -> None:
    stamp = {**venv.read_stamp(), "extras": [*_extras(venv), extra]}
    venv.stamp.write_text(json.dumps(stamp))
