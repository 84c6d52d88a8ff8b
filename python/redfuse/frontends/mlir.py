"""MLIR in: text, bytecode, a path or an ``mlir.ir.Module`` becomes a verified module and an entry
function."""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
from typing import Any

from .. import _ext
from ..errors import (
    ArgumentError,
    ParseError,
    UnsupportedError,
    diagnostics_text,
    one_of,
    path_text,
    position_text,
)
from ..runtime import signals
from ..runtime.specs import Signature, TensorSpec
from ..store import files

_DEEPEST = 200  # brackets in brackets
_NO_BRACKETS = bytes(b for b in range(256) if b not in b"{[()]}")


@dataclasses.dataclass
class Source:
    """A program to compile. ``text`` can be parsed again: passes change modules in place.

    name: what locations call the file; bytecode is kept as bytes.
    known: that MLIR's parser survives it, as it does what was printed of a module.
    """

    text: str | bytes
    name: str = "-"
    known: bool = dataclasses.field(default=False, compare=False)

    def parse(self) -> Any:
        """A fresh ``mlir.ir.Module`` in a context of its own; raises :class:`ParseError`."""
        ir = _bindings()
        self._check_known()
        context = ir.Context()
        with context:
            try:
                # Locations name a file that says the same.
                named = self.name != "-" and _unchanged(self.name, self.text)
                module = _ext.parse(context, self.text, self.name if named else "-")
                # MLIR's own says what is wrong; it cannot be interrupted, and copies constants.
                parse = ir.Module.parseFile if named else ir.Module.parse
                return module or parse(self.name if named else self.text)
            except ir.MLIRError as error:
                raise parse_error(error, self.name) from None

    def _check_known(self) -> None:
        """Raises UnsupportedError for a text at which MLIR's parser asserts something."""
        if not self.known and (why := _ext.try_to_parse(self.text)):
            name = "<text>" if self.name == "-" else self.name
            raise UnsupportedError(
                f"{name}: MLIR's parser does not survive this program: {why}\n"
                "expected operations and attributes of which MLIR asserts nothing as it reads them"
            )
        self.known = True


# Bindings import a dialect when they first meet an operation of it.
_DIALECTS = ("affine", "arith", "cf", "func", "linalg", "math", "scf", "tensor")


def _bindings() -> Any:
    """mlir.ir and dialects, which cannot be imported again after an import that was
    interrupted."""
    wanted = ["mlir.ir", *(f"mlir.dialects.{name}" for name in _DIALECTS)]
    if missing := [name for name in wanted if name not in sys.modules]:
        with signals.held():
            for name in missing:
                importlib.import_module(name)
    return sys.modules["mlir.ir"]


def _unchanged(path: str, text: str | bytes) -> bool:
    if isinstance(text, bytes):  # it has its own locations
        return False
    try:
        # A pipe can be read once only.
        return os.path.isfile(path) and files.read(path) == text.encode()
    except OSError:
        return False


def parse_error(error: Any, name: str) -> ParseError:
    """A :class:`ParseError` from the bindings' ``MLIRError``, with the first position."""
    text, (file, line, column) = diagnostics_text(error.error_diagnostics)
    hint = ""
    if "not found for custom op" in text or "unregistered dialect" in text:
        hint = (
            "\nexpected upstream MLIR dialects (linalg, tensor, arith, math, scf, ...) or redfuse; "
            "lower other dialects first"
        )
    if "custom op 'tm_tensor." in text and "is unknown" in text:
        hint = (
            "\nof tm_tensor (torch-mlir) attention, scan, scatter, sort and topk are known; have "
            "others decomposed before the export"
        )
    if file == "-":
        file = name if name != "-" else "<text>"
        # Bytecode has no lines.
        text = text.replace("<text>:0:0:", f"{file}:")
        line, column = line or None, column or None
    return ParseError((text or error.message) + hint, file, line, column)


