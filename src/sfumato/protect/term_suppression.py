"""Phase two: terms are removed from rows until every class keeps a quasi-sensitive promise."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.declare.term_rule import TermRule
from sfumato.protect.boxes import joined, nearest, one_class_per_box
from sfumato.protect.term_class import Answer, Limit, QuasiSensitive, Terms
from sfumato.protect.term_classes import solve_classes
from sfumato.protect.term_cost import Tariff
from sfumato.terms.classes import Classes
from sfumato.terms.errors import Infeasible, SfumatoError
from sfumato.terms.microdata import Microdata
from sfumato.terms.progress import Progress, silent
from sfumato.terms.recoding import SUPPRESSED, Recoding, Rewriting
from sfumato.terms.taxonomy import Taxonomy
from sfumato.terms.term_sets import shortened, terms_of

STATUS = SATISFIED, SUPPRESSED_TERMS, MERGED = "satisfied", "suppressed", "merged"


@dataclass(frozen=True, eq=False)
class TermReport:
    """What became of every class's terms.

    `status` of a class is satisfied (nothing had to go), suppressed, or merged (with the classes nearest to
    it, with or without terms removed). `cost` is T per class, 0 where nothing is gone and 1 where all is;
    `bound` a cost below which none is; `proved` says that they meet. `total` is T of the whole table.
    `removed` of `terms` terms are gone.
    """

    status: tuple[str, ...]
    cost: tuple[Fraction, ...]
    bound: tuple[Fraction, ...]
    proved: tuple[bool, ...]
    total: Fraction
    removed: int
    terms: int
    dropped: int = 0

    def count(self, status: str) -> int:
        """How many classes have this status."""
        return sum(s == status for s in self.status)

    def lines(self) -> tuple[str, ...]:
        """The report in words."""
        costly = [p for s, p in zip(self.status, self.proved, strict=True) if s != SATISFIED]
        sure = f"; {sum(costly)} of {len(costly)} answers proved the cheapest" if costly else ""
        return (
            f"{self.removed} of {self.terms} terms removed, cost T = {float(self.total):.4g}",
            f"classes: {', '.join(f'{self.count(s)} {s}' for s in STATUS)}{sure}",
        )

    def as_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "removed": self.removed,
            "terms": self.terms,
            "cost": float(self.total),
            "dropped": self.dropped,
            "classes": {s: self.count(s) for s in STATUS},
            "proved": sum(self.proved),
        }


@dataclass(frozen=True, eq=False)
class Sets:
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
    def tree(self) -> Taxonomy:
        return self.table.column(self.column).taxonomy

    def members(self, recoding: Recoding) -> list[NDArray[np.int64]]:
        """The rows of every class."""
        owner = recoding.class_of[self.row]
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(recoding.count + 1))
        return [order[bounds[c] : bounds[c + 1]] for c in range(recoding.count)]

    def rewriting(self, gone: Mapping[int, Terms]) -> Rewriting:
        """What rows publish when these terms of these rows are gone."""
        texts = [self.texts[c] for c in self.code.tolist()]
        for row, terms in gone.items():
            texts[row] = shortened(texts[row], terms)
        labels = sorted(set(texts), key=lambda text: (text is None, text or ""))
        rank = {label: i for i, label in enumerate(labels)}
        return Rewriting(Taxonomy.flat(labels), np.array([rank[text] for text in texts], np.int32))


@dataclass
class Phase:
    """The state of phase two on one table."""

    recoding: Recoding
    sets: Sets
    limit: Limit
    rule: TermRule
    tariff: Tariff
    answers: dict[int, Answer] = field(default_factory=dict)
    merged: set[int] = field(default_factory=set)
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """What is left of the time."""
        return max(0.0, self.began + self.rule.seconds - time.monotonic())

    @property
    def promise(self) -> QuasiSensitive:
        return self.limit.promise

    def judged(self, gone: Mapping[int, Terms]) -> NDArray[np.bool_]:
        """Which classes keep the promise when these terms are gone, exactly."""
        return self.promise.holds_on(self.classes(gone))

    def classes(self, gone: Mapping[int, Terms]) -> Classes:
        new = self.rewritten(gone)
        return new.classes(new.class_of, (self.promise.of,))

    def rewritten(self, gone: Mapping[int, Terms]) -> Recoding:
        return replace(self.recoding, rewritten={self.promise.of: self.sets.rewriting(gone)})

    def rows_of(self, chosen: NDArray[np.integer]) -> dict[int, list[Terms]]:
        members = self.sets.members(self.recoding)
        terms, code = self.sets.terms, self.sets.code
        return {int(c): [terms[code[row]] for row in members[c].tolist()] for c in chosen.tolist()}

    def gone(self) -> dict[int, Terms]:
        """The terms that the answers remove, by row."""
        found: dict[int, Terms] = {}
        members = self.sets.members(self.recoding)
        for c, answer in self.answers.items():
            for row, kept in zip(members[c].tolist(), answer.kept, strict=True):
                all_terms = self.sets.terms[self.sets.code[row]]
                if len(kept) < len(all_terms):
                    found[row] = tuple(t for t in all_terms if t not in set(kept))
        return found


def suppress_terms(
    recoding: Recoding,
    promise: QuasiSensitive,
    rule: TermRule,
    *,
    allowed: int = 0,
    progress: Progress = silent,
) -> tuple[Recoding, TermReport]:
    """A recoding in which every class keeps the promise, with as few terms removed as the method finds.

    A class that no removal can help is merged with its nearest class where classes are recoded one by one,
    its rows starting again with all their terms; under one recoding for all classes its rows are suppressed
    if `allowed` more rows may be. If neither helps, `Infeasible` is raised: what breaks the promise is never
    returned. `promise` must know its prior.
    """
    sets = Sets(recoding.table, promise.of)
    widest = max((len(terms) for terms in sets.terms), default=0)
    tariff = Tariff(rule.cost, max(1, widest))
    phase = Phase(one_class_per_box(recoding), sets, Limit.of(promise), rule, tariff)
    hopeless = getattr(promise, "reachable", True) is False
    todo = np.flatnonzero(~phase.judged({}))
    if hopeless and len(todo):
        raise _infeasible(phase, todo, "even with every term removed")
    dropped = 0
    while len(todo):
        failed = _solve(phase, todo, progress)
        if not len(failed):
            break
        if phase.recoding.cuts is not None:
            dropped = int(phase.recoding.rows[failed].sum())
            if dropped > allowed or len(failed) == phase.recoding.count:
                raise _infeasible(phase, failed, "by removing terms")
            _drop(phase, failed)
            break
        if phase.recoding.count == 1:
            raise _infeasible(phase, failed, "as one class")
        todo = _merge(phase, failed)
    gone = phase.gone()
    if rule.margin:
        from sfumato.protect.term_margin import with_margin  # noqa: PLC0415

        gone = with_margin(phase, gone)
    if not phase.judged(gone).all():
        raise SfumatoError(f"the removal of terms broke {promise}", remedy="This is a bug.")
    return (phase.rewritten(gone) if gone else phase.recoding), _report(phase, gone, dropped)


def _solve(phase: Phase, todo: NDArray[np.int64], progress: Progress) -> NDArray[np.int64]:
    """Answers for the classes that need one; those for which there is none are returned."""
    rows, rule = phase.rows_of(todo), phase.rule
    found = solve_classes(
        rows,
        phase.limit,
        phase.tariff,
        method=rule.method,
        seconds=phase.seconds,
        progress=progress,
    )
    phase.answers.update({c: _erased_if_none(phase, rows[c], a) for c, a in found.items()})
    failed = {c for c in found if not phase.answers[c].found}
    for c in failed:
        del phase.answers[c]
    doubtful = np.flatnonzero(~phase.judged(phase.gone()))
    again = [c for c in doubtful.tolist() if c in phase.answers]
    if again:  # rounding took a tie for kept that is not: this time without the benefit of the doubt
        strict = {c: rows[c] for c in again}
        more = solve_classes(
            strict, phase.limit, phase.tariff, method=rule.method, seconds=phase.seconds, strict=True
        )
        phase.answers.update({c: _erased_if_none(phase, rows[c], a) for c, a in more.items()})
        still = np.flatnonzero(~phase.judged(phase.gone())).tolist()
        failed |= {c for c in again if c in still or not phase.answers[c].found}
        for c in failed & set(phase.answers):
            del phase.answers[c]
    return np.array(sorted(failed), np.int64)


def _erased_if_none(phase: Phase, rows: list[Terms], answer: Answer) -> Answer:
    """Where a search ran out of time, everything goes, if that keeps the promise for sure."""
    if answer.found or answer.proved or not phase.limit.ratio:
        return answer
    cost = sum(int(phase.tariff.table[len(terms), len(terms)]) for terms in rows)
    return Answer(((),) * len(rows), cost, answer.bound, True, False)


def _merge(phase: Phase, failed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Join every failed class with its nearest one; the classes that have to be looked at again."""
    old = phase.recoding
    group = np.arange(old.count)

    def top(c: int) -> int:
        while group[c] != c:
            c = int(group[c])
        return c

    for c in failed.tolist():
        first, second = sorted((top(c), top(nearest(old, c))))
        group[second] = first
    root = np.array([top(c) for c in range(old.count)])
    _, number = np.unique(root, return_inverse=True)
    phase.recoding = joined(old, number.ravel().astype(np.int32))
    place = np.full(old.count, -1, np.int64)
    kept = old.class_of >= 0
    place[old.class_of[kept]] = phase.recoding.class_of[kept]
    many = np.bincount(place, minlength=phase.recoding.count)
    fresh = many > 1
    phase.merged = {int(place[c]) for c in phase.merged} | set(np.flatnonzero(fresh).tolist())
    phase.answers = {int(place[c]): a for c, a in phase.answers.items() if not fresh[place[c]]}
    return np.flatnonzero(fresh & ~phase.judged({}))


