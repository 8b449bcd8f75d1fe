"""Bounds on the candidates of every target in three releases or more, from the published tables alone.

Every target keeps between `least` and `most` candidates: at first nobody and what the refined bound allows.
The integer program narrows that, first for targets where it decides about k, then for all, or for as many as
the fewest candidates of anybody depend on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.models.attack_contract import HeldReleases, PublishedTable, format_people, register
from sfumato.models.continuous.chain import Chain, ClassTable, ReleaseIndex, by_cut, match_blocks, positions
from sfumato.models.continuous.kernels import NO_OVERLAP
from sfumato.models.continuous.overlap import Overlap, candidates_of
from sfumato.models.continuous.worlds import StepBudget, Worlds, undecided
from sfumato.system.errors import BadData, UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import pluralize
from sfumato.system.verdict import UNASKED, AttackLimits, Finding
from sfumato.table.keyed_hashes import are_known, leaf_marks
from sfumato.table.microdata import Codes, Counts, Microdata, Packing, sort_and_count
from sfumato.table.release_summary import Imprint

MOST_STEPS = 100_000_000
"""The integer program takes so many steps for all targets together."""
MOST_ENTRY_PAIRS = 2_000_000
"""Releases whose classes share more pairs of entries than this are only bounded."""


@dataclass(frozen=True, eq=False)
class TargetBounds:
    """The targets of one time: the bounds of their candidates, and the classes they are in.

    `classes[j]` is their class in the release they came with and in the last one; `phantom`: some comparable
    classes share no value at all.
    """

    time: int
    least: Counts
    most: Counts
    classes: dict[int, Codes]
    sizes: dict[int, int]
    phantom: bool

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Targets that may exist."""
        return self.most > 0

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Targets that exist in a world that was found."""
        return self.least > 0

    @property
    def lowest(self) -> int | None:
        """No target keeps fewer candidates; `None`: there is none."""
        return _least_of(np.maximum(self.least, 1)[self.possible])

    @property
    def highest(self) -> int | None:
        """Some target keeps no more candidates; `None`: none is known to exist."""
        return _least_of(self.most[self.seen])

    def few(self, k: int) -> int:
        """Counts the targets that exist and keep fewer than k candidates."""
        return int((self.seen & (self.most < k)).sum())

    def open(self, k: int | None) -> int:
        """Counts the targets that may or may not be such; without k, those that are not known exactly."""
        if k is None:
            return int((self.least < self.most).sum())
        return int(undecided(self.least, self.most, k).sum())

    def per_class(self) -> dict[int, Counts]:
        """Returns the fewest candidates of a target in each class: of those seen, else of the possible."""
        by_release = {}
        for j, classes in self.classes.items():
            fewest = np.full(self.sizes[j], NO_OVERLAP, np.int64)
            np.minimum.at(fewest, classes[self.seen], self.most[self.seen])
            others = self.possible & (fewest[classes] == NO_OVERLAP)
            np.minimum.at(fewest, classes[others], self.most[others])
            by_release[j] = np.where(fewest == NO_OVERLAP, -1, fewest)
        return by_release


def solve_targets(chain: Chain, k: int | None, *, only_fewest: bool = False) -> list[TargetBounds] | None:
    """Returns the targets of every time; `None` where there are too many.

    With `only_fewest` they are solved as far as k and two figures need it: the fewest candidates of somebody
    who is not new in the last release, and of somebody who is not in the first one.
    """
    if _entry_pairs(chain) > MOST_ENTRY_PAIRS:
        return None
    try:
        overlap = Overlap(chain)
        worlds = Worlds(overlap)
    except UsageError:
        return None
    budget = StepBudget(MOST_STEPS)
    if k is not None:
        worlds.decide(k, budget)
    if only_fewest:
        came = np.repeat(np.arange(len(chain)), [len(cells.table) for cells in overlap.by_time])
        for wanted in (came < len(chain) - 1, came > 0):
            worlds.solve_fewest(wanted, budget)
    else:
        worlds.solve(np.arange(len(worlds.targets)), budget)
    least, most = worlds.candidate_bounds()
    indexes = {j: ReleaseIndex(chain, chain.releases[j]) for j in range(len(chain))}
    targets, end = [], 0
    for time, cells in enumerate(overlap.by_time):
        begin, end = end, end + len(cells.table)
        ends = sorted({time, len(chain) - 1})
        classes = {j: indexes[j].classes(cells.table) for j in ends}
        sizes = {j: len(chain.releases[j]) for j in ends}
        targets.append(
            TargetBounds(time, least[begin:end], most[begin:end], classes, sizes, bool(cells.phantom[0]))
        )
    return targets


def _entry_pairs(chain: Chain) -> int:
    """Returns the most pairs of entries that two releases share."""
    sides, largest = [chain.releases[group[-1]] for group in by_cut(chain.releases)], 0
    for i, earlier in enumerate(sides):
        for later in sides[i + 1 :]:
            matched = match_blocks(chain.trees, earlier, later)
            mine = np.bincount(matched.one[matched.one >= 0], minlength=matched.count)
            largest = max(largest, int(mine @ np.bincount(matched.other, minlength=matched.count)))
    return largest


def _least_of(numbers: Counts) -> int | None:
    return int(numbers.min()) if len(numbers) else None


# Realized targets: where people of the data are in the releases, which only the data holder can say.

BLOCK_ROWS = 1 << 17
"""So many rows are looked up together."""


@dataclass(frozen=True, eq=False)
class RealizedTargets:
    """The class of every distinct row in every release, and the release each came with."""

    time: Codes
    classes: tuple[Codes, ...]

    @classmethod
    def of(
        cls, imprints: Sequence[Imprint], chain: Chain, table: Microdata, since: str | None = None
    ) -> RealizedTargets:
        newest = {key.name: key.digest for key in imprints[-1].keys}
        if newest != {c.name: c.taxonomy.digest for c in table.keys}:
            raise UsageError(
                "the data are coded by other trees than the newest release", remedy="Count them anew."
            )
        classes = []
        sizes = tuple(len(tree.labels) for tree in chain.trees)
        for side in chain.releases:
            if not sizes:
                classes.append(np.zeros(table.distinct, np.int32))
                continue
            classes.append(_class_of(table, side, chain.names, Packing(sizes)))
        return cls(times(imprints, table, since), tuple(classes))

    def candidates(self, overlap: Overlap, time: int) -> Counts:
        """Returns how many candidates remain for each cell where somebody of this time is."""
        here = self.time == time
        chosen = [classes[here] for classes in self.classes[time:]]
        if any(np.any(classes < 0) for classes in chosen):
            raise BadData("a row of the data is in a class that a release does not show")
        packing = Packing(tuple(int(c.max(initial=0)) + 1 for c in chosen))
        packed = packing.pack(chosen)
        words, _ = sort_and_count(packed[:, _heads(packed)])
        cells = {time + i: packing.unpack(words, i) for i in range(len(chosen))}
        return candidates_of(overlap, time, cells)


def _class_of(table: Microdata, side: ClassTable, names: Sequence[str], packing: Packing) -> Codes:
    """Returns the class of every distinct row in a release (-1: none), block by block."""
    class_nodes = packing.pack(list(side.nodes.T))
    order = np.append(np.lexsort(class_nodes[::-1]), -1).astype(np.int32)
    class_nodes, class_of = class_nodes[:, order[:-1]], np.empty(table.distinct, np.int32)
    for start in range(0, table.distinct, BLOCK_ROWS):
        here = slice(start, start + BLOCK_ROWS)
        part = replace(table, words=table.words[:, here], counts=table.counts[here])
        row_nodes = packing.pack([cut[part.codes(n)] for cut, n in zip(side.node_of, names, strict=True)])
        head = _heads(row_nodes)
        class_of_run = order[positions(class_nodes, row_nodes[:, head])]
        class_of[here] = np.repeat(class_of_run, np.diff(head, append=row_nodes.shape[1]))
    return class_of


def _heads(packed: NDArray[np.int64]) -> NDArray[np.intp]:
    """Returns where each run of equal keys begins: rows are sorted, so runs are long."""
    change = np.any(packed[:, 1:] != packed[:, :-1], axis=0)
    return np.flatnonzero(np.append(np.ones(min(1, packed.shape[1]), dtype=bool), change))


def times(imprints: Sequence[Imprint], table: Microdata, since: str | None) -> Codes:
    """Returns the first release (from 0) whose batches include each distinct row's; else the last."""
    if since is None:
        return np.zeros(table.distinct, np.int32)
    tree = table.column(since).taxonomy
    marks = leaf_marks(tree)
    first = np.full(len(marks), len(imprints) - 1, np.int32)
    for t in reversed(range(len(imprints))):
        first[are_known(marks, imprints[t].batches)] = t
    return first[table.codes(since)]


