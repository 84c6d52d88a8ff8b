"""A compiled program: call it, ask what was done, save it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .errors import ArgumentError
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
        from .runtime.native import Program

        self.source, self.options, self.target, self.signature = source, options, target, signature
        self.code = code
        self.explanation = explanation
        self.compile_seconds = compile_seconds
        self.timings = timings or {}
        self.ir = Stages(source, options)
        self._program = Program(_ext.load(code), signature)

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
        from .runtime import arrays, native

        signature = self.signature
        arrays.check_count(arguments, signature)
        views, passed = [], []
        torch_out = False
        for index, (value, spec) in enumerate(zip(arguments, signature.inputs, strict=False)):
            torch_out = torch_out or arrays.is_torch(value)
            view = arrays.view(value, spec, "argument", index, signature.name)
            views.append(view)
            if spec.scalar:
                passed.append(native.scalar_bytes(_scalar(view.owner), spec))
            else:
                passed.append((view.address, view.shape))
        shapes = self._program.output_shapes(passed)
        results = (
            arrays.allocate(shapes, signature.outputs, torch_out)
            if out is None
            else _as_list(out, signature)
        )
        out_views = []
        for index, (value, spec, shape) in enumerate(
            zip(results, signature.outputs, shapes, strict=False)
        ):
            known = type(spec)(spec.dtype, shape)
            out_views.append(arrays.view(value, known, "out", index, signature.name, writable=True))
        if out is not None:
            arrays.check_overlap(views, out_views, signature.name)
        from . import _ext

        _ext.set_num_threads(self.options.threads)
        self._program.main([*passed, *((view.address, view.shape) for view in out_views)])
        return results[0] if len(results) == 1 else tuple(results)

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


def _scalar(value: Any) -> Any:
    import numpy

    return value if isinstance(value, numpy.ndarray) else numpy.asarray(value)


def _as_list(out: Any, signature: Signature) -> Sequence[Any]:
    if len(signature.outputs) == 1 and not isinstance(out, (list, tuple)):
        return [out]
    if not isinstance(out, (list, tuple)) or len(out) != len(signature.outputs):
        got = f"{len(out)}" if isinstance(out, (list, tuple)) else type(out).__name__
        raise ArgumentError(
            f"out of {signature.name}: expected a sequence of {len(signature.outputs)} arrays, "
            f"got {got}"
        )
    return out
