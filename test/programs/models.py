"""Models of the package transformers, and networks of convolutions, small and with random weights:
what ``tools/dev models`` compiles. ``MODELS[name]()`` is a model and its inputs."""

from __future__ import annotations

from collections.abc import Callable

import torch
import transformers as hf
from torch import nn

WORDS = 97
Made = tuple[nn.Module, tuple[torch.Tensor, ...]]
MODELS: dict[str, Callable[[], Made]] = {}

_TEXT = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 48, "max_position_embeddings": 64}  # fmt: skip
_IMAGE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
          "intermediate_size": 48, "image_size": 32, "patch_size": 8}  # fmt: skip
_SHARED = {**_TEXT, "num_key_value_heads": 2}
_BOTH = {"vocab_size": WORDS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
         "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
         "decoder_ffn_dim": 48, "max_position_embeddings": 64}  # fmt: skip
_MARKS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def _ids(length: int = 13) -> torch.Tensor:
    return torch.randint(3, WORDS, (2, length))


def _image(size: int = 32) -> torch.Tensor:
    return torch.randn(2, 3, size, size)


def _add(
    name: str, model: str, fields: dict, inputs: Callable[[], tuple], config: str = ""
) -> None:
    """A model of transformers by the names of its classes."""

    def make() -> Made:
        kind = getattr(hf, config or model.partition("For")[0].removesuffix("Model") + "Config")
        torch.manual_seed(0)
        return getattr(hf, model)(kind(**fields)), inputs()

    MODELS[name] = make


def _text(name: str, model: str, fields: dict, config: str = "") -> None:
    _add(name, model, {**fields, **_MARKS}, lambda: (_ids(),), config)


def _masked(name: str, model: str, fields: dict) -> None:
    """With a mask that hides the end of the second row."""

    def inputs() -> tuple:
        mask = torch.ones(2, 13, dtype=torch.int64)
        mask[1, 9:] = 0
        return _ids(), mask

    _add(name, model, {**fields, **_MARKS}, inputs)


def _pair(name: str, model: str, fields: dict) -> None:
    """An encoder and a decoder; the decoder's ids come third."""
    _add(name, model, {**fields, **_MARKS, "decoder_start_token_id": 1},
         lambda: (_ids(), torch.ones(2, 13, dtype=torch.int64), _ids(7)))  # fmt: skip


# Encoders
_text("bert", "BertModel", _TEXT)
_masked("bert_masked", "BertModel", _TEXT)
_text("roberta", "RobertaModel", _TEXT)
_text("electra", "ElectraModel", {**_TEXT, "embedding_size": 32})
_text("albert", "AlbertModel", {**_TEXT, "embedding_size": 16})
_text("mpnet", "MPNetModel", _TEXT)
_masked("distilbert", "DistilBertModel", {"vocab_size": WORDS, "dim": 32, "n_layers": 2, "n_heads": 4,
                                          "hidden_dim": 48, "max_position_embeddings": 64})  # fmt: skip
