"""One set of eight processes for all tests of this folder; smaller meshes are parts of it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from ranks import Ranks, ranks_of

# Of what is installed on demand: `tools/dev test --torch`.
collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
WORLDS = [[5, 6], [1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7]]


@pytest.fixture(scope="session")
def eight() -> Iterator[Ranks]:
    """The processes."""
    with ranks_of(8, WORLDS, timeout=60.0) as found:
        yield found
