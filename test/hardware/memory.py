"""Programs that memory limits, beside PyTorch and a copy: `python test/hardware/memory.py [NAME ...]`.

Functions of PyTorch, compiled by redfuse and called as they are (eager), and a copy that moves as many
bytes as their inputs and results have. Sets of arrays take turns, larger together than four L2 caches;
events around 10 calls, median of 5. Errors are those of the 2-norm against fp64, and WRONG where
redfuse's is over four times PyTorch's and over 16 times the roundoff of the results. Exit status 1 if one is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import cli
import redfuse
import torch
from timing import microseconds
from torch.nn import functional

f32, bf16, i64 = torch.float32, torch.bfloat16, torch.int64
Shape = tuple[Any, ...]


def wide(x: Any) -> Any:
    return x.float() if x.itemsize < 4 else x


def entropy(x: Any) -> Any:
    p = torch.softmax(x, 1)
    return -(p * p.log()).sum()


def exclusive(x: Any) -> Any:
    zeros = torch.zeros_like(x[:, :1])
    return torch.cat((zeros, x), 1)[:, :-1].cumsum(1)


# Function, and dtype and shape of each argument; of integers the last number is how many values.
CASES: dict[str, tuple[Callable[..., Any], tuple[Shape, ...]]] = {
    "cross_entropy_128256": (lambda x, t: functional.cross_entropy(wide(x), t),
                             ((bf16, 4096, 128256), (i64, 4096, 128256))),
    "cross_entropy_50257": (lambda x, t: functional.cross_entropy(wide(x), t),
                            ((bf16, 8192, 50257), (i64, 8192, 50257))),
    "cross_entropy_4096": (lambda x, t: functional.cross_entropy(x, t), ((f32, 32768, 4096), (i64, 32768, 4096))),
    "entropy_1000": (entropy, ((f32, 65536, 1000),)),
    "entropy_50257": (entropy, ((f32, 4096, 50257),)),
    "mean_of_norms": (lambda x: x.norm(dim=1).mean(), ((f32, 4096, 65536),)),
    "triplet": (lambda a, p, n: functional.triplet_margin_loss(a, p, n), ((f32, 32768, 8192),) * 3),
    "cosine": (lambda a, b: (1 - functional.cosine_similarity(a, b, dim=1)).mean(), ((f32, 32768, 4096),) * 2),
    "sum": (lambda x: x.sum(), ((f32, 1 << 26),)),
    "std": (lambda x: x.std(), ((f32, 4097, 16381),)),
    "std_of_columns": (lambda x: x.std(0), ((f32, 16384, 4095),)),
    "mean_of_middle": (lambda x: x.mean(1), ((f32, 16, 4096, 4095),)),
    "instance_norm": (functional.instance_norm, ((f32, 16, 64, 512, 512),)),
    "group_norm": (lambda x: functional.group_norm(x, 32), ((bf16, 8, 320, 64, 64),)),
    "average_pooling_11": (lambda x: functional.avg_pool2d(x, 11), ((f32, 8, 64, 2048, 2048),)),
    "running_sums_of_one_row": (lambda x: x.cumsum(0), ((f32, 1 << 24),)),
    "running_sums_of_a_long_row": (lambda x: x.cumsum(0), ((f32, 1 << 28),)),
    "running_sums_of_eight_rows": (lambda x: x.cumsum(1), ((f32, 8, 1 << 22),)),
    "running_sums_of_rows": (lambda x: x.cumsum(1), ((f32, 8192, 8192),)),
    "running_sums_of_columns": (lambda x: x.cumsum(0), ((f32, 8192, 8192),)),
    "exclusive_sums": (exclusive, ((f32, 8192, 16384),)),
    "top_8_of_softmax": (lambda x: torch.topk(torch.softmax(wide(x), -1), 8), ((bf16, 32768, 256),)),
}  # fmt: skip


def tensor(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    if dtype == i64:
        return torch.randint(shape[-1], shape[:-1], device="cuda")
    return torch.randn(shape, device="cuda").to(dtype)


def flat(results: Any) -> list[torch.Tensor]:
    return list(results) if isinstance(results, tuple | list) else [results]


def time_of_copy(moved: int, sets: int) -> float:
    """Of half as many bytes, which are read and written."""
    result = torch.empty(moved // 2, dtype=torch.uint8, device="cuda")
    sources = [torch.zeros_like(result) for _ in range(sets)]
    return microseconds(lambda i: result.copy_(sources[i]), sets)


def error(got: Any, want: list[torch.Tensor]) -> float:
    """The largest of all results that are floats."""
    errors = [
        float((g.double() - w).norm() / w.norm().clamp_min(1e-300))
        for g, w in zip(flat(got), want, strict=True)
        if g.is_floating_point()
    ]
    return max(errors, default=0.0)


def measure(name: str) -> bool:
    """Prints a line; whether the result is right."""
    function, shapes = CASES[name]
    arguments = [tensor(*shape) for shape in shapes]
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    moved = sum(x.nbytes for x in [*arguments, *flat(function(*arguments))])
    sets = [arguments]
    while len(sets) * moved < 4 * cache and len(sets) < 64:
        sets.append([x.clone() for x in arguments])
    exe = redfuse.compile(function, inputs=arguments, target="cuda")
    times = {
        "copy": time_of_copy(moved, 2 + 4 * cache // moved),
        "eager": microseconds(lambda i: function(*sets[i]), len(sets)),
        "redfuse": microseconds(lambda i: exe(*sets[i]), len(sets)),
    }
    want = flat(function(*(x.double() if x.is_floating_point() else x for x in arguments)))
    own, eager = error(exe(*arguments), want), error(function(*arguments), want)
    roundoff = max(
        torch.finfo(w.dtype).eps for w in flat(function(*arguments)) if w.is_floating_point()
    )
    is_right = own <= max(4 * eager, 16 * roundoff)
    print(
        f"{name}: {', '.join(f'{what} {time:.1f} us' for what, time in times.items())}; "
        f"{times['copy'] / times['redfuse']:.2f} of a copy, {times['eager'] / times['redfuse']:.2f} of eager; "
        f"errors {own:.1e}, eager's {eager:.1e}" + ("" if is_right else "; WRONG"),
        flush=True,
    )
    return is_right


def main() -> int:
    """The command line."""
    parser = cli.parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CASES))
    names = parser.parse_args().names or list(CASES)
    if unknown := [name for name in names if name not in CASES]:
        parser.error(f"no case is named {unknown[0]!r}; there are {', '.join(CASES)}")
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    print(torch.cuda.get_device_name(0))
    wrong = 0
    for name in names:
        wrong += not measure(name)
        torch.cuda.empty_cache()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
