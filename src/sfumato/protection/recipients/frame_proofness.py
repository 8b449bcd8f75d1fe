"""Frame-proofness: whether recipients can build, from what they hold, the version of another.

Whoever holds a version can make every coarser one. Several who can tell which of their rows belong together
can make, column by column and value by value, everything that one of them shows in that detail or finer. So
a coalition builds a version iff each value that the version shows is known to somebody in the coalition, at
that detail or finer. This assumes the worst: that rows can be put together.

Versions are compared as *detail*: one number per value of every key column, the larger the finer. For cuts
it is the depth of the node that the value becomes; where all versions are patterns, one number per column,
less for every level, says the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Microdata
from sfumato.core.promise import Cuts

Truth = NDArray[np.bool_]
Detail = NDArray[np.int64]


def covers(known: Truth, size: int) -> bool:
    """Whether some `size` lines of a truth table have, together, every column.

    >>> covers(np.array([[True, False], [False, True]]), 1), covers(np.eye(2, dtype=bool), 2)
    (False, True)
    """
    if not known.shape[1]:
        return True
    if size == 0 or not known.any(axis=0).all():
        return False
    if bool(known.all(axis=1).any()):
        return True
    if size == 1:
        return False
    rarest = int(np.argmin(known.sum(axis=0)))
    lines = np.flatnonzero(known[:, rarest])
    return any(covers(known[:, ~known[line]], size - 1) for line in lines.tolist())


class ShownDetail:
    """The detail in which versions of one table show the values that occur in its key columns."""

    def __init__(self, table: Microdata) -> None:
        self._keys = table.keys
        self._here = [np.unique(table.codes(c.name)) for c in table.keys]

    def detail(self, cuts: Cuts) -> Detail:
        """Returns one number per value of every key column: the depth of its node."""
        parts = [
            c.taxonomy.depth[cuts[c.name].node_of[here]]
            for c, here in zip(self._keys, self._here, strict=True)
        ]
        return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, np.int64)

    def details_of_levels(self) -> list[NDArray[np.int64]]:
        """Returns the same for every level of every column."""
        pairs = zip(self._keys, self._here, strict=True)
        return [c.taxonomy.depth[c.taxonomy.levels[:, here]].astype(np.int64) for c, here in pairs]

    def detail_ranks(self) -> list[NDArray[np.int64]]:
        """Returns, per column, less for every level that shows something else than the level below it."""
        found = []
        for detail in self.details_of_levels():
            new = np.any(detail[1:] != detail[:-1], axis=1)
            found.append(-np.concatenate(([0], np.cumsum(new))).astype(np.int64))
        return found

    def builds(self, coalition: Sequence[Cuts], version: Cuts) -> bool:
        """Whether a coalition can build a version."""
        held = np.array([self.detail(cuts) for cuts in coalition])
        return bool(np.all(held.max(axis=0) >= self.detail(version)))


class FrameProofFamily:
    """Versions of which no `size` owners can build one that is another's, from all that they hold.

    `take` makes a version a member, if it fits. An owner may have several versions.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._owners: list[str] = []
        self._holdings: list[Detail] = []
        self._versions: list[Detail] = []
        self._of: list[int] = []

    def __len__(self) -> int:
        return len(self._versions)

    def fits(self, detail: Detail, owner: str = "") -> bool:
        """Whether the family stays frame-proof with this version; an owner without name is a new one."""
        if not self._versions:
            return True
        mine = self._owners.index(owner) if owner and owner in self._owners else -1
        holdings, versions, of = np.array(self._holdings), np.array(self._versions), np.array(self._of)
        others = np.arange(len(holdings)) != mine
        if covers(holdings[others] >= detail, self.size):
            return False
        held = detail if mine < 0 else np.maximum(detail, holdings[mine])
        known = held >= versions
        for v in np.flatnonzero(of != mine).tolist():
            rest = others & (np.arange(len(holdings)) != of[v])
            if covers(holdings[rest][:, ~known[v]] >= versions[v, ~known[v]], self.size - 1):
                return False
        return True

    def add(self, detail: Detail, owner: str = "") -> None:
        """Makes a version a member."""
        if owner and owner in self._owners:
            place = self._owners.index(owner)
            self._holdings[place] = np.maximum(self._holdings[place], detail)
        else:
            place = len(self._owners)
            self._owners.append(owner)
            self._holdings.append(detail)
        self._versions.append(detail)
        self._of.append(place)

    def forget(self) -> None:
        """Removes the last version, of an owner without name."""
        for members in (self._owners, self._holdings, self._versions, self._of):
            members.pop()

    def take(self, detail: Detail, owner: str = "") -> bool:
        """Makes a version a member if it fits; returns whether it does."""
        fits = self.fits(detail, owner)
        if fits:
            self.add(detail, owner)
        return fits
