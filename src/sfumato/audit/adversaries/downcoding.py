"""Downcoding: what the key columns hide, guessed by somebody who knows how the search decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.published_table import PublishedTable, crowd
from sfumato.attacks.registry import register
from sfumato.attacks.worlds.class_draws import LEAST_KEPT, ClassWorlds, drawn_people, error_of
from sfumato.attacks.worlds.key_lists import KeyLists
from sfumato.attacks.worlds.key_worlds import KeyWorlds, weigh
from sfumato.attacks.worlds.known_search import ALL_WORLDS, SINGLE_CLASSES, KnownSearch
from sfumato.attacks.worlds.published_boxes import PublishedBoxes
from sfumato.core.limits import AttackLimits
from sfumato.core.verdict import Finding

SURE = Fraction(9, 10)
"""A guess that is right more often is taken for knowledge."""

Figures = Mapping[str, int | Fraction | str]


@register("downcoding")
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
        every, same = weigh(worlds, self.known.republish)
        if not same.weight:
            said = "the search gives this table in no world: rows were left out, or it was made otherwise"
            return [self._nothing(boxes, said, impossible=True)]
        found, left = [], Fraction(same.weight, every.weight)
        for j in columns:
            hiding = boxes.hiding(j)
            chosen = np.flatnonzero(hiding).tolist()
            sizes = hiding[chosen].tolist()
            before = [every.guess(c, j) for c in chosen]
            after = [same.guess(c, j) for c in chosen]
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
            found.append(self._finding(boxes, j, best=best, sure=sure, breach=sure > 0, figures=figures))
        return found

    def _drawn(self, boxes: PublishedBoxes, columns: list[int]) -> list[Finding]:
        """Estimates the same for people drawn at random."""
        assert self.known is not None  # noqa: S101  # `strike` looked
        known = self.known.of_classes(boxes)
        rng = np.random.default_rng(known.seed)
        worlds = ClassWorlds(boxes, known, dict(self.weights))
        drawn = drawn_people(boxes.sizes, rng)
        together = 1 if known.recodes_locally else len(columns)
        lists = KeyLists(worlds, rng)
        each = max(1, known.steps // (2 * len(drawn) * together))
        seen = [j for j in columns if boxes.hiding(j)[list(drawn)].any()]
        missed = ", ".join(boxes.keys[j].name for j in columns if j not in seen)
        found = []
        for j in seen:
            listed = lists.chosen(j, drawn, known.steps // (2 * together))
            found.append(self._estimate(lists, j, drawn, (listed, each)))
        if missed:
            found.append(self._nothing(boxes, f"{missed}: nobody was drawn of whom a value is hidden there"))
        return found

    def _estimate(
        self, lists: KeyLists, j: int, drawn: Mapping[int, int], spent: tuple[set[int], int]
    ) -> Finding:
        """Estimates one column from people of these classes. Of some all worlds are listed; otherwise each
        guess is made on one half of the worlds that were kept, and tried on the other."""
        (listed, each), worlds = spent, lists.draws
        boxes, hiding, searched = worlds.boxes, worlds.boxes.hiding(j), worlds.searches
        chosen = {c: times for c, times in drawn.items() if hiding[c]}
        people, told = sum(chosen.values()), 0
        names = ("before", "after", "share before", "share after", "worlds left", "sure")
        sums = dict.fromkeys(names, Fraction(0))
        exposed, gain = 0, Fraction(0)
        for c, times in chosen.items():
            guess = lists.told(c, j) if c in listed else _guess(worlds, c, j, each, lists.rng)
            told += times * int(guess.pop("told"))
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
            "people told of": told,
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
        self,
        boxes: PublishedBoxes,
        j: int,
        *,
        best: Fraction,
        sure: int,
        breach: bool,
        figures: Figures,
    ) -> Finding:
        before, after = float(figures["before"]), float(figures["after"])
        about = f" (± {float(figures['error']):.3f})" if "error" in figures else ""
        name = boxes.keys[j].name
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{name}: the next finer value is guessed right {after:.1%} of the time{about},"
            f" {before:.1%} without knowing the search; newly sure of {crowd(sure)}",
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
    every, kept = worlds.kept(c, j, draws, rng)
    before, share = worlds.commonest(c, j), _tried(every, kinds)[1]
    learned = LEAST_KEPT <= len(kept) < len(every)  # where every world was kept, nothing is learned
    after, shares = _tried(kept, kinds) if learned else (before, share)
    told = Fraction(int(len(kept) >= LEAST_KEPT))
    return {
        "before": before,
        "after": after,
        "share before": share,
        "share after": shares,
        "worlds left": Fraction(len(kept), len(every)),
        "told": told,
        "doubt": error_of(len(kept)),
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
