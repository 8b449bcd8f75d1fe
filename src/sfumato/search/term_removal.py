"""Phase two: terms are removed from rows until every class keeps its quasi-sensitive promises."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.policy.columns import TermRule
from sfumato.search.class_term_removal import (
    RARITY,
    ClassSolution,
    Clock,
    RemovalCosts,
    SolverBudget,
    TermLimit,
    Terms,
    all_terms_removed,
    out_of_reach,
    solve_class,
)
from sfumato.search.suppression import merged_classes, nearest_class, one_class_per_box
from sfumato.system.errors import Infeasible, SfumatoError
from sfumato.system.presentation.cards import pluralize
from sfumato.system.progress import Progress, silent
from sfumato.table.arrays import written
from sfumato.table.classes import Classes
from sfumato.table.microdata import Microdata, shortened, tagged, terms_of, untagged
from sfumato.table.recoding import SUPPRESSED, Recoding, Rewriting
from sfumato.table.taxonomy import Taxonomy

# The report of phase two: what became of every class's terms.

STATUS = SATISFIED, SUPPRESSED_TERMS, MERGED = "satisfied", "suppressed", "merged"
INFEASIBLE = "infeasible"


@dataclass(frozen=True, eq=False)
class TermReport:
    """What became of every class's terms.

    `status` of a published class is satisfied (nothing had to go), suppressed, or merged: joined with the
    classes nearest to it because one of them was infeasible, with or without terms removed; `made_of` counts
    those classes. `cost` is T per class, 0 where nothing is gone and 1 where all is; `bound` a cost below
    which none is; `proved` says that they meet. `total` is T of the whole table: `removed` of `terms` terms
    are gone.

    `infeasible` counts the classes that no removal could help: before any search a bound told so, for all but
    `untold` of them. They were merged, or their rows, `dropped` in all, are not published.
    """

    status: tuple[str, ...]
    cost: tuple[Fraction, ...]
    bound: tuple[Fraction, ...]
    proved: tuple[bool, ...]
    made_of: tuple[int, ...]
    total: Fraction
    removed: int
    terms: int
    infeasible: int = 0
    untold: int = 0
    dropped: int = 0

    def count(self, status: str) -> int:
        """Counts the classes with this status."""
        return self.infeasible if status == INFEASIBLE else sum(s == status for s in self.status)

    def lines(self) -> tuple[str, ...]:
        """Returns the report in words."""
        costly = [p for s, p in zip(self.status, self.proved, strict=True) if s != SATISFIED]
        sure = f"; {sum(costly)} of {len(costly)} answers proved the cheapest" if costly else ""
        lines = [
            f"{self.removed} of {self.terms} terms removed, cost T = {float(self.total):.4g}",
            f"classes: {', '.join(f'{self.count(s)} {s}' for s in STATUS)}{sure}",
        ]
        if self.infeasible:
            joined = sum(n for n, s in zip(self.made_of, self.status, strict=True) if s == MERGED)
            after = f"{pluralize(self.dropped, 'row')} left out" if self.dropped else f"{joined} merged"
            late = f", {self.untold} of them found by the search" if self.untold else ""
            lines.append(f"infeasible: {pluralize(self.infeasible, 'class', 'classes')}{late}; {after}")
        return tuple(lines)

    def as_dict(self) -> dict[str, object]:
        """Returns JSON; classes that needed nothing are counted, not listed."""
        return {
            "removed": self.removed,
            "terms": self.terms,
            "cost": float(self.total),
            "dropped": self.dropped,
            "classes": {s: self.count(s) for s in (*STATUS, INFEASIBLE)},
            "proved": sum(self.proved),
            "by_class": [self._line(c) for c, s in enumerate(self.status) if s != SATISFIED],
        }

    def _line(self, c: int) -> dict[str, object]:
        return {
            "class": c,
            "status": self.status[c],
            "made_of": self.made_of[c],
            "cost": written(self.cost[c]),
            "bound": written(self.bound[c]),
            "proved": self.proved[c],
        }


# Removal from whole classes: a term that goes from one row of a class goes from all of its rows.
#
# Whoever knows that no more is removed than has to be learns from a row that lacks a term which others of its
# class still show. Where the term is gone from all rows, which of them had it is not told.

BUDGET = SolverBudget(nodes=20_000)


def removed_from_all(
    rows: Sequence[Terms], answer: ClassSolution, limit: TermLimit, costs: RemovalCosts
) -> ClassSolution:
    """Returns the answer with its terms removed from every row, and further ones where the class then breaks
    a promise: fewer terms may tell more. It is not claimed to be the cheapest of its kind.

    >>> from fractions import Fraction
    >>> from sfumato.models.quasi_sensitive.knowledge import Knowledge
    >>> from sfumato.models.quasi_sensitive.promise import QuasiSensitiveDiversity
    >>> known = Knowledge.of([("Flu", ["fever", "cough"]), ("Cold", ["cough", "sneeze"])])
    >>> limit = TermLimit.of(QuasiSensitiveDiversity("symptoms", known, l=2, c=Fraction(2)))
    >>> rows, costs = [("cough", "fever"), ("cough", "fever"), ("cough",)], RemovalCosts("inverse", 2)
    >>> one = solve_class(rows, limit, costs, SolverBudget())
    >>> one.kept, removed_from_all(rows, one, limit, costs).kept
    ((('cough',), ('cough', 'fever'), ('cough',)), (('cough',), ('cough',), ('cough',)))
    """
    remaining, gone = answer.kept, set[str]()
    start: Sequence[Terms] = rows
    while True:
        gone |= {term for row, left in zip(start, remaining, strict=True) for term in row if term not in left}
        start = tuple(tuple(term for term in row if term not in gone) for row in rows)
        cost = sum(costs.paid(row, left) for row, left in zip(rows, start, strict=True))
        solution = solve_class(start, limit, costs, BUDGET)
        if not solution.found or solution.kept == start:
            return ClassSolution(tuple(start), cost, answer.bound, solution.found, False)
        remaining = solution.kept


# The term sets of a table, row by row.


@dataclass(frozen=True, eq=False)
class TermRows:
    """The term sets of a table's rows, one entry per row (copies of a distinct row one after the other)."""

    table: Microdata
    column: str

    @cached_property
    def row(self) -> NDArray[np.int64]:
        """The distinct row of every row."""
        return np.repeat(np.arange(self.table.distinct), self.table.counts)

    @cached_property
    def texts(self) -> tuple[str | None, ...]:
        return self.table.column(self.column).taxonomy.leaf_labels

    @cached_property
    def terms(self) -> tuple[Terms, ...]:
        """The terms of every leaf of the column."""
        return tuple(terms_of(text) for text in self.texts)

    @cached_property
    def code(self) -> NDArray[np.int64]:
        """The leaf of every row."""
        return self.table.codes(self.column)[self.row].astype(np.int64)

    @cached_property
    def rows_of_leaf(self) -> list[int]:
        """How many rows have each leaf of the column."""
        counted: list[int] = np.bincount(self.code, minlength=len(self.texts)).tolist()
        return counted

    @cached_property
    def tree(self) -> Taxonomy:
        return self.table.column(self.column).taxonomy

    def members(self, recoding: Recoding) -> list[NDArray[np.int64]]:
        """Returns the rows of every class."""
        owner = recoding.class_of[self.row]
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(recoding.count + 1))
        return [order[bounds[c] : bounds[c + 1]] for c in range(recoding.count)]

    def rewritten(self, gone: Mapping[int, Terms]) -> dict[str, Rewriting]:
        """Returns what rows publish, column by column, when these terms of these rows are gone."""
        joint = next((j for j in self.table.joints if j.name == self.column), None)
        if joint is None:
            return {self.column: _rewriting(self.table, self.column, self.row, gone)} if gone else {}
        written = {}
        for number, part in enumerate(joint.parts):
            own = {row: tuple(untagged(number, terms)) for row, terms in gone.items()}
            if any(own.values()):
                written[part] = _rewriting(self.table, part, self.row, own)
        return written


