"""All global recodings of a small table, tried one by one: for promises that no step-wise search can follow.

Where a promise may be broken by a step and mended by the next, as those beside earlier releases, only trying
everything tells what is best. How much may be tried is counted in rows: the same table gives the same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from sfumato.core.classes import Classes
from sfumato.core.coarsest_level import within_ceiling
from sfumato.core.cut import Cut
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Cuts, Promises
from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import ROOT, Taxonomy
from sfumato.protection.searches.search import Aim, Outcome
from sfumato.protection.suppression import keep

MOST_ROWS_RECODED = 4_000_000
"""Recodings times distinct rows, up to which all are tried."""
MOST_JUDGED = 300
"""So many recodings are judged, those that lose least first."""


def best_of_all(
    table: Microdata, promises: Promises, aim: Aim, known: Outcome, *, progress: Progress = silent
) -> Outcome:
    """Returns the best global recoding that suppresses nothing; `known` where there are too many to try.

    Recodings that lose less than `known` are judged from the least loss on; the first that keeps the promises
    is the best. Where too many do not, `known` is returned with the loss that was reached.
    """
    trees = [c.taxonomy for c in table.keys]
    total = prod(count_cuts(tree) for tree in trees)
    if table.profiles or total * max(1, table.distinct) > MOST_ROWS_RECODED:
        return known
    names = [c.name for c in table.keys]
    better: list[tuple[float, int, Cuts]] = []
    for number, chosen in enumerate(product(*(list(every_cut(tree)) for tree in trees)), 1):
        cuts: Cuts = dict(zip(names, chosen, strict=True))
        loss = aim.loss_of(Recoding.of_cuts(table, cuts))
        progress("all recodings", number, total)
        if loss < known.loss:
            better.append((loss, number, cuts))
    better.sort(key=lambda one: one[:2])
    checked = known.checked + total
    for loss, _, cuts in better[:MOST_JUDGED]:
        recoding = Recoding.of_cuts(table, cuts)
        if keeps(table, recoding, cuts, promises):
            return Outcome(recoding, loss, optimal=True, checked=checked, bound=loss)
    if len(better) > MOST_JUDGED:
        return replace(known, checked=checked, bound=better[MOST_JUDGED][0])
    return replace(known, optimal=True, checked=checked, bound=known.loss)


def keeps(table: Microdata, recoding: Recoding, cuts: Cuts, promises: Promises) -> bool:
    """Whether a recoding keeps every promise with all its classes."""
    classes = Classes.of(table, recoding.class_of, sensitive=promises.sensitive)
    if not keep(classes, promises).all():
        return False
    return all(promise.verdict_on(table, cuts).holds is True for promise in promises.of_table)


def count_cuts(tree: Taxonomy) -> int:
    """Returns how many cuts a tree has, none of them above its ceiling.

    >>> count_cuts(Taxonomy.grow(["*", "A", "a", "b", "c"], [-1, 0, 1, 1, 0]))
    3
    """
    ways = [1] * len(tree.labels)
    allowed = within_ceiling(tree)
    for node in reversed(range(len(tree.labels))):
        below = tree.children(node)
        if len(below):
            ways[node] = prod(ways[child] for child in below) + int(bool(allowed[node]))
    return ways[ROOT]


def every_cut(tree: Taxonomy) -> Iterator[Cut]:
    """Yields every cut of a tree, none of them above its ceiling."""
    allowed = within_ceiling(tree)

    def below(node: int) -> Iterator[tuple[int, ...]]:
        children = [int(child) for child in tree.children(node)]
        if not children or allowed[node]:
            yield (node,)
        if children:
            for parts in product(*(list(below(child)) for child in children)):
                yield tuple(v for part in parts for v in part)

    for nodes in below(ROOT):
        yield Cut.of_nodes(tree, np.array(sorted(nodes), np.int32))
