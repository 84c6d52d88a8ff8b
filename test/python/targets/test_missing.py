"""What redfuse says where a package or a tool is missing: what for, and how to get it."""

import subprocess
import sys
from pathlib import Path

import pytest
import redfuse
from redfuse.bench import programs
from redfuse.targets import cuda, nvjitlink

CORPUS = Path(__file__).parents[2] / "e2e" / "corpus"
HIDE = """
import sys
for name in {names!r}:
    sys.modules[name] = None  # its import fails
"""
COMMAND = "from redfuse.cli import main; sys.argv = ['redfuse', {words}]; sys.exit(main())"


@pytest.mark.parametrize(
    ("names", "code", "message"),
    [
        (["typer"], COMMAND.format(words="'targets'"), "pip install 'redfuse[cli]'"),
        (["rich"], COMMAND.format(words="'targets'"), "pip install 'redfuse[cli]'"),
        (["torch"], "import redfuse; redfuse.compile(lambda x: x, inputs=[1])",
         "UnsupportedError: source is a function; PyTorch functions need torch"),
        (["torch"], COMMAND.format(words="'bench', 'rows', '--target', 'cuda:sm_90a'"),
         "redfuse: error: --target cuda needs PyTorch: pip install torch"),
        (["torch"], COMMAND.format(words="'bench', 'variance/V1', '--peers', '--seconds', '1'"),
         "--peers needs PyTorch: pip install torch"),
        (["matplotlib"], "from redfuse.bench import plot; plot.draw([], 'x.svg', '')",
         "--plot needs matplotlib: pip install 'redfuse[plot]'"),
        (["ml_dtypes"], "import redfuse, numpy\n"
         f"redfuse.compile({str(CORPUS / 'attention_bf16.mlir')!r})(*[numpy.zeros(1)] * 3)",
         "pip install ml_dtypes"),
    ],
)  # fmt: skip
def test_packages(names: list[str], code: str, message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HIDE.format(names=names) + code],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert message in done.stderr + done.stdout, done.stdout[-500:] + done.stderr[-1500:]
    assert done.returncode


def test_no_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    """PTX alone: the driver makes machine code of it."""
    monkeypatch.setattr(cuda, "find_ptxas", lambda: None)
    monkeypatch.setattr(nvjitlink, "find", lambda: None)
    assert cuda.assembler() is None
    exe = redfuse.compile(
        programs.softmax(4, 256, "f32"), target="cuda:sm_90a", options={"cache": False}
    )
    ((chip, image),) = exe.variants[0].images
    assert chip == "sm_90a" and b".target sm_90a" in image
    assert exe.resources == []
