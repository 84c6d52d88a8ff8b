"""Matrix instructions and copies of boxes against NumPy."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

import simulators
from simulators import SimulationError
from simulators.copies import TensorMap, swizzled
from simulators.kernels import kernel, run

_LANE = np.arange(32)


def words(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).view(np.uint32).reshape(values.shape[:-1])


def run_mma(op: str, fragments: list[np.ndarray], result: np.ndarray) -> None:
    """Fragments are [register, lane], of a, b and the sum, all of 4 bytes or of 8; so is the result."""
    size = result.itemsize
    bits, names, loads = f"b{8 * size}", [], []
    for number, fragment in enumerate(fragments):
        registers = [f"%r{10 * (number + 1) + j}" for j in range(len(fragment))]
        names.append("{" + ", ".join(registers) + "}")
        loads.append(f"ld.param.b64 %rd1, [p{number}];\n add.s64 %rd1, %rd1, %rd9;")
        loads += [f"ld.global.{bits} {r}, [%rd1+{32 * size * j}];" for j, r in enumerate(registers)]
    made = [f"%r{50 + j}" for j in range(len(result))]
    stores = [f"st.global.{bits} [%rd1+{32 * size * j}], {r};" for j, r in enumerate(made)]
    body = "\n".join([
        f"mov.u32 %r1, %tid.x;\n mul.wide.u32 %rd9, %r1, {size};", *loads,
        f"{op} {{{', '.join(made)}}}, {', '.join(names)};",
        "ld.param.b64 %rd1, [p3];\n add.s64 %rd1, %rd1, %rd9;", *stores,
    ])  # fmt: skip
    run(kernel(body, 4), *fragments, result)


@pytest.mark.parametrize(
    ("shape", "kind", "dtype"),
    [("m16n8k16", "bf16", ml_dtypes.bfloat16), ("m16n8k16", "f16", np.float16),
     ("m16n8k8", "f16", np.float16), ("m16n8k32", "e4m3", ml_dtypes.float8_e4m3fn)],
)  # fmt: skip
def test_products_of_a_warp(shape: str, kind: str, dtype: type) -> None:
    """Fragments as the PTX ISA draws them."""
    length = int(shape.split("k")[1])
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (16, length)).astype(dtype)
    b = rng.integers(-4, 5, (length, 8)).astype(dtype)
    c = rng.integers(-9, 9, (16, 8)).astype(np.float32)
    each = 4 // a.itemsize
    group, member = _LANE // 4, _LANE % 4
    inner = member[:, None] * each + np.arange(each)
    halves = range(length // (4 * each))
    left = np.stack([
        words(a[(group + 8 * high)[:, None], inner + 4 * each * along])
        for along in halves for high in range(2)
    ])  # fmt: skip
    right = np.stack([words(b[inner + 4 * each * along, group[:, None]]) for along in halves])
    place = [(group + 8 * (j // 2), 2 * member + j % 2) for j in range(4)]
    added = np.stack([c[at] for at in place])
    got = np.zeros((4, 32), np.float32)
    op = f"mma.sync.aligned.{shape}.row.col.f32.{kind}.{kind}.f32"
    run_mma(op, [left, right, added], got)
    want = c + a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(got, np.stack([want[at] for at in place]))


def test_products_of_tf32() -> None:
    """Of f32, whose lower 13 bits do not count."""
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (16, 8)).astype(np.float32)
    b = rng.integers(-4, 5, (8, 8)).astype(np.float32)
    c = rng.integers(-9, 9, (16, 8)).astype(np.float32)
    group, member = _LANE // 4, _LANE % 4
    left = np.stack([
        a[group + 8 * high, member + 4 * along].view(np.uint32)
        for along in range(2) for high in range(2)
    ])  # fmt: skip
    right = np.stack([b[member + 4 * along, group].view(np.uint32) for along in range(2)])
    noise = np.uint32(0x1FFF)
    place = [(group + 8 * (j // 2), 2 * member + j % 2) for j in range(4)]
    got = np.zeros((4, 32), np.float32)
    op = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
    run_mma(op, [left | noise, right | noise, np.stack([c[at] for at in place])], got)
    np.testing.assert_array_equal(got, np.stack([(c + a @ b)[at] for at in place]))


@pytest.mark.parametrize("shape", ["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"])
def test_products_of_doubles(shape: str) -> None:
    """Fragments as the PTX ISA draws them: a register along rows, then along sums."""
    rows, length = (int(n) for n in re.match(r"m(\d+)n8k(\d+)", shape).groups())
    rng = np.random.default_rng(0)
    a = rng.integers(-(2**24), 2**24, (rows, length)).astype(np.float64)
    b = rng.integers(-(2**24), 2**24, (length, 8)).astype(np.float64)
    c = rng.integers(-9, 9, (rows, 8)).astype(np.float64)
    group, member = _LANE // 4, _LANE % 4
    left = np.stack([
        a[group + 8 * high, member + 4 * along]
        for along in range(length // 4) for high in range(rows // 8)
    ])  # fmt: skip
    right = np.stack([b[member + 4 * along, group] for along in range(length // 4)])
    place = [(group + 8 * (j // 2), 2 * member + j % 2) for j in range(rows // 4)]
    got = np.zeros((rows // 4, 32), np.float64)
    op = f"mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64"
    run_mma(op, [left, right, np.stack([c[at] for at in place])], got)
    np.testing.assert_array_equal(got, np.stack([(c + a @ b)[at] for at in place]))


@pytest.mark.parametrize("is_transposed", [False, True])
def test_fragments_from_shared_memory(is_transposed: bool) -> None:
    """Four matrices of 8 by 8; a lane gets two neighbours of a row, or of a column."""
    data = np.arange(256, dtype=np.uint16).reshape(4, 8, 8)
    out = np.zeros((4, 32), np.uint32)
    text = kernel(f"""
    ld.param.b64 %rd1, [p0];
    ld.param.b64 %rd2, [p1];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 16;
    add.s64 %rd1, %rd1, %rd3;
    mul.wide.u32 %rd4, %r1, 4;
    add.s64 %rd2, %rd2, %rd4;
    ld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%rd1];
    mov.b32 %r3, memory;
    shl.b32 %r2, %r1, 4;
    add.s32 %r3, %r3, %r2;
    st.shared.v4.b32 [%r3], {{%r10, %r11, %r12, %r13}};
    ldmatrix.sync.aligned.m8n8.x4{".trans" if is_transposed else ""}.shared.b16 {{%r20, %r21, %r22, %r23}}, [%r3];
    st.global.b32 [%rd2], %r20;
    st.global.b32 [%rd2+128], %r21;
    st.global.b32 [%rd2+256], %r22;
    st.global.b32 [%rd2+384], %r23;""")
    run(text, data, out, shared=512)
    rows = data.swapaxes(1, 2) if is_transposed else data
    want = np.ascontiguousarray(rows).view(np.uint32).reshape(4, 32)
    np.testing.assert_array_equal(out, want)
    with pytest.raises(SimulationError, match="of shared memory was never written"):
        run(text.replace("st.shared.v4.b32 [%r3]", "@!%p1 st.shared.v4.b32 [%r3]").replace(
            "mov.b32 %r3, memory;", "mov.b32 %r3, memory;\n setp.eq.b32 %p1, %r1, 9;"),
            data, out, shared=512)  # fmt: skip


# A warpgroup multiplies two boxes, which its first thread copies.
_BOXES = """
    ld.param.b64 %rd9, [p2];
    mov.u32 %r1, %tid.x;
    mov.b32 %r3, memory;
    add.s32 %r4, %r3, 8192;
    add.s32 %r5, %r3, 16384;
    setp.ne.b32 %p1, %r1, 0;
    @%p1 bra $MADE;
    mbarrier.init.shared::cta.b64 [%r5], 1;
