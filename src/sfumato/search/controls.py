"""Controls in a search: which levels are permitted, and which rows may not be suppressed.

How coarse a column may become is a fact of its tree (`Taxonomy.ceiling`), so whoever has the table knows it.
What concerns several columns, or rows, is part of the aim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Answer, Promises, Truth
from sfumato.search.contract import Aim
from sfumato.search.loss import MeasuredRecoding, column_losses, column_weights
from sfumato.search.suppression import recoded
from sfumato.system.errors import BadPolicy, Infeasible
from sfumato.system.presentation.cards import pluralize
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.taxonomy import within_ceiling

NO_LEVEL = 1 << 40
"""More than any level."""


def permitted_levels(table: Microdata, aim: Aim) -> Truth:
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


def spared_rows(table: Microdata, aim: Aim) -> Truth | None:
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


def spares_all(recoding: Recoding, spared: Truth | None) -> bool:
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
            published = recoding.cuts[column.name].node_of[np.unique(low)]
            if not bool(within_ceiling(tree)[published].all()):
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
        levels: list[tuple[set[int], int]] = []
        for column in recoding.table.keys:
            if column.name in group:
                tree, node_of = column.taxonomy, recoding.cuts[column.name].node_of
                start = tree.start
                here = {i + start for i, nodes in enumerate(tree.levels) if np.array_equal(nodes, node_of)}
                levels.append((here, tree.height + start))
        tried = set[int]().union(*(here for here, _ in levels))
        if not any(all(min(level, last) in here for here, last in levels) for level in tried):
            return False
    return True


def refuse_broken_controls(recoding: Recoding, aim: Aim) -> None:
    """Raises `Infeasible` where what came after the search breaks a control."""
    if broken := broken_control(recoding, aim):
        raise Infeasible(
            f"removing terms merges or suppresses classes, and then {broken}",
            remedy="Keep all terms (`terms: {method: keep}`), or loosen that control.",
        )


# The cheapest loosening: which control to let go of where no table keeps both controls and promises.

Levels = dict[str, int]


@dataclass(frozen=True)
class Loosening:
    """One change that would do: in words, and what it costs at most, as a share of the mean loss."""

    words: str
    cost: float


def refusal_under_controls(table: Microdata, promises: Promises, aim: Aim) -> Infeasible | None:
    """Returns why the controls leave no table that keeps the promises, and the cheapest change that does.

    `None` where there are no controls, or where it is not they: the coarsest table of all breaks a promise
    as well. Judged are full-domain recodings, the coarsest that each change permits; a search that recodes
    more freely finds a table where one of these does.
    """
    tops = coarsest_levels(table, aim)
    free = replace(aim, together=(), never_suppress={})
    heights = {c.name: c.taxonomy.height for c in table.keys}
    if tops == heights and not aim.never_suppress:
        return None
    if not _judge(table, promises, free, heights).kept:
        return None
    now = _judge(table, promises, aim, tops)
    loosenings = sorted(_loosenings(table, promises, aim, tops), key=lambda loosening: loosening.cost)
    terms = " and ".join(str(p) for p in promises)
    if loosenings:
        also = "" if len(loosenings) < 2 else f" Or {loosenings[1].words}."
        remedy = f"The cheapest change that would do: {loosenings[0].words}.{also}"
    else:
        remedy = "No single change would do: let several columns be coarser (at-most, fixed)."
    if now.can_suppress(aim, table):
        whole = table.rows + table.dropped
        remedy += f" Or allow {pluralize(now.suppressed, 'row')} to be suppressed ({now.suppressed}/{whole})."
    return Infeasible(
        f"no table keeps {terms} and what the policy says of levels, columns that move together and rows that"
        f" are never suppressed: where columns are as coarse as it permits,"
        f" {pluralize(now.suppressed, 'row')} would have to be suppressed, {aim.allowed(table):,} may be"
        f"{'' if now.spares else ', and some of them never'}",
        where="columns",
        remedy=remedy,
    )


def coarsest_levels(table: Microdata, aim: Aim, *, raised: Mapping[str, int] | None = None) -> Levels:
    """Returns the coarsest level of every key column that the controls permit, some of them `raised`."""
    tops = {c.name: c.taxonomy.ceiling for c in table.keys} | dict(raised or {})
    trees = {c.name: c.taxonomy for c in table.keys}
    for group in aim.together:
        members = [name for name in group if name in trees]
        bound = [tops[n] + trees[n].start for n in members if tops[n] < trees[n].height]
        for name in members if bound else ():
            tops[name] = max(0, min(min(bound) - trees[name].start, trees[name].height))
    return tops


@dataclass(frozen=True)
class _Coarsest:
    """What becomes of a table at some levels: rows lost, and whether the controls and promises hold."""

    suppressed: int
    spares: bool
    whole: bool
    within: bool

    @property
    def kept(self) -> bool:
        return self.spares and self.whole and self.within

    def can_suppress(self, aim: Aim, table: Microdata) -> bool:
        """Whether more suppression alone would do."""
        return (
            self.spares and self.whole and aim.allowed(table) < self.suppressed < table.rows + table.dropped
        )


def _judge(table: Microdata, promises: Promises, aim: Aim, levels: Levels) -> _Coarsest:
    cuts = {c.name: Cut.level(c.taxonomy, levels[c.name]) for c in table.keys}
    recoding = recoded(table, cuts, promises)
    whole = all(p.watch(table).ask(cuts)[0] is Answer.YES for p in promises.of_table)
    within = recoding.suppressed <= aim.allowed(table) and (recoding.count > 0 or not table.rows)
    return _Coarsest(recoding.suppressed, spares_all(recoding, spared_rows(table, aim)), whole, within)


def _loosenings(table: Microdata, promises: Promises, aim: Aim, tops: Levels) -> Iterator[Loosening]:
    """Yields the changes of one control that would do, each as small as it can be."""
    weights = column_weights(table.keys, aim.weights)
    total = float(weights.sum()) or 1.0
    for j, column in enumerate(table.keys):
        name, tree = column.name, column.taxonomy
        for level in range(tree.ceiling + 1, tree.height + 1):
            levels = coarsest_levels(table, aim, raised={name: level})
            if _judge(table, promises, aim, levels).kept:
                steps = _column_loss(table, column, j, level) - _column_loss(table, column, j, tree.ceiling)
                words = f"let {name} be as coarse as level {level + tree.start}"
                yield Loosening(words, float(weights[j]) * steps / total)
                break
    for group in aim.together:
        others = tuple(names for names in aim.together if names != group)
        if _judge(table, promises, aim, coarsest_levels(table, replace(aim, together=others))).kept:
            yield Loosening(f"let {' and '.join(group)} move apart", 0.0)
    for name in aim.never_suppress:
        never = {key: labels for key, labels in aim.never_suppress.items() if key != name}
        if _judge(table, promises, replace(aim, never_suppress=never), tops).kept:
            yield Loosening(f"let rows be suppressed that never-suppress of {name} spares", 0.0)


def _column_loss(table: Microdata, column: Column, j: int, level: int) -> float:
    """Returns what a column loses at a level where nothing is suppressed."""
    cuts = {c.name: Cut.leaves(c.taxonomy) for c in table.keys}
    cuts[column.name] = Cut.level(column.taxonomy, level)
    case = MeasuredRecoding(Recoding.of_cuts(table, cuts), None, column_weights(table.keys, None))
    return float(column_losses(case)[j])
