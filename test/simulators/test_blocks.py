"""Threads of a block with each other: barriers, shared memory and races in it, clusters, grids."""

from __future__ import annotations

import numpy as np
import pytest

import simulators
from simulators import SimulationError
from simulators.kernels import OWN_WORDS, kernel, line_of, run

# %r3: where this thread's word of shared memory is; %r4: the one of the thread on the other end.
_SHARED = """
    shl.b32 %r2, %r1, 2;
    mov.b32 %r10, memory;
    add.s32 %r3, %r10, %r2;
    mov.u32 %r5, %ntid.x;
    sub.s32 %r5, %r5, 1;
    sub.s32 %r5, %r5, %r1;
    shl.b32 %r5, %r5, 2;
    add.s32 %r4, %r10, %r5;
    ld.global.b32 %r6, [%rd1];
"""
_LOAD = "ld.shared.b32 %r7, [%r4];\n st.global.b32 [%rd2], %r7;\n"


def reversed_by(body: str, threads: int) -> np.ndarray:
    """What a block makes of 3, 4, 5, ..."""
    a = np.arange(threads, dtype=np.uint32) + 3
    out = np.zeros(threads, np.uint32)
    run(kernel(OWN_WORDS + _SHARED + body), a, out, threads=threads, shared=4 * threads)
    return out


@pytest.mark.parametrize("threads", [32, 96, 128])
@pytest.mark.parametrize("barrier", ["bar.sync 0;", "barrier.sync 0;", "bar.sync 3, {threads};"])
def test_a_barrier_orders_words(barrier: str, threads: int) -> None:
    barrier = barrier.format(threads=threads)
    got = reversed_by(f"st.shared.b32 [%r3], %r6;\n {barrier}\n {_LOAD}", threads)
    np.testing.assert_array_equal(got, np.arange(threads)[::-1] + 3)


def test_no_barrier_is_a_race() -> None:
    """Warps that read what others wrote, in whatever order they happen to run."""
    with pytest.raises(SimulationError, match="race in shared memory: not ordered after .* warp"):
        reversed_by(f"st.shared.b32 [%r3], %r6;\n {_LOAD}", 64)
    # Lanes of one warp are in step.
    np.testing.assert_array_equal(
        reversed_by(f"st.shared.b32 [%r3], %r6;\n {_LOAD}", 32), np.arange(32)[::-1] + 3
    )


def test_overwriting_what_others_read_is_a_race() -> None:
    before = f"st.shared.b32 [%r3], %r6;\n bar.sync 0;\n {_LOAD}"
    with pytest.raises(SimulationError, match="race") as caught:
        reversed_by(f"{before} st.shared.b32 [%r3], 1;", 64)
    assert "st.shared.b32 [%r3], 1" in str(caught.value)
    got = reversed_by(f"{before} bar.sync 0;\n st.shared.b32 [%r3], 1;", 64)
    np.testing.assert_array_equal(got, np.arange(64)[::-1] + 3)


def test_two_writers() -> None:
    """At once they must agree; one after the other they are a race."""
    with pytest.raises(SimulationError, match="threads store different values at one address"):
        reversed_by("st.shared.b32 [%r10], %r6;", 64)
    reversed_by("st.shared.b32 [%r10], 7;", 64)
    body = (
        "setp.lt.u32 %p1, %r1, 32;\n @%p1 st.shared.b32 [%r10], 7;\n @!%p1 st.shared.b32 [%r10], 7;"
    )
    with pytest.raises(SimulationError, match="race"):
        reversed_by(body, 64)


def test_arrivals_order_words() -> None:
    """Warp 1 arrives and goes on, warp 0 waits: for its words, not for those stored afterwards."""
    body = """
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra $WAIT;
    st.shared.b32 [%r3], %r6;
    bar.arrive 1, 64;
    {more}
    bra $END;
$WAIT:
    bar.sync 1, 64;
    ld.shared.b32 %r7, [%r4];
    st.global.b32 [%rd2], %r7;
$END:"""
    got = reversed_by(body.format(more=""), 64)
    np.testing.assert_array_equal(got[:32], np.arange(64)[:31:-1] + 3)
    with pytest.raises(SimulationError, match="race"):
        reversed_by(body.format(more="st.shared.b32 [%r3], 9;"), 64)


