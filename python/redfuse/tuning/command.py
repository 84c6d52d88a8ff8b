"""``redfuse tune``."""

from __future__ import annotations

import json as json_module
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ..cli import console
from ..errors import ArgumentError


def _show_hints(wanted: bool) -> None:
    if wanted:
        from .hints import lines

        print("\n".join(lines()))
        raise typer.Exit


def tune(
    file: Annotated[Path, typer.Argument(help="A program: MLIR text or bytecode.")],
    target: Annotated[str, typer.Option(help="cpu, or cuda for this machine's GPU.")] = "auto",
    shape: Annotated[
        list[str] | None,
        typer.Option(help="4096x128; one an argument, needed where extents are dynamic."),
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option(help="An .npz with in0, ...; by default random inputs.")
    ] = None,
    limit: Annotated[float, typer.Option(help="Seconds after which nothing more is tried.")] = 60.0,
    seconds: Annotated[float, typer.Option(help="Of timing each candidate.")] = 0.2,
    json: Annotated[Path | None, typer.Option(help="Write all trials here.")] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Remove what is stored for the program instead.")
    ] = False,
    hints: Annotated[
        bool,
        typer.Option(
            "--hints", callback=_show_hints, is_eager=True, help="List all hints, and nothing else."
        ),
    ] = False,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-O", help="name=value, a field of redfuse.Options."),
    ] = None,
) -> None:
    """Measure schedules of a program here, and keep the best for later compilations."""
    from ..options import Options
    from . import Trial, Tuning
    from . import tune as search

    options = Options.from_assignments(option or [])
    shapes = [_shape(text) for text in shape or []]
    if forget:
        _forget(file, target, shapes, options)
        return
    with _progress(str(file)) as say:

        def report(trial: Trial, so_far: Tuning) -> None:
            time = "not used" if trial.ms is None else f"{trial.ms:.4f} ms"
            note = f"  ({trial.note})" if trial.note else ""
            say(
                f"[{len(so_far.trials)}] {trial.text()}: {time}{note}",
                f"{file}: {len(so_far.trials)} tried, best {so_far.ms:.4f} ms, "
                f"{so_far.default_ms / so_far.ms:.2f} times the model's speed",
            )

        result = search(
            file, target=target, shapes=shapes, inputs=str(inputs or ""), options=options,
            limit=limit, seconds=seconds, report=report,
        )  # fmt: skip
    best = Trial(result.schedules, result.ms)
    failed = sum(trial.ms is None for trial in result.trials)
    print(
        f"{file}: {len(result.trials)} schedules tried, {failed} of them not used; "
        + ("the search ended" if result.complete else "out of time")
    )
    print(f"the model's choice {result.default_ms:.4f} ms, the best {result.ms:.4f} ms")
    print(f"kept: {best.text() if any(result.schedules) else 'the choice of the model'}")
    print(f"stored in {result.path}")
    if json is not None:
        _write(json, result)


def _shape(text: str) -> list[int]:
    if not re.fullmatch(r"(\d+(x\d+)*)?", text):
        raise ArgumentError(f"--shape {text}: expected extents, as 4096x128")
    return [int(word) for word in text.split("x") if word]


def _forget(file: Path, target: str, shapes: Sequence[Sequence[int]], options: Any) -> None:
    from ..compiler import resolve_target
    from ..frontends import mlir as mlir_frontend
    from . import store

    program = mlir_frontend.read(file)
    removed = 0
    for chosen in (shapes or None, None):
        path = store.path(program, options, resolve_target(target), chosen)
        if path is not None and os.path.exists(path):
            os.unlink(path)
            removed += 1
    print(f"{file}: {removed} results removed")


def _write(path: Path, result: Any) -> None:
    import dataclasses

    from ..store import files

    files.write(
        str(path), (json_module.dumps(dataclasses.asdict(result), indent=1) + "\n").encode()
    )


@contextmanager
def _progress(text: str) -> Iterator[Any]:
    """Gives a function of a line to print and of a state to show on a terminal."""
    if not console.is_terminal(sys.stderr):
        yield lambda line, _: print(line, file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.markup import escape

    screen = Console(stderr=True, highlight=False)
    with screen.status(escape(text)) as status:

        def say(line: str, state: str) -> None:
            screen.print(escape(line))
            status.update(escape(state))

        yield say
