"""Further models of the package transformers at the sizes that people run, with random weights:
``python test/hardware/backend.py --suite test/hardware/more_models.py``.

They were chosen before any was measured: encoders, decoders, vision, speech, a mixture of experts. Of
deep decoders four layers, as a layer is what repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers as hf

Entry = tuple[str, Callable[[], Any], tuple[Any, ...]]


def words(batch: int, length: int, count: int) -> torch.Tensor:
    """Random words, [batch, length] in i64."""
    return torch.randint(3, count, (batch, length))


def models() -> Iterator[Entry]:
    """(name, what makes the model, its inputs) of each."""
    yield from encoders()
    yield from decoders()
    yield from vision()
    yield (
        "wav2vec2",
        lambda: hf.Wav2Vec2Model(hf.Wav2Vec2Config()),
        (torch.randn(4, 160000),),
    )


def encoders() -> Iterator[Entry]:
    """Of texts."""
    yield "distilbert", lambda: hf.DistilBertModel(hf.DistilBertConfig()), (words(16, 512, 30522),)
    yield (
        "t5_encoder",
        lambda: hf.T5EncoderModel(
            hf.T5Config(d_model=768, d_kv=64, d_ff=3072, num_layers=12, num_heads=12)
        ),
        (words(8, 512, 32128),),
    )
    yield (
        "deberta",
        lambda: hf.DebertaV2Model(
            hf.DebertaV2Config(
                hidden_size=768, num_hidden_layers=6, num_attention_heads=12, intermediate_size=3072,
                relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=256,
            )
        ),
        (words(8, 512, 128100),),
    )  # fmt: skip
    yield "bart", lambda: hf.BartModel(hf.BartConfig(use_cache=False)), (words(8, 512, 50265),)
    yield (
        "modernbert",
        lambda: hf.ModernBertModel(hf.ModernBertConfig(num_hidden_layers=6)),
        (words(8, 1024, 50368),),
    )


def decoders() -> Iterator[Entry]:
    """Of prompts."""
    common = {"num_hidden_layers": 4, "use_cache": False, "vocab_size": 32000}
    grouped = {"num_attention_heads": 32, "num_key_value_heads": 8}
    yield (
        "llama",
        lambda: hf.LlamaModel(
            hf.LlamaConfig(hidden_size=2048, intermediate_size=8192, **grouped, **common)
        ),
        (words(2, 2048, 32000),),
    )
    yield (
        "qwen3",
        lambda: hf.Qwen3Model(
            hf.Qwen3Config(
                hidden_size=1024, intermediate_size=3072, num_attention_heads=16,
                num_key_value_heads=8, head_dim=128, **common,
            )
        ),
        (words(4, 2048, 32000),),
    )  # fmt: skip
    yield (
        "gemma2",
        lambda: hf.Gemma2Model(
            hf.Gemma2Config(
                hidden_size=2304, intermediate_size=9216, num_attention_heads=8,
                num_key_value_heads=4, head_dim=256, sliding_window=1024, **common,
            )
        ),
        (words(1, 4096, 32000),),
    )  # fmt: skip
    yield (
        "phi",
        lambda: hf.PhiModel(
            hf.PhiConfig(
                hidden_size=2048, intermediate_size=8192, num_attention_heads=32,
                max_position_embeddings=2048, **common,
            )
        ),
        (words(4, 1024, 32000),),
    )  # fmt: skip
    yield (
        "opt",
        lambda: hf.OPTModel(
            hf.OPTConfig(hidden_size=2048, ffn_dim=8192, num_attention_heads=32, **common)
        ),
        (words(4, 1024, 32000),),
    )
    yield (
        "mixtral",
        lambda: hf.MixtralModel(
            hf.MixtralConfig(
                hidden_size=1024, intermediate_size=3584, num_local_experts=8, **grouped,
                **(common | {"num_hidden_layers": 2}),
            )
        ),
        (words(2, 1024, 32000),),
    )  # fmt: skip
    # Its states are an associative scan since version 5.24; before, a loop that is unrolled.
    yield (
        "mamba",
        lambda: hf.MambaModel(hf.MambaConfig(num_hidden_layers=4, use_cache=False)),
        (words(4, 2048, 50280),),
    )


def vision() -> Iterator[Entry]:
    """Of images."""
    images = (torch.randn(32, 3, 224, 224),)
    yield "clip_vision", lambda: hf.CLIPVisionModel(hf.CLIPVisionConfig()), images
    yield "siglip_vision", lambda: hf.SiglipVisionModel(hf.SiglipVisionConfig()), images
    yield "dinov2", lambda: hf.Dinov2Model(hf.Dinov2Config()), images
    yield "swin_tiny", lambda: hf.SwinModel(hf.SwinConfig()), images
    yield "convnext_tiny", lambda: hf.ConvNextModel(hf.ConvNextConfig()), images
    yield "resnet50", lambda: hf.ResNetModel(hf.ResNetConfig()), images
