"""Neighbours of programs: the same text at other shapes, to see where time falls off a cliff.

``python test/programs/vary.py FOLDER --out FOLDER [--seed N] [--members N]`` reads programs in
KernelBench's form (``Model``, ``get_inputs``, ``get_init_inputs`` and sizes as constants of the
module) and writes each again with sizes that a generator draws near those given, half of them round
and the others odd or just as they come. A draw with which the model does not run (groups that do not
divide channels, say) is drawn again; what runs is found on PyTorch's meta device, without memory.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
from pathlib import Path

# Smaller numbers are kernels, strides, heads: another of them is another program.
LEAST = 10
TRIES = 60


def sizes(tree: ast.Module) -> list[ast.Constant]:
    """The integers, also within tuples, that constants of the module are set to."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for part in ast.walk(node.value):
                if isinstance(part, ast.Constant) and type(part.value) is int:
                    found.append(part)
    return [c for c in found if c.value >= LEAST]


def near(draw: random.Random, size: int) -> int:
    """A size between 0.4 and 1.1 of one given."""
    n = max(2, int(size * draw.uniform(0.4, 1.1)))
    if draw.random() < 0.5:
        step = max(s for s in (1, 2, 8, 16, 64) if 4 * s <= max(4, n))
        return max(1, n // step) * step
    return n | 1 if draw.random() < 0.6 else n


def runs(text: str) -> str:
    """Why a program does not run; empty if it does."""
    import torch

    space: dict = {"__name__": "varied"}
    try:
        with torch.device("meta"), torch.no_grad():
            exec(compile(text, "varied", "exec"), space)
            model = space["Model"](*space["get_init_inputs"]())
            model(*(x.to("meta") if hasattr(x, "to") else x for x in space["get_inputs"]()))
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return ""


def varied(text: str, draw: random.Random) -> str | None:
    """The program at other sizes, or None where no draw runs."""
    tree = ast.parse(text)
    places = sizes(tree)
    given = [c.value for c in places]
    # The more draws fail, the fewer sizes are changed: some have to fit each other.
    for i in range(TRIES):
        share = 1.0 - i / TRIES
        for place, size in zip(places, given, strict=True):
            place.value = near(draw, size) if draw.random() < share else size
        if [c.value for c in places] != given and not runs(changed := ast.unparse(tree)):
            return changed
    return None


def main() -> int:
    """Writes them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path, help="a folder of programs")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--members", type=int, default=1, help="neighbours of each")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for file in sorted(given.suite.rglob("*.py")):
        for i in range(given.members):
            text = varied(file.read_text(), random.Random(f"{given.seed} {i} {file.stem}"))
            if text is None:
                print(f"{file.stem}: no draw runs", file=sys.stderr)
                break
            (given.out / f"{file.stem}_{given.seed + i}.py").write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
