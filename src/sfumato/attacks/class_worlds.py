"""Class lists: every world of one class, where these are few, though those of the whole table are many.

What is drawn of a class is a guess with an error of its own; what is listed has none. Where a class is
recoded by itself, its worlds are kept or excluded for good. In a global recoding a world in which the class
itself does not break is kept as often as another class breaks; that is drawn, and has an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement, product
from math import comb, factorial, isqrt, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.known_search import KnownSearch, PublishedBoxes, Republish
from sfumato.table.microdata import Codes, Counts, Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.taxonomy import Taxonomy

# Class draws: worlds of one class at a time, drawn at random, where all worlds are too many to list.
#
# A class that was recoded by itself could not be divided further. A node (or a level) of a global recoding
# could not be replaced by its children because some class that shows it would have broken a promise. So
# worlds
# of one class are drawn, and those are kept in which the search stops where it did: the class is left
# whole,
# or, in a global recoding, it breaks a promise when it is divided, or else another class that shows the
# node
# does. The other classes are drawn anew for every world, the smallest first, until one of them breaks; many
# classes with a node are therefore no more work than few. What several nodes tell together is left out: the
# adversary found here knows too little rather than too much.

Weights = dict[str, NDArray[np.float64]]
"""By key column: how common every leaf is among people at large."""

SAMPLE = 200
"""So many people are looked at where worlds are drawn."""

LEAST_KEPT = 8
"""With fewer worlds that were kept, nothing is concluded from them."""


@dataclass(frozen=True, eq=False)
class ClassWorlds:
    """Draws worlds of single classes, leaves as common as `weights` says."""

    boxes: PublishedBoxes
    known: KnownSearch
    weights: Weights
    made: Counter[str] = field(default_factory=Counter)

    @property
    def searches(self) -> int:
        """How often the search was run."""
        return self.made["searches"]

    def _asked(self, search: Republish, table: Microdata) -> Recoding | None:
        self.made["searches"] += 1
        return search(table)

    @property
    def recodes_locally(self) -> bool:
        """Whether classes are recoded one by one."""
        return self.known.recodes_locally

    def kept(self, c: int, j: int, searches: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
        """Returns the finer values of the rows of class c in key column j: of all draws, and of those kept.

        There is a row per world and a column per row of the class. Worlds are drawn until so many `searches`
        were made. Classes that are recoded by themselves are drawn once for all columns; in each a world is
        kept that leaves the class whole and shows the same.
        """
        if self.recodes_locally:
            codes, unchanged = self._local(c, searches, rng)
            worlds, keep = codes[:, :, j], unchanged[:, j]
        else:
            pairs: list[tuple[Codes, bool]] = []
            spent = self.searches + searches
            while not pairs or self.searches < spent:
                pairs.append(self._with_node(c, j, rng))
            worlds = np.array([codes for codes, _ in pairs], np.int32).reshape(len(pairs), -1)
            keep = np.array([is_kept for _, is_kept in pairs], bool)
        finer = self.boxes.parts(c, j)[worlds - self.boxes.low[c, j]].astype(np.int32)
        return finer, finer[keep]

    def draw(self, c: int, rng: np.random.Generator) -> Codes:
        """Returns leaf ranks for every row of class c, independent and as common as at large."""
        return np.stack([self._drawn_column(c, j, rng) for j in range(len(self.boxes.keys))], axis=1)

    def _drawn_column(self, c: int, j: int, rng: np.random.Generator) -> Codes:
        low, high = int(self.boxes.low[c, j]), int(self.boxes.high[c, j])
        chance = self.common(j)[low:high]
        drawn = rng.choice(high - low, int(self.boxes.sizes[c]), p=chance / chance.sum())
        return (low + drawn).astype(np.int32)

    def stays(self, c: int, codes: Codes, value_codes: Codes) -> bool:
        """Whether the search, given these rows alone, would have published them as it did."""
        return bool(self._shows(c, codes, value_codes).all())

    def _shows(self, c: int, codes: Codes, value_codes: Codes) -> NDArray[np.bool_]:
        """Returns, per key column, whether a search that may have made the table would have left these rows
        whole, given them alone, and shown the same there."""
        boxes, table = self.boxes, self.boxes.table(list(codes.T), value_codes)
        unchanged = np.zeros(len(boxes.keys), bool)
        for search in (self.known.republish, *self.known.others):
            recoding = self._asked(search, table)
            if recoding is not None and recoding.count == 1 and not recoding.suppressed:
                unchanged |= (recoding.low[0] == boxes.low[c]) & (recoding.high[0] == boxes.high[c])
            if unchanged.all():
                break
        return unchanged

    def divides(self, c: int, j: int, codes: Codes, value_codes: Codes) -> bool:
        """Whether class c alone would let key column j be one step finer; where it hides nothing it does."""
        boxes, parts = self.boxes, self.boxes.parts(c, j)
        if not parts.any():
            return True
        tree = _tree_of(int(parts.max()) + 1)
        key = replace(boxes.keys[j], taxonomy=tree)
        table = Microdata.of_codes([key, *boxes.values], [parts[codes - boxes.low[c, j]], *value_codes.T])
        recoding = self._asked(self.known.republish, table)
        if recoding is None or recoding.suppressed:
            return False
        return bool(np.any(recoding.high - recoding.low < len(tree.leaves)))

    def finer_together(self, c: int, j: int) -> NDArray[np.intp]:
        """Returns the other classes that would be finer in key column j, were class c to be, the smallest
        first: those that show the same, or all that hide something, where a column moves by levels."""
        if (c, j) in self._together:
            return self._together[c, j]
        low, high = self.boxes.low[:, j], self.boxes.high[:, j]
        concerned = ((low == low[c]) & (high == high[c])) | self.known.by_level
        concerned &= self.boxes.hiding(j) > 0
        concerned[c] = False
        others = np.flatnonzero(concerned)
        self._together[c, j] = others[np.argsort(self.boxes.sizes[others], kind="stable")]
        return self._together[c, j]

    @cached_property
    def _together(self) -> dict[tuple[int, int], NDArray[np.intp]]:
        return {}

    def commonest(self, c: int, j: int) -> Fraction:
        """Returns the chance of the commonest finer value of class c in key column j, whatever the search."""
        low, high = int(self.boxes.low[c, j]), int(self.boxes.high[c, j])
        mass = np.bincount(self.boxes.parts(c, j), self.common(j)[low:high])
        return Fraction(float(mass.max() / mass.sum())).limit_denominator(10**6)

    def common(self, j: int) -> NDArray[np.float64]:
        """Returns how common every leaf of a key column is; a leaf that nobody has is one in a million."""
        column = self.boxes.keys[j]
        weights = self.weights.get(column.name, np.ones(len(column.taxonomy.leaves)))
        shares: NDArray[np.float64] = np.maximum(weights, weights.sum() / 1e6)
        return shares

    def _local(self, c: int, draws: int, rng: np.random.Generator) -> tuple[Codes, NDArray[np.bool_]]:
        """Returns drawn worlds of class c, and per column whether the search would have shown the same."""
        if c not in self._worlds:
            value_codes = self.boxes.values_of(c)
            codes = np.stack([self.draw(c, rng) for _ in range(draws)])
            self._worlds[c] = codes, np.stack([self._shows(c, drawn, value_codes) for drawn in codes])
        return self._worlds[c]

    @cached_property
    def _worlds(self) -> dict[int, tuple[Codes, NDArray[np.bool_]]]:
        return {}

    def _with_node(self, c: int, j: int, rng: np.random.Generator) -> tuple[Codes, bool]:
        """Draws class c, and whether it or another class that shows the node kept it from being divided."""
        codes = self._drawn_column(c, j, rng)
        if not self.divides(c, j, codes, self.boxes.values_of(c)):
            return codes, True
        return codes, self.others_keep(c, j, rng)

    def others_keep(self, c: int, j: int, rng: np.random.Generator) -> bool:
        """Draws the other classes that would be finer with class c in key column j; whether one breaks."""
        return any(
            not self.divides(finer, j, self._drawn_column(finer, j, rng), self.boxes.values_of(finer))
            for finer in self.finer_together(c, j).tolist()
        )


@lru_cache(maxsize=256)
def _tree_of(parts: int) -> Taxonomy:
    """Returns the tree with so many leaves below its root."""
    return Taxonomy.flat([str(i) for i in range(parts)])


def drawn_people(sizes: Counts, rng: np.random.Generator) -> dict[int, int]:
    """Returns, by class, how many people of it are looked at: everybody up to `SAMPLE`, or so many drawn."""
    total = int(sizes.sum())
    if total <= SAMPLE:
        return {c: int(n) for c, n in enumerate(sizes.tolist()) if n}
    drawn, often = np.unique(rng.choice(len(sizes), SAMPLE, p=sizes / total), return_counts=True)
    return dict(zip(drawn.tolist(), often.tolist(), strict=True))


def error_of(samples: int) -> Fraction:
    """Returns how far a mean of so many numbers between 0 and 1 may be off, 19 times in 20 (Hoeffding).

    >>> error_of(200)
    Fraction(97, 1000)
    """
    if samples < 1:
        return Fraction(1)
    thousandths = isqrt(1_844_440 // samples) + 1  # ln(40) / 2 = 1.84444 in millionths
    return min(Fraction(1), Fraction(thousandths, 1000))


DRAWS_OF_OTHERS = 60
"""So often other classes are drawn, to see how often one of them breaks."""

MOST_OF_A_CLASS = 2_000
"""A class with more worlds is not listed."""

Broken = frozenset[int]
"""Key columns in which a class may be finer, as far as it is concerned."""


@dataclass(frozen=True, eq=False)
class ListedClass:
    """All worlds of a class, added up: per group of rows that are alike, the weight of every value.

    `before` takes all worlds, `after` those that are kept, `least` as many as may be kept at most, where that
    was drawn. `left` is the part of all that is kept, `share` the mean part of the class that has one value.
    """

    before: list[Counter[int]]
    after: list[Counter[int]]
    least: list[Counter[int]]
    left: Fraction
    share_before: Fraction
    share_after: Fraction

    @property
    def exact(self) -> bool:
        """Whether nothing was drawn."""
        return self.after == self.least

    def chances(self, group: int) -> list[Fraction]:
        """Returns the chance of every value that is left for a row of the group; none if no world is."""
        return list(_shares(self.after[group]).values())

    def surely(self, group: int) -> Fraction:
        """Returns how often the best guess about a row of the group is right, less what was drawn in it."""
        after, least = _shares(self.after[group]), _shares(self.least[group])
        return max((min(after[v], least.get(v, Fraction(0))) for v in after), default=Fraction(0))


WeighedWorld = tuple[Fraction, Sequence[Counter[int]], Broken]
"""A world: its weight, per group how many rows have which value, and where the class itself may be finer."""


def added_up(
    worlds: Iterable[WeighedWorld], chances_of: Callable[[Broken], tuple[Fraction, Fraction]]
) -> ListedClass:
    """Adds worlds up; `kept` says how often others keep columns back that a class lets be finer, and how
    often they do at most."""
    sums: list[list[Counter[int]]] = []
    weights, shares = [Fraction(0)] * 3, [Fraction(0)] * 3
    for weight, groups, broken in worlds:
        if not sums:
            sums = [[Counter() for _ in groups] for _ in range(3)]
        totals = sum(groups, Counter())
        share = Fraction(max(totals.values(), default=0), max(1, sum(totals.values())))
        for i, part in enumerate((Fraction(1), *chances_of(broken))):
            if not part:
                continue
            weights[i] += weight * part
            shares[i] += weight * part * share
            for into, rows in zip(sums[i], groups, strict=True):
                for value, n in rows.items():
                    into[value] += weight * part * n  # type: ignore[assignment]  # weights need not be whole
    left = weights[1] / weights[0] if weights[0] else Fraction(0)
    means = [shares[i] / weights[i] if weights[i] else Fraction(0) for i in range(3)]
    before, after, least = sums or [[], [], []]
    return ListedClass(before, after, least, left, means[0], means[1])


class OthersKeep:
    """How often classes beside one keep columns back: drawn a fixed number of times, each time for all."""

    def __init__(self, drawn: Sequence[Broken]) -> None:
        """Takes, per draw, the columns that others kept back; none drawn: there are no others."""
        self._drawn = drawn
        self._known: dict[Broken, tuple[Fraction, Fraction]] = {}

    def __call__(self, broken: Broken) -> tuple[Fraction, Fraction]:
        """Returns how often others keep all these columns back, and how often at most."""
        if not broken:
            return Fraction(1), Fraction(1)
        if broken not in self._known:
            often = Fraction(sum(broken <= others for others in self._drawn), max(1, len(self._drawn)))
            most = min(Fraction(1), often + error_of(len(self._drawn))) if self._drawn else Fraction(0)
            self._known[broken] = often, most
        return self._known[broken]


def stays_or_not(broken: Broken) -> tuple[Fraction, Fraction]:
    """Where classes are recoded by themselves: a world is kept if the class is left whole."""
    chance = Fraction(int(not broken))
    return chance, chance


def count_of_keys(boxes: PublishedBoxes, c: int, leaves: int) -> int:
    """Returns how many ways there are to give the rows of class c one of so many leaves each; rows with equal
    values are not told apart."""
    groups = boxes.counts[boxes.owner == c].tolist()
    return prod(comb(leaves + n - 1, n) for n in groups)


def listed_keys(draws: ClassWorlds, c: int) -> Iterator[tuple[Fraction, Codes, Codes]]:
    """Yields the worlds of class c: the weight, the leaf ranks of its rows, and their values."""
    boxes = draws.boxes
    ends = zip(boxes.low[c].tolist(), boxes.high[c].tolist(), strict=True)
    leaves = np.array(list(product(*(range(a, b) for a, b in ends))), np.int32)
    mass = np.prod([draws.common(j)[leaves[:, j]] for j in range(len(boxes.keys))], axis=0)
    for weight, which in _multisets(boxes, c, mass.tolist()):
        yield weight, leaves[which], boxes.values_of(c)


def listed_parts(draws: ClassWorlds, c: int, j: int) -> Iterator[tuple[Fraction, Codes, Codes]]:
    """Yields the worlds of class c in key column j alone, a leaf for every finer value."""
    boxes = draws.boxes
    parts, low, high = boxes.parts(c, j), int(boxes.low[c, j]), int(boxes.high[c, j])
    first = low + np.unique(parts, return_index=True)[1].astype(np.int32)
    mass = np.bincount(parts, draws.common(j)[low:high])
    for weight, which in _multisets(boxes, c, mass.tolist()):
        yield weight, first[which], boxes.values_of(c)


def _multisets(boxes: PublishedBoxes, c: int, mass: Sequence[float]) -> Iterator[tuple[Fraction, list[int]]]:
    """Yields every way to give rows of equal values one of these leaves each, with its weight."""
    whole = sum(mass)
    common = [Fraction(m / whole).limit_denominator(10**9) for m in mass]
    groups = boxes.counts[boxes.owner == c].tolist()
    ways = [list(combinations_with_replacement(range(len(mass)), n)) for n in groups]
    for chosen in product(*ways):
        weight = Fraction(1)
        for multiset in chosen:
            weight *= factorial(len(multiset)) // prod(map(factorial, Counter(multiset).values()))
            weight *= prod((common[i] for i in multiset), start=Fraction(1))
        yield weight, [i for multiset in chosen for i in multiset]


def _shares(weights: Counter[int]) -> dict[int, Fraction]:
    total = sum(weights.values(), Fraction(0))
    return {value: Fraction(n) / total for value, n in weights.items()} if total else {}


def affordable(costs: Mapping[int, int], searches: int) -> set[int]:
    """Returns the classes that cost the fewest searches, as many as so many searches pay.

    >>> sorted(affordable({1: 60, 2: 10, 3: 50}, 100))
    [2, 3]
    """
    classes, spent = set(), 0
    for c, cost in sorted(costs.items(), key=lambda item: (item[1], item[0])):
        spent += cost
        if spent > searches or cost > MOST_OF_A_CLASS:
            break
        classes.add(c)
    return classes
