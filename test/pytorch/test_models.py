"""Small models of the package transformers with random weights come in and are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redfuse
import torch
import transformers
from redfuse.frontends.fx import program as importer

WORDS = 97
SMALL = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 48}  # fmt: skip


def _gpt2() -> Any:
    config = transformers.GPT2Config(
        vocab_size=WORDS, n_embd=32, n_layer=2, n_head=4, n_positions=24
    )
    return transformers.GPT2LMHeadModel(config)


def _llama() -> Any:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, num_key_value_heads=2))


def _mixtral() -> Any:
    return transformers.MixtralForCausalLM(
        transformers.MixtralConfig(**SMALL, num_key_value_heads=2, num_local_experts=4)
    )


def _bert() -> Any:
    return transformers.BertModel(transformers.BertConfig(**SMALL))


def _t5() -> Any:
    config = transformers.T5Config(vocab_size=WORDS, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)  # fmt: skip
    return transformers.T5EncoderModel(config)


def _vit() -> Any:
    config = {**SMALL, "image_size": 16, "patch_size": 8}
    config.pop("vocab_size")
    return transformers.ViTModel(transformers.ViTConfig(**config))


def _resnet() -> Any:
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1])
    return transformers.ResNetModel(config)


TEXT: dict[str, Callable[[], Any]] = {
    "gpt2": _gpt2, "llama": _llama, "mixtral": _mixtral, "bert": _bert, "t5": _t5,
}  # fmt: skip
IMAGES: dict[str, Callable[[], Any]] = {"vit": _vit, "resnet": _resnet}


class First(torch.nn.Module):
    """The first result of a model, without a cache."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.words = {"use_cache": False} if hasattr(model.config, "use_cache") else {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x, **self.words)[0]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [*TEXT, *IMAGES])
def test_a_model_is_right(name: str) -> None:
    torch.manual_seed(0)
    if name in TEXT:
        model, x = First(TEXT[name]()).eval(), torch.randint(0, WORDS, (2, 11))
    else:
        model, x = First(IMAGES[name]()).eval(), torch.randn(2, 3, 16, 16)
    with torch.no_grad():
        exported = torch.export.export(model, (x,))
        expected = model(x)
    exe = redfuse.compile(importer.import_exported(exported), options={"cache": False})
    torch.testing.assert_close(exe(x), expected, rtol=1e-4, atol=1e-5)


def test_a_model_returns_what_it_returns() -> None:
    """Logits, and keys and values in the package's own class."""
    torch.manual_seed(0)
    model, x = _llama().eval(), torch.randint(0, WORDS, (1, 7))
    exe = redfuse.compile(model, inputs=(x,), options={"cache": False})
    with torch.no_grad():
        got, expected = exe(x), model(x)
    assert type(got) is type(expected)
    torch.testing.assert_close(got.logits, expected.logits, rtol=1e-4, atol=1e-5)
    mine, theirs = got.past_key_values.layers[1], expected.past_key_values.layers[1]
    torch.testing.assert_close(mine.keys, theirs.keys, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(mine.values, theirs.values, rtol=1e-4, atol=1e-5)
