"""``redfuse merge``: states in files, of machines without a network between them, become one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ArgumentError

Settings = Annotated[
    list[str] | None,
    typer.Option("--option", "-O", help="name=value, a field of redfuse.Options."),
]


def merge(
    states: Annotated[
        list[Path], typer.Argument(help="States that State.save wrote, in the order of their data.")
    ],
    program: Annotated[
        Path, typer.Option("--program", "-p", help="The program that the states are of.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the merged state here.")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(help="Finish the merged state, and write the results here as .npz."),
    ] = None,
    entry: Annotated[
        str | None, typer.Option(help="The function, if it is not the only one or main.")
    ] = None,
    option: Settings = None,
) -> None:
    """Merge states that were made elsewhere, with the checks of Executable.merge: of one program
    and the same arguments, without gaps in an ordered reduction, nothing counted twice."""
    import dataclasses

    from ..compiler import compile
    from ..options import Options
    from ..state import State

    options = Options.from_assignments(option or [])
    if entry is not None:
        options = dataclasses.replace(options, entry=entry)
    if output is None and results is None:
        raise ArgumentError("merge: expected --output for the state, or --results, or both")
    executable = compile(program, target="cpu", options=options)
    merged: State | None = None
    for path in states:
        state = State.load(path)
        try:
            merged = state if merged is None else executable.merge(merged, state)
            if merged is state:
                executable.state_program.check_state("merge", state)
        except ArgumentError as error:
            raise ArgumentError(f"{path}: {error}") from None
    assert merged is not None
    if output is not None:
        merged.save(output)
    if results is not None:
        _save(results, executable.finalize(merged))
    print(f"{merged.count} elements of {len(states)} states")


def _save(path: Path, found: Any) -> None:
    import io

    import numpy

    from ..store import files

    all_results = found if isinstance(found, tuple) else (found,)
    held = {}
    for number, result in enumerate(all_results):
        wide = result.dtype.name == "bfloat16"  # .npz knows no bf16
        held[f"out{number}"] = result.astype(numpy.float32) if wide else result
    buffer = io.BytesIO()
    numpy.savez(buffer, **held)
    files.write(str(path), buffer.getvalue())
