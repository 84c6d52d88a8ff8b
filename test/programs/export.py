"""``python export.py --out FOLDER [--as DTYPE]... FILE.py...``: PyTorch programs to linalg text.

It prints a line of JSON a program: its name, and the path of its text or why there is none. What is
there already is not made again. Files are of one of three forms:

- ``Model``, ``get_inputs()`` and ``get_init_inputs()``: one program.
- ``C``: name -> (function, [(shape, dtype), ...], ...), as `Cases` of ``cases.py`` are.
- ``models()``: yields (name, a function that makes a model, inputs).

Parameters and buffers of models become arguments, and tensors are fake (shapes without data), so
that programs of any size are exported; those of ``models()`` are real, as transformers computes
with some while it makes a model, whose caches of keys are not among its results.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Python puts the script's folder first.
sys.path = [str(HERE), *(p for p in sys.path if Path(p or ".").resolve() != HERE)]

import processes  # noqa: E402

SECONDS, MEMORY = 240.0, 12.0
AS_WRITTEN = "as-written"


def load(path: Path, name: str) -> Any:
    """A Python file as a module."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def programs(module: Any) -> dict[str, Callable[[], tuple[Any, list]]]:
    """By name ("" if a file holds one): what makes a model or function, and its inputs."""
    import torch

    if hasattr(module, "get_inputs"):
        return {"": lambda: (module.Model(*module.get_init_inputs()), module.get_inputs())}
    if hasattr(module, "models"):
        found = {}
        for name, make, inputs in module.models():
            found[name] = lambda make=make, inputs=inputs: (without_cache(make()), list(inputs))
        return found
    return {
        name: lambda case=case: (case[0], [torch.empty(s, dtype=d) for s, d in case[1]])
        for name, case in module.C.items()
    }


def without_cache(model: Any) -> Any:
    """A model of transformers that returns no object with the keys that it has seen."""
    if hasattr(getattr(model, "config", None), "use_cache"):
        model.config.use_cache = False
    return model


def narrowed(tensor: Any, dtype: str) -> Any:
    """With floats of another type."""
    import torch

    if dtype == AS_WRITTEN or not getattr(tensor, "is_floating_point", bool)():
        return tensor
    return tensor.detach().to(getattr(torch, dtype))


def lifted(model: Any, inputs: list, dtype: str) -> tuple[Any, tuple]:
    """A module whose arguments are the parameters and buffers of ``model``, then its inputs."""
    import torch

    function, state = model, {}
    if isinstance(model, torch.nn.Module):
        model.eval()
        for part in model.modules():  # constants that are no buffers
            for name, value in list(vars(part).items()):
                if isinstance(value, torch.Tensor):
                    delattr(part, name)
                    part.register_buffer(name, value)
        state = {**dict(model.named_parameters()), **dict(model.named_buffers())}

        def function(*arguments: Any) -> Any:
            given = dict(zip(state, arguments, strict=False))
            return torch.func.functional_call(model, given, arguments[len(state) :])

    class Lifted(torch.nn.Module):
        def forward(self, *arguments: Any) -> Any:
            return function(*arguments)

    return Lifted(), tuple(narrowed(t, dtype) for t in [*state.values(), *inputs])


def export(job: dict, tell: Callable[[str], None]) -> dict:
    """The text of one program of a file, in its file."""
    import torch
    from redfuse.frontends.fx.recurrent import as_one_operation
    from torch._subclasses.fake_tensor import FakeTensorMode

    tell("loading")
    module = load(Path(job["file"]), "program")
    fake: Any = FakeTensorMode(allow_non_fake_inputs=True)
    if hasattr(module, "models"):
        fake = contextlib.nullcontext()
    with torch.no_grad(), as_one_operation(), fake:
        make = programs(module)[job["program"]]
        module, arguments = lifted(*make(), job["dtype"])
        tell("torch.export")
        exported = torch.export.export(module, arguments)
    tell("lowering")
    from redfuse.frontends.fx.program import import_exported

    text = import_exported(exported).operation.get_asm()
    part = Path(job["text"]).with_suffix(".part")
    part.write_text(text)
    part.replace(job["text"])
    return {}


def names(job: dict, tell: Callable[[str], None]) -> dict:
    """What a file holds."""
    return {"names": list(programs(load(Path(job["file"]), "program")))}


def jobs_of(file: Path, held: list[str], dtypes: list[str], out: Path) -> Iterator[dict]:
    """What is to be exported of a file, as whom."""
    contents = file.read_bytes() + Path(__file__).read_bytes()
    digest = hashlib.sha256(contents).hexdigest()[:12]
    for program in held:
        for dtype in dtypes if held == [""] else [AS_WRITTEN]:
            name = "-".join(filter(None, [file.stem, program, dtype.replace(AS_WRITTEN, "")]))
            yield {"name": f"{file.parent.name}/{name}", "file": str(file), "program": program,
                   "dtype": dtype, "text": str(out / f"{name}-{digest}.mlir")}  # fmt: skip


def why(outcome: processes.Outcome) -> str:
    """A line."""
    lines = [line for line in outcome.words.splitlines() if line.strip()]
    told = [line for line in lines if "rror" in line] or lines or [""]
    return f"{outcome.how} at {outcome.last}: {told[-1].strip()[:300]}"


def report(job: dict, error: str = "") -> None:
    """A line for who started this."""
    print(json.dumps({"name": job["name"], "text": job["text"], "error": error}), flush=True)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--as", dest="dtypes", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    import torch  # noqa: F401  before the processes part: it takes seconds

    dtypes = [AS_WRITTEN, *given.dtypes]
    missing = []
    files = ({"file": str(f)} for f in given.files)
    for held in processes.run(names, files, 1, SECONDS, MEMORY):
        file = Path(held.job["file"])
        if held.answer is None:
            report({"name": f"{file.parent.name}/{file.stem}", "text": ""}, why(held))
            continue
        for job in jobs_of(file, held.answer["names"], dtypes, given.out):
            if Path(job["text"]).exists():
                report(job)
            else:
                missing.append(job)
    for outcome in processes.run(export, iter(missing), given.jobs, SECONDS, MEMORY):
        report(outcome.job, "" if outcome.answer is not None else why(outcome))
    return 0


if __name__ == "__main__":
    sys.exit(main())
