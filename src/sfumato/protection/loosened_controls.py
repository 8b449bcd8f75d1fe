"""The cheapest loosening: which control to let go of where no table keeps both controls and promises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sfumato.core.cut import Cut
from sfumato.core.errors import Infeasible
from sfumato.core.microdata import Column, Microdata
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding
from sfumato.core.watch import Answer
from sfumato.protection.controls import spared_rows, spares_all
from sfumato.protection.loss import MeasuredRecoding, column_losses, column_weights
from sfumato.protection.searches.search import Aim
from sfumato.protection.suppression import recoded
from sfumato.show.card import several

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
    found = sorted(_loosenings(table, promises, aim, tops), key=lambda one: one.cost)
    asked = " and ".join(str(p) for p in promises)
    if found:
        also = "" if len(found) < 2 else f" Or {found[1].words}."
        remedy = f"The cheapest change that would do: {found[0].words}.{also}"
    else:
        remedy = "No single change would do: let several columns be coarser (at-most)."
    if now.can_suppress(aim, table):
        whole = table.rows + table.dropped
        remedy += f" Or allow {several(now.suppressed, 'row')} to be suppressed ({now.suppressed}/{whole})."
    return Infeasible(
        f"no table keeps {asked} and what the policy says of levels, columns that move together and rows that"
        f" are never suppressed: where columns are as coarse as it permits,"
        f" {several(now.suppressed, 'row')} would have to be suppressed, {aim.allowed(table):,} may be"
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
        others = tuple(some for some in aim.together if some != group)
        if _judge(table, promises, aim, coarsest_levels(table, replace(aim, together=others))).kept:
            yield Loosening(f"let {' and '.join(group)} move apart", 0.0)
    for name in aim.never_suppress:
        rest = {other: labels for other, labels in aim.never_suppress.items() if other != name}
        if _judge(table, promises, replace(aim, never_suppress=rest), tops).kept:
            yield Loosening(f"let rows be suppressed that never-suppress of {name} spares", 0.0)


def _column_loss(table: Microdata, column: Column, j: int, level: int) -> float:
    """Returns what a column loses at a level where nothing is suppressed."""
    cuts = {c.name: Cut.leaves(c.taxonomy) for c in table.keys}
    cuts[column.name] = Cut.level(column.taxonomy, level)
    case = MeasuredRecoding(Recoding.of_cuts(table, cuts), None, column_weights(table.keys, None))
    return float(column_losses(case)[j])
