"""Tuning: the space of schedules, the search, what is stored and who uses it, and a process that
measures, crashes or hangs."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import redfuse
from redfuse import tuning
from redfuse.attributes import Hint, Schedule
from redfuse.bench import programs
from redfuse.frontends import mlir as mlir_frontend
from redfuse.options import Options
from redfuse.tuning import hints, measure, space, store, worker
from redfuse.tuning.schedules import cascades

SOFTMAX = programs.softmax(67, 193, "f32")
DYNAMIC = """
func.func @main(%x: tensor<?x193xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x193xf32>
  %e = tensor.empty(%rows) : tensor<?xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.reduce {arith.addf} ins(%x : tensor<?x193xf32>) outs(%i : tensor<?xf32>) dimensions = [1]
  return %r : tensor<?xf32>
}
"""


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def schedule_of(exe: redfuse.Executable) -> dict:
    return exe.explanation["kernels"][0]["schedule"]


def rows_of(exe: redfuse.Executable) -> int:
    """The rows of a block."""
    return schedule_of(exe)["tile"]["i0"]


# ---- schedules ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "map",
        'resident, grid = [0], tiles = [4, 0], reason = "fits, l1"',
        "stream, grid = [0, 1], tiles = [1, 64, 32], stream = [2], lazy = 3",
        "split, grid = [0], tiles = [1, 64], stream = [1], splits = 7",
        "map, hints = {columns = 64, operand = shared, scheduler = dynamic}",
    ],
)
def test_schedules_are_read_and_written_as_mlir_does(text: str) -> None:
    held = Schedule.parse(f"#redfuse.schedule<{text}>")
    assert held.text == f"#redfuse.schedule<{text}>"
    assert Schedule.parse(held.text) == held
    assert held.kind == text.partition(",")[0]


def test_what_is_stored_is_what_was_timed() -> None:
    text = "#redfuse.schedule<stream, grid = [0], tiles = [4, 64], stream = [1], lazy = 4, hints = "
    for written, given in (
        ("threshold = 2", {"threshold": 2}),
        ("await = false, columns = 64, early = at_use",
         {"await": False, "columns": 64, "early": "at_use"}),
    ):  # fmt: skip
        timed = f"{text}{{{written}}}>"
        stored = Schedule.parse(timed)
        assert (stored.lazy, dict(stored.hints)) == (4, given)
        assert stored.text == timed


def test_hints_come_and_go() -> None:
    plain = Schedule("stream", (0,), (4, 64), (1,))
    hinted = plain.with_hint("rows", 64).with_hint("columns", 32)
    assert hinted.hints == (("columns", 32), ("rows", 64))
    assert hinted.with_hint("rows", None).with_hint("columns", None) == plain
    assert hinted.short() == "stream tiles 4,64 columns 32 rows 64"


# ---- schedules by name --------------------------------------------------------------------------


def test_a_pinned_schedule_is_used() -> None:
    text = "#redfuse.schedule<stream, grid = [0], tiles = [3, 17], stream = [1]>"
    exe = redfuse.compile(SOFTMAX, options={"schedules": [text]})
    found = schedule_of(exe)
    assert (found["kind"], found["tile"]) == ("stream", {"i0": 3, "i1": 17})
    x = np.random.default_rng(0).standard_normal((67, 193), dtype=np.float32)
    assert np.abs(exe(x) - softmax(x)).max() < 1e-6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["", ""], "expected one for each of the 1 cascades of the program, got 2"),
        (["#redfuse.schedule<spiral>"], "is no schedule: .*expected map, resident"),
        (["nonsense"], "is no schedule"),
        (["42 : i64"], "expected a #redfuse.schedule"),
        (["#redfuse.schedule<resident, grid = [0], tiles = [4]>"], "has 1 tiles, expected .* 2"),
        (["#redfuse.schedule<split, tiles = [0, 4], stream = [1], splits = 3000>"], "at most 256"),
        ([3], "expected texts"),
        ("x", "expected tuple or list"),
    ],
)
def test_what_is_no_schedule_of_the_program(given: object, message: str) -> None:
    with pytest.raises(redfuse.ArgumentError, match=message):
        redfuse.compile(SOFTMAX, options={"schedules": given})


@pytest.mark.parametrize(
    "text",
    [
        "#redfuse.schedule<stream, grid = [1], tiles = [0, 4]>",  # a reduced dim
        "#redfuse.schedule<stream, grid = [0], tiles = [100000, 0]>",
        "#redfuse.schedule<split, grid = [0], tiles = [4, 1], stream = [1], splits = 40>",
    ],
)
def test_odd_schedules_are_refused_or_right(text: str) -> None:
    x = np.random.default_rng(0).standard_normal((67, 193), dtype=np.float32)
    try:
        exe = redfuse.compile(SOFTMAX, options={"schedules": [text]})
    except redfuse.Error:
        return
    assert np.abs(exe(x) - softmax(x)).max() < 1e-6


def test_states_choose_for_themselves() -> None:
    text = "#redfuse.schedule<resident, grid = [0], tiles = [3, 0]>"
    exe = redfuse.compile(SOFTMAX, options={"schedules": [text]})
    x = np.random.default_rng(0).standard_normal((67, 193), dtype=np.float32)
    state = exe.update(exe.init(), x)
    assert np.abs(exe.finalize(state, x, offset=0) - softmax(x)).max() < 1e-6


# ---- the space ----------------------------------------------------------------------------------


def test_every_start_is_right_and_neighbours_differ() -> None:
    source = mlir_frontend.read(SOFTMAX)
    (place,) = space.places(source, Options(), "cpu")
    assert place.extents == [67, 193]
    assert {"resident", "stream", "split"} <= {s.kind for s in place.starts}
    x = np.random.default_rng(0).standard_normal((67, 193), dtype=np.float32)
    tried = [*place.starts[:4], *(s for _, s in place.neighbours(place.starts[-1], ""))]
    for schedule in tried[:8]:
        exe = redfuse.compile(SOFTMAX, options={"schedules": [schedule.text]})
        assert np.abs(exe(x) - softmax(x)).max() < 1e-6
    for start in place.starts:
        for kind in hints.KERNELS:
            for _, one in place.neighbours(start, kind):
                assert one != start


def test_options_bound_the_space() -> None:
    source = mlir_frontend.read(SOFTMAX)
    (place,) = space.places(source, Options(schedule="split", splits=5), "cpu")
    assert [(s.kind, s.splits) for s in place.starts] == [("split", 5)]


def test_idle_machines_are_not_tried() -> None:
    own = Schedule("resident", (0,), (1, 0))
    place = space.Place([4096, 128], [own], units=128)
    assert place.is_worth_trying(own.with_tile(0, 8))
    assert not place.is_worth_trying(own.with_tile(0, 1024))


# ---- the search, with times made up -------------------------------------------------------------


class FakeWorker:
    """Times that favour few rows a block, and streams that fail."""

    asked: ClassVar[list[tuple[str, ...]]] = []

    def __init__(self, request: dict, default: object):
        self.request = request

    def first(self, seconds: float) -> dict:
        return {"ms": 60.0, "compile_s": 0.1, "kernels": []}

    def trial(self, texts: tuple[str, ...], seconds: float) -> dict:
        FakeWorker.asked.append(tuple(texts))
        held = Schedule.parse(texts[0])
        if held.kind == "stream":
            return {"error": "pruned: spills"}
        return {"ms": float(held.tiles[0] + 100 * held.splits)}

    def close(self) -> None:
        pass


@pytest.fixture
def made_up(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    FakeWorker.asked = []
    monkeypatch.setattr(tuning, "Worker", FakeWorker)
    return cache


def test_the_search_finds_the_best_and_compile_uses_it(made_up: Path) -> None:
    assert rows_of(redfuse.compile(SOFTMAX)) != 1
    result = redfuse.tune(SOFTMAX, limit=60)
    assert result.complete
    assert (result.ms, result.default_ms) == (1.0, 60.0)
    best = Schedule.parse(result.schedules[0])
    assert (best.kind, best.tiles[0]) == ("resident", 1)
    assert rows_of(redfuse.compile(SOFTMAX)) == 1
    for options in ({"tuned": False}, {"deterministic": True}, {"strict": True}):
        assert redfuse.compile(SOFTMAX, options=options).options.schedules == ()
    exe = redfuse.compile(SOFTMAX, options={"schedule": "split"})
    assert schedule_of(exe)["kind"] == "split"


def attributes_of(text: str, schedules: tuple[str, ...], target: str) -> list[str]:
    """Those of the cascades that are compiled where these schedules are asked for."""
    exe = redfuse.compile(text, target=target, options={"schedules": schedules, "cache": False})
    module = mlir_frontend.read(exe.ir["schedule"]).parse()
    return [str(op.attributes["schedule"]) for op in cascades(module)]


def test_stored_text_parses_to_the_attribute_that_was_timed(
    made_up: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = [
        Schedule("stream", (0,), (3, 64), (1,), hints=(("loop", "registers"), ("threads", 128))),
        Schedule("resident", (0,), (5, 0), hints=(("early", "at_use"), ("threads", 256))),
    ]
    timed = {}

    class Compiling(FakeWorker):
        def trial(self, texts: tuple[str, ...], seconds: float) -> dict:
            timed[texts] = [attributes_of(SOFTMAX, texts, t) for t in ("cpu", "cuda:sm_90a")]
            return {"ms": 2.0 + ("stream" in texts[0])}

    def neighbours(*_: object) -> Iterator[tuple[str, Schedule]]:
        return iter([(f"choice {i}", schedule) for i, schedule in enumerate(tried)])

    monkeypatch.setattr(tuning, "Worker", Compiling)
    monkeypatch.setattr(space.Place, "neighbours", neighbours)
    record = store.read(redfuse.tune(SOFTMAX, target="cpu", limit=600).path)
    assert record is not None
    assert [Schedule.parse(text) for text in record.schedules] == tried[1:]
    assert timed[tuple(record.schedules)] == [record.schedules] * 2
    # And what is compiled later has it.
    assert attributes_of(SOFTMAX, tuple(record.schedules), "cpu") == record.schedules


def test_failures_are_remembered(made_up: Path) -> None:
    first = redfuse.tune(SOFTMAX)
    failed = [t for t in first.trials if t.ms is None]
    assert failed
    assert all(t.note == "pruned: spills" for t in failed)
    FakeWorker.asked = []
    second = redfuse.tune(SOFTMAX)
    assert second.schedules == first.schedules
    assert not any(Schedule.parse(t[0]).kind == "stream" for t in FakeWorker.asked)
    assert any(t.note.startswith("failed before: pruned") for t in second.trials)
    # What was found before comes first.
    assert FakeWorker.asked[0] == first.schedules


def test_time_is_bounded(made_up: Path) -> None:
    result = redfuse.tune(SOFTMAX, limit=0)
    assert not result.complete
    assert len(result.trials) == 1
    assert store.read(result.path).schedules == []


def test_noise_is_not_stored(made_up: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is better once and no longer when it is measured again."""
    times = iter([50.0])
    monkeypatch.setattr(FakeWorker, "trial", lambda *_: {"ms": next(times, 70.0)})
    result = redfuse.tune(SOFTMAX)
    assert result.schedules == ("",)
    assert result.ms == result.default_ms == 60.0


