"""What the choices of kernels on matrix units are worth, on a GPU: `python test/hardware/variants.py P4096c P1024`.

Shapes of attention.py, each with several hints, timed in turn in one process beside PyTorch's cuDNN
kernel. Errors against fp64 in 1e-4: in the 2-norm, and the largest relative to the largest result;
means over --draws of the inputs; `rounded` is the exact result in 16 bits. One line a shape.
"""

from __future__ import annotations

import json
import sys
import warnings
from functools import partial
from statistics import mean

import attention
import cli
import redfuse
import torch
from redfuse.attributes import Hint
from redfuse.bench import programs
from redfuse.frontends.mlir import read
from redfuse.options import Options
from redfuse.tuning.space import places
from torch.nn.attention import SDPBackend

# Names of what is tried, with the hints.
VARIANTS: dict[str, dict[str, Hint]] = {
    "own": {},
    "eager": {"threshold": 0},
    "lazy1": {"threshold": 2},
    "lazy2": {"threshold": 4},
    "lazy3": {"threshold": 6},
    "lazy8": {"threshold": 16},
    "static": {"scheduler": "static"},
    "dynamic": {"scheduler": "dynamic"},
    "cached16": {"cached": 16},
    "cached64": {"cached": 64},
    "rows128": {"rows": 128},
    "rows192": {"rows": 192},
    "shared": {"rows": 128, "operand": "shared"},
    "staged": {"staged": True},
    "direct": {"staged": False},
    "columns64": {"columns": 64},
    "columns96": {"columns": 96},
}


def hinted(text: str, target: str, hints: dict[str, Hint], kind: str = "stream") -> tuple[str, ...]:
    """The model's schedule of that kind with hints; `splits` is no hint."""
    splits = int(hints.get("splits", 0))
    options = Options(schedule=kind, cache=False, splits=splits)
    (place,) = places(read(text), options, target)
    schedule = place.starts[0]
    for name, value in hints.items():
        if name != "splits":
            schedule = schedule.with_hint(name, value)
    return (schedule.text,)


def compare(result: torch.Tensor, expected: torch.Tensor, rows: slice) -> tuple[float, float]:
    """The error in the 2-norm, and the largest."""
    return difference(result[:1, :, rows].double(), expected)


def rounding(expected: torch.Tensor, rows: slice) -> tuple[float, float]:
    """The same of the exact result, rounded: no result of 16 bits has less."""
    return difference(expected.bfloat16().double(), expected)


def difference(result: torch.Tensor, expected: torch.Tensor) -> tuple[float, float]:
    off = result - expected
    largest = off.abs().max() / expected.abs().max()
    return (off.norm() / expected.norm()).item(), largest.item()


def main() -> int:
    parser = cli.parser(__doc__)
    parser.add_argument("shapes", nargs="+")
    parser.add_argument("--variants", default="own,eager,dealt")
    parser.add_argument("--repeat", type=int, default=20, help="launches that have to agree")
    parser.add_argument("--draws", type=int, default=1, help="random inputs that errors are of")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    ok = True
    for name in given.shapes:
        batch, heads, m, n, dim, kind, kv_heads = attention.SHAPES[name]
        text = programs.attention(batch, heads, m, n, dim, "bf16", kv_heads, kind)
        q, k, v = (
            torch.empty(batch, h, rows, dim, device="cuda", dtype=torch.bfloat16)
            for h, rows in ((heads, m), (kv_heads, n), (kv_heads, n))
        )

        def draw(seed: int, q=q, k=k, v=v, kind=kind, heads=heads) -> tuple[torch.Tensor, slice]:
            torch.manual_seed(seed)
            for x in (q, k, v):
                x.normal_()
            return attention.reference(q, k, v, kind, heads)

        calls, notes, errors = {}, {}, {}
        expected = draw(0)

        for variant in given.variants.split(","):
            out = torch.full_like(q, float("nan"))
            try:
                schedules = hinted(text, "cuda:sm_90a", VARIANTS[variant])
                options = {"cache": False, "schedules": schedules}
                exe = redfuse.compile(text, target="cuda", options=options)
                call = partial(exe, q, k, v, out=out)
                call()
                first = out.clone()
                for _ in range(given.repeat):
                    call()
                errors[variant] = [compare(out, *expected)]
                error = errors[variant][0][0]
                same, spills = torch.equal(first, out), sum(r.spills for r in exe.resources)
                if error > 3e-3 or not same or spills:
                    ok &= error <= 3e-3 and same
                    notes[variant] = f"error {error:.2g}, equal {same}, spills {spills}"
                calls[variant] = call
            except Exception as problem:
                notes[variant] = f"{type(problem).__name__}: {str(problem)[:200]}"
                ok = False
        arguments = {"is_causal": kind == "causal", "enable_gqa": heads != kv_heads}
        cudnn = SDPBackend.CUDNN_ATTENTION
        calls["cudnn"] = partial(attention.peer, cudnn, q, k, v, **arguments)
        errors["cudnn"] = [compare(calls["cudnn"](), *expected)]
        errors["rounded"] = [rounding(*expected)]
        times = attention.measure(calls)
        for seed in range(1, given.draws):
            expected = draw(seed)
            for key, call in calls.items():
                errors[key].append(compare(call(), *expected))
            errors["rounded"].append(rounding(*expected))
        flops = 4 * batch * heads * m * n * dim * (0.5 if "causal" in kind else 1)
        rates = {key: round(flops / t / 1e9) for key, t in times.items()}
        means = {
            key: [1e4 * mean(part) for part in zip(*e, strict=True)] for key, e in errors.items()
        }
        found = " ".join(f"{key} {a:.1f}/{b:.1f}" for key, (a, b) in means.items())
        print(name, json.dumps(rates), found, json.dumps(notes) if notes else "", flush=True)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
