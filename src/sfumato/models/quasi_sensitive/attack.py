"""Indirect labels: what terms say together about something that is not in the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import comb, factorial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.models.attack_contract import (
    PublishedTable,
    SeeksLabels,
    format_people,
    register,
    register_on_request,
)
from sfumato.models.contract import Prior
from sfumato.models.quasi_sensitive.knowledge import (
    BeliefLimit,
    Knowledge,
    LabelCloseness,
    Links,
    Truth,
    posterior,
)
from sfumato.models.quasi_sensitive.labels import links_of, prior_of
from sfumato.system.presentation.cards import pluralize
from sfumato.system.verdict import AttackLimits, Finding
from sfumato.table.classes import Classes, Histogram
from sfumato.table.microdata import JointColumn, terms_of

AT_ONCE = 1 << 22
MOST = 10
"""Labels that are told one by one; the rest is in the summary."""


@register
@dataclass(frozen=True)
class IndirectLabel(SeeksLabels):
    """Whoever finds the class of a person believes in a label as its rows link to it.

    A row's terms link to every label that has all of them; the belief is the mean, over the rows of a class,
    of one over the number of labels that a row links to; with a prevalence, of a label's part in theirs.
    Before, the belief was that of the prior: the one that the promise holds, else the mean over the table at
    hand. A class that breaks the promise is a breach.

    Source: Shi, Xiong, Fung, Anonymizing data with quasi-sensitive attribute values, 2010.
    Silent on: better knowledge of terms and of labels than the policy's.
    """

    most: int | None = MOST

    name: ClassVar[str] = "quasi-sensitive"
    knows: ClassVar[str] = (
        "that a person is in the table, their key columns, and which terms go with which label"
    )
    seeks: ClassVar[str] = "a label that the person's terms give away together"
    needs: ClassVar[str] = "the promise quasi-sensitive, and its column in the table"

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        """What is found under every knowledge that a promise names."""
        findings: list[Finding] = []
        for limit in limits.of_kind(BeliefLimit):
            histogram = _held(published, limit)
            if histogram is not None:
                findings += self._seek(published, limit, histogram)
        return findings

    def _seek(self, published: PublishedTable, limit: BeliefLimit, histogram: Histogram) -> list[Finding]:
        best = Beliefs.of(limit, histogram)
        order = np.lexsort((np.arange(len(best.most)), -best.most, ~best.breach))
        worst = [int(j) for j in order[: self.most].tolist() if best.most[j] > 0]
        label_findings = [self._label(published, limit, best, j) for j in worst]
        label_findings.sort(key=lambda f: (not f.breach, -f.confidence))
        return [
            self._summary(published, limit, best.broken, label_findings),
            *label_findings,
            *self._unlinked(published, limit, best),
        ]

    def _finding(self, sentence: str, **fields: Any) -> Finding:
        return Finding(
            attack=self.name, adversary=f"someone who knows {self.knows}", sentence=sentence, **fields
        )

    def _summary(
        self, published: PublishedTable, limit: BeliefLimit, broken: Truth, label_findings: list[Finding]
    ) -> Finding:
        people = published.people_in(broken)
        sure = max((f.confidence for f in label_findings), default=Fraction(0))
        return self._finding(
            f"terms of {limit.column} lead to a label with a belief of up to {float(sure):.3g}; "
            f"{format_people(people)} in {int(broken.sum())} of {len(broken)} classes beyond what is"
            " promised",
            confidence=sure,
            people=people,
            breach=bool(broken.any()),
            columns=published.keys,
            details={"classes": len(broken), "classes beyond the promise": int(broken.sum())},
        )

    def _label(self, published: PublishedTable, limit: BeliefLimit, best: Beliefs, label: int) -> Finding:
        worst, name = int(best.where[label]), limit.knowledge.labels[label]
        shares, kind, whole = posterior(best.links, best.histogram, worst)
        after = Fraction(shares[int(kind[label])], whole)
        before = dict(best.prior.shares).get(name, Fraction(0))
        people = int(best.people[label])
        return self._finding(
            f"{format_people(people)} can be linked to {name} with a belief of {float(after):.3g}, "
            f"before: {float(before):.3g}",
            confidence=after,
            people=people,
            breach=bool(best.breach[label]),
            columns=published.keys,
            details={"label": name, "belief before": before, "belief after": after, "change": after - before},
            values=published.labels_of(worst),
        )

    def _unlinked(self, published: PublishedTable, limit: BeliefLimit, best: Beliefs) -> Iterator[Finding]:
        histogram = best.histogram
        count = int(histogram.counts[best.links.number[histogram.values] == 0].sum())
        if count:
            yield self._finding(
                f"{format_people(count)} with terms of {limit.column} that no label has together:"
                " they link to nothing",
                confidence=Fraction(0),
                people=count,
                breach=False,
                columns=published.keys,
                details={"rows without a link": count},
            )


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Per label: the largest belief that any class gives, to how many people, in which class first, and
    whether it is the most believed one of a class that breaks the limit. Per class: whether it does."""

    histogram: Histogram
    links: Links
    prior: Prior
    most: NDArray[np.float64]
    people: NDArray[np.int64]
    where: NDArray[np.int64]
    breach: NDArray[np.bool_]
    broken: NDArray[np.bool_]

    @classmethod
    def of(cls, limit: BeliefLimit, histogram: Histogram) -> Beliefs:
        links = links_of(limit.knowledge, histogram.taxonomy)
        rule = limit.prior if isinstance(limit, LabelCloseness) else "mean"
        labels = limit.knowledge.labels
        prior = rule if isinstance(rule, Prior) else prior_of(rule, labels, links, histogram)
        before = prior.on(labels)
        most, where = np.zeros(links.labels), np.zeros(links.labels, np.int64)
        people = np.zeros(links.labels, np.int64)
        breach = np.zeros(links.labels, bool)
        sizes, classes = histogram.totals, len(histogram.start) - 1
        broken = np.zeros(classes, bool)
        for low, high in _blocks(histogram, max(1, AT_ONCE // max(1, links.labels))):
            belief = _beliefs(links, histogram, low, high)
            broken[low:high] = limit.broken(belief, before, links, histogram, low)
            top = belief.argmax(axis=0)
            value = belief[top, np.arange(links.labels)]
            better = value > most * (1 + 1e-12)
            most[better], where[better] = value[better], top[better] + low
            people[better] = 0
            alike = (belief >= most * (1 - 1e-12)) & (belief > 0)
            people += (alike * sizes[low:high, None]).sum(axis=0)
            leads = belief >= belief.max(axis=1)[:, None] * (1 - 1e-12)
            breach |= (leads & broken[low:high, None] & (belief > 0)).any(axis=0)
        return cls(histogram, links, prior, most, people, where, breach, broken)


def _held(published: PublishedTable, limit: BeliefLimit) -> Histogram | None:
    """The term sets of every class, in one column or in several together; `None` where a column is absent."""
    if not limit.parts:
        return published.classes.histograms.get(limit.column)
    if not set(limit.parts) <= set(published.judged):
        return None
    table = replace(published.table, joints=(JointColumn(limit.parts),))
    return Classes.of(table, published.class_of, sensitive=(limit.column,)).histograms[limit.column]


def _blocks(histogram: Histogram, step: int) -> Iterator[tuple[int, int]]:
    """Some classes at a time, with at most `step` entries together, or one class."""
    low, classes = 0, len(histogram.start) - 1
    while low < classes:
        high = low + 1
        while high < classes and histogram.start[high + 1] - histogram.start[low] <= step:
            high += 1
        yield low, high
        low = high


def _beliefs(links: Links, histogram: Histogram, low: int, high: int) -> NDArray[np.float64]:
    """The beliefs in all labels of the classes from `low` to below `high`, rounded."""
    span = slice(int(histogram.start[low]), int(histogram.start[high]))
    number = links.number[histogram.values[span]]
    weight = np.divide(histogram.counts[span], number, out=np.zeros(len(number)), where=number > 0)
    shares = links.matrix(histogram.values[span]) * weight[:, None] * links.weights
    belief: NDArray[np.float64] = np.add.reduceat(
        shares, histogram.start[low:high] - histogram.start[low], axis=0
    )
    return belief / histogram.totals[low:high, None]


# Minimality of term removal: labels, guessed by somebody who knows that no more terms go than have to.

Terms = tuple[str, ...]
Rows = tuple[Terms, ...]
Outcomes = Callable[[Rows], Mapping[Rows, Fraction]]
"""What is published of the term sets of a class, each with its chance; nothing where they are no class."""

STEPS = 20_000
MORE_TERMS = 2
"""A row had at most so many terms more than the widest that is published in its class."""


@dataclass(frozen=True)
class KnownRemoval:
    """How terms are removed, as the adversary knows it, and how many worlds of a class are listed at most."""

    outcomes: Outcomes
    steps: int = STEPS


@dataclass
class WorldsOfClass:
    """The worlds that publish one and the same class: their weight, and what they say of labels."""

    weight: Fraction = Fraction(0)
    beliefs: dict[str, Fraction] = field(default_factory=dict)

    def belief(self, labels: Sequence[str]) -> list[Fraction]:
        """Returns the belief in each of these labels."""
        return [self.beliefs.get(label, Fraction(0)) / self.weight for label in labels]

    def add(self, label: str, share: Fraction) -> None:
        """Adds what a world says of a label."""
        self.beliefs[label] = self.beliefs.get(label, Fraction(0)) + share


def worlds_by_class(
    knowledge: Knowledge, possible: Sequence[Terms], size: int, outcomes: Outcomes
) -> dict[Rows, WorldsOfClass]:
    """Returns the worlds of a class of so many rows, by what is published of them, as sorted rows.

    Every row of a world has one of the `possible` sets, all equally likely. Worlds that differ in the order
    of rows are looked at once and weighed.
    """
    belief_of = cache(lambda terms: _belief(knowledge, terms))
    worlds: dict[Rows, WorldsOfClass] = {}
    for rows in combinations_with_replacement(possible, size):
        orders = factorial(size)
        for many in Counter(rows).values():
            orders //= factorial(many)
        for published, chance in outcomes(rows).items():
            worlds_of_class = worlds.setdefault(tuple(sorted(published)), WorldsOfClass())
            weight = orders * chance
            worlds_of_class.weight += weight
            for terms in rows:
                for label, share in belief_of(terms).items():
                    worlds_of_class.add(label, weight * share / size)
    return worlds


def _belief(knowledge: Knowledge, terms: Terms) -> dict[str, Fraction]:
    """Returns what one row says of labels."""
    weight = dict(zip(knowledge.labels, knowledge.weight_of_label.tolist(), strict=True))
    linked = knowledge.linked(terms)
    whole = sum(weight[label] for label in linked)
    return {label: Fraction(weight[label], whole) for label in linked}


def possible_sets(
    knowledge: Knowledge, published: Iterable[Terms], more: int, most: int
) -> list[Terms] | None:
    """Returns the term sets that rows may have had: those that hold a published one, have at most `more`
    terms beyond the widest of these, and link to a label. `None` where there are more than `most`."""
    published_sets = {frozenset(terms) for terms in published}
    widest = max(map(len, published_sets), default=0) + more
    possible: set[Terms] = set()
    for _, terms in knowledge.rows:
        for published_set in published_sets:
            if not published_set <= terms:
                continue
            further_terms = sorted(terms - published_set)
            for number in range(min(len(further_terms), widest - len(published_set)) + 1):
                if comb(len(further_terms), number) > most:
                    return None
                possible |= {
                    tuple(sorted((*published_set, *further)))
                    for further in combinations(further_terms, number)
                }
        if len(possible) > most:
            return None
    return sorted(possible)


@register_on_request
@dataclass(frozen=True)
class TermMinimality(SeeksLabels):
    """Terms were removed because the class would have told too much, and which are gone may tell what.

    The adversary lists the worlds of a class: the term sets that its rows may have had, all equally likely.
    Of each world it is known what would have been published; those that give the published class are kept.
    The belief in a label is the mean over these worlds and their rows.

    A breach is a belief beyond what is promised of labels, in a class that keeps the promise as it is
    published. Classes with more worlds than are listed are counted and left aside.

    Source: Wong, Fu, Wang and Pei, *Minimality attack in privacy preserving data publishing*, 2007; for terms
    announced by Shi, Xiong and Fung, 2010.
    Silent on: worlds in which classes were merged or rows left out, and terms that no label has.
    """

    known: KnownRemoval

    name: ClassVar[str] = "term-removal"
    knows: ClassVar[str] = (
        "the table, which terms go with which label, the promises, and how terms are removed"
    )
    seeks: ClassVar[str] = "a label that terms which are gone would have given away"
    needs: ClassVar[str] = "the method of removal: strike by `sf.attack.term_removal`"

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        findings = []
        for limit in limits.of_kind(BeliefLimit):
            histogram = published.classes.histograms.get(limit.column)
            if histogram is not None and not limit.parts:
                findings.append(self._finding(published, limit, histogram))
        return findings

    def _finding(self, published: PublishedTable, limit: BeliefLimit, histogram: Histogram) -> Finding:
        labels = limit.knowledge.labels
        prior = limit.prior if isinstance(limit, LabelCloseness) and isinstance(limit.prior, Prior) else None
        target = [Fraction(0)] * len(labels) if prior is None else prior.on(labels)
        looked = people = beyond = broken = 0
        before, after, sums = Fraction(0), Fraction(0), [Fraction(0), Fraction(0)]
        for rows, times in _distinct_classes(histogram).items():
            worlds_of_class = self._worlds_of(limit.knowledge, rows)
            if worlds_of_class is None:
                continue
            mean_beliefs = _mean(limit.knowledge, rows)
            concluded = worlds_of_class.belief(labels)
            believed = [mean_beliefs.get(label, Fraction(0)) for label in labels]
            breaks = limit.keeps_beliefs(believed, target) and not limit.keeps_beliefs(concluded, target)
            looked, people = looked + times, people + times * len(rows)
            beyond, broken = beyond + times * len(rows) * breaks, broken + times * breaks
            before, after = max(before, *believed), max(after, *concluded)
            sums[0] += times * len(rows) * max(believed)
            sums[1] += times * len(rows) * max(concluded)
        left = len(histogram.start) - 1 - looked
        aside = f"{pluralize(left, 'class', 'classes')} with too many worlds to list; allow more --steps"
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"terms that are gone from {limit.column} lead to a label with a belief of up to"
            f" {float(after):.3g}, as published: {float(before):.3g}; {format_people(beyond)} in {broken}"
            f" of {looked} classes beyond what is promised",
            confidence=after,
            people=beyond,
            breach=bool(broken),
            columns=published.keys,
            details={
                "classes": len(histogram.start) - 1,
                "classes looked at": looked,
                "classes beyond the promise": broken,
                "belief as published": before,
                "belief after": after,
                "mean belief as published": sums[0] / people if people else Fraction(0),
                "mean belief after": sums[1] / people if people else Fraction(0),
            },
            not_tried=aside if left else "",
        )

    def _worlds_of(self, knowledge: Knowledge, rows: Rows) -> WorldsOfClass | None:
        """Returns the worlds of a class; `None` where they are too many, or none gives the class."""
        possible = possible_sets(knowledge, rows, MORE_TERMS, self.known.steps)
        if not possible or comb(len(possible) + len(rows) - 1, len(rows)) > self.known.steps:
            return None
        return worlds_by_class(knowledge, possible, len(rows), self.known.outcomes).get(tuple(sorted(rows)))


def _distinct_classes(histogram: Histogram) -> Counter[Rows]:
    """Counts the classes by their term sets."""
    terms = [tuple(sorted(terms_of(text))) for text in histogram.taxonomy.leaf_labels]
    classes: Counter[Rows] = Counter()
    for c in range(len(histogram.start) - 1):
        span = slice(int(histogram.start[c]), int(histogram.start[c + 1]))
        codes = np.repeat(histogram.values[span], histogram.counts[span])
        classes[tuple(sorted(terms[code] for code in codes.tolist()))] += 1
    return classes


def _mean(knowledge: Knowledge, rows: Rows) -> dict[str, Fraction]:
    """Returns what a class says of labels as it is published."""
    total: dict[str, Fraction] = {}
    for terms in rows:
        for label, share in _belief(knowledge, terms).items():
            total[label] = total.get(label, Fraction(0)) + share / len(rows)
    return total