$MADE:
    bar.sync 0;
    @%p1 bra $WAIT;
    mov.b32 %r6, 0;
    mov.b64 %rd1, p0;
    mov.b64 %rd2, p1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 16384;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd1, {%r6, %r6}], [%r5];
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4], [%rd2, {%r6, %r6}], [%r5];
$WAIT:
    // begin inline asm
    {
    .reg .pred p;
    L_WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], 0;
    @p bra L_DONE;
    bra L_WAIT;
    L_DONE:
    }
    // end inline asm
    cvt.u64.u32 %rd3, %r3;
    shr.u64 %rd3, %rd3, 4;
    or.b64 %rd3, %rd3, 4611686293305294848;
    cvt.u64.u32 %rd4, %r4;
    shr.u64 %rd4, %rd4, 4;
    or.b64 %rd4, %rd4, 4611686293305294848;
    setp.ne.b32 %p2, %r1, %r1;
PRODUCTS
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    mul.wide.u32 %rd5, %r1, 4;
    add.s64 %rd9, %rd9, %rd5;
STORES
"""


def products(columns: int = 64) -> str:
    outs = [f"%f{j}" for j in range(columns // 2)]
    lines = []
    for _ in range(4):  # 16 elements, 32 bytes, a step
        lines.append(
            f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.bf16.bf16 {{{', '.join(outs)}}}, "
            "%rd3, %rd4, %p2, 1, 1, 0, 0;\n add.s64 %rd3, %rd3, 2;\n add.s64 %rd4, %rd4, 2;\n"
            "setp.eq.b32 %p2, %r1, %r1;"
        )
    stores = [f"st.global.b32 [%rd9+{512 * j}], {r};" for j, r in enumerate(outs)]
    return _BOXES.replace("PRODUCTS", "\n".join(lines)).replace("STORES", "\n".join(stores))


def tensor(array: np.ndarray, box: tuple[int, int]) -> bytes:
    return TensorMap(
        array.ctypes.data, np.array(array.shape[::-1]), np.array(array.strides[:1]), np.array(box)
    ).encode().tobytes()  # fmt: skip


def text_of(body: str) -> str:
    text = kernel(body, 3)
    for name in ("p0", "p1"):
        text = text.replace(f".param .u64 {name}", f".param .align 64 .b8 {name}[128]")
    return text


def multiplied(body: str, rows: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """What a warpgroup makes of two matrices of which one lacks rows; and what it should."""
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (rows, 64)).astype(ml_dtypes.bfloat16)
    b = rng.integers(-4, 5, (64, 64)).astype(ml_dtypes.bfloat16)
    out = np.zeros((32, 128), np.float32)
    memory = simulators.Memory([a, b])
    program = simulators.load(text_of(body))
    arguments = [tensor(a, (64, 64)), tensor(b, (64, 64)), out]
    program.launch("main", 1, 128, arguments, shared=16392, memory=memory)
    lane, r = np.arange(128), np.arange(32)[:, None]
    row = lane // 32 * 16 + lane % 32 // 4
    whole = np.zeros((64, 64), np.float32)
    whole[:rows] = a.astype(np.float32) @ b.astype(np.float32).T
    return out, whole[row + r // 2 % 2 * 8, r // 4 * 8 + lane % 4 * 2 + r % 2]


@pytest.mark.parametrize("rows", [64, 37])
def test_products_of_a_warpgroup(rows: int) -> None:
    """Beyond the end of a tensor a box has zeros."""
    got, want = multiplied(products(), rows)
    np.testing.assert_array_equal(got, want)


def test_boxes_that_nobody_waits_for() -> None:
    body = products()
    wait = body[body.index("    // begin") : body.index("// end inline asm")]
    with pytest.raises(SimulationError, match="was never written|race in shared memory"):
        multiplied(body.replace(wait, ""))


def test_operands_that_change_before_the_wait() -> None:
    body, wait = products(), "    wgmma.wait_group.sync.aligned 0;"
    store = "    shl.b32 %r9, %r1, 2;\n add.s32 %r9, %r9, %r3;\n st.shared.b32 [%r9], 0;\n"
    with pytest.raises(SimulationError, match="race"):
        multiplied(body.replace(wait, store + wait))
    # After it a warp may change what it alone reads of the left operand; others read the right one.
    multiplied(body.replace(wait, f"{wait}\n bar.sync 0;\n{store}"))


def test_swizzles_are_their_own_inverse() -> None:
    at = np.arange(4096)
    np.testing.assert_array_equal(swizzled(swizzled(at)), at)
    assert len(set(swizzled(at).tolist())) == len(at)


# Two blocks copy eight rows each for both, and read the first of either half; then lane l of each arrives
# at the second barrier of block rank ^ l.
_MULTICAST = """
    ld.param.b64 %rd9, [p1];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.b32 %r3, memory;
    add.s32 %r4, %r3, 2048;
    add.s32 %r5, %r3, 2056;
    setp.ne.b32 %p1, %r1, 0;
    @%p1 bra $MADE;
    mbarrier.init.shared::cta.b64 [%r4], 1;
    mbarrier.init.shared::cta.b64 [%r5], 2;
