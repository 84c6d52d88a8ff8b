"""Other plans of a program, by predicted time."""

from __future__ import annotations

import json

import pytest
import redfuse
from redfuse.bench import programs
from redfuse.explain.candidates import APART, CHOSEN, Candidate, candidate_lines

TARGET = "cuda:sm_90a"
OPTIONS = {"cache": False}
ROUNDS = """
func.func @main(%x: tensor<8192x512xf32>) -> tensor<8192x512xf32> {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %end = arith.constant 7 : index
  %r = scf.for %t = %zero to %end step %two iter_args(%s = %x) -> (tensor<8192x512xf32>) {
    %e = tensor.empty() : tensor<8192x512xf32>
    %n = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%s : tensor<8192x512xf32>) outs(%e : tensor<8192x512xf32>) {
    ^bb0(%v: f32, %o: f32):
      %y = math.tanh %v : f32
      linalg.yield %y : f32
    } -> tensor<8192x512xf32>
    scf.yield %n : tensor<8192x512xf32>
  }
  return %r : tensor<8192x512xf32>
}
"""


@pytest.fixture(scope="module")
def softmax() -> redfuse.Executable:
    return redfuse.compile(programs.softmax(4096, 1024), target=TARGET, options=OPTIONS)


@pytest.fixture(scope="module")
def found(softmax: redfuse.Executable) -> list[Candidate]:
    return softmax.candidates()


def test_the_chosen_plan_comes_first(softmax: redfuse.Executable, found: list[Candidate]) -> None:
    kernels = softmax.explain(json=True)["kernels"]
    assert found[0].name == CHOSEN and found[0].options == {} and found[0].kernels == len(kernels)
    total = sum(kernel["predicted"]["total_us"] for kernel in kernels)
    assert found[0].predicted_us == pytest.approx(total, abs=0.01)


def test_the_others_are_sorted_and_differ(found: list[Candidate]) -> None:
    times = [one.predicted_us for one in found[1:] if one.predicted_us is not None]
    assert len(times) >= 4 and times == sorted(times)
    assert len({(one.kernels, one.predicted_us) for one in found}) == len(found)
    assert any("begins a kernel" in one.name and one.kernels == 2 for one in found)


def test_more_kernels_are_predicted_to_take_longer(found: list[Candidate]) -> None:
    apart = next(one for one in found if one.name == APART)
    assert apart.kernels >= 4 and (apart.predicted_us or 0) > 2 * (found[0].predicted_us or 0)


def test_a_candidate_is_what_its_options_make(found: list[Candidate]) -> None:
    for one in found[1:4]:
        made = redfuse.compile(
            programs.softmax(4096, 1024), target=TARGET, options={**OPTIONS, **one.options}
        )
        assert len(made.launches) == one.kernels


def test_a_limit(softmax: redfuse.Executable) -> None:
    assert [one.name for one in softmax.candidates(limit=0)] == [CHOSEN]
    assert len(softmax.candidates(limit=2)) <= 3
    with pytest.raises(redfuse.ArgumentError, match="limit"):
        softmax.candidates(limit=-1)


def test_options_of_the_program_stay() -> None:
    """What clashes with them is refused, and the rest is beside them."""
    options = {**OPTIONS, "joins": (1,), "lazy": 2}
    made = redfuse.compile(programs.softmax(4096, 1024), target=TARGET, options=options)
    found = made.candidates()
    assert any("cuts" in one.options and not one.problem for one in found)
    clash = next(one for one in found if one.options == {"schedule": "resident"})
    assert "'lazy' is about what is streamed" in clash.problem and clash.predicted_us is None
    assert all(1 not in one.options.get("cuts", ()) or one.problem for one in found)


def test_launches_of_loops_count_for_each_round() -> None:
    made = redfuse.compile(ROUNDS, target=TARGET, options=OPTIONS)
    assert made.candidates(limit=0)[0].kernels >= 4  # rounds 0, 2, 4, 6


def test_cpus_have_no_predictions() -> None:
    made = redfuse.compile(programs.softmax(8, 16), target="cpu", options=OPTIONS)
    with pytest.raises(redfuse.UnsupportedError, match="predicted for NVIDIA GPUs"):
        made.candidates()


def test_text_says_what_there_is_more_of(found: list[Candidate]) -> None:
    lines = candidate_lines(found)
    assert lines[0] == "Plans by predicted time:" and len(lines) == 1 + len(found)
    told = next(line for line in lines if APART in line)
    assert " of it: " in told and " us more of " in told
    assert candidate_lines([json.loads(json.dumps(one.as_dict())) for one in found]) == lines
    assert candidate_lines([]) == []


def test_text_of_what_cannot_be_compiled() -> None:
    parts = dict.fromkeys(("launch", "memory", "matrix", "vector"), 1.0)
    own = Candidate(CHOSEN, {}, 1, 4.0, parts, 1)
    lines = candidate_lines([own, Candidate("other", {"joins": (1,)}, problem="it is too long")])
    assert "without 1 that are not priced" in lines[1] and "refused: it is too long" in lines[2]


@pytest.mark.parametrize("name", ["cuts", "joins"])
def test_numbers_are_checked(name: str) -> None:
    with pytest.raises(redfuse.ArgumentError, match=f"option '{name}': expected numbers from 0"):
        redfuse.Options(**{name: (-1,)})
    with pytest.raises(redfuse.ArgumentError, match=f"'{name}'"):
        redfuse.Options(fuse=False, **{name: (1,)})


def test_cuts_and_joins_of_one_operation() -> None:
    with pytest.raises(redfuse.ArgumentError, match="'cuts' begin kernels"):
        redfuse.Options(cuts=(1, 2), joins=(2,))
