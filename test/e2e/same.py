"""Whether another build makes the same code: ``tools/dev same REV [FILE ...] [--targets T,...]``.

Every program is compiled by both builds: to assembly of this machine, and to PTX for GPUs. What
differs is named, and both texts are kept in build/same. Exit status 1 if anything does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]
PLACES = ("test/e2e/corpus", "examples", "test/found")
TARGETS = "cpu,cuda:sm_90a,cuda:sm_80"
# Programs of `redfuse bench` besides: kernels on matrix units, rows, splits.
CASES = (
    "attention/H1", "attention/H2", "attention/H6", "attention/H7", "mla_decode", "moe_routing",
    "quant_gemm", "rows", "variance", "inertia", "gemm_chain", "gated_ffn",
    "attention_operators/PF_Causal_4096", "attention_operators/DC_GQA_4096",
)  # fmt: skip


def programs(names: list[str]) -> dict[str, str]:
    """Names and texts: files, or all that there are."""
    files = [Path(n) for n in names] or [
        path for place in PLACES for path in sorted((ROOT / place).glob("*.mlir"))
    ]
    found = {str(path): path.read_text() for path in files}
    if not names:
        from redfuse.bench import cases

        for case in cases.select(list(CASES), "bf16"):
            found[f"{case.full_name}.{case.dtype}"] = case.program()
    return found


def code_of(text: str, target: str) -> str:
    """Assembly or PTX, and where there is none the error."""
    import redfuse
    from redfuse import compiler
    from redfuse.frontends import mlir
    from redfuse.options import Options

    try:
        from redfuse.targets import cuda
    except ImportError:  # an older build
        from redfuse import cuda

    cuda.images = lambda ptx, chip: ([], [])  # ptxas sees the same
    options = Options.of({"cache": False, "deterministic": target == "cpu"})
    try:
        lowered = compiler.lower(mlir.read(text), options, target=target)
        if target == "cpu":
            return lowered.assembly(options)
        return bytes(lowered.ptx).decode() + lowered.assembly(options)
    except redfuse.Error as error:
        return f"{type(error).__name__}: {error}"


def serve() -> int:
    """Answers lines of JSON, each a text and a target."""
    for line in sys.stdin:
        print(json.dumps(code_of(**json.loads(line))), flush=True)
    return 0


class Build:
    """A process that imports the package below ``folder``."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = f"{name} build, {folder}"
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(HERE), "--serve"],
            env={**os.environ, "PYTHONPATH": str(folder), "REDFUSE_CACHE_DIR": ""},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def begin(self, **what: Any) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # `end` says so

    def end(self, doing: str) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            sys.exit(f"tools/dev same: the {self.name}, ended with status {status} at {doing}")
        return json.loads(line)


def main() -> int:
    """0 if all is the same."""
    if sys.argv[1:2] == ["--serve"]:
        return serve()
    parser = argparse.ArgumentParser(
        prog="tools/dev same", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--other", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--own", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--targets", default=TARGETS, help="(%(default)s)")
    parser.add_argument("files", nargs="*", metavar="FILE", help="programs (the corpus and cases)")
    given = parser.parse_args()
    builds = {"old": Build("old", given.other), "new": Build("new", given.own)}
    kept = ROOT / "build" / "same"
    count, different = 0, []
    for name, text in programs(given.files).items():
        for target in given.targets.split(","):
            for build in builds.values():
                build.begin(text=text, target=target)
            made = {which: build.end(f"{name} for {target}") for which, build in builds.items()}
            count += 1
            if made["old"] == made["new"]:
                continue
            short = f"{Path(name).name}.{target.replace(':', '_')}"
            different.append(short)
            for which, code in made.items():
                folder = kept / which
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{short}.s").write_text(code)
            lines = sum(
                a != b for a, b in zip(*(m.splitlines() for m in made.values()), strict=False)
            )
            print(f"{name} for {target}: {lines} lines differ, or more", flush=True)
    print(f"{count - len(different)} of {count} are the same", end="")
    print(f"; texts in {kept}/old and new" if different else "")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