$MADE:
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    @%p1 bra $WAIT;
    shl.b32 %r6, %r2, 3;
    shl.b32 %r7, %r2, 10;
    add.s32 %r7, %r7, %r3;
    mov.b32 %r8, 0;
    mov.b32 %r9, BLOCKS;
    cvt.u16.u32 %rs1, %r9;
    mov.b64 %rd1, p0;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 2048;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r7], [%rd1, {%r8, %r6}], [%r4], %rs1;
$WAIT:
    // begin inline asm
    {
    .reg .pred p;
    L_WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 p, [%r4], 0;
    @p bra L_DONE;
    bra L_WAIT;
    L_DONE:
    }
    // end inline asm
    shl.b32 %r10, %r1, 2;
    add.s32 %r11, %r3, %r10;
    ld.shared.b32 %r12, [%r11];
    ld.shared.b32 %r13, [%r11+1024];
    setp.gt.u32 %p2, %r1, 1;
    @%p2 bra $AFTER;
    xor.b32 %r14, %r1, %r2;
    mapa.shared::cluster.u32 %r15, %r5, %r14;
    mbarrier.arrive.shared::cluster.b64 _, [%r15];
$AFTER:
    // begin inline asm
    {
    .reg .pred p;
    L_WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 p, [%r5], 0;
    @p bra L_DONE;
    bra L_WAIT;
    L_DONE:
    }
    // end inline asm
    shl.b32 %r16, %r2, 8;
    add.s32 %r16, %r16, %r10;
    cvt.u64.u32 %rd2, %r16;
    add.s64 %rd3, %rd9, %rd2;
    st.global.b32 [%rd3], %r12;
    st.global.b32 [%rd3+128], %r13;
