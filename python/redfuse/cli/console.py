"""Output for people: colour and tables on a terminal, plain aligned text elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..explain.render import columns


def is_terminal(stream: Any = None) -> bool:
    """Whether to decorate output on ``stream`` (stdout)."""
    stream = stream or sys.stdout
    return (
        bool(stream.isatty()) and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    )


def heading(text: str) -> None:
    """A line that starts a section."""
    if is_terminal():
        from rich.console import Console

        Console(highlight=False).print(f"\n[bold cyan]{_escape(text)}[/]")
    else:
        print(f"\n{text}\n{'-' * min(len(text), 80)}")


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], right: Sequence[int] = ()) -> None:
    """A table; columns in ``right`` are aligned to the right."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    if not is_terminal():
        widths = [max(len(str(row[i])) for row in [header, *cells]) for i in range(len(header))]
        padded = [
            [cell.rjust(widths[i]) if i in right else cell for i, cell in enumerate(row)]
            for row in [list(header), *cells]
        ]
        print("\n".join(columns(padded)))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(header):
        made.add_column(
            name, justify="right" if i in right else "left", no_wrap=i in right, overflow="fold"
        )
    for row in cells:
        made.add_row(*map(_escape, row))
    Console().print(made)


def verdict(text: str, ok: bool) -> None:
    """A line that is good or bad news."""
    if is_terminal():
        from rich.console import Console

        Console(highlight=False, soft_wrap=True).print(
            f"[{'green' if ok else 'bold red'}]{_escape(text)}[/]"
        )
    else:
        print(text)


@contextlib.contextmanager
def progress(text: str) -> Iterator[None]:
    """Shows on stderr that something long is going on; silent where stderr is no terminal."""
    if not is_terminal(sys.stderr):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(_escape(text)):
        yield


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
