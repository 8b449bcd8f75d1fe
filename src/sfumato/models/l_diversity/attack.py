"""Homogeneity: learning a value without recognizing the record."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

import numpy as np

from sfumato.models.attack_contract import (
    Integers,
    PublishedTable,
    exceeding,
    format_people,
    largest,
    register,
)
from sfumato.system.verdict import ABSENCE, CERTAINTY, VALUES, AttackLimits, Finding
from sfumato.table.classes import Classes, Histogram


@register
@dataclass(frozen=True)
class Homogeneity:
    """Whoever finds a person's class learns the value that most of the class shares.

    The chance of guessing right is max over s of g(s) / |q|, with g(s) of the class's |q| people who have a
    value holding the value s: somebody may know that a person has one. That a person has none is guessed
    right with the share of those people among all of the class. It is a breach when a class has fewer values,
    or a larger chance, than the promises allow; without a promise about the column, when the chance is
    certainty. Spellings of a value are one value for whoever reads them, unless the policy tells them apart.
    Where promises protect some values of a column alone, these are sought; how many people one of its other
    values is certain for is counted, and breaks nothing.

    Source: Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006 (homogeneity attack).
    Silent on: adversaries who can exclude values beforehand.
    """

    name: ClassVar[str] = "homogeneity"
    knows: ClassVar[str] = "that a person is in the table, and their key columns"
    seeks: ClassVar[str] = "the person's sensitive value"
    succeeds: ClassVar[str] = "all or too many of the people in the class share one value"
    needs: ClassVar[str] = "a sensitive column"
    threatens: ClassVar[tuple[str, ...]] = (
        "k-anonymity",
        "l-diversity",
        "confidence-bounding",
        "alpha-k-anonymity",
    )

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        return [self._seek(published, column, limits) for column in published.sensitive]

    def _seek(self, published: PublishedTable, column: str, limits: AttackLimits) -> Finding:
        classes, h, sought = published.classes, published.classes.histograms[column], limits.sought(column)
        most, rank, values = commonest(classes, column)
        missing = without_value(classes, column)
        with_value = np.maximum(classes.people - missing, np.maximum(most, 1))
        needed, allowed = ceil(limits.limit(VALUES, column)[0]), limits.limit(CERTAINTY, column)[0]
        has_value = h.taxonomy.meanings[published.table.codes(column)] >= 0
        every_value, every_none = most == with_value, missing == classes.people
        if sought is not None:
            most, rank, _ = _commonest(h.of_values(sought))
            needed, missing = 0, np.zeros_like(missing)
        right, among = np.concatenate((most, missing)), np.concatenate((with_value, classes.people))
        place, confidence = largest(right, among)
        one_value, none = (right == among).reshape(2, -1)
        easy = exceeding(most, with_value, allowed)
        easy |= exceeding(missing, classes.people, limits.limit(ABSENCE, column)[0])
        for bound in limits.of_values(CERTAINTY, column):
            protected = h.of_values(bound.values)
            too_sure = exceeding(protected.counts, with_value[protected.owner], bound.value)
            easy[protected.owner[too_sure]] = True
        broken = (values < needed) | one_value | none | easy
        exposed = published.people_in(one_value, among=has_value) + published.people_in(none)
        open_to_all = published.people_in(every_value & ~one_value, among=has_value)
        open_to_all += published.people_in(every_none & ~none)
        people = published.people_in(broken)
        labels: dict[str, str | None] = {}
        if place >= 0:
            value_is_missing, worst = divmod(place, len(classes))
            leaf = None if value_is_missing else int(rank[worst])
            tree = h.taxonomy
            labels = {**published.labels_of(worst), column: None if leaf is None else tree.leaf_labels[leaf]}
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=_sentence(published, column, confidence, exposed, people)
            + (
                ""
                if sought is None
                else f"; not protected: other values, certain for {format_people(open_to_all)}"
            ),
            confidence=confidence,
            people=people,
            breach=bool(broken.any()),
            columns=(*published.keys, column),
            certain=exposed,
            details={
                "best guess": confidence,
                "fewest values": int(values.min()) if len(values) else 0,
                "values asked for": needed,
                "chance allowed": allowed,
                "classes with one certain value": int((one_value | none).sum()),
                "people exposed with certainty": exposed,
                **({} if sought is None else {"people certain of values not protected": open_to_all}),
            },
            values=labels,
        )


def commonest(classes: Classes, column: str) -> tuple[Integers, Integers, Integers]:
    """Of every class: how many people hold its commonest value, the first such value, how many values.

    Spellings of one value are one, and a missing cell is none: a class may have no value.
    """
    return _commonest(classes.histograms[column].by_meaning(missing=False))


def _commonest(h: Histogram) -> tuple[Integers, Integers, Integers]:
    """Of every class: the largest count of a value, the first value with it, and how many values."""
    values = np.diff(h.start)
    most, rank = np.zeros(len(values), np.int64), np.zeros(len(values), np.int64)
    np.maximum.at(most, h.owner, h.counts)
    leading = np.flatnonzero(h.counts == most[h.owner])[::-1]
    rank[h.owner[leading]] = h.values[leading]  # the first is written last
    return most, rank, values


def without_value(classes: Classes, column: str) -> Integers:
    """Of every class: how many people have a missing cell, in whatever words."""
    h = classes.histograms[column]
    unknown = h.taxonomy.meanings[h.values] < 0
    people = np.zeros(len(classes), np.int64)
    np.add.at(people, h.owner[unknown], h.counts[unknown])
    return people


def _sentence(published: PublishedTable, column: str, confidence: Fraction, exposed: int, people: int) -> str:
    if not published.rows:
        return f"nothing is published, so {column} stays unknown"
    certain = f"certain for {format_people(exposed)}" if exposed else "nobody is certain"
    over = f"above the limit for {format_people(people)}" if people else "no limit is exceeded"
    return f"{column}: in the worst group a guess is right with probability {confidence}; {certain}, {over}"
