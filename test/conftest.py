"""Fixtures: every test has a cache of its own, so that none sees another's programs."""

import math
import os
import signal
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import redfuse
from drivers import cuda, hip

ROOT = Path(__file__).resolve().parents[1]
# Of what is installed on demand: `tools/dev test --rocm`.
collect_ignore = [] if find_spec("llvmlite") else ["simulators/test_waves.py"]
# `tools/dev test --torch`: but for test_sharding.py, which starts no processes.
collect_ignore_glob = [] if find_spec("torch") else ["python/distributed/test_[!s]*.py"]
CORPUS = ROOT / "test" / "e2e" / "corpus"


# Set by `tools/dev test --all`.
ALL = bool(os.environ.get("REDFUSE_TEST_ALL"))
# Set by `tools/dev ci`: one of so many of the tests in test/pytorch.
OF_TORCH = int(os.environ.get("REDFUSE_TEST_TORCH", "1"))
# Set by `tools/dev ci`: of tests with many parameters, one of so many times as many.
FEWER = int(os.environ.get("REDFUSE_TEST_FEWER", "1"))


def pytest_configure(config: pytest.Config) -> None:
    # A shell that runs tests in the background has them, and what they start, ignore it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers",
        "sample(n): one of n of its parameters, fewer in CI, and all in `tools/dev test --all`",
    )


def is_sampled(number: int, n: int) -> bool:
    """Whether the parameter of this number is one of n that are run, the first among them. They
    are spread by the golden ratio: every nth would be one value of another parameter that has n."""
    return number * (math.sqrt(5) - 1) / 2 % 1 < 1 / n


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of tests with many parameters that take long, some are run."""
    seen: Counter = Counter()
    kept: list[pytest.Item] = []
    for item in items:
        mark = item.get_closest_marker("sample")
        key = (item.path, getattr(item, "originalname", item.name))
        if ALL or mark is None or is_sampled(seen[key], mark.args[0] * FEWER):
            kept.append(item)
        seen[key] += 1
    of_torch = [item for item in kept if item.path.parent == ROOT / "test" / "pytorch"]
    left_out = {item for i, item in enumerate(of_torch) if not is_sampled(i, OF_TORCH)}
    kept = [item for item in kept if item not in left_out]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept


@pytest.fixture(autouse=True, scope="session")
def cache_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The cache of tests that do not ask for an empty one: compiling the same text twice is
    wasted time."""
    os.environ["REDFUSE_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    # Processes that tests start import the same package.
    package = str(Path(redfuse.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([package, os.environ.get("PYTHONPATH", "")])


@pytest.fixture(autouse=True, scope="session")
def drivers_of_the_session() -> None:
    """The GPUs of this process are those of drivers that run nothing, whatever the machine has: what a
    GPU runs is in test/hardware."""
    for driver in (cuda, hip):
        assert driver.library


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("REDFUSE_CACHE_DIR", str(folder))
    return folder


SCALE = """
func.func @main(%x: tensor<3x5xf32>, %y: tensor<5xf32>) -> tensor<3x5xf32> {
  %e = tensor.empty() : tensor<3x5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<3x5xf32>, tensor<5xf32>) outs(%e : tensor<3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
"""


@pytest.fixture(scope="session")
def scale() -> str:
    """A program that multiplies rows by a vector."""
    return SCALE


@pytest.fixture(scope="session")
def eight() -> Iterator[Any]:
    """One set of eight processes for all tests of programs over several; smaller meshes are parts
    of it."""
    from ranks import ranks_of

    worlds = [[5, 6], [1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7]]
    with ranks_of(8, worlds, timeout=60.0) as found:
        yield found
