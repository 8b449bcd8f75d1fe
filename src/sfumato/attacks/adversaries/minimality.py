"""Minimality: sensitive values, learned from the tables that the planner would have published instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice, product
from math import factorial, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.known_search import ALL_TABLES, KnownSearch, PublishedBoxes, publication_of
from sfumato.models.attack_contract import PublishedTable, format_people, register_on_request
from sfumato.system.errors import BadData, UsageError
from sfumato.system.verdict import CERTAINTY, VALUES, AttackLimits, Finding
from sfumato.table.microdata import Codes, Counts, Microdata
from sfumato.table.recoding import SUPPRESSED, Recoding

MOST_KEYS = 100
"""With more different keys, not all tables are listed."""
MOST_PARTNERS = 10
"""With so many people of a class one person's values are exchanged at most."""
EXCHANGES = "exchanges of two people's values"
Numbers = NDArray[np.int64]
Spread = tuple[tuple[int, ...], ...]
"""How many people with each key have each combination of sensitive values."""
Figures = Mapping[str, int | Fraction | str]


@dataclass(frozen=True)
class ValueMinimality:
    """Whoever knows the planner learns from the tables that it would have published, had values been others.

    The planner is a black box that answers what it would publish, every time with the same coins; whole
    tables are compared. On small tables the adversary knows everybody's keys, deals the values in every way,
    and keeps the ways that give the published file: the answer is exact. On larger ones the owner measures,
    with the table itself: people are drawn, and the values of each are exchanged with those of others in
    their class, one by one. Where the file would be another, the person cannot have the other's values.
    Where grouping is blind no exchange changes the file.

    A breach is a chance above what the promises allow, or fewer possible values than they ask for, that the
    table alone does not give.

    Source: Wong, Fu, Wang and Pei, *Minimality attack in privacy preserving data publishing*, 2007.
    Silent on: larger tables, beyond the exchanges that were tried; what several exchanges tell together.
    """

    known: KnownSearch
    people: Microdata
    """The key columns of everybody, and their sensitive columns where the owner measures."""

    name: ClassVar[str] = "minimality"
    knows: ClassVar[str] = "everybody's key columns, the promises, and how the search decides"
    seeks: ClassVar[str] = "a person's sensitive value"
    succeeds: ClassVar[str] = "a value is guessed with more than the allowed chance"
    threatens: ClassVar[tuple[str, ...]] = ("l-diversity", "confidence-bounding")

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        boxes = PublishedBoxes.read(published, {})
        tables = AllTables.of(boxes, self.people, self.known)
        if self.known.units is None and tables.are_few(self.known.steps):
            return self._listed(tables, limits)
        return self._exchanged(boxes, limits)

    def _listed(self, tables: AllTables, limits: AttackLimits) -> list[Finding]:
        boxes, kept = tables.boxes, tables.kept(self.known)
        total = sum(weight for weight, _ in kept)
        figures: Figures = {"method": ALL_TABLES, "worlds": tables.tried(), "impossible": int(not total)}
        findings = []
        for column in range(len(boxes.values)):
            published, gone = _Tally(boxes, column, limits), _Tally(boxes, column, limits)
            leaves = tables.values[:, column]
            after = np.zeros((len(tables.often), int(leaves.max(initial=-1)) + 1), object)
            for weight, spread in kept:
                for key, row in enumerate(spread):
                    np.add.at(after[key], leaves, weight * np.array(row, object))
            for key, people in enumerate(tables.often):
                classes = np.flatnonzero(tables.fits[key])
                inside = np.isin(boxes.owner, classes)
                before = _shares(boxes.held[inside, column], boxes.counts[inside])
                if not len(classes):
                    before = _shares(leaves, np.ones(len(leaves), np.int64))
                chances = [Fraction(n, total * people) for n in after[key].tolist() if n]
                (published if len(classes) else gone).add(people, before, chances or before)
            findings.append(self._finding(published, figures))
            if gone.people:
                finding = self._finding(gone, {**figures, "people suppressed": tables.gone})
                findings.append(replace(finding, sentence=f"suppressed people, {finding.sentence}"))
        return findings

    def _exchanged(self, boxes: PublishedBoxes, limits: AttackLimits) -> list[Finding]:
        table, names = self.people, [column.name for column in boxes.values]
        if lacking := set(names) - {column.name for column in table.columns}:
            raise UsageError(
                f"the table is too large to list, and the register lacks {', '.join(sorted(lacking))}",
                remedy="Hand in the original table, with its sensitive columns, or allow more --steps.",
            )
        plans = ExchangedPairs.of(table, names, self.known)
        recoding = plans.recoding
        same = publication_of(recoding, boxes.keys, [table.column(n) for n in names]) == boxes.publication
        if not (same or self.known.units):
            raise BadData(
                "planned again, this table gives another file than the one that is attacked",
                remedy="Hand in the table that was published, and the policy it was published under.",
            )
        tallies = [_Tally(boxes, column, limits) for column in range(len(names))]
        trees = [table.column(name).taxonomy for name in names]
        for person, weights in plans.drawn():
            member = plans.beside(person)
            for tally, tree, codes in zip(tallies, trees, plans.values.T, strict=True):
                before = np.bincount(codes[member], minlength=len(tree.leaves))
                after = _weighed(codes[member], weights)
                tally.add(1, _fractions(before), after)
        figures: Figures = {
            "method": EXCHANGES,
            "people drawn": plans.people,
            "people who could be drawn": len(plans.exposable),
            "exchanges tried": plans.tried,
            "exchanges that change the file": plans.changed,
            "exchanges": plans.exchanges,
            "seed": self.known.seed,
        }
        return [self._finding(tally, figures) for tally in tallies]

    def _finding(self, tally: _Tally, figures: Figures) -> Finding:
        drawn, tried = figures.get("people drawn"), int(figures.get("exchanges tried", 0))
        among, left = "", ""
        if drawn is not None:
            among = (
                f" (of {drawn:,} drawn; {figures['exchanges that change the file']:,} of {tried:,}"
                f" {EXCHANGES} would have changed the file)"
            )
            left = f"{int(figures['exchanges']) - tried:,} further {EXCHANGES}, and larger changes (--steps)"
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{tally.name}: the value is guessed right {float(tally.mean_after):.1%} of the time,"
            f" {float(tally.mean_before):.1%} without knowing the search; beyond what is allowed"
            f" for {format_people(tally.beyond)}{among}",
            confidence=tally.best,
            people=tally.beyond,
            breach=tally.beyond > 0,
            columns=(tally.name,),
            details={
                **figures,
                "before": tally.mean_before,
                "after": tally.mean_after,
                "largest gain": tally.gain,
                "limit": tally.limit,
            },
            not_tried=left,
        )


