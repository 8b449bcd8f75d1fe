"""How likely is it that a charge is false, and under which assumptions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, lgamma, log, log1p, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.terms.fingerprint import UNKNOWN, ReadingTree
from sfumato.terms.imprint import Imprint
from sfumato.terms.microdata import Counts, Microdata
from sfumato.terms.packing import Packing
from sfumato.terms.taxonomy import ROOT, Nodes
from sfumato.trace.coalition import Explanations
from sfumato.trace.incidence import Evidence, Flags, Knowledge, MarkedTexts
from sfumato.trace.reading import Leak
from sfumato.trace.versions import Handed

LEAST = Fraction(1, 1000)
"""Nothing smaller is stated: the assumptions are not better known than that."""
PATTERNS = 100_000
"""More patterns than this are not gone through; so many are drawn."""

INSIDE = "only recipients made it, not more of them together than were looked for"
OUTSIDE = (
    "somebody else made it from other data; each row fits a record of ours by accident with the chance that"
    " the margins of the columns give, as if columns were independent; rows do not depend on each other; and"
    " the detail of the columns is any combination of levels with equal chance"
)
FAITHFUL = "nobody wrote finer values than they held, by guessing, into rows that are ours"


@dataclass(frozen=True)
class FalseCharge:
    """The chance that the charged have nothing to do with a leak, at most `probability`.

    It is zero if the assumption INSIDE is true, by the definition of an explanation: whoever took part is one
    or has a part that is one, and the charged are in all of them. If OUTSIDE is true it is what is stated.
    Of `rows` different rows that could be read, `fitting` fit a record of ours; a row of somebody else fits
    by accident with the chance `by_accident` (1 where that is not known). `pattern` is the share of patterns
    that would charge somebody. The product of that and of the chance of so many fits is what is stated.
    """

    probability: float
    rows: int
    fitting: int
    by_accident: float
    pattern: float
    assumptions: tuple[str, ...] = (INSIDE, OUTSIDE, FAITHFUL)

    @classmethod
    def of(cls, rows: int, fitting: int, by_accident: float, pattern: float) -> FalseCharge:
        """
        >>> FalseCharge.of(10, 10, 0.5, 0.1).probability
        0.001
        >>> round(FalseCharge.of(3, 2, 0.5, 0.1).probability, 4)
        0.05
        """
        chance = at_least(fitting, rows, by_accident) * pattern
        return cls(min(1.0, max(float(LEAST), chance)), rows, fitting, by_accident, pattern)


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
    rows = outspoken(leak)
    chances = [] if original is None else [accident_in_original(leak, rows, original)]
    for v, imprint in imprints.items():
        version = handed.versions[v]
        if original is None and imprint is not None and version.recipient in charged and version.cuts:
            trees = [handed.trees[place] for place in zip(version.columns, version.digests, strict=True)]
            chances.append(accident_in_version(leak, rows, imprint, trees))
    single = any(len(chosen) == 1 for chosen in found.sets)
    share = charging_share(evidence, single=single)
    fitting = int((rows & evidence.kept).sum())
    return FalseCharge.of(int(rows.sum()), fitting, max(chances, default=1.0), share)


def at_least(fits: int, rows: int, chance: float) -> float:
    """The chance of at least so many fits in so many independent rows.

    >>> at_least(2, 2, 0.5), at_least(0, 5, 0.1), at_least(1, 3, 1.0)
    (0.25, 1.0, 1.0)
    """
    if fits <= 0 or chance >= 1:
        return 1.0
    if chance <= 0:
        return 0.0
    hit, miss = log(chance), log1p(-chance)
    terms = [
        lgamma(rows + 1) - lgamma(k + 1) - lgamma(rows - k + 1) + k * hit + (rows - k) * miss
        for k in range(fits, rows + 1)
    ]
    top = max(terms)
    return min(1.0, exp(top) * sum(exp(term - top) for term in terms))


def outspoken(leak: Leak) -> Flags:
    """The readable rows without gaps: no cell says nothing, in a column where others say something."""
    rows = leak.legible.copy()
    for j, name in enumerate(leak.names):
        mute = np.all([leak.nodes(j, tree) == ROOT for tree in leak.trees[name]], axis=0)[leak.codes[j]]
        if not mute[leak.legible].all():
            rows &= ~mute
    return rows if rows.any() else leak.legible


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
