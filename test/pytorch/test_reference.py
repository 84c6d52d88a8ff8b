"""What the scoreboard compares results with, and how far from it they may be."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "programs"), str(ROOT / "python")]

import processes  # noqa: E402
import reference  # noqa: E402
from contraction_programs import to_tf32  # noqa: E402
from reference import Reference, Sums, allowed, distance  # noqa: E402


@pytest.fixture(autouse=True)
def no_gradients():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def judged(
    result: torch.Tensor, peer: torch.Tensor, model, *inputs: torch.Tensor, narrow=()
) -> bool:
    """As the scoreboard judges; narrow: what may use TF32."""
    with Sums() as seen:
        model(*inputs)
    made = Reference(model, inputs, [peer])
    tf32 = distance(made.rounded(set(narrow)), made.results) if narrow else 0.0
    bound = allowed(result, distance(peer, made.results), seen.longest, tf32)
    return distance(result, made.results) <= bound


def test_sums_may_be_made_in_any_order_and_must_have_all_summands() -> None:
    x = torch.rand(64, 4096)
    one_by_one = torch.zeros(64)
    for i in range(4096):
        one_by_one += x[:, i]
    whole = x.sum(-1)
    assert judged(one_by_one, whole, lambda x: x.sum(-1), x)
    assert not judged(whole - x[:, 7], whole, lambda x: x.sum(-1), x)
    assert not judged(x.bfloat16().float().sum(-1), whole, lambda x: x.sum(-1), x)


def test_tf32_is_allowed_where_the_switch_allows_it_only() -> None:
    conv = torch.nn.Conv2d(16, 8, 3)
    x = torch.rand(2, 16, 12, 12)
    narrow = torch.nn.Conv2d(16, 8, 3)
    for of, to in zip(conv.parameters(), narrow.parameters(), strict=True):
        to.copy_(torch.from_numpy(to_tf32(of.numpy())))
    narrow.bias.copy_(conv.bias)
    result = narrow(torch.from_numpy(to_tf32(x.numpy())))
    assert judged(result, conv(x), conv, x, narrow=["convolution"])
    assert not judged(result, conv(x), conv, x)
    coarse = conv.bfloat16()(x.bfloat16()).float()
    assert not judged(coarse, conv.float()(x), conv, x, narrow=["convolution"])


def test_numbers_are_rounded_as_tf32_is() -> None:
    x = torch.cat([torch.randn(1000), torch.tensor([0.0, 1.0, -(2.0**-100), 2.0**100])])
    x = torch.cat([x, torch.tensor([1 + 2**-11, 1 + 3 * 2**-11])])  # halves
    want = torch.from_numpy(to_tf32(x.numpy()))
    assert torch.equal(reference.to_tf32(x.double()).float(), want)
    assert reference.to_tf32(torch.tensor(float("inf")).double()) == float("inf")


@pytest.mark.parametrize(
    ("model", "shapes", "longest"),
    [
        (lambda a, b: a @ b, [(3, 70), (70, 5)], 70),
        (torch.nn.functional.conv2d, [(1, 6, 9, 9), (4, 6, 3, 3)], 54),
        (torch.nn.functional.conv_transpose2d, [(1, 6, 9, 9), (6, 4, 3, 3)], 54),
        (lambda a: a.softmax(1), [(3, 50, 2)], 50),
        (lambda a: a.cumsum(0), [(40, 2)], 40),
        (lambda a: a.mean((0, 2)), [(3, 5, 7)], 21),
        (lambda a: torch.layer_norm(a, (30,)), [(4, 30)], 30),
        (lambda a: a * 2, [(4, 30)], 1),
    ],
)
def test_the_longest_sum_is_seen(model, shapes: list[tuple[int, ...]], longest: int) -> None:
    with Sums() as seen:
        model(*(torch.randn(shape) for shape in shapes))
    assert seen.longest == longest and not seen.narrow


class Roomless(torch.nn.Module):
    """Has no room for more than three rows in fp64."""

    def __init__(self, mixes: bool):
        super().__init__()
        self.mixes = mixes
        self.scale = torch.nn.Parameter(torch.rand(7))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype == torch.float64 and len(x) > 3:
            raise torch.OutOfMemoryError
        x = torch.softmax(x * self.scale, -1)
        return x / x.sum(0) if self.mixes else x


def test_a_program_without_room_is_computed_in_pieces() -> None:
    x, model = torch.randn(17, 7), Roomless(False)
    made = Reference(model, [x], [model(x)])
    assert made.pieces == 8
    torch.testing.assert_close(made.results[0], torch.softmax(x.double() * model.scale, -1))


def test_rows_that_depend_on_others_are_not_computed_alone() -> None:
    x, model = torch.randn(17, 7), Roomless(True)
    with pytest.raises(RuntimeError, match="depend on the others"):
        Reference(model, [x], [model(x)])


@pytest.mark.parametrize("chunk", [4, 1 << 26])
def test_distances(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "CHUNK", chunk)
    nan, inf = float("nan"), float("inf")
    want = torch.tensor([1.0, -8, nan, inf, 2, 3]).double()
    assert distance(want.float(), [want]) == 0
    assert distance(torch.tensor([1.0, -8, nan, inf, 2, 4]), [want]) == 1 / 8
    assert distance(torch.tensor([1.0, -8, 0, inf, 2, 3]), [want]) == inf
    assert distance(torch.tensor([1.0, -8, nan, -inf, 2, 3]), [want]) == inf
    assert distance(torch.tensor([1.0, nan, nan, inf, 2, 3]), [want]) == inf
    assert distance(torch.tensor([1.0, inf, nan, inf, 2, 3]), [want]) == inf
    assert distance(want[:5], [want]) == inf and distance([], [want]) == inf
    assert distance(torch.empty(0), [torch.empty(0)]) == 0


def waits(_: dict, tell) -> dict:
    """Longer than it may run."""
    tell(processes.WAITING)
    time.sleep(2)
    tell("going on")
    return {}


def test_time_in_which_a_program_waits_is_not_its_own() -> None:
    (held,) = processes.run(waits, iter([{}]), 1, 1.0, 1e6)
    assert held.answer == {} and held.seconds < 1
