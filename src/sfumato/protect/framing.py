"""Framing: whether recipients can build, from what they hold, the version of another.

Whoever holds a version can make every coarser one. Several who can tell which of their rows belong together
can make, column by column and value by value, everything that one of them shows in that detail or finer. So
a coalition builds a version iff each value that the version shows is known to somebody in the coalition, at
that detail or finer. This assumes the worst: that rows can be put together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.terms.microdata import Microdata
from sfumato.terms.promise import Cuts
from sfumato.terms.taxonomy import Nodes

Truth = NDArray[np.bool_]
Pattern = NDArray[np.integer]


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


class Shown:
    """What versions of one table show: for every key column, the nodes of the values that occur in it."""

    def __init__(self, table: Microdata) -> None:
        self.trees = [c.taxonomy for c in table.keys]
        self._names = [c.name for c in table.keys]
        self._here = [np.unique(table.codes(name)) for name in self._names]

    def nodes(self, cuts: Cuts) -> list[Nodes]:
        """The node that each occurring value becomes, column by column."""
        return [cuts[name].node_of[here] for name, here in zip(self._names, self._here, strict=True)]

    def key(self, cuts: Cuts) -> bytes:
        """Equal for versions that show the same."""
        return b"".join(nodes.tobytes() for nodes in self.nodes(cuts))

    def ranks(self) -> list[NDArray[np.int64]]:
        """Per column: the number of each level among those that show different things, finest first."""
        found = []
        for tree, here in zip(self.trees, self._here, strict=True):
            shown = tree.levels[:, here]
            new = np.any(shown[1:] != shown[:-1], axis=1)
            found.append(np.concatenate(([0], np.cumsum(new))).astype(np.int64))
        return found

    def known(self, held: Cuts, version: Cuts) -> Truth:
        """For every value that a version shows: whether whoever holds another knows it in that detail."""
        truth = []
        for tree, mine, theirs in zip(self.trees, self.nodes(held), self.nodes(version), strict=True):
            first = np.unique(theirs, return_index=True)[1]
            truth.append(tree.depth[mine[first]] >= tree.depth[theirs[first]])
        return np.concatenate(truth) if truth else np.ones(0, dtype=bool)

    def builds(self, coalition: Sequence[Cuts], version: Cuts) -> bool:
        """Whether a coalition can build a version."""
        return bool(np.any([self.known(held, version) for held in coalition], axis=0).all())

    def framed(self, holdings: Sequence[Cuts], version: Cuts, size: int) -> bool:
        """Whether some `size` of these holdings build the version."""
        if not holdings:
            return False
        return covers(np.array([self.known(held, version) for held in holdings]), size)


class Family:
    """Patterns, numbered level by level (see `Shown.ranks`), of which no `size` build another.

    Patterns that are given to `take` are members from then on, if they fit beside all members.
    """

    def __init__(self, columns: int, size: int) -> None:
        self.size = size
        self.members: Pattern = np.zeros((0, columns), np.int64)

    def fits(self, pattern: Pattern) -> bool:
        """Whether the family stays frame-proof with this pattern."""
        others = self.members
        below = others <= pattern
        if covers(below, self.size):
            return False
        above = pattern <= others
        if above.all(axis=1).any():
            return False
        if self.size == 1:
            return True
        for v in range(len(others)):
            left = ~above[v]
            mine = np.delete(others, v, axis=0)[:, left] <= others[v, left]
            if covers(mine, self.size - 1):
                return False
        return True

    def take(self, pattern: Pattern) -> bool:
        """Make a pattern a member, if it fits."""
        if not self.fits(pattern):
            return False
        self.members = np.vstack([self.members, pattern])
        return True
