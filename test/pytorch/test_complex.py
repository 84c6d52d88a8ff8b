"""Complex numbers in PyTorch programs, against the same programs in fp64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import redfuse
import torch
from torch.nn import functional as F  # noqa: N812

C, X, Y = "complex", (3, 5, 7), (3, 5, 7)
Case = tuple[Callable[..., Any], tuple[Any, ...]]


def z(*shape: int) -> tuple[str, tuple[int, ...]]:
    """A complex argument."""
    return C, shape


def assigned(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    made = torch.zeros(5, 9, dtype=a.dtype)
    made[:, 1:8] = a
    made[0] = x[0, 0]
    made[1, 2] = 2j
    return made


CASES: dict[str, Case] = {
    "sums": (lambda a, b, x: (a + b, a - x, x - a, 1 + a, a - 2j, torch.add(a, b, alpha=3), -a,
                              a.sum(1), a.mean(), a.cumsum(-1)), (z(*X), z(7), X)),
    "products": (lambda a, b, x: (a * b, a * x, x * b, a * 1j, 2.5 * a, a * a.conj(), a.square()),
                 (z(*X), z(7), X)),
    "quotients": (lambda a, b, x: (a / b, a / x, x / b, a / 2, 2 / b, 1j / b, a / 2j,
                                   a.reciprocal()), (z(*X), z(*X), X)),
    "powers": (lambda a: (a**3, a**-2, a**0.5, a**1.5, 2**a, a ** (1 + 2j), a.rsqrt(), a**0),
               (z(*X),)),
    "exponentials": (lambda a: (a.exp(), a.log(), a.sqrt(), a.log2(), a.log10(), a.sigmoid(),
                                a.expm1(), F.silu(a)), (z(*X),)),
    "trigonometry": (lambda a: (a.sin(), a.cos(), a.tan(), a.sinh(), a.cosh(), a.tanh()),
                     (z(*X),)),
    "parts": (lambda a: (a.real, a.imag, a.abs(), a.angle(), a.sgn(), a.conj(), a.conj().imag,
                         torch.view_as_real(a), torch.view_as_real(a.conj().resolve_conj()),
                         a.norm(), torch.linalg.vector_norm(a, dim=1), a.var(0)), (z(*X),)),
    "made": (lambda x, y: (torch.complex(x, y), torch.polar(x.abs(), y), x.to(torch.complex64),
                           torch.view_as_complex(x.unflatten(-1, (-1, 2))),
                           x * torch.full((8,), 1 + 2j)), ((3, 8), (3, 8))),
    "folds": (lambda a: (a.prod(), a.prod(1, keepdim=True), a.cumprod(2)), (z(3, 5, 7),)),
    "moves": (lambda a, x: (a.flip(0), a.roll(2, 1), a[1:, ::2], F.pad(a, (1, 2)), a.T,
                            a.masked_fill(x > 0, 1j), torch.where(x > 0, a, x), torch.cat([a, x]),
                            torch.stack([a, a.conj()]), a.reshape(7, 5), a[:, [2, 0]],
                            a.view(x.dtype), a.new_zeros(3), a.diagonal(), a.tril(),
                            *a.split(3, 1), assigned(a, x)), (z(5, 7), (5, 7))),
    "matrices": (lambda a, b, x: (a @ b, a.real @ b.real, x.to(a.dtype) @ b, a[0] @ b, a @ b[:, 0],
                                  torch.vdot(a[0], a[1]), torch.dot(a[0], a[1])),
                 (z(5, 7), z(7, 6), (5, 7))),
    "einsum": (lambda a, b: (torch.einsum("bixy,ioxy->boxy", a, b), torch.einsum("bixy->bx", a)),
               (z(2, 3, 4, 5), z(3, 6, 4, 5))),
    "convolutions": (lambda a, w, b: (F.conv1d(a, w, b), F.conv1d(a, w, padding=1, stride=2)),
                     (z(2, 3, 9), z(4, 3, 3), z(4))),
}  # fmt: skip


def argument(shape: Any, generator: torch.Generator) -> torch.Tensor:
    if shape[0] == C:
        return torch.randn(shape[1], generator=generator, dtype=torch.complex64)
    return torch.randn(shape, generator=generator)


def wide(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


def flat(results: Any) -> list[torch.Tensor]:
    return [results] if isinstance(results, torch.Tensor) else list(results)


def check(exe: Any, function: Callable[..., Any], inputs: list[torch.Tensor]) -> None:
    """Twice as far from fp64 as PyTorch, and 8 roundings of the largest element: a formula here has
    at most so many more than PyTorch's (``exp`` and ``atan2`` are within 2 units, and are
    multiplied)."""
    got, eager = flat(exe(*inputs)), flat(function(*inputs))
    exact = flat(function(*map(wide, inputs)))
    assert len(got) == len(eager)
    for number, (mine, theirs, true) in enumerate(zip(got, eager, exact, strict=True)):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), number
        eps, scale = torch.finfo(theirs.dtype).eps, float(true.abs().max())
        allowed = 2 * (wide(theirs) - true).abs() + 8 * eps * scale
        assert bool(((wide(mine) - true).abs() <= allowed).all()), number


def compiled(function: Any, inputs: list[torch.Tensor], **more: Any) -> Any:
    return redfuse.compile(function, inputs=inputs, options={"cache": False}, **more)


@pytest.mark.parametrize("name", CASES)
def test_operations(name: str) -> None:
    function, shapes = CASES[name]
    exe = None
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        inputs = [argument(shape, generator) for shape in shapes]
        exe = exe or compiled(function, inputs)
        check(exe, function, inputs)


def test_comparisons() -> None:
    inf, nan = float("inf"), float("nan")
    a = torch.tensor([0j, 1 + 1j, complex(inf, 0), complex(0, nan), 2 - 1j])
    b = torch.tensor([0j, 1 - 1j, complex(inf, 0), complex(0, nan), 2 - 1j])

    def compared(a: torch.Tensor, b: torch.Tensor) -> Any:
        return (a == b, a != b, a.isfinite(), a.isnan(), a.isinf(), a.to(torch.bool), a == 2 - 1j,
                (a != 0).any(), a.logical_not())  # fmt: skip

    for mine, theirs in zip(compiled(compared, [a, b])(a, b), compared(a, b), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("kind", [torch.complex64, torch.complex128], ids=str)
def test_division_and_length_of_large_and_small_numbers(kind: torch.dtype) -> None:
    """Neither overflows nor underflows where the result does not."""
    info = torch.finfo(kind.to_real())
    large, small = info.max / 4, info.tiny * 4
    sizes = [large, small, 1.0, 0.0]
    parts = [
        complex(s * a, t * b) for s in sizes for t in sizes for a in (1, -1) for b in (1, -0.5)
    ]
    pairs = [(x, y) for x in parts for y in parts if y != 0]
    a, b = (torch.tensor([p[i] for p in pairs], dtype=kind) for i in (0, 1))
    exe = compiled(lambda a, b: (a / b, a.abs(), b.sqrt()), [a, b])
    quotient, length, root = exe(a, b)
    np_a, np_b = (np.asarray(t.tolist(), np.clongdouble) for t in (a, b))
    with np.errstate(all="ignore"):
        exact = np_a / np_b
    # What neither overflows nor loses bits below the normal numbers, with room for twice a part.
    inside = (np.abs(exact) < large / 2) & (np.abs(exact) > small)
    far = np.abs(np.asarray(quotient.tolist(), np.clongdouble) - exact)
    assert (far[inside] <= 8 * info.eps * np.abs(exact)[inside]).all()
    size = np.abs(np_a)
    near = np.abs(np.asarray(length.tolist(), np.longdouble) - size)
    assert (near <= 2 * info.eps * size + info.tiny).all()
    again = np.asarray(root.tolist(), np.clongdouble) ** 2
    assert (np.abs(again - np_b) <= 8 * info.eps * np.abs(np_b)).all()


def test_infinities() -> None:
    inf = float("inf")
    a = torch.tensor([1 + 1j, -2j, complex(inf, 1), 0j, complex(1, inf), 3 + 0j])
    got = compiled(lambda a: (a.abs(), a / 0.0, 1 / a, a.exp()), [a])(a)
    assert torch.equal(got[0], a.abs())
    assert bool(got[1][[0, 2, 4]].real.isinf().all())
    assert got[2][2] == 0
    assert got[2][4] == 0
    assert got[3][2].real != got[3][2].real or got[3][2].real.isinf()
    assert got[3][5] == a[5].exp() or abs(got[3][5] - a[5].exp()) < 1e-5


def rope(q: torch.Tensor, k: torch.Tensor, turns: torch.Tensor) -> Any:
    """Rotary positions, as Llama's first code has them."""
    turns = turns[:, None]

    def one(x: torch.Tensor) -> torch.Tensor:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns).flatten(3).type_as(x)

    return one(q), one(k)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=str)