# All tables: every way in which people whose keys are known may have the values of a file.


@dataclass(frozen=True, eq=False)
class AllTables:
    """Every deal of the published values to the people of a register.

    Whoever is not published may have any values. `codes` are the different keys, `often` how many people
    have each, `fits` says which published boxes hold it; `gone` people are in none.
    """

    boxes: PublishedBoxes
    people: Microdata
    codes: Codes
    often: tuple[int, ...]
    fits: NDArray[np.bool_]
    gone: int

    @classmethod
    def of(cls, boxes: PublishedBoxes, people: Microdata, known: KnownSearch) -> AllTables:
        """Returns them; raises `BadData` where these are other people than those of the file."""
        rows = np.stack([people.codes(column.name) for column in boxes.keys], axis=1)
        codes, which = np.unique(rows, axis=0, return_inverse=True)
        often = np.bincount(which.ravel(), people.counts).astype(np.int64)
        fits = np.ones((len(codes), len(boxes.low)), bool)
        for j in range(len(boxes.keys)):
            low, high = class_spans(boxes, j, people)
            fits &= (low <= codes[:, j, None]) & (codes[:, j, None] < high)
        gone = int(often.sum() - boxes.sizes.sum())
        most = max(0, int((people.rows + people.dropped) * known.suppress) - people.dropped)
        nowhere = int(often[~fits.any(axis=1)].sum())
        if not nowhere <= gone <= most:
            raise BadData(
                f"the register has {gone} people more than the table has rows, {nowhere} of its people fit no"
                f" class, and {most} can be suppressed",
                remedy="Give the register of the people in this table, and the table that was published.",
            )
        return cls(boxes, people, codes, tuple(often.tolist()), fits, gone)

    @cached_property
    def values(self) -> Codes:
        """The combinations of sensitive values that somebody may have."""
        if not self.gone:
            return np.unique(self.boxes.held, axis=0)
        leaves = [range(len(column.taxonomy.leaves)) for column in self.boxes.values]
        return np.array(list(product(*leaves)), np.int32).reshape(-1, len(leaves))

    def are_few(self, most: int) -> bool:
        """Whether there are at most so many tables; only so many are counted."""
        combinations = prod(len(column.taxonomy.leaves) for column in self.boxes.values)
        if len(self.often) > MOST_KEYS or (self.gone and combinations > most):
            return False
        return sum(1 for _ in islice(self._spreads(), most + 1)) <= most

    def tried(self) -> int:
        """How many tables there are."""
        return sum(1 for _ in self._spreads())

    def _spreads(self) -> Iterator[Spread]:
        shown = Counter(map(tuple, np.repeat(self.boxes.held, self.boxes.counts, axis=0).tolist()))
        often = [shown[tuple(value)] for value in self.values.tolist()]
        for more in _rows(self.gone, [self.gone] * len(often)):
            yield from _spreads(self.often, [a + b for a, b in zip(often, more, strict=True)])

    def kept(self, known: KnownSearch) -> list[tuple[int, Spread]]:
        """Returns the tables that the planner publishes as the file, with the number of deals behind each."""
        columns = [*(self.people.column(key.name) for key in self.boxes.keys), *self.boxes.values]
        keys = np.repeat(self.codes, self.often, axis=0)
        kept = []
        for spread in self._spreads():
            values = np.concatenate([np.repeat(self.values, row, axis=0) for row in spread])
            dealt = Microdata.of_codes(columns, [*keys.T, *values.T], dropped=self.people.dropped)
            recoding = known.republish(dealt)
            if recoding is not None and (
                publication_of(recoding, self.boxes.keys, self.boxes.values) == self.boxes.publication
            ):
                kept.append((_ways(self.often, spread), spread))
        return kept