@pytest.mark.parametrize("damage", [b"", b"{}\nabc\n", b'{"format": 1}\n' + b"0" * 64])
def test_damaged_results_are_reported_and_ignored(made_up: Path, damage: bytes) -> None:
    result = redfuse.tune(SOFTMAX)
    Path(result.path).write_bytes(damage)
    with pytest.warns(redfuse.CacheWarning, match="is damaged"):
        exe = redfuse.compile(SOFTMAX)
    assert rows_of(exe) != 1


def test_results_that_no_longer_fit_are_not_used(made_up: Path) -> None:
    result = redfuse.tune(SOFTMAX)
    record = store.read(result.path)
    store.write(result.path, dataclasses.replace(record, schedules=record.schedules * 2))
    with pytest.warns(redfuse.CacheWarning, match="tuned schedules are not used: .*tune again"):
        exe = redfuse.compile(SOFTMAX)
    assert rows_of(exe) != 1


def test_shapes_have_results_of_their_own(made_up: Path) -> None:
    model = rows_of(redfuse.compile(DYNAMIC))
    narrow = redfuse.tune(DYNAMIC, shapes=[[5, 193]])
    wide = redfuse.tune(DYNAMIC, shapes=[[5000, 193]])
    assert narrow.path != wide.path
    record = store.read(narrow.path)
    tile = [Schedule.parse(record.schedules[0]).with_tile(0, 3).text]
    store.write(narrow.path, dataclasses.replace(record, schedules=tile))
    x = np.zeros((5, 193), np.float32)
    assert rows_of(redfuse.compile(DYNAMIC, inputs=[x])) == 3
    assert rows_of(redfuse.compile(DYNAMIC)) not in (3, model)  # of the latest