def test_rotary_positions(kind: torch.dtype) -> None:
    torch.manual_seed(0)
    q, k = torch.randn(2, 13, 3, 10).to(kind), torch.randn(2, 13, 1, 10).to(kind)
    turns = torch.polar(torch.ones(13, 5), torch.randn(13, 5))
    exe = compiled(rope, [q, k, turns])
    for mine, theirs in zip(exe(q, k, turns), rope(q, k, turns), strict=True):
        assert mine.dtype == kind
        # Two products and a sum, each rounded in f32, and the result.
        torch.testing.assert_close(mine, theirs, rtol=2 * torch.finfo(kind).eps, atol=1e-6)
    assert len(exe.explain(json=True)["kernels"]) <= 2


def test_kernel_of_a_diagonal_state_space() -> None:
    """S4D's."""

    def kernel(C: torch.Tensor, dt: torch.Tensor, A: torch.Tensor) -> torch.Tensor:  # noqa: N803
        dtA = A * dt.exp().unsqueeze(-1)  # noqa: N806
        K = dtA.unsqueeze(-1) * torch.arange(37)  # noqa: N806
        C = C * (torch.exp(dtA) - 1.0) / A  # noqa: N806
        return 2 * torch.einsum("hn,hnl->hl", C, torch.exp(K)).real

    exe = None
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        C = torch.randn(5, 7, dtype=torch.complex64, generator=generator)  # noqa: N806
        dt = torch.rand(5, generator=generator) - 4
        A = torch.complex(-torch.rand(5, 7, generator=generator), torch.arange(7.0).expand(5, 7))  # noqa: N806
        exe = exe or compiled(kernel, [C, dt, A])
        exact = kernel(*map(wide, (C, dt, A)))
        off = (exe(C, dt, A).double() - exact).abs().max()
        # Angles of up to 37 radians are rounded to f32 by both.
        usual = (kernel(C, dt, A).double() - exact).abs().max()
        assert off <= 2 * usual + 8 * torch.finfo(torch.float32).eps * exact.abs().max()


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.weight = torch.nn.Parameter(
            torch.randn(3, 4, dtype=torch.complex64, generator=generator)
        )
        self.register_buffer("seen", torch.zeros(4, dtype=torch.complex64))

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> dict[str, torch.Tensor]:
        made = x @ self.weight * (scale + 1j)
        self.seen += made.sum(0)
        return {"made": made, "size": self.weight.abs().sum()}


