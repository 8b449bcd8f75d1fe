"""Diagnoses: what is wrong with a policy, a hierarchy or a knowledge table, and the remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sfumato.show.card import several

MOST_OF_A_KIND = 10
"""Of one kind so many are told, where people read them: a survey may have hundreds of columns."""


class Severity(StrEnum):
    """How bad a problem is."""

    ERROR = "error"
    """Protecting will be refused."""
    WARNING = "warning"
    """It works, but probably not as meant."""
    NOTE = "note"
    """Good to know."""


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong, where, how often, and what to do.

    `what`, `where` and `remedy` hold no cell values. `values` lists the values concerned and `repair` the
    lines that would mend it; both may hold values of the data and are shown only when somebody asks.
    """

    name: str
    gravity: Severity
    where: str
    what: str
    count: int
    remedy: str = ""
    values: tuple[str, ...] = field(default=(), repr=False)
    repair: tuple[str, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        told = f"{self.gravity}: {self.where}: {self.what.removesuffix('.')}."
        return f"{told} {self.remedy}" if self.remedy else told


def diagnosis_lines(diagnoses: Sequence[Diagnosis], *, most: int = MOST_OF_A_KIND) -> list[str]:
    """Returns a line for each diagnosis, in order; of one kind `most` at most, and how many are left out.

    >>> few = [Diagnosis("absent", Severity.ERROR, f"column {c}", "it is absent", 1) for c in "abcd"]
    >>> diagnosis_lines(few, most=2)[1:]
    ['error: column b: it is absent.', 'error: 2 more of the same kind (absent); --json lists them all']
    """
    lines: list[str] = []
    told: Counter[tuple[Severity, str]] = Counter()
    kinds = Counter((diagnosis.gravity, diagnosis.name) for diagnosis in diagnoses)
    for diagnosis in diagnoses:
        kind = (diagnosis.gravity, diagnosis.name)
        told[kind] += 1
        if told[kind] <= most or kinds[kind] == most + 1:
            lines.append(str(diagnosis))
        elif told[kind] == most + 1:
            left = f"{kinds[kind] - most:,} more of the same kind ({diagnosis.name})"
            lines.append(f"{diagnosis.gravity}: {left}; --json lists them all")
    return lines


def look_alike_spellings(
    where: str, kind: str, groups: Sequence[Sequence[str]], *, remedy: str = "Write each in one way."
) -> Diagnosis:
    """Returns the diagnosis for groups of texts of one kind that only look alike."""
    return Diagnosis(
        "look-alikes",
        Severity.WARNING,
        where,
        f"{several(len(groups), kind)} in spellings that look alike (case, blanks, accents)",
        len(groups),
        remedy,
        tuple(text for group in groups for text in group),
    )