# Who is cracked: rows of a class that releases together rule out, class by class, as counts.

MOST_LISTED = 1000
"""So many classes are listed one by one; the rest is in the totals."""


@dataclass(frozen=True)
class CrackedClass:
    """A class of a release, and what is left in it of somebody who came with release `came` (from 1 on).

    Of its `rows`, `candidates` may be this person's and `cracked` cannot; `few` says that fewer are left than
    are asked. Classes are numbered from 1 on, in the order of their nodes; no value is told.
    """

    came: int
    release: int
    number: int
    rows: int
    candidates: int
    few: bool

    @property
    def cracked(self) -> int:
        """How many rows of the class are ruled out."""
        return self.rows - self.candidates

    def as_dict(self) -> JsonObject:
        """Returns the class as JSON."""
        return {
            "came_with": self.came,
            "release": self.release,
            "class": self.number,
            "rows": self.rows,
            "candidates": self.candidates,
            "cracked": self.cracked,
            "few": self.few,
        }

    def __str__(self) -> str:
        return (
            f"release {self.release}, class {self.number}: {self.cracked} of {pluralize(self.rows, 'row')}"
            f" ruled out for somebody who came with release {self.came}, {self.candidates} left"
        )


@dataclass(frozen=True)
class CrackedGroup:
    """The `rows` of a class that show one matching value (a number), and its crack size: how many of them
    cannot be the person's, whichever rows of both releases belong together."""

    value: int
    rows: int
    cracked: int

    def as_dict(self) -> JsonObject:
        """Returns the group as JSON, without its value."""
        return {"rows": self.rows, "cracked": self.cracked}

    def __str__(self) -> str:
        return f"{self.cracked} of {self.rows}"


