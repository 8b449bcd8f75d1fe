"""How likely is it that a charge is false, and under which assumptions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log, log1p, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.terms.fingerprint import UNKNOWN, ReadingTree
from sfumato.terms.imprint import Imprint
from sfumato.terms.microdata import Counts, Microdata
from sfumato.terms.packing import Packing
from sfumato.terms.taxonomy import Nodes
from sfumato.trace.coalition import Explanations
from sfumato.trace.incidence import Evidence, Flags, Knowledge, MarkedTexts
from sfumato.trace.reading import Leak
from sfumato.trace.versions import Handed, Version

LEAST = Fraction(1, 1000)
"""Nothing smaller is stated: the assumptions are not better known than that."""
PATTERNS = 100_000
"""More patterns than this are not gone through; so many are drawn."""

GROUPS = 12
"""Rows of at most so many combinations of levels are told apart; those of rarer ones are taken together."""
COMPARED = 4
"""The chance of a fit is worked out from so many versions at most."""

INSIDE = "only recipients made it, not more of them together than were looked for"
OUTSIDE = (
    "somebody else made it from other data; each row fits a record of ours by accident with the chance that"
    " the margins of the columns give, as if columns were independent; rows do not depend on each other; and"
    " the detail of the columns, if the same in all rows, is any combination of levels with equal chance"
)
FAITHFUL = "nobody wrote finer values than they held, by guessing, into rows that are ours"


@dataclass(frozen=True)
class FalseCharge:
    """The chance that the charged have nothing to do with a leak, at most `probability`.

    It is zero if the assumption INSIDE is true, by the definition of an explanation: whoever took part is one
    or has a part that is one, and the charged are in all of them. If OUTSIDE is true it is what is stated.
    Of `rows` different rows that could be read, `fitting` fit a record of ours; a row of somebody else fits
    by accident with the chance `by_accident`, on average (1 where that is not known). `pattern` is the share
    of patterns that would charge somebody, 1 if the leak has several. The product of that and of the chance
    of so many fits is what is stated.
    """

    probability: float
    rows: int
    fitting: int
    by_accident: float
    pattern: float
    assumptions: tuple[str, ...] = (INSIDE, OUTSIDE, FAITHFUL)

    @classmethod
    def of(cls, fitting: int, tries: Sequence[tuple[int, float]], pattern: float) -> FalseCharge:
        """From numbers of rows and the chance that each of them fits.

        >>> FalseCharge.of(10, [(10, 0.5)], 0.1).probability
        0.001
        >>> round(FalseCharge.of(2, [(3, 0.5)], 0.1).probability, 4)
        0.05
        """
        rows = sum(size for size, _ in tries)
        mean = sum(size * chance for size, chance in tries) / max(1, rows)
        chance = at_least(fitting, tries) * pattern
        return cls(min(1.0, max(float(LEAST), chance)), rows, fitting, mean, pattern)


def stated(
    evidence: Evidence,
    found: Explanations,
    *,
    charged: Collection[str],
    imprints: Mapping[int, Imprint | None],
    original: Microdata | None = None,
) -> FalseCharge:
    """The chance that is stated with a charge."""
    leak, handed = evidence.leak, evidence.knowledge.handed
    known = [(handed.versions[v], i) for v, i in imprints.items() if i is not None and v in evidence.held]
    tries = []
    for rows in details(leak):
        if original is not None:
            chance = accident_in_original(leak, rows, original)
        else:
            chance = _accident_in_versions(leak, rows, handed, known, charged)
        tries.append((int(rows.sum()), chance))
    single = any(len(chosen) == 1 for chosen in found.sets)
    share = charging_share(evidence, single=single) if len(tries) == 1 else 1.0
    return FalseCharge.of(int(evidence.kept.sum()), tries, share)


def at_least(fits: int, tries: Sequence[tuple[int, float]]) -> float:
    """The chance of at least so many fits in independent rows: so many rows with that chance each.

    >>> at_least(2, [(2, 0.5)]), at_least(1, [(3, 1.0)]), at_least(2, [(1, 0.5)] * 2)
    (0.25, 1.0, 0.25)
    """
    chances = np.ones(1)
    for rows, chance in tries:
        chances = np.convolve(chances, _binomial(rows, chance))
    return float(min(1.0, chances[max(0, fits) :].sum()))


def _binomial(rows: int, chance: float) -> NDArray[np.float64]:
    """The chance of every number of fits."""
    if not 0 < chance < 1:
        sure = np.zeros(rows + 1)
        sure[rows if chance >= 1 else 0] = 1.0
        return sure
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, rows + 1)))))
    fits = np.arange(rows + 1)
    ways = logs[-1] - logs - logs[::-1]
    result: NDArray[np.float64] = np.exp(ways + fits * log(chance) + (rows - fits) * log1p(-chance))
    return result


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


def _accident_in_versions(
    leak: Leak,
    rows: Flags,
    handed: Handed,
    known: Sequence[tuple[Version, Imprint]],
    charged: Collection[str],
) -> float:
    """The chance of a fit, from what is remembered of versions, first of all those of the charged.

    Versions that show the whole of one table hold a row all, or it is not about it: the least chance counts.
    Of others, the row must be in that of the charged: the largest chance among them counts.
    """
    chances: dict[str, list[float]] = {}
    order = sorted(known, key=lambda pair: pair[0].recipient not in charged)
    for version, imprint in order:
        event = chances.setdefault(version.event, [])
        if len(event) < COMPARED and (version.whole or version.recipient in charged):
            trees = [handed.trees[place] for place in zip(version.columns, version.digests, strict=True)]
            event.append(accident_in_version(leak, rows, imprint, trees))
    whole = {version.event for version, _ in known if version.whole}
    return max((min(c) if event in whole else max(c) for event, c in chances.items() if c), default=1.0)


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
    """Every node of a tree as coarse as the leak is: at its finest level, or where it shows a node above."""
    j = leak.names.index(tree.name)
    nodes = np.unique(tree.read(leak.texts[j])[np.unique(leak.codes[j][rows])])
    nodes = nodes[nodes != UNKNOWN]
    finest = int(tree.level[nodes].min(initial=tree.height))
    lifted = np.arange(len(tree.parent), dtype=np.int32)
    for _ in range(int(tree.shape.depth.max(initial=0))):
        low = tree.level[lifted] < finest
        lifted[low] = tree.parent[lifted[low]]
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


def charging_share(evidence: Evidence, *, single: bool) -> float:
    """The share of all combinations of levels, in the columns of the leak, that would charge somebody.

    A combination charges a recipient who is the only one that tells it. With `single` false also those count
    that nobody tells alone, though somebody tells each column: a coalition might be charged.
    """
    handed = evidence.knowledge.handed
    columns = [_levels(handed, name) for name in evidence.leak.names]
    heights = [len(told) for told in columns]
    total = prod(heights)
    if total <= PATTERNS:
        levels = np.stack(np.unravel_index(np.arange(total), heights), axis=1)
    else:
        levels = np.random.default_rng(1).integers(0, heights, (PATTERNS, len(heights)))
    telling = np.ones((len(levels), len(handed.recipients)), dtype=bool)
    possible = np.ones(len(levels), dtype=bool)
    for j, told in enumerate(columns):
        telling &= told[levels[:, j]]
        possible &= np.logical_or.reduce(told, axis=1)[levels[:, j]]
    alone = telling.sum(axis=1)
    charged = (alone == 1) if single else possible & (alone <= 1)
    return float(charged.mean())


def _levels(handed: Handed, name: str) -> NDArray[np.bool_]:
    """Per level of a column: the recipients that tell all of it. Of several trees the last is taken."""
    tree = handed.columns[name][-1]
    told = []
    for level in range(tree.height + 1):
        texts = MarkedTexts((name,), (tree.marks[tree.level_nodes(level)],))
        told.append(Knowledge(handed, texts).demands().all(axis=0))
    return np.array(told)