def _rewriting(table: Microdata, column: str, row: NDArray[np.int64], gone: Mapping[int, Terms]) -> Rewriting:
    """Returns what rows publish in one column when these terms of these rows are gone."""
    leaves = table.column(column).taxonomy.leaf_labels
    texts = [leaves[c] for c in table.codes(column)[row].tolist()]
    for place, terms in gone.items():
        texts[place] = shortened(texts[place], terms)
    labels = sorted(set(texts), key=lambda text: (text is None, text or ""))
    rank = {label: i for i, label in enumerate(labels)}
    return Rewriting(Taxonomy.flat(labels), np.array([rank[text] for text in texts], np.int32))


# A column of term sets in phase two: its rows, its limit, and the answers so far.

Numbers = NDArray[np.int64]


@dataclass
class TermColumn:
    """One column of term sets, its limit, and the answers so far, by class."""

    sets: TermRows
    limit: TermLimit
    answers: dict[int, ClassSolution] = field(default_factory=dict)

    def classes(self, recoding: Recoding, gone: Mapping[int, Terms]) -> Classes:
        """Returns the classes when these terms are gone."""
        if gone:
            recoding = replace(recoding, rewritten=self.sets.rewritten(gone))
        return recoding.classes(recoding.class_of, self.limit.promises.sensitive)

    def judged(self, recoding: Recoding, gone: Mapping[int, Terms]) -> NDArray[np.bool_]:
        """Flags the classes that keep the promises when these terms are gone, exactly."""
        return self.limit.holds_on(self.classes(recoding, gone))

    def rows_of(self, recoding: Recoding, chosen: Numbers) -> dict[int, list[Terms]]:
        """Returns the term sets of some classes."""
        members = self.sets.members(recoding)
        terms, code = self.sets.terms, self.sets.code
        return {int(c): [terms[code[row]] for row in members[c].tolist()] for c in chosen.tolist()}

    def gone(self, recoding: Recoding) -> dict[int, Terms]:
        """Returns the terms that the answers remove, by row."""
        removed: dict[int, Terms] = {}
        members = self.sets.members(recoding)
        for c, answer in self.answers.items():
            for row, remaining in zip(members[c].tolist(), answer.kept, strict=True):
                all_terms = self.sets.terms[self.sets.code[row]]
                if len(remaining) < len(all_terms):
                    removed[row] = tuple(t for t in all_terms if t not in set(remaining))
        return removed


