"""Scans that PyTorch spells as trees (``combine_mode="generic"``): found, and beside fp64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from redfuse.frontends.dynamo import backend, report
from torch._higher_order_ops.associative_scan import associative_scan

pytestmark = pytest.mark.usefixtures("alone")
Function = Callable[..., Any]


def scan(combine: Function, xs: Any, dim: int, reverse: bool = False) -> Any:
    return associative_scan(combine, xs, dim, reverse, combine_mode="generic")


def affine(left: Any, right: Any) -> Any:
    (a, h), (b, x) = left, right
    return a * b, b * h + x


def states(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return scan(affine, (a, x), 2)[1]


def both(a: torch.Tensor, x: torch.Tensor) -> Any:
    return scan(affine, (a, x), 0)


def of_one_tensor(a: torch.Tensor, x: torch.Tensor) -> Any:
    """Two functions of the same leaves, one of them from the end, and one of two parts."""
    top = scan(torch.maximum, x, 1, reverse=True)
    total = scan(torch.add, x, 1)
    return top * total, scan(lambda p, q: (p[0] + q[0], torch.minimum(p[1], q[1])), (a, x), 1)


def of_a_scan(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return scan(torch.maximum, scan(torch.add, a * x, 1).sin(), 1)


def selective(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """As a selective state-space model has it: the weighted sum of what is scanned."""
    steps = torch.exp(-a[..., None] * torch.arange(1.0, 5.0, dtype=a.dtype))
    h = scan(affine, (steps, (a * x)[..., None] * steps.sin()), 2)[1]
    return (h @ steps.cos().mean((1, 2))[:, None, :, None])[..., 0]


FUNCTIONS = [states, both, of_one_tensor, of_a_scan, selective]


def compiled(function: Function, **options: Any) -> tuple[Function, list[Any]]:
    made = torch.compile(function, backend=backend, options=options)
    records: list[Any] = []

    def run(*given: torch.Tensor) -> Any:
        with report.collected() as found:
            result = made(*given)
        records.extend(found)
        return result

    return run, records


def leaves(results: Any) -> list[torch.Tensor]:
    return torch.utils._pytree.tree_leaves(results)


def scans(records: list[Any]) -> list[str]:
    return [p.kernel for r in records for p in r.parts if p.kind == "scans"]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("length", [2, 31, 64])
@pytest.mark.parametrize("options", [{"claim": "all"}, {"claim": "none"}], ids=["all", "none"])
def test_beside_fp64(function: Function, length: int, options: dict[str, Any]) -> None:
    shape = (2, 3, length) if function is not both else (length, 5)
    run, records = compiled(function, fallback="eager", **options)
    spelled = torch.compile(function, backend="eager")
    for _ in range(2):
        a, x = torch.rand(shape), torch.randn(shape)
        with torch.no_grad():
            got, exact = leaves(run(a, x)), leaves(spelled(a.double(), x.double()))
        for one, true in zip(got, exact, strict=True):
            # Sums of up to 64 terms of some units, in any order, and what sines make of them.
            scale = 64 * 2.0**-23 * max(1.0, float(true.abs().max()))
            torch.testing.assert_close(one.double(), true, rtol=0, atol=scale)
    assert any(scans(records)) == (options["claim"] == "all")
    assert all(scans(records))


def test_long_scans_are_claimed() -> None:
    a, x = torch.rand(1, 700, 513), torch.randn(1, 700, 513)
    run, records = compiled(states)
    with torch.no_grad():
        got, want = run(a, x), torch.compile(states, backend="eager")(a, x)
    torch.testing.assert_close(got, want)
    assert all(scans(records)) and scans(records)


def test_what_is_not_claimed_is_inductors_own() -> None:
    """To the bit: the tree is what it was."""
    a, x = torch.rand(2, 3, 37), torch.randn(2, 3, 37)
    run, records = compiled(of_one_tensor, claim="none")
    with torch.no_grad():
        got = leaves(run(a, x))
        torch._dynamo.reset()
        want = leaves(torch.compile(of_one_tensor)(a, x))
    assert all(torch.equal(one, other) for one, other in zip(got, want, strict=True))
    assert not scans(records)


def found_in(function: Function, *given: torch.Tensor, **options: Any) -> list[str]:
    """The scans that redfuse may claim of a function."""
    run, records = compiled(function, claim="all", fallback="eager", **options)
    run(*given)
    return scans(records)


@torch.no_grad()
def test_what_is_no_scan_stays() -> None:
    x = torch.randn(8, 4, 4)
    assert not found_in(lambda x: scan(torch.matmul, x, 0), x)  # not element by element
    assert not found_in(lambda x: torch.vmap(torch.add)(x[0::2], x[1::2]), x)  # pairs alone
    assert not found_in(lambda x: scan(lambda a, b: b.clone().add_(a), x, 0), x)  # writes
    assert not found_in(half_a_tree, x)
    assert not found_in(lambda x: scan(torch.add, x, 0), x, strict=True)


def half_a_tree(x: torch.Tensor) -> torch.Tensor:
    """Prefixes of pairs: the third place has the third element alone."""
    even, odd = (torch.ops.aten.slice(x, 0, first, None, 2) for first in (0, 1))
    stacked = torch.stack([even, torch.vmap(torch.add)(even, odd)], dim=1)
    return torch.flatten(stacked, start_dim=0, end_dim=1)


def test_what_is_trained_stays() -> None:
    a, x = torch.rand(2, 3, 8), torch.randn(2, 3, 8, requires_grad=True)
    assert not found_in(states, a, x)
