"""Top-down specialization over subtree cuts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import (
    Answer,
    Conflict,
    Conflicts,
    Cuts,
    Promises,
    TablePromise,
    below,
    most_general,
)
from sfumato.policy.searches import Ability
from sfumato.search.contract import TIMES_DIVIDED_AGAIN, Aim, Outcome, Work, built_in_search
from sfumato.search.descents import TopDownDescent, begin, go_down, make
from sfumato.search.group_counts import ClassedRows
from sfumato.search.loss import find_measure, tally
from sfumato.search.refinement import Specialization
from sfumato.search.step_check import StepJudge
from sfumato.search.steps import steps_to_ceilings
from sfumato.system.errors import Infeasible
from sfumato.system.progress import Progress, silent
from sfumato.table.classes import Classes, histogram, positions
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import ROOT

MOST_EXACT_ANSWERS = 16
"""A promise is asked so many times for an exact answer, once its bound proved too high."""


SMALLER_LIMITS = tuple(Fraction(thousandth, 1000) for thousandth in (0, 1, 5, 10, 20, 50, 100))
"""Where suppressed rows have a price, smaller limits are tried, too: less may be better than more."""


@built_in_search(
    "top-down",
    "specializes columns step by step from their roots, the step that gains most first",
    place=1,
    compared=5,
    ability=Ability(
        losses=("loss", "discernibility"),
        any_promise=False,
        whole_table=True,
        why_not="top-down ranks single steps, which only loss and discernibility can price",
    ),
    work=Work(
        steps=lambda size: size.rows * size.levels * (TIMES_DIVIDED_AGAIN if size.priced else 1),
        step_time=0.05,
        times_for_values=3,
        row_bytes=lambda keys, _, named: 4 * keys + (95 if named else 80),
        rows_of_rungs=200_000,
        cells_of_rungs=700_000,
        rows_of_offers=300_000,
    ),
)
def top_down(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns the best of descents (`specialize`) with the aim's limit of suppression and smaller ones.

    Without a price for suppressed rows there is one descent, which suppresses as far as it may.
    """
    least = Fraction(table.dropped, max(1, table.rows + table.dropped))
    limits = {aim.allowed(table): aim.suppress}
    if aim.price is not None and not promises.of_table:
        for limit in (max(limit, least) for limit in SMALLER_LIMITS if max(limit, least) < aim.suppress):
            limits.setdefault(replace(aim, suppress=limit).allowed(table), limit)
    best, refused, checked = None, None, 0
    for number, outcome in specialize_each(table, promises, aim, tuple(limits.values()), progress=progress):
        if isinstance(outcome, Infeasible):
            refused = outcome if number == 0 else refused
            continue
        checked += outcome.checked
        rank = (outcome.loss, outcome.recoding.suppressed, number)
        if best is None or rank < best[0]:
            best = rank, outcome
    if best is None:
        raise refused or Infeasible("nothing is left to publish", remedy="Ask for less.")
    return replace(best[1], checked=checked)


