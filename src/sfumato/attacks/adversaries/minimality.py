"""Minimality: sensitive values, guessed by somebody who knows everybody's keys and how the search decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.class_worlds import LEAST_KEPT, ClassWorlds, ListedClass, drawn_people, error_of
from sfumato.attacks.known_search import ALL_WORLDS, SINGLE_CLASSES, KnownSearch, PublishedBoxes, Register
from sfumato.attacks.value_worlds import DealtValues, Spread, ValueLists, ValueWorlds, weigh_values
from sfumato.models.attack_contract import PublishedTable, format_people
from sfumato.system.verdict import CERTAINTY, VALUES, AttackLimits, Finding
from sfumato.table.microdata import Codes, Counts, Microdata
from sfumato.table.taxonomy import ANY

# Suppressed people: what worlds tell of two of them together, though nobody's own value is told.
#
# Values of people who were suppressed for being alike are as open as before, if no value is rarer than
# another:
# only somebody who knows the value of one learns that of the next.


def two_alike(
    worlds: ValueWorlds, consistent: Sequence[tuple[int, tuple[Spread, ...]]], column: int
) -> dict[str, int | Fraction | str]:
    """Returns how likely two suppressed people have the same value of a sensitive column, before and after,
    for the two of whom it is likeliest; and how many people are suppressed."""
    register, gone = worlds.register, worlds.register.suppressed
    leaves = worlds.any_values[:, column].tolist()
    people = [register.people[key] for key in register.keys_of(gone)]
    alike: Counter[tuple[int, int]] = Counter()
    total = 0
    for weight, world in consistent:
        total += weight
        row_values = [_by_value(leaves, row) for row in world[gone]]
        for i, mine in enumerate(row_values):
            for j in range(i, len(row_values)):
                alike[i, j] += weight * sum(n * (row_values[j][v] - (i == j)) for v, n in mine.items())
    pairs = {
        (i, j): people[i] * (people[j] - (i == j)) for i in range(len(people)) for j in range(i, len(people))
    }
    before = Fraction(1, len(set(leaves)))
    after = [Fraction(alike[pair], total * n) for pair, n in pairs.items() if n and total]
    return {
        "people suppressed": register.gone,
        "two alike before": before,
        "two alike after": max(after, default=before),
    }


def _by_value(leaves: Sequence[int], row: Sequence[int]) -> Counter[int]:
    """Returns how many people have which value, of a row of combinations of values."""
    tally: Counter[int] = Counter()
    for leaf, n in zip(leaves, row, strict=True):
        if n:
            tally[leaf] += n
    return tally


NO_ERROR = Fraction(0)
SUPPRESSED = ", and what they tell of suppressed people"


@dataclass(frozen=True)
class ValueMinimality:
    """A class that was not divided could not be, and who holds which value may have been the reason.

    The adversary has a `register`, everybody's key columns, so only the sensitive values are open: within a
    class they may be dealt out in any way, all equally likely. Those worlds are kept in which the search
    publishes the same table. If the promises do not look at values, all are kept, and nothing is learned.
    Small tables are decided by listing all worlds, larger ones estimated from worlds of single classes.

    Whoever is in the register and in no class was suppressed, and where promises are about values, these may
    have been the reason. They may be any that the table knows, everybody's alike; that is decided on
    small tables only.

    A breach is a chance above what the promises allow, or fewer possible values than they ask for, that the
    table alone does not give.

    Source: Wong, Fu, Wang and Pei, *Minimality attack in privacy preserving data publishing*, 2007.
    Silent on: what several classes tell together, and suppressed people, where worlds are drawn.
    """

    known: KnownSearch
    register: Microdata

    name: ClassVar[str] = "minimality"
    knows: ClassVar[str] = "everybody's key columns, the promises, and how the search decides"
    seeks: ClassVar[str] = "a person's sensitive value"
    succeeds: ClassVar[str] = "a value is guessed with more than the allowed chance"
    threatens: ClassVar[tuple[str, ...]] = ("l-diversity", "confidence-bounding")

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        boxes = PublishedBoxes.read(published, self.known.builds)
        register = Register.of(
            boxes,
            _register_codes(boxes, self.register),
            suppress=self.known.suppress,
            dropped=self.register.dropped,
        )
        worlds = ValueWorlds(boxes, register)
        listed = worlds.listed(self.known.list_up_to) if boxes.complete else None
        if listed is not None:
            return self._listed(worlds, listed, limits)
        if self.known.classes_silent:
            return []
        return [self._single_classes(worlds, column, limits) for column in range(len(boxes.values))]

    def _listed(
        self,
        worlds: ValueWorlds,
        listed: list[list[tuple[int, Spread]]],
        limits: AttackLimits,
    ) -> list[Finding]:
        consistent = worlds.kept(listed, self.known.republish)
        sums, total = weigh_values(consistent)
        boxes, register = worlds.boxes, worlds.register
        figures: dict[str, int | Fraction | str] = {
            "method": ALL_WORLDS,
            "worlds": prod(len(spreads) for spreads in listed),
            "impossible": int(not total),
        }
        findings = []
        for column in range(len(boxes.values)):
            published, gone = _Seen(boxes, column, limits), _Seen(boxes, column, limits)
            for c, class_values in enumerate(worlds.held):
                values = class_values[:, column]
                often = boxes.counts[boxes.owner == c] if c < register.suppressed else None
                before = _fractions(np.bincount(values, often).astype(np.int64))
                for i, key in enumerate(register.keys_of(c)):
                    people = register.people[key]
                    after: dict[int, int] = {}
                    for v, leaf in enumerate(values.tolist()):
                        if n := sums[c, i, v]:
                            after[leaf] = after.get(leaf, 0) + n
                    chances = [Fraction(n, total * people) for n in after.values()] if total else []
                    (gone if c == register.suppressed else published).add(people, before, chances or before)
            findings.append(self._finding(published, figures))
            if register.gone:
                alike = two_alike(worlds, consistent, column)
                findings.append(_of_suppressed(self._finding(gone, {**figures, **alike})))
        return findings

    def _single_classes(self, worlds: ValueWorlds, column: int, limits: AttackLimits) -> Finding:
        """Estimates the same from the classes of people who are drawn: all ways to deal out the values of a
        class where these are few, otherwise some."""
        boxes, register, search = worlds.boxes, worlds.register, self.known.of_classes(worlds.boxes)
        rng = np.random.default_rng([search.seed, column])
        draws = ClassWorlds(boxes, search, {})
        drawn = drawn_people(np.where(register.placed, boxes.sizes, 0), rng)
        listing = ValueLists(worlds, DealtValues(draws, register), column, rng)
        listed = listing.chosen(drawn, search.steps // 2)
        others = max(1, len(drawn) - len(listed))
        people, each = sum(drawn.values()), max(2 * LEAST_KEPT, search.steps // 2 // others)
        placed = int(boxes.sizes[register.placed].sum())
        tally, informed, left = _Seen(boxes, column, limits, sample_of=placed), 0, Fraction(0)
        for c, times in drawn.items():
            size = int(boxes.sizes[c])
            before = _fractions(np.bincount(boxes.values_of(c)[:, column]).astype(np.int64))
            who = range(size) if times == size else rng.integers(0, size, times).tolist()
            if c in listed:
                class_list = listing.told(c)
                informed += times
                left += Fraction(times, people) * class_list.left
                for group in register.key_numbers(c)[list(who)].tolist():
                    _add(tally, class_list, group, before)
                continue
            consistent, tries = listing.dealt.kept(c, each, rng)
            informed += times * (len(consistent) >= LEAST_KEPT)
            left += Fraction(times * len(consistent), people * tries)
            learned = LEAST_KEPT <= len(consistent) < tries  # where every world was kept, nothing is learned
            right = _tried(consistent[:, :, column], register.key_numbers(c)) if learned else None
            for person in who:
                chances = before if right is None else [right[person]]
                tally.add(1, before, chances, error=error_of(len(consistent)))
        for c in listing.beside(drawn, search.steps // 2):
            class_list = listing.told(c)
            before = _fractions(np.bincount(boxes.values_of(c)[:, column]).astype(np.int64))
            for group, key in enumerate(register.keys_of(c)):
                _add(tally, class_list, group, before, people=register.people[key], drawn=False)
        figures: dict[str, int | Fraction | str] = {
            "method": "worlds of single classes",
            "people drawn": people,
            "people told of": int(informed),
            "classes listed": listing.count,
            "searches": draws.searches,
            "seed": search.seed,
            "error": error_of(people),
            "worlds left": left,
            "people not placed": int(boxes.sizes[~register.placed].sum()),
        }
        if register.gone:
            figures["people suppressed"] = register.gone
        return self._finding(tally, figures)

    def _finding(self, tally: _Seen, figures: Mapping[str, int | Fraction | str]) -> Finding:
        error = Fraction(figures.get("error", 0))
        about = f" (± {float(error):.3f})" if error else ""
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{tally.name}: the value is guessed right {float(tally.mean_after):.1%} of the"
            f" time{about}, {float(tally.mean_before):.1%} without knowing the search; beyond what is allowed"
            f" for {format_people(tally.beyond)}",
            confidence=tally.best,
            people=tally.beyond,
            breach=tally.exposed > 0 or tally.share_beyond > error,
            columns=(tally.name,),
            details={
                **figures,
                "before": tally.mean_before,
                "after": tally.mean_after,
                "largest gain": tally.gain,
                "limit": tally.limit,
            },
            not_tried="" if figures["method"] == ALL_WORLDS else SINGLE_CLASSES + SUPPRESSED,
        )


def _of_suppressed(finding: Finding) -> Finding:
    """Returns the finding as one about suppressed people, of whom two may be known to be alike."""
    before, after = (float(Fraction(finding.details[f"two alike {when}"])) for when in ("before", "after"))
    alike = f"two of them have the same with a chance of {after:.1%}, {before:.1%} without"
    return replace(finding, sentence=f"suppressed people, {finding.sentence}; {alike}")


class _Seen:
    """People that were looked at: how often the best guess is right, before and after."""

    def __init__(
        self, boxes: PublishedBoxes, column: int, limits: AttackLimits, *, sample_of: int = 0
    ) -> None:
        self.name = boxes.values[column].name
        self.limit, _ = limits.limit(CERTAINTY, self.name)
        self._least, promised = limits.limit(VALUES, self.name)
        self._promised, self._count_values = promised == "promised", not sample_of
        self._scale = Fraction(sample_of)
        self.people, self._beyond, self.exposed = 0, 0, 0
        self._before = self._after = self.best = self.gain = Fraction(0)

    def add(
        self,
        people: int,
        before: list[Fraction],
        after: list[Fraction],
        *,
        error: Fraction = NO_ERROR,
        drawn: bool = True,
        listed: bool = False,
    ) -> None:
        """Counts people with these chances of every value that is possible for them.

        A chance that was estimated is beyond what is allowed where it is so less its `error`. Where all
        worlds were `listed`, that is no estimate, and such people are exposed. Those who were not `drawn`
        count for nothing else.
        """
        was, now = max(before), max(after)
        few = (listed or self._count_values) and self._promised and len(after) < self._least <= len(before)
        beyond = people * (few or now - error > self.limit >= was or now - error == 1 > was)
        self.exposed += beyond if listed else 0
        self.best = max(self.best, now)
        self.gain = max(self.gain, now - error - was)
        if drawn:
            self.people += people
            self._before += people * was
            self._after += people * now
            self._beyond += beyond

    @property
    def share_beyond(self) -> Fraction:
        """The part of those who were drawn of whom more is known than is allowed."""
        return Fraction(self._beyond, max(1, self.people))

    @property
    def beyond(self) -> int:
        """The people of whom more is known than is allowed; of a sample, as many of the whole table."""
        if not self._scale or not self.people:
            return self._beyond
        return max(self.exposed, round(self._scale * self.share_beyond))

    @property
    def mean_before(self) -> Fraction:
        return self._before / max(1, self.people)

    @property
    def mean_after(self) -> Fraction:
        return self._after / max(1, self.people)


def _add(
    tally: _Seen,
    class_list: ListedClass,
    group: int,
    before: list[Fraction],
    *,
    people: int = 1,
    drawn: bool = True,
) -> None:
    """Counts people of a class whose worlds were all listed."""
    after = class_list.chances(group)
    error = max(after) - class_list.surely(group) if after else Fraction(0)
    tally.add(people, before, after or before, error=error, drawn=drawn, listed=class_list.exact)


def _tried(worlds: Codes, key_of: NDArray[np.intp]) -> list[Fraction]:
    """Returns, per person, how often the commonest value of one half of the worlds is right in the other.

    People with equal keys are alike to whoever has the register, so their values are counted together.
    """
    keys, values = int(key_of.max()) + 1, int(worlds.max()) + 1
    right = np.zeros(keys, np.int64)
    for first, second in ((worlds[::2], worlds[1::2]), (worlds[1::2], worlds[::2])):
        counts = np.zeros((keys, values), np.int64)
        np.add.at(counts, (np.broadcast_to(key_of, first.shape), first), 1)
        np.add.at(right, key_of, (second == counts.argmax(axis=1)[key_of]).sum(axis=0))
    trials = np.bincount(key_of) * len(worlds)
    chances = [Fraction(n, m) for n, m in zip(right.tolist(), trials.tolist(), strict=True)]
    return [chances[key] for key in key_of.tolist()]


def _fractions(counts: Counts) -> list[Fraction]:
    total = int(counts.sum())
    return [Fraction(n, total) for n in counts.tolist() if n]


def _register_codes(boxes: PublishedBoxes, register: Microdata) -> Codes:
    """Returns the leaf ranks of everybody in the register, in the order and the trees of the boxes."""
    columns = []
    for column in boxes.keys:
        tree, own = column.taxonomy, register.column(column.name).taxonomy
        nowhere = tree.rank(ANY) if column.name not in boxes.hidden else None
        places = [tree.ranks.get(label, nowhere) for label in own.leaf_labels]
        ranks = np.array([-1 if place is None else place for place in places], np.int32)
        columns.append(ranks[register.codes(column.name)])
    codes: Codes = np.repeat(np.stack(columns, axis=1), register.counts, axis=0)
    return codes
