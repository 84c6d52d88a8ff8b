"""init, update, merge and finalize: any way to cut and merge gives what the unfused program does."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
import redfuse
from conftest import CORPUS
from redfuse.bench import programs
from redfuse.frontends import mlir
from redfuse.options import Options
from redfuse.parts import Part
from redfuse.reference import Reference
from redfuse.state import StateProgram, state_end
from state_programs import CASES, LENGTH, OPEN_VARIANCE, Arrays, Case, on_a_wide_machine

SPLITS = [(a, LENGTH - a) for a in range(LENGTH + 1)]


@functools.cache
def executable(name: str) -> redfuse.Executable:
    return redfuse.compile(CASES[name].text)


@functools.cache
def expected(name: str, seed: int) -> tuple[np.ndarray, ...]:
    return tuple(Reference(CASES[name].text, opt_level=0)(*arguments(name, seed)))


@functools.cache
def arguments(name: str, seed: int = 0) -> Arrays:
    return CASES[name].data(np.random.default_rng(seed))


def as_tuple(results: object) -> tuple:
    return results if isinstance(results, tuple) else (results,)


def state_of(case: Case, exe: redfuse.Executable, data: Arrays, lengths: tuple[int, ...],
             start: int = 0) -> redfuse.State:  # fmt: skip
    """A state that has seen chunks of these lengths, from element `start` on."""
    state = exe.init(*case.unstreamed(data))
    for number, length in enumerate(lengths):
        offset = start if number == 0 and start else None
        state = exe.update(state, *case.chunk(data, start, start + length), offset=offset)
        start += length
    return state


def results_of(case: Case, exe: redfuse.Executable, data: Arrays, state: redfuse.State) -> tuple:
    """All results; those with the streamed dim are put together from chunks of 3."""
    program = exe.state_program
    if not program.takes_chunk:
        return as_tuple(exe.finalize(state))
    parts = [
        as_tuple(exe.finalize(state, *case.chunk(data, a, min(a + 3, LENGTH)), offset=a))
        for a in range(0, LENGTH, 3)
    ]
    return tuple(
        np.concatenate([p[i] for p in parts], axis) if axis >= 0 else parts[0][i]
        for i, axis in enumerate(program.mapped)
    )


def check(name: str, state: redfuse.State, seed: int = 0) -> None:
    case, exe, data = CASES[name], executable(name), arguments(name, seed)
    tolerance = 2e-2 if "bf16" in name else 1e-5
    got = results_of(case, exe, data, state)
    for result, want in zip(got, expected(name, seed), strict=True):
        result = np.asarray(result, dtype=want.dtype)
        assert result.shape == want.shape
        assert np.abs(result - want).max() <= tolerance * np.abs(want).max(), name


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_every_split_point(name: str) -> None:
    case, exe = CASES[name], executable(name)
    for seed, (a, b) in enumerate(SPLITS):
        data = arguments(name, seed)
        check(name, state_of(case, exe, data, (a, b)), seed)
        left, right = state_of(case, exe, data, (a,)), state_of(case, exe, data, (b,), a)
        check(name, exe.merge(left, right), seed)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_every_order_and_tree_of_merges(name: str) -> None:
    case, exe, data = CASES[name], executable(name), arguments(name)
    spans = [(0, 2), (2, 3), (3, 6), (6, LENGTH)]
    parts = [state_of(case, exe, data, (b - a,), a) for a, b in spans]
    merge = exe.merge
    for p in itertools.permutations(range(4)):
        a, b, c, d = (parts[i] for i in p)
        check(name, merge(merge(a, b), merge(c, d)))
        check(name, merge(a, merge(merge(b, c), d)))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_one_element_chunks_and_empty_ones(name: str) -> None:
    case, exe, data = CASES[name], executable(name), arguments(name)
    state = state_of(case, exe, data, (0, 1, 1, 0, 1, 1, 1, 1, 1, 0))
    assert state.count == LENGTH
    empty = exe.init(*case.unstreamed(data))
    check(name, exe.merge(exe.merge(empty, state), empty))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_a_saved_state_goes_on(name: str, tmp_path: Path) -> None:
    case, exe, data = CASES[name], executable(name), arguments(name)
    state = state_of(case, exe, data, (3,))
    state.save(tmp_path / "state.npz")
    loaded = redfuse.State.load(tmp_path / "state.npz")
    assert loaded.spans == state.spans and loaded.names == state.names
    loaded = pickle.loads(pickle.dumps(loaded))
    # Another process has compiled the program anew.
    other = redfuse.compile(case.text, options={"cache": False})
    check(name, other.update(loaded, *case.chunk(data, 3, LENGTH)))
    fresh = exe.init(*case.unstreamed(data))
    fresh.save(tmp_path / "fresh.npz")
    assert redfuse.State.load(tmp_path / "fresh.npz").count == 0


def test_states_are_values() -> None:
    """An update leaves the state it starts from as it is."""
    case, exe, data = CASES["variance"], executable("variance"), arguments("variance")
    first = state_of(case, exe, data, (4,))
    before = [np.copy(c) for c in first.components]
    exe.update(first, *case.chunk(data, 4, LENGTH))
    for a, b in zip(before, first.components, strict=True):
        np.testing.assert_array_equal(a, b)
    check("variance", exe.update(first, *case.chunk(data, 4, LENGTH)))


def test_infinities_and_rows_without_data() -> None:
    name = "log-sum-exp"
    case, exe = CASES[name], executable(name)
    x = np.random.default_rng(3).standard_normal((5, LENGTH)).astype(np.float32)
    x[0] = -np.inf
    x[1, :3] = -np.inf
    x[2, 3:] = -np.inf
    x[3, 4] = np.inf
    x[4, 2] = np.nan
    want = Reference(case.text)(x)[0]
    for a, b in SPLITS:
        got = exe.finalize(state_of(case, exe, [x], (a, b)))
        np.testing.assert_allclose(got, want, rtol=1e-5)
        parts = state_of(case, exe, [x], (a,)), state_of(case, exe, [x], (b,), a)
        np.testing.assert_allclose(exe.finalize(exe.merge(*parts)), want, rtol=1e-5)


def test_ties_go_to_the_lowest_index_in_any_merge_order() -> None:
    exe = executable("argmax")
    x = np.zeros((4, LENGTH), np.float32)
    x[1, 2] = x[1, 5] = 1
    x[2, 6] = 1
    x[3] = np.arange(LENGTH)
    early = exe.update(exe.init(), np.ascontiguousarray(x[:, :4]))
    late = exe.update(exe.init(), np.ascontiguousarray(x[:, 4:]), offset=4)
    for state in (exe.merge(early, late), exe.merge(late, early)):
        np.testing.assert_array_equal(exe.finalize(state)[1], [0, 2, 6, 6])


def test_open_programs_finish_at_any_length() -> None:
    case, exe = CASES["open variance"], executable("open variance")
    rng = np.random.default_rng(5)
    x = (rng.standard_normal((3, 100)) * 2 + 10).astype(np.float32)
    state = exe.init()
    for start in range(0, 100, 13):
        stop = min(start + 13, 100)
        state = exe.update(state, *case.chunk([x], start, stop))
        want = x[:, :stop].astype(np.float64).var(axis=1)
        np.testing.assert_allclose(exe.finalize(state), want, rtol=1e-5)


def test_extents_that_the_program_compares() -> None:
    """torch-mlir's dynamic attention asks whether keys and values are equally many."""
    path = CORPUS / "attention_dynamic.mlir"
    exe, reference = redfuse.compile(path), Reference(path)
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal((2, 2, n, 32)).astype(np.float32) for n in (5, 50, 50))
    case = Case("", {1: 2, 2: 2}, lambda _: [])
    state = exe.init(q)
    for start, stop in ((0, 1), (1, 30), (30, 50)):
        state = exe.update(state, *case.chunk([q, k, v], start, stop))
    want = reference(q, k, v)[0]
    assert np.abs(exe.finalize(state) - want).max() < 1e-5