def test_bad_requests(made_up: Path) -> None:
    with pytest.raises(redfuse.ArgumentError, match="expected a shape for each of the arguments"):
        redfuse.tune(DYNAMIC)
    with pytest.raises(redfuse.ArgumentError, match="shape of argument 0: expected .*193"):
        redfuse.tune(DYNAMIC, shapes=[[4, 5]])
    with pytest.raises(redfuse.ArgumentError, match="fuse=False has no schedules"):
        redfuse.tune(SOFTMAX, options={"fuse": False})
    with pytest.raises(redfuse.ArgumentError, match="does not run on this machine"):
        redfuse.tune(SOFTMAX, target="rocm:gfx942")
    with pytest.raises(redfuse.UnsupportedError, match="no cascade"):
        redfuse.tune("func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
                     "  return %x : tensor<3xf32>\n}")  # fmt: skip


# ---- the process --------------------------------------------------------------------------------


def request(text: str = SOFTMAX) -> dict:
    return {"text": text, "name": "-", "target": "cpu", "shapes": [], "inputs": "", "seconds": 0.01,
            "options": dataclasses.asdict(Options(tuned=False))}  # fmt: skip


def test_the_process_measures_and_refuses_wrong_results() -> None:
    held = worker.Worker(request(), [""])
    try:
        assert held.first(120)["ms"] > 0
        stream = "#redfuse.schedule<stream, grid = [0], tiles = [3, 64], stream = [1]>"
        found = held.trial([stream], 120)
        assert found["ms"] > 0
        assert held.trial([stream], 120)["same"]
        assert "is no schedule" in held.trial(["nonsense"], 120)["error"]
        assert held.trial([""], 120)["ms"] > 0  # it goes on
    finally:
        held.close()


