"""The machine code of kernels for NVIDIA GPUs, without a GPU: what ptxas and nvdisasm say of it.

With a ptxas (a toolkit, the extra ``cuda``): no warning (C75xx: serialised matrix instructions), no
spills, time to a cubin. With nvdisasm too (the extra ``test``): how often a matrix kernel moves
registers to uniform ones (R2UR), which is what it does where ptxas cannot prove addresses to be the
same for all threads. Without ptxas the PTX alone is looked at, and the output says so.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
import redfuse
from processor import slowness
from redfuse.bench import cases, programs
from redfuse.bench.builder import Program
from redfuse.targets import cuda

sys.path += [str(Path(__file__).parents[2] / folder) for folder in ("hardware", "e2e")]
from random_units import Shape
from torch_like import Torch

TARGET = "cuda:sm_90a"
# More uniform moves than this are in the loops of products, not in what is done once.
MOST_MOVES = 60


def attention(*shape: int, kind: str = "none", kv_heads: int | None = None) -> str:
    batch, heads, rows, keys, dim = shape
    return programs.attention(batch, heads, rows, keys, dim, "bf16", kv_heads, kind)


def routing(name: str) -> str:
    return cases.all_cases("bf16")[f"moe_routing/{name}"].program()


def operator(name: str) -> str:
    return cases.all_cases("bf16")[f"attention_operators/{name}"].program()


def rounded(rows: int, columns: int, length: int) -> str:
    """A product in bf16 whose operands are both transposed in memory."""
    p = Torch()
    a, b = p.argument(length, rows, dtype="bf16"), p.argument(columns, length, dtype="bf16")
    return p.text(p.matmul(p.transpose(a, [1, 0]), p.transpose(b, [1, 0])))


def product(rows: int, columns: int, length: int, then: str) -> str:
    """A product in f32 of 16-bit matrices, and what follows it."""
    p = Program()
    a, b = p.argument(rows, length, dtype="bf16"), p.argument(length, columns, dtype="bf16")
    made = p.cast(p.matmul(a, b), "f32")
    return p.text(p.relu(made) if then == "relu" else p.softmax_last(made))


def clamped(rows: int, columns: int, length: int) -> str:
    """A product that is doubled and clamped in bf16, and its log-sum-exp."""
    p = Torch()
    a, b = p.argument(rows, length, dtype="bf16"), p.argument(length, columns, dtype="bf16")
    made = p.clamp_min(p.mul(p.matmul(a, b), 2.0), -10.0)
    return p.text(p.logsumexp(p.cast(made, "f32")))


def gated(rows: int, columns: int, length: int, dtype: str) -> str:
    """A product, a scale and a residual, each computed in f32 and rounded, as PyTorch does."""
    p = Torch()
    a, b = p.argument(rows, length, dtype=dtype), p.argument(length, columns, dtype=dtype)
    scale, other = p.argument(1, columns, dtype=dtype), p.argument(rows, columns, dtype=dtype)
    made = p.mul(p.cast(p.matmul(a, b), "f32"), p.cast(scale, "f32"))
    made = p.add(p.cast(p.cast(made, dtype), "f32"), p.cast(other, "f32"))
    return p.text(p.cast(made, dtype))


MATRIX = {
    "d128": lambda: attention(4, 16, 4096, 4096, 128),
    "d128-causal": lambda: attention(4, 16, 4096, 4096, 128, kind="causal"),
    "d64": lambda: attention(2, 32, 8192, 8192, 64),
    "d64-causal": lambda: attention(2, 32, 8192, 8192, 64, kind="causal"),
    "d80": lambda: attention(32, 16, 256, 256, 80),
    "d256": lambda: attention(2, 8, 8192, 8192, 256),
    "odd": lambda: attention(1, 3, 257, 1000, 128),
    "gqa-causal": lambda: attention(2, 16, 512, 512, 128, kind="causal", kv_heads=4),
    "small-causal": lambda: attention(2, 4, 256, 256, 128, kind="causal"),
    "d128-biased": lambda: Shape.of(18019).program(),
    "d192-biased": lambda: Shape.of(16019).program(),
    "d192-window": lambda: Shape.of(16103).program(),
    "d256-window": lambda: Shape.of(16006).program(),
    "few-rows": lambda: attention(1, 64, 1, 4096, 128, kv_heads=8),
    "few-rows-odd": lambda: attention(1, 30, 1, 4099, 128, kv_heads=5),
    "few-rows-long": lambda: attention(1, 64, 1, 131072, 128, kv_heads=8),
    "softcap": lambda: attention(1, 8, 512, 512, 128, kind="causal+softcap", kv_heads=4),
    "alibi": lambda: attention(1, 8, 512, 512, 128, kind="causal+alibi"),
    "window": lambda: attention(1, 8, 8192, 8192, 128, kind="causal+window+softcap"),
    "PF_GQA": lambda: operator("PF_GQA_4096"),
    "PF_ALiBi": lambda: operator("PF_ALiBi_4096"),
    "PF_SoftCap": lambda: operator("PF_SoftCap_4096"),
    "PF_Window": lambda: operator("PF_Window_4096"),
    "ffn": lambda: programs.gemm_chain(128, 256, 64, 64, "bf16"),
    "routing": lambda: routing("R5"),
    "routing-wide": lambda: routing("R8"),
    "product": lambda: product(4096, 4096, 4096, "relu"),
    "product-odd": lambda: product(129, 1000, 520, "relu"),
    "product-shared": lambda: product(2048, 128, 768, "relu"),
    "head": lambda: product(1000, 256, 4096, "softmax"),
    "clamped": lambda: clamped(1024, 2048, 4096),
    "rounded": lambda: rounded(2048, 4096, 8192),
    "gated": lambda: gated(2048, 4096, 1024, "bf16"),
    "gated-f16": lambda: gated(784, 1000, 512, "f16"),
}
MEMORY = {
    "softmax": lambda: programs.softmax(8192, 8192, "bf16"),
    "softmax-f32": lambda: programs.softmax(8192, 8192, "f32"),
    "softmax-long": lambda: programs.softmax(64, 131072, "bf16"),
    "layernorm": lambda: programs.layernorm(8192, 8192, "bf16"),
    "rmsnorm": lambda: programs.rmsnorm(8192, 8192, "bf16"),
    "cross-entropy": lambda: programs.cross_entropy(8192, 32768, "bf16"),
    "variance": lambda: programs.variance(16, 1 << 20),
    "inertia": lambda: programs.inertia(32, 1 << 16),
    "decode": lambda: attention(32, 32, 1, 4096, 128),
}


def cpu_seconds() -> float:
    """Of this process and of those it started: a busy machine slows clocks, not these."""
    mine, theirs = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


@functools.cache
def compiled(name: str) -> tuple[redfuse.Executable, list[str], float]:
    """A program, the warnings of its compilation, and the processor's seconds that it took."""
    text = {**MATRIX, **MEMORY}[name]()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        start = cpu_seconds()
        exe = redfuse.compile(text, target=TARGET, options={"cache": False, "tuned": False})
        took = cpu_seconds() - start
    return exe, [str(w.message) for w in told], took


