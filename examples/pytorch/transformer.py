"""A model of the package transformers through torch.compile, and what redfuse took of it.

    pip install "redfuse[torch,models]" && python examples/pytorch/transformer.py

The model is GPT-2 of two layers with random weights; one of your own goes the same way.
"""

import redfuse
import torch
import transformers

torch.manual_seed(0)
config = transformers.GPT2Config(
    n_layer=2,
    n_embd=256,
    n_head=4,
    vocab_size=1000,
    use_cache=False,
    bos_token_id=0,
    eos_token_id=0,
)
model = transformers.GPT2LMHeadModel(config).eval()
ids = torch.randint(0, 1000, (2, 384))

with torch.no_grad():
    fast = torch.compile(model, backend="redfuse")
    logits = fast(ids).logits
    error = (logits - model(ids).logits).abs().max()
    print(redfuse.explain(model, (ids,)))
print(f"largest difference from eager: {error:.1e}")
assert error < 1e-3
