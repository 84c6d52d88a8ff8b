"""Decoders with a cache of fixed room: compiled once, and the same words as eager's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as hf
from redfuse.frontends.dynamo import backend, report

SHARED = {"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
          "intermediate_size": 48, "max_position_embeddings": 128}  # fmt: skip
MODELS = {
    "llama": (hf.LlamaForCausalLM, hf.LlamaConfig(**SHARED, num_key_value_heads=2)),
    "qwen3": (hf.Qwen3ForCausalLM, hf.Qwen3Config(**SHARED, num_key_value_heads=2, head_dim=8)),
    "gpt2": (
        hf.GPT2LMHeadModel,
        hf.GPT2Config(vocab_size=97, n_embd=32, n_layer=2, n_head=4, n_positions=128),
    ),
}
STEPS, START = 40, 5
Step = Callable[[torch.Tensor, Any, torch.Tensor], torch.Tensor]


def step_of(model: Any) -> Step:
    """The logits of the next word."""

    def step(words: torch.Tensor, cache: Any, place: torch.Tensor) -> torch.Tensor:
        return model(words, past_key_values=cache, position_ids=place, use_cache=True).logits[:, -1]

    return step


def generate(model: Any, step: Step, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The likeliest words after a beginning, and all logits."""
    cache = hf.StaticCache(config=model.config, max_cache_len=START + STEPS + 1)
    words = torch.randint(3, 97, (batch, START), generator=torch.Generator().manual_seed(1))
    logits = [model(words, past_key_values=cache, use_cache=True).logits[:, -1]]
    for i in range(STEPS):
        place = torch.full((batch, 1), START + i)
        logits.append(step(logits[-1].argmax(-1, keepdim=True), cache, place).clone())
    all_logits = torch.stack(logits, 1)
    return all_logits.argmax(-1), all_logits


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("name", MODELS)
def test_words_are_eagers_and_one_graph_makes_them(name: str, batch: int) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    kind, config = MODELS[name]
    model = kind(config).eval()
    options = {"claim": "all", "fallback": "eager"}
    step = torch.compile(step_of(model), backend=backend, options=options, fullgraph=True)
    with torch.no_grad(), report.collected() as records:
        words, logits = generate(model, step, batch)
        expected, exact = generate(model, step_of(model), batch)
    assert len(records) == 1
    assert any(p.kernel for p in records[0].parts)
    assert torch.equal(words, expected)
    assert float((logits - exact).abs().max() / exact.abs().max()) < 1e-4