def has_cubins() -> bool:
    if cuda.assembler() is None:
        print("no ptxas: PTX alone is looked at")
        return False
    return True


def find_nvdisasm() -> str | None:
    spec = importlib.util.find_spec("nvidia")
    places = (
        [Path(p) / "cu13" / "bin" for p in (spec.submodule_search_locations or [])] if spec else []
    )
    places += [
        Path(root) / "bin" for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if root
    ]
    found = next((p / "nvdisasm" for p in places if (p / "nvdisasm").is_file()), None)
    return str(found) if found else shutil.which("nvdisasm")


def disassemble(exe: redfuse.Executable, folder: Path) -> str | None:
    """The instructions of the first cubin; None without the tools."""
    tool = find_nvdisasm()
    if tool is None or not has_cubins():
        print("no nvdisasm or no ptxas: instructions are not looked at")
        return None
    _, cubin = exe.variants[0].images[0]
    (folder / "k.cubin").write_bytes(cubin)
    command = [tool, "-c", str(folder / "k.cubin")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", [*MATRIX, *MEMORY])
@pytest.mark.sample(4)
def test_nothing_is_spilled_or_serialised(name: str) -> None:
    exe, told, _ = compiled(name)
    spilled = sum(kernel.spills for kernel in exe.resources)
    assert spilled == 0
    assert told == []
    assert exe.variants[0].images
    if has_cubins():
        assert exe.resources
        assert max(kernel.registers for kernel in exe.resources) <= 255


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", MATRIX)
def test_contractions_are_on_matrix_units(name: str) -> None:
    assert "wgmma.mma_async" in compiled(name)[0].asm


@pytest.mark.parametrize("name", MATRIX)
@pytest.mark.sample(3)
def test_addresses_are_uniform(name: str, tmp_path: Path) -> None:
    listing = disassemble(compiled(name)[0], tmp_path)
    if listing is None:
        return
    assert "HGMMA" in listing
    moves = len(re.findall(r"\bR2UR\b", listing))
    print(f"{name}: {moves} R2UR")
    assert moves <= MOST_MOVES


def test_words_of_doubles_are_moved(tmp_path: Path) -> None:
    """A store of the low word of an f64 is no conversion, which ptxas made of LLVM's PTX."""
    path = Path(__file__).parents[2] / "fuzz" / "found" / "maxima_of_doubles.mlir"
    listing = disassemble(redfuse.compile(path, target=TARGET, options={"cache": False}), tmp_path)
    if listing is not None:
        assert "DSETP" in listing
        assert "F2I" not in listing


# Alone on a machine, 3 and 1.5 s are the most that they may take (half of it is what they do take
# where GPU programs are measured); here other tests have the other core, and the same compilation
# takes twice as long at one time as at another.
BESIDE_OTHERS = 1.8


@pytest.mark.parametrize(("names", "alone"), [(list(MATRIX), 3.0), (list(MEMORY), 1.5)])
def test_time_to_a_cubin(names: list[str], alone: float) -> None:
    """Processor's seconds; what is over the limit is tried again."""
    limit = alone * BESIDE_OTHERS
    slow = {}
    for name in names:
        took = compiled(name)[2]
        if took > limit:
            compiled.cache_clear()
            took = min(took, compiled(name)[2])
        if took > limit:
            slow[name] = round(took, 2)
    assert slow == {}


@pytest.mark.parametrize("name", ["d128-causal", "softmax"])
def test_a_load_from_the_cache_takes_milliseconds(name: str, cache: Path) -> None:
    text = {**MATRIX, **MEMORY}[name]()
    redfuse.compile(text, target=TARGET)
    times = []
    for _ in range(10):
        start = time.perf_counter()
        exe = redfuse.compile(text, target=TARGET)
        times.append(time.perf_counter() - start)
        assert exe.compile_seconds == 0.0
    assert min(times) < 0.020 * slowness()
