"""Simulators: programs for GPUs on the host, slowly and strictly; README.md."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .error import SimulationError
from .memory import Memory
from .program import Module
from .threads import Threads

__all__ = ["Memory", "Program", "SimulationError", "load"]


class Program:
    """The kernels of a module of PTX.

    variables: addresses of the module's variables by name."""

    def __init__(self, text: str, variables: dict[str, int] | None = None):
        self.module = Module(text, variables)

    def launch(
        self,
        name: str,
        blocks: int,
        threads: int,
        arguments: Sequence[Any] = (),
        *,
        shared: int = 0,
        order: Iterable[int] = (),
        memory: Memory | None = None,
    ) -> None:
        """Runs all blocks of a kernel.

        arguments: arrays and numbers, by the kernel's parameters; bytes for one that is an array.
        shared: bytes of shared memory of a block.
        order: in which blocks run, one after another, or cluster after cluster.
        memory: what is there besides the arrays.
        """
        memory = memory or Memory()
        values: list[int | bytes] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                memory.add(argument.ctypes.data, argument.nbytes)
                argument = argument.ctypes.data
            elif isinstance(argument, np.generic):
                argument = int.from_bytes(argument.tobytes(), "little")
            values.append(argument)
        self._run(name, blocks, threads, shared, values, order, memory)

    def launch_from(
        self,
        name: str,
        blocks: int,
        threads: int,
        pointers: int,
        *,
        shared: int = 0,
        order: Iterable[int] = (),
        memory: Memory,
    ) -> None:
        """The same as a driver is asked to: ``pointers`` is the address of the addresses of the
        arguments."""
        kernel = self.module.kernel(name)
        places = (ctypes.c_void_p * len(kernel.parameters)).from_address(pointers)
        values: list[int | bytes] = []
        for (parameter, size), place in zip(kernel.parameters, places, strict=True):
            data = ctypes.string_at(place, size)
            values.append(data if parameter in kernel.arrays else int.from_bytes(data, "little"))
        self._run(name, blocks, threads, shared, values, order, memory)

    def _run(
        self,
        name: str,
        blocks: int,
        threads: int,
        shared: int,
        values: Sequence[int | bytes],
        order: Iterable[int],
        memory: Memory,
    ) -> None:
        kernel = self.module.kernel(name)
        if blocks % kernel.cluster:
            raise SimulationError(f"{blocks} blocks are not whole clusters of {kernel.cluster}")
        if len(values) != len(kernel.parameters):
            raise SimulationError(
                f"{name} has {len(kernel.parameters)} parameters, not {len(values)}"
            )
        buffers = []  # what parameters that are arrays have for addresses
        parameters = {}
        for (parameter, _), value in zip(kernel.parameters, values, strict=True):
            if isinstance(value, bytes):
                buffers.append(ctypes.create_string_buffer(value, len(value)))
                value = ctypes.addressof(buffers[-1])
            parameters[parameter] = value
        for block in order or range(blocks):
            if block % kernel.cluster == 0:
                Threads(kernel, block, blocks, threads, shared, parameters, memory).run()


def load(text: str, variables: dict[str, int] | None = None) -> Any:
    """The program of a text: of PTX, or of LLVM IR for AMD GPUs."""
    if re.search(r"^\.target sm_", text, re.M):
        return Program(text, variables)
    from . import waves

    return waves.Program(text)