def _drop(phase: Phase, failed: NDArray[np.int64]) -> None:
    """Leave the rows of these classes unpublished."""
    old = phase.recoding
    keep = np.ones(old.count, bool)
    keep[failed] = False
    number = np.append(np.where(keep, np.cumsum(keep) - 1, SUPPRESSED), SUPPRESSED).astype(np.int32)
    phase.recoding = replace(old, class_of=number[old.class_of], low=old.low[keep], high=old.high[keep])
    phase.answers = {int(number[c]): a for c, a in phase.answers.items()}


def _infeasible(phase: Phase, failed: NDArray[np.int64], how: str) -> Infeasible:
    rows = int(phase.recoding.rows[failed].sum())
    remedy = (
        "Search by mondrian: it can merge such classes with their neighbours."
        if phase.recoding.cuts is not None
        else "Relax the promise."
    )
    return Infeasible(
        f"{phase.promise} cannot be kept {how} for {rows} rows in {len(failed)} classes", remedy=remedy
    )


def _report(phase: Phase, gone: Mapping[int, Terms], dropped: int) -> TermReport:
    members, sets, tariff = phase.sets.members(phase.recoding), phase.sets, phase.tariff
    status, costs, bounds, proved = [], [], [], []
    spent = whole = removed = terms = 0
    for c, rows in enumerate(members):
        widths = [len(sets.terms[code]) for code in sets.code[rows].tolist()]
        lost = [len(gone.get(row, ())) for row in rows.tolist()]
        paid = sum(int(tariff.table[w, v]) for w, v in zip(widths, lost, strict=True))
        answer = phase.answers.get(c)
        costs.append(tariff.share(paid, widths))
        bounds.append(tariff.share(answer.bound if answer else 0, widths))
        proved.append(answer is None or (answer.proved and paid == answer.cost))
        status.append(MERGED if c in phase.merged else SUPPRESSED_TERMS if paid else SATISFIED)
        spent, whole = spent + paid, whole + sum(int(tariff.table[w, w]) for w in widths)
        removed, terms = removed + sum(lost), terms + sum(widths)
    total = Fraction(spent, whole) if whole else Fraction(0)
    return TermReport(
        tuple(status), tuple(costs), tuple(bounds), tuple(proved), total, removed, terms, dropped
    )