@pytest.mark.parametrize("parameters", ["constants", "arguments"])
def test_modules(parameters: str) -> None:
    module, same = Layer(), Layer()
    x = torch.randn(2, 3, dtype=torch.complex64)
    exe = redfuse.compile(
        module, inputs=[x], options={"cache": False, "parameters": parameters},
        kwargs={"scale": 0.5},
    )  # fmt: skip
    for given in (x, x.conj(), x * 2):
        torch.testing.assert_close(exe(given, scale=0.5), same(given, 0.5))
    torch.testing.assert_close(module.seen, same.seen)


def test_arguments_and_results() -> None:
    x = torch.randn(4, 6, dtype=torch.complex64)
    exe = compiled(lambda x: x * 2j, [x])
    out = torch.empty_like(x)
    exe(x, out=out)
    assert torch.equal(out, x * 2j)
    with pytest.raises(redfuse.ArgumentError, match="conjugate"):
        exe(x, out=out.conj())
    assert np.array_equal(np.asarray(exe(x.numpy())), (x * 2j).numpy())
    with pytest.raises(redfuse.ArgumentError, match="complex64"):
        exe(x.real)
    with pytest.raises(redfuse.ArgumentError, match="shape"):
        exe(x[1:])
    empty = x[:0]
    assert compiled(lambda x: x * 2j, [empty])(empty).shape == (0, 6)


def test_open_extents() -> None:
    x = torch.randn(4, 6, dtype=torch.complex64)
    shapes = [{0: torch.export.Dim("rows", min=2, max=100)}]
    exe = compiled(lambda x: (x * x).sum(1), [x], dynamic_shapes=shapes)
    for rows in (2, 9):
        x = torch.randn(rows, 6, dtype=torch.complex64)
        torch.testing.assert_close(exe(x), (x * x).sum(1))


@pytest.mark.parametrize(
    ("function", "words"),
    [(torch.atan, "no rule for complex tensors"), (torch.linalg.inv, "no rule for complex"),
     (lambda x: x + torch.randn_like(x), "random numbers"),
     (lambda x: torch.cond(x.abs().sum() > 1, torch.sin, torch.cos, (x,)), "complex64")],
)  # fmt: skip
def test_refusals(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(redfuse.UnsupportedError, match=words):
        compiled(function, [torch.randn(3, 3, dtype=torch.complex64)])


def test_small_numbers_keep_their_digits() -> None:
    """Relative to each element: 1 + a has none of a."""
    x = torch.randn(200, dtype=torch.complex64) * torch.logspace(-8, 1, 200)
    made = compiled(lambda x: x.log1p(), [x])(x).to(torch.complex128)
    want = x.to(torch.complex128).log1p()
    assert ((made - want).abs() <= 8 * torch.finfo(torch.float32).eps * want.abs()).all()


@pytest.mark.parametrize("exponent", (-17, -1.5, 0.0, 1.5, 17))
def test_powers_of_zero(exponent: float) -> None:
    x = torch.tensor([0j, 1 + 1j])
    made, want = compiled(lambda x: x**exponent, [x])(x), x**exponent
    torch.testing.assert_close(made[1], want[1], rtol=1e-5, atol=0)
    if exponent < 0:
        assert torch.isinf(made[0].real)
    else:
        assert made[0] == want[0]


def test_a_product_is_not_scattered_by_parts() -> None:
    index = torch.arange(3)

    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.scatter(x, 0, index, x[:3], reduce="multiply")

    with pytest.raises(redfuse.UnsupportedError, match="reduction 'multiply'"):
        compiled(program, [torch.randn(5, dtype=torch.complex64)])


def test_a_copy_has_the_type_of_its_target() -> None:
    def program(x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        real, both = torch.zeros_like(x), torch.zeros_like(a)
        real.copy_(a.real)
        both.copy_(x)
        return real + both

    given = torch.randn(7), torch.randn(7, dtype=torch.complex64)
    torch.testing.assert_close(compiled(program, list(given))(*given), program(*given))