def test_along_chooses_the_axis() -> None:
    text = programs.variance(6, 8)
    exe = redfuse.compile(text, options={"along": (0, 1)})
    assert exe.state_program.axes == {0: 1}
    other = redfuse.compile(text, options={"along": (0, 0)})
    with pytest.raises(redfuse.UnsupportedError, match="cannot be held as a state"):
        other.init()
    with pytest.raises(redfuse.ArgumentError, match="along"):
        redfuse.compile(text, options={"along": "rows"})


def fails(exception: type[Exception], match: str):
    return pytest.raises(exception, match=match)


def test_errors_of_arrays() -> None:
    exe, data = executable("attention"), arguments("attention")
    q, k, v = data
    with fails(redfuse.ArgumentError, r"init: expected 1 arguments without the streamed dim"):
        exe.init()
    with fails(redfuse.ArgumentError, r"init: argument 0 of main: expected dtype float32"):
        exe.init(q.astype(np.float64))
    with fails(redfuse.ArgumentError, r"init: argument 0 of main: expected tensor<1x2x3x4xf32>"):
        exe.init(np.zeros((1, 2, 5, 4), np.float32))
    state = exe.init(q)
    with fails(redfuse.ArgumentError, r"update: expected 2 arrays of a chunk"):
        exe.update(state, k)
    with fails(redfuse.ArgumentError, r"argument 2 of main \(axis 2 is streamed\): expected"):
        exe.update(state, k, np.zeros((1, 2, LENGTH, 5), np.float32))
    with fails(redfuse.ArgumentError, r"different lengths along the streamed dim: 7 in argument 1"):
        exe.update(state, k, np.ascontiguousarray(v[:, :, :3]))
    with fails(redfuse.ArgumentError, "expected an array, got list"):
        exe.update(state, [1.0], v)
    with fails(redfuse.ArgumentError, "expected a redfuse.State"):
        exe.update(q, k, v)
    with fails(redfuse.ArgumentError, "offset: expected 0 or more"):
        exe.update(state, k, v, offset=-1)
    with fails(redfuse.ArgumentError, "offset: expected an integer"):
        exe.update(state, k, v, offset=0.5)


