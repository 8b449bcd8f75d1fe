"""Linkage: recognizing a person by what is published of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.models.attack_contract import (
    Criterion,
    Integers,
    PublishedTable,
    exceeding,
    format_people,
    register,
)
from sfumato.system.verdict import RECOGNITION, AttackLimits, Finding
from sfumato.table.taxonomy import ANY, Label

Population = Mapping[tuple[Label, ...], int]
"""How many people of the population share each combination of published key values, in their order."""


@register
@dataclass(frozen=True)
class Linkage:
    """Prosecutor, journalist and marketer, the three adversaries of re-identification.

    The prosecutor knows that a certain person is in the table, so each of f people in a class is a guess
    with chance 1/f. The journalist wants to recognize anybody and does not know who is in: the chance is
    1/F, with F people in the population who share the class's values; without a population F is at least
    f, and the prosecutor's risk is the bound. The marketer wants to recognize as many as possible and
    counts the share of right matches, the mean of 1/F over all records.

    A published text is taken for a value, and so is `*` in a single cell: whoever knows which cells were
    suppressed tells these records apart. Other programs let such a cell match anything. Where the two
    readings differ, the best guess by the other one is told as well.

    Source: Dankar and El Emam, A method for evaluating marketer re-identification risk, 2010.
    Silent on: what is learned about someone without recognizing their record (see homogeneity).
    """

    population: Population | None = None

    name: ClassVar[str] = "linkage"
    knows: ClassVar[str] = "the key columns of one person, or of many"
    seeks: ClassVar[str] = "which record is theirs"
    succeeds: ClassVar[str] = "a record is matched to its person with more than the allowed chance"
    criterion: ClassVar[Criterion] = Criterion.SINGLING_OUT
    threatens: ClassVar[tuple[str, ...]] = ("k-anonymity",)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        inside = published.classes.people
        around, absent = self._around(published)
        limit, _ = limits.limit(RECOGNITION)
        risky = exceeding(np.ones_like(inside), inside, limit).any()
        anything = matched_by_anything(published) if risky else None
        return [
            _best_guess(published, inside, limits, "prosecutor", _PROSECUTOR, {}, anything),
            _best_guess(published, around, limits, "journalist", _JOURNALIST, absent, anything),
            _matches(published, around, limits, absent, anything),
        ]

    def _around(self, published: PublishedTable) -> tuple[Integers, dict[str, int | str]]:
        """F of every class, and what is known about where it comes from."""
        inside = published.classes.people
        if self.population is None:
            return inside, {"population": "unknown: taken to be the table itself"}
        keys = (tuple(published.labels_of(i).values()) for i in range(len(inside)))
        population = np.array([self.population.get(key, 0) for key in keys], dtype=np.int64)
        below = int((population < inside).sum())
        return np.maximum(population, inside), {"population": "given", "classes beyond it": below}


_PROSECUTOR = "someone who knows that a person is in the table, and their key columns"
_JOURNALIST = "someone who knows the key columns of people who may or may not be in the table"
_MARKETER = "someone who matches the whole table with a register of the key columns"


def _best_guess(
    published: PublishedTable,
    sizes: Integers,
    limits: AttackLimits,
    who: str,
    adversary: str,
    details: Mapping[str, int | str],
    anything: Integers | None,
) -> Finding:
    """The highest risk, how many carry more than is allowed, and the average."""
    limit, source = limits.limit(RECOGNITION)
    inside = published.classes.people
    risky = exceeding(np.ones_like(sizes), sizes, limit)
    people, everyone = published.people_in(risky), published.people_in(np.ones_like(risky))
    worst = int(sizes.argmin()) if len(sizes) else -1
    highest = Fraction(1, int(sizes[worst])) if len(sizes) else Fraction(0)
    average = _mean_risk(inside, sizes)
    if who == "journalist" and len(sizes):
        average = max(average, Fraction(len(sizes), int(sizes.sum())))
    told, other = "", dict[str, Fraction]()
    if anything is not None and len(sizes):
        other = {"highest risk if * matches anything": Fraction(1, int(np.maximum(anything, sizes).min()))}
        (again,) = other.values()
        if again != highest:
            told = f" with * taken for a value, 1 in {again.denominator:,} if * matches anything"
    bound = " at most" if who == "journalist" and details.get("population") != "given" else ""
    return Finding(
        attack=Linkage.name,
        adversary=f"{who}: {adversary}",
        sentence=_sentence(
            published,
            f"best guess right{bound} 1 time in {highest.denominator:,}{told}; "
            f"{format_people(people)} above {limit} ({source})",
        ),
        confidence=highest,
        people=people,
        breach=bool(risky.any()),
        columns=published.keys,
        details={
            "highest risk": highest,
            "average risk": average,
            "threshold": limit,
            "records over threshold": int(published.classes.rows[risky].sum()),
            "share over threshold": Fraction(people, everyone) if everyone else Fraction(0),
            "unique": published.people_in(sizes == 1),
            **other,
            **details,
        },
        values=published.labels_of(worst) if worst >= 0 else {},
    )


def _matches(
    published: PublishedTable,
    sizes: Integers,
    limits: AttackLimits,
    details: Mapping[str, int | Fraction | str],
    anything: Integers | None,
) -> Finding:
    """The share of the table that a register would match rightly."""
    limit, source = limits.limit(RECOGNITION)
    rate = _mean_risk(published.classes.people, sizes)
    hits = rate * int(published.classes.people.sum())
    everyone = published.people_in(np.ones(len(sizes), dtype=bool))
    told = ""
    if anything is not None:
        again = _mean_risk(published.classes.people, np.maximum(anything, sizes))
        if again != rate:
            told = f" with * taken for a value, {float(again):.3%} if * matches anything"
        details = {**details, "success rate if * matches anything": again}
    return Finding(
        attack=Linkage.name,
        adversary=f"marketer: {_MARKETER}",
        sentence=_sentence(published, f"{float(rate):.3%} matched rightly{told}, against {limit} ({source})"),
        confidence=rate,
        people=everyone if rate > limit else 0,
        breach=rate > limit,
        columns=published.keys,
        details={"success rate": rate, "expected matches": hits, "threshold": limit, **details},
    )


MOST_COMPARED = 5_000_000
"""Classes, times patterns of suppressed cells, that are held against each other."""


def matched_by_anything(published: PublishedTable) -> Integers | None:
    """How many people each class may be about if `*` matches anything: those that it does not contradict.

    `None` where no single cell reads `*`, or where they do in too many ways.
    """
    texts, codes, _ = published.texts
    names = [name for name, labels in texts.items() if ANY in labels and len(labels) > 1]
    if not names:
        return None
    shown = np.stack([codes[name] for name in codes], axis=1).astype(np.int64)
    starred = np.zeros(shown.shape, dtype=bool)
    for j, name in enumerate(codes):
        if name in names:
            starred[:, j] = shown[:, j] == texts[name].index(ANY)
    patterns, which = np.unique(starred, axis=0, return_inverse=True)
    which = which.ravel()
    if len(patterns) * len(shown) > MOST_COMPARED:
        return None
    people = published.classes.people
    matched = np.zeros(len(shown), dtype=np.int64)
    for i, mine in enumerate(patterns):
        for j, theirs in enumerate(patterns):
            here, there = np.flatnonzero(which == i), np.flatnonzero(which == j)
            both = np.flatnonzero(~mine & ~theirs)
            rows = np.concatenate([shown[there][:, both], shown[here][:, both]])
            _, place = np.unique(rows, axis=0, return_inverse=True)
            place = place.ravel()
            sums = np.zeros(int(place.max(initial=-1)) + 1, dtype=np.int64)
            np.add.at(sums, place[: len(there)], people[there])
            matched[here] += sums[place[len(there) :]]
    return matched


def _mean_risk(inside: Integers, sizes: Integers) -> Fraction:
    """The mean over people of 1/F, exact: classes of equal size are added first."""
    everyone = int(inside.sum())
    if not everyone:
        return Fraction(0)
    distinct, which = np.unique(sizes, return_inverse=True)
    people: NDArray[np.int64] = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(people, which, inside)
    risks = (Fraction(h, s) for h, s in zip(people.tolist(), distinct.tolist(), strict=True))
    return sum(risks, Fraction()) / everyone


def _sentence(published: PublishedTable, what: str) -> str:
    return what if published.rows else "nothing is published, so nobody can be recognized"
