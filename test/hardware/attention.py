"""Products of matrices with what is between them, on a GPU: `python test/hardware/attention.py`.

Compares with fp64 and with PyTorch's fused attention in the same process. One line a shape; exit
status 1 if an error is beyond what PyTorch's own is.
"""

from __future__ import annotations

import json
import math
import sys
import time
from functools import partial
from pathlib import Path

import cli
import redfuse
import torch
from redfuse.bench import programs
from torch.nn.attention import SDPBackend, sdpa_kernel

# batch, heads, queries, keys, head dim, kind, key heads
SHAPES = {
    "small": (2, 4, 256, 384, 128, "none", 4),
    "small-causal": (2, 4, 256, 256, 128, "causal", 4),
    "odd": (1, 3, 257, 1000, 128, "none", 3),
    "d64": (2, 4, 512, 512, 64, "none", 4),
    "d80": (2, 4, 256, 256, 80, "none", 4),
    "d96-causal": (2, 4, 320, 320, 96, "causal", 4),
    "d256": (1, 4, 512, 512, 256, "none", 4),
    "d32": (1, 4, 100, 300, 32, "none", 4),
    "gqa": (2, 16, 512, 512, 128, "causal", 4),
    "softcap": (1, 8, 512, 512, 128, "causal+softcap", 4),
    "alibi": (1, 8, 512, 512, 128, "causal+alibi", 8),
    "huge": (1, 4, 256, 512, 128, "none", 4),  # scores about 1e12
    "H1": (32, 8, 512, 512, 64, "none", 8),
    "H2": (32, 12, 512, 512, 64, "none", 12),
    "H3": (32, 16, 512, 512, 64, "none", 16),
    "H4": (32, 12, 256, 256, 64, "none", 12),
    "H5": (32, 16, 256, 256, 64, "none", 16),
    "H6": (32, 16, 256, 256, 80, "none", 16),
    "P1024": (16, 16, 1024, 1024, 128, "none", 16),
    "P1024c": (16, 16, 1024, 1024, 128, "causal", 16),
    "P2048": (8, 16, 2048, 2048, 128, "none", 16),
    "P2048c": (8, 16, 2048, 2048, 128, "causal", 16),
    "P8192": (2, 16, 8192, 8192, 128, "none", 16),
    "P8192c": (2, 16, 8192, 8192, 128, "causal", 16),
    "P4096": (4, 16, 4096, 4096, 128, "none", 16),
    "P4096c": (4, 16, 4096, 4096, 128, "causal", 16),
    "P8192d64": (2, 32, 8192, 8192, 64, "none", 32),
    "P8192d64c": (2, 32, 8192, 8192, 64, "causal", 32),
    "P8192d256c": (2, 8, 8192, 8192, 256, "causal", 8),
    "P8192d256": (2, 8, 8192, 8192, 256, "none", 8),
    "P16384": (1, 16, 16384, 16384, 128, "none", 16),
    "P16384c": (1, 16, 16384, 16384, 128, "causal", 16),
}


def reference(q, k, v, kind, heads):
    """fp64 of the first batch and up to 256 rows, and those rows."""
    rows = slice(max(0, q.shape[2] - 256), q.shape[2])
    q, k, v = q[:1, :, rows].double(), k[:1].double(), v[:1].double()
    k, v = (x.repeat_interleave(heads // x.shape[1], 1) for x in (k, v))
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    i = torch.arange(rows.start, rows.stop, device=q.device)[:, None] + k.shape[2] - rows.stop
    j = torch.arange(k.shape[2], device=q.device)[None]
    if "softcap" in kind:
        s = 50 * torch.tanh(s / 50)
    if "alibi" in kind:
        slopes = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)])
        s = s + slopes.to(q.device).double()[None, :, None, None] * (j - i)
    if "causal" in kind:
        s = s.masked_fill(i < j, -math.inf)
    return torch.softmax(s, -1) @ v, rows


