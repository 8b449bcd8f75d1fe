"""Gain: a value that is likelier for somebody than for everybody."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.models.attack_contract import PublishedTable, format_people, register
from sfumato.system.verdict import AttackLimits, Finding
from sfumato.table.classes import GainLimit, gain_of


@register
@dataclass(frozen=True)
class RelativeGain:
    """Before: the value's share p in the whole table. After finding the class: its share q there.

    The gain is (q - p) / p. A value that gains more than the promise `beta-likeness` allows is a breach;
    without that promise there is nothing to say (see skewness).

    Source: Cao and Karras, Publishing microdata with a robust privacy guarantee, 2012.
    Silent on: values that a class makes less likely, and beliefs other than the table's shares.
    """

    name: ClassVar[str] = "gain"
    knows: ClassVar[str] = "that a person is in the table, their key columns, and how common each value is"
    seeks: ClassVar[str] = "a sensitive value that is likelier for the person than for others"
    succeeds: ClassVar[str] = "the belief in a value grows by more, relative to before, than is allowed"
    needs: ClassVar[str] = "the promise beta-likeness, and its column in the table"
    threatens: ClassVar[tuple[str, ...]] = ("beta-likeness",)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        stated = limits.of_kind(GainLimit)
        return [self._seek(published, limit) for limit in stated if limit.column in published.sensitive]

    def _seek(self, published: PublishedTable, limit: GainLimit) -> Finding:
        readings = limit.readings(published.classes.histograms[limit.column])
        over = np.zeros(len(published.classes), dtype=bool)
        for reading in readings:
            over[reading.owner[~limit.judge(reading)[0]]] = True
        people = published.people_in(over)
        after = before = Fraction(0)
        gain: Fraction | None = Fraction(0)
        values: dict[str, str | None] = {}
        if (worst := limit.worst_of(readings)) is not None:
            h, entry = worst
            owner, value = int(h.owner[entry]), int(h.values[entry])
            count, size, holders = int(h.counts[entry]), int(h.totals[owner]), int(h.overall[value])
            after, before = Fraction(count, size), Fraction(holders, h.everyone)
            gain = gain_of(count, size, holders, h.everyone) if holders else None
            values = {**published.labels_of(owner), limit.column: h.taxonomy.leaf_labels[value]}
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=_sentence(published, limit, gain, people),
            confidence=after,
            people=people,
            breach=bool(over.any()),
            columns=(*published.keys, limit.column),
            details={
                "gain": "unbounded: the reference lacks the value" if gain is None else gain,
                "gain allowed": limit.beta,
                "belief before": before,
                "belief after": after,
                "classes beyond": int(over.sum()),
            },
            values=values,
        )


def _sentence(published: PublishedTable, limit: GainLimit, gain: Fraction | None, people: int) -> str:
    if not published.rows:
        return f"nothing is published, so no belief about {limit.column} changes"
    allowed = f"{limit.beta}, or -ln of its share" if limit.enhanced else f"{limit.beta}"
    grows = f"the belief in a value of {limit.column} grows by {float(gain or 0):.3g} of what it was"
    if gain is None:
        grows = f"{limit.column} has a value that nobody of the reference has"
    return f"{grows}; {format_people(people)} by more than allowed ({allowed})"
