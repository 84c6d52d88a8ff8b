"""Random arguments for a program."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..runtime.specs import Signature, numpy_dtype


def random_inputs(signature: Signature, seed: int = 0) -> list[Any]:
    """Arrays for each argument, the same for the same seed: normal floats, zeros and ones for
    integers.

    Raises ArgumentError for a dynamic extent: nobody knows what it should be.
    """
    import numpy

    from ..runtime.arrays import empty_numpy

    random = numpy.random.default_rng(seed)
    made = []
    for index, spec in enumerate(signature.inputs):
        if not spec.is_static:
            raise ArgumentError(
                f"argument {index} is {spec}: its extents are dynamic, so random inputs cannot "
                "be made; "
                "give an .npz with --inputs",
                index,
            )
        array = empty_numpy(spec.shape, spec.dtype)  # type: ignore[arg-type]
        if spec.is_float:
            array[...] = random.standard_normal(spec.shape).astype(numpy_dtype(spec.dtype))
        else:
            array[...] = random.integers(0, 2, spec.shape).astype(numpy_dtype(spec.dtype))
        made.append(array)
    return made
