"""Shares of the floor as bars: SVG or PNG, by matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from ..errors import Error
from ..store import files
from .runner import Row

WIDTH = 0.8


def draw(rows: Sequence[Row], about: dict[str, str], path: Path) -> None:
    """Writes the picture; its format is that of the path's ending."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Error("--plot needs matplotlib: pip install 'redfuse[plot]'") from None
    timed = [row for row in rows if row.of_floor is not None]
    cases = list(dict.fromkeys(f"{row.workload}/{row.case}" for row in timed))
    names = list(dict.fromkeys(row.implementation for row in timed))
    figure = Figure(figsize=(9, 1.5 + 0.13 * len(cases) * max(len(names), 1)))
    axes = figure.add_subplot()
    height = WIDTH / max(len(names), 1)
    for at, name in enumerate(names):
        # The best of several passes.
        best: dict[str, float] = {}
        for row in timed:
            key = f"{row.workload}/{row.case}"
            if row.implementation == name and row.of_floor is not None:
                best[key] = max(best.get(key, 0.0), row.of_floor)
        places = [number + at * height for number, case in enumerate(cases) if case in best]
        axes.barh(places, [best[case] for case in cases if case in best], height, label=name)
    # Where a copy of as many bytes would be.
    copies = {f"{r.workload}/{r.case}": r.of_floor / r.of_copy for r in timed if r.of_copy}
    places = [n for n, case in enumerate(cases) if case in copies]
    axes.vlines(
        [copies[cases[n]] for n in places], [n - height / 2 for n in places],
        [n + WIDTH - height / 2 for n in places], colors="black", linewidth=1.5,
        label="a copy of its size" if places else None,
    )  # fmt: skip
    axes.set_yticks([n + WIDTH / 2 - height / 2 for n in range(len(cases))], cases, fontsize=7)
    axes.invert_yaxis()
    axes.axvline(1.0, color="black", linewidth=0.5)
    axes.set_xlabel("least time / time (1: the rate of a copy, or of a matrix product)")
    axes.set_title(f"{about.get('gpu', '')}, {about.get('date', '')}", fontsize=9)
    axes.legend(fontsize=7)
    figure.tight_layout()
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix[1:] or "svg")
    files.write(str(path), picture.getvalue())