_text(
    "deberta_v2",
    "DebertaV2Model",
    {**_TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
)
_text("modernbert", "ModernBertModel", {**_TEXT, "cls_token_id": 1, "sep_token_id": 2,
                                        "attn_implementation": "sdpa"})  # fmt: skip
_text("t5_encoder", "T5EncoderModel", {"vocab_size": WORDS, "d_model": 32, "d_kv": 8, "d_ff": 48,
                                       "num_layers": 2, "num_heads": 4}, "T5Config")  # fmt: skip

# Decoders
_text("gpt2", "GPT2LMHeadModel", {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}, "GPT2Config")  # fmt: skip
_text("gptj", "GPTJForCausalLM", {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4})  # fmt: skip
_text("gpt_neo", "GPTNeoForCausalLM", {"vocab_size": WORDS, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 4, "max_position_embeddings": 64})  # fmt: skip
_text("gpt_neox", "GPTNeoXForCausalLM", _TEXT)
_text("opt", "OPTForCausalLM", {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 48, "word_embed_proj_dim": 32, "max_position_embeddings": 64})  # fmt: skip
_text(
    "bloom", "BloomForCausalLM", {"vocab_size": WORDS, "hidden_size": 32, "n_layer": 2, "n_head": 4}
)
_text("mpt", "MptForCausalLM", {"vocab_size": WORDS, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64})  # fmt: skip
_text("falcon", "FalconForCausalLM", {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4})  # fmt: skip
_text("llama", "LlamaForCausalLM", _SHARED)
_masked("llama_masked", "LlamaForCausalLM", _SHARED)
_text("mistral", "MistralForCausalLM", {**_SHARED, "sliding_window": 5})
_text("qwen2", "Qwen2ForCausalLM", _SHARED)
_text("qwen3", "Qwen3ForCausalLM", {**_SHARED, "head_dim": 8})
_text("gemma", "GemmaForCausalLM", {**_SHARED, "head_dim": 8})
_text("gemma2", "Gemma2ForCausalLM", {**_SHARED, "head_dim": 8, "sliding_window": 5})
_text("phi", "PhiForCausalLM", _TEXT)
_text("phi3", "Phi3ForCausalLM", _SHARED)
_text("stablelm", "StableLmForCausalLM", _SHARED)
_text("olmo", "OlmoForCausalLM", _SHARED)
_text("olmo2", "Olmo2ForCausalLM", _SHARED)
_text("cohere", "CohereForCausalLM", _SHARED)
_text("granite", "GraniteForCausalLM", _SHARED)
_text("codegen", "CodeGenForCausalLM", {"vocab_size": WORDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 4})  # fmt: skip

# Mixtures of experts
_text("mixtral", "MixtralForCausalLM", {**_SHARED, "num_local_experts": 4})
_text("qwen2_moe", "Qwen2MoeForCausalLM", {**_SHARED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "shared_expert_intermediate_size": 24})  # fmt: skip
_text("olmoe", "OlmoeForCausalLM", {**_SHARED, "num_experts": 4, "num_experts_per_tok": 2})

# Recurrences
_text("mamba", "MambaForCausalLM", {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8})  # fmt: skip
_text("mamba2", "Mamba2ForCausalLM", {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8, "num_heads": 8, "head_dim": 8, "n_groups": 1, "chunk_size": 8})  # fmt: skip

# Encoders with decoders
_pair("t5", "T5ForConditionalGeneration", {"vocab_size": WORDS, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4})  # fmt: skip
_pair("bart", "BartForConditionalGeneration", _BOTH)
_pair("pegasus", "PegasusForConditionalGeneration", _BOTH)

# Images
_add("vit", "ViTModel", _IMAGE, lambda: (_image(),))
_add("deit", "DeiTModel", _IMAGE, lambda: (_image(),))
_add("beit", "BeitModel", _IMAGE, lambda: (_image(),))
_add("dinov2", "Dinov2Model", _IMAGE, lambda: (_image(),))
_add("clip_vision", "CLIPVisionModel", _IMAGE, lambda: (_image(),), "CLIPVisionConfig")
_add("siglip_vision", "SiglipVisionModel", _IMAGE, lambda: (_image(),), "SiglipVisionConfig")
_add("swin", "SwinModel", {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4}, lambda: (_image(),))  # fmt: skip
_add("segformer", "SegformerModel", {"depths": [1, 1], "num_encoder_blocks": 2, "sr_ratios": [2, 1], "hidden_sizes": [16, 32], "patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2]}, lambda: (_image(),))  # fmt: skip
_add("resnet", "ResNetModel", {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]}, lambda: (_image(),))  # fmt: skip
_add("convnext", "ConvNextModel", {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2}, lambda: (_image(),))  # fmt: skip
_add("mobilenet_v2", "MobileNetV2Model", {"depth_multiplier": 0.35, "image_size": 32}, lambda: (_image(),))  # fmt: skip
_add("efficientnet", "EfficientNetModel", {"image_size": 32, "in_channels": [32, 16], "out_channels": [16, 24], "kernel_sizes": [3, 5], "strides": [1, 2], "num_block_repeats": [1, 1], "expand_ratios": [1, 2], "depthwise_padding": [], "hidden_dim": 1280, "width_coefficient": 1.0, "depth_coefficient": 1.0}, lambda: (_image(),))  # fmt: skip

# Sound
_add("wav2vec2", "Wav2Vec2Model", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "conv_dim": [16, 16], "conv_kernel": [5, 3], "conv_stride": [3, 2], "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2}, lambda: (torch.randn(2, 400),))  # fmt: skip


def _whisper_encoder() -> Made:
    torch.manual_seed(0)
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = hf.WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=4,
                              encoder_ffn_dim=48, num_mel_bins=16, max_source_positions=32)  # fmt: skip
    return WhisperEncoder(config), (torch.randn(2, 16, 64),)


MODELS["whisper_encoder"] = _whisper_encoder


class UNet(nn.Module):
    """Two levels: down, up by transposed convolution, joined."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.down = self._pair(3, 8), self._pair(8, 16)
        self.up, self.last = nn.ConvTranspose2d(16, 8, 2, 2), self._pair(16, 8)
        self.head = nn.Conv2d(8, 2, 1)

    @staticmethod
    def _pair(channels: int, made: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(channels, made, 3, padding=1), nn.GroupNorm(4, made),
                             nn.SiLU(), nn.Conv2d(made, made, 3, padding=1), nn.ReLU())  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Two channels of the size of ``x``."""
        high = self.first(x)
        low = self.down(nn.functional.max_pool2d(high, 2))
        return self.head(self.last(torch.cat([high, self.up(low)], 1)))


def _unet() -> Made:
    torch.manual_seed(0)
    return UNet(), (_image(),)


MODELS["unet"] = _unet