@dataclass(frozen=True)
class CrackedClasses:
    """All classes in which a row is ruled out, those with the fewest candidates first."""

    classes: tuple[CrackedClass, ...] = ()

    @classmethod
    def of(cls, per_class: Sequence[tuple[int, int, Counts, Counts]], k: int | None) -> CrackedClasses:
        """Finds them in the fewest candidates of every class (-1: nobody can be there), and the sizes.

        Each entry is the release that somebody came with and the one that is looked at, counted from 0.
        """
        entries = []
        for came, release, candidates, sizes in per_class:
            here = np.flatnonzero((candidates >= 0) & (candidates < sizes[: len(candidates)]))
            for c in here.tolist():
                left = int(candidates[c])
                few = k is not None and left < k
                entries.append(CrackedClass(came + 1, release + 1, c + 1, int(sizes[c]), left, few))
        entries.sort(key=lambda entry: (entry.candidates, entry.came, entry.release, entry.number))
        return cls(tuple(entries))

    @property
    def few(self) -> int:
        """In how many classes fewer candidates are left than are asked."""
        return sum(entry.few for entry in self.classes)

    @property
    def listed(self) -> tuple[CrackedClass, ...]:
        """The classes that are listed one by one."""
        return self.classes[:MOST_LISTED]

    def as_dict(self) -> JsonObject:
        """Returns totals, and the first classes one by one."""
        return {
            "classes": len(self.classes),
            "few": self.few,
            "cracked": sum(entry.cracked for entry in self.classes),
            "by_class": [entry.as_dict() for entry in self.listed],
        }


