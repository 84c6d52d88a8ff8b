"""Is a result right: errors against fp64, tolerances by type, and the reasons (docs/user/guide.md,
"Checking")."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .runtime.specs import Signature, TensorSpec

# Relative to the largest expected magnitude of the output, by the coarsest float type among
# arguments and results.
_SMALL = {"f8E4M3FN": 2.0**-4, "f8E4M3FNUZ": 2.0**-4, "f8E5M2": 2.0**-3, "f8E5M2FNUZ": 2.0**-3}
TOLERANCES = {"f64": 1e-12, "f32": 1e-5, "f16": 2e-3, "bf16": 2e-2, **_SMALL}
ROUNDOFF = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8, **_SMALL}
# How far an ill-conditioned program may go, and how many times the movement of the exact result it
# may show.
LOOSEST = {"f64": 1e-10, "f32": 1e-4, "f16": 2e-3, "bf16": 2e-2, **_SMALL}
MOVEMENT_FACTOR = 8.0


@dataclasses.dataclass
class Outcome:
    """The comparison of one output.

    error: largest difference over the largest expected magnitude; for integers the fraction of
        wrong elements.
    worst: index, value got and value expected where it is largest. note: why it failed, or why
        the tolerance.
    """

    name: str
    dtype: str
    error: float
    tolerance: float
    ok: bool
    worst: tuple[tuple[int, ...], float, float] | None = None
    note: str = ""

    def __str__(self) -> str:
        verdict = "ok" if self.ok else "FAILED"
        numbers = f"error {self.error:.3g}, tolerance {self.tolerance:.3g}"
        text = f"{self.name} {self.dtype}: {numbers}: {verdict}"
        if not self.ok and self.worst is not None:
            index, got, want = self.worst
            text += f"; worst at {list(index)}: got {got!r}, expected {want!r}"
        return text + (f" ({self.note})" if self.note else "")


def program_type(signature: Signature) -> str:
    """The coarsest float type among arguments and results, f32 if there is none. Arguments of 8
    bits are stored numbers, exact as they are; a program computes in wider ones."""
    specs = [spec for spec in signature.inputs if spec.dtype not in _SMALL]
    found = [spec.dtype for spec in (*specs, *signature.outputs) if spec.is_float]
    return max(found, key=lambda dtype: ROUNDOFF[dtype], default="f32")


def compare(
    got: Sequence[Any], want: Sequence[Any], signature: Signature, movement: Any = None
) -> list[Outcome]:
    """Compares all outputs with the expected ones.

    movement: called with no arguments, if an error is over the type's tolerance, for how far each
        exact output moves when the inputs move by one roundoff; a program whose results move much
        is given more, to :data:`LOOSEST`.
    """
    import numpy

    dtype = program_type(signature)
    outcomes = []
    moved = None
    for index, (spec, result, expected) in enumerate(
        zip(signature.outputs, got, want, strict=False)
    ):
        result, expected = _array(result), _array(expected)
        name = f"out{index}"
        if result.shape != expected.shape:
            shape = f"expected shape {expected.shape}, got {result.shape}"
            outcomes.append(Outcome(name, spec.dtype, float("inf"), 0.0, False, note=shape))
            continue
        if not spec.is_float:
            outcomes.append(_compare_integers(name, spec, result, expected, index, want))
            continue
        error, worst, note = relative_error(
            result.astype(numpy.float64), expected.astype(numpy.float64)
        )
        tolerance = TOLERANCES[dtype]
        if error > tolerance and numpy.isfinite(error) and movement is not None:
            moved = movement() if moved is None else moved
            earned = min(LOOSEST[dtype], MOVEMENT_FACTOR * moved[index])
            if earned > tolerance:
                tolerance = earned
                note = (
                    f"tolerance raised: the exact result moves by {moved[index]:.2g} when the "
                    "inputs move by one "
                    f"{dtype} roundoff"
                )
        outcomes.append(
            Outcome(name, spec.dtype, error, tolerance, error <= tolerance, worst, note)
        )
    return outcomes


def measured(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes of a program that was approximated on request: its error is told, and no
    tolerance holds for it. NaN and infinities still have to be where they are expected."""
    import math

    note = "approximated: measured, not judged"
    return [
        dataclasses.replace(o, ok=True, note=note)
        if not o.ok and math.isfinite(o.error) and o.dtype in ROUNDOFF
        else o
        for o in outcomes
    ]


def _array(value: Any) -> Any:
    import numpy

    if type(value).__module__.startswith("torch"):
        value = (
            value.float() if value.is_floating_point() and value.itemsize < 4 else value
        ).numpy()
    return numpy.asarray(value)


def relative_error(got: Any, want: Any) -> tuple[float, tuple | None, str]:
    """Largest |got - want| over the largest finite |want|, where it is, and a note if NaNs or
    infinities differ.

    got, want: float64 arrays of one shape. Infinite error if a NaN or an infinity is not where it
        should be.
    """
    import numpy

    if want.size == 0:
        return 0.0, None, "no elements"
    with numpy.errstate(invalid="ignore", over="ignore"):
        same = (got == want) | (numpy.isnan(got) & numpy.isnan(want))
        classes = numpy.isfinite(got) == numpy.isfinite(want)
        classes &= same | numpy.isfinite(want)
    if not classes.all():
        where = tuple(int(i) for i in numpy.argwhere(~classes)[0])
        count = int((~classes).sum())
        note = f"{count} of {want.size} elements differ in class (NaN, inf, finite)"
        return float("inf"), (where, float(got[where]), float(want[where])), note
    with numpy.errstate(invalid="ignore"):
        difference = numpy.where(same, 0.0, numpy.abs(got - want))
    finite = want[numpy.isfinite(want)]
    scale = float(numpy.abs(finite).max()) if finite.size else 1.0
    where = tuple(int(i) for i in numpy.unravel_index(int(difference.argmax()), difference.shape))
    largest = float(difference[where])
    error = largest / scale if scale > 0.0 else (0.0 if largest == 0.0 else float("inf"))
    return error, (where, float(got[where]), float(want[where])), ""


