"""What was checked, what failed and where, and what was not checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

PASSED, FAILED, UNCHECKED = "passed", "failed", "not checked"


@dataclasses.dataclass
class Check:
    """One claim.

    what: the claim in words. how: "algebra" (SymPy), "50 digits" (mpmath), "f64" (bodies of the IR
    on infinite and awkward data) or "run" (the executable). formula: the claim as a formula.
    detail: of a failure the counterexample, else a note. status: passed, failed, not checked.
    """

    what: str
    how: str
    status: str
    formula: str = ""
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether it did not fail."""
        return self.status != FAILED


@dataclasses.dataclass
class Section:
    """The checks of one fold, or of the executable. title: what they concern, and where."""

    title: str
    checks: list[Check] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Report:
    """The outcome of a verification. Use ``report.ok``, iterate over checks, or print it."""

    program: str
    sections: list[Section] = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    def __iter__(self) -> Iterator[Check]:
        for section in self.sections:
            yield from section.checks

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(check.ok for check in self)

    @property
    def failures(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self if not check.ok]

    def count(self, status: str) -> int:
        """How many checks ended so."""
        return sum(check.status == status for check in self)

    def summary(self) -> str:
        """One line."""
        return (
            f"{self.program}: {self.count(PASSED)} checks passed, {self.count(FAILED)} failed, "
            f"{self.count(UNCHECKED)} not checked, in {self.seconds:.1f} s"
        )

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "program": self.program,
            "ok": self.ok,
            "seconds": round(self.seconds, 3),
            "sections": [dataclasses.asdict(section) for section in self.sections],
        }

    def __str__(self) -> str:
        lines = []
        for section in self.sections:
            lines.append(section.title)
            for check in section.checks:
                lines.append(f"  {check.status:11}  {check.how:9}  {check.what}")
                lines += [f"      {text}" for text in (check.formula, check.detail) if text]
        return "\n".join([*lines, self.summary()])


def grouped(checks: Sequence[Check]) -> list[tuple[str, str, str, list[str]]]:
    """Rows for people: (status, how, what, formulas and details). Checks of one kind that ended
    alike ("transport of t1: ...") share a row."""
    rows: list[tuple[str, str, str, list[str]]] = []
    for check in checks:
        texts = [text for text in (check.formula, check.detail) if text]
        kind, colon, rest = check.what.partition(": ")
        if rows and colon:
            status, how, what, held = rows[-1]
            if (status, how, what.partition(": ")[0]) == (check.status, check.how, kind):
                more = [t for t in texts if t not in held]
                rows[-1] = (status, how, f"{what}; {rest}", [*held, *more])
                continue
        rows.append((check.status, check.how, check.what, texts))
    return rows


def print_table(report: Report) -> None:
    """The report as tables on the terminal, by rich."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None)
    styles = {PASSED: "green", FAILED: "bold red", UNCHECKED: "yellow"}
    for section in report.sections:
        table = Table(title=section.title, title_justify="left", title_style="bold", expand=False)
        table.add_column("", no_wrap=True)
        table.add_column("by", no_wrap=True)
        table.add_column("claim")
        table.add_column("formula; where it fails", overflow="fold")
        for status, how, what, texts in grouped(section.checks):
            table.add_row(
                Text(status, style=styles[status]), how, Text(what), Text("\n".join(texts))
            )
        console.print(table)
    console.print(Text(report.summary(), style="green" if report.ok else "bold red"))
