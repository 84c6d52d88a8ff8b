"""Functions of one module that are compiled together: those of a state, and the parts of a program
that several processes share out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .errors import CacheError
from .frontends.mlir import Source
from .options import Options
from .runtime.specs import Signature

# From a text that tells everything that code depends on, and what makes it, to the code.
Keep = Callable[[str, Callable[[], bytes]], bytes]
Found = tuple[Mapping[str, Signature], Mapping[str, Any]]


class Functions:
    """Compiled functions by name, called with the arrays of any library.

    signatures: argument and result types; facts: what else is known of them; target: what they were
        compiled for.
    """

    def __init__(self, data: bytes, options: Options, target: str):
        from . import _ext

        self.options, self.target = options, target
        header, blobs = _decoded(data)
        self.signatures = {n: Signature.from_json(one) for n, one in header["signatures"].items()}
        self.facts: dict[str, Any] = header["facts"]
        self._native: dict[str, Any] = {}
        # What was made for a GPU, as text: PTX.
        self.asm = ""
        for code in header["codes"]:
            library = _ext.load(blobs[code["object"]])
            images = [(chip, blobs[number]) for chip, number in code["images"]]
            device = _ext.DeviceCode(images, "cuda") if images else None
            self.asm += images[-1][1].rstrip(b"\0").decode() if images else ""
            for name, signature in self.signatures.items():
                if name in self._native:
                    self._native[name].add(library, device)
                    continue
                self._native[name] = library.function(
                    signature.name,
                    [spec.native for spec in signature.inputs],
                    [spec.native for spec in signature.outputs],
                    device=device,
                )

    def __call__(
        self, name: str, arguments: list[Any], out: Any = None, stream: Any = None
    ) -> tuple[Any, ...]:
        """All results of one of them, as a tuple. Raises ArgumentError and ExecutionError."""
        if self.target == "cpu":
            from . import _ext

            _ext.set_num_threads(self.options.threads)
        return tuple(self._native[name](tuple(arguments), out, stream))


def compile_functions(
    source: Source,
    options: Options,
    target: str,
    stages: list[tuple[str, str]],
    stage: str,
    inspect: Callable[[Any], Found],
    keep: Keep | None = None,
) -> Functions:
    """Runs ``stages`` and loads what they make.

    inspect: gets the module as it is after ``stage``, and tells its functions' names and types, and
        other facts (of JSON).
    keep: where code is looked for before it is made, and put.
    """

    def make() -> bytes:
        return _made(source, options, target, stages, stage, inspect)

    if keep is None:
        return Functions(make(), options, target)
    text = json.dumps([source.text, source.name, options.key(), target, stages, stage])
    return Functions(keep(text, make), options, target)


def _made(
    source: Source, options: Options, target: str, stages: list[tuple[str, str]], stage: str,
    inspect: Callable[[Any], Found],
) -> bytes:  # fmt: skip
    from .lowering import host_cpu, lower_stages, run_pipeline
    from .targets import cuda, gputargets

    header: dict[str, Any] = {"codes": []}
    blobs: list[bytes] = []

    def add(data: bytes) -> int:
        blobs.append(data)
        return len(blobs) - 1

    chips: list[str | None] = [None]
    if target != "cpu":
        chips = list(gputargets.chips_of(target))
    for chip in chips:
        lowered = lower_stages(source, options, stages, stage, chip)
        signatures, facts = inspect(lowered.module)
        header["signatures"] = {name: one.to_json() for name, one in signatures.items()}
        header["facts"] = facts
        start = [name for name, _ in stages].index(stage) + 1
        for name, pipeline in stages[start:]:
            run_pipeline(lowered.module, pipeline, name)
            if name == "nvvm":
                lowered.ptx = gputargets.binary_of(lowered.module)
        images: list[tuple[str, int]] = []
        if chip is not None:
            images = [(name, add(data)) for name, data in cuda.images(lowered.ptx, chip)[0]]
        code = lowered.object_code(options, host_cpu() if chip is not None else "")
        header["codes"].append({"object": add(code), "images": images})
    header["sizes"] = [len(blob) for blob in blobs]
    text = json.dumps(header).encode()
    return b"".join([len(text).to_bytes(8, "little"), text, *blobs])


def _decoded(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    try:
        begin = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:begin])
        blobs = []
        for size in header["sizes"]:
            blobs.append(data[begin : begin + size])
            begin += size
        if begin != len(data):
            raise ValueError("bytes are missing")
        return header, blobs
    except (ValueError, KeyError, TypeError) as error:
        raise CacheError(f"no compiled functions: {error}") from None
