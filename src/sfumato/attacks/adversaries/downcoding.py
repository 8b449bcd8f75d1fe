"""Downcoding: what the key columns hide, guessed by somebody who knows how the search decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod
from typing import ClassVar

import numpy as np

from sfumato.attacks.known_search import (
    ALL_TABLES,
    KnownSearch,
    PublishedBoxes,
    Republish,
    publication_of,
)
from sfumato.models.attack_contract import Criterion, PublishedTable, format_people, register
from sfumato.system.verdict import AttackLimits, Finding
from sfumato.table.microdata import Codes

# Key worlds: every way in which the rows of a published table may hold what its key columns hide.


@dataclass(frozen=True, eq=False)
class GroupWorld:
    """One way to spread the rows of a group over the leaves of its box.

    `codes` has a row per row of the group; `weight` counts the ways to tell the rows apart; `parts[j]` counts
    the rows by the finer value they have in key column j.
    """

    weight: int
    codes: Codes
    parts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class KeyWorlds:
    """All worlds of a published table: each row holds any leaves of its box, all equally likely."""

    boxes: PublishedBoxes

    @cached_property
    def count(self) -> int:
        """How many different worlds there are; rows of a group are not told apart."""
        rows, leaves = self.boxes.counts.tolist(), self._leaves
        return prod(comb(m + n - 1, n) for n, m in zip(rows, leaves, strict=True))

    @cached_property
    def _leaves(self) -> list[int]:
        """How many combinations of leaves the box of every group has."""
        widths = (self.boxes.high - self.boxes.low).tolist()
        return [prod(widths[c]) for c in self.boxes.owner.tolist()]

    def __iter__(self) -> Iterator[tuple[GroupWorld, ...]]:
        """Yields the worlds: one way for every group."""
        return product(*(list(self._of_group(g)) for g in range(len(self.boxes.owner))))

    def _of_group(self, g: int) -> Iterator[GroupWorld]:
        boxes, c, rows = self.boxes, int(self.boxes.owner[g]), int(self.boxes.counts[g])
        ends = zip(boxes.low[c].tolist(), boxes.high[c].tolist(), strict=True)
        leaves = np.array(list(product(*(range(a, b) for a, b in ends))), np.int32)
        parts = [boxes.parts(c, j)[leaves[:, j] - boxes.low[c, j]] for j in range(len(boxes.keys))]
        kinds = [int(column.max(initial=0)) + 1 for column in parts]
        for chosen in combinations_with_replacement(range(len(leaves)), rows):
            weight = factorial(rows) // prod(map(factorial, Counter(chosen).values()))
            which = list(chosen)
            shares = (np.bincount(p[which], minlength=n).tolist() for p, n in zip(parts, kinds, strict=True))
            yield GroupWorld(weight, leaves[which], tuple(map(tuple, shares)))


@dataclass(frozen=True, eq=False)
class Guess:
    """What is known of the finer value of a row of one class in one key column.

    `chance` is how often the best guess is right, `share` the part of the class that has one finer value in
    every world, whichever it is.
    """

    chance: Fraction
    share: Fraction


class WorldSums:
    """Worlds that were weighed: how many rows of each class have which finer value, summed over worlds."""

    def __init__(self, boxes: PublishedBoxes) -> None:
        self._boxes = boxes
        self.weight = 0
        self._sums: dict[tuple[int, int], list[int]] = {}
        self._least: dict[tuple[int, int], int] = {}

    def add(self, world: tuple[GroupWorld, ...]) -> None:
        """Counts one more world."""
        weight = prod(group.weight for group in world)
        self.weight += weight
        here: dict[tuple[int, int], list[int]] = {}
        for c, group in zip(self._boxes.owner.tolist(), world, strict=True):
            for j, part in enumerate(group.parts):
                before = here.get((c, j))
                here[c, j] = (
                    list(part) if before is None else [a + b for a, b in zip(before, part, strict=True)]
                )
        for place, rows_with in here.items():
            most = max(rows_with)
            self._least[place] = min(most, self._least.get(place, most))
            sums = self._sums.setdefault(place, [0] * len(rows_with))
            for i, rows in enumerate(rows_with):
                sums[i] += weight * rows

    def guess(self, c: int, j: int) -> Guess:
        """Returns what these worlds tell of class c in key column j."""
        rows = int(self._boxes.sizes[c])
        return Guess(Fraction(max(self._sums[c, j]), self.weight * rows), Fraction(self._least[c, j], rows))


def weigh(worlds: KeyWorlds, republish: Republish) -> tuple[WorldSums, WorldSums]:
    """Weighs all worlds, and those alone in which the search would have published the same table."""
    boxes = worlds.boxes
    every, consistent, published = WorldSums(boxes), WorldSums(boxes), boxes.publication
    value_codes = np.repeat(boxes.held, boxes.counts, axis=0)
    for world in worlds:
        every.add(world)
        codes = np.concatenate([group.codes for group in world])
        recoding = republish(boxes.table(list(codes.T), value_codes))
        if recoding is not None and publication_of(recoding, boxes.keys, boxes.values) == published:
            consistent.add(world)
    return every, consistent


SURE = Fraction(9, 10)
"""A guess that is right more often is taken for knowledge."""

Figures = Mapping[str, int | Fraction | str]


@register
@dataclass(frozen=True)
class Downcoding:
    """The search publishes the finest table it can, so worlds in which it would have been finer are excluded.

    A world gives every row leaves of its box, all of them equally likely. The adversary runs the search on
    each world and keeps those that give the published table. What is left tells the next finer value of a row
    with some chance, and how many of a class have one and the same. All worlds are listed, up to `steps` of
    them; a table with more is not decided.

    A chance above nine in ten, that the table alone does not give, is a breach. No promise of this family
    limits it: it is reported beside them.

    Source: Cohen, *Attacks on deidentification's defenses*, 2022; Wong, Fu, Wang and Pei, *Minimality attack
    in privacy preserving data publishing*, 2007, for the share of a class that has one finer value.
    Silent on: columns whose taxonomy does not list its values, suppressed rows (it takes the table for
    complete), and tables with more worlds than are listed.
    """

    known: KnownSearch | None = None

    name: ClassVar[str] = "downcoding"
    knows: ClassVar[str] = "the table, its trees and promises, and how the search decides"
    seeks: ClassVar[str] = "the value behind a generalized one"
    succeeds: ClassVar[str] = "a finer value is guessed right more than nine times in ten"
    needs: ClassVar[str] = "the search: strike by `sfumato attack downcoding` or `sf.attack`"
    criterion: ClassVar[Criterion] = Criterion.SINGLING_OUT
    threatens: ClassVar[tuple[str, ...]] = ("k-anonymity",)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del limits
        if self.known is None or not published.rows:
            return []
        boxes = PublishedBoxes.read(published, self.known.builds)
        columns = [j for j in range(len(boxes.keys)) if boxes.hiding(j).any()]
        if not columns:
            return [self._nothing(boxes, "no key column hides a value that its taxonomy lists")]
        worlds = KeyWorlds(boxes)
        few = boxes.complete and worlds.count <= self.known.steps
        return self._listed(worlds, columns) if few else []

    def _listed(self, worlds: KeyWorlds, columns: list[int]) -> list[Finding]:
        assert self.known is not None  # noqa: S101  # `strike` looked
        boxes = worlds.boxes
        every, consistent = weigh(worlds, self.known.republish)
        if not consistent.weight:
            why = "the search gives this table in no world: rows were left out, or it was made otherwise"
            return [self._nothing(boxes, why, impossible=True)]
        findings, left = [], Fraction(consistent.weight, every.weight)
        for j in columns:
            hiding = boxes.hiding(j)
            chosen = np.flatnonzero(hiding).tolist()
            sizes = hiding[chosen].tolist()
            before = [every.guess(c, j) for c in chosen]
            after = [consistent.guess(c, j) for c in chosen]
            sure = sum(n for n, a, b in zip(sizes, before, after, strict=True) if a.chance <= SURE < b.chance)
            figures: Figures = {
                "method": ALL_TABLES,
                "worlds": worlds.count,
                "worlds left": left,
                "before": _mean(sizes, [guess.chance for guess in before]),
                "after": _mean(sizes, [guess.chance for guess in after]),
                "share before": max(guess.share for guess in before),
                "share after": max(guess.share for guess in after),
                "largest gain": max(
                    Fraction(0), *(b.chance - a.chance for a, b in zip(before, after, strict=True))
                ),
            }
            best = max(guess.chance for guess in after)
            findings.append(self._finding(boxes, j, best=best, sure=sure, breach=sure > 0, figures=figures))
        return findings

    def _finding(
        self, boxes: PublishedBoxes, j: int, *, best: Fraction, sure: int, breach: bool, figures: Figures
    ) -> Finding:
        before, after = float(figures["before"]), float(figures["after"])
        name = boxes.keys[j].name
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{name}: the next finer value is guessed right {after:.1%} of the time,"
            f" {before:.1%} without knowing the search; newly sure of {format_people(sure)}",
            confidence=best,
            people=sure,
            breach=breach,
            columns=(name,),
            details=dict(figures),
        )

    def _nothing(self, boxes: PublishedBoxes, why: str, *, impossible: bool = False) -> Finding:
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=why,
            confidence=Fraction(0),
            people=0,
            breach=False,
            columns=tuple(column.name for column in boxes.keys),
            details={"method": "none", "impossible": int(impossible)},
        )


def _mean(sizes: list[int], chances: list[Fraction]) -> Fraction:
    return sum((n * chance for n, chance in zip(sizes, chances, strict=True)), Fraction(0)) / sum(sizes)
