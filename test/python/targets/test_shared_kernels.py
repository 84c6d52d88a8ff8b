"""Equal layers of a program are compiled once."""

import numpy as np
import pytest
import redfuse

ROWS, WIDTH = 157, 80


def layers(count: int, *, width: int = WIDTH) -> str:
    """x = softmax(w_i x) along the rows, ``count`` times: a row needs all rows of the layer before,
    so that each layer is a kernel."""
    kind, weight = f"tensor<{ROWS}x{width}xf32>", f"tensor<{ROWS}x{ROWS}xf32>"
    weights = ", ".join(f"%w{i}: {weight}" for i in range(count))
    lines = [
        f"func.func @main(%x0: {kind}, {weights}) -> {kind} {{",
        "%zero = arith.constant 0.0 : f32",
        f"%e = tensor.empty() : {kind}",
        f"%z = linalg.fill ins(%zero : f32) outs(%e : {kind}) -> {kind}",
    ]
    for i in range(count):
        lines += [
            f"%p{i} = linalg.matmul ins(%w{i}, %x{i} : {weight}, {kind}) outs(%z : {kind}) -> {kind}",
            f"%x{i + 1} = linalg.softmax dimension(1) ins(%p{i} : {kind}) outs(%e : {kind}) -> {kind}",
        ]
    return "\n".join([*lines, f"return %x{count} : {kind}", "}"])


def data(count: int, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    shapes = [(ROWS, WIDTH)] + [(ROWS, ROWS)] * count
    return [random.standard_normal(shape, dtype=np.float32) for shape in shapes]


def exact(x: np.ndarray, *weights: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    for w in weights:
        p = w.astype(np.float64) @ x
        e = np.exp(p - p.max(1, keepdims=True))
        x = e / e.sum(1, keepdims=True)
    return x


def compiled(count: int, **options: object) -> redfuse.Executable:
    return redfuse.compile(layers(count), options={"cache": False, **options})


@pytest.mark.parametrize("schedule", ["auto", "resident", "stream", "split"])
def test_equal_layers_share_code_and_are_right(schedule: str) -> None:
    exe = compiled(6, schedule=schedule)
    for seed in range(3):
        arrays = data(6, seed)
        got = exe(*arrays)
        want = exact(*arrays)
        # A product of ROWS terms rounds that often; six layers hand their errors on.
        assert np.abs(got - want).max() / np.abs(want).max() < 6 * ROWS * 2.0**-24


def test_explanation_names_whose_code_runs() -> None:
    kernels = compiled(4).explain(json=True)["kernels"]
    own = {kernel["name"] for kernel in kernels if "code_of" not in kernel}
    shared = [kernel for kernel in kernels if "code_of" in kernel]
    # At least the two layers in the middle, which neither begin nor end the program.
    assert len(shared) >= 2
    assert {kernel["code_of"] for kernel in shared} <= own
    text = compiled(4).explain()
    assert f"code      that of {shared[0]['code_of']}" in text


def test_as_many_functions_for_more_layers() -> None:
    few, many = (
        str(compiled(count).ir["generate"]).count("redfuse.kernel_body") for count in (4, 16)
    )
    assert many == few > 0
