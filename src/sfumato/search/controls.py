"""Controls in a search: which levels are permitted, and which rows may not be suppressed.

How coarse a column may become is a fact of its tree (`Taxonomy.ceiling`), so whoever has the table knows it.
What concerns several columns, or rows, is part of the aim.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.coarsest_level import within_ceiling
from sfumato.core.errors import BadPolicy, Infeasible
from sfumato.core.microdata import Microdata
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.protection.searches.search import Aim

Truths = NDArray[np.bool_]

NO_LEVEL = 1 << 40
"""More than any level."""


def permitted_levels(table: Microdata, aim: Aim) -> Truths:
    """Returns for every node of the full-domain lattice whether the controls permit it.

    No column is above its ceiling, and columns that move together are at the same level, counted from the
    raw values; one that has no such level stays at its last.
    """
    shape = tuple(c.taxonomy.height + 1 for c in table.keys)
    levels = np.indices(shape, dtype=np.int64, sparse=True)
    permitted = np.ones(shape, dtype=bool)
    for column, level in zip(table.keys, levels, strict=True):
        permitted &= level <= column.taxonomy.ceiling
    for group in aim.together:
        lower: NDArray[np.int64] = np.zeros(1, np.int64)
        upper: NDArray[np.int64] = np.full(1, NO_LEVEL)
        for column, level in zip(table.keys, levels, strict=True):
            if column.name in group:
                start, last = column.taxonomy.start, column.taxonomy.height
                lower = np.maximum(lower, level + start)
                upper = np.minimum(upper, np.where(level == last, NO_LEVEL, level + start))
        permitted &= lower <= upper
    return permitted


def spared_rows(table: Microdata, aim: Aim) -> Truths | None:
    """Returns for every distinct row whether it may not be suppressed; `None` where every row may be.

    Raises `BadPolicy` where a name is neither a value nor a node of the column's tree.
    """
    if not aim.never_suppress:
        return None
    spared = np.zeros(table.distinct, dtype=bool)
    for column in table.keys:
        named = aim.never_suppress.get(column.name, ())
        tree, codes = column.taxonomy, table.codes(column.name)
        spans = {label: tree.span(label) or _leaf(tree.rank(label)) for label in named}
        unknown = [label for label, span in spans.items() if span is None]
        if unknown:
            raise BadPolicy(
                f"{len(unknown)} of the {len(named)} names are neither values nor nodes of the taxonomy",
                where=f"columns.{column.name}.never-suppress",
                remedy="Correct them, or leave them out (--show-values names them).",
                values=unknown,
            )
        for span in spans.values():
            if span is not None:
                spared |= (codes >= span[0]) & (codes < span[1])
    return spared if spared.any() else None


def _leaf(rank: int | None) -> tuple[int, int] | None:
    return None if rank is None else (rank, rank + 1)


def spares_all(recoding: Recoding, spared: Truths | None) -> bool:
    """Whether every row is published that may not be suppressed."""
    return spared is None or not bool((spared & (recoding.class_of == SUPPRESSED)).any())


def broken_control(recoding: Recoding, aim: Aim) -> str:
    """Returns which control a recoding breaks, in words; nothing if it keeps them all."""
    for j, column in enumerate(recoding.table.keys):
        tree = column.taxonomy
        low, high = recoding.low[:, j], recoding.high[:, j]
        top = tree.levels[tree.ceiling][low]
        if bool((tree.high[top] < high).any()):
            return f"{column.name} is coarser than level {tree.ceiling + tree.start}"
        if recoding.cuts is not None and recoding.count:
            shown = recoding.cuts[column.name].node_of[np.unique(low)]
            if not bool(within_ceiling(tree)[shown].all()):
                return f"{column.name} is coarser than level {tree.ceiling + tree.start}"
    if aim.together and not _moves_together(recoding, aim):
        return "columns that move together are at different levels"
    if not spares_all(recoding, spared_rows(recoding.table, aim)):
        return "rows are suppressed that may not be"
    return ""


def _moves_together(recoding: Recoding, aim: Aim) -> bool:
    """Whether the cuts are levels, the same for the columns of every group."""
    if recoding.cuts is None:
        return False
    for group in aim.together:
        held: list[tuple[set[int], int]] = []
        for column in recoding.table.keys:
            if column.name in group:
                tree, node_of = column.taxonomy, recoding.cuts[column.name].node_of
                start = tree.start
                here = {i + start for i, nodes in enumerate(tree.levels) if np.array_equal(nodes, node_of)}
                held.append((here, tree.height + start))
        tried = set[int]().union(*(here for here, _ in held))
        if not any(all(min(level, last) in here for here, last in held) for level in tried):
            return False
    return True


def refuse_broken_controls(recoding: Recoding, aim: Aim) -> None:
    """Raises `Infeasible` where what came after the search breaks a control."""
    if broken := broken_control(recoding, aim):
        raise Infeasible(
            f"removing terms merges or suppresses classes, and then {broken}",
            remedy="Keep all terms (`terms: {method: keep}`), or loosen that control.",
        )
