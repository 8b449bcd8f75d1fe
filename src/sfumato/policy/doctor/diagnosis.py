"""Diagnoses: what is wrong with a policy, a hierarchy or a knowledge table, and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sfumato.show.card import several


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
