"""Options: spellings of the command line, values that cannot be, and values that exclude each
other."""

from __future__ import annotations

import pytest
import redfuse
from redfuse.options import Options


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        *[(f"cache={word}", "cache", False) for word in ("false", "False", "FALSE", "no", "off")],
        *[(f"strict={word}", "strict", True) for word in ("true", "True", "yes", "On")],
        *[(f"entry={word}", "entry", None) for word in ("None", "null", "~", "none")],
        *[(f"along={word}", "along", (1, 2)) for word in ("[1,2]", "(1, 2)", "1,2")],
        *[(f"along={word}", "along", None) for word in ("None", "null")],
        ("entry=no", "entry", "no"),
        ("entry=5", "entry", "5"),
        ("entry='f'", "entry", "f"),
        ('entry="f"', "entry", "f"),
        ("splits=16", "splits", 16),
        ("splits=0x10", "splits", 16),
        ('schedules=["", "a"]', "schedules", ("", "a")),
        ("schedules=('', 'a')", "schedules", ("", "a")),
        ("schedule=stream", "schedule", "stream"),
    ],
)
def test_spellings(text: str, name: str, value: object) -> None:
    """JSON's, YAML's and Python's."""
    options = Options.from_assignments([text])
    assert getattr(options, name) == value
    assert type(getattr(options, name)) is type(value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"strict": True, "approximate": True}, "strict keeps every rounding, and .*'approximate'"),
        ({"strict": True, "lazy": 2}, "strict streams no exponentials, and .*'lazy'"),
        ({"schedule": "stream", "splits": 2}, "schedule=stream has no splits, and .*'splits'"),
        ({"schedule": "resident", "splits": 2}, "schedule=resident has no splits"),
        ({"schedule": "resident", "lazy": 2}, "schedule=resident streams nothing, and .*'lazy'"),
        ({"fuse": False, "schedule": "split"}, "fuse=False .*'schedule' is about what is fused"),
        ({"fuse": False, "splits": 2}, "fuse=False .*'splits'"),
        ({"fuse": False, "along": (0, 1)}, "fuse=False .*'along'"),
        ({"fuse": False, "approximate": True}, "fuse=False .*'approximate'"),
        ({"threads": -1}, "'threads': expected 0 to 4096, got -1"),
        ({"threads": 4097}, "'threads': expected 0 to 4096"),
        ({"opt_level": 4}, "'opt_level': expected 0 to 3"),
        ({"splits": 1.5}, "'splits': expected int, got float 1.5"),
        ({"cache": 1}, "'cache': expected bool, got int 1"),
        ({"schedule": "slpit"}, "did you mean 'split'"),
        ({"schedules": [1]}, "expected texts"),
        ({"schedules": ["stream"]}, "is no schedule|expected one for each"),
        ({"entry": "nothing"}, "unknown function 'nothing'; known: main"),
        ({"along": (5, 9)}, "there are 2 arguments"),
        ({"along": (1, 1)}, "argument 1 is tensor<5xf32>"),
        ({"along": (0,)}, "the number of an argument and an axis"),
    ],
)
@pytest.mark.parametrize("cache", [True, False])
def test_refused_when_compiled(scale: str, given: dict, words: str, cache: bool) -> None:
    if "cache" not in given:
        given = {**given, "cache": cache}
    with pytest.raises(redfuse.ArgumentError, match=words):
        redfuse.compile(scale, options=given)


def test_along_is_checked_for_programs_of_the_cache(scale: str, cache: object) -> None:
    redfuse.compile(scale)
    redfuse.compile(scale, options={"along": (0, 1)})
    with pytest.raises(redfuse.ArgumentError, match="there are 2 arguments"):
        redfuse.compile(scale, options={"along": (2, 0)})


def test_without_what_is_about_fusing() -> None:
    options = Options(schedule="split", splits=3, approximate=True, along=(0, 1), threads=2)
    assert options.unfused() == Options(fuse=False, threads=2)