def _compare_integers(
    name: str, spec: TensorSpec, got: Any, want: Any, index: int, all_want: Sequence[Any]
) -> Outcome:
    """Integers are equal; indices of equal values (ties) may be exchanged within a row."""
    import numpy

    wrong = got != want
    count = int(wrong.sum())
    if count == 0:
        return Outcome(name, spec.dtype, 0.0, 0.0, True)
    ties = 0
    for position in numpy.argwhere(wrong):
        if _is_tie(
            tuple(position), got, want, [_array(v) for i, v in enumerate(all_want) if i != index]
        ):
            ties += 1
    where = tuple(int(i) for i in numpy.argwhere(wrong)[0])
    note = f"{count} of {want.size} differ" + (
        f", {ties} of them between equal values" if ties else ""
    )
    worst = (where, got[where].item(), want[where].item())
    return Outcome(name, spec.dtype, (count - ties) / want.size, 0.0, ties == count, worst, note)


def _is_tie(position: tuple, got: Any, want: Any, values: list) -> bool:
    """Whether the index got there belongs to a value that the expected row holds as well, equal
    to f32's roundoff."""
    import numpy

    if not want.shape:
        return False
    row = want[position[:-1]]
    at = numpy.flatnonzero(row == got[position])
    for value in values:
        if value.shape == want.shape and value.dtype.kind == "f" and at.size:
            there, here = value[position[:-1]][at[0]], value[position]
            if abs(there - here) <= 4 * ROUNDOFF["f32"] * abs(here):
                return True
    return False


def movement(reference: Any, inputs: Sequence[Any], signature: Signature) -> list[float]:
    """How far each exact output moves (relative, max norm) when float inputs move by one roundoff
    at random."""
    import numpy

    random = numpy.random.default_rng(0)
    size = ROUNDOFF[program_type(signature)]
    moved = []
    for value, spec in zip(inputs, signature.inputs, strict=False):
        array = _array(value)
        if spec.is_float:
            wide = array.astype(numpy.float64)
            array = wide * (1.0 + size * random.choice([-1.0, 1.0], size=wide.shape))
        moved.append(array)
    before, after = reference(*inputs), reference(*moved)
    return [
        relative_error(_array(a).astype(float), _array(b).astype(float))[0]
        for a, b in zip(after, before, strict=False)
    ]


def load_npz(path: str) -> tuple[list[Any], list[Any]]:
    """in0.. and out0.. of an .npz file; raises ArgumentError for a file that is none, or for gaps
    in the names."""
    import io
    import os
    import zipfile

    import numpy

    from .errors import ArgumentError
    from .store import files

    try:
        is_file = os.path.isfile(path)
        with open(path, "rb") if is_file else io.BytesIO(files.read_given(path)) as file:
            start = file.read(6)
            if not start.startswith(b"PK"):
                got = "one array (.npy)" if start == b"\x93NUMPY" else "another kind of file"
                raise ArgumentError(
                    f"{path}: expected an .npz archive, as numpy.savez(path, in0=...) writes, got "
                    f"{got}"
                )
            file.seek(0)
            with numpy.load(file, allow_pickle=False) as archive:
                held = {name: archive[name] for name in archive.files}
    except ArgumentError:
        raise
    except OSError as error:
        raise ArgumentError(f"{path}: {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ArgumentError(f"{path}: not an .npz archive of plain arrays: {error}") from None

    def numbered(prefix: str) -> list[Any]:
        found = []
        while f"{prefix}{len(found)}" in held:
            found.append(held.pop(f"{prefix}{len(found)}"))
        return found

    inputs, outputs = numbered("in"), numbered("out")
    if held:
        raise ArgumentError(
            f"{path}: expected arrays named in0, in1, ... and out0, out1, ..., got also "
            f"{', '.join(sorted(held))}"
        )
    return inputs, outputs


def cast_inputs(inputs: Sequence[Any], signature: Signature) -> list[Any]:
    """Inputs in the program's own types: float arrays are cast to its floats, integers must fit.

    Raises ArgumentError for a wrong count, or an integer or boolean array where floats are
    expected and back.
    """
    import numpy

    from .errors import ArgumentError
    from .runtime.arrays import check_count
    from .runtime.specs import numpy_dtype

    check_count(inputs, signature)
    cast = []
    for index, (value, spec) in enumerate(zip(inputs, signature.inputs, strict=False)):
        dtype = numpy_dtype(spec.dtype)
        if spec.is_float != (value.dtype.kind == "f"):
            raise ArgumentError(
                f"argument {index}: expected {spec}, got dtype {value.dtype}", index
            )
        converted = numpy.ascontiguousarray(value.astype(dtype)).reshape(value.shape)
        if not spec.is_float and not numpy.array_equal(converted, value):
            raise ArgumentError(
                f"argument {index}: values of dtype {value.dtype} do not fit {spec}", index
            )
        cast.append(converted)
    return cast