# A margin against whoever knows that no more was removed than had to be.

MOST_TRIES = 4
"""So often terms are drawn anew for classes that would break the promise."""


def with_margin(
    recoding: Recoding,
    column: TermColumn,
    gone: Mapping[int, Terms],
    share: float,
) -> dict[int, Terms]:
    """Removes each remaining term with the probability `share`, where the promise still holds.

    Every class takes part, also those that needed no removal, so that a removal alone says nothing. A class
    that would break the promise is dealt with anew, a few times; if it still would, it gets none.
    Chance comes from the system: it must not be repeatable by outsiders.
    """
    rng = np.random.default_rng()
    sets = column.sets
    removed = dict(gone)
    owner = recoding.class_of[sets.row]
    waiting = np.ones(recoding.count, bool)
    for _ in range(MOST_TRIES):
        tried = dict(removed)
        for row in np.flatnonzero((owner >= 0) & waiting[owner]).tolist():
            terms = sets.terms[sets.code[row]]
            lost = set(gone.get(row, ()))
            chances = rng.random(len(terms)).tolist()
            more = {t for t, chance in zip(terms, chances, strict=True) if chance < share}
            if more - lost:
                tried[row] = tuple(t for t in terms if t in more | lost)
        holds = column.judged(recoding, tried)
        accepted = waiting & holds
        removed |= {row: terms for row, terms in tried.items() if accepted[owner[row]]}
        waiting &= ~holds
        if not waiting.any():
            break
    return removed


# All classes of a table: each solved by itself, in parallel, within one deadline.

FIRST_PASS = SolverBudget(rounds=60, nodes=20_000)
"""What every class is given; what it proves depends on no clock."""
SECOND_PASS = SolverBudget(rounds=400, nodes=1 << 40)
"""What classes without proof are given while time is left."""
AFTER_DEADLINE = SolverBudget(rounds=10, nodes=0)
"""What a class is given when time is up: an answer that keeps the promise, perhaps a costly one."""

REACH_CHECK = SolverBudget(rounds=100)
"""What a class is given to be found out of reach."""

Rows = Sequence[Terms]


def infeasible_among(
    classes: Mapping[int, Rows], limit: TermLimit, costs: RemovalCosts, *, progress: Progress = silent
) -> list[int]:
    """Returns the classes that no removal can help, as far as a bound shows; searches for nothing."""
    infeasible = []
    with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        numbers = sorted(classes)
        results = pool.map(lambda c: out_of_reach(classes[c], limit, costs, REACH_CHECK), numbers)
        for done, (c, lost) in enumerate(zip(numbers, results, strict=True), start=1):
            if lost:
                infeasible.append(c)
            progress("reach", done, len(numbers))
    return infeasible


