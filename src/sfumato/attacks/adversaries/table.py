"""Exact ends: a range that runs from one person's value to another's tells both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.models.attack_contract import Criterion, PublishedTable, format_people, register
from sfumato.system.errors import BadTaxonomy
from sfumato.system.presentation.cards import pluralize
from sfumato.system.verdict import VALUES, AttackLimits, Finding
from sfumato.table.classes import histogram
from sfumato.table.microdata import Packing, sort_and_count
from sfumato.table.published_texts import RANGE
from sfumato.table.taxonomy import Label, Taxonomy, TaxonomyRule


@register
@dataclass(frozen=True)
class ExactEnds:
    """A class that publishes the range of its own values tells the least and the greatest of them.

    Both are values of somebody in the class, to the day or the unit, however many people are in it: whoever
    is known to be the oldest, or to earn the most, is named with the value. A range whose ends are ends of
    nodes of the policy's taxonomy tells no value.

    Silent on: columns without a taxonomy, and values that a whole class shares.
    """

    name: ClassVar[str] = "exact-ends"
    knows: ClassVar[str] = "how the ranges of a table are made, and who comes first or last in a class"
    seeks: ClassVar[str] = "the exact value of a key column"
    needs: ClassVar[str] = "a key column that the policy gives a taxonomy"
    succeeds: ClassVar[str] = "a range ends at a value, and not at a boundary that the policy names"
    criterion: ClassVar[Criterion] = Criterion.SINGLING_OUT
    threatens: ClassVar[tuple[str, ...]] = ("k-anonymity",)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del limits
        names = [name for name in published.keys if name in published.rules]
        return [self._column(published, name) for name in names]

    def _column(self, published: PublishedTable, name: str) -> Finding:
        texts, codes, _ = published.texts
        exact = exact_ends(published.rules[name], texts[name])
        ends = int(exact.sum())
        classes = np.minimum(exact[codes[name]], published.classes.people)
        people = int(classes.sum())
        sentence = f"no published {name} range starts or ends at a real value"
        if ends:
            hold = pluralize(int((classes > 0).sum()), "group tells", "groups tell")
            sentence = f"{name}: {hold} the exact value of at least {format_people(people)}"
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=sentence,
            confidence=Fraction(int(ends > 0)),
            people=people,
            breach=ends > 0,
            columns=(name,),
            details={"texts": int((exact > 0).sum()), "values": ends},
        )


def exact_ends(rule: TaxonomyRule, labels: Sequence[Label]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Returns, per label, how many of its ends are values and no boundary of the taxonomy: 0, 1 or 2."""
    listed = _tree(rule, [])
    ends = np.zeros(len(labels), np.int64)
    for i, label in enumerate(labels):
        first, dash, last = (label or "").partition(RANGE)
        if dash:
            ends[i] = _is_value(rule, listed, first, last=False) + _is_value(rule, listed, last, last=True)
    return ends


def _is_value(rule: TaxonomyRule, listed: Taxonomy | None, text: str, *, last: bool) -> bool:
    """Whether the end of a range is a value that no node of the range level begins with, or ends with."""
    tree = listed if listed is not None and len(listed.leaves) > 1 else _tree(rule, [text])
    rank = None if tree is None else tree.rank(text)
    if tree is None or rank is None:
        return False
    cell = int(tree.levels[tree.range_level][rank])
    if tree.labels[cell] == text:
        return False
    if tree is not listed:
        return True
    return rank != (int(tree.high[cell]) - 1 if last else int(tree.low[cell]))


def _tree(rule: TaxonomyRule, values: Sequence[Label]) -> Taxonomy | None:
    try:
        return rule.build(values)
    except BadTaxonomy:
        return None


# Intersection: what the classes of all rows of a person leave, where each of them alone tells little.

Longs = NDArray[np.int64]
Ints = NDArray[np.integer]


