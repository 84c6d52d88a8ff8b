"""Certificates with one random error each: every one is caught."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

import pytest
from redfuse.errors import ArgumentError
from redfuse.explain.certificates import Certificate, texts_of
from redfuse.verification import folds, symbolic
from redfuse.verification.report import FAILED
from test_verify import derived, operations

# What a formula may turn into: each changes its value.
MUTATIONS = (
    (r" \+ ", " - "),
    (r"(?<=[\w)]) - ", " + "),
    (r"\*\*2", "**3"),
    (r"(?<![\w*.])(\d+)\*", r"1\1*"),
    (r"/d(\d)", r"*d\1"),
    (r"exp\(", "exp(2*"),
)
KEYS = ("transport", "basis", "finalise", "results", "source")


def mutants(lines: dict[str, list[str]]) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Certificates with one place of one formula changed, and what was changed."""
    for key, (pattern, instead) in itertools.product(KEYS, MUTATIONS):
        if key == "source" and instead in (" + ", " - "):
            continue  # (x - m)*(x + m) adds up to the same where m is the mean.
        for at, line in enumerate(lines.get(key, ())):
            left, by, right = line.partition(" -> " if key == "transport" else " = ")
            for match in re.finditer(pattern, right):
                end = match.end()
                changed = right[: match.start()] + match.expand(instead) + right[end:]
                mutated = [*lines[key]]
                mutated[at] = f"{left}{by}{changed}"
                yield f"{key}: {line} became {mutated[at]}", {**lines, key: mutated}


@pytest.mark.parametrize("name", ["weighted sum", "variance", "third and fourth moment"])
def test_every_mutant_is_caught(name: str) -> None:
    from mlir import ir

    with ir.Context():
        module = ir.Module.parse(derived(name))
        fold = next(operations(module.operation, "redfuse.fold"))
        finalize = next(operations(module.operation, "redfuse.finalize"))
        lines = {k: list(v) for k, v in texts_of(fold.attributes["certificate"]).items()}
        found = list(mutants(lines))
        chosen = random.Random(name).sample(found, min(12, len(found)))
        missed = []
        for what, mutant in chosen:
            try:
                certificate = Certificate.of(mutant)
            except ArgumentError:
                continue
            checks = itertools.chain(
                folds.checks(certificate, fold, finalize, seeds=(0, 1)),
                symbolic.checks(certificate),
            )
            if not any(check.status == FAILED for check in checks):
                missed.append(what)
    assert not missed, "\n".join(missed)
