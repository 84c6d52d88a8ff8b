"""Programs called on a driver of this folder, whose kernels a simulator runs, and compared with fp64."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import redfuse
import simulators
from redfuse import check
from redfuse.reference import Reference
from redfuse.runtime.specs import numpy_dtype
from redfuse.store.data import random_inputs

from . import HIP_CHIPS, RUN, aligned_copy, cuda, hip


class Simulation:
    """Runs what the driver is asked to launch; blocks in a random order.

    most_blocks: where blocks ask a scheduler for tiles, how many there are at most.
    variables: of the module, address and size by name."""

    def __init__(
        self,
        exe: redfuse.Executable,
        seed: int = 0,
        most_blocks: int = 1 << 30,
        variables: dict[str, tuple[int, int]] | None = None,
    ):
        self.driver = hip if exe.target.startswith("rocm") else cuda
        self.variables, self.most_blocks = variables or {}, most_blocks
        addresses = {name: address for name, (address, _) in self.variables.items()}
        self.program = simulators.load(exe.asm, addresses)
        self.failure: BaseException | None = None
        self.launched: list[str] = []
        self.arrays: list[np.ndarray] = []
        self.random, self.call = random.Random(seed), RUN(self.run)

    def run(self, name: bytes, blocks: int, threads: int, shared: int, pointers: int) -> None:
        """What the driver calls."""
        try:
            blocks = min(blocks, self.most_blocks)
            order = list(range(blocks))
            self.random.shuffle(order)
            self.launched.append(name.decode())
            self.program.launch_from(
                name.decode(), blocks, threads, pointers, shared=shared, order=order,
                memory=self.memory(),
            )  # fmt: skip
        except BaseException as error:
            self.failure = self.failure or error

    def memory(self) -> simulators.Memory:
        memory = simulators.Memory(self.arrays)
        for start, size in [*self.driver.allocated(), *self.variables.values()]:
            memory.add(start, size)
        return memory

    def __enter__(self) -> Simulation:
        self.driver.fake_machine(self.call)
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.fake_machine(None)
        if self.failure:
            self.driver.stream += 1  # the counters of this one are not what a kernel leaves
            raise self.failure


def execute(
    exe: redfuse.Executable,
    arrays: Sequence[Any],
    expected: Sequence[Any],
    seed: int = 0,
    most_blocks: int = 1 << 30,
) -> tuple[list[np.ndarray], list[str]]:
    """The results, of shapes as expected, in memory that was not zero before; and what was launched."""
    simulation = Simulation(exe, seed, most_blocks)
    driver, device = simulation.driver, 0
    if driver is hip:
        device = HIP_CHIPS.index(exe.variants[0].chip)

    def on_device(array: np.ndarray) -> Any:
        simulation.arrays.append(array)
        return driver.typed(array, device)

    tensors = [
        value if spec.scalar else on_device(aligned_copy(np.asarray(value)))
        for value, spec in zip(arrays, exe.signature.inputs, strict=True)
    ]
    outputs = []
    for spec, like in zip(exe.signature.outputs, expected, strict=True):
        array = aligned_copy(np.zeros(np.shape(like), numpy_dtype(spec.dtype)))
        array.reshape(-1).view(np.uint8)[...] = 0xFF
        outputs.append(array)
    with simulation:
        exe(*tensors, out=[on_device(array) for array in outputs], stream=driver.stream)
    return outputs, simulation.launched


def narrow(inputs: Sequence[Any]) -> bool:
    """Whether they are of types that check does not cast to."""
    return any(np.asarray(value).dtype.name == "bfloat16" for value in inputs)


def verify(
    path: Path, exe: redfuse.Executable, inputs: Sequence[Any], expected: Any, seed: int = 0
) -> list[str]:
    """Runs and compares; returns what was launched."""
    arrays = inputs if narrow(inputs) else check.cast_inputs(inputs, exe.signature)
    reference = Reference(path)
    if expected is None:
        expected = reference(*arrays)
        expected = expected if isinstance(expected, tuple | list) else [expected]
    got, launched = execute(exe, arrays, expected, seed)
    outcomes = check.compare(
        got, expected, exe.signature, lambda: check.movement(reference, arrays, exe.signature)
    )
    assert all(outcome.ok for outcome in outcomes), "; ".join(map(str, outcomes))
    return launched


def small(
    source: str,
    folder: Path,
    options: dict | None = None,
    seed: int = 0,
    target: str = "cuda:sm_90a",
) -> list[str]:
    """The same of a program's text, on random data."""
    path = folder / "program.mlir"
    path.write_text(source)
    exe = redfuse.compile(path, target=target, options={"cache": False, **(options or {})})
    return verify(path, exe, random_inputs(exe.signature, seed), None, seed)
