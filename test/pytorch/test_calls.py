"""How compiled PyTorch programs are called: keywords, containers, numbers, writes, unsigned integers."""

from __future__ import annotations

import collections
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import redfuse
import torch

OPTIONS = {"cache": False}
Pair = collections.namedtuple("Pair", ["first", "second"])


def compiled(program: Any, inputs: Any, **more: Any) -> redfuse.Executable:
    options = {**OPTIONS, **more.pop("options", {})}
    return redfuse.compile(program, target="cpu", inputs=inputs, options=options, **more)


def test_keywords_containers_and_none() -> None:
    def program(x: Any, parts: Any, *, scale: float, mask: Any = None) -> Any:
        made = x * scale + parts["a"] - parts["b"][0]
        return {"sum": made.sum(-1), "none": mask, "pair": Pair(made, 3)}

    x, a, b = (torch.randn(3, 5) for _ in range(3))
    named = {"scale": 2.0, "mask": None}
    exe = compiled(program, (x, {"a": a, "b": [b]}), kwargs=named)
    got, expected = (f(x, {"a": a, "b": [b]}, **named) for f in (exe, program))
    assert got["none"] is None
    assert type(got["pair"]) is Pair
    assert got["pair"].second == 3
    torch.testing.assert_close(got["sum"], expected["sum"])
    torch.testing.assert_close(got["pair"].first, expected["pair"].first)
    with pytest.raises(redfuse.ArgumentError, match=r"compiled for 2\.0, got 3\.0"):
        exe(x, {"a": a, "b": [b]}, scale=3.0, mask=None)
    with pytest.raises(redfuse.ArgumentError, match="structure"):
        exe(x, a, scale=2.0, mask=None)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: torch.max(x, 1),
        lambda x: Pair(x + 1, x * 2),
        lambda x: [x + 1, x * 2],
        lambda x: [x + 1, [x * 2]],
        lambda x: (x + 1, [x * 2]),
        lambda x: [torch.topk(x, 2), x + 1],
    ],
)
def test_lists_of_results(program: Any) -> None:
    """Those of tensors alone are put together by themselves, others by PyTorch's trees."""
    x = torch.randn(3, 5)
    got, expected = compiled(program, (x,))(x), program(x)
    assert torch.utils._pytree.tree_structure(got) == torch.utils._pytree.tree_structure(expected)
    assert type(got) is type(expected)
    torch.testing.assert_close(
        torch.utils._pytree.tree_leaves(got), torch.utils._pytree.tree_leaves(expected)
    )


