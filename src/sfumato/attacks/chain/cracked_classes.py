"""Who is cracked: rows of a class that releases together rule out, class by class, as counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.json_object import JsonObject
from sfumato.core.microdata import Counts
from sfumato.show.card import several

MOST_LISTED = 1000
"""So many classes are listed one by one; the rest is in the totals."""


@dataclass(frozen=True)
class CrackedClass:
    """A class of a release, and what is left in it of somebody who came with release `came` (from 1 on).

    Of its `rows`, `candidates` may be this person's and `cracked` cannot; `few` says that fewer are left than
    are asked. Classes are numbered from 1 on, in the order of their nodes; no value is told.
    """

    came: int
    release: int
    number: int
    rows: int
    candidates: int
    few: bool

    @property
    def cracked(self) -> int:
        """How many rows of the class are ruled out."""
        return self.rows - self.candidates

    def as_dict(self) -> JsonObject:
        """Returns the class as JSON."""
        return {
            "came_with": self.came,
            "release": self.release,
            "class": self.number,
            "rows": self.rows,
            "candidates": self.candidates,
            "cracked": self.cracked,
            "few": self.few,
        }

    def __str__(self) -> str:
        return (
            f"release {self.release}, class {self.number}: {self.cracked} of {several(self.rows, 'row')}"
            f" ruled out for somebody who came with release {self.came}, {self.candidates} left"
        )


@dataclass(frozen=True)
class CrackedClasses:
    """All classes in which a row is ruled out, those with the fewest candidates first."""

    classes: tuple[CrackedClass, ...] = ()

    @classmethod
    def of(cls, per_class: Sequence[tuple[int, int, Counts, Counts]], k: int | None) -> CrackedClasses:
        """Finds them in the fewest candidates of every class (-1: nobody can be there), and the sizes.

        Each entry is the release that somebody came with and the one that is looked at, counted from 0.
        """
        found = []
        for came, release, candidates, sizes in per_class:
            here = np.flatnonzero((candidates >= 0) & (candidates < sizes[: len(candidates)]))
            for c in here.tolist():
                left = int(candidates[c])
                few = k is not None and left < k
                found.append(CrackedClass(came + 1, release + 1, c + 1, int(sizes[c]), left, few))
        found.sort(key=lambda one: (one.candidates, one.came, one.release, one.number))
        return cls(tuple(found))

    @property
    def few(self) -> int:
        """In how many classes fewer candidates are left than are asked."""
        return sum(one.few for one in self.classes)

    def as_dict(self) -> JsonObject:
        """Returns totals, and the first classes one by one."""
        return {
            "classes": len(self.classes),
            "few": self.few,
            "cracked": sum(one.cracked for one in self.classes),
            "by_class": [one.as_dict() for one in self.classes[:MOST_LISTED]],
        }
