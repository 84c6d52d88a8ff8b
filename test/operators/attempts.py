"""One program of PyTorch through the importer and the compiler, beside PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import judging
import redfuse
import torch
from redfuse.frontends import torch as frontend
from redfuse.frontends.fx import program
from torch.utils import _pytree as pytree


class Program(torch.nn.Module):
    """A function of tensors alone: what else it is given is fixed."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict):
        super().__init__()
        self.function = function
        self.leaves, self.spec = pytree.tree_flatten((tuple(args), kwargs))
        self.places = [i for i, x in enumerate(self.leaves) if isinstance(x, torch.Tensor)]

    @property
    def inputs(self) -> list[torch.Tensor]:
        """The tensors that it was given."""
        return [self.leaves[i].detach() for i in self.places]

    def forward(self, *tensors: torch.Tensor) -> Any:
        """The function's results."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.function(*args, **kwargs)


def compiled(module: torch.nn.Module, inputs: Sequence[Any]) -> Any:
    """By the importer of FX graphs, without the cache."""
    with torch.no_grad():
        source, interface = frontend.export(module, list(inputs))
    exe = redfuse.compile(source, target="cpu", options={"cache": False})
    exe.interface = interface
    return exe


def copies(tensors: Sequence[Any]) -> list[Any]:
    """Contiguous tensors with the same elements."""
    return [x.detach().clone(memory_format=torch.contiguous_format)
            if isinstance(x, torch.Tensor) else x for x in tensors]  # fmt: skip


def attempt(module: torch.nn.Module, inputs: Sequence[Any], by_element: bool = False) -> dict:
    """The status of a program and, if it is not right, why."""
    warnings.simplefilter("ignore")
    try:
        with torch.no_grad():
            eager = module(*copies(inputs))
    except Exception as error:  # PyTorch refuses it
        return {"status": judging.SKIPPED, "message": f"PyTorch: {first_line(error)}"}
    if not judging.tensors_of(eager):
        return {"status": judging.SKIPPED, "message": "returns no tensor"}
    try:
        exe = compiled(module, copies(inputs))
    except redfuse.UnsupportedError as error:
        return {"status": judging.REFUSED, "message": first_line(error)}
    except redfuse.CompileError as error:
        refused = "torch.export cannot trace" in str(error)
        status = judging.REFUSED if refused else judging.FAILED
        return {"status": status, "message": first_line(error)}
    except redfuse.Error as error:
        return {"status": judging.REFUSED, "message": first_line(error)}
    except Exception as error:
        return {"status": judging.FAILED, "message": f"{type(error).__name__}: {first_line(error)}"}
    try:
        got = exe(*copies(inputs))
    except redfuse.Error as error:
        return {"status": judging.FAILED, "message": first_line(error)}
    try:
        with torch.no_grad():
            exact = module(*judging.in_double(copies(inputs)))
    except Exception:  # no such operation of fp64
        exact = eager
    fault = judging.faults_of(got, eager, exact, by_element)
    return {"status": judging.WRONG if fault else judging.RIGHT, "message": fault}


def first_line(error: BaseException) -> str:
    """Of an error's words."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]


def prepare() -> None:
    """Loads what all programs need, before processes are forked."""
    torch.set_num_threads(1)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Program(lambda x: torch.nn.functional.gelu(x @ x), [torch.ones(3, 3)], {})
        program.import_program  # noqa: B018  loaded
        torch.export.export(made, tuple(made.inputs)).run_decompositions({})
