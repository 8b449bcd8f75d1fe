"""The report of phase two: what became of every class's terms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.core.exact_numbers import written
from sfumato.show.card import several

STATUS = SATISFIED, SUPPRESSED_TERMS, MERGED = "satisfied", "suppressed", "merged"
INFEASIBLE = "infeasible"


@dataclass(frozen=True, eq=False)
class TermReport:
    """What became of every class's terms.

    `status` of a published class is satisfied (nothing had to go), suppressed, or merged: joined with the
    classes nearest to it because one of them was infeasible, with or without terms removed; `made_of` counts
    those classes. `cost` is T per class, 0 where nothing is gone and 1 where all is; `bound` a cost below
    which none is; `proved` says that they meet. `total` is T of the whole table: `removed` of `terms` terms
    are gone.

    `infeasible` counts the classes that no removal could help: before any search a bound told so, for all but
    `untold` of them. They were merged, or their rows, `dropped` in all, are not published.
    """

    status: tuple[str, ...]
    cost: tuple[Fraction, ...]
    bound: tuple[Fraction, ...]
    proved: tuple[bool, ...]
    made_of: tuple[int, ...]
    total: Fraction
    removed: int
    terms: int
    infeasible: int = 0
    untold: int = 0
    dropped: int = 0

    def count(self, status: str) -> int:
        """Counts the classes with this status."""
        return self.infeasible if status == INFEASIBLE else sum(s == status for s in self.status)

    def lines(self) -> tuple[str, ...]:
        """Returns the report in words."""
        costly = [p for s, p in zip(self.status, self.proved, strict=True) if s != SATISFIED]
        sure = f"; {sum(costly)} of {len(costly)} answers proved the cheapest" if costly else ""
        lines = [
            f"{self.removed} of {self.terms} terms removed, cost T = {float(self.total):.4g}",
            f"classes: {', '.join(f'{self.count(s)} {s}' for s in STATUS)}{sure}",
        ]
        if self.infeasible:
            joined = sum(n for n, s in zip(self.made_of, self.status, strict=True) if s == MERGED)
            after = f"{several(self.dropped, 'row')} left out" if self.dropped else f"{joined} merged"
            late = f", {self.untold} of them found by the search" if self.untold else ""
            lines.append(f"infeasible: {several(self.infeasible, 'class', 'classes')}{late}; {after}")
        return tuple(lines)

    def as_dict(self) -> dict[str, object]:
        """Returns JSON; classes that needed nothing are counted, not listed."""
        return {
            "removed": self.removed,
            "terms": self.terms,
            "cost": float(self.total),
            "dropped": self.dropped,
            "classes": {s: self.count(s) for s in (*STATUS, INFEASIBLE)},
            "proved": sum(self.proved),
            "by_class": [self._line(c) for c, s in enumerate(self.status) if s != SATISFIED],
        }

    def _line(self, c: int) -> dict[str, object]:
        return {
            "class": c,
            "status": self.status[c],
            "made_of": self.made_of[c],
            "cost": written(self.cost[c]),
            "bound": written(self.bound[c]),
            "proved": self.proved[c],
        }
