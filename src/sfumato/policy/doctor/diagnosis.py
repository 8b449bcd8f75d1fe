"""What ails a policy or a hierarchy, and the cure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is."""

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
        return f"{self.gravity}: {self.where}: {self.what}." + (f" {self.remedy}" if self.remedy else "")
