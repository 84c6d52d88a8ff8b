"""``redfuse.verify``: derivations and results checked, independently of the C++ engine.

Three ways, for every fold of a program: its certificate by SymPy (``symbolic``) and with 50 digits
(``formal``), the bodies of the fold against the certificate and the source (``bodies``, ``folds``),
and the executable against fp64 of the unfused program (``programs``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..errors import ArgumentError, UnsupportedError, at_least
from ..options import Options
from .report import FAILED, UNCHECKED, Check, Report, Section

__all__ = ["Check", "Report", "Section", "verify"]


def verify(
    source: Any,
    *,
    options: Options | Mapping[str, object] | None = None,
    run: bool = True,
    seconds: float = 20.0,
) -> Report:
    """Checks every derivation in a program, and the program's results.

    source: what :func:`redfuse.compile` takes (no PyTorch); or a module that holds ``redfuse.fold``
        ops already: then these are checked as they are.
    options: a :class:`redfuse.Options` or a mapping; the schedules to check are chosen here.
    run: also run the program, fused in several ways and not, on awkward data.
    seconds: about how long it may take; what is not checked then, the report says.

    Needs SymPy and mpmath (``pip install 'redfuse[verify]'``): UnsupportedError without them.
    Raises what :func:`redfuse.compile` raises for a source that is no program.
    """
    _need_packages()
    from ..explain.explanation import walk
    from ..frontends import mlir as frontend

    start = time.monotonic()
    program = frontend.read(source)
    chosen = Options.of(options)
    at_least("seconds", seconds, 0)
    report = Report(program.name if program.name != "-" else "program")
    module = program.parse()
    found = list(walk(module.operation, "redfuse.fold"))
    if found:
        jobs = [_job(fold, None) for fold in found]
        note = "the program holds folds already: what they were made of is not known"
        report.sections += _fold_sections(jobs, seconds)
        if run:
            report.sections.append(
                Section("the executable", [Check("results", "run", UNCHECKED, "", note)])
            )
    else:
        jobs, refused, keep = _derived(program, chosen)
        report.sections += _fold_sections(jobs, seconds * 0.6 if run else seconds)
        report.sections += refused
        if run:
            from . import programs

            left = max(3.0, seconds - (time.monotonic() - start))
            made = list(programs.checks(program, chosen, left))
            report.sections.append(Section("the executable", made))
        del keep
    report.seconds = time.monotonic() - start
    return report


def _need_packages() -> None:
    import importlib.util

    missing = [n for n in ("sympy", "mpmath") if importlib.util.find_spec(n) is None]
    if missing:
        raise UnsupportedError(
            f"verify needs {' and '.join(missing)}: pip install 'redfuse[verify]'"
        )


class _Job:
    """A fold to check: with its finalisation and the cascade that it was made of, if known."""

    def __init__(self, title: str, fold: Any, finalize: Any, cascade: Any):
        self.title, self.fold, self.finalize, self.cascade = title, fold, finalize, cascade
        self.entries: dict[str, Any] | None = None
        self.certificate: Any = None
        self.failure = ""


def _job(fold: Any, cascade: Any) -> _Job:
    from ..explain.certificates import Certificate, entries_of
    from ..explain.explanation import where

    place = where(fold)
    users = [use.owner for result in fold.results for use in result.uses]
    finalize = next((u for u in users if u.name == "redfuse.finalize"), None)
    finalize = getattr(finalize, "operation", finalize)
    job = _Job(f"fold{' at ' + place if place else ''}", fold, finalize, cascade)
    if "certificate" not in fold.attributes:
        job.failure = "it has no certificate"
        return job
    job.entries = entries_of(fold.attributes["certificate"])
    try:
        job.certificate = Certificate.of(job.entries)
    except ArgumentError as error:
        job.failure = str(error)
    return job


def _derived(program: Any, options: Options) -> tuple[list[_Job], list[Section], Any]:
    """Every cascade of the program as a fold, whatever its schedule; and those that have none."""
    from ..explain.explanation import groups_of, refusals, walk
    from ..lowering import lower, run_pipeline

    before = lower(program, options, stop_after="schedule").module
    after = lower(program, options, stop_after="schedule").module
    known = list(refusals(before))
    run_pipeline(after, "builtin.module(redfuse-derive{all=true})", "derive")
    cascades = list(walk(before.operation, "redfuse.cascade"))
    jobs = []
    for cascade, group in zip(cascades, groups_of(after), strict=True):
        folds = [op for op in group if op.name == "redfuse.fold"]
        # Of several passes each is checked against its own part of the source.
        jobs += [_job(fold, cascade if len(folds) == 1 else None) for fold in folds]
    sections = []
    new = [r for r in refusals(after) if r not in known]
    if new:
        made = [
            Check(f"{r['op']} at {r['location']} has no merge with the rest", "", UNCHECKED, "",
                  f"{r['condition']}: {r['detail']}; computed exactly, stage after stage")
            for r in new
        ]  # fmt: skip
        sections.append(Section("barriers", made))
    return jobs, sections, (before, after)


def _fold_sections(jobs: list[_Job], seconds: float) -> list[Section]:
    from . import folds
    from .worker import Proofs

    end = time.monotonic() + seconds
    proofs = Proofs([job.entries for job in jobs if job.certificate is not None])  # type: ignore
    sections = []
    for job in jobs:
        section = Section(job.title)
        sections.append(section)
        if job.certificate is None:
            section.checks.append(Check("the certificate", "", FAILED, "", job.failure))
            continue
        if time.monotonic() > end:
            section.checks.append(Check("by numbers", "50 digits", UNCHECKED, "", "no time left"))
            continue
        section.checks += folds.checks(job.certificate, job.fold, job.finalize, job.cascade)
    proved = iter(proofs.result(seconds))
    for job, section in zip(jobs, sections, strict=True):
        if job.certificate is not None:
            section.checks[:0] = next(proved)
    return sections
