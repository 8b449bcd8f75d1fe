"""Phase two: terms are removed from rows until every class keeps its quasi-sensitive promises."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import Infeasible, SfumatoError
from sfumato.core.progress import Progress, silent
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.policy.set_columns import TermRule
from sfumato.protection.boxes import merged_classes, nearest_class, one_class_per_box
from sfumato.protection.term_removal.all_classes import infeasible_among, solve_classes
from sfumato.protection.term_removal.class_scope import removed_from_all
from sfumato.protection.term_removal.cost import RARITY, RemovalCosts
from sfumato.protection.term_removal.joint_answers import all_removed, one_by_one
from sfumato.protection.term_removal.margin import with_margin
from sfumato.protection.term_removal.one_class import ClassSolution, TermLimit, Terms
from sfumato.protection.term_removal.report import MERGED, SATISFIED, SUPPRESSED_TERMS, TermReport
from sfumato.protection.term_removal.term_column import TermColumn
from sfumato.protection.term_removal.term_rows import TermRows
from sfumato.show.card import several

Numbers = NDArray[np.int64]

MOST_NAMED = 5
"""So many classes that cannot be helped are named, to whoever asks for values."""


@dataclass
class Phase:
    """The state of phase two on one table. `made_of` counts the classes that each class was made of."""

    recoding: Recoding
    columns: tuple[TermColumn, ...]
    rule: TermRule
    costs: RemovalCosts
    allowed: int = 0
    made_of: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))
    infeasible: int = 0
    untold: int = 0
    dropped: int = 0
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(
        cls, recoding: Recoding, limits: Sequence[TermLimit], rule: TermRule, *, allowed: int = 0
    ) -> Phase:
        columns = tuple(TermColumn(TermRows(recoding.table, limit.column), limit) for limit in limits)
        widest = max((len(terms) for column in columns for terms in column.sets.terms), default=0)
        start = one_class_per_box(recoding)
        rows_with: Counter[str] = Counter()
        for column in columns if rule.cost == RARITY else ():
            for terms, rows in zip(column.sets.terms, column.sets.rows_of_leaf, strict=True):
                rows_with.update(dict.fromkeys(terms, rows))
        costs = RemovalCosts(rule.cost, max(1, widest), rows_with)
        return cls(start, columns, rule, costs, allowed, np.ones(start.count, np.int64))

    @property
    def seconds(self) -> float:
        """The seconds that are left."""
        return max(0.0, self.began + self.rule.seconds - time.monotonic())

    def open_in(self, column: TermColumn) -> Numbers:
        """Returns the classes that break a promise about a column and have no answer yet."""
        broken = np.flatnonzero(~column.judged(self.recoding, {}))
        return broken[[c not in column.answers for c in broken.tolist()]]

    def first_among(self, some: Numbers) -> int:
        """Counts those of these classes that are as phase one made them."""
        return int((self.made_of[some] == 1).sum())


def suppress_terms(
    recoding: Recoding,
    limits: Sequence[TermLimit],
    rule: TermRule,
    *,
    allowed: int = 0,
    progress: Progress = silent,
) -> tuple[Recoding, TermReport]:
    """Returns a recoding in which every class keeps its limits, with as few removals as the method finds.

    Classes that no removal can help are found by a bound before any search. Such a class is merged with its
    nearest class where classes are recoded one by one, its rows starting again with all their terms; under
    one recoding for all classes its rows are suppressed if `allowed` more rows may be. If neither helps,
    `Infeasible` is raised: what breaks a promise is never returned. There is one limit per column.
    """
    phase = Phase.of(recoding, limits, rule, allowed=allowed)
    while True:
        todo = [(column, phase.open_in(column)) for column in phase.columns]
        lost = _union(_infeasible(phase, column, some, progress) for column, some in todo)
        if not len(lost):
            lost = _union(_solve(phase, column, some, progress) for column, some in todo if len(some))
            phase.untold += phase.first_among(lost)
        if not len(lost):
            break
        phase.infeasible += phase.first_among(lost)
        _merge_or_drop(phase, lost)
    gone = [column.gone(phase.recoding) for column in phase.columns]
    if rule.margin:
        share = float(rule.margin)
        gone = [with_margin(phase.recoding, p, g, share) for p, g in zip(phase.columns, gone, strict=True)]
    for column, lost_terms in zip(phase.columns, gone, strict=True):
        if not column.judged(phase.recoding, lost_terms).all():
            raise SfumatoError(f"the removal of terms broke {column.limit}", remedy="This is a bug.")
    written = {n: w for p, g in zip(phase.columns, gone, strict=True) for n, w in p.sets.rewritten(g).items()}
    result = replace(phase.recoding, rewritten=written) if written else phase.recoding
    return result, _report(phase, gone)


def _union(some: Iterable[Numbers]) -> Numbers:
    return np.unique(np.concatenate([np.zeros(0, np.int64), *some]))


def _infeasible(phase: Phase, column: TermColumn, todo: Numbers, progress: Progress) -> Numbers:
    """Returns the classes that no removal can help, as far as a bound shows before any search."""
    if not len(todo):
        return todo
    if column.limit.surely_unreachable:
        raise _refused(phase, todo, "even with every term removed")
    if column.limit.kept_without_terms or not column.limit.distances:
        return todo[:0]
    rows = column.rows_of(phase.recoding, todo)
    return np.array(infeasible_among(rows, column.limit, phase.costs, progress=progress), np.int64)


def _solve(phase: Phase, column: TermColumn, todo: Numbers, progress: Progress) -> Numbers:
    """Finds answers for the classes that need one; returns those for which there is none."""
    rows, rule = column.rows_of(phase.recoding, todo), phase.rule

    def solved(some: Mapping[int, list[Terms]], *, strict: bool) -> None:
        found = solve_classes(
            some,
            column.limit,
            phase.costs,
            method=rule.method,
            seconds=phase.seconds,
            strict=strict,
            progress=progress,
        )
        erased = {c: _erased_if_none(phase, column, some[c], a) for c, a in found.items()}
        column.answers = {c: a for c, a in {**column.answers, **erased}.items() if a.found}

    solved(rows, strict=False)
    doubtful = np.flatnonzero(~column.judged(phase.recoding, column.gone(phase.recoding)))
    if again := [c for c in doubtful.tolist() if c in column.answers]:
        # rounding took a tie for kept that is not: this time without the benefit of the doubt
        for c in again:
            del column.answers[c]
        solved({c: rows[c] for c in again}, strict=True)
        _drop_wrong(phase, column)
    if rule.scope == "class":
        wide = {
            c: removed_from_all(rows[c], a, column.limit, phase.costs) if c in rows else a
            for c, a in column.answers.items()
        }
        column.answers = {c: a for c, a in wide.items() if a.found}
        _drop_wrong(phase, column)
    if column.limit.parts:
        for otherwise in (one_by_one, all_removed):
            left = {c: rows[c] for c in todo.tolist() if c not in column.answers}
            if left:
                column.answers |= otherwise(left, column.limit, phase.costs, rule.method, phase.seconds)
                _drop_wrong(phase, column)
    return todo[[c not in column.answers for c in todo.tolist()]]


def _drop_wrong(phase: Phase, column: TermColumn) -> None:
    """Forgets the answers with which a class breaks a promise."""
    for c in np.flatnonzero(~column.judged(phase.recoding, column.gone(phase.recoding))).tolist():
        column.answers.pop(c, None)


def _erased_if_none(
    phase: Phase, column: TermColumn, rows: list[Terms], answer: ClassSolution
) -> ClassSolution:
    """Returns the answer, or the removal of everything where the search ran out of time and that helps."""
    if answer.found or answer.proved or not column.limit.kept_without_terms:
        return answer
    cost = sum(phase.costs.whole(terms) for terms in rows)
    return ClassSolution(((),) * len(rows), cost, answer.bound, True, False)


def _merge_or_drop(phase: Phase, lost: Numbers) -> None:
    """Merges or drops classes that no removal can help; keeps the answers of all other classes."""
    old = phase.recoding
    if old.cuts is not None:
        phase.dropped += int(old.rows[lost].sum())
        if phase.dropped > phase.allowed or len(lost) == old.count:
            raise _refused(phase, lost, "by removing terms")
        new_class = _drop(phase, lost)
    elif old.count == 1:
        raise _refused(phase, lost, "as one class")
    else:
        new_class = _merge(phase, lost)
    before = phase.made_of
    phase.made_of = np.bincount(
        new_class[new_class >= 0], before[new_class >= 0], phase.recoding.count
    ).astype(np.int64)
    fresh = np.bincount(new_class[new_class >= 0], minlength=phase.recoding.count) > 1
    for column in phase.columns:
        moved = {int(new_class[c]): a for c, a in column.answers.items() if new_class[c] >= 0}
        column.answers = {c: a for c, a in moved.items() if not fresh[c]}


def _merge(phase: Phase, lost: Numbers) -> Numbers:
    """Merges every lost class with its nearest one; returns the new class of every class."""
    old = phase.recoding
    group = np.arange(old.count)

    def top(c: int) -> int:
        while group[c] != c:
            c = int(group[c])
        return c

    for c in lost.tolist():
        first, second = sorted((top(c), top(nearest_class(old, c))))
        group[second] = first
    root = np.array([top(c) for c in range(old.count)])
    _, number = np.unique(root, return_inverse=True)
    phase.recoding = merged_classes(old, number.ravel().astype(np.int32))
    new_class = np.full(old.count, -1, np.int64)
    kept = old.class_of >= 0
    new_class[old.class_of[kept]] = phase.recoding.class_of[kept]
    return new_class


def _drop(phase: Phase, lost: Numbers) -> Numbers:
    """Drops the rows of these classes; returns the new number of every class, or SUPPRESSED."""
    old = phase.recoding
    keep = np.ones(old.count, bool)
    keep[lost] = False
    new_class = np.where(keep, np.cumsum(keep) - 1, SUPPRESSED)
    number = np.append(new_class, SUPPRESSED).astype(np.int32)
    phase.recoding = replace(old, class_of=number[old.class_of], low=old.low[keep], high=old.high[keep])
    return new_class


def _refused(phase: Phase, lost: Numbers, how: str) -> Infeasible:
    recoding = phase.recoding
    rows = int(recoding.rows[lost].sum())
    promised = "; ".join(str(column.limit) for column in phase.columns)
    remedy = "Relax the promise."
    if recoding.cuts is not None:
        remedy = (
            f"Search by mondrian: it can merge such classes with their neighbours; or allow {phase.dropped}"
            " suppressed rows."
        )
    few = [recoding.texts(j) for j in range(len(recoding.table.keys))]
    names = [", ".join(str(texts[which[c]]) for texts, which in few) for c in lost[:MOST_NAMED].tolist()]
    where = f"{several(rows, 'row')} in {several(len(lost), 'class', 'classes')}"
    return Infeasible(f"{promised} cannot be kept {how} for {where}", remedy=remedy, values=names)


def _report(phase: Phase, removals: Sequence[Mapping[int, Terms]]) -> TermReport:
    costs, count = phase.costs, phase.recoding.count
    spent, whole, floor = ([0] * count for _ in range(3))
    proved, removed, held_terms = [True] * count, 0, 0
    for column, lost in zip(phase.columns, removals, strict=True):
        sets = column.sets
        for c, rows in enumerate(sets.members(phase.recoding)):
            held = [sets.terms[code] for code in sets.code[rows].tolist()]
            short = [lost.get(row, ()) for row in rows.tolist()]
            paid = sum(
                costs.paid(terms, set(terms) - set(gone)) for terms, gone in zip(held, short, strict=True)
            )
            answer = column.answers.get(c)
            spent[c] += paid
            whole[c] += sum(costs.whole(terms) for terms in held)
            floor[c] += answer.bound if answer else 0
            proved[c] &= (answer.proved and paid == answer.cost) if answer else not paid
            removed, held_terms = removed + sum(map(len, short)), held_terms + sum(map(len, held))

    def shares(units: Sequence[int]) -> tuple[Fraction, ...]:
        return tuple(Fraction(u, w) if w else Fraction(0) for u, w in zip(units, whole, strict=True))

    status = [SUPPRESSED_TERMS if units else SATISFIED for units in spent]
    return TermReport(
        tuple(MERGED if n > 1 else s for n, s in zip(phase.made_of.tolist(), status, strict=True)),
        shares(spent),
        shares(floor),
        tuple(proved),
        tuple(phase.made_of.tolist()),
        Fraction(sum(spent), sum(whole)) if sum(whole) else Fraction(0),
        removed,
        held_terms,
        phase.infeasible,
        phase.untold,
        phase.dropped,
    )
