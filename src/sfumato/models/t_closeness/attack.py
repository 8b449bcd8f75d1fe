"""Skewness: a class that makes a value more likely than the table does."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.models.attack_contract import (
    Integers,
    PublishedTable,
    equal_to,
    exceeding,
    format_people,
    largest,
    register,
)
from sfumato.system.verdict import PROMISED, SHIFT, AttackLimits, Finding
from sfumato.table.classes import Classes, Histogram


@register
@dataclass(frozen=True)
class Skewness:
    """Before: the value's share in the whole table. After finding the class: its share there.

    The gain is the quotient of the two beliefs; the distance of a class is half the sum of the absolute
    differences over all values. A class further from the table than the promises allow is a breach. Without
    a promise about that distance, a class is one where a value gains more than a stated default: among five
    people with five rare values each of them becomes many times likelier, and none is likely. Of values that
    a promise names, what their shares of a class, among those who have a value, exceed those of the table by
    is compared instead.

    Source: Li, Li, Venkatasubramanian, t-closeness, 2007 (skewness attack).
    Silent on: values that differ in name and mean nearly the same.
    """

    name: ClassVar[str] = "skewness"
    knows: ClassVar[str] = "that a person is in the table, their key columns, and the table's distribution"
    seeks: ClassVar[str] = "whether a sensitive value is likelier for the person than for others"
    succeeds: ClassVar[str] = "the belief about the person moves further from the table than allowed"
    needs: ClassVar[str] = "a sensitive column"
    threatens: ClassVar[tuple[str, ...]] = ("l-diversity", "t-closeness")

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        return [self._seek(published, column, limits) for column in published.sensitive]

    def _seek(self, published: PublishedTable, column: str, limits: AttackLimits) -> Finding:
        h = published.classes.histograms[column]
        limit, source = limits.limit(SHIFT, column)
        named, sought = limits.of_values(SHIFT, column), limits.sought(column)
        from_table = source == PROMISED
        measure = shifts if from_table else rises
        readings = [measure(h)]
        if h.overall[h.taxonomy.meanings < 0].any():  # of somebody who is known to have a value
            readings.append(measure(h.without_missing()))
        distance = max(largest(above, below)[1] for above, below in readings)
        far = np.any([exceeding(above, below, limit) for above, below in readings], axis=0)
        bounds = [(bound.values, bound.value) for bound in named]
        if (named or sought is not None) and not from_table:
            far, distance = np.zeros(len(far), dtype=bool), Fraction(0)
            if named:
                limit, source = min(bound.value for bound in named), PROMISED
            elif sought is not None:
                bounds = [(sought, limit)]
        for values_of_bound, most in bounds:
            holding, above, below = _excesses(published.classes, column, values_of_bound)
            far[holding[exceeding(above, below, most)]] = True
            distance = max(distance, largest(above, below)[1])
        people = published.people_in(far)
        entry, gain = largest(*gains(h))
        after, values = Fraction(0), {}
        if entry >= 0:
            owner = int(h.owner[entry])
            after = Fraction(int(h.counts[entry]), int(h.totals[owner]))
            values = {**published.labels_of(owner), column: h.taxonomy.leaf_labels[int(h.values[entry])]}
        sentence = f"nothing is published, so no belief about {column} changes"
        if published.rows:
            where = f"farther than {limit} from the table"
            if not from_table:
                where = f"where the chance of a value is more than {limit} above its share of the table"
            who = f"{format_people(people)} {'is in a group' if people < 2 else 'are in groups'}"
            sentence = (
                f"knowing the group makes a value of {column} up to {float(gain):.3g} times likelier;"
                f" {who} {where} ({source})"
            )
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=sentence,
            confidence=after,
            people=people,
            breach=bool(far.any()),
            columns=(*published.keys, column),
            details={
                "largest distance": distance,
                "distance allowed": limit,
                "largest gain": gain,
                "belief before": after / gain if gain else Fraction(0),
                "belief after": after,
                "people with the largest gain": _people_gaining(published, h, gain),
            },
            values=values,
        )


def shifts(h: Histogram) -> tuple[Integers, Integers]:
    """The distance of every class from the whole table, as numerators and denominators.

    Half the sum of absolute differences is the sum of the positive ones, so absent values need no look.
    """
    totals, everyone = h.totals, int(h.overall.sum())
    surplus = h.counts * everyone - h.overall[h.values] * totals[h.owner]
    above = np.zeros_like(totals)
    np.add.at(above, h.owner, np.maximum(surplus, 0))
    return above, np.maximum(totals * everyone, 1)


def rises(h: Histogram) -> tuple[Integers, Integers]:
    """How much some value of every class exceeds its share of the table at most, as two integers."""
    totals, everyone = h.totals, int(h.overall.sum())
    surplus = h.counts * everyone - h.overall[h.values] * totals[h.owner]
    above = np.zeros_like(totals)
    np.maximum.at(above, h.owner, surplus)
    return above, np.maximum(totals * everyone, 1)


def _excesses(classes: Classes, column: str, values: tuple[str, ...]) -> tuple[Integers, Integers, Integers]:
    """The classes that hold some values, and how much each exceeds its share of the table there."""
    h, whole = classes.histograms[column].of_values(values), classes.histograms[column]
    unknown = whole.taxonomy.meanings[whole.values] < 0
    missing, most = np.zeros_like(classes.people), np.ones_like(classes.people)
    np.add.at(missing, whole.owner[unknown], whole.counts[unknown])
    every = whole.by_meaning(missing=False)
    np.maximum.at(most, every.owner, every.counts)
    known, everyone = np.maximum(classes.people - missing, most)[h.owner], int(h.overall.sum())
    above = h.counts * everyone - h.overall[h.values] * known
    return h.owner, np.maximum(above, 0), known * everyone


def gains(h: Histogram) -> tuple[Integers, Integers]:
    """Belief after over belief before, of every value of every class."""
    totals = np.repeat(h.totals, np.diff(h.start))
    return h.counts * int(h.overall.sum()), totals * h.overall[h.values]


def _people_gaining(published: PublishedTable, h: Histogram, gain: Fraction) -> int:
    """The people of the classes where some value gains most."""
    chosen = np.zeros(len(published.classes), dtype=bool)
    chosen[h.owner[equal_to(*gains(h), gain)]] = True
    return published.people_in(chosen)
