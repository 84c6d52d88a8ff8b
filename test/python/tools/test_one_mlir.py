"""There is one MLIR in the process, and starting is fast."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redfuse
from processor import slowness

TREE = Path(redfuse.__file__).parent
CORE = TREE / "_lib" / "libRedfuse.so"
OPT = TREE / "_bin" / "redfuse-opt"


def run(command: list[str | Path]) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def best_cpu_seconds(command: list[str | Path], tries: int = 7) -> float:
    """The least CPU time of some runs: what a start costs, whatever else the machine does."""
    cpu, wall = [], []
    for _ in range(tries):
        start = time.perf_counter()
        process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        wall.append(time.perf_counter() - start)
        cpu.append(usage.ru_utime + usage.ru_stime)
    print(f"{command[0]}: best {min(cpu):.3f} s of CPU time, {min(wall):.3f} s in all")
    return min(cpu)


def test_the_core_takes_mlir_from_the_bindings_library() -> None:
    """A second MLIRContext in libRedfuse would be a foreign MLIR with type ids of its own."""
    llvm = Path(next(iter(__import__("llvm").__path__))) / "bin" / "llvm-nm"
    nm = shutil.which("nm") or llvm
    lines = [
        line.split()
        for line in run([nm, CORE]).splitlines() + run([nm, "-D", CORE]).splitlines()
        if re.search(r"\b_ZN4mlir11MLIRContextC[12]E", line)
    ]
    assert lines, "libRedfuse makes contexts, so it must name their constructor"
    assert all(line[-2] == "U" for line in lines), lines


@pytest.mark.parametrize("order", ["redfuse first", "mlir first"])
def test_one_copy_is_mapped(order: str) -> None:
    imports = ["import redfuse", "import mlir.ir, mlir.passmanager, mlir.execution_engine"]
    if order == "mlir first":
        imports.reverse()
    code = "; ".join([*imports, "print(open('/proc/self/maps').read())"])
    mapped = {line.split()[-1] for line in run([sys.executable, "-c", code]).splitlines() if line}
    libraries = sorted(p for p in mapped if re.search(r"lib(MLIR|LLVM|Redfuse)[^/]*\.so", p))
    names = [re.sub(r"\.so.*", "", os.path.basename(p)) for p in libraries]
    assert names.count("libMLIRPythonCAPI") == 1, libraries
    assert names.count("libLLVM") == 1, libraries
    assert names.count("libRedfuse") == 1, libraries
    assert "libMLIR" not in names, libraries


def test_running_takes_no_other_threads_library() -> None:
    """Compiled code runs on the thread pool of libRedfuse: no OpenMP, no async runtime of MLIR."""
    code = """
import numpy, redfuse
exe = redfuse.compile('''
func.func @main(%x: tensor<64x80xf32>, %y: tensor<64x80xf32>) -> tensor<64x80xf32> {
  %e = tensor.empty() : tensor<64x80xf32>
  %s = linalg.add ins(%x, %y : tensor<64x80xf32>, tensor<64x80xf32>)
                  outs(%e : tensor<64x80xf32>) -> tensor<64x80xf32>
  return %s : tensor<64x80xf32>
}''', target="cpu")
one = numpy.ones((64, 80), numpy.float32)
assert (numpy.asarray(exe(one, one)) == 2).all()
print(open("/proc/self/maps").read())
"""
    mapped = run([sys.executable, "-c", code])
    assert "libRedfuse" in mapped
    assert not re.search(r"lib(omp|gomp|iomp5|mlir_async_runtime)\b", mapped)


def test_the_tool_maps_the_same_library() -> None:
    """redfuse-opt uses the bindings' MLIR too, by its run path."""
    if not shutil.which("ldd"):
        listed = run(["/lib64/ld-linux-x86-64.so.2", "--list", OPT])
    else:
        listed = run(["ldd", OPT])
    names = re.findall(r"^\s*(lib(?:MLIR|LLVM)\S*?)\.so\S* => (\S+)", listed, re.M)
    assert sorted(name for name, _ in names) == ["libLLVM", "libMLIRPythonCAPI"], listed
    assert all(Path(path).exists() for _, path in names), listed


def test_redfuse_opt_starts_within_a_tenth_of_a_second() -> None:
    assert best_cpu_seconds([OPT, "--version"]) < 0.1 * slowness()


def test_import_takes_less_than_three_tenths_of_a_second() -> None:
    bare = best_cpu_seconds([sys.executable, "-c", "pass"])
    assert best_cpu_seconds([sys.executable, "-c", "import redfuse"]) - bare < 0.3 * slowness()