def solve_classes(
    classes: Mapping[int, Rows],
    limit: TermLimit,
    costs: RemovalCosts,
    *,
    method: str = "exact",
    seconds: float = 60.0,
    each: float | None = None,
    strict: bool = False,
    progress: Progress = silent,
) -> dict[int, ClassSolution]:
    """Returns an answer for every class. `each` gives every class the same seconds of work, whatever else the
    machine is busy with, instead of a share of the time.

    Classes are independent of each other. The exact method works in two passes: the first does the same work
    for every class, the second spends what is left of the time on classes whose answer is not proved. If time
    does not run out, the result depends on nothing but the classes.
    """
    deadline = time.monotonic() + seconds
    workers = max(1, os.cpu_count() or 1)
    answers: dict[int, ClassSolution] = {}
    with Clock() as clock, ThreadPoolExecutor(workers) as pool:

        def one(index: int, budget: SolverBudget, until: Callable[[], float]) -> tuple[int, ClassSolution]:
            stop = clock.flag(until=until(), work=each)
            try:
                tried = replace(budget, method=method, strict=strict, stop=stop)
                return index, solve_class(classes[index], limit, costs, tried)
            finally:
                clock.forget(stop)

        def all_of(numbers: Sequence[int], budget: SolverBudget, label: str) -> None:
            left = [len(numbers)]

            def until() -> float:
                now = time.monotonic()
                if method == "exact":
                    return deadline
                return now + max(0.0, deadline - now) * workers / max(1, left[0])

            def task(index: int) -> tuple[int, ClassSolution]:
                late = each is None and time.monotonic() >= deadline
                if late and method == "exact":
                    return one(index, AFTER_DEADLINE, lambda: float("inf"))
                return one(index, budget, until)

            for index, answer in pool.map(task, numbers):
                left[0] -= 1
                if index not in answers or _better(answer, answers[index]):
                    answers[index] = answer
                progress(label, len(numbers) - left[0], len(numbers))

        single = method != "exact" or each is not None
        all_of(sorted(classes), SECOND_PASS if single else FIRST_PASS, "terms")
        open_ = [i for i in sorted(classes) if not answers[i].proved]
        if not single and open_ and time.monotonic() < deadline:
            seconds_each = max(0.05, (deadline - time.monotonic()) * workers / len(open_))

            def again(index: int) -> tuple[int, ClassSolution]:
                now = time.monotonic()
                if now >= deadline:
                    return index, answers[index]
                return one(index, SECOND_PASS, lambda: min(deadline, now + seconds_each))

            for done, (index, answer) in enumerate(pool.map(again, open_), start=1):
                if _better(answer, answers[index]):
                    answers[index] = answer
                progress("proofs", done, len(open_))
    return answers


def _better(new: ClassSolution, old: ClassSolution) -> bool:
    return (new.found, new.proved, -new.cost, new.bound) > (old.found, old.proved, -old.cost, old.bound)


# Answers for classes whose columns are judged together, and each of them alone as well.
#
# The search removes terms for what all columns say together. That may leave what one of them says alone, or
# two of three, beyond its limit: none of these implies another. Then columns are dealt with one after the
# other, and at last every term goes. Who asks checks what comes out.

ClassRows = Mapping[int, list[Terms]]


def one_by_one(
    classes: ClassRows, limit: TermLimit, costs: RemovalCosts, method: str, seconds: float
) -> dict[int, ClassSolution]:
    """Returns answers that keep what each column says alone, then what is left says together, where found."""
    remaining = {c: list(rows) for c, rows in classes.items()}
    for number, column in enumerate(limit.parts):
        own = {c: [tuple(untagged(number, terms)) for terms in rows] for c, rows in remaining.items()}
        solutions = solve_classes(own, limit.alone(column), costs, method=method, seconds=seconds)
        for c, answer in solutions.items():
            if answer.found:
                pairs = zip(remaining[c], answer.kept, strict=True)
                remaining[c] = [_with_part(terms, number, left) for terms, left in pairs]
    together = solve_classes(remaining, limit, costs, method=method, seconds=seconds)
    return {c: _answer(classes[c], together[c].kept, costs) for c in classes if together[c].found}