def test_barriers_that_some_never_reach() -> None:
    body = "setp.lt.u32 %p1, %r1, 32;\n @%p1 bar.sync 1, 64;"
    with pytest.raises(SimulationError, match="all threads wait: line .*bar.sync 1, 64"):
        reversed_by(body, 64)
    # Those that have ended are not waited for at a barrier of all.
    body = "setp.lt.u32 %p1, %r1, 32;\n @%p1 bra $END;\n bar.sync 0;\n st.global.b32 [%rd2], %r6;\n$END:"
    np.testing.assert_array_equal(reversed_by(body, 64)[32:], np.arange(32, 64) + 3)


def test_more_arrivals_than_a_barrier_has() -> None:
    with pytest.raises(SimulationError, match="more threads than 32"):
        reversed_by("bar.sync 1, 32;", 64)


def test_half_a_warp_at_a_shuffle() -> None:
    body = "setp.lt.u32 %p1, %r1, 16;\n @%p1 bra $END;\n shfl.sync.bfly.b32 %r7, %r6, 1, 31, -1;\n$END:\n bar.sync 0;"
    with pytest.raises(SimulationError, match="all threads wait"):
        reversed_by(body, 32)


# Copies -------------------------------------------------------------------------------------------
_COPY = "cp.async.ca.shared.global [%r3], [%rd1], 4, 4;\n cp.async.commit_group;\n"


def test_copies_arrive_when_they_are_waited_for() -> None:
    done = "cp.async.wait_group 0;\n bar.sync 0;\n"
    np.testing.assert_array_equal(reversed_by(_COPY + done + _LOAD, 64), np.arange(64)[::-1] + 3)
    with pytest.raises(SimulationError, match="was never written"):
        reversed_by(_COPY + "bar.sync 0;\n" + _LOAD, 64)
    with pytest.raises(SimulationError, match="was never written"):
        reversed_by(_COPY + "cp.async.wait_group 1;\n bar.sync 0;\n" + _LOAD, 64)
    with pytest.raises(SimulationError, match="race"):
        reversed_by(_COPY + "cp.async.wait_group 0;\n" + _LOAD, 64)


def test_copies_of_nothing_are_zeros() -> None:
    body = "cp.async.ca.shared.global [%r3], [%rd1], 4, 0;\n cp.async.wait_all;\n bar.sync 0;\n"
    assert not reversed_by(body + _LOAD, 64).any()


def test_copies_from_outside() -> None:
    with pytest.raises(SimulationError, match="is in no array"):
        reversed_by("cp.async.ca.shared.global [%r3], [%rd1+4], 4, 4;", 32)


# Barriers in shared memory ------------------------------------------------------------------------
_PHASED = """
    setp.ne.b32 %p1, %r1, 0;
    @%p1 bra $MADE;
    mbarrier.init.shared::cta.b64 [%r10], 32;
$MADE:
    bar.sync 0;
    setp.lt.u32 %p2, %r1, 32;
    @%p2 bra $WAIT;
    st.shared.b32 [%r3+8], %r6;
    mbarrier.arrive.shared::cta.b64 _, [%r10];
    bra $END;
$WAIT:
    // begin inline asm
    {
    .reg .pred p;
    L_WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 p, [%r10], 0;
    @p bra L_DONE;
    bra L_WAIT;
    L_DONE:
    }
    // end inline asm
    ld.shared.b32 %r7, [%r4+8];
    st.global.b32 [%rd2], %r7;
$END:
"""


def phased(text: str) -> np.ndarray:
    a, out = np.arange(64, dtype=np.uint32) + 3, np.zeros(64, np.uint32)
    run(text, a, out, threads=64, shared=8 + 4 * 64)
    return out


def test_phases_order_words() -> None:
    text = kernel(OWN_WORDS + _SHARED + _PHASED)
    np.testing.assert_array_equal(phased(text)[:32], np.arange(64)[:31:-1] + 3)
    with pytest.raises(SimulationError, match="all threads wait"):
        phased(text.replace("[%r10], 32;", "[%r10], 33;"))
    arrive = "mbarrier.arrive.shared::cta.b64 _, [%r10];"
    with pytest.raises(SimulationError, match="an arrival more than the barrier expects"):
        more = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], 4;"
        phased(text.replace(arrive, more).replace("[%r10], 32;", "[%r10], 31;"))
    with pytest.raises(SimulationError, match="no barrier was made at 0x8"):
        phased(text.replace(arrive, arrive.replace("[%r10]", "[%r10+8]")))
    with pytest.raises(SimulationError, match="race"):
        store = "st.shared.b32 [%r3+8], %r6;"
        late = text.replace(store, "").replace(arrive, f"{arrive}\n{store}")
        phased(late.replace("bar.sync 0;", f"{store}\n bar.sync 0;"))