class Counting(torch.nn.Module):
    """Writes to a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("kept", torch.ones(1), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        self.kept.mul_(2)
        return x + self.calls * self.kept


def test_buffers_are_written() -> None:
    module, twin = Counting(), Counting()
    x = torch.randn(4)
    exe = compiled(module, [x])
    for _ in range(3):
        torch.testing.assert_close(exe(x), twin(x))
    assert float(module.calls) == 3
    assert float(module.kept) == 8


def test_arguments_are_written() -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        y[1:3] = x[:2] * 2
        return y.sum()

    x, y = torch.randn(4), torch.zeros(4)
    exe = compiled(program, (x, y))
    mine, theirs = y.clone(), y.clone()
    torch.testing.assert_close(exe(x, mine), program(x, theirs))
    torch.testing.assert_close(mine, theirs)
    assert float(y.abs().sum()) == 0


def test_batch_norm_in_training_keeps_its_statistics() -> None:
    def program(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.batch_norm(x, mean, var, training=True)

    x, given = torch.randn(6, 3, 5), [torch.zeros(3), torch.ones(3)]
    exe = compiled(program, (x, *given))
    mine, theirs = ([t.clone() for t in given] for _ in range(2))
    torch.testing.assert_close(exe(x, *mine), program(x, *theirs))
    torch.testing.assert_close(mine, theirs)


def test_what_is_trained_and_what_is_not_stays_so() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(), torch.nn.ReLU())
    module[1].eval()
    compiled(module, [torch.randn(2, 4)])
    assert [part.training for part in module.modules()] == [True, True, False, True]


def test_parameters_as_arguments_are_read_for_each_call() -> None:
    module = torch.nn.Linear(5, 3)
    x = torch.randn(2, 5)
    fixed, bound = (
        compiled(module, [x], options={"parameters": p}) for p in ("constants", "arguments")
    )
    before = module(x).detach()
    with torch.no_grad():
        module.weight.mul_(3)
    torch.testing.assert_close(fixed(x), before)
    torch.testing.assert_close(bound(x), module(x).detach())


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.int16])
def test_integers_without_a_sign(dtype: torch.dtype) -> None:
    x = torch.tensor([0, 1, 100, 200, 255]).to(dtype)

    def program(x: torch.Tensor) -> Any:
        return x.to(torch.float32), x.to(torch.int64) // 7, x

    exe = compiled(program, [x])
    for mine, theirs in zip(exe(x), program(x), strict=True):
        assert mine.dtype == theirs.dtype
        assert torch.equal(mine, theirs)


def test_bytes() -> None:
    x, y = (
        torch.tensor([0, 1, 100, 200, 255], dtype=torch.uint8),
        torch.tensor(200, dtype=torch.uint8),
    )

    def program(x: torch.Tensor, y: torch.Tensor) -> Any:
        return (
            x + y,
            x // 3,
            x > y,
            x.amax(),
            x.sort().values,
            x.float().mean(),
            torch.maximum(x, y),
        )

    exe = compiled(program, (x, y))
    for mine, theirs in zip(exe(x, y), program(x, y), strict=True):
        assert mine.dtype == theirs.dtype
        torch.testing.assert_close(mine, theirs)
    with pytest.raises(redfuse.ArgumentError, match="uint8"):
        exe(x.to(torch.int8), y)


def test_an_example_given_twice_is_two_arguments() -> None:
    """torch.export would take both for the second, in all calls."""
    same = torch.rand(5, 5)
    exe = redfuse.compile(
        lambda x, y, more: x @ y - x + more["z"], inputs=[same, same], kwargs={"more": {"z": same}}
    )
    x, y, z = (torch.rand(5, 5) for _ in range(3))
    torch.testing.assert_close(exe(x, y, more={"z": z}), x @ y - x + z)


def test_a_program_without_arguments_returns_tensors() -> None:
    got = compiled(lambda: torch.arange(5) * 2, ())()
    assert isinstance(got, torch.Tensor)
    assert got.tolist() == [0, 2, 4, 6, 8]


def test_open_extents_of_an_exported_program_and_by_dynamic_shapes() -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.softmax(x, -1), x.shape[0], None

    length = torch.export.Dim("length")
    exported = torch.export.export(Module(), (torch.randn(3, 5),), dynamic_shapes=({1: length},))
    for exe in (
        compiled(exported, None),
        compiled(Module(), [torch.randn(3, 5)], dynamic_shapes=({1: length},)),
    ):
        for n in (5, 2, 130):
            x = torch.randn(3, n)
            made, count, none = exe(x)
            torch.testing.assert_close(made, torch.softmax(x, -1))
            assert (count, none) == (3, None)


def test_keywords_of_programs_without_any_are_refused() -> None:
    exe = compiled(lambda x: x + 1, [torch.ones(2)])
    with pytest.raises(redfuse.ArgumentError, match="no keywords"):
        exe(torch.ones(2), scale=2)


def test_guards_of_open_extents_are_checked() -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
            return (x + y).sum() + z.sum()

    n = torch.export.Dim("n", min=3, max=8)
    shapes = {"x": {0: n}, "y": {0: n}, "z": {0: 2 * n}}
    given = (torch.randn(5), torch.randn(5), torch.randn(10))
    exported = torch.export.export(Module(), given, dynamic_shapes=shapes)
    exe = compiled(exported, None)
    for size in (3, 8):
        inputs = (torch.randn(size), torch.randn(size), torch.randn(2 * size))
        torch.testing.assert_close(exe(*inputs), Module()(*inputs))
    for sizes, words in (
        ((9, 9, 18), "argument 0: expected an extent of 3 to 8"),
        ((5, 4, 10), "argument 1: expected the extent of dim 0 of argument 0"),
        ((5, 5, 9), r"argument 2: expected the extent 2\*"),
    ):
        with pytest.raises(redfuse.ExecutionError, match=words):
            exe(*map(torch.randn, sizes))


@pytest.mark.parametrize("program", ["product", "convolution"])
def test_precision_of_products(program: str) -> None:
    """bf16 has 8 bits, TF32 has 11."""
    if program == "product":
        function, inputs = torch.matmul, (torch.randn(33, 65), torch.randn(65, 17))
    else:
        function, inputs = torch.conv2d, (torch.randn(2, 5, 9, 9), torch.randn(7, 5, 3, 3))
    exact = function(*(x.double() for x in inputs))
    errors = {}
    rounded_to = {"highest": lambda x: x, "high": to_tf32, "medium": torch.Tensor.bfloat16}
    for precision, rounded in rounded_to.items():
        got = compiled(function_of(function), inputs, options={"precision": precision})(*inputs)
        errors[precision] = float((got - exact).abs().max() / exact.abs().max())
        want = function(*(rounded(x).double() for x in inputs))
        torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-5)
    assert errors["highest"] < 2.0**-20
    assert 2.0**-16 < errors["high"] < 2.0**-9
    assert 2.0**-12 < errors["medium"] < 2.0**-6


def to_tf32(x: torch.Tensor) -> torch.Tensor:
    """To nearest even, of numbers that are not the largest: 13 of 24 significant bits go, and
    what is below 2^-136, the least that TF32 has."""
    exponent = torch.frexp(x.double()).exponent.clamp(min=-125)
    return torch.ldexp(torch.round(torch.ldexp(x.double(), 11 - exponent)), exponent - 11).float()


@pytest.mark.parametrize("program", ["product", "convolution"])
def test_high_precision_rounds_all_floats_as_tf32(program: str) -> None:
    """Halves to even, signs, subnormals, the largest, infinity: a product with one."""
    numbers = [1 + 2.0**-11, 1 + 3 * 2.0**-11, -1 - 2.0**-11, -0.0, 2.0**-149, 3 * 2.0**-130,
               3.4028235e38, -3.4028235e38, 65504.0, 1 / 3]  # fmt: skip
    x = torch.tensor(numbers, dtype=torch.float32)
    y = to_tf32(x)
    y[6], y[7] = float("inf"), float("-inf")
    if program == "product":
        got = compiled(function_of(torch.matmul), (x[:, None], torch.ones(1, 1)),
                       options={"precision": "high"})(x[:, None], torch.ones(1, 1))  # fmt: skip
    else:
        given = (x.reshape(1, 1, -1), torch.ones(1, 1, 1))
        got = compiled(function_of(torch.conv1d), given, options={"precision": "high"})(*given)
    np.testing.assert_array_equal(got.reshape(-1).numpy(), y.numpy())


def test_precision_by_default_is_as_pytorchs_switches_say() -> None:
    """Which are about NVIDIA's GPUs. (In a process of its own: the switches are global.)"""
    code = """if True:
        import torch
        from redfuse.frontends.precision import Precision
        chosen = lambda target: Precision.chosen("default", target)
        assert chosen("cpu") == chosen("rocm:gfx942") == Precision("highest", "highest")
        assert chosen("cuda:sm_90a") == Precision("highest", "high"), chosen("cuda:sm_90a")
        torch.set_float32_matmul_precision("medium")
        torch.backends.cudnn.allow_tf32 = False
        assert chosen("cuda:sm_90a") == Precision("medium", "highest"), chosen("cuda:sm_90a")
        assert Precision.chosen("high", "cpu") == Precision("high", "high")
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def function_of(function: Any) -> Any:
    return lambda x, y: function(x, y)


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(redfuse.ArgumentError, match="precision"):
        redfuse.Options(precision="low")
