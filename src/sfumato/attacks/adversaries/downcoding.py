"""Downcoding: what the key columns hide, guessed by somebody who knows how the search decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.class_worlds import (
    DRAWS_OF_OTHERS,
    LEAST_KEPT,
    MOST_OF_A_CLASS,
    ClassWorlds,
    ListedClass,
    OthersKeep,
    WeighedWorld,
    added_up,
    affordable,
    count_of_keys,
    drawn_people,
    error_of,
    listed_keys,
    listed_parts,
    stays_or_not,
)
from sfumato.attacks.known_search import (
    ALL_WORLDS,
    SINGLE_CLASSES,
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
        if recoding is not None and publication_of(recoding, len(boxes.keys)) == published:
            consistent.add(world)
    return every, consistent


# Key lists: every way in which the rows of one class may hold what is hidden, where there are few.

WholeWorld = tuple[Fraction, Codes, bool]
"""The weight of a world, the leaf ranks of the rows of its class, and whether the class stays as it is."""


@dataclass(frozen=True, eq=False)
class KeyLists:
    """Lists the worlds of single classes, by column where a search recodes whole columns."""

    draws: ClassWorlds
    rng: np.random.Generator
    _told: dict[tuple[int, int], dict[str, Fraction]] = field(default_factory=dict)
    _whole: dict[int, list[WholeWorld]] = field(default_factory=dict)

    def count(self, j: int) -> int:
        """How many classes were listed for key column j."""
        return sum(column == j for _, column in self._told)

    def chosen(self, j: int, drawn: Mapping[int, int], searches: int) -> set[int]:
        """Returns the classes among these with the fewest worlds, as far as so many searches go."""
        hiding = self.draws.boxes.hiding(j)
        return affordable({c: self._cost(c, j) for c in drawn if hiding[c]}, searches)

    def beside(self, j: int, drawn: Mapping[int, int], searches: int) -> list[int]:
        """Returns other classes, the smallest first, as far as so many searches go."""
        hiding = self.draws.boxes.hiding(j)
        costs: dict[int, int] = {}
        for c in np.argsort(self.draws.boxes.sizes, kind="stable").tolist():
            if sum(costs.values()) > searches:
                break
            if hiding[c] and c not in drawn and (cost := self._cost(c, j)) <= MOST_OF_A_CLASS:
                costs[c] = cost
        return sorted(affordable(costs, searches))

    def _cost(self, c: int, j: int) -> int:
        """Returns how many searches the class takes."""
        draws, boxes = self.draws, self.draws.boxes
        if draws.recodes_locally:
            leaves = prod((boxes.high[c] - boxes.low[c]).tolist())
            return count_of_keys(boxes, c, leaves) * (1 + len(draws.known.others))
        return count_of_keys(boxes, c, int(boxes.parts(c, j).max(initial=0)) + 1) + DRAWS_OF_OTHERS

    def told(self, c: int, j: int) -> dict[str, Fraction]:
        """Returns what all worlds of class c tell of key column j: how often a guess is right."""
        if (c, j) not in self._told:
            self._told[c, j] = self._figures(c, j)
        return dict(self._told[c, j])

    def _figures(self, c: int, j: int) -> dict[str, Fraction]:
        before, listing = self.draws.commonest(c, j), self._listed(c, j)
        after = max(listing.chances(0), default=before)
        return {
            "before": before,
            "after": after,
            "share before": listing.share_before,
            "share after": listing.share_after or listing.share_before,
            "worlds left": listing.left,
            "told": Fraction(1),
            "doubt": after - listing.surely(0),
            "exact": Fraction(int(listing.exact)),
        }

    def _listed(self, c: int, j: int) -> ListedClass:
        draws = self.draws
        if draws.recodes_locally:
            return added_up(self._of_whole(c, j), stays_or_not)
        others: list[frozenset[int]] = []
        if len(draws.finer_together(c, j)):
            other_stays = [draws.others_keep(c, j, self.rng) for _ in range(DRAWS_OF_OTHERS)]
            others = [frozenset((j,)) if stays else frozenset() for stays in other_stays]
        return added_up(self._of_column(c, j), OthersKeep(others))

    def _of_whole(self, c: int, j: int) -> Iterator[WeighedWorld]:
        """Yields the worlds of a class that is recoded by itself; each is asked for once for all columns."""
        if c not in self._whole:
            worlds = listed_keys(self.draws, c)
            self._whole[c] = [(w, codes, self.draws.stays(c, codes, values)) for w, codes, values in worlds]
        for weight, codes, stays in self._whole[c]:
            yield weight, [self._finer(c, j, codes[:, j])], frozenset(() if stays else (j,))

    def _of_column(self, c: int, j: int) -> Iterator[WeighedWorld]:
        for weight, codes, value_codes in listed_parts(self.draws, c, j):
            divides = self.draws.divides(c, j, codes, value_codes)
            yield weight, [self._finer(c, j, codes)], frozenset((j,) if divides else ())

    def _finer(self, c: int, j: int, codes: Codes) -> Counter[int]:
        boxes = self.draws.boxes
        return Counter(boxes.parts(c, j)[codes - boxes.low[c, j]].tolist())


SURE = Fraction(9, 10)
"""A guess that is right more often is taken for knowledge."""

Figures = Mapping[str, int | Fraction | str]


@register
@dataclass(frozen=True)
class Downcoding:
    """The search publishes the finest table it can, so worlds in which it would have been finer are excluded.

    A world gives every row leaves of its box, all of them equally likely, or as common as `weights` says. The
    adversary runs the search on each world and keeps those that give the published table. What is left tells
    the next finer value of a row with some chance, and how many of a class have one and the same. Small
    tables are decided by listing all worlds, up to `steps` of them; of larger ones, worlds of single classes
    are drawn (`class_draws`), with a fixed seed, and the error of the estimate is told.

    A chance above nine in ten, that the table alone does not give, is a breach. No promise of this family
    limits it: it is reported beside them.

    Source: Cohen, *Attacks on deidentification's defenses*, 2022; Wong, Fu, Wang and Pei, *Minimality attack
    in privacy preserving data publishing*, 2007, for the share of a class that has one finer value.
    Silent on: columns whose taxonomy does not list its values, suppressed rows (it takes the table for
    complete), and what several classes tell together where worlds are drawn.
    """

    known: KnownSearch | None = None
    weights: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

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
        listed = boxes.complete and not self.weights and worlds.count <= self.known.list_up_to
        if listed:
            return self._listed(worlds, columns)
        return [] if self.known.classes_silent else self._drawn(boxes, columns)

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
                "method": ALL_WORLDS,
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

    def _drawn(self, boxes: PublishedBoxes, columns: list[int]) -> list[Finding]:
        """Estimates the same for people drawn at random."""
        assert self.known is not None  # noqa: S101  # `strike` looked
        search = self.known.of_classes(boxes)
        rng = np.random.default_rng(search.seed)
        worlds = ClassWorlds(boxes, search, dict(self.weights))
        drawn = drawn_people(boxes.sizes, rng)
        together = 1 if search.recodes_locally else len(columns)
        lists = KeyLists(worlds, rng)
        each = max(1, search.steps // (2 * len(drawn) * together))
        hiding = [j for j in columns if boxes.hiding(j)[list(drawn)].any()]
        missed = ", ".join(boxes.keys[j].name for j in columns if j not in hiding)
        findings = []
        for j in hiding:
            listed = lists.chosen(j, drawn, search.steps // (2 * together))
            findings.append(self._estimate(lists, j, drawn, (listed, each)))
        if missed:
            findings.append(
                self._nothing(boxes, f"{missed}: nobody was drawn of whom a value is hidden there")
            )
        return findings

    def _estimate(
        self, lists: KeyLists, j: int, drawn: Mapping[int, int], spent: tuple[set[int], int]
    ) -> Finding:
        """Estimates one column from people of these classes. Of some all worlds are listed; otherwise each
        guess is made on one half of the worlds that were kept, and tried on the other."""
        (listed, each), worlds = spent, lists.draws
        boxes, hiding, searched = worlds.boxes, worlds.boxes.hiding(j), worlds.searches
        chosen = {c: times for c, times in drawn.items() if hiding[c]}
        people, informed = sum(chosen.values()), 0
        names = ("before", "after", "share before", "share after", "worlds left", "sure")
        sums = dict.fromkeys(names, Fraction(0))
        exposed, gain = 0, Fraction(0)
        for c, times in chosen.items():
            guess = lists.told(c, j) if c in listed else _guess(worlds, c, j, each, lists.rng)
            informed += times * int(guess.pop("told"))
            surely = guess["after"] - guess.pop("doubt")
            sure, gain = guess["before"] <= SURE < surely, max(gain, surely - guess["before"])
            exposed += int(boxes.sizes[c]) * (sure and bool(guess.pop("exact")))
            guess["sure"] = Fraction(int(sure))
            for name in names:
                sums[name] += times * guess[name] / people
        for c in lists.beside(j, drawn, each * max(1, len(drawn) - len(listed))):
            guess = lists.told(c, j)
            surely = guess["after"] - guess["doubt"]
            sure, gain = guess["before"] <= SURE < surely, max(gain, surely - guess["before"])
            exposed += int(boxes.sizes[c]) * (sure and bool(guess["exact"]))
        error = error_of(people)
        figures: Figures = {
            "method": "worlds of single classes",
            "people drawn": people,
            "people told of": informed,
            "classes listed": lists.count(j),
            "searches": worlds.searches - (0 if worlds.recodes_locally else searched),
            "seed": worlds.known.seed,
            "error": error,
            **{name: value for name, value in sums.items() if name != "sure"},
            "largest gain": gain,
        }
        estimated = round(float(sums["sure"]) * int(hiding.sum()))
        breach = exposed > 0 or sums["sure"] > error
        newly = max(exposed, estimated)
        return self._finding(boxes, j, best=sums["after"], sure=newly, breach=breach, figures=figures)

    def _finding(
        self, boxes: PublishedBoxes, j: int, *, best: Fraction, sure: int, breach: bool, figures: Figures
    ) -> Finding:
        before, after = float(figures["before"]), float(figures["after"])
        about = f" (± {float(figures['error']):.3f})" if "error" in figures else ""
        name = boxes.keys[j].name
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{name}: the next finer value is guessed right {after:.1%} of the time{about},"
            f" {before:.1%} without knowing the search; newly sure of {format_people(sure)}",
            confidence=best,
            people=sure,
            breach=breach,
            columns=(name,),
            details=dict(figures),
            not_tried="" if figures["method"] == ALL_WORLDS else SINGLE_CLASSES,
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


def _guess(worlds: ClassWorlds, c: int, j: int, draws: int, rng: np.random.Generator) -> dict[str, Fraction]:
    """Returns how often a guess about a row of class c is right, before and after; `told` if draws tell."""
    kinds = int(worlds.boxes.parts(c, j).max(initial=0)) + 1
    every, consistent = worlds.kept(c, j, draws, rng)
    before, share = worlds.commonest(c, j), _tried(every, kinds)[1]
    learned = LEAST_KEPT <= len(consistent) < len(every)  # where every world was kept, nothing is learned
    after, shares = _tried(consistent, kinds) if learned else (before, share)
    informed = Fraction(int(len(consistent) >= LEAST_KEPT))
    return {
        "before": before,
        "after": after,
        "share before": share,
        "share after": shares,
        "worlds left": Fraction(len(consistent), len(every)),
        "told": informed,
        "doubt": error_of(len(consistent)),
        "exact": Fraction(0),
    }


def _tried(worlds: NDArray[np.int32], kinds: int) -> tuple[Fraction, Fraction]:
    """Returns how often the commonest value of one half of the worlds is right in the other half, and the
    mean share of the commonest value within a world."""
    right = 0
    for first, second in ((worlds[::2], worlds[1::2]), (worlds[1::2], worlds[::2])):
        guess = int(np.bincount(first.ravel(), minlength=kinds).argmax())
        right += int((second == guess).sum())
    counts = np.stack([(worlds == kind).sum(axis=1) for kind in range(kinds)])
    size = max(1, worlds.size)
    return Fraction(right, size), Fraction(int(counts.max(axis=0).sum()), size)


def _mean(sizes: list[int], chances: list[Fraction]) -> Fraction:
    return sum((n * chance for n, chance in zip(sizes, chances, strict=True)), Fraction(0)) / sum(sizes)