def read(source: Any) -> Source:
    """A :class:`Source` from text, bytecode, a path or a module.

    A ``str`` is text if it holds a newline or a brace, else a path.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, str) and ("\n" in source or "{" in source or not source.strip()):
        return _check_nesting(Source(_encodable(source)))
    if isinstance(source, bytes):
        return Source(source)
    if isinstance(source, (str, os.PathLike)):
        return read_file(path_text(source))
    if is_module(source):
        return _check_nesting(Source(_module_text(source), known=True))
    raise ArgumentError(
        "source: expected a path, MLIR text, an mlir.ir.Module, or a PyTorch function or module, "
        f"got {type(source).__name__}"
    )


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ParseError(f"<text>: neither text nor bytecode: {error}") from None
    return text


def _check_nesting(source: Source) -> Source:
    """Raises ParseError for a text whose brackets are nested so deeply that reading them would
    need more of the stack than there is."""
    text = source.text
    if isinstance(text, bytes) or sum(map(text.count, "{[(")) < _DEEPEST:
        return source
    deepest, depth = 0, 0
    for bracket in text.encode(errors="replace").translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"{[(" else -1
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        line = _line_of_depth(text)
        name = "<text>" if source.name == "-" else source.name
        raise ParseError(
            f"{name}:{line}: brackets are nested more than {_DEEPEST} deep", source.name, line
        )
    return source


def _line_of_depth(text: str) -> int:
    """The line of the first bracket that is nested too deeply."""
    depth = line = 0
    for line, words in enumerate(text.split("\n"), 1):
        for letter in words:
            depth += (letter in "{[(") - (letter in "}])")
            if depth > _DEEPEST:
                return line
    return line


def read_file(path: str) -> Source:
    """The program in a file, text or bytecode."""
    return of_bytes(files.read_given(path), path)


def of_bytes(data: bytes, path: str) -> Source:
    """The program in the bytes of a file, text or bytecode."""
    if data.startswith(b"ML\xefR"):
        return Source(data, path)
    if data.startswith(files.MAGIC[:7]):
        raise ArgumentError(
            f"{path}: a bundle, which is compiled already (redfuse.load, redfuse run and explain "
            "take it); expected the program that it was made of"
        )
    try:
        return _check_nesting(Source(data.decode("utf-8"), path))
    except UnicodeDecodeError as error:
        raise ParseError(
            f"{path}: neither MLIR text (not UTF-8 at byte {error.start}) nor MLIR bytecode", path
        ) from None


def is_module(source: Any) -> bool:
    """Whether ``source`` is an ``mlir.ir.Module`` or its operation."""
    return hasattr(source, "operation") and hasattr(source.operation, "get_asm")


def _module_text(module: Any) -> str:
    operation = module.operation
    try:
        valid = operation.verify()
    except Exception as error:  # MLIRError carries the diagnostics
        if hasattr(error, "error_diagnostics"):
            raise parse_error(error, "-") from None
        raise
    if not valid:
        raise ParseError("the module does not verify")
    return operation.get_asm(enable_debug_info=True, print_generic_op_form=False)


def find_entry(module: Any, wanted: str | None = None) -> Any:
    """The ``func.func`` to compile: ``wanted``, else ``main``, else the only public one with a
    body."""
    functions = {}
    for operation in module.body.operations:
        if operation.operation.name == "func.func" and not operation.is_external:
            functions[operation.name.value] = operation
    if wanted is not None:
        if wanted not in functions:
            raise ArgumentError(
                "option 'entry': " + one_of("function", wanted, functions or ["(none)"])
            )
        return functions[wanted]
    if "main" in functions:
        return functions["main"]
    public = [f for f in functions.values() if _is_public(f)]
    if len(public) == 1:
        return public[0]
    where = position_of(module.operation)
    if not functions:
        raise UnsupportedError(
            f"{where}the module has no func.func with a body; there is nothing to compile"
        )
    raise ArgumentError(
        f"{where}the module has {len(public)} public functions and none is called main; "
        f"choose one with the option entry=NAME: {', '.join(functions)}"
    )


def _is_public(function: Any) -> bool:
    attributes = function.attributes
    if "sym_visibility" not in attributes:
        return True
    return attributes["sym_visibility"].value == "public"


def signature(function: Any) -> Signature:
    """Argument and result types of a ``func.func``; raises :class:`UnsupportedError` for types
    with no array form."""
    name = function.name.value
    where = position_of(function)
    kind = function.type
    inputs = [
        TensorSpec.of(value, f"{where}argument {i} of {name}")
        for i, value in enumerate(kind.inputs)
    ]
    outputs = [
        TensorSpec.of(value, f"{where}result {i} of {name}") for i, value in enumerate(kind.results)
    ]
    for i, (spec, value) in enumerate(zip(outputs, kind.results, strict=True)):
        if spec.scalar:
            raise UnsupportedError(
                f"{where}result {i} of {name}: a result is an array; expected a tensor, "
                f"tensor<{value}> for one number, got {value}"
            )
    return Signature(name, tuple(inputs), tuple(outputs))


def position_of(operation: Any) -> str:
    """``file:line:col: `` of an operation, or nothing."""
    from ..errors import _position

    text = position_text(*_position(operation.location))
    return text + ": " if text else ""
