"""Phase two: terms are removed from rows until every class keeps its quasi-sensitive promises."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.errors import Infeasible, SfumatoError
from sfumato.core.progress import Progress, silent
from sfumato.core.recoding import SUPPRESSED, Recoding
from sfumato.policy.set_columns import TermRule
from sfumato.protection.boxes import merged_classes, nearest_class, one_class_per_box
from sfumato.protection.term_removal.all_classes import infeasible_among, solve_classes
from sfumato.protection.term_removal.cost import Tariff
from sfumato.protection.term_removal.one_class import ClassSolution, TermLimit, Terms
from sfumato.protection.term_removal.report import MERGED, SATISFIED, SUPPRESSED_TERMS, TermReport
from sfumato.protection.term_removal.rows import TermRows
from sfumato.show.card import several

Numbers = NDArray[np.int64]

NAMED = 5
"""So many classes are named, to whoever asks for values, where they cannot be helped."""


@dataclass
class TermPart:
    """One column of term sets, what is promised of it, and the answers so far, by class."""

    sets: TermRows
    limit: TermLimit
    answers: dict[int, ClassSolution] = field(default_factory=dict)

    def classes(self, recoding: Recoding, gone: Mapping[int, Terms]) -> Classes:
        """The classes when these terms are gone."""
        column = self.limit.column
        if gone:
            recoding = replace(recoding, rewritten={column: self.sets.rewriting(gone)})
        return recoding.classes(recoding.class_of, (column,))

    def judged(self, recoding: Recoding, gone: Mapping[int, Terms]) -> NDArray[np.bool_]:
        """Which classes keep the promises when these terms are gone, exactly."""
        return self.limit.holds_on(self.classes(recoding, gone))

    def rows_of(self, recoding: Recoding, chosen: Numbers) -> dict[int, list[Terms]]:
        """The term sets of some classes."""
        members = self.sets.members(recoding)
        terms, code = self.sets.terms, self.sets.code
        return {int(c): [terms[code[row]] for row in members[c].tolist()] for c in chosen.tolist()}

    def gone(self, recoding: Recoding) -> dict[int, Terms]:
        """The terms that the answers remove, by row."""
        found: dict[int, Terms] = {}
        members = self.sets.members(recoding)
        for c, answer in self.answers.items():
            for row, kept in zip(members[c].tolist(), answer.kept, strict=True):
                all_terms = self.sets.terms[self.sets.code[row]]
                if len(kept) < len(all_terms):
                    found[row] = tuple(t for t in all_terms if t not in set(kept))
        return found


@dataclass
class Phase:
    """The state of phase two on one table. `made_of` counts the classes that each class was made of."""

    recoding: Recoding
    parts: tuple[TermPart, ...]
    rule: TermRule
    tariff: Tariff
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
        parts = tuple(TermPart(TermRows(recoding.table, limit.column), limit) for limit in limits)
        widest = max((len(terms) for part in parts for terms in part.sets.terms), default=0)
        start = one_class_per_box(recoding)
        tariff = Tariff(rule.cost, max(1, widest))
        return cls(start, parts, rule, tariff, allowed, np.ones(start.count, np.int64))

    @property
    def seconds(self) -> float:
        """What is left of the time."""
        return max(0.0, self.began + self.rule.seconds - time.monotonic())

    def open_in(self, part: TermPart) -> Numbers:
        """The classes that break a promise about a column and have no answer yet."""
        broken = np.flatnonzero(~part.judged(self.recoding, {}))
        return broken[[c not in part.answers for c in broken.tolist()]]

    def first_among(self, some: Numbers) -> int:
        """How many of these classes are what phase one made."""
        return int((self.made_of[some] == 1).sum())


def suppress_terms(
    recoding: Recoding,
    limits: Sequence[TermLimit],
    rule: TermRule,
    *,
    allowed: int = 0,
    progress: Progress = silent,
) -> tuple[Recoding, TermReport]:
    """A recoding in which every class keeps its limits, with as few terms removed as the method finds.

    Classes that no removal can help are told before anything is searched for. Such a class is merged with its
    nearest class where classes are recoded one by one, its rows starting again with all their terms; under
    one recoding for all classes its rows are suppressed if `allowed` more rows may be. If neither helps,
    `Infeasible` is raised: what breaks a promise is never returned. There is one limit per column.
    """
    phase = Phase.of(recoding, limits, rule, allowed=allowed)
    while True:
        todo = [(part, phase.open_in(part)) for part in phase.parts]
        lost = _union(_infeasible(phase, part, some, progress) for part, some in todo)
        if not len(lost):
            lost = _union(_solve(phase, part, some, progress) for part, some in todo if len(some))
            phase.untold += phase.first_among(lost)
        if not len(lost):
            break
        phase.infeasible += phase.first_among(lost)
        _join_or_drop(phase, lost)
    gone = [part.gone(phase.recoding) for part in phase.parts]
    if rule.margin:
        from sfumato.protection.term_removal.margin import with_margin  # noqa: PLC0415

        share = float(rule.margin)
        gone = [with_margin(phase.recoding, p, g, share) for p, g in zip(phase.parts, gone, strict=True)]
    for part, lost_terms in zip(phase.parts, gone, strict=True):
        if not part.judged(phase.recoding, lost_terms).all():
            raise SfumatoError(f"the removal of terms broke {part.limit}", remedy="This is a bug.")
    written = {p.limit.column: p.sets.rewriting(g) for p, g in zip(phase.parts, gone, strict=True) if g}
    result = replace(phase.recoding, rewritten=written) if written else phase.recoding
    return result, _report(phase, gone)


def _union(some: Iterable[Numbers]) -> Numbers:
    return np.unique(np.concatenate([np.zeros(0, np.int64), *some]))


def _infeasible(phase: Phase, part: TermPart, todo: Numbers, progress: Progress) -> Numbers:
    """The classes that no removal can help, as far as that can be told before any search."""
    if not len(todo):
        return todo
    if not all(p.reachable for p in part.limit.ratios):
        raise _refused(phase, todo, "even with every term removed")
    if part.limit.reached_by_nothing or not part.limit.distances:
        return todo[:0]
    rows = part.rows_of(phase.recoding, todo)
    return np.array(infeasible_among(rows, part.limit, phase.tariff, progress=progress), np.int64)


def _solve(phase: Phase, part: TermPart, todo: Numbers, progress: Progress) -> Numbers:
    """Answers for the classes that need one; those for which there is none are returned."""
    rows, rule = part.rows_of(phase.recoding, todo), phase.rule

    def solved(some: Mapping[int, list[Terms]], *, strict: bool) -> None:
        found = solve_classes(
            some,
            part.limit,
            phase.tariff,
            method=rule.method,
            seconds=phase.seconds,
            strict=strict,
            progress=progress,
        )
        erased = {c: _erased_if_none(phase, part, some[c], a) for c, a in found.items()}
        part.answers = {c: a for c, a in {**part.answers, **erased}.items() if a.found}

    solved(rows, strict=False)
    doubtful = np.flatnonzero(~part.judged(phase.recoding, part.gone(phase.recoding)))
    if again := [c for c in doubtful.tolist() if c in part.answers]:
        # rounding took a tie for kept that is not: this time without the benefit of the doubt
        for c in again:
            del part.answers[c]
        solved({c: rows[c] for c in again}, strict=True)
        for c in np.flatnonzero(~part.judged(phase.recoding, part.gone(phase.recoding))).tolist():
            part.answers.pop(c, None)
    return todo[[c not in part.answers for c in todo.tolist()]]


def _erased_if_none(phase: Phase, part: TermPart, rows: list[Terms], answer: ClassSolution) -> ClassSolution:
    """Where a search ran out of time, everything goes, if that keeps the promises."""
    if answer.found or answer.proved or not part.limit.reached_by_nothing:
        return answer
    cost = sum(int(phase.tariff.table[len(terms), len(terms)]) for terms in rows)
    return ClassSolution(((),) * len(rows), cost, answer.bound, True, False)


def _join_or_drop(phase: Phase, lost: Numbers) -> None:
    """Deal with classes that no removal can help; answers of classes that stay as they are, are kept."""
    old = phase.recoding
    if old.cuts is not None:
        phase.dropped += int(old.rows[lost].sum())
        if phase.dropped > phase.allowed or len(lost) == old.count:
            raise _refused(phase, lost, "by removing terms")
        place = _drop(phase, lost)
    elif old.count == 1:
        raise _refused(phase, lost, "as one class")
    else:
        place = _merge(phase, lost)
    before = phase.made_of
    phase.made_of = np.bincount(place[place >= 0], before[place >= 0], phase.recoding.count).astype(np.int64)
    fresh = np.bincount(place[place >= 0], minlength=phase.recoding.count) > 1
    for part in phase.parts:
        moved = {int(place[c]): a for c, a in part.answers.items() if place[c] >= 0}
        part.answers = {c: a for c, a in moved.items() if not fresh[c]}


def _merge(phase: Phase, lost: Numbers) -> Numbers:
    """Join every lost class with its nearest one; the new class of every class."""
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
    place = np.full(old.count, -1, np.int64)
    kept = old.class_of >= 0
    place[old.class_of[kept]] = phase.recoding.class_of[kept]
    return place


def _drop(phase: Phase, lost: Numbers) -> Numbers:
    """Leave the rows of these classes unpublished; the new number of every class, or SUPPRESSED."""
    old = phase.recoding
    keep = np.ones(old.count, bool)
    keep[lost] = False
    place = np.where(keep, np.cumsum(keep) - 1, SUPPRESSED)
    number = np.append(place, SUPPRESSED).astype(np.int32)
    phase.recoding = replace(old, class_of=number[old.class_of], low=old.low[keep], high=old.high[keep])
    return place


def _refused(phase: Phase, lost: Numbers, how: str) -> Infeasible:
    recoding = phase.recoding
    rows = int(recoding.rows[lost].sum())
    promised = "; ".join(str(part.limit) for part in phase.parts)
    remedy = "Relax the promise."
    if recoding.cuts is not None:
        remedy = (
            f"Search by mondrian: it can merge such classes with their neighbours; or allow {phase.dropped}"
            " suppressed rows."
        )
    few = [recoding.texts(j) for j in range(len(recoding.table.keys))]
    names = [", ".join(str(texts[which[c]]) for texts, which in few) for c in lost[:NAMED].tolist()]
    where = f"{several(rows, 'row')} in {several(len(lost), 'class', 'classes')}"
    return Infeasible(f"{promised} cannot be kept {how} for {where}", remedy=remedy, values=names)


def _report(phase: Phase, gone: Sequence[Mapping[int, Terms]]) -> TermReport:
    tariff, count = phase.tariff, phase.recoding.count
    spent, whole, floor = ([0] * count for _ in range(3))
    proved, removed, terms = [True] * count, 0, 0
    for part, lost in zip(phase.parts, gone, strict=True):
        sets = part.sets
        for c, rows in enumerate(sets.members(phase.recoding)):
            widths = [len(sets.terms[code]) for code in sets.code[rows].tolist()]
            short = [len(lost.get(row, ())) for row in rows.tolist()]
            paid = sum(int(tariff.table[w, v]) for w, v in zip(widths, short, strict=True))
            answer = part.answers.get(c)
            spent[c] += paid
            whole[c] += sum(int(tariff.table[w, w]) for w in widths)
            floor[c] += answer.bound if answer else 0
            proved[c] &= (answer.proved and paid == answer.cost) if answer else not paid
            removed, terms = removed + sum(short), terms + sum(widths)

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
        terms,
        phase.infeasible,
        phase.untold,
        phase.dropped,
    )