def _ways(people: Sequence[int], spread: Spread) -> int:
    """Returns in how many ways people can have the values of a spread."""
    return prod(factorial(n) // prod(map(factorial, row)) for n, row in zip(people, spread, strict=True))


def _spreads(rows: Sequence[int], columns: list[int]) -> Iterator[Spread]:
    """Yields all tables of whole numbers with these sums of rows and of columns.

    >>> list(_spreads([1, 1], [1, 1]))
    [((0, 1), (1, 0)), ((1, 0), (0, 1))]
    """
    if not rows:
        yield ()
        return
    for first in _rows(rows[0], columns):
        remaining = [have - used for have, used in zip(columns, first, strict=True)]
        for below in _spreads(rows[1:], remaining):
            yield (first, *below)


def _rows(total: int, most: list[int]) -> Iterator[tuple[int, ...]]:
    """Yields all rows of whole numbers with this sum, none above `most`, ascending.

    >>> list(_rows(2, [1, 2, 1]))
    [(0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 1, 0)]
    """
    if total > sum(most):
        return
    row, place, left = [0] * len(most), 0, total
    while True:
        for j in reversed(range(place, len(most))):
            row[j] = min(left, most[j])
            left -= row[j]
        yield tuple(row)
        place = len(most) - 1
        while place >= 0 and (not left or row[place] == most[place]):
            left += row[place]
            place -= 1
        if place < 0:
            return
        row[place] += 1
        place, left = place + 1, left - 1


# Exchanges: the table itself, with the values of two people of one class exchanged.


@dataclass(eq=False)
class ExchangedPairs:
    """Plans a table again, with the values of two people exchanged; row by row, each a person.

    `class_of` numbers the people among whom values are exchanged: of a class, or of a unit.
    """

    table: Microdata
    names: Sequence[str]
    known: KnownSearch
    recoding: Recoding
    class_of: Codes
    tried: int = 0
    changed: int = 0
    people: int = 0

    @classmethod
    def of(cls, table: Microdata, names: Sequence[str], known: KnownSearch) -> ExchangedPairs:
        """Plans the table as it is; raises `BadData` where nothing can be published."""
        recoding = known.republish(table)
        if recoding is None:
            raise BadData("no plan keeps the promises of this policy", remedy="Name the policy of the file.")
        units = None if known.units is None else known.units(table)
        apart = recoding.class_of if units is None else np.where(recoding.class_of < 0, SUPPRESSED, units)
        return cls(table, names, known, recoding, np.repeat(apart, table.counts))

    @cached_property
    def codes(self) -> Codes:
        """The leaf ranks of every row in every column of the table."""
        columns = [self.table.codes(column.name) for column in self.table.columns]
        codes: Codes = np.repeat(np.stack(columns, axis=1), self.table.counts, axis=0)
        return codes

    @cached_property
    def _places(self) -> list[int]:
        order = [column.name for column in self.table.columns]
        return [order.index(name) for name in self.names]

    @property
    def values(self) -> Codes:
        """The sensitive values of every row."""
        chosen: Codes = self.codes[:, self._places]
        return chosen

    @cached_property
    def _value(self) -> Numbers:
        """The number of each row's combination of sensitive values."""
        return np.unique(self.values, axis=0, return_inverse=True)[1].astype(np.int64).ravel()

    @cached_property
    def exposable(self) -> Numbers:
        """The rows of classes that have more than one combination of values."""
        shown = np.flatnonzero(self.class_of != SUPPRESSED)
        count = int(self.class_of.max(initial=-1)) + 1
        least, most = np.full(count, np.iinfo(np.int64).max), np.full(count, -1, np.int64)
        np.minimum.at(least, self.class_of[shown], self._value[shown])
        np.maximum.at(most, self.class_of[shown], self._value[shown])
        return shown[(least < most)[self.class_of[shown]]]

    @cached_property
    def exchanges(self) -> int:
        """How many pairs of people of one class have different values."""
        shown = self.class_of != SUPPRESSED
        sizes = np.bincount(self.class_of[shown])
        alike = np.unique(np.stack([self.class_of[shown], self._value[shown]]), axis=1, return_counts=True)[1]
        return (int((sizes * (sizes - 1)).sum()) - int((alike * (alike - 1)).sum())) // 2

    def beside(self, person: int) -> NDArray[np.intp]:
        """Returns the rows that a person's is among, their own included."""
        return np.flatnonzero(self.class_of == self.class_of[person])

    def drawn(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Yields people in an order that is drawn: the row, and how much of each member of its class is left.

        The values of members who are not tried count by how many of those with the same values were.
        """
        rng, published = np.random.default_rng(self.known.seed), _shown(self.recoding)
        for person in rng.permutation(self.exposable).tolist():
            member = self.beside(person)
            others = member[self._value[member] != self._value[person]]
            partners = rng.permutation(others)[:MOST_PARTNERS]
            if self.people and self.tried + len(partners) > self.known.steps:
                return
            left = {int(other): self._same(person, int(other), published) for other in partners}
            weights = np.ones(len(member))
            for value in np.unique(self._value[partners]).tolist():
                share = np.mean([stays for other, stays in left.items() if self._value[other] == value])
                weights[self._value[member] == value] = share
            self.people += 1
            yield person, weights

    def _same(self, first: int, second: int, published: bytes) -> bool:
        """Whether the file would have been the same, had these two each other's values."""
        codes, pair = self.codes.copy(), np.array([first, second])
        codes[pair[:, None], self._places] = codes[pair[::-1, None], self._places]
        table, person = self.table, self.table.person
        people = None if person is None else np.repeat(person, table.counts)
        exchanged = Microdata.of_codes(table.columns, list(codes.T), person=people, dropped=table.dropped)
        recoding = self.known.republish(
            replace(exchanged, person_column=table.person_column, rows_only=table.rows_only)
        )
        same = recoding is not None and _shown(recoding) == published
        self.tried += 1
        self.changed += not same
        return same


def _shown(recoding: Recoding) -> bytes:
    """Returns what a recoding publishes: equal tables give equal bytes."""
    table, shown = recoding.table, recoding.class_of != SUPPRESSED
    columns = []
    for j in range(len(table.keys)):
        labels, which = recoding.texts(j)
        columns.append(np.array([hash(label) for label in labels], np.int64)[which][recoding.class_of[shown]])
    columns += [table.codes(c.name)[shown].astype(np.int64) for c in table.columns if not c.role.is_key]
    rows, which = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    counts = np.bincount(which.ravel(), table.counts[shown]).astype(np.int64)
    return rows.tobytes() + counts.tobytes()


# Tallies: of how many people more is known than the promises allow.


class _Tally:
    """People that were looked at: how often the best guess is right, before and after."""

    def __init__(self, boxes: PublishedBoxes, column: int, limits: AttackLimits) -> None:
        self.name = boxes.values[column].name
        self.limit, _ = limits.limit(CERTAINTY, self.name)
        self._least, promised = limits.limit(VALUES, self.name)
        self._promised = promised == "promised"
        self.people, self.beyond = 0, 0
        self._before = self._after = self.best = self.gain = Fraction(0)

    def add(self, people: int, before: Sequence[Fraction], after: Sequence[Fraction]) -> None:
        """Counts people with these chances of every value that is possible for them."""
        was, now = max(before), max(after)
        few = self._promised and len(after) < self._least <= len(before)
        self.beyond += people * (few or now > self.limit >= was or now == 1 > was)
        self.best, self.gain = max(self.best, now), max(self.gain, now - was)
        self.people += people
        self._before += people * was
        self._after += people * now

    @property
    def mean_before(self) -> Fraction:
        return self._before / max(1, self.people)

    @property
    def mean_after(self) -> Fraction:
        return self._after / max(1, self.people)


def _shares(codes: Codes, counts: Counts) -> list[Fraction]:
    return _fractions(np.bincount(codes, counts).astype(np.int64))


def _fractions(counts: Counts) -> list[Fraction]:
    total = int(counts.sum())
    return [Fraction(n, total) for n in counts.tolist() if n]


def _weighed(codes: Codes, weights: NDArray[np.float64]) -> list[Fraction]:
    """Returns the share of every value, members weighed."""
    whole = [Fraction(float(w)).limit_denominator(10**6) for w in weights]
    sums: Counter[int] = Counter()
    for code, weight in zip(codes.tolist(), whole, strict=True):
        sums[code] += weight  # type: ignore[assignment]  # weights need not be whole
    total = sum(sums.values())
    return [Fraction(n) / total for n in sums.values() if n]


# De Finetti: rules from quasi-identifiers to values, learned from the published table alone.

ROWS_AT_ONCE = 2_000
"""People who are placed in classes at a time."""


@register_on_request
@dataclass(frozen=True)
class DeFinetti:
    """How values follow from key columns is learned from the published table, and tells members apart.

    A published row counts for every leaf of its box alike (naive Bayes). The owner measures, with the
    original: everybody's value is guessed from their keys, among the values of classes that may be theirs.

    Source: Kifer, *Attacks on privacy and deFinetti's theorem*, 2009.
    Silent on: better ways to learn, and rules that are known from elsewhere.
    """

    people: Microdata
    """The original: everybody's key columns, and their sensitive ones."""

    name: ClassVar[str] = "definetti"
    knows: ClassVar[str] = "everybody's key columns, and rules learned from the published table"
    seeks: ClassVar[str] = "a person's sensitive value"
    succeeds: ClassVar[str] = "no limit: it is measured"
    threatens: ClassVar[tuple[str, ...]] = ()

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del limits
        boxes = PublishedBoxes.read(published, {})
        return [self._column(boxes, j) for j in range(len(boxes.values))]

    def _column(self, boxes: PublishedBoxes, place: int) -> Finding:
        sought = boxes.values[place]
        tree = self.people.column(sought.name).taxonomy
        places = map(tree.rank, sought.taxonomy.leaf_labels)
        rank = np.array([-1 if place is None else place for place in places])
        held = np.zeros((len(boxes.low), len(tree.leaves)))
        inside = rank[boxes.held[:, place]] >= 0
        np.add.at(held, (boxes.owner[inside], rank[boxes.held[inside, place]]), boxes.counts[inside])
        spans = [class_spans(boxes, j, self.people) for j in range(len(boxes.keys))]
        codes = np.stack([self.people.codes(column.name) for column in boxes.keys], axis=1)
        evidence = np.zeros((len(codes), held.shape[1]))
        for j, (low, high) in enumerate(spans):
            leaves = len(self.people.column(boxes.keys[j].name).taxonomy.leaves)
            each = held / np.maximum(1, high - low)[:, None]
            steps = np.zeros((leaves + 1, held.shape[1]))
            np.add.at(steps, low, each)
            np.add.at(steps, high, -each)
            often = np.cumsum(steps[:-1], axis=0) + 1 / leaves
            evidence += np.log(often / often.sum(axis=0))[codes[:, j]]
        truth, counts = self.people.codes(sought.name), self.people.counts
        right = np.zeros(2, np.int64)
        for start in range(0, len(codes), ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            fits = np.ones((len(codes[some]), len(held)), bool)
            for j, (low, high) in enumerate(spans):
                fits &= (low <= codes[some, j, None]) & (codes[some, j, None] < high)
            with np.errstate(divide="ignore"):
                shown = np.log(fits @ held)
            for i, chances in enumerate((shown, shown + evidence[some])):
                right[i] += int(counts[some][chances.argmax(axis=1) == truth[some]].sum())
        return self._finding(sought.name, right, np.bincount(truth, counts).astype(np.int64))

    def _finding(self, name: str, right: Numbers, overall: Counts) -> Finding:
        total = max(1, int(overall.sum()))
        before, after, base = (Fraction(int(n), total) for n in (*right, overall.max(initial=0)))
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{name}: guessed right {float(after):.1%} of the time by rules learned from the table,"
            f" {float(before):.1%} by classes alone, {float(base):.1%} by the commonest value",
            confidence=after,
            people=0,
            breach=False,
            columns=(name,),
            details={"before": before, "after": after, "base rate": base},
            not_tried="better ways to learn",
        )


def class_spans(boxes: PublishedBoxes, j: int, people: Microdata) -> tuple[Numbers, Numbers]:
    """Returns the leaf ranks that every class may hold in a key column, by the tree of these people."""
    tree = people.column(boxes.keys[j].name).taxonomy
    ends = [tree.span(texts[j]) or (0, 0) for texts in boxes.texts]
    low, high = np.array(ends, np.int64).reshape(-1, 2).T
    return low, high