"""
_OF_TWO = ".explicitcluster\n.reqnctapercluster 2, 1, 1"


def multicast(body: str) -> tuple[np.ndarray, np.ndarray]:
    a = np.random.default_rng(1).integers(-4, 5, (16, 64)).astype(ml_dtypes.bfloat16)
    out = np.zeros((2, 2, 32), np.uint32)
    text = kernel(body, 2, directives=_OF_TWO)
    program = simulators.load(text.replace(".param .u64 p0", ".param .align 64 .b8 p0[128]"))
    memory = simulators.Memory([a])
    program.launch("main", 2, 32, [tensor(a, (64, 8)), out], shared=2064, memory=memory)
    return out, np.stack([a.view(np.uint32)[[0, 8]]] * 2)


def test_copies_to_all_blocks_of_a_cluster() -> None:
    """Each block has both halves, and both know when the other one has read them."""
    got, want = multicast(_MULTICAST.replace("BLOCKS", "3"))
    np.testing.assert_array_equal(got, want)
    with pytest.raises(SimulationError, match="a block that the cluster lacks"):
        multicast(_MULTICAST.replace("BLOCKS", "7"))
    with pytest.raises(SimulationError):  # who waits for a half that nobody copies
        multicast(_MULTICAST.replace("BLOCKS", "1"))
