"""The command: fixed forms, exit codes, messages on stderr, and never a traceback."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import CORPUS


def redfuse(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **variables}
    command = [sys.executable, "-m", "redfuse.cli", *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=env, check=False, timeout=300
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "internal error" not in done.stderr, done.stderr
    assert "\x1b[" not in done.stdout + done.stderr, "no colour where there is no terminal"
    return done


@pytest.fixture
def program(scale: str, tmp_path: Path) -> Path:
    path = tmp_path / "scale.mlir"
    path.write_text(scale)
    return path


X = np.arange(15, dtype=np.float32).reshape(3, 5)
Y = np.arange(5, dtype=np.float32)


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    path = tmp_path / "arrays.npz"
    np.savez(path, in0=X, in1=Y, out0=X * Y)
    return path


def test_run_prints_errors(program: Path, arrays: Path) -> None:
    done = redfuse("run", program, "--inputs", arrays, "--check")
    assert done.returncode == 0, done.stderr
    assert "out0 f32: error 0, tolerance 1e-05: ok" in done.stdout


def test_run_fails_on_a_wrong_result(program: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "wrong.npz", in0=X, in1=Y, out0=X * Y + 1)
    done = redfuse("run", program, "--inputs", tmp_path / "wrong.npz", "--check")
    assert done.returncode == 1
    assert "FAILED" in done.stdout
    assert "worst at" in done.stdout


def test_run_without_expected_outputs(program: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", in0=X, in1=Y)
    done = redfuse("run", program, "--inputs", tmp_path / "in.npz", "--check")
    assert done.returncode == 0
    assert "fp64 of the unfused program" in done.stdout
    saved = tmp_path / "out.npz"
    done = redfuse("run", program, "--inputs", tmp_path / "in.npz", "--save", saved)
    assert done.returncode == 0
    np.testing.assert_array_equal(np.load(saved)["out0"], X * Y)
    assert redfuse("run", program, "--check").returncode == 0


def test_floats_are_cast_to_the_programs_type(scale: str, tmp_path: Path) -> None:
    path = tmp_path / "bf16.mlir"
    path.write_text(scale.replace("f32", "bf16"))
    np.savez(tmp_path / "in.npz", in0=X, in1=Y, out0=X * Y)
    done = redfuse("run", path, "--inputs", tmp_path / "in.npz", "--check")
    assert done.returncode == 0, done.stderr
    assert "tolerance 0.02" in done.stdout


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("held", "words"),
    [
        ({"in0": X}, ["takes 2 arguments", "got 1", "in0, in1, ... of", "in.npz"]),
        ({"in0": X, "in1": Y, "in2": Y}, ["takes 2 arguments", "got 3"]),
        ({"in0": Y, "in1": Y}, ["argument 0", "shape", "(in0 of", "in.npz"]),
        ({"in0": X[:0], "in1": Y}, ["expected shape 3x5", "got 0x5", "(in0 of"]),
        ({"in0": X, "in1": Y.astype(np.int64)}, ["argument 1", "int64", "(in1 of"]),
        ({"in0": X, "in1": Y, "x": Y}, ["named in0", "x"]),
        ({"in0": X, "in1": Y, "out0": X, "out1": X}, ["expected 1 outputs"]),
    ],
)
def test_wrong_npz(program: Path, tmp_path: Path, held: dict, words: list[str]) -> None:
    np.savez(tmp_path / "in.npz", **held)
    done = redfuse("run", program, "--inputs", tmp_path / "in.npz", "--check")
    assert done.returncode == 2
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize(
    ("content", "word"),
    [(b"", "another kind"), (b"no archive", "another kind"), (b"PK\x03\x04 truncated", "not an"),
     (b"\x93NUMPY\x01\x00", "one array (.npy)")],
)  # fmt: skip
def test_what_is_no_npz(program: Path, tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "in.npz"
    path.write_bytes(content)
    done = redfuse("run", program, "--inputs", path)
    assert done.returncode == 2
    assert word in done.stderr and ".npz archive" in done.stderr


def test_a_pickle_is_not_read(program: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", in0=np.array([{}], dtype=object), in1=Y)
    done = redfuse("run", program, "--inputs", tmp_path / "in.npz")
    assert done.returncode == 2
    assert "plain arrays" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "no.mlir"], ["no.mlir", "No such file"]),
        (["run", "PROGRAM", "--inputs", "no.npz"], ["no.npz", "No such file"]),
        (["run", "PROGRAM", "--target", "rocm"], ["rocm", "name its architecture"]),
        (["run", "PROGRAM", "--target", "tpu"], ["unknown target 'tpu'"]),
        (["run", "PROGRAM", "--target", "gpu"], ["unknown target 'gpu'", "cuda for an NVIDIA GPU"]),
        (["run", "PROGRAM", "--target", "cuda:sm_90a"], ["running a program for cuda:sm_90a needs"]),
        (["run", "PROGRAM", "--option", "fuze=1"], ["did you mean 'fuse'"]),
        (["run", "PROGRAM", "--option", "fuse"], ["name=value"]),
        (["run", "PROGRAM", "--entry", "g"], ["unknown function 'g'"]),
        (["run", "PROGRAM", "--nonsense"], ["--nonsense"]),
        (["run"], ["Missing argument"]),
        (["nonsense"], ["nonsense"]),
        (["compile", "PROGRAM", "--emit", "nonsense"], ["unknown stage 'nonsense'"]),
        (["compile", "PROGRAM", "-o", "no/such/folder/x.rfb"], ["cannot write"]),
        (["profile", "PROGRAM", "--target", "cpu"], ["for the cpu; compile it for target='cuda'"]),
        (["profile", "PROGRAM", "--target", "cuda:sm_90a"],
         ["profiling a program for cuda:sm_90a needs"]),
        (["profile", "PROGRAM"], ["profiling a program for cuda needs"]),
        (["profile", "PROGRAM", "--target", "tpu"], ["unknown target 'tpu'"]),
        (["profile", "PROGRAM", "--repeats", "0"], ["--repeats: expected a number of 1 or more"]),
        (["bench", "atention"], ["did you mean 'attention'"]),
        (["bench", "attention/H12"], ["unknown case of attention 'H12'"]),
        (["bench", "variance/V1", "--target", "rocm:gfx942"], ["AMD GPUs are not timed"]),
        (["bench", "--dtype", "f8"], ["element type"]),
        (["bench", "--seconds", "nan"], ["--seconds: expected a number of 0 or more, got nan"]),
        (["bench", "--json", "no/folder/x.json"], ["cannot write", "folder does not exist"]),
        (["verify", "PROGRAM", "--seconds", "nan"], ["seconds", "0 or more, got nan"]),
        (["tune", "PROGRAM", "--limit", "-1"], ["limit", "0 or more, got -1"]),
        (["explain", "PROGRAM", "--json", "--tex"], ["one of --json, --merges and --tex"]),
    ],
)  # fmt: skip
@pytest.mark.sample(2)
def test_usage_errors(program: Path, arguments: list[str], words: list[str]) -> None:
    done = redfuse(*[program if a == "PROGRAM" else a for a in arguments])
    assert done.returncode == 2
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr


def test_a_malformed_program_is_located(tmp_path: Path) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text("module {\n  func.func @main( {\n}\n")
    done = redfuse("run", path)
    assert done.returncode == 2
    assert "bad.mlir:2:" in done.stderr


def test_compile_to_a_bundle_and_run_it(program: Path, arrays: Path, tmp_path: Path) -> None:
    path = tmp_path / "scale.rfb"
    assert redfuse("compile", program, "-o", path).returncode == 0
    done = redfuse("run", path, "--inputs", arrays, "--check")
    assert done.returncode == 0, done.stderr
    path.write_bytes(path.read_bytes()[:-9])
    done = redfuse("run", path, "--inputs", arrays)
    assert done.returncode == 2
    assert "damaged" in done.stderr


def test_a_bundle_is_compiled_already(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "scale.rfb"
    assert redfuse("compile", program, "-o", path).returncode == 0
    assert redfuse("explain", path, "--target", "cpu").returncode == 0
    for arguments, word in (
        (["explain", path, "-O", "splits=2"], "a bundle, which is compiled already"),
        (["run", path, "--no-fuse"], "a bundle, which is compiled already"),
        (
            ["explain", path, "--target", "cuda:sm_90a"],
            "a bundle for cpu, got --target cuda:sm_90a",
        ),
        (["verify", path], "expected the program that it was made of"),
        (["tune", path], "expected the program that it was made of"),
        (["demo", path], "expected the program that it was made of"),
    ):
        done = redfuse(*arguments)
        assert done.returncode == 2
        assert word in done.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", ["there is nothing to compile"]), (b"ML\xefR\x0d\x00", ["bad.mlir: missing data"]),
     (b"\x00\x01\xff", ["bad.mlir: neither MLIR text"])],
)  # fmt: skip
def test_what_is_no_program(tmp_path: Path, content: bytes, words: list[str]) -> None:
    path = tmp_path / "bad.mlir"
    path.write_bytes(content)
    done = redfuse("explain", path)
    assert done.returncode == 2
    assert "bad.mlir" in done.stderr
    for word in words:
        assert word in done.stderr


def test_compile_prints_ir(program: Path) -> None:
    assert "linalg.generic" in redfuse("compile", program, "--emit", "source").stdout
    assert "llvm.func" in redfuse("compile", program, "--no-fuse", "--emit", "llvm").stdout
    assert "main" in redfuse("compile", program, "--emit", "asm").stdout


def test_explain_is_json() -> None:
    done = redfuse("explain", CORPUS / "softmax.mlir", "--json")
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert isinstance(value["kernels"], list)
    assert isinstance(value["refused"], list)
    assert redfuse("explain", CORPUS / "softmax.mlir").returncode == 0


def test_explain_predicts_other_plans() -> None:
    words = ["explain", CORPUS / "softmax.mlir", "--target", "cuda:sm_90a", "--candidates", "2"]
    value = json.loads(redfuse(*words, "--json").stdout)
    assert value["candidates"][0]["name"] == "as planned" and len(value["candidates"]) <= 3
    assert "Plans by predicted time:" in redfuse(*words).stdout
    assert "Other plans" in redfuse(*words, "--html").stdout
    for bad in (["--merges"], ["--target", "cpu"], ["--candidates", "-1"]):
        done = redfuse(*words, *bad)
        assert done.returncode == 2 and "redfuse: error: " in done.stderr


@pytest.mark.parametrize("full", ["stdout", "stderr"])
@pytest.mark.parametrize("command", ["targets", "explain", "nothing"])
def test_nothing_can_be_written(program: Path, command: str, full: str) -> None:
    """Stdout without room is an error like others; what stderr has no room for is in the exit code."""
    arguments = [command, program] if command == "explain" else [command]
    with open("/dev/full", "w") as device:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, full: device}
        done = subprocess.run(
            [sys.executable, "-m", "redfuse.cli", *map(str, arguments)],
            **streams, text=True, check=False, timeout=300,
        )  # fmt: skip
    assert done.returncode == (0 if full == "stderr" and command != "nothing" else 2)
    if full == "stdout" and command != "nothing":
        assert done.stderr == "redfuse: error: cannot write the output: No space left on device\n"


def test_targets() -> None:
    done = redfuse("targets")
    assert done.returncode == 0
    assert done.stdout.startswith("cpu: ")


def test_demo(program: Path) -> None:
    done = redfuse("demo", program)
    assert done.returncode == 0, done.stderr
    for word in ("Before", "After", "Error against fp64", "fused", "unfused"):
        assert word in done.stdout


def test_dynamic_programs_need_inputs() -> None:
    path = CORPUS / "attention_dynamic.mlir"
    done = redfuse("run", path)
    assert done.returncode == 2
    assert "--inputs" in done.stderr


def test_cache_commands(program: Path, tmp_path: Path) -> None:
    folder = str(tmp_path / "cache")
    assert "0 programs" in redfuse("cache", "list", REDFUSE_CACHE_DIR=folder).stdout
    assert redfuse("compile", program, REDFUSE_CACHE_DIR=folder).returncode == 0
    assert "from the cache" in redfuse("compile", program, REDFUSE_CACHE_DIR=folder).stdout
    listed = redfuse("cache", "list", REDFUSE_CACHE_DIR=folder).stdout
    assert "1 programs" in listed and f" for cpu, from {program}" in listed
    assert "1 programs removed" in redfuse("cache", "clear", REDFUSE_CACHE_DIR=folder).stdout
    unusable = str(program / "cache")
    done = redfuse("run", program, "--check", REDFUSE_CACHE_DIR=unusable)
    assert done.returncode == 0
    assert "warning" in done.stderr


def test_bench_writes_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    arguments = ["variance/V1", "--rounds", 3, "--seconds", 1, "--json", path]
    done = redfuse("bench", *arguments)
    assert done.returncode == 0, done.stderr
    document = json.loads(path.read_text())
    assert document["copy_gb_s"] > 0
    names = {row["implementation"] for row in document["rows"]}
    assert names == {"redfuse"}
    for row in document["rows"]:
        assert row["min_ms"] <= row["median_ms"] <= row["max_ms"]
        assert row["error"] < 1e-5


def test_without_typer(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise ImportError('no typer')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = redfuse("targets", PYTHONPATH=path)
    assert done.returncode == 2
    assert "pip install" in done.stderr


def test_help_and_version() -> None:
    assert redfuse("--version").stdout.startswith("redfuse ")
    for command in ("compile", "run", "explain", "bench", "targets", "demo", "cache"):
        assert command in redfuse().stdout
        assert redfuse(command, "--help").returncode == 0


ROUNDED = """
func.func @main(%x: tensor<8x640xf32>, %w: tensor<640x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x640xf32>) outs(%i : tensor<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %b = math.absf %a : f32
    %c = arith.maximumf %b, %acc : f32
    linalg.yield %c : f32
  } -> tensor<8xf32>
  %oe = tensor.empty() : tensor<8x16xf32>
  %oi = linalg.fill ins(%zero : f32) outs(%oe : tensor<8x16xf32>) -> tensor<8x16xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(i, d, j) -> (i, j)>, affine_map<(i, d, j) -> (i)>, affine_map<(i, d, j) -> (j, d)>, affine_map<(i, d, j) -> (i, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %m, %w : tensor<8x640xf32>, tensor<8xf32>, tensor<640x16xf32>) outs(%oi : tensor<8x16xf32>) {
  ^bb0(%a: f32, %s: f32, %b: f32, %acc: f32):
    %k = arith.constant 127.0 : f32
    %q = arith.divf %a, %s : f32
    %q1 = arith.mulf %q, %k : f32
    %r = math.roundeven %q1 : f32
    %p = arith.mulf %r, %b : f32
    %t = arith.addf %p, %acc : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  return %o : tensor<8x16xf32>
}
"""


def test_run_tells_the_error_of_an_approximation(tmp_path: Path) -> None:
    path = tmp_path / "rounded.mlir"
    path.write_text(ROUNDED)
    options = ("-O", "schedule=stream", "-O", "approximate=true")
    done = redfuse("run", path, "--check", *options)
    assert done.returncode == 0, done.stderr
    assert "rounding is taken for the identity" in done.stdout
    error = float(re.search(r"error ([\d.e-]+), .*approximated: measured", done.stdout)[1])
    assert 1e-4 < error < 0.1
    done = redfuse("run", path, "--check", *options[:2])
    assert done.returncode == 0
    assert "approximate" not in done.stdout