def test_errors_of_places() -> None:
    case, exe, data = CASES["attention"], executable("attention"), arguments("attention")
    q = data[0]
    part = functools.partial(case.chunk, data)
    state = exe.update(exe.init(q), *part(0, 3))
    with fails(redfuse.ArgumentError, r"elements 1 to 2 are in the state already \(.*0 to 2"):
        exe.update(state, *part(1, 4), offset=1)
    with fails(redfuse.ArgumentError, "streamed dim has 7; write it with '\\?'"):
        exe.update(state, *part(0, LENGTH), offset=3)
    with fails(redfuse.ArgumentError, r"has seen 3 elements, but the program is about 7"):
        exe.finalize(state)
    with fails(redfuse.ArgumentError, "no result of main has the streamed dim"):
        exe.finalize(state, *part(0, 3))
    with fails(redfuse.ArgumentError, "different values of argument 0"):
        exe.merge(state, exe.init(q + 1))
    argmax = executable("argmax")
    x = np.zeros((4, 3), np.float32)
    one = argmax.update(argmax.init(), x)
    with fails(redfuse.ArgumentError, r"same elements: 0 to 2 and 0 to 2; give offset="):
        argmax.merge(one, one)
    late = argmax.update(argmax.init(), x, offset=4)
    rest = argmax.update(argmax.init(), np.zeros((4, 1), np.float32), offset=3)
    assert argmax.merge(argmax.merge(one, late), rest).spans == ((0, 7),)
    opened = executable("open argmax")
    gap = opened.update(opened.init(), x, offset=4)
    with fails(redfuse.ArgumentError, "there are gaps: the state has seen 4 to 6"):
        opened.finalize(gap)


def test_errors_of_chunks_of_results() -> None:
    case, exe, data = CASES["softmax"], executable("softmax"), arguments("softmax")
    state = state_of(case, exe, data, (LENGTH,))
    with fails(redfuse.ArgumentError, r"result 0 \(axis 1\) of main has the streamed dim"):
        exe.finalize(state)
    with fails(redfuse.ArgumentError, "the state has seen 7 elements"):
        exe.finalize(state, *case.chunk(data, 0, 3), offset=5)


