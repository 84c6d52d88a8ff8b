"""`redfuse tune` on a GPU: `python test/hardware/tune.py [--limit SECONDS] [NAME ...]`.

One line a program: the model's time, the best found, and how many schedules were tried or failed.
Exit status 1 if what is stored is not used, or is slower than the model's choice.
"""

from __future__ import annotations

import collections
import os
import sys
import tempfile

import cli
import redfuse
from redfuse.bench import cases
from redfuse.tuning import Trial

NAMES = (
    "attention/H1", "attention_prefill/P1024_d128_causal", "attention_prefill/P4096_d128",
    "moe_routing/R5", "softmax/S1", "cross_entropy/S2", "attention_operators/DC_GQA_32768",
)  # fmt: skip


def main() -> int:
    parser = cli.parser(__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds a program")
    parser.add_argument("--all", action="store_true", help="every trial")
    arguments = parser.parse_args()
    os.environ["REDFUSE_CACHE_DIR"] = tempfile.mkdtemp(prefix="redfuse-")
    bad = 0
    for name in arguments.names:
        program = cases.all_cases("bf16")[name].program()
        try:
            result = redfuse.tune(program, target="cuda", limit=arguments.limit)
        except redfuse.Error as error:
            print(f"{name}: FAILED: {error}", flush=True)
            bad += 1
            continue
        if arguments.all:
            for trial in result.trials:
                print(f"    {trial.ms or 0:.4f} {trial.text()} {trial.note}")
        used = redfuse.compile(program, target="cuda").options.schedules
        right = used == (result.schedules if any(result.schedules) else ())
        right = right and result.ms <= result.default_ms
        failed = collections.Counter(t.note.split(":")[0] for t in result.trials if t.ms is None)
        print(
            f"{name}: {result.default_ms:.4f} -> {result.ms:.4f} ms "
            f"({result.default_ms / result.ms:.2f}), {len(result.trials)} tried"
            f"{'' if result.complete else ', out of time'}, not used: {dict(failed) or 0}; "
            f"{Trial(result.schedules, None).text()}{'' if right else ' WRONG'}",
            flush=True,
        )
        bad += not right
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
