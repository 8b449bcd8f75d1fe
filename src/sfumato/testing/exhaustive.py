"""The exhaustive search: every recoding of a small table, to know what other searches miss."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from sfumato.models.contract import Answer, Cuts, Deliberate, Promises
from sfumato.search.contract import Aim, Outcome
from sfumato.search.loss import find_measure, measure
from sfumato.search.suppression import keep
from sfumato.system.errors import Infeasible, UsageError
from sfumato.system.progress import Progress, silent
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import Taxonomy

MOST_RECODINGS = 200_000
"""So many recodings are tried at most."""


def exhaustive(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns the best global recoding that suppresses nothing and keeps every promise; the first of ties."""
    find_measure(aim.loss)
    columns = table.keys
    total = prod(cuts_of(c.taxonomy) for c in columns)
    if total > MOST_RECODINGS:
        raise UsageError(
            f"there are {total:,} recodings; at most {MOST_RECODINGS:,} can be tried", remedy="Search."
        )
    watches = [p.watch(table) for p in promises.of_table]
    for watch in watches:
        if isinstance(watch, Deliberate):
            watch.deliberate()
    best: tuple[float, Recoding] | None = None
    for checked, chosen in enumerate(product(*(every_cut(c.taxonomy) for c in columns)), 1):
        cuts: Cuts = {c.name: cut for c, cut in zip(columns, chosen, strict=True)}
        recoding = Recoding.of_cuts(table, cuts)
        loss = measure(aim.loss, recoding, weights=aim.weights, price=aim.price)
        progress("exhaustive", checked, total)
        if best is not None and loss >= best[0]:
            continue
        classes = Classes.of(table, recoding.class_of, sensitive=promises.sensitive)
        if keep(classes, promises).all() and all(w.ask(cuts)[0] is Answer.YES for w in watches):
            best = loss, recoding
    if best is None:
        raise Infeasible("no recoding keeps the promises", remedy="Relax one of them.")
    return Outcome(best[1], best[0], optimal=True, checked=total)


def cuts_of(tree: Taxonomy, node: int = 0) -> int:
    """Returns how many cuts the tree below a node has.

    >>> cuts_of(Taxonomy.grow(["*", "A", "a", "b", "c"], [-1, 0, 1, 1, 0]))
    3
    """
    children = tree.children(node)
    return 1 + prod(cuts_of(tree, child) for child in children) if children else 1


def every_cut(tree: Taxonomy) -> Iterator[Cut]:
    """Yields every cut, the root first."""
    for nodes in _below(tree, 0):
        yield Cut.of_nodes(tree, nodes)


def _below(tree: Taxonomy, node: int) -> list[list[int]]:
    children = tree.children(node)
    if not children:
        return [[node]]
    parts = product(*(_below(tree, child) for child in children))
    return [[node], *([n for part in chosen for n in part] for chosen in parts)]
