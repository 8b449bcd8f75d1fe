"""Homogeneity: learning a value without recognizing the record."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

import numpy as np

from sfumato.attacks.published_table import PublishedTable, crowd
from sfumato.attacks.ratios import Integers, exceeding, largest
from sfumato.attacks.registry import register
from sfumato.core.classes import Classes
from sfumato.core.limits import CERTAINTY, VALUES, AttackLimits
from sfumato.core.verdict import Finding


@register("homogeneity")
@dataclass(frozen=True)
class Homogeneity:
    """Whoever finds a person's class learns the value that most of the class shares.

    The chance of guessing right is max over s of g(s) / |q|, with g(s) of the class's |q| people holding the
    value s. It is a breach when a class has fewer values, or a larger chance, than the promises allow;
    without a promise about the column, when the chance is certainty. Spellings of a value are one value for
    whoever reads them, unless the policy tells them apart.

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
        classes = published.classes
        most, rank, values = commonest(classes, column)
        worst, confidence = largest(most, classes.people)
        needed, allowed = ceil(limits.limit(VALUES, column)[0]), limits.limit(CERTAINTY, column)[0]
        certain = most == classes.people
        broken = (values < needed) | certain | exceeding(most, classes.people, allowed)
        exposed, people = published.people_in(certain), published.people_in(broken)
        shown = dict(published.labels_of(worst)) if worst >= 0 else {}
        if worst >= 0:
            shown[column] = classes.histograms[column].taxonomy.leaf_labels[int(rank[worst])]
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=_sentence(published, column, confidence, exposed, people),
            confidence=confidence,
            people=people,
            breach=bool(broken.any()),
            columns=(*published.keys, column),
            details={
                "best guess": confidence,
                "fewest values": int(values.min()) if len(values) else 0,
                "values asked for": needed,
                "chance allowed": allowed,
                "classes with one certain value": int(certain.sum()),
                "people exposed with certainty": exposed,
            },
            values=shown,
        )


def commonest(classes: Classes, column: str) -> tuple[Integers, Integers, Integers]:
    """Of every class: how many people hold its commonest value, the first such value, how many values.

    Spellings of one value are one. A missing cell may be the commonest, and is no value.
    """
    whole = classes.histograms[column]
    values = np.diff(whole.by_meaning(missing=False).start)
    h = whole.by_meaning(missing=True)
    if not len(values):
        return h.counts, h.counts, values
    most = np.maximum.reduceat(h.counts, h.start[:-1])
    leading = np.flatnonzero(h.counts == np.repeat(most, np.diff(h.start)))
    first = leading[np.searchsorted(leading, h.start[:-1])]
    return most, h.values[first].astype(np.int64), values


def _sentence(published: PublishedTable, column: str, confidence: Fraction, exposed: int, people: int) -> str:
    if not published.rows:
        return f"nothing is published, so {column} stays unknown"
    often = "every time in some groups" if confidence == 1 else f"{confidence} of the time at best"
    return (
        f"{column} guessed right {often}; certain for {crowd(exposed)}, "
        f"easier than allowed for {crowd(people)}"
    )
