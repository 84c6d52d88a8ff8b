"""The command line on a GPU: `python test/hardware/commands.py` (or on another target: `... cpu`).

Programs with arrays from files, bundles, a short search for schedules, and bad input: exit status,
and words that the output must have. Exit status 1 if one is wrong.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CORPUS = Path(__file__).resolve().parents[1] / "e2e" / "corpus"
ON = ("--target", sys.argv[1] if len(sys.argv) > 1 else "cuda")


def cases(folder: Path) -> list[tuple[str, list[object], int, list[str]]]:
    """(what it is, arguments, exit status, words of the output)."""
    x = np.random.default_rng(0).standard_normal((24, 1000)).astype(np.float32)
    given = {
        "good": {"in0": x}, "short": {"in0": x[:5]}, "narrow": {"in0": x.astype(np.int32)},
        "infinite": {"in0": np.where(x > 2, np.inf, x)}, "more": {"in0": x, "in1": x},
        "none": {"in0": x[:0]}, "wrong": {"in0": x, "out0": x},
    }  # fmt: skip
    files = {name: folder / f"{name}.npz" for name in given}
    for name, arrays in given.items():
        np.savez(files[name], **arrays)
    softmax, dynamic = CORPUS / "softmax.mlir", CORPUS / "attention_dynamic.mlir"
    bundle, text = folder / "softmax.rfb", folder / "bad.mlir"
    text.write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %y\n}\n")
    run = ["run", softmax, *ON, "--inputs"]
    return [
        ("arrays of a file", [*run, softmax.with_suffix(".npz")], 0, ["out0", "ok"]),
        ("fp64", [*run, files["good"], "--check"], 0, ["fp64", "ok"]),
        ("dynamic", ["run", dynamic, *ON, "--inputs", dynamic.with_suffix(".npz")], 0, ["ok"]),
        ("random", ["run", softmax, *ON, "--check"], 0, ["fp64", "ok"]),
        ("save", [*run, files["good"], "--save", folder / "out.npz"], 0, ["out0: f32 24x1000"]),
        ("bundle", ["compile", softmax, *ON, "-o", bundle], 0, ["bytes"]),
        ("of a bundle", ["run", bundle, *ON, "--inputs", files["good"], "--check"], 0, ["ok"]),
        ("tune", ["tune", softmax, *ON, "--limit", "12", "--json", folder / "t.json"], 0,
         ["schedules tried", "stored in"]),
        ("tuned", ["run", softmax, *ON, "--check"], 0, ["ok"]),
        ("forget", ["tune", softmax, *ON, "--forget"], 0, ["1 results removed"]),
        ("demo", ["demo", softmax, *ON], 0, ["fp64", "ok", "fused "]),
        ("a wrong result", [*run, files["wrong"]], 1, ["out0"]),
        ("infinities", [*run, files["infinite"], "--check"], 0, ["ok"]),
        ("another extent", [*run, files["short"]], 2, ["in0", "24x1000", "5x1000"]),
        ("nothing", [*run, files["none"]], 2, ["in0", "24x1000", "0x1000"]),
        ("another type", [*run, files["narrow"]], 2, ["in0", "f32", "int32"]),
        ("too many", [*run, files["more"]], 2, ["takes 1", "got 2", "more.npz"]),
        ("no file", [*run, "no.npz"], 2, ["no.npz", "No such file"]),
        ("malformed", ["run", text, *ON], 2, ["bad.mlir:2:"]),
        ("no arrays", ["run", dynamic, *ON], 2, ["--inputs"]),
        ("no schedule for it", ["tune", dynamic, *ON, "--limit", "5"], 2, ["--shape"]),
        ("another GPU", ["run", softmax, "--target", "rocm"], 2, ["rocm"]),
    ]  # fmt: skip


def main() -> int:
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="redfuse-") as folder:
        environment = {**os.environ, "REDFUSE_CACHE_DIR": str(Path(folder) / "cache")}
        for name, arguments, status, words in cases(Path(folder)):
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-m", "redfuse.cli", *map(str, arguments)],
                capture_output=True, text=True, env=environment, timeout=120, check=False,
            )  # fmt: skip
            said = done.stdout + done.stderr
            missing = [word for word in words if word not in said]
            good = done.returncode == status and not missing and "Traceback" not in said
            wrong += not good
            seconds = time.perf_counter() - start
            print("ok" if good else "FAILED", f"{name} ({seconds:.1f} s)", flush=True)
            if not good:
                told = f"exit status {done.returncode} for {status}, without {missing}"
                print(f"  {told}: {said.strip()[-600:]}", flush=True)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
