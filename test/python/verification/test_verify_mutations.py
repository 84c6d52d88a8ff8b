"""Certificates with one random error each: every one is caught."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

import pytest
from redfuse.errors import ArgumentError
from redfuse.explain.certificates import Certificate, entries_of
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


def formulas(entry: dict) -> Iterator[tuple[tuple, str]]:
    """The formulas of an entry, and where they are in it."""
    if "formula" in entry:
        yield ("formula",), entry["formula"]
    if "mean" in entry:
        yield ("mean",), entry["mean"]
    for at, operand in enumerate(entry.get("operands", ())):
        yield ("operands", at), operand


def with_formula(entry: dict, place: tuple, formula: str) -> dict:
    """The entry with another formula there."""
    if place[0] != "operands":
        return {**entry, place[0]: formula}
    operands = [*entry["operands"]]
    operands[place[1]] = formula
    return {**entry, "operands": operands}


def mutants(entries: dict[str, list[dict]]) -> Iterator[tuple[str, dict[str, list[dict]]]]:
    """Certificates with one place of one formula changed, and what was changed."""
    for key, (pattern, instead) in itertools.product(KEYS, MUTATIONS):
        if key == "source" and instead in (" + ", " - "):
            continue  # (x - m)*(x + m) adds up to the same where m is the mean.
        for at, entry in enumerate(entries.get(key, ())):
            for place, formula in formulas(entry):
                for match in re.finditer(pattern, formula):
                    end = match.end()
                    changed = formula[: match.start()] + match.expand(instead) + formula[end:]
                    mutated = [*entries[key]]
                    mutated[at] = with_formula(entry, place, changed)
                    yield f"{key}: {entry} became {mutated[at]}", {**entries, key: mutated}


@pytest.mark.parametrize("name", ["weighted sum", "variance", "third and fourth moment"])
def test_every_mutant_is_caught(name: str) -> None:
    from mlir import ir

    with ir.Context():
        module = ir.Module.parse(derived(name))
        fold = next(operations(module.operation, "redfuse.fold"))
        finalize = next(operations(module.operation, "redfuse.finalize"))
        found = list(mutants(entries_of(fold.attributes["certificate"])))
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
