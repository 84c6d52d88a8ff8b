"""PyTorch's tensors and modules: in, out, refused, and compiled through torch-mlir."""

import numpy as np
import pytest
import redfuse
import torch

PLAIN = {"fuse": False}
RANDOM = np.random.default_rng(0)
X = torch.from_numpy(RANDOM.standard_normal((3, 5)).astype(np.float32))
Y = torch.from_numpy(RANDOM.standard_normal(5).astype(np.float32))
TWICE = """
func.func @main(%a: tensor<7xbf16>) -> tensor<7xbf16> {
  %e = tensor.empty() : tensor<7xbf16>
  %r = linalg.add ins(%a, %a : tensor<7xbf16>, tensor<7xbf16>) outs(%e : tensor<7xbf16>) -> tensor<7xbf16>
  return %r : tensor<7xbf16>
}
"""


@pytest.fixture(scope="module")
def exe(scale: str) -> "redfuse.Executable":
    return redfuse.compile(scale, options=PLAIN)


def test_torch_in_torch_out(exe: "redfuse.Executable") -> None:
    result = exe(X, Y)
    assert isinstance(result, torch.Tensor)
    assert torch.equal(result, X * Y)
    assert isinstance(exe(X, Y.numpy()), torch.Tensor)


def test_out_is_written_and_returned(exe: "redfuse.Executable") -> None:
    for given in (lambda out: out, lambda out: [out], lambda out: (out,)):
        out = torch.zeros(3, 5)
        assert exe(X, Y, out=given(out)) is out
        assert torch.equal(out, X * Y)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (torch.zeros(5, 3).T, ["argument 0", "contiguous"]),
        (torch.zeros(3, 5, dtype=torch.float64), ["argument 0", "float32", "float64"]),
        (torch.zeros(3, 5, device="meta"), ["argument 0", "meta"]),
    ],
)
def test_wrong_tensors(exe: "redfuse.Executable", given: torch.Tensor, words: list[str]) -> None:
    with pytest.raises(redfuse.ArgumentError) as caught:
        exe(given, Y)
    for word in words:
        assert word in str(caught.value)


def test_bfloat16() -> None:
    x = torch.arange(7, dtype=torch.bfloat16)
    result = redfuse.compile(TWICE, options=PLAIN)(x)
    assert result.dtype == torch.bfloat16
    assert torch.equal(result, x + x)


def test_a_module_is_compiled() -> None:
    x = torch.randn(4, 7)
    result = redfuse.compile(torch.nn.Softmax(-1), inputs=[x])(x)
    torch.testing.assert_close(result, torch.softmax(x, -1))


class Block(torch.nn.Module):
    """Attention over a layer norm, with parameters of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv = torch.nn.LayerNorm(24), torch.nn.Linear(24, 72)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        return x + torch.softmax(q @ k.transpose(-1, -2) / 24**0.5, -1) @ v


def test_a_module_with_parameters_is_compiled() -> None:
    torch.manual_seed(0)
    module, x = Block(), torch.randn(2, 37, 24)
    result = redfuse.compile(module, inputs=[x])(x)
    torch.testing.assert_close(result, module(x).detach())
    assert module.training


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x: torch.logsumexp(x, -1), [(5, 33)]),
        (lambda x: torch.nn.functional.group_norm(x, 2), [(3, 8, 7)]),
        (lambda x: torch.cumsum(x, -1), [(5, 33)]),
        (lambda x: torch.topk(torch.softmax(x, -1), 3)[0], [(5, 33)]),
        (lambda x, y: torch.nn.functional.cosine_similarity(x, y), [(5, 33), (5, 33)]),
    ],
)
def test_functions_are_compiled(function: object, shapes: list[tuple[int, ...]]) -> None:
    torch.manual_seed(1)
    inputs = [torch.randn(shape) for shape in shapes]
    torch.testing.assert_close(redfuse.compile(function, inputs=inputs)(*inputs), function(*inputs))


def test_what_cannot_be_lowered_is_named() -> None:
    with pytest.raises(redfuse.UnsupportedError, match=r"aten\.\w+.*no lowering"):
        redfuse.compile(torch.linalg.svdvals, inputs=[torch.randn(4, 4)])


def test_what_cannot_be_traced_is_refused() -> None:
    with pytest.raises(redfuse.CompileError, match=r"torch\.export"):
        redfuse.compile(lambda x: x if x.sum() > 0 else -x, inputs=[torch.randn(4)])


def test_example_inputs_are_tensors() -> None:
    with pytest.raises(redfuse.ArgumentError, match=r"inputs\[0\]"):
        redfuse.compile(lambda x: x + x, inputs=[X.numpy()])


class Wrapped(torch.Tensor):
    """A tensor whose elements are another one's."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> "Wrapped":
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return NotImplemented


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (X.clone().requires_grad_(), r"requires a gradient.*\.detach\(\)"),
        (torch.nn.Parameter(X), "requires a gradient"),
        (X.to_sparse(), r"layout torch.sparse_coo; use \.to_dense\(\)"),
        (torch.quantize_per_tensor(X, 0.1, 0, torch.qint8), "expected dtype float32, got qint8"),
        (X.to(torch.complex64).conj(), "expected dtype float32, got complex64"),
        (X.expand(2, 3, 5), "expected shape 3x5, got 2x3x5"),
        (X[:1].expand(3, 5), "contiguous"),
        (X.to("meta"), "on meta, which has no elements"),
        (Wrapped(X), "memory of its own"),
    ],
)
def test_tensors_that_are_more_than_their_elements(
    exe: "redfuse.Executable", given: torch.Tensor, words: str
) -> None:
    with pytest.raises(redfuse.ArgumentError, match=f"argument 0 of main: .*{words}"):
        exe(given, Y)