def test_a_process_that_ends_before_it_is_asked() -> None:
    """What was written to it and not sent is no error of its own."""
    held = worker.Worker(request(), [""])
    held.first(120)
    process = held._process
    assert process is not None and process.stdin is not None
    process.kill()
    process.wait()
    process.stdin.write("not sent")
    held.close()


def test_a_process_that_crashes_or_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    held = worker.Worker(request(), [""])
    try:
        held.first(120)
        held._process.kill()
        assert "ended: signal 9" in held.trial([""], 120)["error"]
        assert held.trial([""], 120)["ms"] > 0  # a new one
        assert held.trial([""], 0.0)["error"] == "no result in 0 s"
    finally:
        held.close()


def test_another_result_is_an_error() -> None:
    from redfuse.tuning.measure import Subject

    subject = Subject(request())
    assert subject.trial([""])["ms"] > 0
    subject.expected[0] = subject.expected[0] * np.float32(1.01)
    found = subject.trial(["#redfuse.schedule<resident, grid = [0], tiles = [5, 0]>"])
    assert found["error"].startswith("another result: out0 f32: error 0.0")


def test_the_command(tmp_path: Path, cache: Path) -> None:
    from test_cli import redfuse as command

    (tmp_path / "softmax.mlir").write_text(SOFTMAX)
    done = command(
        "tune", tmp_path / "softmax.mlir", "--limit", "1", "--seconds", "0.01", "--json",
        tmp_path / "all.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "schedules tried" in done.stdout
    assert "the model's choice" in done.stdout
    assert "[1] the model's: " in done.stderr
    assert json.loads((tmp_path / "all.json").read_text())["trials"]
    done = command("tune", tmp_path / "softmax.mlir", "--forget")
    assert "1 results removed" in done.stdout
    done = command("tune", tmp_path / "softmax.mlir", "--shape", "4,5")
    assert done.returncode == 2
    assert "--shape 4,5: expected extents, as 4096x128" in done.stderr


def test_a_spoilt_context_costs_one_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    held = worker.Worker(request(), [""])
    try:
        assert held.first(120)["ms"] > 0
        first = held._process.pid
        monkeypatch.setattr(
            worker.json, "loads", lambda text: {**json.JSONDecoder().decode(text), "over": True}
        )
        assert "ms" in held.trial([""], 120)
        assert held._process is None
        monkeypatch.undo()
        assert held.trial([""], 120)["ms"] > 0
        assert held._process.pid != first
    finally:
        held.close()


# ---- hints --------------------------------------------------------------------------------------

DECODE = programs.attention(1, 16, 1, 4096, 64, kv_heads=2, dtype="bf16")
NORM = programs.rmsnorm(512, 4096, "bf16")


@pytest.fixture
def gpu(made_up: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a GPU, as far as the search can see."""
    monkeypatch.setattr(store, "device_name", lambda target: f"GPU {target}")
    monkeypatch.setattr(tuning, "need_gpu", lambda what: None)


def search_with(
    monkeypatch: pytest.MonkeyPatch, kind: str, ms: Callable[[dict[str, Hint]], float | str],
) -> Callable[[str, float], tuning.Tuning]:  # fmt: skip
    """Searches with times made up from the hints of the first cascade; texts are failures."""

    def trial(self: FakeWorker, texts: tuple[str, ...], seconds: float) -> dict:
        held = dict(Schedule.parse(texts[0]).hints) if texts[0] else {}
        FakeWorker.asked.append(tuple(held.items()))
        found = ms(held)
        if isinstance(found, str):
            return {"error": found}
        return {"ms": found, "kernels": [kind]}

    monkeypatch.setattr(FakeWorker, "first", lambda *_: {"ms": 60.0, "kernels": [kind]})
    monkeypatch.setattr(FakeWorker, "trial", trial)
    return lambda text, limit: redfuse.tune(text, target="cuda:sm_90a", limit=limit)


def test_a_decode_finds_splits_in_clusters(gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def ms(held: dict[str, Hint]) -> float | str:
        if held.get("columns") == 128:
            return "pruned: 400 bytes of registers are spilled"
        base = 60.0 - 10 * (held.get("splits") == 8) - 10 * (held.get("cluster") == 4)
        return base - 15 * (held.get("blocks") == 2 and held.get("ahead") == 1)

    search = search_with(monkeypatch, "wgmma", ms)
    result = search(DECODE, 60)
    found = dict(Schedule.parse(result.schedules[0]).hints)
    want = {"splits": 8, "cluster": 4, "blocks": 2, "ahead": 1}
    assert {name: found[name] for name in want} == want
    assert (result.ms, result.default_ms) == (25.0, 60.0)
    # What was pruned is remembered, with the rest of its hints.
    FakeWorker.asked = []
    again = search(DECODE, 60)
    assert again.ms == 25.0
    assert not any(dict(asked).get("columns") == 128 for asked in FakeWorker.asked)
    assert any(t.note.startswith("failed before: pruned: 400 bytes") for t in again.trials)


def test_a_norm_finds_hints_that_pay_together(gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def ms(held: dict[str, Hint]) -> float:
        pays = held.get("threads") == 1024 and held.get("blocks") == 2
        return 60.0 - 8 * pays - 5 * (held.get("bypass") == "none") + 3 * ("early" in held)

    search = search_with(monkeypatch, "registers", ms)
    place = space.places(mlir_frontend.read(NORM), Options(), "cuda:sm_90a")[0]
    result = search(NORM, 60)
    found = dict(Schedule.parse(result.schedules[0]).hints)
    assert found["bypass"] == "none"
    # Those that go together are of folds; a norm that registers hold has none.
    assert result.ms == (47.0 if place.starts[0].stream else 55.0)
    assert not any(
        {"rows", "columns", "scheduler"} & set(dict(asked)) for asked in FakeWorker.asked
    )


def test_hints_are_not_tried_for_ever(gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    result = search_with(monkeypatch, "registers", lambda held: 59.9)(NORM, 0.0)
    assert not result.complete
    assert len(result.trials) == 1


def test_hints_worth_trying_are_hints() -> None:
    """The verifier takes every value."""
    for kind in hints.KERNELS:
        for name, use in hints.uses(kind).items():
            for value in use.values:
                schedule = Schedule("map").with_hint(name, value)
                assert Schedule.parse(schedule.text) == schedule
        for together in hints.sets(kind):
            schedule = Schedule("map")
            for name, value in together.items():
                schedule = schedule.with_hint(name, value)
            assert dict(Schedule.parse(schedule.text).hints) == together
            assert set(together) <= set(hints.uses(kind))
    assert hints.sets("wgmma")
    assert hints.sets("registers")


def test_split_folds_and_whole_rows_have_hints_of_their_own() -> None:
    def names(kind: str, stream: tuple[int, ...]) -> set[str]:
        held = Schedule(kind, (0,), (1, 64 if stream else 0), stream)
        return {word for what, _ in hints.hinted(held, "registers") for word in what.split()}

    assert "cluster" not in names("split", (1,))
    assert {"cluster", "step", "await"} <= names("stream", (1,))
    assert not {"step", "await"} & names("resident", ())
    assert not list(hints.hinted(Schedule("stream", (0,), (1, 64), (1,)), ""))


def test_kinds_of_kernels_are_what_was_planned() -> None:
    for text, chip, want in (
        (DECODE, "sm_90a", "wgmma"), (DECODE, "sm_80", "mma_sync"), (NORM, "sm_90a", "registers"),
    ):  # fmt: skip
        exe = redfuse.compile(text, target=f"cuda:{chip}", options={"tuned": False})
        assert hints.kinds_of(exe.explanation) == [want]


def test_spills_and_serialised_products_are_flaws() -> None:
    def warning(text: str) -> SimpleNamespace:
        return SimpleNamespace(category=redfuse.CodeWarning, message=text)

    exe = SimpleNamespace(resources=[SimpleNamespace(spills=40), SimpleNamespace(spills=2)])
    loss = "ptxas -arch=sm_90a: (C7510) Potential Performance Loss: wgmma.mma_async is serialised"
    assert measure._flaws_of(exe, [warning(loss)]) == (42, 1, loss)
    assert measure._flaws_of(exe, []) == (42, 0, "")


def test_hints_of_matrix_kernels_come_first(made_up: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two values of a hint that change nothing end it; one may be the model's own."""

    def trial(self: FakeWorker, texts: tuple[str, ...], seconds: float) -> dict:
        hints = dict(Schedule.parse(texts[0]).hints)
        FakeWorker.asked.append(tuple(hints.items()))
        if hints.get("rows") == 128:
            return {"ms": 30.0}
        return {"ms": 60.0, "same": True}

    monkeypatch.setattr(FakeWorker, "first", lambda *_: {"ms": 60.0, "kernels": ["wgmma"]})
    monkeypatch.setattr(FakeWorker, "trial", trial)
    result = redfuse.tune(SOFTMAX)
    assert dict(Schedule.parse(result.schedules[0]).hints)["rows"] == 128
    single = [asked for asked in FakeWorker.asked if len(asked) == 1]
    assert single[:2] == [(("rows", 64),), (("rows", 128),)]
    assert sum("stages" in dict(asked) for asked in FakeWorker.asked) == 2