@register
@dataclass(frozen=True)
class Intersection:
    """Whoever knows all rows of a person keeps the values that every one of their classes holds.

    A person with n rows in a class can only have a value that at least n of its rows hold, class by class.
    It is a breach when fewer values are left than the promises allow; without a promise about the column,
    when one is left. The table must tell whose rows are whose: this is the attack of an owner on a table that
    still has its person column. People who have several values of a column are left out.

    Source: what several classes of one person say together, as in composition attacks (Ganta,
    Kasiviswanathan and Smith 2008).
    Silent on: how likely the values are that are left, and what the rows of others rule out.
    """

    name: ClassVar[str] = "intersection"
    knows: ClassVar[str] = "the key columns of all rows of a person, and that the person has one value"
    seeks: ClassVar[str] = "the person's sensitive value"
    succeeds: ClassVar[str] = "too few values occur in every class that a row of the person is in"
    criterion: ClassVar[Criterion] = Criterion.LINKABILITY
    threatens: ClassVar[tuple[str, ...]] = ("l-diversity", "confidence-bounding", "alpha-k-anonymity")
    needs: ClassVar[str] = "the person column beside the table, and somebody with several rows"

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        if not published.table.people_with_several_rows:
            return []
        return [self._seek(published, column, limits) for column in published.sensitive]

    def _seek(self, published: PublishedTable, column: str, limits: AttackLimits) -> Finding:
        people, left = values_left(published, column)
        needed = ceil(limits.limit(VALUES, column)[0])
        fewest = int(left.min()) if len(left) else 0
        exposed, broken = int((left == 1).sum()), int((left < needed).sum())
        sure = Fraction(1, fewest) if fewest else Fraction(0)
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=(
                f"{format_people(len(people))} with several rows, at least {pluralize(fewest, 'value')}"
                f" of {column}"
                f" possible for each; certain for {format_people(exposed)}, fewer than allowed for"
                f" {format_people(broken)}"
            ),
            confidence=sure,
            people=broken,
            breach=broken > 0,
            columns=(*published.keys, column),
            details={
                "people with several rows": len(people),
                "fewest values left": fewest,
                "values asked for": needed,
                "people exposed with certainty": exposed,
            },
        )


def values_left(published: PublishedTable, column: str) -> tuple[Longs, Longs]:
    """Returns the people with several rows and one value of a column, and how many values each can have."""
    table, person = published.table, published.table.person
    if person is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    where, class_of = person, published.class_of
    classes = int(class_of.max(initial=-1)) + 1
    tallies = histogram(table.column(column).taxonomy, class_of, table.codes(column), table.counts, classes)
    whose, place, often = _profiles(where, class_of, person, table.counts)
    span = np.diff(tallies.start)[place]
    entry = np.arange(int(span.sum())) + np.repeat(tallies.start[place] - (np.cumsum(span) - span), span)
    enough = tallies.counts[entry] >= np.repeat(often, span)
    pairs = (
        np.repeat(whose, span)[enough].astype(np.int64) * len(tallies.overall) + tallies.values[entry][enough]
    )
    both, times = np.unique(pairs, return_counts=True)
    different = np.bincount(whose, minlength=int(where.max(initial=-1)) + 1)
    stays = times == different[both // len(tallies.overall)]
    left = np.bincount(both[stays] // len(tallies.overall), minlength=len(different))
    who = _with_one_value(person, table.codes(column), table.counts)
    of_person = np.zeros(int(person.max(initial=-1)) + 1, np.int64)
    of_person[person] = where
    return who, left[of_person[who]].astype(np.int64)


def _profiles(where: Ints, class_of: Ints, person: Ints, counts: Longs) -> tuple[Longs, Longs, Longs]:
    """Returns every position with each of its classes, and how often its people hold that."""
    packing = Packing((int(where.max(initial=0)) + 1, int(class_of.max(initial=0)) + 1))
    first = np.zeros(int(where.max(initial=-1)) + 1, np.int64)
    first[where[::-1]] = person[::-1]
    example = person == first[where]
    words, often = sort_and_count(packing.pack([where[example], class_of[example]]), counts[example])
    return packing.unpack(words, 0).astype(np.int64), packing.unpack(words, 1).astype(np.int64), often


def _with_one_value(person: Ints, codes: Ints, counts: Longs) -> Longs:
    """Returns the people with several rows that all hold the same value."""
    size = int(person.max(initial=-1)) + 1
    rows, least, most = np.zeros(size, np.int64), np.full(size, np.iinfo(np.int64).max), np.full(size, -1)
    np.add.at(rows, person, counts)
    np.minimum.at(least, person, codes)
    np.maximum.at(most, person, codes)
    return np.flatnonzero((rows > 1) & (least == most))