def specialize(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Specializes from every key column at its ceiling, the root as a rule, as long as every promise holds.

    A candidate is a node of a cut that has children. The best-ranked one (`Ranking`) is tried: if every
    promise still holds it is replaced by its children, in all classes; if not, it is dropped for good where
    no later step can help, and otherwise set aside (`StepJudge` says which). What was set aside is tried
    again when every other candidate is used up, as long as a step was accepted since. The result is minimal:
    no single further specialization is valid.

    With suppression a recoding is valid if the classes that `suppression.keep` does not keep hold at most the
    allowed number of rows. For hereditary promises (k-anonymity, distinct l-diversity) these rows only become
    more from step to step, so a dropped candidate stays invalid. For others (entropy and recursive
    l-diversity, t-closeness) a class may break the promise and its parts keep it: such candidates are
    set aside.

    With a price, a step that suppresses rows worth more than what the others gain is set aside. Where the
    ceilings break a promise that is not hereditary and suppression may mend it, the search starts from the
    best full-domain recoding.

    A table promise may break with every column at its ceiling and hold further down; the search then starts
    from the nearest recoding that keeps every promise (`steps_to_valid`).

    A table promise may answer by a bound while the search runs. If what was found turns out not to be
    certain, as many of the steps as are certain (by bisection) are made again, and the search goes on from
    there with exact answers, `MOST_EXACT_ANSWERS` of them. The result is then certain, and minimal only as
    far as these went.

    Source: Fung, Wang and Yu, *Top-down specialization for information and privacy preservation*, 2005.
    """
    ((_, outcome),) = specialize_each(table, promises, aim, (aim.suppress,), progress=progress)
    if isinstance(outcome, Infeasible):
        raise outcome
    return outcome


def specialize_each(
    table: Microdata,
    promises: Promises,
    aim: Aim,
    shares: Sequence[Fraction],
    *,
    progress: Progress = silent,
) -> Iterator[tuple[int, Outcome | Infeasible]]:
    """Yields what `specialize` finds with each of some limits of suppression, or why it finds nothing.

    The largest limit is the first, and where it is refused all are. Each comes with its place among the
    limits, as soon as it is found.
    """
    find_measure(aim.loss)

    def descend(shares: Sequence[Fraction]) -> Iterator[tuple[int, Outcome | Infeasible]]:
        return _descend(table, promises, [replace(aim, suppress=share) for share in shares], progress)

    if aim.descents is None or aim.descents.table is not table:
        return descend(shares)
    return iter(enumerate(aim.descents.find(promises, shares, descend)))


def _descend(
    table: Microdata, promises: Promises, aims: Sequence[Aim], progress: Progress
) -> Iterator[tuple[int, Outcome | Infeasible]]:
    companies, refused = begin(table, promises, aims)
    yield from refused.items()
    for ended in go_down(companies, progress=progress):
        yield ended.number, _certain(ended, promises, progress)


def _certain(ended: TopDownDescent, promises: Promises, progress: Progress) -> Outcome:
    """Returns what was found, or as many of its steps as are certain, and what exact answers add to them."""
    table, judge = ended.classes.table, ended.judge
    if not judge.watches or judge.certain(_cuts_after(table, ended.path)):
        return ended.outcome()
    few = _certain_steps(table, ended.path, judge, least=len(steps_to_ceilings(table)))
    again = TopDownDescent(ClassedRows.of(table), table, promises, ended.aim, watches=judge.watches)
    for step in ended.path[:few]:
        make([again], step)
    again.judge.deliberate(MOST_EXACT_ANSWERS)
    (again,) = go_down([[again]], progress=progress)
    return again.outcome()


def _cuts_after(table: Microdata, path: list[Specialization]) -> Cuts:
    node_of = [np.zeros(len(c.taxonomy.leaves), np.int32) for c in table.keys]
    for step in path:
        tree = table.keys[step.column].taxonomy
        node_of[step.column][tree.low[step.node] : tree.high[step.node]] = tree.child_above(step.node)
    return {c.name: Cut(c.taxonomy, nodes) for c, nodes in zip(table.keys, node_of, strict=True)}


def _certain_steps(table: Microdata, path: list[Specialization], judge: StepJudge, *, least: int) -> int:
    """Returns how many of the steps, `least` or more, make a result that is certain; all are too many."""
    few, many = least, len(path)
    while many - few > 1:
        middle = (few + many) // 2
        if judge.certain(_cuts_after(table, path[:middle])):
            few = middle
        else:
            many = middle
    return few


# Sources of conflicts for the exact search: what cannot all stay, by every promise (`core.conflicts`).

MOST_AT_ONCE = 8
"""So many broken classes are turned into conflicts at once."""


def conflict_sources(table: Microdata, promises: Promises) -> list[Conflicts]:
    """Returns one source for all class promises, and one for each promise about the table."""
    sources: list[Conflicts] = [p.conflicts(table) or OpaquePromise(table, p) for p in promises.of_table]
    if promises.of_class:
        kind = BrokenPositions if table.profiles else BrokenClasses
        sources.insert(0, kind(table, Promises(promises.of_class)))
    return sources


class _RowsBelow:
    """Judges the rows below one node per key column as one class, once for the same nodes."""

    def __init__(self, table: Microdata, promises: Promises, among: NDArray[np.bool_] | None = None) -> None:
        self._table, self._promises = table, promises
        self._sizes = Promises(tuple(promise for promise in promises.of_class if promise.by_size))
        self._among = np.ones(table.distinct, dtype=bool) if among is None else among
        self.trees = [c.taxonomy for c in table.keys]
        self._leaves = [c.taxonomy.leaves[table.codes(c.name)] for c in table.keys]
        self._codes = {name: table.codes(name) for name in promises.sensitive}
        everybody = Classes.of(table, np.zeros(table.distinct, np.int32), sensitive=promises.sensitive)
        self._overall = {name: h.overall for name, h in everybody.histograms.items()}
        self._known: dict[bytes, bool] = {}

    def break_it(self, values: Conflict) -> bool:
        """Whether these rows break a promise; no rows break none."""
        key = values.tobytes()
        if key not in self._known:
            self._known[key] = self._judge(values)
        return self._known[key]

    def _judge(self, values: Conflict) -> bool:
        inside = self._among.copy()
        for tree, leaves, node in zip(self.trees, self._leaves, values.tolist(), strict=True):
            if node != ROOT:
                inside &= below(tree, leaves, node)
        rows = np.flatnonzero(inside)
        if not len(rows):
            return False
        weight, ids = self._table.counts[rows], np.zeros(len(rows), np.int64)
        person = None if self._table.person is None else self._table.person[rows]
        size = weight.sum(keepdims=True)
        people = size if person is None else np.array([len(np.unique(person))], np.int64)
        if not self._sizes.holds_on(Classes(people, size))[0]:
            return True
        histograms = {
            name: histogram(
                self._table.column(name).taxonomy,
                ids,
                codes[rows],
                weight,
                1,
                person=person,
                overall=self._overall[name],
            )
            for name, codes in self._codes.items()
        }
        return not bool(self._promises.holds_on(Classes(people, size, histograms))[0])


class BrokenClasses:
    """The classes that break a monotone class promise."""

    def __init__(self, table: Microdata, promises: Promises) -> None:
        self._table, self._promises = table, promises
        self._rows = _RowsBelow(table, promises)

    def of(self, cuts: Cuts) -> list[Conflict]:
        class_of, nodes = classes_under(self._table, cuts)
        classes = Classes.of(self._table, class_of, sensitive=self._promises.sensitive)
        broken = np.flatnonzero(~self._promises.holds_on(classes))
        conflicts: list[Conflict] = []
        for values in nodes[broken[:MOST_AT_ONCE]].astype(np.int64):
            conflicts += most_general(values, self._rows.trees, self._rows.break_it, turns=2)
        return conflicts


class BrokenPositions:
    """The positions that break a monotone class promise, where people have several rows.

    A position of people with one row is a conflict as a class is: whatever is finer splits it, and nobody
    else comes in. What several rows show together has several nodes in one column, which no conflict can
    say.
    """

    def __init__(self, table: Microdata, promises: Promises) -> None:
        self._table, self._promises = table, promises
        person = table.person
        assert person is not None  # noqa: S101  # only tables with people have profiles
        rows = tally(person, table.counts, int(person.max(initial=-1)) + 1)
        self._single = rows[person] == 1
        self._rows = _RowsBelow(table, promises, self._single)

    def of(self, cuts: Cuts) -> list[Conflict] | None:
        class_of, nodes = classes_under(self._table, cuts)
        where = positions(self._table, class_of)
        classes = Classes.of(self._table, where, sensitive=self._promises.sensitive)
        broken = ~self._promises.holds_on(classes)
        if not broken.any():
            return []
        single = np.unique(class_of[self._single & broken[where]])
        conflicts: list[Conflict] = []
        for values in nodes[single[:MOST_AT_ONCE]].astype(np.int64):
            conflicts += most_general(values, self._rows.trees, self._rows.break_it, turns=2)
        return conflicts or None


class OpaquePromise:
    """A promise about the table that only says no: nothing is learned from it beyond the cuts at hand."""

    def __init__(self, table: Microdata, promise: TablePromise) -> None:
        self._watch = promise.watch(table)

    def of(self, cuts: Cuts) -> list[Conflict] | None:
        answer, _ = self._watch.ask(cuts)
        return [] if answer is Answer.YES else None
