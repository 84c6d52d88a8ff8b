"""lit: the .mlir tests, by layer. Run by `tools/dev test lit`, or by lit itself after a build."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import lit.formats


def package(name: str) -> Path:
    """Where a package is, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        lit_config.fatal(f"the Python package {name} is not installed; run tools/dev setup")  # noqa: F821
    return Path(next(iter(spec.submodule_search_locations)))


root = Path(__file__).resolve().parent.parent
built = Path(os.environ.get("REDFUSE_BUILD", root / "build" / "dev")) / "python" / "redfuse"
redfuse = built if built.is_dir() else package("redfuse")

config.name = "redfuse"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
# pytest's
config.excludes = ["python", "e2e", "found", "fuzz", "pytorch", "sanitize", "Inputs"]  # noqa: F821
config.test_source_root = str(root / "test")  # noqa: F821
config.test_exec_root = str(root / "build" / "lit")  # noqa: F821
# redfuse-opt; FileCheck, not, split-file and count of LLVM's wheel.
tools = [redfuse / "_bin", package("llvm") / "bin", Path(sys.executable).parent]
config.environment["PATH"] = os.pathsep.join([*map(str, tools), os.environ["PATH"]])  # noqa: F821
config.environment["FILECHECK_OPTS"] = "--dump-input=fail"  # noqa: F821
# glibc overwrites what is freed: what is used afterwards shows.
config.environment["MALLOC_PERTURB_"] = "165"  # noqa: F821
# The interpreter of the tests' own build, for tests that need Python.
config.environment["PYTHONPATH"] = str(redfuse.parent)  # noqa: F821
# With its folder, for tests without a PATH.
config.substitutions.append(("%compiler", str(redfuse / "_bin" / "redfuse-opt")))  # noqa: F821
config.substitutions.append(("%python", sys.executable))  # noqa: F821
config.substitutions.append(("%tests", str(root / "test")))  # noqa: F821
# Of the extra `rocm`: what makes code objects.
if importlib.util.find_spec("llvmlite") and importlib.util.find_spec("ziglang"):
    config.available_features.add("rocm")  # noqa: F821
# Of a CUDA toolkit: what makes cubins.
if shutil.which("ptxas"):
    config.available_features.add("ptxas")  # noqa: F821
