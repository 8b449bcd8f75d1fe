"""Minimality of term removal: labels, guessed by somebody who knows that no more terms go than have to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import comb, factorial
from typing import ClassVar

import numpy as np

from sfumato.attacks.label_seeker import SeeksLabels
from sfumato.attacks.published_table import PublishedTable, crowd
from sfumato.core.beliefs import BeliefLimit, LabelCloseness
from sfumato.core.classes import Histogram
from sfumato.core.knowledge import Knowledge
from sfumato.core.limits import AttackLimits
from sfumato.core.prior import Prior
from sfumato.core.term_sets import terms_of
from sfumato.core.verdict import Finding
from sfumato.show.card import several

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
class Fiber:
    """The worlds that publish one and the same class: their weight, and what they say of labels."""

    weight: Fraction = Fraction(0)
    beliefs: dict[str, Fraction] = field(default_factory=dict)

    def belief(self, labels: Sequence[str]) -> list[Fraction]:
        """Returns the belief in each of these labels."""
        return [self.beliefs.get(label, Fraction(0)) / self.weight for label in labels]

    def add(self, label: str, share: Fraction) -> None:
        """Adds what a world says of a label."""
        self.beliefs[label] = self.beliefs.get(label, Fraction(0)) + share


def fibers(
    knowledge: Knowledge, possible: Sequence[Terms], size: int, outcomes: Outcomes
) -> dict[Rows, Fiber]:
    """Returns the worlds of a class of so many rows, by what is published of them, as sorted rows.

    Every row of a world has one of the `possible` sets, all equally likely. Worlds that differ in the order
    of rows are looked at once and weighed.
    """
    said = cache(lambda terms: _belief(knowledge, terms))
    found: dict[Rows, Fiber] = {}
    for rows in combinations_with_replacement(possible, size):
        orders = factorial(size)
        for many in Counter(rows).values():
            orders //= factorial(many)
        for published, chance in outcomes(rows).items():
            fiber = found.setdefault(tuple(sorted(published)), Fiber())
            weight = orders * chance
            fiber.weight += weight
            for terms in rows:
                for label, share in said(terms).items():
                    fiber.add(label, weight * share / size)
    return found


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
    shown = {frozenset(terms) for terms in published}
    widest = max(map(len, shown), default=0) + more
    found: set[Terms] = set()
    for _, terms in knowledge.rows:
        for held in shown:
            if not held <= terms:
                continue
            rest = sorted(terms - held)
            for number in range(min(len(rest), widest - len(held)) + 1):
                if comb(len(rest), number) > most:
                    return None
                found |= {tuple(sorted((*held, *further))) for further in combinations(rest, number)}
        if len(found) > most:
            return None
    return sorted(found)


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
        found = []
        for limit in limits.of_kind(BeliefLimit):
            held = published.classes.histograms.get(limit.column)
            if held is not None and not limit.parts:
                found.append(self._finding(published, limit, held))
        return found

    def _finding(self, published: PublishedTable, limit: BeliefLimit, held: Histogram) -> Finding:
        labels = limit.knowledge.labels
        prior = limit.prior if isinstance(limit, LabelCloseness) and isinstance(limit.prior, Prior) else None
        target = [Fraction(0)] * len(labels) if prior is None else prior.on(labels)
        looked = people = beyond = broken = 0
        before, after, sums = Fraction(0), Fraction(0), [Fraction(0), Fraction(0)]
        for rows, times in _distinct_classes(held).items():
            fiber = self._fiber(limit.knowledge, rows)
            if fiber is None:
                continue
            shown = _mean(limit.knowledge, rows)
            told = fiber.belief(labels)
            believed = [shown.get(label, Fraction(0)) for label in labels]
            breaks = limit.keeps_beliefs(believed, target) and not limit.keeps_beliefs(told, target)
            looked, people = looked + times, people + times * len(rows)
            beyond, broken = beyond + times * len(rows) * breaks, broken + times * breaks
            before, after = max(before, *believed), max(after, *told)
            sums[0] += times * len(rows) * max(believed)
            sums[1] += times * len(rows) * max(told)
        left = len(held.start) - 1 - looked
        aside = f"{several(left, 'class', 'classes')} with too many worlds to list; allow more --steps"
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"terms that are gone from {limit.column} lead to a label with a belief of up to"
            f" {float(after):.3g}, as published: {float(before):.3g}; {crowd(beyond)} in {broken} of {looked}"
            " classes beyond what is promised",
            confidence=after,
            people=beyond,
            breach=bool(broken),
            columns=published.keys,
            details={
                "classes": len(held.start) - 1,
                "classes looked at": looked,
                "classes beyond the promise": broken,
                "belief as published": before,
                "belief after": after,
                "mean belief as published": sums[0] / people if people else Fraction(0),
                "mean belief after": sums[1] / people if people else Fraction(0),
            },
            not_tried=aside if left else "",
        )

    def _fiber(self, knowledge: Knowledge, rows: Rows) -> Fiber | None:
        """Returns the worlds of a class; `None` where they are too many, or none gives the class."""
        possible = possible_sets(knowledge, rows, MORE_TERMS, self.known.steps)
        if not possible or comb(len(possible) + len(rows) - 1, len(rows)) > self.known.steps:
            return None
        return fibers(knowledge, possible, len(rows), self.known.outcomes).get(tuple(sorted(rows)))


def _distinct_classes(held: Histogram) -> Counter[Rows]:
    """Counts the classes by their term sets."""
    terms = [tuple(sorted(terms_of(text))) for text in held.taxonomy.leaf_labels]
    found: Counter[Rows] = Counter()
    for c in range(len(held.start) - 1):
        span = slice(int(held.start[c]), int(held.start[c + 1]))
        codes = np.repeat(held.values[span], held.counts[span])
        found[tuple(sorted(terms[code] for code in codes.tolist()))] += 1
    return found


def _mean(knowledge: Knowledge, rows: Rows) -> dict[str, Fraction]:
    """Returns what a class says of labels as it is published."""
    total: dict[str, Fraction] = {}
    for terms in rows:
        for label, share in _belief(knowledge, terms).items():
            total[label] = total.get(label, Fraction(0)) + share / len(rows)
    return total
