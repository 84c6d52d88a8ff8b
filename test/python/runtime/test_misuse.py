"""Wrong arguments of the Python functions: an ArgumentError that says what was expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlir.ir as ir
import numpy as np
import pytest
import redfuse
from redfuse.combining import maximum


def made(identity: Any, function: Any) -> Any:
    return redfuse.combiner(identity=identity)(function)


ADD = made(0.0, lambda a, b: a + b)
EMPTY = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"


def parsed() -> Any:
    """A module."""
    with ir.Context():
        return ir.Module.parse(EMPTY)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: made("a", lambda a, b: a), "expected an identity of numbers, got 'a'"),
        (lambda: made((), lambda a, b: a), "at least one part"),
        (lambda: made(0.0, 5), "expected a function of two states, got int"),
        (lambda: made(0.0, lambda a: a), "failed for two states: TypeError"),
        (lambda: made(0.0, lambda a, b: 1 / 0), "failed for two states: ZeroDivisionError"),
        (lambda: made(0.0, lambda a, b: None), "returned NoneType as part 0, expected a number"),
        (lambda: made(0.0, lambda a, b: a if a > b else b), "in place of `if` it has"),
        (lambda: made((0.0, 0.0), lambda a, b: a[0]), r"returned \d+ parts, expected 2"),
        (lambda: redfuse.reduction(ADD, 5), "expected a shape of extents"),
        (lambda: redfuse.reduction(ADD, (-3, 4)), "expected a shape of extents"),
        (lambda: redfuse.reduction(ADD, ("a", 4)), "expected a shape of extents"),
        (lambda: redfuse.reduction(ADD, (3, 4), axis="x"), "expected a number as axis, got 'x'"),
        (lambda: redfuse.scan(None, (3, 4)), "makes of a function, got None"),
        (lambda: redfuse.load(None), "expected a str or an os.PathLike, got NoneType"),
        (lambda: redfuse.load("a\0b"), "has a zero byte"),
        (lambda: redfuse.compile("a\0b"), "has a zero byte"),
        (lambda: redfuse.compile(EMPTY, inputs=5), "inputs: expected a list or tuple"),
        (lambda: redfuse.compile(EMPTY, inputs=iter(())), "inputs: expected a list or tuple"),
        (lambda: redfuse.rewrite(parsed(), None), "expected a sequence of names, got NoneType"),
        (lambda: redfuse.rewrite(parsed(), 5), "expected a sequence of names, got int"),
        (lambda: redfuse.rewrite(parsed(), [5]), "unknown pattern '5'"),
        (lambda: redfuse.register_dialect(5), "expected an mlir.ir.Context, got int"),
        (lambda: redfuse.register_dialect(parsed()), "expected an mlir.ir.Context, got Module"),
        (lambda: redfuse.tune(EMPTY, shapes=5), "shapes: expected a list of shapes"),
        (lambda: redfuse.tune(EMPTY, report=5), "report: expected a function, got int"),
        (lambda: redfuse.tune(EMPTY, inputs=5), "expected a str or an os.PathLike, got int"),
    ],
)
def test_wrong_arguments(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(redfuse.ArgumentError, match=words):
        call()


def test_numbers_of_numpy_are_numbers() -> None:
    largest = made(np.float32("-inf"), maximum)
    text = redfuse.reduction(largest, np.array([3, 4]).tolist(), axis=np.int64(1))
    assert text == redfuse.reduction(largest, (np.int64(3), 4), axis=1)


def test_a_path_is_text_or_a_path(scale: str) -> None:
    with pytest.raises(redfuse.ArgumentError, match="os.PathLike, got float"):
        redfuse.compile(scale).save(5.5)


def test_text_that_is_none() -> None:
    with pytest.raises(redfuse.ParseError, match="neither text nor bytecode"):
        redfuse.compile("\udcff{")


def test_stages_that_are_none(scale: str) -> None:
    for name in (5, None, "nope"):
        with pytest.raises(KeyError, match="unknown stage"):
            redfuse.compile(scale).ir[name]
