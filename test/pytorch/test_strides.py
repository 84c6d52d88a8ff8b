"""Arguments that are not row-major: taken as they lie in memory where the example lies so, else as
copies."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import pytest
import redfuse
import torch

Make = Callable[[], torch.Tensor]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def softmax(x: torch.Tensor) -> torch.Tensor:
    return x.softmax(-1) * 2


# 6 x 8 in several orders in memory.
TRANSPOSED: Make = lambda: torch.randn(8, 6).t()  # noqa: E731
PLAIN: Make = lambda: torch.randn(6, 8)  # noqa: E731
WITH_GAPS: Make = lambda: torch.randn(12, 24)[::2, 1::3]  # noqa: E731
EXPANDED: Make = lambda: torch.randn(6, 1).expand(6, 8)  # noqa: E731
ALL = {"transposed": TRANSPOSED, "plain": PLAIN, "gaps": WITH_GAPS, "expanded": EXPANDED}


@pytest.mark.parametrize("example", ALL.values(), ids=ALL.keys())
def test_any_strides_at_any_call(example: Make) -> None:
    exe = redfuse.compile(softmax, inputs=[example()])
    for given in ALL.values():
        x = given()
        made = exe(x)
        assert made.is_contiguous()
        torch.testing.assert_close(made, softmax(x))
        array = exe(x.numpy())
        assert isinstance(array, np.ndarray)
        np.testing.assert_allclose(array, softmax(x).numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("example", "shape"),
    [
        (TRANSPOSED(), "tensor<8x6xf32>"),
        (PLAIN(), "tensor<6x8xf32>"),
        (WITH_GAPS(), "tensor<6x8xf32>"),
        (EXPANDED(), "tensor<6x8xf32>"),
        (torch.randn(2, 5, 4, 3).to(memory_format=torch.channels_last), "tensor<2x4x3x5xf32>"),
        (torch.randn(7, 3, 4).permute(2, 0, 1), "tensor<7x3x4xf32>"),
        (torch.empty(8, 6, device="meta").t(), "tensor<8x6xf32>"),
        (torch.empty_strided((2, 3, 4), (1, 8, 2), device="meta"), "tensor<3x4x2xf32>"),
        # Extents of 1 have any strides.
        (torch.empty_strided((6, 1), (1, 77)), "tensor<6x1xf32>"),
    ],
)
def test_the_program_has_the_order_in_memory(example: torch.Tensor, shape: str) -> None:
    exe = redfuse.compile(softmax, inputs=[example])
    assert str(exe.signature).startswith(f"main({shape})")
    x = torch.randn(example.shape)
    torch.testing.assert_close(exe(x), softmax(x))


def test_nothing_is_copied_of_the_example_order(caplog: pytest.LogCaptureFixture) -> None:
    exe = redfuse.compile(softmax, inputs=[TRANSPOSED()])
    with caplog.at_level(logging.INFO, "redfuse"):
        for given in (TRANSPOSED, PLAIN, PLAIN):
            exe(given())
    assert [r.getMessage() for r in caplog.records if r.name == "redfuse"] == [
        "argument 0 of main has strides (1, 8) and is copied by each call: the program was "
        "compiled for another order in memory"
    ]


def test_convolution_of_channels_last() -> None:
    layer = torch.nn.Conv2d(3, 4, 3).eval()
    x = torch.randn(2, 3, 9, 8).to(memory_format=torch.channels_last)
    exe = redfuse.compile(layer, inputs=[x])
    with torch.no_grad():
        torch.testing.assert_close(exe(x), layer(x).contiguous(), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(exe(x.contiguous()), layer(x).contiguous(), rtol=1e-4, atol=1e-5)


def test_complex_and_unsigned() -> None:
    z = torch.randn(5, 7, 3, dtype=torch.complex64).permute(2, 0, 1)
    u = torch.randint(0, 255, (7, 5), dtype=torch.uint8).t()

    def norms(z: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return (z * u).abs().sum(0)

    exe = redfuse.compile(norms, inputs=[z, u])
    assert str(exe.signature).startswith("main(tensor<5x7x3x2xf32>, tensor<7x5xi8>)")
    wide = torch.randn(6, 10, 7, dtype=torch.complex64)[::2, ::2]
    for given in ((z, u), (z.contiguous(), u.contiguous()), (wide, u)):
        torch.testing.assert_close(exe(*given), norms(*given))
        torch.testing.assert_close(exe(*(t.numpy() for t in given)), norms(*given))


def test_keywords_and_containers() -> None:
    def program(pair: tuple[torch.Tensor, torch.Tensor], *, mask: torch.Tensor) -> dict:
        return {"sum": torch.where(mask, pair[0], pair[1]).sum(0)}

    pair, mask = (TRANSPOSED(), PLAIN()), (torch.randn(8, 6) > 0).t()
    exe = redfuse.compile(program, inputs=[pair], kwargs={"mask": mask})
    assert str(exe.signature).startswith("main(tensor<8x6xf32>, tensor<6x8xf32>, tensor<8x6xi1>)")
    for given in (pair, (WITH_GAPS(), EXPANDED())):
        torch.testing.assert_close(exe(given, mask=mask), program(given, mask=mask))


def test_open_extents() -> None:
    exe = redfuse.compile(
        softmax, inputs=[TRANSPOSED()], dynamic_shapes=({1: torch.export.Dim("s")},)
    )
    for x in (torch.randn(9, 6).t(), torch.randn(6, 5), torch.randn(18, 6).t()[:, ::2]):
        torch.testing.assert_close(exe(x), softmax(x))


# ---- what is written


@pytest.mark.parametrize("example", [TRANSPOSED, PLAIN, WITH_GAPS])
@pytest.mark.parametrize("given", [TRANSPOSED, PLAIN, WITH_GAPS])
def test_writes_reach_the_caller(example: Make, given: Make) -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2).add_(y)
        return x.sum(1)

    exe = redfuse.compile(program, inputs=[example(), example()])
    x, y = given(), given()
    expected = x.clone()
    array = x.numpy().copy(order="K")
    torch.testing.assert_close(exe(x, y), program(expected, y))
    torch.testing.assert_close(x, expected)
    torch.testing.assert_close(exe(array, y.numpy()), expected.sum(1))
    np.testing.assert_allclose(array, expected.numpy(), rtol=1e-5)


def test_writes_that_cannot_be() -> None:
    exe = redfuse.compile(lambda x: x.mul_(2).sum(), inputs=[PLAIN()])
    x = EXPANDED()
    before = x.clone()
    with pytest.raises(redfuse.ArgumentError, match=r"argument 0: the program writes to it.*expan"):
        exe(x)
    assert torch.equal(x, before)
    array = PLAIN().numpy()
    array.flags.writeable = False
    with pytest.raises(redfuse.ArgumentError, match=r"argument 0.*read-only"):
        exe(array)


def test_buffers_and_parameters_in_other_orders() -> None:
    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(8, 6).t())
            self.register_buffer("total", torch.zeros(8, 6).t())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total.add_(x)
            return x @ self.weight.mT

    module = Module()
    exe = redfuse.compile(module, inputs=[PLAIN()], options={"parameters": "arguments"})
    x = WITH_GAPS()
    with torch.no_grad():
        torch.testing.assert_close(exe(x), x @ module.weight.mT)
        torch.testing.assert_close(module.total, x)
        module.weight.data = torch.randn(6, 8)
        torch.testing.assert_close(exe(x), x @ module.weight.mT)
        torch.testing.assert_close(module.total, 2 * x)


# ---- what is refused


def test_shapes_are_the_callers() -> None:
    exe = redfuse.compile(softmax, inputs=[TRANSPOSED()])
    for shape, text in (((8, 6), "8x6"), ((6, 7), "6x7"), ((6,), "6")):
        with pytest.raises(redfuse.ArgumentError, match=f"expected shape 6x8, got {text}") as e:
            exe(torch.randn(shape))
        assert e.value.index == 0


def test_results_are_not_written_by_strides() -> None:
    for example in (TRANSPOSED(), PLAIN()):
        exe = redfuse.compile(softmax, inputs=[example])
        with pytest.raises(redfuse.ArgumentError, match=r"out 0.*contiguous"):
            exe(example, out=TRANSPOSED())
        with pytest.raises(redfuse.ArgumentError, match=r"out 0.*contiguous"):
            exe(WITH_GAPS(), out=TRANSPOSED())
    out = torch.empty(6, 8)
    x = WITH_GAPS()
    assert exe(x, out=out) is out
    torch.testing.assert_close(out, softmax(x))


def test_other_faults_of_strided_arguments() -> None:
    exe = redfuse.compile(softmax, inputs=[PLAIN()])
    with pytest.raises(redfuse.ArgumentError, match="float64"):
        exe(TRANSPOSED().double())
    with pytest.raises(redfuse.ArgumentError, match="gradient"):
        exe(TRANSPOSED().requires_grad_())
    with pytest.raises(redfuse.ArgumentError, match="mask"):
        exe(np.ma.masked_array(TRANSPOSED().numpy()))


class Foreign:
    """An array of another library."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __dlpack__(self, **named: object) -> object:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries_are_not_misread() -> None:
    """Also where both orders have the same shape."""
    exe = redfuse.compile(softmax, inputs=[torch.randn(6, 6).t()])
    x = torch.randn(6, 6)
    np.testing.assert_allclose(exe(Foreign(x.numpy().T)), softmax(x.t()).numpy(), rtol=1e-5)
    np.testing.assert_allclose(exe(Foreign(x.numpy())), softmax(x).numpy(), rtol=1e-5)
    with pytest.raises(redfuse.ArgumentError, match="expected an array"):
        exe(x.tolist())
    writes = redfuse.compile(lambda x: x.mul_(2).sum(), inputs=[x])
    with pytest.raises(redfuse.ArgumentError, match="expected a torch tensor or a NumPy array"):
        writes(Foreign(x.numpy()))


