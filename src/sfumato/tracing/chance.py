"""The chance that rows of an unrelated table fit records of ours by accident."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Counts, Microdata
from sfumato.core.packing import Packing
from sfumato.core.reading_tree import UNKNOWN, ReadingTree
from sfumato.core.taxonomy import Nodes
from sfumato.tracing.leak import Flags, Leak
from sfumato.tracing.versions import HeldVersion, IssuedVersions

LEAST_STATED = Fraction(1, 1000)
"""No smaller chance is stated: the assumptions are not known better than that."""
LOG_INVERSE_ERROR = log(100)
"""A share that was counted on drawn patterns is stated as its upper confidence limit, at 99 %."""
MOST_GROUPS = 12
"""Rows of at most so many combinations of levels are told apart; those of rarer ones are taken together."""
VERSIONS_PER_EVENT = 4
"""The chance of a fit is worked out from so many versions of an event at most."""


def levels_of_one_pattern(leak: Leak) -> tuple[int, ...] | None:
    """Returns the level of every column, if one combination of levels may have made all readable rows.

    A text that stands for several levels is read as the coarsest of them: so a row may show other levels than
    the one it was made at. `None` where no one combination shows all the cells.
    """
    levels = []
    for j, name in enumerate(leak.names):
        tree = leak.trees[name][-1]
        nodes = np.unique(leak.nodes(j, tree)[leak.codes[j][leak.legible]])
        finest = int(tree.level[nodes].min(initial=tree.height))
        if nodes.min(initial=0) == UNKNOWN or finest < 0:
            return None
        if not np.isin(nodes, tree.read_marks(tree.marks[tree.level_nodes(finest)])).all():
            return None
        levels.append(finest)
    return tuple(levels)


def rows_by_detail(leak: Leak) -> list[Flags]:
    """Splits the readable rows by the levels that their cells have; the commonest combinations come first."""
    levels = []
    for j, name in enumerate(leak.names):
        read = [(tree, leak.nodes(j, tree)) for tree in leak.trees[name]]
        known = [np.where(nodes != UNKNOWN, tree.level[nodes], UNKNOWN) for tree, nodes in read]
        levels.append(np.max(known, axis=0)[leak.codes[j]])
    rows = np.flatnonzero(leak.legible)
    _, which, size = np.unique(
        np.stack(levels, axis=1)[rows], axis=0, return_inverse=True, return_counts=True
    )
    rank = np.argsort(np.argsort(-size, kind="stable"))[which.ravel()]
    groups = []
    for group in range(min(len(size), MOST_GROUPS)):
        mine = np.zeros(len(leak.legible), dtype=bool)
        mine[rows[np.minimum(rank, MOST_GROUPS - 1) == group]] = True
        groups.append(mine)
    return groups


def chance_in_versions(
    leak: Leak, rows: Flags, issued: IssuedVersions, known: Sequence[tuple[HeldVersion, Imprint]]
) -> float:
    """Returns an upper bound of the chance that a made-up row fits, from imprints of the first versions.

    A row about a table is in all its versions that show the whole table, so the least of their chances
    counts. Where no version is whole, one of them has to hold the row, so the largest counts. A row may be
    about the table of any event: the chances of events add up.
    """
    chances: dict[str, list[float]] = {}
    whole = {version.event for version, _ in known if version.whole}
    for version, imprint in known:
        event = chances.setdefault(version.event, [])
        if len(event) < VERSIONS_PER_EVENT and version.whole == (version.event in whole):
            trees = [issued.trees[place] for place in zip(version.columns, version.digests, strict=True)]
            event.append(chance_in_version(leak, rows, imprint, trees))
    bounds = [min(c) if event in whole else max(c) for event, c in chances.items()]
    return min(1.0, sum(bounds)) if bounds else 1.0


def chance_in_version(leak: Leak, rows: Flags, imprint: Imprint, trees: Sequence[ReadingTree]) -> float:
    """Returns the chance that a made-up row fits a class of a version, in the detail of these rows."""
    places = {key.name: i for i, key in enumerate(imprint.keys)}
    known = [tree for tree in trees if tree.name in places and tree.name in leak.names]
    shown = [_generalized_like(leak, rows, tree)[imprint.nodes[:, places[tree.name]]] for tree in known]
    return _chance_of_a_match(shown, imprint.sizes)


def chance_in_original(leak: Leak, rows: Flags, original: Microdata) -> float:
    """Returns the chance that a made-up row fits a row of the original, in the detail of these rows."""
    shown = []
    for column in original.keys:
        if column.name in leak.names:
            tree = ReadingTree.of(column.name, column.taxonomy)
            leaves = column.taxonomy.leaves[original.codes(column.name)]
            shown.append(_generalized_like(leak, rows, tree)[leaves])
    return _chance_of_a_match(shown, original.counts)


def _generalized_like(leak: Leak, rows: Flags, tree: ReadingTree) -> Nodes:
    """Returns what every node of a tree becomes in the detail of the leak: its ancestor at the finest level.

    That ancestor is read back from its text. Where the leak shows a node further above, it is that one.
    """
    j = leak.names.index(tree.name)
    nodes = np.unique(tree.read(leak.texts[j])[np.unique(leak.codes[j][rows])])
    nodes = nodes[nodes != UNKNOWN]
    finest = int(tree.level[nodes].min(initial=tree.height))
    generalized = np.arange(len(tree.parent), dtype=np.int32)
    for _ in range(int(tree.shape.depth.max(initial=0))):
        low = tree.level[generalized] < finest
        generalized[low] = tree.parent[generalized[low]]
    generalized = tree.read_marks(tree.marks[generalized])
    for node in nodes[::-1].tolist():
        generalized[node : tree.shape.end[node]] = node
    return generalized


def _chance_of_a_match(shown: Sequence[Nodes], weight: Counts) -> float:
    """Returns the mass of the cells that exist, if every column were drawn from its own margin."""
    if not shown or not len(weight):
        return 1.0
    chance = np.ones(len(weight))
    for nodes in shown:
        mass = np.bincount(nodes, weights=weight)
        chance *= (mass / mass.sum())[nodes]
    cells = Packing(tuple(int(nodes.max()) + 1 for nodes in shown)).pack(shown)
    kind = cells[0] if len(cells) == 1 else np.unique(cells, axis=1, return_inverse=True)[1].ravel()
    _, first = np.unique(kind, return_index=True)
    return float(min(1.0, chance[first].sum()))


def chance_of_at_least(fits: int, tries: Sequence[tuple[int, float]]) -> float:
    """Returns the chance of at least so many fits among independent rows, given as sizes and chances.

    >>> chance_of_at_least(2, [(2, 0.5)]), chance_of_at_least(1, [(3, 1.0)])
    (0.25, 1.0)
    >>> chance_of_at_least(2, [(1, 0.5)] * 2)
    0.25
    """
    chances = np.ones(1)
    for rows, chance in tries:
        chances = np.convolve(chances, _binomial(rows, chance))
    return float(min(1.0, chances[max(0, fits) :].sum()))


def _binomial(rows: int, chance: float) -> NDArray[np.float64]:
    """Returns the chance of every number of fits."""
    if not 0 < chance < 1:
        sure = np.zeros(rows + 1)
        sure[rows if chance >= 1 else 0] = 1.0
        return sure
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, rows + 1)))))
    fits = np.arange(rows + 1)
    ways = logs[-1] - logs - logs[::-1]
    result: NDArray[np.float64] = np.exp(ways + fits * log(chance) + (rows - fits) * log1p(-chance))
    return result


def upper_limit(drawn: Flags) -> float:
    """Returns the upper limit of a share (Bernstein's inequality with the empirical variance)."""
    tries = max(1, len(drawn))
    share = int(drawn.sum()) / tries
    deviation = sqrt(2 * share * (1 - share) * LOG_INVERSE_ERROR / tries)
    return min(1.0, share + deviation + 3 * LOG_INVERSE_ERROR / tries)
