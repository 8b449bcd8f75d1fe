"""How likely it is that rows of somebody else fit records of ours by accident."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Counts, Microdata
from sfumato.core.packing import Packing
from sfumato.core.reading_tree import UNKNOWN, ReadingTree
from sfumato.core.taxonomy import Nodes
from sfumato.tracing.incidence import Flags
from sfumato.tracing.leak import Leak
from sfumato.tracing.versions import Handed, HeldVersion

GROUPS = 12
"""Rows of at most so many combinations of levels are told apart; those of rarer ones are taken together."""
COMPARED = 4
"""The chance of a fit is worked out from so many versions of an event at most."""


def one_pattern(leak: Leak) -> tuple[int, ...] | None:
    """The level of every column, if all readable rows may have been made by one combination of levels.

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


def details(leak: Leak) -> list[Flags]:
    """The readable rows, apart by the levels that their cells have; the commonest combinations first."""
    levels = []
    for j, name in enumerate(leak.names):
        read = [(tree, leak.nodes(j, tree)) for tree in leak.trees[name]]
        known = [np.where(nodes != UNKNOWN, tree.level[nodes], UNKNOWN) for tree, nodes in read]
        levels.append(np.max(known, axis=0)[leak.codes[j]])
    rows = np.flatnonzero(leak.legible)
    _, which, size = np.unique(
        np.stack(levels, axis=1)[rows], axis=0, return_inverse=True, return_counts=True
    )
    place = np.argsort(np.argsort(-size, kind="stable"))[which.ravel()]
    groups = []
    for group in range(min(len(size), GROUPS)):
        mine = np.zeros(len(leak.legible), dtype=bool)
        mine[rows[np.minimum(place, GROUPS - 1) == group]] = True
        groups.append(mine)
    return groups


def accident_in_versions(
    leak: Leak, rows: Flags, handed: Handed, known: Sequence[tuple[HeldVersion, Imprint]]
) -> float:
    """The chance of a fit, at most, from what is remembered of versions: the first of each event.

    Versions that show the whole of one table hold a row all, or it is not about it: the least chance counts.
    Where none does, one has to hold it: the largest counts, of versions that differ in a few rows. A row may
    be about the table of any event: their chances add up.
    """
    chances: dict[str, list[float]] = {}
    whole = {version.event for version, _ in known if version.whole}
    for version, imprint in known:
        event = chances.setdefault(version.event, [])
        if len(event) < COMPARED and version.whole == (version.event in whole):
            trees = [handed.trees[place] for place in zip(version.columns, version.digests, strict=True)]
            event.append(accident_in_version(leak, rows, imprint, trees))
    found = [min(c) if event in whole else max(c) for event, c in chances.items()]
    return min(1.0, sum(found)) if found else 1.0


def accident_in_version(leak: Leak, rows: Flags, imprint: Imprint, trees: Sequence[ReadingTree]) -> float:
    """The chance that a made-up row fits a class of a version, at the detail of these rows of the leak."""
    places = {key.name: i for i, key in enumerate(imprint.keys)}
    known = [tree for tree in trees if tree.name in places and tree.name in leak.names]
    shown = [_lifted(leak, rows, tree)[imprint.nodes[:, places[tree.name]]] for tree in known]
    return _accident(shown, imprint.sizes)


def accident_in_original(leak: Leak, rows: Flags, original: Microdata) -> float:
    """The chance that a made-up row fits a row of the original, at the detail of these rows of the leak."""
    shown = []
    for column in original.keys:
        if column.name in leak.names:
            tree = ReadingTree.of(column.name, column.taxonomy)
            shown.append(_lifted(leak, rows, tree)[column.taxonomy.leaves[original.codes(column.name)]])
    return _accident(shown, original.counts)


def _lifted(leak: Leak, rows: Flags, tree: ReadingTree) -> Nodes:
    """Every node of a tree as coarse as the leak is: at its finest level, as the text there is read.

    Where the leak shows a node above, it is that.
    """
    j = leak.names.index(tree.name)
    nodes = np.unique(tree.read(leak.texts[j])[np.unique(leak.codes[j][rows])])
    nodes = nodes[nodes != UNKNOWN]
    finest = int(tree.level[nodes].min(initial=tree.height))
    lifted = np.arange(len(tree.parent), dtype=np.int32)
    for _ in range(int(tree.shape.depth.max(initial=0))):
        low = tree.level[lifted] < finest
        lifted[low] = tree.parent[lifted[low]]
    lifted = tree.read_marks(tree.marks[lifted])
    for node in nodes[::-1].tolist():
        lifted[node : tree.shape.end[node]] = node
    return lifted


def _accident(shown: Sequence[Nodes], weight: Counts) -> float:
    """The mass of the cells that exist, if every column were drawn from its own margin."""
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
