"""Kernels of programs for NVIDIA GPUs, run by the simulator as the host code launches them, and compared
with the fp64 references."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import redfuse
import test_carried
import test_extrema_with_index as extrema
from drivers import Typed, aligned_copy, cuda
from drivers.simulated import Simulation, execute, small, verify
from recurrences import prefixes
from redfuse import check
from redfuse.bench import programs
from redfuse.bench.builder import Program
from redfuse.reference import Reference
from redfuse.store.data import random_inputs

# Simulated, one thread after another.
pytestmark = pytest.mark.sample(3)

CORPUS = Path(__file__).parents[2] / "e2e" / "corpus"
CORPUS_NAMES = ["softmax", "variance_large_mean", "attention_decode", "layernorm"]


@pytest.mark.parametrize("schedule", ["auto", "split"])
@pytest.mark.parametrize("name", CORPUS_NAMES)
def test_corpus(name: str, schedule: str) -> None:
    path = CORPUS / f"{name}.mlir"
    inputs, expected = check.load_npz(str(path.with_suffix(".npz")))
    options = {"cache": False, "schedule": schedule}
    verify(path, redfuse.compile(path, target="cuda:sm_90a", options=options), inputs, expected)


def largest(rows: int, columns: int, count: int, dtype: str = "f32") -> str:
    """The largest of each row, and where they are."""
    p = Program()
    return p.text(*p.topk_last(p.argument(rows, columns, dtype=dtype), count))


@pytest.mark.parametrize(("columns", "instruction"), [(1300, "shfl.sync.idx"), (261, "redux.sync")])
def test_largest_of_ties(tmp_path: Path, columns: int, instruction: str) -> None:
    """By warps that share a row, or hold a short one: NaN goes first, then what is largest; zeros of
    both signs are as large, and keep theirs; of equal ones the first."""
    rows, count = 4, 7
    path = tmp_path / "program.mlir"
    path.write_text(largest(rows, columns, count))
    rng = np.random.default_rng(3)
    x = rng.integers(-3, 4, (rows, columns)).astype(np.float32)
    x[0, columns // 2] = np.nan
    x[1] = np.where(np.arange(columns) % 3, 0.0, -0.0)
    x[2] = np.arange(columns)
    x[3] = -np.inf
    order = np.argsort(np.where(np.isnan(x), -np.inf, -x), axis=1, kind="stable")[:, :count]
    values = np.take_along_axis(x, order, 1)
    for schedule in ("resident", "stream"):
        exe = redfuse.compile(
            path, target="cuda:sm_90a", options={"cache": False, "schedule": schedule}
        )
        assert instruction in exe.asm
        (got, at), _ = execute(exe, [x], [values, order])
        np.testing.assert_array_equal(at, order)
        np.testing.assert_array_equal(got, values)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(values))


def column_sum(rows: int, columns: int, dtype: str) -> str:
    """The sum of each column."""
    p = Program()
    return p.text(p.sum(p.cast(p.argument(rows, columns, dtype=dtype), "f32"), [0]))


ROWS = {
    "softmax_long": programs.softmax(2, 4096, "bf16"),
    "softmax_streamed": programs.softmax(1, 17000, "f32"),
    "softmax_short": programs.softmax(5, 96, "f32"),
    "softmax_odd": programs.softmax(3, 1021, "bf16"),
    "layernorm": programs.layernorm(3, 2048, "bf16"),
    "rmsnorm": programs.rmsnorm(2, 1000, "f32"),
    "cross_entropy": programs.cross_entropy(3, 10240, "bf16"),
    "variance": programs.variance(2, 9000),
    "inertia": programs.inertia(2, 700),
    "decode": programs.attention(1, 2, 1, 300, 128, "bf16"),
    "decode_odd": programs.attention(1, 1, 1, 77, 80, "f32"),
    "decode_grouped": programs.attention(1, 4, 1, 70, 64, "bf16", kv_heads=2),
    "column_sum": column_sum(1100, 72, "bf16"),
    "routing": programs.moe_routing(3, 40, 100, 6, "f32"),
    "largest": largest(3, 512, 5),
    "largest_odd": largest(2, 331, 32),
    "largest_of_many": largest(3, 1024, 8),
    "largest_of_many_odd": largest(2, 2051, 7, "bf16"),
    "largest_all": largest(2, 1500, 32),
    "largest_streamed": largest(1, 9001, 8),
    "routing_narrow": programs.moe_routing(2, 33, 17, 17, "f32"),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, tmp_path: Path) -> None:
    small(ROWS[name], tmp_path)


@pytest.mark.parametrize("weights", ["equal", "one", "none"])
def test_states_that_agree(weights: str, tmp_path: Path) -> None:
    """Threads move their states to one pivot and add them up: also where all are as heavy, so that
    each could keep its own, where one is all that counts, and where there is nothing."""
    columns = 9000
    path = tmp_path / "program.mlir"
    path.write_text(programs.inertia(2, columns))
    options = {"cache": False, "schedule": "stream"}
    exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
    rng = np.random.default_rng(3)
    masses = np.ones((2, columns), np.float32)
    points = (1e4 + rng.standard_normal((2, columns, 3))).astype(np.float32)
    if weights == "one":
        masses[:, 4711] = 1e10
        points[:, 4711] = -3e4
    if weights == "none":
        masses[:, 1:] = 0
    verify(path, exe, [masses, points], None)


def test_dynamic_scheduler(tmp_path: Path) -> None:
    """Blocks that stay ask the scheduler for rows, whose counter is zero again at the end."""
    path = tmp_path / "program.mlir"
    path.write_text(programs.layernorm(700, 256, "bf16"))
    text = "#redfuse.schedule<resident, grid = [0], tiles = [1, 0], hints = {loop = copies, blocks = 1}>"
    options = {"cache": False, "schedules": (text,)}
    exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
    assert exe.asm.count("atom.relaxed.gpu.global.inc.u32") == 1
    inputs = random_inputs(exe.signature, 0)
    for seed in (0, 1):
        verify(path, exe, inputs, None, seed)


LARGEST = """
#of = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<?x?xf32>) -> (tensor<?x6xf32>, tensor<?x6xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %empty = tensor.empty(%m, %n) : tensor<?x?xi64>
  %numbers = linalg.generic {indexing_maps = [#of], iterator_types = ["parallel", "parallel"]}
      outs(%empty : tensor<?x?xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<?x?xi64>
  %s:2 = tm_tensor.sort dimension(1) outs(%x, %numbers : tensor<?x?xf32>, tensor<?x?xi64>) {
  ^bb0(%a: f32, %b: f32, %i: i64, %j: i64):
    %c = arith.cmpf oge, %a, %b : f32
    tm_tensor.yield %c : i1
  } -> tensor<?x?xf32>, tensor<?x?xi64>
  %values = tensor.extract_slice %s#0[0, 0] [%m, 6] [1, 1] : tensor<?x?xf32> to tensor<?x6xf32>
  %indices = tensor.extract_slice %s#1[0, 0] [%m, 6] [1, 1] : tensor<?x?xi64> to tensor<?x6xi64>
  return %values, %indices : tensor<?x6xf32>, tensor<?x6xi64>
}
"""


@pytest.mark.parametrize("columns", [6, 33, 512, 513, 1300])
def test_largest_of_unknown_numbers(columns: int, tmp_path: Path) -> None:
    """Ties go to the first, infinities and what repeats included."""
    path = tmp_path / "program.mlir"
    path.write_text(LARGEST)
    exe = redfuse.compile(path, target="cuda:sm_90a", options={"cache": False})
    assert "shfl.sync" in exe.asm
    x = np.random.default_rng(columns).integers(-9, 40, (3, columns)).astype(np.float32)
    x[1, ::5], x[2, ::3] = np.inf, -np.inf
    order = np.argsort(-x, axis=1, kind="stable")[:, :6]
    expected = [np.take_along_axis(x, order, 1), order]
    got, _ = execute(exe, [x], expected)
    for mine, wanted in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine, wanted)


SCATTER = """
func.func @main(%u: tensor<23x1x9xf32>, %i: tensor<23x1xi64>) -> tensor<6x9xf32> {
  %o = arith.constant dense<1.0> : tensor<6x9xf32>
  %s = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false)
      ins(%u, %i : tensor<23x1x9xf32>, tensor<23x1xi64>) outs(%o : tensor<6x9xf32>) {
  ^bb0(%new: f32, %old: f32):
    %a = arith.addf %old, %new : f32
    tm_tensor.yield %a : f32
  } -> tensor<6x9xf32>
  return %s : tensor<6x9xf32>
}
"""


def test_scatter(tmp_path: Path) -> None:
    """A thread a column, in which updates come one after another."""
    path = tmp_path / "program.mlir"
    path.write_text(SCATTER)
    exe = redfuse.compile(path, target="cuda:sm_90a", options={"cache": False})
    rng = np.random.default_rng(3)
    updates = rng.normal(size=(23, 1, 9)).astype(np.float32)
    positions = rng.integers(0, 6, (23, 1))
    expected = np.ones((6, 9), np.float32)
    np.add.at(expected, positions[:, 0], updates[:, 0])
    (got,), _ = execute(exe, [updates, positions], [expected])
    np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_overlap(chip: str, tmp_path: Path) -> None:
    """A kernel that waits for the one before it may be started early; no other."""
    path = tmp_path / "program.mlir"
    path.write_text(ROWS["softmax_short"])
    exe = redfuse.compile(path, target=f"cuda:{chip}", options={"cache": False})
    before = cuda.fake_overlapping()
    verify(path, exe, random_inputs(exe.signature, 0), None)
    waits = "griddepcontrol.wait" in exe.asm
    assert waits == (chip == "sm_90a")
    assert (cuda.fake_overlapping() > before) == waits


@pytest.mark.parametrize("keys, dim", [(1200, 128), (1025, 80)])
def test_copies(keys: int, dim: int, tmp_path: Path) -> None:
    """Threads that have copies of several scores compute a tangent of another one each."""
    path = tmp_path / "program.mlir"
    path.write_text(programs.attention(1, 2, 1, keys, dim, "bf16", None, "softcap"))
    options = {"cache": False, "schedule": "stream"}
    exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
    assert "shfl.sync.idx" in exe.asm
    verify(path, exe, random_inputs(exe.signature, 0), None)


LONG = "#redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1], hints = {{{}}}>"
KEPT = {
    "softmax": programs.softmax(2, 17000, "bf16"),
    "layernorm": programs.layernorm(2, 16648, "bf16"),
    "wide": programs.softmax(2, 20484, "f32"),
}


@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str, tmp_path: Path) -> None:
    """Rows that are read twice are copied into shared memory once."""
    path = tmp_path / "program.mlir"
    path.write_text(KEPT[name])
    options = {"cache": False, "schedules": (LONG.format("keep = true"),)}
    exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
    assert "cp.async.c" in exe.asm
    verify(path, exe, random_inputs(exe.signature, 0), None)


_HELD = (
    "#redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1], hints = {cluster = 4}>"
)
CLUSTERS = {
    # Rows that registers of one block do not hold.
    "layernorm": (programs.layernorm(2, 17000, "bf16"), (_HELD,)),
    "softmax": (programs.softmax(3, 16385, "f32"), (_HELD,)),
    # One long row, several states.
    "variance": (programs.variance(1, 40000), ()),
    "inertia": (programs.inertia(1, 9001), ()),
    "variance_rows": (programs.variance(5, 20000), ()),
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_cluster(name: str, tmp_path: Path) -> None:
    """Blocks that share a row."""
    source, schedules = CLUSTERS[name]
    path = tmp_path / "program.mlir"
    path.write_text(source)
    options = {"cache": False, "schedules": schedules}
    exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
    assert "mapa" in exe.asm
    cuda.fake_cluster(2)
    verify(path, exe, random_inputs(exe.signature, 0), None)
    cuda.fake_cluster(0)
    # Not where there are none.
    old = redfuse.compile(path, target="cuda:sm_80", options=options)
    assert "cluster" not in old.asm


ROUNDS = {
    "layernorm": (programs.layernorm(300, 256, "bf16"), ""),
    # One exchange between threads a round: the next one must not overtake it.
    "rmsnorm": (programs.rmsnorm(137, 1536, "bf16"), ""),
    "softmax": (programs.softmax(140, 2056, "f32"), ""),
    "cross_entropy": (programs.cross_entropy(270, 129, "f32"), ""),
    "cluster": (programs.layernorm(67, 1048, "bf16"), ", cluster = 2"),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "how",
    ["loop = registers, early = at_use", "loop = registers, early = with_rest", "loop = copies"],
)
@pytest.mark.parametrize("name", ROUNDS)
def test_rounds(name: str, how: str, tmp_path: Path) -> None:
    """Blocks that walk the tiles of the grid, each loaded before the one before it is done: into
    registers, or into shared memory."""
    source, more = ROUNDS[name]
    hints = f"{how}, blocks = 1{more}"
    text = f"#redfuse.schedule<resident, grid = [0], tiles = [1, 0], hints = {{{hints}}}>"
    small(source, tmp_path, {"schedules": (text,)})


@pytest.mark.parametrize("columns", [17416, 16384])
def test_staged(columns: int, tmp_path: Path) -> None:
    """Blocks that stay keep what all rows read in shared memory; the rows come there, too. Of rows that
    do not fill the threads' last copies several threads copy the end, which is one's own."""
    path = tmp_path / "program.mlir"
    path.write_text(programs.layernorm(137, columns, "bf16"))
    options = {"cache": False, "schedules": (LONG.format("loop = copies"),)}
    exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
    copies = -(-columns // 8 // 512)  # of a thread, of one input
    assert exe.asm.count("cp.async.cg.shared.global") == 4 * copies
    verify(path, exe, random_inputs(exe.signature, 0), None)


@pytest.mark.parametrize("name", ["softmax", "layernorm", "rmsnorm"])
def test_read_again(name: str, tmp_path: Path) -> None:
    """Rows that registers do not hold, read again from the cache for each group of ops."""
    path = tmp_path / "program.mlir"
    path.write_text(getattr(programs, name)(11, 17416, "bf16"))
    exe = redfuse.compile(path, target="cuda:sm_90a", options={"cache": False})
    assert "maxntid 1024" in exe.asm and "cp.async" not in exe.asm
    verify(path, exe, random_inputs(exe.signature, 0), None)


EARLY = {
    "layernorm": programs.layernorm(13, 1000, "bf16"),
    "rmsnorm": programs.rmsnorm(13, 1009, "bf16"),
    "rmsnorm_blocks": programs.rmsnorm(5, 2056, "bf16"),
    "layernorm_blocks": programs.layernorm(5, 1288, "f32"),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("early", ["at_use", "with_rest", "before_exchange"])
@pytest.mark.parametrize("name", EARLY)
def test_early(name: str, early: str, tmp_path: Path) -> None:
    """What all rows read is loaded where it is used, with the rows, or before an exchange."""
    text = f"#redfuse.schedule<resident, grid = [0], tiles = [1, 0], hints = {{early = {early}}}>"
    small(EARLY[name], tmp_path, {"schedules": (text,)})


@pytest.mark.parametrize("rows", [37, 600])
def test_ahead(rows: int, tmp_path: Path) -> None:
    """The first blocks ask for their rows before they wait for the kernel before them."""
    text = "#redfuse.schedule<resident, grid = [0], tiles = [1, 0], hints = {prefetch = 24}>"
    path = tmp_path / "program.mlir"
    path.write_text(programs.rmsnorm(rows, 2048, "bf16"))
    options = {"cache": False, "schedules": (text,)}
    exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
    assert "cp.async.bulk.prefetch" in exe.asm
    verify(path, exe, random_inputs(exe.signature, 0), None)


@pytest.mark.parametrize("name", ["softmax_odd", "variance", "decode", "cross_entropy"])
def test_split(name: str, tmp_path: Path) -> None:
    """The last block to finish merges, whichever it is, and leaves the counters as they were."""
    path = tmp_path / "program.mlir"
    path.write_text(ROWS[name])
    options = {"cache": False, "schedule": "split", "splits": 5}
    exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
    inputs = random_inputs(exe.signature, 1)
    expected = Reference(path)(*inputs)
    expected = expected if isinstance(expected, tuple | list) else [expected]
    first, _ = execute(exe, inputs, expected, seed=1)
    second, _ = execute(exe, inputs, expected, seed=2)
    for a, b in zip(first, second, strict=True):
        assert a.tobytes() == b.tobytes()
    verify(path, exe, inputs, expected, seed=3)


@pytest.mark.parametrize(("rows", "columns"), [(7, 8192), (5, 4099), (11, 3000)])
def test_split_of_sums_of_long_rows(rows: int, columns: int, tmp_path: Path) -> None:
    """Losses of rows that a step has whole: a block's threads share each row."""
    p = Program()
    a, b = p.argument(rows, columns), p.argument(rows, columns)
    far = p.sum(p.square(p.binary("subf", a, b)), [1])
    small(p.text(p.sum(p.relu(far), [0])), tmp_path, {"schedule": "split", "splits": 3})


def pooling(shape: tuple[int, int, int], size: int, stride: int, op: str, pad: int) -> str:
    """The sum or the largest of every window of an image, padded by what adds nothing."""
    n, h, w = shape
    rows, columns = h + 2 * pad, w + 2 * pad
    start = "0.0" if op == "arith.addf" else "0xFF800000"
    high, wide = (rows - size) // stride + 1, (columns - size) // stride + 1
    out = f"tensor<{n}x{high}x{wide}xf32>"
    return f"""
#i = affine_map<(n, y, x, a, b) -> (n, y * {stride} + a, x * {stride} + b)>
#k = affine_map<(n, y, x, a, b) -> (a, b)>
#o = affine_map<(n, y, x, a, b) -> (n, y, x)>
func.func @main(%x: tensor<{n}x{h}x{w}xf32>) -> {out} {{
  %z = arith.constant {start} : f32
  %p = tensor.pad %x low[0, {pad}, {pad}] high[0, {pad}, {pad}] {{
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %z : f32
  }} : tensor<{n}x{h}x{w}xf32> to tensor<{n}x{rows}x{columns}xf32>
  %e = tensor.empty() : {out}
  %f = linalg.fill ins(%z : f32) outs(%e : {out}) -> {out}
  %k = tensor.empty() : tensor<{size}x{size}xf32>
  %r = linalg.generic {{indexing_maps = [#i, #k, #o],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}}
      ins(%p, %k : tensor<{n}x{rows}x{columns}xf32>, tensor<{size}x{size}xf32>) outs(%f : {out}) {{
  ^bb0(%v: f32, %u: f32, %o: f32):
    %m = {op} %o, %v : f32
    linalg.yield %m : f32
  }} -> {out}
  return %r : {out}
}}
"""


WINDOWS = {
    "overlapping": ((2, 20, 37), 3, 1, "arith.addf", 0),
    "padded": ((1, 33, 64), 3, 2, "arith.maximumf", 1),
    "wide": ((1, 13, 530), 5, 1, "arith.maximumf", 2),
    "apart": ((1, 50, 600), 2, 2, "arith.addf", 0),
    "small": ((1, 7, 9), 3, 1, "arith.addf", 1),
    "many_elements": ((1, 64, 64), 11, 11, "arith.addf", 0),
    "many_padded": ((1, 61, 83), 11, 3, "arith.maximumf", 5),
    "too_many_elements": ((1, 66, 70), 13, 13, "arith.addf", 0),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str, tmp_path: Path) -> None:
    """One kernel: padding is computed where it is read, and each thread has windows to itself."""
    assert small(pooling(*WINDOWS[name]), tmp_path) == ["main_0"]


@pytest.mark.parametrize("shape", [(1, 3, 40, 516), (2, 5, 31, 129), (1, 2, 130, 130)])
def test_rows_of_several_dims(shape: tuple[int, ...], tmp_path: Path) -> None:
    """Threads and steps go along one dim of what is folded, and on along the others."""
    p = Program()
    x = p.argument(*shape)
    away = p.binary("subf", x, p.mean(x, [1, 2, 3], keepdim=True))
    spread = p.with_scalar("addf", p.mean(p.square(away), [1, 2, 3], keepdim=True), 1e-5)
    text = p.text(p.binary("divf", away, p.unary("math.sqrt", spread)))
    small(text, tmp_path, {"schedule": "stream"})


RUNNING_SUM = "%n = arith.addf %h, %x : f32\n%q = arith.addf %n, %y : f32"
SUM_BEFORE = "%n = arith.addf %h, %x : f32\n%q = arith.mulf %h, %y : f32"
RUNNING_MAX = "%n = arith.maximumf %h, %x : f32\n%q = arith.subf %n, %y : f32"
# Of one warp and of several; vectors and single elements; rows that are held and that are walked.
SCANS = {
    "warps": ((2, 9000), RUNNING_SUM, {"schedule": "stream"}),
    "warps_odd": ((3, 9001), SUM_BEFORE, {"schedule": "stream"}),
    "held": ((2, 4100), SUM_BEFORE, {}),
    "held_odd": ((3, 2803), RUNNING_MAX, {}),
    "held_by_a_warp": ((5, 700), RUNNING_MAX, {}),
}


@pytest.mark.parametrize("name", SCANS)
def test_scans(name: str, tmp_path: Path) -> None:
    shape, body, options = SCANS[name]
    small(prefixes(shape, body, "2.0"), tmp_path, options)


@pytest.mark.parametrize("name", ["add", "maximumf", "exclusive"])
@pytest.mark.parametrize("columns", [17 * 1031, 17 * 1028])
def test_scans_in_pieces(name: str, columns: int, tmp_path: Path) -> None:
    """Of equal length, the only one there is. The last state is a result, too."""
    body = {"add": RUNNING_SUM, "maximumf": RUNNING_MAX, "exclusive": SUM_BEFORE}[name]
    launched = small(prefixes((2, columns), body, "2.0"), tmp_path)
    assert launched == ["main_0", "main_1", "main_2", "main_3"]


@pytest.mark.parametrize("columns", [1500, 1031])
def test_scans_of_one_warp(columns: int, tmp_path: Path) -> None:
    """A warp walks a row, and threads exchange nothing through shared memory."""
    path = tmp_path / "program.mlir"
    path.write_text(prefixes((5, columns), SUM_BEFORE, "2.0"))
    text = (
        "#redfuse.schedule<stream, grid = [0], tiles = [1, 512], stream = [1], "
        "hints = {threads = 32}>"
    )
    options = {"cache": False, "schedules": (text,)}
    exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
    assert "bar.sync" not in exe.asm
    verify(path, exe, random_inputs(exe.signature, 0), None)


CUMULATIVE = """
func.func @main(%x: tensor<3x{n}x{m}x{kind}>) -> tensor<3x{n}x{m}x{kind}> {{
  %e = tensor.empty() : tensor<3x{n}x{m}x{kind}>
  %l = tensor.empty() : tensor<3x{m}x{kind}>
  %z = arith.constant {start} : {kind}
  %f = linalg.fill ins(%z : {kind}) outs(%l : tensor<3x{m}x{kind}>) -> tensor<3x{m}x{kind}>
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3x{n}x{m}x{kind}>)
      outs(%e, %f : tensor<3x{n}x{m}x{kind}>, tensor<3x{m}x{kind}>) {{
  ^bb0(%a: {kind}, %b: {kind}):
    %n = {op} %a, %b : {kind}
    tm_tensor.yield %n : {kind}
  }} -> tensor<3x{n}x{m}x{kind}>, tensor<3x{m}x{kind}>
  return %r#0 : tensor<3x{n}x{m}x{kind}>
}}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize(("n", "m"), [(300, 64), (40, 3), (2000, 7), (70, 1000)])
@pytest.mark.parametrize("kind", ["i64", "f32"])
def test_scans_of_a_middle_axis(n: int, m: int, kind: str, tmp_path: Path) -> None:
    """Threads side by side have vectors of other axes, and those along the axis follow."""
    op, start = ("arith.addi", "0") if kind == "i64" else ("arith.mulf", "1.0")
    small(CUMULATIVE.format(n=n, m=m, kind=kind, op=op, start=start), tmp_path)


@pytest.mark.parametrize(("n", "m", "kind"), [(2000, 7, "f32"), (70, 1000, "i64")])
def test_totals_of_warps_are_read_in_a_loop(n: int, m: int, kind: str) -> None:
    """What sixteen warps have of 32 elements each: ptxas reads all ahead, and spills 13 KB."""
    op, start = ("arith.addi", "0") if kind == "i64" else ("arith.mulf", "1.0")
    text = CUMULATIVE.format(n=n, m=m, kind=kind, op=op, start=start)
    exe = redfuse.compile(text, target="cuda:sm_90a", options={"cache": False})
    assert exe.asm.count("ld.shared") <= 100


def test_constants_are_copied_once(tmp_path: Path) -> None:
    """A table in the program is memory of the host: the GPU has a copy, made by the first call."""
    path = tmp_path / "program.mlir"
    path.write_text("""
func.func @main(%x: tensor<5x4xf32>) -> tensor<5xf32> {
  %table = arith.constant dense<[1.0, -2.0, 0.5, 3.0]> : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<5xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<5xf32>) -> tensor<5xf32>
  %y = linalg.matvec ins(%x, %table : tensor<5x4xf32>, tensor<4xf32>)
      outs(%init : tensor<5xf32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}
""")
    exe = redfuse.compile(path, target="cuda:sm_90a", options={"cache": False})
    before = cuda.fake_calls(b"cuMemcpyHtoDAsync_v2")
    for seed in range(2):
        verify(path, exe, random_inputs(exe.signature, seed), None, seed)
    assert cuda.fake_calls(b"cuMemcpyHtoDAsync_v2") == before + 1


@pytest.mark.parametrize("splits", [3, 5])
def test_steps_that_reduce_another_dim(splits: int) -> None:
    """A step of a fold reduces a dim whose threads are those of the streamed one."""
    path = Path(__file__).parents[2] / "fuzz" / "found" / "sum_of_all_in_each_segment.mlir"
    options = {"cache": False, "schedule": "split", "splits": splits}
    exe = redfuse.compile(path, target="cuda:sm_90a", options=options)
    verify(path, exe, random_inputs(exe.signature, 2), None)


def test_no_results_of_a_reduction() -> None:
    """No rows: no thread of the kernel, which has another result, may touch them."""
    path = Path(__file__).parents[2] / "fuzz" / "found" / "no_rows.mlir"
    exe = redfuse.compile(
        path, target="cuda:sm_90a", options={"cache": False, "schedule": "stream"}
    )
    verify(path, exe, random_inputs(exe.signature, 2), None)


def gather(rows: int, columns: int, dtype: str = "f32") -> str:
    """Of each row the logarithm of a softmax at a position from data, which is asserted to be in
    the row."""
    wide, index, out = (
        f"tensor<{rows}x{columns}x{dtype}>",
        f"tensor<{rows}xi64>",
        f"tensor<{rows}xf32>",
    )
    return f"""
    #row = affine_map<(i) -> (i)>
    #of = affine_map<(i, j) -> (i, j)>
    #in = affine_map<(i, j) -> (i)>
    func.func @main(%x: {wide}, %at: {index}) -> {out} {{
      %zero = arith.constant 0.0 : f32
      %count = arith.constant {columns} : index
      %none = arith.constant 0 : i64
      %e = tensor.empty() : {out}
      %z = linalg.fill ins(%zero : f32) outs(%e : {out}) -> {out}
      %s = linalg.generic {{indexing_maps = [#of, #in], iterator_types = ["parallel", "reduction"]}}
          ins(%x : {wide}) outs(%z : {out}) {{
      ^bb0(%v: f32, %acc: f32):
        %p = math.exp %v : f32
        %n = arith.addf %p, %acc : f32
        linalg.yield %n : f32
      }} -> {out}
      %r = linalg.generic {{indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}}
          ins(%at, %s : {index}, {out}) outs(%e : {out}) {{
      ^bb0(%k: i64, %sum: f32, %o: f32):
        %i = linalg.index 0 : index
        %j = arith.index_cast %k : i64 to index
        %small = arith.cmpi slt, %j, %count : index
        cf.assert %small, "the label is too large"
        %large = arith.cmpi sge, %k, %none : i64
        cf.assert %large, "the label is negative"
        %v = tensor.extract %x[%i, %j] : {wide}
        %l = math.log %sum : f32
        %d = arith.subf %v, %l : f32
        linalg.yield %d : f32
      }} -> {out}
      return %r : {out}
    }}
    """


@pytest.mark.parametrize(("rows", "columns"), [(5, 64), (13, 203), (3, 5000)])
@pytest.mark.parametrize("schedule", ["auto", "stream", "split"])
def test_assertions(rows: int, columns: int, schedule: str) -> None:
    """Reported by the next call, or when asked for; of rows that do not exist nothing is."""
    exe = redfuse.compile(
        gather(rows, columns), target="cuda:sm_90a", options={"cache": False, "schedule": schedule}
    )
    random = np.random.default_rng(0)
    x = random.standard_normal((rows, columns), np.float32)
    labels = random.integers(0, columns, rows)
    (messages,) = re.findall(r"redfuse_messages\[\d+\] = \{(.*?)\}", exe.asm)
    text = bytes(map(int, messages.split(",")))
    variables = {
        "redfuse_report": (cuda.fake_global(b"redfuse_report", bytes(8), 8), 8),
        "redfuse_messages": (cuda.fake_global(b"redfuse_messages", text, len(text)), len(text)),
    }
    data, out = aligned_copy(x), aligned_copy(np.zeros(rows, np.float32))
    want = x[np.arange(rows), labels] - np.log(np.exp(x.astype(np.float64)).sum(1))

    def call(at: np.ndarray) -> None:
        labels = aligned_copy(at)
        with Simulation(exe, variables=variables) as simulation:
            simulation.arrays = [data, labels, out]
            exe(Typed(data), Typed(labels), out=Typed(out))

    try:
        for value, message in ((columns, "the label is too large"), (-1, "the label is negative")):
            call(labels)
            exe.check()
            np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)
            wrong = labels.copy()
            wrong[rows - 1] = value
            call(wrong)
            with pytest.raises(redfuse.ExecutionError, match=f"main: {message} \\(in a kernel"):
                call(labels)
            call(wrong)
            with pytest.raises(redfuse.ExecutionError, match=message):
                exe.check()
        call(labels)
        exe.check()
    finally:
        cuda.fake_no_globals()


INDICES = """
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<5x192xindex>)
    -> (tensor<5xindex>, tensor<5x192xindex>) {
  %zero = arith.constant 0 : index
  %empty = tensor.empty() : tensor<5xindex>
  %fill = linalg.fill ins(%zero : index) outs(%empty : tensor<5xindex>) -> tensor<5xindex>
  %most = linalg.reduce {arith.maxsi} ins(%x : tensor<5x192xindex>) outs(%fill : tensor<5xindex>)
          dimensions = [1]
  %all = tensor.empty() : tensor<5x192xindex>
  %moved = linalg.generic {indexing_maps = [#rows, #row, #rows],
                           iterator_types = ["parallel", "parallel"]}
      ins(%x, %most : tensor<5x192xindex>, tensor<5xindex>) outs(%all : tensor<5x192xindex>) {
  ^bb0(%a: index, %b: index, %o: index):
    %j = linalg.index 1 : index
    %s = arith.subi %b, %a : index
    %t = arith.addi %s, %j : index
    linalg.yield %t : index
  } -> tensor<5x192xindex>
  return %most, %moved : tensor<5xindex>, tensor<5x192xindex>
}
"""


def test_indices_in_memory(tmp_path: Path) -> None:
    """Tensors of indices, which have no width of their own in MLIR, are of 64 bits."""
    exe = redfuse.compile(INDICES, target="cuda:sm_90a", options={"cache": False})
    rng = np.random.default_rng(0)
    x = rng.integers(0, 1 << 40, (5, 192))
    want = [x.max(1), x.max(1)[:, None] - x + np.arange(192)]
    got, _ = execute(exe, [x], want)
    for mine, wanted in zip(got, want, strict=True):
        np.testing.assert_array_equal(mine, wanted)


@pytest.mark.sample(2)
@pytest.mark.parametrize("rounds", [0, 1, 3])
@pytest.mark.parametrize(
    "name", ["SINKHORN", "SWAP", "ONLINE", "SWAP_ANY", "PRODUCTS", "BRANCH_ANY"]
)
def test_loops_that_carry_tensors(name: str, rounds: int, tmp_path: Path) -> None:
    """The host launches round after round; branches hand on what they were given."""
    text = getattr(test_carried, name)
    exe = redfuse.compile(text, target="cuda:sm_90a", options={"cache": False})
    rng = np.random.default_rng(0)
    inputs = [
        rounds
        if spec.scalar
        else rng.standard_normal([n or 7 for n in spec.shape]).astype(np.float32)
        for spec in exe.signature.inputs
    ]
    want = redfuse.compile(text, options={"fuse": False, "cache": False})(*inputs)
    want = want if isinstance(want, tuple | list) else [want]
    for mine, wanted in zip(execute(exe, inputs, want)[0], want, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5)


@pytest.mark.parametrize("schedule", ["auto", "split"])
@pytest.mark.parametrize("op, predicate", [("maximumf", "ogt"), ("minnumf", "olt"), ("", "ogt")])
def test_extrema_with_index(op: str, predicate: str, schedule: str, tmp_path: Path) -> None:
    """A NaN is no maximum, wherever it stands; equal numbers go by their index."""
    spelling = (predicate, False, False)
    body = extrema.beside(op, predicate) if op else extrema.by_selects(*spelling)
    for shape, start in [((6, 203), (1.0, -7)), ((6, 2048), (np.inf, 5))]:
        if predicate == "ogt":
            start = (-start[0], start[1])
        path = tmp_path / "program.mlir"
        path.write_text(extrema.program([body], shape, start))
        exe = redfuse.compile(
            path, target="cuda:sm_90a", options={"cache": False, "schedule": schedule}
        )
        for x in extrema.data(shape, 5):
            kept = [extrema.walked(row, spelling, start) for row in x]
            numbers, indices = (np.array(v) for v in zip(*kept, strict=True))
            if op == "maximumf":
                numbers = np.where(np.isnan(x).any(-1), np.nan, numbers)
            want = [numbers.astype(np.float32), indices.astype(np.int32)]
            (value, index), _ = execute(exe, [x], want)
            np.testing.assert_array_equal(value, numbers)
            np.testing.assert_array_equal(index, indices)