def measure(calls: dict, rounds: int = 12, inner: int = 4) -> dict:
    """Medians in ms, candidates in turn."""
    for call in calls.values():
        for _ in range(2):
            call()
    torch.cuda.synchronize()
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in "ab")
            start.record()
            for _ in range(inner):
                call()
            end.record()
            end.synchronize()
            times[name].append(start.elapsed_time(end) / inner)
    return {name: sorted(t)[len(t) // 2] for name, t in times.items()}


def peer(backend: SDPBackend, *tensors: torch.Tensor, **arguments: bool) -> torch.Tensor:
    """PyTorch's attention by one of its kernels."""
    with sdpa_kernel(backend):
        return torch.nn.functional.scaled_dot_product_attention(*tensors, **arguments)


def run(name: str, target: str, options: dict, repeat: int = 20) -> dict:
    """Compiles one shape, compares it with fp64, repeats it, and times it."""
    batch, heads, m, n, dim, kind, kv_heads = SHAPES[name]
    started = time.time()
    text = programs.attention(batch, heads, m, n, dim, "bf16", kv_heads, kind)
    exe = redfuse.compile(text, target=target, options=options)
    compiled = time.time() - started
    torch.manual_seed(0)
    q, k, v = (
        torch.randn(batch, h, rows, dim, device="cuda", dtype=torch.bfloat16)
        for h, rows in ((heads, m), (kv_heads, n), (kv_heads, n))
    )
    if name == "huge":
        q, k = q * 1e6, k * 1e6
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)]).cuda()
    out = torch.full_like(q, float("nan"))
    ours = partial(exe, q, k, v, *([slopes] if "alibi" in kind else []), out=out)
    ours()
    torch.cuda.synchronize()
    expected, rows = reference(q, k, v, kind, heads)

    def error_of(result: torch.Tensor) -> float:
        return ((result[:1, :, rows].double() - expected).norm() / expected.norm()).item()

    error, theirs = error_of(out), 2.5e-3  # a rounding of weights and results to bf16
    calls = {"redfuse": ours}
    if kind == "none" or (kind == "causal" and m == n):
        cudnn = SDPBackend.CUDNN_ATTENTION
        arguments = {"is_causal": kind == "causal", "enable_gqa": heads != kv_heads}
        calls["cudnn"] = partial(peer, cudnn, q, k, v, **arguments)
        theirs = error_of(calls["cudnn"]())
    first = out.clone()
    for _ in range(repeat):
        ours()
    same = torch.equal(first, out)
    flops = 4 * batch * heads * m * n * dim * (0.5 if "causal" in kind else 1)
    times = measure(calls)
    return {
        "name": name,
        "ok": error <= 1.2 * theirs and same,
        "error": error,
        "theirs": theirs,
        "same": same,
        "compile_s": round(compiled, 2),
        **{f"{key}_tflops": round(flops / t / 1e9, 1) for key, t in times.items()},
        "spills": sum(r.spills for r in exe.resources),
        "kernels": len(exe.resources),
    }


def main() -> int:
    parser = cli.parser(__doc__)
    parser.add_argument("shapes", nargs="*", default=list(SHAPES))
    cli.add_target(parser)
    parser.add_argument("--options", default='{"schedule": "stream"}', help="as JSON")
    parser.add_argument("--repeat", type=int, default=20, help="launches that have to agree")
    parser.add_argument("--out", help="a file for the lines, as JSON")
    given = parser.parse_args()
    lines = []
    for name in given.shapes:
        try:
            options = {"cache": False, **json.loads(given.options)}
            line = run(name, given.target, options, given.repeat)
        except Exception as problem:
            text = f"{type(problem).__name__}: {problem}"
            line = {"name": name, "ok": False, "problem": text[:600]}
        lines.append(line)
        print("ok" if line["ok"] else "FAILED", json.dumps(line), flush=True)
    if given.out:
        Path(given.out).write_text(json.dumps(lines, indent=1))
    return 0 if all(line["ok"] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
