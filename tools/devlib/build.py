"""The C++ build: configured once, then ninja only when a source has changed."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from .setup import Venv
from .shell import BUILD, ROOT, DevError, step

SANITIZED = BUILD.with_name("sanitize")
SOURCES = ("CMakeLists.txt", "cmake", "include", "lib", "python/src", "tools")
SUFFIXES = {".txt", ".cmake", ".h", ".hpp", ".td", ".cpp", ".c", ".in"}
# The memory of one compiler, for the number of jobs.
JOB_BYTES = 3_000_000_000
# Wheels have -O3. Even -O2 takes longer to build, and makes compiling programs 3 % faster only:
# most of that is MLIR's and LLVM's own code.
FLAGS = "-O1 -DNDEBUG"


def _files() -> Iterator[Path]:
    for name in SOURCES:
        top = ROOT / name
        if top.is_file():
            yield top
            continue
        for folder, _, names in os.walk(top):
            for file in names:
                if os.path.splitext(file)[1] in SUFFIXES:
                    yield Path(folder, file)


def fingerprint(venv: Venv) -> dict[str, object]:
    """What the build depends on: sources by time and size, the Python package by its names."""
    sources = {}
    for path in _files():
        stat = path.stat()
        sources[str(path.relative_to(ROOT))] = [stat.st_mtime_ns, stat.st_size]
    package = ROOT / "python" / "redfuse"
    names = [*os.listdir(package), *os.listdir(package / "dialects")]
    return {
        "venv": str(venv.path),
        "key": venv.read_stamp().get("key"),
        "sources": dict(sorted(sources.items())),
        "package": sorted(n for n in names if n != "__pycache__"),
    }


def _stamp(folder: Path) -> Path:
    return folder / ".dev-stamp.json"


def is_built(venv: Venv, folder: Path = BUILD) -> bool:
    try:
        return json.loads(_stamp(folder).read_text()) == fingerprint(venv)
    except (OSError, ValueError):
        return False


def jobs() -> int:
    """Compilers at a time: one for each core, as far as the memory goes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        text = Path("/proc/meminfo").read_text()
        free = int(re.search(r"MemAvailable:\s+(\d+)", text)[1]) * 1024  # type: ignore[index]
    except (OSError, TypeError):
        return cores or 1
    return max(1, min(cores or 1, free // JOB_BYTES))


def _configured(venv: Venv, folder: Path) -> bool:
    """Whether the build directory is configured for this tree and this venv."""
    cache = folder / "CMakeCache.txt"
    if not cache.exists() or not (folder / "build.ninja").exists():
        return False
    text = cache.read_text(errors="replace")
    home = re.search(r"^CMAKE_HOME_DIRECTORY:\w+=(.*)$", text, re.M)
    python = re.search(r"^Python_EXECUTABLE:\w+=(.*)$", text, re.M)
    return bool(
        home and Path(home[1]) == ROOT and python and Path(python[1]).absolute() == venv.python
    )


def _configure(venv: Venv, folder: Path, joined: bool) -> None:
    if (folder / "CMakeCache.txt").exists():
        # A cache of another place or Python cannot be mended by configuring over it.
        shutil.rmtree(folder)
    command = [
        *(venv.tool("cmake"), "-S", ROOT, "-B", folder, "-G", "Ninja"),
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_CXX_FLAGS_RELEASE={FLAGS}",
        f"-DCMAKE_MAKE_PROGRAM={venv.tool('ninja')}",
        f"-DCMAKE_PREFIX_PATH={venv.site}",
        f"-DPython_EXECUTABLE={venv.python}",
        f"-DCMAKE_UNITY_BUILD={'ON' if joined else 'OFF'}",
        f"-DREDFUSE_SANITIZE={'ON' if folder == SANITIZED else 'OFF'}",
    ]
    step("configuring", command, log="configure.log")


def _write_scripts(venv: Venv) -> None:
    """The `redfuse` and `redfuse-opt` commands, for this build tree and this venv."""
    scripts = BUILD / "bin"
    scripts.mkdir(exist_ok=True)
    command = scripts / "redfuse"
    # /bin/sh, because a "#!" line may not be long and may not hold a space.
    command.write_text(
        "#!/bin/sh\n"
        f"""'''exec' "{venv.python}" "$0" "$@"\n"""
        "' '''\n"
        "import sys\n"
        f"sys.path.insert(0, {str(BUILD / 'python')!r})\n"
        "from redfuse.cli import main\n"
        "sys.exit(main())\n"
    )
    command.chmod(0o755)
    links = {"redfuse-opt": BUILD / "python" / "redfuse" / "_bin" / "redfuse-opt"}
    folders = {scripts: links}
    if venv.owned:
        folders[venv.path / "bin"] = {**links, "redfuse": command}
    for folder, targets in folders.items():
        for name, target in targets.items():
            link = folder / name
            if link.is_symlink() or link.exists():
                link.unlink()
            link.symlink_to(target)


def _write_metadata() -> None:
    """What an installed package has beside it: PyTorch finds the backend by its entry point."""
    pyproject = (ROOT / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.*)"$', pyproject, re.M)
    entries = re.search(r"^\[project\.entry-points\.(\w+)\]\n((?:.+\n)+)", pyproject, re.M)
    if version is None or entries is None:
        raise DevError("pyproject.toml: expected a version and entry points")
    folder = BUILD / "python" / "redfuse-dev.dist-info"
    folder.mkdir(exist_ok=True)
    text = f"Metadata-Version: 2.1\nName: redfuse\nVersion: {version[1]}\n"
    (folder / "METADATA").write_text(text)
    listed = entries[2].replace('"', "")
    (folder / "entry_points.txt").write_text(f"[{entries[1]}]\n{listed}")


def build(venv: Venv, *, joined: bool = False, folder: Path = BUILD) -> None:
    """Brings build/dev up to date, or SANITIZED; one that is made from scratch compiles several
    files at once if ``joined``: much less work in all, and more for each edit afterwards."""
    before = fingerprint(venv)
    if is_built(venv, folder):
        if folder == BUILD:
            _write_metadata()
        return
    if not _configured(venv, folder):
        _configure(venv, folder, joined)
    number = jobs()
    command = [venv.tool("ninja"), "-C", folder, f"-j{number}"]
    # Compiler calls name the tree by relative paths, so clones share what ccache has.
    env = {"CCACHE_BASEDIR": str(ROOT), **os.environ}
    step(f"building ({number} at a time)", command, log="build.log", env=env)
    if not (folder / "python" / "redfuse" / "_bin" / "redfuse-opt").exists():
        raise DevError(f"the build left no redfuse-opt in {folder}; remove it and run again")
    if folder == BUILD:
        _write_scripts(venv)
        _write_metadata()
    _stamp(folder).write_text(json.dumps(before))
