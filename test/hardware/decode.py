"""Few queries that share many keys, on matrix units: `python test/hardware/decode.py`.

One query of several heads on each key head, its keys divided between blocks. Each against fp64,
20 launches bitwise equal, and in replays of a graph with inputs that the L2 cache does not hold,
against the rate of a copy and PyTorch's kernel. `--quick` leaves out the times; `--variants` times
hints instead. Exit status 1 if one is wrong.
"""

from __future__ import annotations

import sys
from functools import partial

import redfuse
import torch
from redfuse.attributes import Hint
from redfuse.bench import programs
from routing import replayed, run_all
from variants import hinted

# batch, heads, key heads, keys, head dim
TIMED = {
    "4k": (1, 64, 8, 4096, 128),
    "32k": (1, 64, 8, 32768, 128),
    "128k": (1, 64, 8, 131072, 128),
    "batch 16, 4k": (16, 64, 8, 4096, 128),
    "one key head": (8, 32, 1, 16384, 128),
}
ODD = {
    "odd": (2, 48, 8, 700, 80),
    "head dim 64": (1, 32, 1, 4096, 64),
    "prime keys": (1, 30, 5, 4099, 128),
    "two tiles of rows": (1, 200, 2, 3000, 64),
    "head dim 256": (1, 16, 2, 5000, 256),
}


# What is asked of the generator, by name: `--variants` times them side by side, with keys that the
# second-level cache does not hold, and that it does. "half" leaves room for a second block on a
# multiprocessor, "late" starts the next launch's blocks when all copies are under way, "ahead n" has
# these ask that cache for n steps before they wait for the launch before them.
WHOLE: dict[str, Hint] = {"blocks": 1, "late": False}
HALF: dict[str, Hint] = {"blocks": 2, "late": False}
LATE: dict[str, Hint] = {"blocks": 2, "late": True}
HINTS = {
    "own": {},
    "8 c8": {"splits": 8, "cluster": 8} | WHOLE,
    "8 c8 half": {"splits": 8, "cluster": 8} | HALF,
    "8 c8 half late": {"splits": 8, "cluster": 8} | LATE,
    "8 c8 half late ahead 2": {"splits": 8, "cluster": 8, "ahead": 2} | LATE,
    "16 c1": {"splits": 16, "cluster": 1} | WHOLE,
    "16 c1 half late": {"splits": 16, "cluster": 1} | LATE,
    "16 c2": {"splits": 16, "cluster": 2} | WHOLE,
    "16 c2 half late": {"splits": 16, "cluster": 2} | LATE,
}
REGISTER_HINTS = {
    "own": {},
    "no await": {"await": False},
    "256 threads": {"threads": 256},
    "256 threads, no await": {"threads": 256, "await": False},
    "step 32": {"step": 32},
    "16 splits, 256 threads": {"splits": 16, "threads": 256},
}
COMPARED = {
    "4k": (1, 64, 8, 4096, 128),
    "512": (1, 64, 8, 512, 128),
    "1k": (1, 64, 8, 1024, 128),
    "2k": (1, 64, 8, 2048, 128),
    "one key head": (8, 32, 1, 16384, 128),
    "32k": (1, 64, 8, 32768, 128),
    "own keys, 4k": (1, 32, 32, 4096, 128),
}


def compare(name: str) -> bool:
    """Times of one shape by hints, against a copy; whether all are right."""
    batch, heads, kv_heads, keys, dim = COMPARED[name]
    text = programs.attention(batch, heads, 1, keys, dim, "bf16", kv_heads, "none")
    sizes = ((heads, 1), (kv_heads, keys), (kv_heads, keys))
    number = max(3, (150 << 20) // (4 * batch * kv_heads * keys * dim))
    sets = [
        [torch.randn(batch, h, r, dim, device="cuda", dtype=torch.bfloat16) for h, r in sizes]
        for _ in range(number)
    ]
    copies = [(s[1], torch.empty_like(s[1])) for s in sets]
    copy = replayed(lambda x, y: y.copy_(x), copies)
    said, good, expected = [f"copy {copy:.1f} us"], True, None
    has_rows = heads // kv_heads > 4
    for what, hints in (HINTS if has_rows else REGISTER_HINTS).items():
        try:
            (schedule,) = hinted(text, "cuda:sm_90a", hints, "stream" if has_rows else "split")
            options = {"cache": False, "schedules": (schedule,)}
            exe = redfuse.compile(text, target="cuda", options=options)
            out = torch.full_like(sets[0][0], float("nan"))
            exe(*sets[0], out=out)
            expected = out.clone() if expected is None else expected
            error = ((out.double() - expected.double()).norm() / expected.double().norm()).item()
            good &= error < 1e-2
            cold, warm = (
                replayed(lambda *given, exe=exe, out=out: exe(*given, out=out), given)
                for given in (sets, sets[:1] * len(sets))
            )
            wrong = f" (error {error:.1g})" if error >= 1e-2 else ""
            said.append(f"{what} {cold:.1f} {warm:.1f}{wrong}")
        except Exception as problem:
            said.append(f"{what}: {type(problem).__name__} {str(problem)[:80]}")
    print(name, COMPARED[name], "; ".join(said), flush=True)
    return good


def run(name: str, quick: bool) -> bool:
    """Whether one shape is right; says how fast it is."""
    batch, heads, kv_heads, keys, dim = (TIMED | ODD)[name]
    text = programs.attention(batch, heads, 1, keys, dim, "bf16", kv_heads, "none")
    exe = redfuse.compile(text, target="cuda", options={"cache": False})
    torch.manual_seed(0)

    def inputs() -> list[torch.Tensor]:
        return [
            torch.randn(batch, h, rows, dim, device="cuda", dtype=torch.bfloat16)
            for h, rows in ((heads, 1), (kv_heads, keys), (kv_heads, keys))
        ]

    q, k, v = inputs()
    q *= 3  # some keys matter more than others
    out = torch.full_like(q, float("nan"))
    exe(q, k, v, out=out)
    wide_k, wide_v = (t.double().repeat_interleave(heads // kv_heads, 1) for t in (k, v))
    scores = q.double() @ wide_k.transpose(-1, -2) / dim**0.5
    expected = torch.softmax(scores, -1) @ wide_v
    error = ((out.double() - expected).norm() / expected.norm()).item()
    first = out.clone()
    same = True
    for _ in range(20):
        out.fill_(float("nan"))
        exe(q, k, v, out=out)
        same &= torch.equal(first, out)
    good = error < 5e-3 and same
    said = [f"error {error:.1e} same {same}"]
    if "wgmma" not in exe.asm:
        said.append("not on matrix units")
    if name in TIMED and not quick:
        size = 2 * k.numel() * 2
        sets = [inputs() for _ in range(max(3, (150 << 20) // size))]
        copies = [(s[1], torch.empty_like(s[1])) for s in sets]
        ours = replayed(lambda *given: exe(*given, out=out), sets)
        sdpa = torch.nn.functional.scaled_dot_product_attention
        theirs = replayed(partial(sdpa, enable_gqa=True), sets)
        copy = replayed(lambda x, y: y.copy_(x), copies)
        said.append(
            f"{ours:.1f} us, {size / ours / 1e6:.2f} TB/s, {copy / ours:.2f} of a copy, "
            f"{theirs / ours:.2f} of PyTorch"
        )
    print("ok" if good else "FAILED", name, (TIMED | ODD)[name], *said, flush=True)
    return good


if __name__ == "__main__":
    if "--variants" in sys.argv:
        sys.exit(run_all(list(COMPARED), lambda name, _: compare(name)))
    sys.exit(run_all([*ODD, *TIMED], run))
