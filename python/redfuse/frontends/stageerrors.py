"""What a failing stage says, in terms of the source: passes speak of what they have made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import CompileError, Error, UnsupportedError, position_text
from ..errors import _position as position
from .mlir import Source

_NO_LOWERING = ("op was not bufferized", "failed to legalize operation")
# What our own passes say of an operation that they do not take.
_NOT_TAKEN = ("has no lowering", "cannot be checked")
# What redfuse-host-to-gpu says of a program, and what would work instead: another operation would
# not.
_DECIDES = "a value in the GPU's memory decides"
# What the first stage says is of the source itself: all that there is to say, and no stage's fault.
# So is what has no fp64 form.
REFERENCE = "reference"
_OF_SOURCE = ("check", REFERENCE)
# Of programs op by op: what these cannot do, nothing can.
_PLAIN_STAGES = ("prepare", "bufferize", "loops", "llvm", "object")
_MOST_LINES = 8
_EXPECTED = (
    "expected linalg, tensor, arith, math, scf and cf, with function arguments of tensors; lower "
    "other operations to these first"
)
Place = tuple[str, int, int]


def stage_error(error: CompileError, stage: str, source: Source | None = None) -> Error:
    """The same diagnostics, headed by the stage, each with the operation of the source at its
    place.

    Where an operation of the source has no lowering, it is an UnsupportedError that names it.
    """
    diagnostics = getattr(error, "diagnostics", [])
    if diagnostics and stage in _OF_SOURCE:
        refused = UnsupportedError(_line(diagnostics[0], diagnostics[0]["message"]))
        refused.diagnostics = diagnostics  # type: ignore[attr-defined]
        return refused
    written = _operations(source) if source is not None and diagnostics else {}
    lines, named = [f"stage {stage} failed"], False
    unsupported = False
    for diagnostic in _telling(diagnostics)[:_MOST_LINES]:
        operation = written.get(_place(diagnostic), "")
        message = _message(diagnostic, operation)
        named = named or bool(operation)
        unsupported |= message.startswith(_NO_LOWERING)
        unsupported |= any(words in message for words in _NOT_TAKEN)
        said = operation in message  # the empty name is
        lines.append(_line(diagnostic, message if said else f"{operation}: {message}"))
        for note in diagnostic["notes"]:
            lines.append("  note: " + _line(note, note["message"]))
    if len(lines) == 1:
        lines += str(error).splitlines()
    unsupported = unsupported or (named and stage in _PLAIN_STAGES)
    if unsupported:
        lines.append(_EXPECTED)
    unsupported = unsupported or any(_DECIDES in line for line in lines)
    made = (UnsupportedError if unsupported else CompileError)("\n".join(lines))
    made.diagnostics = diagnostics  # type: ignore[attr-defined]
    return made


def _telling(diagnostics: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Each once, those that point to a place first: converters of types complain of none, again and
    again."""
    unique = {(_place(d), d["message"]): d for d in diagnostics}
    return sorted(unique.values(), key=lambda d: not d["file"])


def _message(diagnostic: Mapping[str, Any], written: str) -> str:
    """What is said, with the operation that a pass was at where none was ``written`` there."""
    message = diagnostic["message"]
    operation = diagnostic["operation"]
    if operation and written:
        return message.removeprefix(f"'{operation}' op ") if operation != written else message
    return f"{message} ({operation})" if operation and operation not in message else message


def _line(diagnostic: Mapping[str, Any], text: str) -> str:
    where = position_text(diagnostic["file"], diagnostic["line"], diagnostic["column"])
    return f"{where}: {text}" if where else text


def _place(diagnostic: Mapping[str, Any]) -> Place:
    return diagnostic["file"] or "", diagnostic["line"] or 0, diagnostic["column"] or 0


def _operations(source: Source) -> dict[Place, str]:
    """The names of a source's operations by their places."""
    found: dict[Place, str] = {}

    def visit(operation: Any) -> None:
        file, line, column = position(operation.location)
        found.setdefault((file or "", line or 0, column or 0), operation.name)
        for region in operation.regions:
            for block in region:
                for inner in block.operations:
                    visit(inner.operation)

    for operation in source.parse().body.operations:
        visit(operation.operation)
    found.pop(("", 0, 0), None)
    return found
