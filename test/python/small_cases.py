"""The benchmark's workloads at sizes a test affords."""

from collections.abc import Callable
from typing import Any

import numpy as np
from redfuse.bench import exact, peers, programs

# Name: program of a type, shapes of the inputs, exact results, peers.
Small = tuple[Callable[[str], str], list, Callable[[list], Any], Callable[[list], dict]]
SMALL: dict[str, Small] = {
    "attention": (
        lambda d: programs.attention(2, 3, 17, 29, 8, d),
        [(2, 3, 17, 8), (2, 3, 29, 8), (2, 3, 29, 8)],
        lambda i: exact.attention(i, "none"),
        lambda i: peers.attention(i, "none"),
    ),
    "causal_gqa": (
        lambda d: programs.attention(1, 4, 19, 19, 8, d, 2, "causal"),
        [(1, 4, 19, 8), (1, 2, 19, 8), (1, 2, 19, 8)],
        lambda i: exact.attention(i, "causal"),
        lambda i: peers.attention(i, "causal"),
    ),
    "alibi": (
        lambda d: programs.attention(1, 4, 7, 7, 8, d, 4, "causal+alibi"),
        [(1, 4, 7, 8)] * 3 + [(4,)],
        lambda i: exact.attention(i, "causal+alibi"),
        lambda i: peers.attention(i, "causal+alibi"),
    ),
    "softcap_window": (
        lambda d: programs.attention(1, 2, 3, 4103, 8, d, 1, "causal+window+softcap"),
        [(1, 2, 3, 8), (1, 1, 4103, 8), (1, 1, 4103, 8)],
        lambda i: exact.attention(i, "causal+window+softcap"),
        lambda i: peers.attention(i, "causal+window+softcap"),
    ),
    "mla_decode": (
        lambda d: programs.mla_decode(2, 31, 4, dtype=d),
        [(2, 4, 576), (2, 31, 576)],
        exact.mla_decode,
        peers.mla_decode,
    ),
    "moe_routing": (
        lambda d: programs.moe_routing(13, 16, 11, 3, d),
        [(13, 16), (16, 11)],
        lambda i: exact.moe_routing(i, 3),
        lambda i: peers.moe_routing(i, 3),
    ),
    "quant_gemm": (
        lambda d: programs.quant_gemm(24, 8, 16),
        [(24, 16), "int8", (8,)],
        exact.quant_gemm,
        peers.quant_gemm,
    ),
    "variance": (lambda d: programs.variance(5, 37), [(5, 37)], exact.variance, peers.variance),
    "inertia": (
        lambda d: programs.inertia(5, 37),
        ["positive", (5, 37, 3)],
        exact.inertia,
        peers.inertia,
    ),
    "softmax": (lambda d: programs.softmax(5, 37, d), [(5, 37)], exact.softmax, peers.softmax),
    "layernorm": (
        lambda d: programs.layernorm(5, 37, d),
        [(5, 37), (37,), (37,)],
        exact.layernorm,
        peers.layernorm,
    ),
    "rmsnorm": (
        lambda d: programs.rmsnorm(5, 37, d),
        [(5, 37), (37,)],
        exact.rmsnorm,
        peers.rmsnorm,
    ),
    "cross_entropy": (
        lambda d: programs.cross_entropy(5, 37, d),
        [(5, 37), "labels"],
        exact.cross_entropy,
        peers.cross_entropy,
    ),
    "gemm_chain": (
        lambda d: programs.gemm_chain(5, 6, 7, 8, d),
        [(5, 7), (7, 6), (6, 8)],
        exact.gemm_chain,
        peers.gemm_chain,
    ),
    "gated_ffn": (
        lambda d: programs.gated_ffn(5, 6, 7, d),
        [(5, 7), (7, 6), (7, 6), (6, 7)],
        exact.gated_ffn,
        peers.gated_ffn,
    ),
    "conv_chain": (
        lambda d: programs.conv_chain(2, 3, 8, 4, 5, 3, d),
        [(2, 3, 8, 8), (4, 3, 3, 3), (5, 4, 1, 1)],
        exact.conv_chain,
        peers.conv_chain,
    ),
}


def inputs_of(shapes: list) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    made = []
    for shape in shapes:
        if shape == "int8":
            made.append(random.integers(-127, 128, (16, 8), dtype=np.int8))
        elif shape == "labels":
            made.append(random.integers(0, 37, 5))
        elif shape == "positive":
            made.append(random.random((5, 37), dtype=np.float32) + np.float32(0.1))
        else:
            made.append(random.standard_normal(shape).astype(np.float32))
    return made
