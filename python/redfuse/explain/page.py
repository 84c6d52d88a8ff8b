"""``explain`` as one page of HTML, with nothing from elsewhere: the graph of kernels, predicted
times, and what the text has of each kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from .candidates import candidate_lines
from .render import bytes_text, kernel_lines, moves_text, predicted_text, refusal_lines
from .selections import selection_lines

# Pixels of the graph: of a node, and between two.
WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 170, 46, 24, 44, 12
# Kernels from which on a graph would only be long.
MOST_OF_GRAPH = 120
BAR, ROW = 420, 34
PARTS = (("memory", "#4c78a8"), ("matrix", "#f58518"), ("vector", "#54a24b"))
STYLE = (
    "body{font:14px/1.45 sans-serif;margin:2em;max-width:80em}h1{font-size:1.4em}"
    "h2{font-size:1.1em}"
    "pre{background:#f6f6f6;padding:.8em;overflow-x:auto}.wide{overflow-x:auto}"
    "summary{cursor:pointer;font-family:monospace}svg text{font:12px sans-serif}"
    "svg path{fill:none;stroke:#999}"
    "table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right}"
    "td:first-child,th:first-child{text-align:left}"
)


class Node(NamedTuple):
    """A box of the graph: its place is (column, level)."""

    name: str
    text: str
    color: str
    column: int
    level: int

    @property
    def x(self) -> int:
        return MARGIN + self.column * (WIDTH + ACROSS)

    @property
    def y(self) -> int:
        return MARGIN + self.level * (HEIGHT + DOWN)


def page(
    explanation: Mapping[str, Any],
    name: str,
    target: str,
    measured: Mapping[str, float] | None = None,
) -> str:
    """The page. explanation: the object of docs/user/explain.md; name: of the program; measured:
    microseconds of all launches of a kernel, by its name, where it was timed."""
    kernels = explanation.get("kernels", [])
    title = escape(f"{name} for {target}")
    count = f"{len(kernels)} kernel{'' if len(kernels) == 1 else 's'}"
    told = [text for text in (moves_text(kernels), predicted_text(kernels)) if text]
    if measured:
        told.append(f"{sum(measured.values()):.1f} us measured")
    parts = [
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/><title>{title}</title>',
        f"<style>{STYLE}</style></head><body><h1>{title}</h1>",
        f"<p>{escape('; '.join([count, *told]))}</p>",
        _section("What kernels hand on", graph(kernels)),
        _section(
            "Predicted and measured times" if measured else "Predicted times",
            times(kernels, measured or {}),
        ),
    ]
    if kernels:
        parts.append("<h2>Kernels</h2>")
    for kernel in kernels:
        text = escape("\n".join(kernel_lines(kernel)))
        label = escape(str(kernel.get("name", "?")))
        parts.append(
            f'<details id="kernel-{label}"><summary>{label} {escape(_line(kernel))}</summary>'
            f"<pre>{text}</pre></details>"
        )
    for selection in explanation.get("selections", []):
        parts.append(f"<pre>{escape(chr(10).join(selection_lines(selection)))}</pre>")
    if lines := candidate_lines(explanation.get("candidates", [])):
        parts.append(_section("Other plans", f"<pre>{escape(chr(10).join(lines))}</pre>"))
    refused = explanation.get("refused", [])
    if refused:
        lines = [line for refusal in refused for line in refusal_lines(refusal)]
        parts.append(
            _section(f"Not fused ({len(refused)})", f"<pre>{escape(chr(10).join(lines))}</pre>")
        )
    return "".join([*parts, "</body></html>\n"])


def _section(title: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2>{body}" if body else ""


def _line(kernel: Mapping[str, Any]) -> str:
    told = [str(kernel.get("source") or ""), moves_text([kernel]), predicted_text([kernel])]
    return " · ".join(text for text in told if text)


def graph(kernels: Sequence[Mapping[str, Any]]) -> str:
    """Arguments, kernels and results as SVG, each kernel below all that it reads; "" of none."""
    if not kernels or any("flow" not in kernel for kernel in kernels):
        return ""
    if len(kernels) > MOST_OF_GRAPH:
        return f"<p>{len(kernels)} kernels are too many for a graph.</p>"
    nodes = place(kernels)
    width = max(node.x for node in nodes.values()) + WIDTH + MARGIN
    height = max(node.y for node in nodes.values()) + HEIGHT + MARGIN
    shapes = []
    for kernel in kernels:
        for edge in kernel["flow"]["from"]:
            if (source := nodes.get(edge["name"])) is not None:
                shapes.append(_edge(source, nodes[kernel["name"]], edge["bytes"]))
        if kernel["flow"]["returns"]:
            shapes.append(_edge(nodes[kernel["name"]], nodes[""], None))
    shapes += [_box(node) for node in nodes.values()]
    return (
        f'<div class="wide"><svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
        f'height="{height}" role="img" aria-label="kernels">{"".join(shapes)}</svg></div>'
    )


def place(kernels: Sequence[Mapping[str, Any]]) -> dict[str, Node]:
    """A node for each argument that is read, each kernel, and ("") the results."""
    levels: dict[str, int] = {}
    for kernel in kernels:
        sources = [edge["name"] for edge in kernel["flow"]["from"]]
        for source in sources:
            levels.setdefault(source, 0)
        levels[kernel["name"]] = 1 + max((levels[source] for source in sources), default=0)
    levels[""] = 1 + max(levels.values())
    known = {kernel["name"]: kernel for kernel in kernels}
    columns: dict[int, int] = {}
    nodes = {}
    for name, level in levels.items():
        column = columns.get(level, 0)
        columns[level] = column + 1
        if name in known:
            said = known[name].get("predicted")
            text = "" if said is None else f"{said['total_us']:.1f} us"
            nodes[name] = Node(name, text, "#dbe7f5", column, level)
        else:
            nodes[name] = Node(name, "" if name else "results", "#eeeeee", column, level)
    return nodes


def _box(node: Node) -> str:
    lines = [text for text in (node.name, node.text) if text]
    top = node.y + HEIGHT / 2 + 4 - 7.5 * (len(lines) - 1)
    texts = "".join(
        f'<text x="{node.x + WIDTH / 2}" y="{top + 15 * i}" text-anchor="middle">'
        f"{escape(line[:26])}</text>"
        for i, line in enumerate(lines)
    )
    return (
        f'<g><title>{escape(" ".join(lines))}</title><rect x="{node.x}" y="{node.y}" '
        f'width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{node.color}" stroke="#888"/>{texts}</g>'
    )


def _edge(source: Node, target: Node, count: int | None) -> str:
    x, y = source.x + WIDTH / 2, source.y + HEIGHT
    u, v = target.x + WIDTH / 2, target.y
    middle = (y + v) / 2
    told = "" if count is None else f"<title>{escape(bytes_text(count))}</title>"
    return f'<path d="M{x} {y}C{x} {middle} {u} {middle} {u} {v}">{told}</path>'


def times(kernels: Sequence[Mapping[str, Any]], measured: Mapping[str, float]) -> str:
    """A bar for each kernel, with a line where what was measured ends and a thin bar for each part;
    "" where nothing is predicted."""
    said = [(kernel["name"], kernel["predicted"]) for kernel in kernels if kernel.get("predicted")]
    if not said:
        return ""
    most = max(max(time["total_us"], measured.get(name, 0.0)) for name, time in said)
    rows = []
    for i, (name, time) in enumerate(said):
        y = i * ROW
        length = BAR * time["total_us"] / most
        words = f"{time['total_us']:.1f} us"
        end = length
        if (taken := measured.get(name)) is not None:
            words += f", {taken:.1f} measured"
            at = BAR * taken / most
            end = max(length, at)
            rows.append(
                f'<rect class="measured" x="{179 + at:.1f}" y="{y + 1}" width="2" height="20" '
                f'fill="#c33"><title>{taken:.1f} us measured</title></rect>'
            )
        rows.append(
            f'<text x="0" y="{y + 15}">{escape(str(name)[:26])}</text><rect x="180" y="{y + 4}" '
            f'width="{length:.1f}" height="14" fill="#ccd"/>'
            f'<text x="{186 + end:.1f}" y="{y + 15}">{words}</text>'
        )
        for j, (part, color) in enumerate(PARTS):
            rows.append(
                f'<rect x="180" y="{y + 19 + 4 * j}" width="{BAR * time[f"{part}_us"] / most:.1f}" '
                f'height="3" fill="{color}"><title>{part}</title></rect>'
            )
    key = "".join(
        f'<tspan fill="{color}">■</tspan> {words}  '
        for (_, color), words in zip(PARTS, ("memory", "matrix units", "threads"), strict=True)
    )
    height = len(said) * ROW
    return (
        f'<div class="wide"><svg xmlns="http://www.w3.org/2000/svg" width="{BAR + 360}" '
        f'height="{height + 20}" role="img" aria-label="predicted times">{"".join(rows)}'
        f'<text x="180" y="{height + 14}">{key}</text></svg></div>'
    )
