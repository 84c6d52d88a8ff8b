"""`redfuse merge`: states in files become one, with the checks of merging."""

from pathlib import Path

import numpy as np
import pytest
import redfuse
from redfuse.bench import programs
from redfuse.reference import Reference
from test_cli import redfuse as command

TEXT = programs.variance(3, 20)
X = (np.random.default_rng(0).standard_normal((3, 20)) + 1e3).astype(np.float32)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    (tmp_path / "variance.mlir").write_text(TEXT)
    exe = redfuse.compile(TEXT)
    for name, start, stop in (("a", 0, 7), ("b", 7, 12), ("c", 12, 20)):
        part = np.ascontiguousarray(X[:, start:stop])
        exe.update(exe.init(), part, offset=start).save(tmp_path / f"{name}.npz")
    return tmp_path


def test_results_and_states_of_several_files(saved: Path) -> None:
    parts = [saved / f"{name}.npz" for name in "abc"]
    program = ["--program", saved / "variance.mlir"]
    done = command("merge", *parts, *program, "--results", saved / "out.npz")
    assert done.returncode == 0, done.stderr
    assert "20 elements of 3 states" in done.stdout
    want = X.astype(np.float64).var(1)
    np.testing.assert_allclose(np.load(saved / "out.npz")["out0"], want, rtol=1e-5)
    done = command("merge", parts[2], parts[0], *program, "--output", saved / "ac.npz")
    assert done.returncode == 0, done.stderr
    assert redfuse.State.load(saved / "ac.npz").spans == ((0, 7), (12, 20))
    done = command("merge", saved / "ac.npz", parts[1], *program, "--results", saved / "out.npz")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(saved / "out.npz")["out0"], want, rtol=1e-5)


def test_what_does_not_fit_is_named(saved: Path) -> None:
    a, b = saved / "a.npz", saved / "b.npz"
    program = ["--program", saved / "variance.mlir"]
    done = command("merge", a, a, *program, "--output", saved / "x.npz")
    assert done.returncode == 2 and "a.npz: merge: both states have seen" in done.stderr
    done = command("merge", a, b, *program, "--results", saved / "x.npz")
    assert done.returncode == 2 and "12 elements, but the program is about 20" in done.stderr
    (saved / "other.mlir").write_text(programs.softmax(3, 20))
    done = command("merge", a, b, "--program", saved / "other.mlir", "--output", saved / "x.npz")
    assert done.returncode == 2 and "a.npz: merge: the state is of another program" in done.stderr
    assert not (saved / "x.npz").exists()
    done = command("merge", a, b, *program)
    assert done.returncode == 2 and "expected --output for the state, or --results" in done.stderr


def test_decoding_over_files(tmp_path: Path) -> None:
    """Keys and values of several machines, one of which has but one of them."""
    keys = 41
    text = programs.attention(1, 4, 1, keys, 8, kv_heads=2)
    (tmp_path / "decode.mlir").write_text(text)
    rng = np.random.default_rng(1)
    q = rng.standard_normal((1, 4, 1, 8)).astype(np.float32)
    k, v = (rng.standard_normal((1, 2, keys, 8)).astype(np.float32) for _ in range(2))
    exe = redfuse.compile(text)
    parts = []
    for number, (start, stop) in enumerate([(30, 41), (0, 29), (29, 30)]):
        chunk = [np.ascontiguousarray(x[:, :, start:stop]) for x in (k, v)]
        parts.append(tmp_path / f"{number}.npz")
        exe.update(exe.init(q), *chunk, offset=start).save(parts[-1])
    out = tmp_path / "out.npz"
    done = command("merge", *parts, "--program", tmp_path / "decode.mlir", "--results", out)
    assert done.returncode == 0, done.stderr
    (want,) = Reference(text, opt_level=0)(q, k, v)
    np.testing.assert_allclose(np.load(out)["out0"], want, rtol=1e-5, atol=1e-6)
