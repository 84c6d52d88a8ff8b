"""Tensors between kernels in another order: random networks compute the same before and after."""

from __future__ import annotations

import random

import numpy as np
import pytest
import redfuse  # noqa: F401  (registers the dialect)
from mlir import ir
from tensor_program import run
from upstream_run import find_redfuse_opt, opt

TARGET = (
    '#redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, '
    'flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">'
)
DIMS = "n, c, h, w"


class Network:
    """Cascades that read each other: products over channels and windows, poolings, maps, copies
    in other orders, and results of some."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.lines: list[str] = []
        # Of each tensor: its shape, and whether its dims are n, c, h, w.
        self.shapes: dict[str, tuple[int, ...]] = {"%x": (2, 3, 4, 5)}
        self.inputs = [("%x", self.shapes["%x"])]
        self.count = 0

    def cascade(self, maps: list[str], given: list[str], shape: tuple[int, ...], body: str) -> str:
        self.count += 1
        name, empty = f"%t{self.count}", f"%e{self.count}"
        kinds = ", ".join(kind(self.shapes[g]) for g in given)
        arguments = ", ".join(f"%a{i}: f32" for i in range(len(given)))
        self.lines += [
            f"{empty} = tensor.empty() : {kind(shape)}",
            f"{name} = redfuse.cascade {{indexing_maps = [{', '.join(maps)}]}} "
            f"ins({', '.join(given)} : {kinds}) outs({empty} : {kind(shape)}) {{",
            f"^bb0({arguments}):",
            body,
            f"}} -> {kind(shape)}",
        ]
        self.shapes[name] = shape
        return name

    def argument(self, shape: tuple[int, ...]) -> str:
        name = f"%w{len(self.inputs)}"
        self.inputs.append((name, shape))
        self.shapes[name] = shape
        return name

    def copied(self, x: str) -> tuple[str, list[int]]:
        """A copy with channels last, or in any order, and where its dims were."""
        order = self.draw.choice([[0, 2, 3, 1], [0, 2, 3, 1], [0, 3, 1, 2], [2, 0, 3, 1]])
        names = ["n", "c", "h", "w"]
        moved = ", ".join(names[d] for d in order)
        shape = tuple(self.shapes[x][d] for d in order)
        body = self.draw.choice(
            ["redfuse.yield %a0 : f32", "%r = arith.negf %a0 : f32 redfuse.yield %r : f32"]
        )
        maps = [f"affine_map<({moved}) -> ({DIMS})>", f"affine_map<({moved}) -> ({moved})>"]
        return self.cascade(maps, [x], shape, body), order

    def product(self, x: str, added: str | None) -> str:
        """A convolution of one tap or two along h, perhaps of a copy, perhaps with a tensor added."""
        n, c, h, w = self.shapes[x]
        taps = self.draw.choice([1, 2]) if h > 2 else 1
        read, order = self.copied(x) if self.draw.random() < 0.8 else (x, [0, 1, 2, 3])
        places = ["n", "k", "h + i", "w"]
        out = c if added else self.draw.choice([2, 3, 4])
        if added and self.shapes[added] != (n, out, h - taps + 1, w):
            added = None
        filters = self.argument((out, c, taps))
        dims = "n, c, h, w, k, i"
        maps = [f"affine_map<({dims}) -> ({', '.join(places[d] for d in order)})>",
                f"affine_map<({dims}) -> (c, k, i)>"]  # fmt: skip
        body = ("%p = arith.mulf %a0, %a1 : f32 "
                "%s = redfuse.reduce add %p over [4, 5] into [0, 1, 2, 3] : f32 ")  # fmt: skip
        given = [read, filters]
        if added:
            maps.append(f"affine_map<({dims}) -> ({DIMS})>")
            given.append(added)
            body += "%q = arith.addf %s, %a2 : f32 redfuse.yield %q : f32"
        else:
            body += "redfuse.yield %s : f32"
        maps.append(f"affine_map<({dims}) -> ({DIMS})>")
        return self.cascade(maps, given, (n, out, h - taps + 1, w), body)

    def pool(self, x: str) -> str:
        n, c, h, w = self.shapes[x]
        if w < 2:
            return x
        dims = "n, c, h, w, i"
        ones = self.argument((2,))
        maps = [f"affine_map<({dims}) -> (n, c, h, w + i)>", f"affine_map<({dims}) -> (i)>",
                f"affine_map<({dims}) -> ({DIMS})>"]  # fmt: skip
        body = "%m = redfuse.reduce maximumf %a0 over [4] into [0, 1, 2, 3] : f32 redfuse.yield %m : f32"
        return self.cascade(maps, [x, ones], (n, c, h, w - 1), body)

    def text(self) -> str:
        x, before, kept = "%x", None, []
        for _ in range(self.draw.randint(2, 6)):
            old = x
            if self.draw.random() < 0.25:
                x = self.pool(x)
            else:
                x = self.product(x, before if self.draw.random() < 0.5 else None)
            before = old
            if self.draw.random() < 0.2:
                kept.append(x)
        if self.draw.random() < 0.5 and x not in kept:
            n, c, _, _ = self.shapes[x]
            maps = [f"affine_map<({DIMS}) -> ({DIMS})>", f"affine_map<({DIMS}) -> (n, c)>"]
            body = (
                "%s = redfuse.reduce add %a0 over [2, 3] into [0, 1] : f32 redfuse.yield %s : f32"
            )
            x = self.cascade(maps, [x], (n, c), body)
        results = [*dict.fromkeys([*kept, x])]
        arguments = ", ".join(f"{name}: {kind(shape)}" for name, shape in self.inputs)
        kinds = ", ".join(kind(self.shapes[r]) for r in results)
        lines = "\n".join(self.lines)
        return (
            f"module attributes {{redfuse.target = {TARGET}}} {{\nfunc.func @main({arguments}) -> "
            f"({kinds}) {{\n{lines}\nreturn {', '.join(results)} : {kinds}\n}}\n}}\n"
        )


def kind(shape: tuple[int, ...]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(120))
def test_random_networks(seed: int) -> None:
    network = Network(seed)
    source = network.text()
    after = opt(find_redfuse_opt(), source, "--redfuse-propagate-layouts")
    rng = np.random.default_rng(seed)
    inputs = [rng.standard_normal(shape) for _, shape in network.inputs]
    with ir.Context():
        want = run(ir.Module.parse(source), *inputs)
        got = run(ir.Module.parse(after), *inputs)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_networks_are_changed() -> None:
    """Most of the random ones have a copy that goes."""
    binary = find_redfuse_opt()
    sources = [Network(seed).text() for seed in range(12)]
    fewer = [
        opt(binary, source, "--redfuse-propagate-layouts").count("redfuse.cascade {")
        < source.count("redfuse.cascade {")
        for source in sources
    ]
    assert sum(fewer) >= 4
