"""Tables of the scoreboard's records: Markdown, and a page that stands alone."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence

FAST, SLOW, CLIFF = 0.95, 0.5, 0.1
COLUMNS: tuple[tuple[str, Callable[[dict], str]], ...] = (
    ("program", lambda r: r["name"] + ("" if r.get("cut", 1) == 1 else f" (1/{r['cut']})")),
    ("dtype", lambda r: r["dtype"]),
    ("status", lambda r: r["status"]),
    ("kernels", lambda r: str(r.get("kernels", ""))),
    ("redfuse ms", lambda r: _ms(r.get("redfuse_ms"))),
    ("eager ms", lambda r: _ms(r.get("eager_ms"))),
    ("torch.compile ms", lambda r: _ms(r.get("inductor_ms"))),
    ("best peer / redfuse", lambda r: _ratio(ratio(r))),
    ("error", lambda r: _error(r.get("redfuse_error"))),
    ("eager's error", lambda r: _error(r.get("eager_error"))),
    ("compile s", lambda r: f"{r['compile_s']:.1f}" if "compile_s" in r else ""),
    ("words", lambda r: r.get("words", "")),
)


def ratio(row: dict) -> float | None:
    """The faster peer's time over redfuse's; None where there is none."""
    peers = [row[k] for k in ("eager_ms", "inductor_ms") if k in row]
    if not peers or "redfuse_ms" not in row:
        return None
    return min(peers) / row["redfuse_ms"]


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _error(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"


def summary(rows: Sequence[dict]) -> list[tuple[str, str]]:
    """Counts and the geometric mean of ratios."""
    found = [x for x in (ratio(r) for r in rows) if x]
    mean = math.exp(sum(map(math.log, found)) / len(found)) if found else float("nan")
    counts = {s: sum(r["status"] == s for r in rows)
              for s in ("right", "wrong", "refused", "died", "late")}  # fmt: skip
    return [
        ("tried", str(len(rows))),
        *((name, str(count)) for name, count in counts.items()),
        ("timed", str(len(found))),
        ("geometric mean", _ratio(mean)),
        ("least", _ratio(min(found, default=None))),
        (f"at least {FAST}", str(sum(x >= FAST for x in found))),
        (f"under {SLOW}", str(sum(x < SLOW for x in found))),
        (f"under {CLIFF}", str(sum(x < CLIFF for x in found))),
    ]


def _lines(cells: Sequence[Sequence[str]]) -> list[str]:
    head, *rest = cells
    rows = [head, ["---"] * len(head), *rest]
    return ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in rows]


def table(rows: Sequence[dict]) -> str:
    """Markdown: the summary, then a row a program."""
    told = summary(rows)
    head = _lines([[k for k, _ in told], [v for _, v in told]])
    body = _lines([[k for k, _ in COLUMNS], *([cell(r) for _, cell in COLUMNS] for r in rows)])
    return "\n".join([*head, "", *body]) + "\n"


def page(rows: Sequence[dict]) -> str:
    """HTML without anything from elsewhere; slow rows are shaded."""

    def shade(row: dict) -> str:
        value = ratio(row)
        if row["status"] != "right" or value is None or value < CLIFF:
            return "bad"
        return "slow" if value < SLOW else ""

    told = "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in summary(rows))
    head = "".join(f"<th>{html.escape(name)}</th>" for name, _ in COLUMNS)
    body = "".join(
        f'<tr class="{shade(r)}">'
        + "".join(f"<td>{html.escape(cell(r))}</td>" for _, cell in COLUMNS)
        + "</tr>\n"
        for r in rows
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Scoreboard</title><style>'
        "body{font:14px sans-serif;margin:2em}dl{display:flex;flex-wrap:wrap;gap:0 .5em}"
        "dt{font-weight:bold}dd{margin:0 1.5em 0 0}table{border-collapse:collapse}"
        "td,th{padding:.2em .6em;border-bottom:1px solid #ddd;text-align:left}"
        ".bad{background:#fdd}.slow{background:#ffd}</style>"
        f"<h1>Scoreboard</h1><dl>{told}</dl><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></html>\n"
    )