def test_errors_of_open_extents() -> None:
    exe = executable("open variance")
    with fails(redfuse.ArgumentError, "nothing has been added"):
        exe.finalize(exe.init())
    state = exe.update(exe.init(), np.ones((3, 2), np.float32))
    with fails(redfuse.ArgumentError, "extent 4 along axis 0, but the chunks before had 3"):
        exe.update(state, np.ones((4, 2), np.float32))
    other = exe.update(exe.init(), np.ones((4, 2), np.float32))
    with fails(redfuse.ArgumentError, "chunks of different extents"):
        exe.merge(state, other)


def test_states_of_other_programs_are_refused(tmp_path: Path) -> None:
    variance, attention = executable("variance"), executable("attention")
    state = variance.init()
    with fails(redfuse.ArgumentError, "the state is of another program"):
        attention.finalize(state)
    with fails(redfuse.ArgumentError, "the state is of another program"):
        variance.merge(state, attention.init(arguments("attention")[0]))
    path = tmp_path / "not.npz"
    path.write_bytes(b"nonsense")
    with fails(redfuse.CacheError, "holds no redfuse state"):
        redfuse.State.load(path)
    with fails(redfuse.CacheError, "cannot read"):
        redfuse.State.load(tmp_path / "missing.npz")


def test_programs_without_a_merge_are_refused() -> None:
    quantised = programs.quant_gemm(4, 8, 16)
    with fails(redfuse.UnsupportedError, "cannot be held as a state: "):
        redfuse.compile(quantised).init()
    strict = redfuse.compile(programs.variance(4, 8), options={"strict": True})
    with fails(redfuse.UnsupportedError, "strict"):
        strict.init()
    with fails(redfuse.ArgumentError, "need fuse=True"):
        redfuse.compile(programs.variance(4, 8), options={"fuse": False}).init()
    with fails(redfuse.UnsupportedError, "no reduction runs over a dim of the arguments"):
        redfuse.compile(
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
        ).init()


def test_ordinary_compilation_does_not_pay() -> None:
    exe = redfuse.compile(OPEN_VARIANCE)
    assert exe._state_program is None
    exe(np.ones((2, 3), np.float32))
    assert exe._state_program is None
    assert repr(exe.init()).startswith("<redfuse.State of nothing; t0 = ")


BEST = """
func.func @main(%x: tensor<?xf32>) -> (tensor<3xf32>, tensor<3xi64>) {
  %zero = arith.constant 0 : index
  %size = tensor.dim %x, %zero : tensor<?xf32>
  %e = tensor.empty(%size) : tensor<?xi64>
  %numbers = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} outs(%e : tensor<?xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<?xi64>
  %s:2 = tm_tensor.sort dimension(0) outs(%x, %numbers : tensor<?xf32>, tensor<?xi64>) {
  ^bb0(%a: f32, %b: f32, %i: i64, %j: i64):
    %c = arith.cmpf oge, %a, %b : f32
    tm_tensor.yield %c : i1
  } -> tensor<?xf32>, tensor<?xi64>
  %v = tensor.extract_slice %s#0[0] [3] [1] : tensor<?xf32> to tensor<3xf32>
  %w = tensor.extract_slice %s#1[0] [3] [1] : tensor<?xi64> to tensor<3xi64>
  return %v, %w : tensor<3xf32>, tensor<3xi64>
}
"""


def test_best_values_are_merged_in_any_order() -> None:
    """Among equals the lowest index is first, whichever state comes first."""
    exe = redfuse.compile(BEST)
    x = np.array([1, 5, 5, np.nan, 1, 5, np.nan, 1], np.float32)
    parts = [exe.update(exe.init(), x[a : a + 2], offset=a) for a in (0, 2, 4, 6)]
    for order in itertools.permutations(parts):
        state = functools.reduce(exe.merge, order)
        assert exe.finalize(state)[1].tolist() == [3, 6, 1]
        assert exe.finalize(exe.merge(exe.init(), state))[1].tolist() == [3, 6, 1]


@redfuse.combiner(identity=(1.0, 0.0), ordered=True)
def affine(left, right):
    return left[0] * right[0], right[0] * left[1] + right[1]


