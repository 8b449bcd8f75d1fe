"""One minimal quasi-identifier by dropping columns, as in Yuan's paper, in one pass instead of many."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb, isqrt

from sfumato.core.errors import WrongCall
from sfumato.core.progress import Progress, silent
from sfumato.discovery.quasi_identifiers.coded import Coded
from sfumato.discovery.quasi_identifiers.criterion import Reading, Terms
from sfumato.discovery.quasi_identifiers.limits import Limits
from sfumato.discovery.quasi_identifiers.partition import Partition
from sfumato.discovery.quasi_identifiers.question import QuasiIdentifierQuestion


@dataclass(frozen=True)
class DescentStep:
    """A column was left out: are the others still a quasi-identifier?

    The others are the columns before it in the `order`, and those that were `kept`.
    """

    without: str
    holds: bool
    order: tuple[str, ...] = field(repr=False)
    place: int
    kept: tuple[str, ...]

    @property
    def remaining(self) -> tuple[str, ...]:
        """The columns that are tested here."""
        return self.order[: self.place] + self.kept


@dataclass(frozen=True)
class Descent:
    """A minimal quasi-identifier and the tests that led to it; `columns` is `None` if there is none."""

    terms: Terms
    columns: tuple[str, ...] | None
    steps: tuple[DescentStep, ...]
    reason: str = ""
    duplicates: int = 0


def descend(
    table: Coded,
    reading: Reading,
    *,
    order: Sequence[str] | None = None,
    progress: Progress = silent,
    limits: Limits | None = None,
) -> Descent:
    """Leave out one column after the other, last first, wherever the rest stays a quasi-identifier.

    The paper starts over after every column it drops. That changes nothing: a column that was needed
    among more columns is needed among fewer. So every column is tested once. Where the time of `limits` is
    up, the columns that were not tested stay: a quasi-identifier, but perhaps no minimal one.

    >>> table = Coded.of_columns({"a": "xxy", "b": "xyy", "c": "pqr"})
    >>> descend(table, Reading.of(k=2, mode="all")).columns
    ('a', 'b')
    """
    question = QuasiIdentifierQuestion.of(table, reading)
    chosen = list(range(len(table.names))) if order is None else list(table.index(order))
    if sorted(chosen) != list(range(len(table.names))):
        raise WrongCall("an order names every column once")
    if question.reason and not question.empty_set:
        return Descent(question.terms, None, (), question.reason, question.duplicates)
    kept, steps = _scan(question, chosen, progress, limits)
    return Descent(question.terms, _names(question, kept), steps, question.reason, question.duplicates)


def _scan(
    question: QuasiIdentifierQuestion,
    order: list[int],
    progress: Progress = silent,
    limits: Limits | None = None,
) -> tuple[tuple[int, ...], tuple[DescentStep, ...]]:
    kept: list[int] = []
    steps: list[DescentStep] = []
    if limits is not None and limits.late:
        return tuple(order), ()
    prefixes = _Prefixes(question, order)
    names = _names(question, order)
    kept_names: tuple[str, ...] = ()
    for i in reversed(range(len(order))):
        if limits is not None and limits.late:
            return (*order[: i + 1], *kept), tuple(steps)
        holds = prefixes.exposes(i, kept)
        steps.append(DescentStep(names[i], holds, names, i, kept_names))
        if not holds:
            kept.insert(0, order[i])
            kept_names = (names[i], *kept_names)
        progress("columns tested", len(steps), len(order))
    return tuple(kept), tuple(steps)


def _names(question: QuasiIdentifierQuestion, columns: Iterable[int]) -> tuple[str, ...]:
    return tuple(question.table.names[j] for j in columns)


class _Prefixes:
    """Partitions under the first i columns of an order; some are stored, the others made from them."""

    def __init__(self, question: QuasiIdentifierQuestion, order: list[int]) -> None:
        self.table, self.terms, self.order = question.table, question.terms, order
        self.stride = isqrt(len(order)) + 1
        self.stored: list[Partition | None] = [Partition.whole(self.table.rows, self.terms.k)]
        if self.stored[0] is not None and self.stored[0].exposed >= self.terms.t:
            self.stored[0] = None
        current = self.stored[0]
        for i, column in enumerate(order, start=1):
            current = self._split(current, column)
            if i % self.stride == 0:
                self.stored.append(current)
        self.near: list[Partition | None] = []
        self.near_from = -1

    def exposes(self, i: int, kept: list[int]) -> bool:
        """Whether the first i columns and these expose enough records."""
        current = self._prefix(i)
        for column in kept:
            if current is None:
                return True
            current = self._split(current, column)
        return current is None

    def _prefix(self, i: int) -> Partition | None:
        block = i // self.stride
        if block != self.near_from:
            self.near_from, self.near = block, [self.stored[block]]
            for column in self.order[block * self.stride : (block + 1) * self.stride - 1]:
                self.near.append(self._split(self.near[-1], column))
        return self.near[i - block * self.stride]

    def _split(self, groups: Partition | None, column: int) -> Partition | None:
        """`None` stands for every partition that exposes enough."""
        if groups is None:
            return None
        return groups.refined(self.table.codes[column], self.table.sizes[column], enough=self.terms.t)


@dataclass(frozen=True)
class BestOfOrders:
    """The smallest of the minimal quasi-identifiers that some random orders of the columns led to."""

    terms: Terms
    columns: tuple[str, ...] | None
    orders: int
    seed: int
    of: int
    reason: str = ""
    duplicates: int = 0

    def chance(self, size: int) -> Fraction:
        """At least how likely it was to hit a given minimum quasi-identifier of this size.

        An order that tests its columns after all others drops the others: one order in C(m, size) does.
        """
        if not 0 <= size <= self.of:
            return Fraction(0)
        return 1 - (1 - Fraction(1, comb(self.of, size))) ** self.orders


def best_of_orders(
    table: Coded,
    reading: Reading,
    *,
    orders: int,
    seed: int,
    deadline: float | None = None,
    progress: Progress = silent,
) -> BestOfOrders:
    """The descent over random orders of the columns, smallest result first found.

    To find a given minimum of q among m columns with probability 1 - δ, C(m, q)·ln(1/δ) orders do.
    """
    if orders < 1:
        raise WrongCall("at least one order is needed")
    limits = Limits(None, deadline)
    question = QuasiIdentifierQuestion.of(table, reading)
    columns = list(range(len(table.names)))
    if question.reason and not question.empty_set:
        return BestOfOrders(question.terms, None, 0, seed, len(columns), question.reason, question.duplicates)
    draw = random.Random(seed)  # noqa: S311  (no secret depends on it)
    best: tuple[int, ...] | None = None
    done = 0
    while done < orders and not (done and limits.late):
        draw.shuffle(columns)
        kept = tuple(sorted(_scan(question, list(columns))[0]))
        done += 1
        if best is None or (len(kept), kept) < (len(best), best):
            best = kept
        progress(f"orders tried, best so far {len(best)} columns", done, orders)
    names = _names(question, best or ())
    return BestOfOrders(question.terms, names, done, seed, len(columns), question.reason, question.duplicates)
