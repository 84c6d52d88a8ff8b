"""What torch.export cannot follow: made to work, or refused in words that help."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import redfuse
import torch
import torch.nn.functional as F  # noqa: N812

Program = Callable[..., Any]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def check(program: Program, *inputs: torch.Tensor, **options: Any) -> None:
    """Beside fp64."""
    exe = redfuse.compile(program, inputs=inputs, options={"cache": False}, **options)
    exact = program(*(x.double() if x.dtype == torch.float32 else x for x in inputs))
    torch.testing.assert_close(
        exe(*inputs), exact, rtol=2e-5, atol=2e-6, check_dtype=False, equal_nan=True
    )


# ---- transformations of functions


def square_of_softmax(x: torch.Tensor) -> torch.Tensor:
    return (x.softmax(-1) ** 2).sum()


def gradient_by_autograd(x: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        x = x.detach().requires_grad_(True)
        return torch.autograd.grad(square_of_softmax(x), x)[0]


@pytest.mark.parametrize(
    "program",
    [
        torch.func.grad(square_of_softmax),
        torch.func.grad_and_value(square_of_softmax),
        torch.func.jacrev(lambda x: torch.tanh(x).sum(1)),
        torch.func.jacfwd(lambda x: torch.tanh(x).sum(1)),
        torch.func.hessian(lambda x: (x**3).sum()),
        torch.vmap(square_of_softmax),
        torch.vmap(torch.func.grad(square_of_softmax)),
        torch.vmap(torch.vmap(lambda x: x * 2 + 1)),
        lambda x: torch.func.jvp(torch.tanh, (x,), (x,))[1],
        lambda x: torch.func.vjp(torch.tanh, x)[1](x)[0],
        lambda x: torch.vmap(lambda a, b: a @ b, in_dims=(0, None))(x, x[0]),
        gradient_by_autograd,
    ],
)  # fmt: skip
def test_transformations(program: Program) -> None:
    check(lambda x: program(x), torch.randn(3, 4))


def test_transformations_of_modules() -> None:
    layer = torch.nn.Linear(4, 4)

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.vmap(torch.func.jacrev(lambda row: self.layer(row).tanh()))(x)

    x = torch.randn(3, 4)
    expected = Module()(x).detach()
    for parameters in ("constants", "arguments"):
        exe = redfuse.compile(Module(), inputs=[x], options={"parameters": parameters})
        torch.testing.assert_close(exe(x), expected)


def test_transformations_with_open_extents() -> None:
    rows = torch.export.Dim("rows")
    exe = redfuse.compile(
        lambda x: torch.func.grad(square_of_softmax)(x),
        inputs=[torch.randn(6, 4)],
        dynamic_shapes=({0: rows},),
    )
    for count in (6, 3):
        x = torch.randn(count, 4)
        torch.testing.assert_close(exe(x), torch.func.grad(square_of_softmax)(x))


def test_transformations_that_an_exported_program_has_are_refused() -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.vmap(torch.sin)(x)

    exported = torch.export.export(Module(), (torch.randn(3, 4),))
    with pytest.raises(redfuse.UnsupportedError, match=r"transformation of functions.*expected"):
        redfuse.compile(exported)


# ---- functions that look at numbers


@pytest.mark.parametrize("correction", [0, 1, 40])
def test_covariances(correction: int) -> None:
    x = torch.randn(4, 20)
    counts = torch.randint(1, 5, (20,))
    weights = torch.rand(20)
    check(lambda x: torch.cov(x, correction=correction), x)
    check(lambda x: x[0].cov(correction=correction), x)
    check(lambda x, n: torch.cov(x, correction=correction, fweights=n), x, counts)
    check(lambda x, w: torch.cov(x, correction=correction, aweights=w), x, weights)
    check(
        lambda x, n, w: torch.cov(x, correction=correction, fweights=n, aweights=w),
        x, counts, weights,
    )  # fmt: skip


def test_covariances_of_other_types() -> None:
    z = torch.randn(3, 9, dtype=torch.complex64)
    for program in (torch.cov, torch.corrcoef):
        for x in (z, torch.randint(-9, 9, (3, 9))):
            exe = redfuse.compile(lambda x, program=program: program(x), inputs=[x])
            torch.testing.assert_close(exe(x), program(x))


def test_correlations() -> None:
    x = torch.randn(4, 20)
    check(lambda x: torch.corrcoef(x), x)
    check(lambda x: x[0].corrcoef(), x)


@pytest.mark.parametrize("shape", [(5, 7), (5, 1), (5,)])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_gaussian_loss(shape: tuple[int, ...], reduction: str) -> None:
    variance = torch.rand(shape) + 1e-8
    check(
        lambda x, y, v: F.gaussian_nll_loss(x, y, v, full=True, reduction=reduction),
        torch.randn(5, 7), torch.randn(5, 7), variance,
    )  # fmt: skip


def test_variances_below_the_least() -> None:
    """They are ``eps``, and an infinite one stays."""
    variance = torch.tensor([float("inf"), -1.0, -100.0, 0.3])
    x, y = torch.randn(4), torch.randn(4)

    def program(x: torch.Tensor, y: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.gaussian_nll_loss(x, y, v, reduction="none")

    made = redfuse.compile(program, inputs=[x, y, variance], options={"cache": False})
    want = program(x, y, variance.clamp(min=1e-6))
    torch.testing.assert_close(made(x, y, variance), want)


def test_several_threads_trace() -> None:
    """What PyTorch looks up is what it was, and each finds its own transformation."""
    engine = torch.autograd._engine_run_backward
    failures: list[BaseException] = []

    def work(power: int) -> None:
        try:
            x = torch.randn(5)
            exe = redfuse.compile(
                lambda x: torch.func.grad(lambda y: (y**power).sum())(x),
                inputs=[x], options={"cache": False},
            )  # fmt: skip
            torch.testing.assert_close(exe(x), power * x ** (power - 1))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(power,)) for power in (2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert torch.autograd._engine_run_backward is engine


# ---- numbers on the meta device


def test_numbers_made_in_forward() -> None:
    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.layer(x) * torch.tensor([1.0, 2.0, 3.0], device=x.device)
            y = y[:, torch.tensor([2, 0], device=x.device)] + x.new_tensor([0.5, 1])
            return y * torch.as_tensor(2.5, device=x.device)

    module, x = Module(), torch.randn(4, 3)
    expected = module(x).detach()
    weights = {k: v.clone() for k, v in module.state_dict().items()}
    module.to("meta")
    exe = redfuse.compile(
        module, inputs=[torch.empty(4, 3, device="meta")], options={"parameters": "arguments"}
    )
    module.load_state_dict(weights, assign=True)
    with torch.no_grad():
        torch.testing.assert_close(exe(x), expected)


def test_attributes_on_the_meta_device() -> None:
    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = torch.ones(3, device="meta")

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.factor

    with pytest.raises(redfuse.ArgumentError, match=r"shape \(3,\).*plain attribute \(factor\)"):
        redfuse.compile(Module(), inputs=[torch.empty(4, 3, device="meta")])


# ---- what stays refused


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda x: x if x.sum() > 0 else -x, r"depends on the data.*torch\.cond"),
        (lambda x: x * x.sum().item(), r"aten\.mul\.Tensor.*depends on the data"),
        (lambda x: torch.from_numpy(x.numpy() * 2), "numpy"),
        (lambda x: x / (1 // 0), "division"),
        (lambda x: x @ x, "reduction dim|mat1 and mat2"),
        (lambda x: torch.autograd.grad(x.detach().sum(), x)[0], r"torch\.autograd makes"),
    ],
)
def test_refusals_are_our_own(program: Program, words: str) -> None:
    with pytest.raises(redfuse.Error, match=words) as caught:
        redfuse.compile(program, inputs=[torch.randn(3, 4)])
    first = str(caught.value).splitlines()[0]
    assert "test_tracing.py:" in first


@pytest.mark.parametrize(
    "program", [torch.digamma, torch.erfinv, torch.special.i0e, torch.special.zeta]
)
def test_operations_are_named_once(program: Program) -> None:
    inputs = [torch.rand(3)] * (2 if program is torch.special.zeta else 1)
    with pytest.raises(redfuse.UnsupportedError) as caught:
        redfuse.compile(lambda *x: program(*x), inputs=inputs)
    assert type(caught.value) is redfuse.UnsupportedError
    names = [word for word in str(caught.value).split(": ") if word.endswith(".default")]
    assert len(names) == len(set(names)) <= 2