def all_removed(
    classes: ClassRows, limit: TermLimit, costs: RemovalCosts, method: str, seconds: float
) -> dict[int, ClassSolution]:
    """Returns the answers that need no search: every term of every column removed."""
    del limit, method, seconds
    return {c: _answer(rows, tuple(() for _ in rows), costs) for c, rows in classes.items()}


def _with_part(terms: Terms, number: int, left: Terms) -> Terms:
    """Returns joint terms with only these of one part left."""
    stays = {*tagged(number, left)}
    own = {*tagged(number, untagged(number, terms))}
    return tuple(term for term in terms if term not in own or term in stays)


def _answer(rows: list[Terms], remaining: tuple[Terms, ...], costs: RemovalCosts) -> ClassSolution:
    cost = sum(costs.paid(row, left) for row, left in zip(rows, remaining, strict=True))
    return ClassSolution(remaining, cost, 0, found=True, proved=False)


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

    def first_among(self, numbers: Numbers) -> int:
        """Counts those of these classes that are as phase one made them."""
        return int((self.made_of[numbers] == 1).sum())


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
        lost = _union(_infeasible(phase, column, numbers, progress) for column, numbers in todo)
        if not len(lost):
            todo = [(column, numbers) for column, numbers in todo if len(numbers)]
            lost = _union(_solve(phase, column, numbers, progress) for column, numbers in todo)
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


def _union(sets: Iterable[Numbers]) -> Numbers:
    return np.unique(np.concatenate([np.zeros(0, np.int64), *sets]))


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

    def solved(todo: Mapping[int, list[Terms]], *, strict: bool) -> None:
        solutions = solve_classes(
            todo,
            column.limit,
            phase.costs,
            method=rule.method,
            seconds=phase.seconds,
            strict=strict,
            progress=progress,
        )
        erased = {c: _erased_if_none(phase, column, todo[c], a) for c, a in solutions.items()}
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
        for c in column.answers.keys() & rows.keys():
            column.answers[c] = removed_from_all(rows[c], column.answers[c], column.limit, phase.costs)
        column.answers = {c: a for c, a in column.answers.items() if a.found}
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
    return replace(all_terms_removed(rows, column.limit, phase.costs), bound=answer.bound)


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
    left, count = new_class >= 0, phase.recoding.count
    phase.made_of = np.bincount(new_class[left], phase.made_of[left], count).astype(np.int64)
    fresh = np.bincount(new_class[left], minlength=count) > 1
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
    published = old.class_of >= 0
    new_class[old.class_of[published]] = phase.recoding.class_of[published]
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
        remedy = "Search by mondrian: it can merge such classes with their neighbours; or allow"
        remedy += f" {phase.dropped} suppressed rows."
    few = [recoding.texts(j) for j in range(len(recoding.table.keys))]
    names = [", ".join(str(texts[which[c]]) for texts, which in few) for c in lost[:MOST_NAMED].tolist()]
    where = f"{pluralize(rows, 'row')} in {pluralize(len(lost), 'class', 'classes')}"
    return Infeasible(f"{promised} cannot be kept {how} for {where}", remedy=remedy, values=names)


def _report(phase: Phase, removals: Sequence[Mapping[int, Terms]]) -> TermReport:
    costs, count = phase.costs, phase.recoding.count
    spent, whole, floor = ([0] * count for _ in range(3))
    proved, removed, held_terms = [True] * count, 0, 0
    for column, lost in zip(phase.columns, removals, strict=True):
        sets = column.sets
        for c, rows in enumerate(sets.members(phase.recoding)):
            row_terms = [sets.terms[code] for code in sets.code[rows].tolist()]
            short = [lost.get(row, ()) for row in rows.tolist()]
            pairs = zip(row_terms, short, strict=True)
            paid = sum(costs.paid(terms, set(terms) - set(gone)) for terms, gone in pairs)
            answer = column.answers.get(c)
            spent[c] += paid
            whole[c] += sum(costs.whole(terms) for terms in row_terms)
            floor[c] += answer.bound if answer else 0
            proved[c] &= (answer.proved and paid == answer.cost) if answer else not paid
            removed, held_terms = removed + sum(map(len, short)), held_terms + sum(map(len, row_terms))

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