# Clusters and grids -------------------------------------------------------------------------------
_CLUSTER = """
    mov.u32 %r20, %ctaid.x;
    shl.b32 %r21, %r20, 7;
    cvt.u64.u32 %rd5, %r21;
    add.s64 %rd1, %rd1, %rd5;
    add.s64 %rd2, %rd2, %rd5;
    ld.global.b32 %r6, [%rd1];
    st.shared.b32 [%r3], %r6;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    and.b32 %r22, %r20, 1;
    xor.b32 %r22, %r22, 1;
    mapa.shared::cluster.u32 %r23, %r3, %r22;
    ld.shared::cluster.b32 %r7, [%r23];
    st.global.b32 [%rd2], %r7;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
"""
_DIRECTIVES = ".explicitcluster\n.reqnctapercluster 2, 1, 1"


def test_shared_memory_of_other_blocks() -> None:
    text = kernel(OWN_WORDS + _SHARED + _CLUSTER, directives=_DIRECTIVES)
    a, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    run(text, a, out, threads=32, blocks=4, shared=128)
    np.testing.assert_array_equal(out.reshape(4, 32), a.reshape(4, 32)[[1, 0, 3, 2]])
    with pytest.raises(SimulationError, match="race"):
        run(
            text.replace("arrive.release", "arrive.relaxed"),
            a,
            out,
            threads=32,
            blocks=4,
            shared=128,
        )
    with pytest.raises(SimulationError, match="5 blocks are not whole clusters of 2"):
        run(text, a, out, threads=32, blocks=5, shared=128)
    with pytest.raises(SimulationError, match="a block that the cluster lacks"):
        run(text.replace("xor.b32 %r22, %r22, 1", "xor.b32 %r22, %r22, 2"), a, out, threads=32,
            blocks=4, shared=128)  # fmt: skip


@pytest.mark.parametrize("order", [range(5), [4, 2, 0, 1, 3]])
def test_blocks_in_any_order(order) -> None:
    """A counter that is zero again after the last block."""
    text = kernel("""
    ld.param.b64 %rd1, [p0];
    ld.param.b64 %rd2, [p1];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd2, %rd2, %rd3;
    mov.u32 %r2, %tid.x;
    setp.ne.b32 %p1, %r2, 0;
    @%p1 bra $END;
    atom.relaxed.gpu.global.inc.u32 %r3, [%rd1], 4;
    st.global.b32 [%rd2], %r3;
$END:""")
    counter, out = np.zeros(1, np.uint32), np.zeros(5, np.uint32)
    simulators.load(text).launch("main", 5, 32, [counter, out], order=order)
    np.testing.assert_array_equal(out[list(order)], np.arange(5))
    assert counter[0] == 0


@pytest.mark.parametrize(
    ("how", "want"),
    [
        ("max.s32", 31), ("max.u32", 0xFFFFFFF0), ("min.s32", 0xFFFFFFF0), ("min.u32", 0),
        ("add.u32", 496 - 16 + 0xFFFFFFF0 & 0xFFFFFFFF), ("or.b32", 0xFFFFFFFF), ("and.b32", 0),
    ],
)  # fmt: skip
def test_updates_of_one_word(how, want) -> None:
    """By the numbers of 32 threads, of which the 16th gives -16 instead."""
    text = kernel(f"""
    ld.param.b64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    setp.eq.b32 %p1, %r1, 16;
    selp.b32 %r2, -16, %r1, %p1;
    atom.global.{how} %r3, [%rd1], %r2;""")
    word = np.array([1 << 31 if how == "min.u32" else 0], np.uint32)
    simulators.load(text).launch("main", 1, 32, [word, np.zeros(1, np.uint32)])
    assert word[0] == want


def test_where_a_fault_is() -> None:
    text = kernel(OWN_WORDS + _SHARED + "st.shared.b32 [%r3+4], %r6;")
    a = np.zeros(32, np.uint32)
    with pytest.raises(SimulationError, match="thread 31 of block 0") as caught:
        run(text, a, a, shared=128)
    assert caught.value.line == line_of(text, "st.shared")