def test_gradients_that_nobody_asks_for(exe: "redfuse.Executable") -> None:
    weight = torch.nn.Parameter(X)
    with torch.no_grad():
        assert torch.equal(exe(weight, Y), X * Y)
    assert torch.equal(exe(weight.detach(), Y), X * Y)


def test_negated_views_are_resolved(exe: "redfuse.Executable") -> None:
    view = torch.view_as_complex(torch.stack((Y, Y), -1)).conj().imag
    assert view.is_neg()
    assert torch.equal(exe(X, view.contiguous()), X * -Y)


def test_tensors_of_a_transformation(exe: "redfuse.Executable") -> None:
    with pytest.raises(redfuse.ArgumentError, match="memory of its own"):
        torch.vmap(lambda x: exe(x, Y))(torch.stack((X, X)))


def structured(x: torch.Tensor) -> object:
    """Results in a dictionary, lists and tuples."""
    top = torch.topk(x, 2)
    return {"top": top, "rest": [x + 1, (x.sum(-1),)]}


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.topk(x, 3),
        lambda x: torch.max(x, -1),
        lambda x: (x + 1,),
        lambda x: [x + 1, x * 2],
        structured,
    ],
)
def test_results_have_the_structure_that_pytorch_gives(function: object) -> None:
    x = torch.from_numpy(RANDOM.permutation(35).astype(np.float32).reshape(5, 7))
    exe = redfuse.compile(function, inputs=[x])
    for _ in range(2):
        got, want = exe(x), function(x)
        assert type(got) is type(want)
        torch.testing.assert_close(got, want)
    out = [torch.empty_like(leaf) for leaf in torch.utils._pytree.tree_leaves(want)]
    assert torch.utils._pytree.tree_leaves(exe(x, out=out))[0] is out[0]


class Held:
    """An object that PyTorch's pytrees do not know."""

    def __init__(self, x: torch.Tensor) -> None:
        self.parts, self.size = [{"sum": x.sum(-1)}, x + 1], x.shape[0]


def test_results_that_are_no_tensors() -> None:
    """Numbers and None are handed on; objects get the tensors of each call."""
    exe = redfuse.compile(lambda x: {"x": Held(x), "n": 3, "none": None}, inputs=[X])
    first, second = exe(X), exe(X + 1)
    assert (first["n"], first["none"], first["x"].size) == (3, None, X.shape[0])
    for got, x in ((first["x"], X), (second["x"], X + 1)):
        torch.testing.assert_close(got.parts[0]["sum"], x.sum(-1))
        torch.testing.assert_close(got.parts[1], x + 1)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: 3, "returns no tensor"),
        (lambda x: {"x": x, "f": object()}, r"returns object as result\['f'\]"),
    ],
)
def test_results_that_cannot_be(function: object, words: str) -> None:
    with pytest.raises(redfuse.UnsupportedError, match=words):
        redfuse.compile(function, inputs=[X])