# The minimality attack: a value that stayed general could not be specialized.

LEFT_OUT = (
    "an adversary who knows who is in the table (a register); give --register FILE. Nor values that have more"
    " than two finer ones, or stand in several classes"
)
"""The attack of the same name that is given a register runs the search, and seeks sensitive values."""


@register
@dataclass(frozen=True)
class Minimality:
    """The search specializes while it can, so a value that stayed general could not be specialized.

    If a node with two children is published in one class of n people, the two child classes cannot both be
    empty or large enough: one of them has between 1 and k - 1 people, the other at least n - k + 1. Most of
    the class then shares one hidden child, up to which one it is. This is a property of every minimal
    recoding; it is reported, and is a breach only where more than nine in ten are so exposed.

    Source: Wong, Fu, Wang and Pei, *Minimality attack in privacy preserving data publishing*, 2007; Cohen,
    *Attacks on deidentification's defenses* (downcoding), 2022.
    Silent on: nodes with more children, nodes in several classes, other promises that may have stopped it.
    """

    releases: tuple[Imprint, ...] = ()
    k: int | None = None

    name: ClassVar[str] = "minimality"
    knows: ClassVar[str] = "the release, its trees, k, and that no further specialization was possible"
    seeks: ClassVar[str] = "the value behind a generalized one"
    succeeds: ClassVar[str] = "most of a class must share one of two hidden values"
    needs: ClassVar[str] = (
        "a ledger to hold the table against, promises about class sizes alone, and a chain that nobody "
        "leaves; `sfumato attack minimality --register` looks for sensitive values instead"
    )
    threatens: ClassVar[tuple[str, ...]] = ("k-anonymity", "continuous")

    @classmethod
    def holding(cls, held: HeldReleases) -> Minimality:
        """Returns the attack of somebody who holds these releases."""
        # Another promise may have stopped the search.
        releases = held.releases if held.by_size else ()
        return cls(releases, held.k)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del published
        if not self.releases:
            return []
        k = self.k or limits.asked_k or UNASKED
        newest = self.releases[-1]
        return [self._column(newest, j, k) for j in range(len(newest.keys))]

    def _column(self, release: Imprint, j: int, k: int) -> Finding:
        share, people, nodes = hidden_majorities(release, j, k)
        sentence = "no generalized value hides a majority"
        if nodes:
            hide = f"{pluralize(nodes, 'generalized value')} {'hides' if nodes == 1 else 'hide'} a majority"
            sentence = f"{hide}; it is up to {share} of the class, for some of {format_people(people)}"
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{release.keys[j].name}: {sentence}",
            confidence=share,
            people=people,
            breach=share > Fraction(9, 10),
            columns=(release.keys[j].name,),
            details={"values": nodes, "share": share},
            not_tried=LEFT_OUT,
        )


def hidden_majorities(release: Imprint, j: int, k: int) -> tuple[Fraction, int, int]:
    """Returns the largest share of a class that must share a hidden child; people and nodes concerned."""
    tree = release.keys[j].tree
    distinct, classes = np.unique(release.nodes[:, j], return_counts=True)
    best, people, nodes = Fraction(0), 0, 0
    for node in distinct[classes == 1].tolist():
        if len(tree.children(node)) != 2:
            continue
        size = int(release.sizes[release.nodes[:, j] == node][0])
        share = Fraction(max(size - k + 1, -(-size // 2)), size)
        best, people, nodes = max(best, share), people + size, nodes + 1
    return best, people, nodes
