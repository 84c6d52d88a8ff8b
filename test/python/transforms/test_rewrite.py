"""redfuse.rewrite: chosen pattern sets, with a trace of what fired where."""

import mlir.ir as ir
import pytest
import redfuse

TEXT = """
func.func @main(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %e = tensor.empty() : tensor<4x5xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<4x5xf32>) outs(%e : tensor<4x5xf32>)
      -> tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}
"""


def test_names_are_there() -> None:
    names = redfuse.pattern_names()
    assert names == sorted(names)
    assert names


def test_a_trace_says_what_fired_and_where() -> None:
    with ir.Context():
        module = ir.Module.parse(TEXT)
        fired = []
        for name in redfuse.pattern_names():
            fired += redfuse.rewrite(module, patterns=[name])
        assert module.operation.verify()
    assert any(entry.location.split(":")[1] == "4" for entry in fired), "the line of the softmax"
    for entry in fired:
        assert entry.pattern
        assert entry.operation
        assert str(entry)


def test_no_patterns_change_nothing() -> None:
    with ir.Context():
        module = ir.Module.parse(TEXT)
        before = str(module)
        assert redfuse.rewrite(module, patterns=[]) == []
        assert str(module) == before


@pytest.mark.parametrize(
    ("patterns", "words"),
    [(["nonsense"], "unknown pattern 'nonsense'"), ("nonsense", "expected a sequence of names")],
)
def test_wrong_patterns(patterns: object, words: str) -> None:
    with ir.Context():
        module = ir.Module.parse(TEXT)
        with pytest.raises(redfuse.ArgumentError, match=words):
            redfuse.rewrite(module, patterns=patterns)


def test_what_is_no_module() -> None:
    with pytest.raises(redfuse.ArgumentError, match=r"expected an mlir\.ir\.Module"):
        redfuse.rewrite(TEXT, patterns=[])