def test_prefixes_continue_from_the_state_before() -> None:
    """A recurrence of which every value is a result: a chunk's begin with the state before it."""
    exe = redfuse.compile(redfuse.scan(affine, [3, None]))
    rng = np.random.default_rng(0)
    a = rng.uniform(0.5, 1, (3, 23)).astype(np.float32)
    b = rng.standard_normal((3, 23)).astype(np.float32)
    h, want = np.zeros(3), np.zeros((3, 23))
    for j in range(23):
        h = a[:, j] * h + b[:, j]
        want[:, j] = h
    cuts = [(0, 1), (1, 9), (9, 23)]
    chunks = [[np.ascontiguousarray(x[:, s:t]) for x in (a, b)] for s, t in cuts]
    states = [exe.init()]
    for chunk in chunks:
        states.append(exe.update(states[-1], *chunk))
    found = [
        exe.finalize(states[-1], *chunk, offset=cut[0], before=state)[1]
        for chunk, cut, state in zip(chunks, cuts, states, strict=False)
    ]
    np.testing.assert_allclose(np.concatenate(found, 1), want, rtol=1e-5, atol=1e-6)
    with fails(redfuse.ArgumentError, "expected before= a state of elements 0 to 8, got none"):
        exe.finalize(states[-1], *chunks[2], offset=9)
    other = redfuse.compile(redfuse.reduction(affine, [3, None]))
    state = other.update(other.init(), *chunks[0])
    with fails(redfuse.ArgumentError, "no result of this program is a prefix"):
        other.finalize(state, before=state)


def test_decoding_of_a_million_keys_is_a_state_on_any_machine() -> None:
    """Its prices keep scores, softmax and products apart; a state is of one pass over the keys."""
    keys = 1 << 20
    text = on_a_wide_machine(programs.attention(1, 2, 1, keys, 8, kv_heads=1))
    assert len(redfuse.compile(text).explain(json=True)["kernels"]) > 1
    exe = redfuse.compile(text, options={"along": (1, 2)})
    rng = np.random.default_rng(0)
    q, k, v = (
        rng.standard_normal((1, h, n, 8), np.float32) for h, n in ((2, 1), (1, keys), (1, keys))
    )
    states = []
    for start, stop in ((0, 300001), (300001, keys)):
        part = [np.ascontiguousarray(x[:, :, start:stop]) for x in (k, v)]
        states.append(exe.update(exe.init(q), *part, offset=start))
    got = exe.finalize(exe.merge(*states))
    s = (q[0, :, 0].astype(np.float64) @ k[0, 0].astype(np.float64).T) / np.sqrt(8)
    p = np.exp(s - s.max(1, keepdims=True))
    want = p / p.sum(1, keepdims=True) @ v[0, 0].astype(np.float64)
    # A million weights of like size: sums of their products are small beside the values.
    assert np.abs(got[0, :, 0] - want).max() <= 1e-5 * np.abs(v).max()


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", sorted(CASES))
def test_the_ends_of_a_chain_of_chunks(name: str) -> None:
    """A state without one before it, and results without one of all: the same bits."""
    case, data = CASES[name], arguments(name)
    source = mlir.read(case.text)
    options = dataclasses.replace(Options(), along=next(iter(case.axes.items())))
    program = StateProgram(source, options)
    first = state_end(source, options, "cpu", Part(), "first")
    last = state_end(source, options, "cpu", Part(), "last")
    assert first is not None
    plain, cut = case.unstreamed(data), 3
    left, right = case.chunk(data, 0, cut), case.chunk(data, cut, LENGTH)
    state = program.update(program.init(*plain), *left)
    found = first("__first", [*plain, *left, 0])
    for got, want in zip(found, state.components, strict=True):
        np.testing.assert_array_equal(got, want)
    if last is None:
        assert program.takes_chunk or len(program.specs) > 1
        return
    extents = [left[list(program.axes).index(a)].shape[axis] for a, axis in program.extent_axes]
    found = last("__last", [*plain, *right, *found, *extents, LENGTH, cut])
    results = as_tuple(program.finalize(program.update(state, *right)))
    for got, want in zip(found, results, strict=True):
        np.testing.assert_array_equal(got, want)