# ---- explain, states


def test_explain_names_the_callers_dims() -> None:
    exe = redfuse.compile(softmax, inputs=[TRANSPOSED()])
    assert exe.explain().startswith(
        "arg0 of 6x8 is read as it lies in memory, with its dims in the order 1, 0: 8x6\n"
    )
    assert exe.explain(json=True)["arguments"] == [
        {"arg": "arg0", "shape": [6, 8], "order": [1, 0]}
    ]
    assert "arguments" not in redfuse.compile(softmax, inputs=[PLAIN()]).explain(json=True)


@pytest.mark.parametrize("example", [TRANSPOSED, PLAIN])
def test_states_take_chunks_of_any_strides(example: Make) -> None:
    exe = redfuse.compile(lambda x: x.logsumexp(1), inputs=[example()])
    x = torch.randn(6, 8)
    state = exe.init()
    for start in (0, 3):
        state = exe.update(state, x[:, start : start + 3])
    state = exe.update(state, x.t().contiguous().t()[:, 6:])
    torch.testing.assert_close(torch.as_tensor(exe.finalize(state)), x.logsumexp(1))


def test_dims_that_options_name_are_the_callers() -> None:
    exe = redfuse.compile(
        lambda x: x.logsumexp(1), inputs=[TRANSPOSED()], options={"along": (0, 1)}
    )
    assert exe.interface is None
    x = TRANSPOSED()
    torch.testing.assert_close(exe(x), x.logsumexp(1))
