"""A compiled program: call it, ask what was done, save it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from .frontends.mlir import Source
from .options import Options
from .runtime.specs import Signature


class Stages(Mapping):
    """IR text by stage name. Made by compiling again up to that stage: printing costs more than
    compiling."""

    def __init__(self, source: Source, options: Options):
        self._source, self._options = source, options
        self._texts: dict[str, str] = {}

    def _names(self) -> tuple[str, ...]:
        from . import pipelines

        return pipelines.STAGES if self._options.fuse else pipelines.UNFUSED_STAGES

    def __getitem__(self, stage: str) -> str:
        if stage not in self._names():
            from .errors import one_of

            raise KeyError(one_of("stage", stage, self._names()))
        if stage not in self._texts:
            from .compiler import lower

            self._texts[stage] = str(lower(self._source, self._options, stop_after=stage).module)
        return self._texts[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())


class Executable:
    """A compiled program. Thread-safe: several threads may call it at once.

    signature: argument and result types. explanation: the object of docs/explain.md.
    compile_seconds: from the source to callable code; 0 if it came from the cache.
    """

    def __init__(
        self, source: Source, options: Options, target: str, signature: Signature, code: bytes,
        explanation: dict, compile_seconds: float = 0.0, timings: dict[str, float] | None = None,
    ):  # fmt: skip
        from . import _ext

        self.source, self.options, self.target, self.signature = source, options, target, signature
        self.code = code
        self.explanation = explanation
        self.compile_seconds = compile_seconds
        self.timings = timings or {}
        self.ir = Stages(source, options)
        self._function = _ext.load(code).function(
            signature.name,
            [spec.native for spec in signature.inputs],
            [spec.native for spec in signature.outputs],
        )

    def __repr__(self) -> str:
        return f"<redfuse.Executable {self.signature} for {self.target}>"

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        """Runs the program.

        arguments: one contiguous array for each argument: NumPy (bf16 as ``ml_dtypes.bfloat16``),
            torch CPU tensors, or anything with ``__dlpack__`` in host memory, of the program's
            exact dtypes and shapes.
        out: an array, or a sequence of one for each result, to write into.

        Returns the result, or a tuple of them: torch tensors if an argument is one, else NumPy
        arrays. Raises ArgumentError for a bad argument, ExecutionError if the program stops itself.
        """
        from . import _ext

        if out is not None and not isinstance(out, (list, tuple)):
            out = (out,)
        _ext.set_num_threads(self.options.threads)
        results = self._function(arguments, out)
        return results[0] if len(results) == 1 else results

    def explain(self, json: bool = False) -> Any:
        """What was fused, how, and why not where not: text, or with ``json`` the object of
        docs/explain.md."""
        if json:
            return self.explanation
        from .explain import render

        return render(self.explanation)

    @property
    def asm(self) -> str:
        """Assembly of the whole program for its target."""
        from .compiler import lower

        return lower(self.source, self.options).assembly(self.options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a bundle: one file that :func:`redfuse.load` reads, atomically. Raises
        CacheError."""
        from .bundle import write

        write(os.fspath(path), self)
