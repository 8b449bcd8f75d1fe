"""The search as adversaries know it: handed in by the caller, for attacks share no code with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.models.attack_contract import PublishedTable
from sfumato.system.errors import BadData, BadTaxonomy
from sfumato.table.microdata import Codes, Column, Counts, Microdata
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.taxonomy import Label, Taxonomy

# Published boxes: the leaves that each class may stand for, as somebody reads them who knows the trees.

Republish = Callable[[Microdata], Recoding | None]
"""What the search would publish for a table; `None` where it would refuse. The search is the caller's."""

Builds = Mapping[str, Callable[[Sequence[Label]], Taxonomy]]
"""How the policy makes the taxonomy of a key column from the values that occur."""

Publication = Mapping[tuple[tuple[Label, ...], tuple[int, ...]], int]
"""Rows by what they show in the key columns, and the leaf ranks of their sensitive values."""


@dataclass(frozen=True, eq=False)
class PublishedBoxes:
    """The classes of a published table as boxes of leaves, and who is in them.

    Class c may hold the leaf ranks `low[c, j] .. high[c, j]-1` of key column j. Group g is `counts[g]` rows
    of class `owner[g]` that hold the leaf ranks `held[g]` of the sensitive columns. `hidden` names the key
    columns whose taxonomy lists its values; of any other nothing is known beyond the texts, its leaves.
    """

    keys: tuple[Column, ...]
    values: tuple[Column, ...]
    low: Codes
    high: Codes
    texts: tuple[tuple[Label, ...], ...]
    owner: Codes
    held: Codes
    counts: Counts
    hidden: tuple[str, ...]

    @classmethod
    def read(cls, published: PublishedTable, builds: Builds) -> PublishedBoxes:
        """Returns the boxes of a published table under the policy's taxonomies, columns in its order."""
        texts_of, codes, rows = published.texts
        columns = {c.name: c for c in published.table.keys}
        names = [n for n in builds if n in columns] + [n for n in columns if n not in builds]
        low = np.zeros((len(rows), len(names)), np.int32)
        high, keys, hidden = np.zeros_like(low), [], []
        for j, name in enumerate(names):
            labels, which = texts_of[name], codes[name]
            tree = _listed_tree(builds.get(name), labels)
            if tree is None:
                tree = Taxonomy.flat(labels)
            else:
                hidden.append(name)
            spans = np.array([tree.span(label) for label in labels], np.int32).reshape(len(labels), 2)
            low[:, j], high[:, j] = spans[which].T
            keys.append(replace(columns[name], taxonomy=tree))
        texts = [tuple(texts_of[n][codes[n][c]] for n in names) for c in range(len(rows))]
        owner, value_codes, counts = _groups(published)
        values = published.table.sensitive
        return cls(tuple(keys), values, low, high, tuple(texts), owner, value_codes, counts, tuple(hidden))

    @cached_property
    def sizes(self) -> Counts:
        """The rows of every class."""
        sizes = np.zeros(len(self.low), np.int64)
        np.add.at(sizes, self.owner, self.counts)
        return sizes

    @property
    def complete(self) -> bool:
        """Whether the values of every key column are known, so that worlds can be listed."""
        return all(c.name in self.hidden or _shows_values(c) for c in self.keys)

    @cached_property
    def publication(self) -> Publication:
        """What is published, row by row."""
        groups = zip(self.owner.tolist(), self.held.tolist(), self.counts.tolist(), strict=True)
        return Counter({(self.texts[c], tuple(values)): n for c, values, n in groups})

    def hiding(self, j: int) -> NDArray[np.int64]:
        """Returns the rows of every class that hides something in key column j, and 0 of any other."""
        if j not in self._hiding:
            hides = [bool(self.parts(c, j).any()) for c in range(len(self.low))]
            self._hiding[j] = np.where(hides, self.sizes, 0)
        return self._hiding[j]

    def values_of(self, c: int) -> Codes:
        """Returns the sensitive values of class c, one row per row."""
        first, last = np.searchsorted(self.owner, [c, c + 1])
        values: Codes = np.repeat(self.held[first:last], self.counts[first:last], axis=0)
        return values

    @cached_property
    def _hiding(self) -> dict[int, NDArray[np.int64]]:
        return {}

    @cached_property
    def _parts(self) -> dict[tuple[int, int], NDArray[np.int64]]:
        return {}

    def parts(self, c: int, j: int) -> NDArray[np.int64]:
        """Returns, for every leaf that class c may hold in key column j, the finer value it would become.

        Finer values are the children of the published node, or the nodes of the range level that a range
        runs over; they are numbered from 0. There is one where nothing is hidden.
        """
        if (c, j) not in self._parts:
            self._parts[c, j] = self._parts_of(c, j)
        return self._parts[c, j]

    def _parts_of(self, c: int, j: int) -> NDArray[np.int64]:
        column, low, high = self.keys[j], int(self.low[c, j]), int(self.high[c, j])
        tree = column.taxonomy
        if high - low < 2 or column.name not in self.hidden:
            return np.zeros(high - low, np.int64)
        node = tree.lowest_cover(low, high)
        if (tree.low[node], tree.high[node]) == (low, high):
            finer = tree.child_above(node)
        else:
            finer = tree.levels[tree.range_level][low:high]
        return np.unique(finer, return_inverse=True)[1].astype(np.int64).ravel()

    def table(self, codes: Sequence[NDArray[np.integer]], values: Codes, *, dropped: int = 0) -> Microdata:
        """Returns the table with these leaf ranks in the key columns and these in the sensitive ones; so many
        rows were `dropped` before, for want of a key."""
        return Microdata.of_codes([*self.keys, *self.values], [*codes, *values.T], dropped=dropped)


def publication_of(recoding: Recoding, keys: int) -> Publication:
    """Returns what a recoding publishes of a table of `keys` key columns; suppressed rows are missing."""
    table = recoding.table
    texts = [recoding.texts(j) for j in range(keys)]
    value_rows = zip(*(table.codes(c.name).tolist() for c in table.columns[keys:]), strict=True)
    values = list(value_rows) or [()] * table.distinct
    rows: Counter[tuple[tuple[Label, ...], tuple[int, ...]]] = Counter()
    for c, value, n in zip(recoding.class_of.tolist(), values, table.counts.tolist(), strict=True):
        if c != SUPPRESSED:
            rows[tuple(labels[which[c]] for labels, which in texts), value] += n
    return rows


def _listed_tree(
    build: Callable[[Sequence[Label]], Taxonomy] | None, labels: Sequence[Label]
) -> Taxonomy | None:
    """Returns the policy's tree if it lists its values, whatever the data, and reads every label."""
    if build is None:
        return None
    try:
        tree = build([None] if None in labels else [])
    except BadTaxonomy:
        return None
    is_readable = len(tree.labels) > 2 and all(tree.span(label) is not None for label in labels)
    return tree if is_readable else None


def _shows_values(column: Column) -> bool:
    """Whether a column without a list of values shows them all, and not `*`."""
    return "*" not in column.taxonomy.leaf_labels


def _groups(published: PublishedTable) -> tuple[Codes, Codes, Counts]:
    table, names = published.table, [c.name for c in published.table.sensitive]
    rows = np.stack([published.class_of, *(table.codes(n) for n in names)], axis=1)
    groups, which = np.unique(rows, axis=0, return_inverse=True)
    counts = np.zeros(len(groups), np.int64)
    np.add.at(counts, which.ravel(), table.counts)
    return groups[:, 0].astype(np.int32), groups[:, 1:].astype(np.int32), counts


STEPS = 20_000
"""So many times the search is run at most, for each attack."""

ALL_WORLDS = "all worlds"
"""The method of a finding in which nothing was left out."""
SINGLE_CLASSES = "what several classes tell together (a part of the table, or more --steps)"
"""What is left out where the worlds of single classes are looked at."""


@dataclass(frozen=True)
class KnownSearch:
    """What everybody may know of how a table came about.

    `republish` is the search with the policy's promises; `builds` makes the trees of the key columns;
    `recodes_locally` says that classes are recoded one by one, `by_level` that a column moves by levels;
    `classes_silent` says why worlds of single classes tell nothing, if so. `others` may have made the table
    as well: a class stays as it is where one of them leaves it. `by_shape` says what is known of single
    classes by whoever has seen the table, where that is more than is known before. All worlds are listed up
    to `most_listed` of them, or up to `steps`; otherwise worlds are drawn, until about `steps` searches were
    made. `seed` fixes what is drawn. `suppress` is the share of the rows that may stay unpublished, where
    people with equal keys are published or suppressed together.
    """

    republish: Republish
    builds: Builds = field(default_factory=dict)
    recodes_locally: bool = False
    by_level: bool = False
    classes_silent: str = ""
    others: tuple[Republish, ...] = ()
    by_shape: Callable[[PublishedBoxes], KnownSearch] | None = None
    steps: int = STEPS
    seed: int = 0
    most_listed: int | None = None
    suppress: Fraction = Fraction(0)

    def of_classes(self, boxes: PublishedBoxes) -> KnownSearch:
        """Returns what is known of single classes of this table."""
        return self if self.by_shape is None else self.by_shape(boxes)

    @property
    def list_up_to(self) -> int:
        """How many worlds are listed at most."""
        return self.steps if self.most_listed is None else self.most_listed


# The shape of a published table: what its boxes tell of the kind of search that made it.


@dataclass(frozen=True)
class TableShape:
    """What everybody sees of how a table was recoded.

    `whole_columns`: a value becomes the same in every class. `one_level`: so it does, and every column shows
    one level of its tree. `ranges`: some text is a range, and no node of a tree.
    """

    whole_columns: bool
    one_level: bool
    ranges: bool

    @classmethod
    def of(cls, boxes: PublishedBoxes) -> TableShape:
        """Returns the shape of these boxes."""
        columns = range(len(boxes.keys))
        whole = all(_disjoint(boxes, j) for j in columns)
        levels = whole and all(_on_one_level(boxes, j) for j in columns)
        return cls(whole, levels, any(_has_ranges(boxes, j) for j in columns))


def _spans(boxes: PublishedBoxes, j: int) -> list[tuple[int, int]]:
    """Returns the different spans of leaves that key column j shows, in order."""
    spans = np.unique(np.stack([boxes.low[:, j], boxes.high[:, j]], axis=1), axis=0)
    return [(low, high) for low, high in spans.tolist()]


def _disjoint(boxes: PublishedBoxes, j: int) -> bool:
    spans = _spans(boxes, j)
    return all(high <= low for (_, high), (low, _) in pairwise(spans))


def _on_one_level(boxes: PublishedBoxes, j: int) -> bool:
    tree = boxes.keys[j].taxonomy
    covers = [(low, tree.lowest_cover(low, high)) for low, high in _spans(boxes, j)]
    return any(all(level[low] == node for low, node in covers) for level in tree.levels)


def _has_ranges(boxes: PublishedBoxes, j: int) -> bool:
    tree = boxes.keys[j].taxonomy
    nodes = [(low, high, tree.lowest_cover(low, high)) for low, high in _spans(boxes, j)]
    return any((int(tree.low[node]), int(tree.high[node])) != (low, high) for low, high, node in nodes)


# The register: everybody's key columns, and the class of a published table that each of them must be in.

NOWHERE = -1
"""The owner of a key whose class is not known."""

NOBODY = Fraction(0)


@dataclass(frozen=True, eq=False)
class Register:
    """Everybody's key columns: `codes[i]` are the leaf ranks of a key that `people[i]` people of class
    `owner[i]` have; `NOWHERE` if the table leaves several classes open. `placed[c]` says that everybody in
    class c is known. The number behind the last class, `suppressed`, stands for those who are in none: so
    many as `gone`, all of them known where `gone_known`. Further people were `dropped`, for want of a key."""

    codes: Codes
    people: tuple[int, ...]
    owner: tuple[int, ...]
    placed: NDArray[np.bool_]
    gone: int = 0
    gone_known: bool = True
    dropped: int = 0

    @classmethod
    def of(
        cls, boxes: PublishedBoxes, codes: Codes, *, suppress: Fraction = NOBODY, dropped: int = 0
    ) -> Register:
        """Places people, one row of leaf ranks each, in the classes of a published table.

        Boxes of a local recoding may overlap. People with equal keys are in one class, and classes have as
        many people as rows: who is in which follows from that as far as one class is left for a key, or as
        many people as it lacks for a class. Whoever is beyond the published rows was suppressed, with all who
        have the same keys, if no more are than the share `suppress` allows. Raises `BadData` where somebody
        fits no class, or classes have other people than rows.
        """
        gone = _gone(len(codes), int(boxes.sizes.sum()), suppress, dropped)
        keys, often = np.unique(codes, axis=0, return_counts=True)
        fits = np.ones((len(keys), len(boxes.low)), bool)
        for j in range(len(boxes.keys)):
            code = keys[:, j, None]
            fits &= (boxes.low[:, j] <= code) & (code < boxes.high[:, j])
        sizes = boxes.sizes
        if gone:
            fits, sizes = np.pad(fits, ((0, 0), (0, 1)), constant_values=True), np.append(sizes, gone)
        owner, lacking = _place(fits, often.astype(np.int64), sizes)
        placed, missing = np.split(lacking == 0, [len(boxes.low)])
        people, classes = tuple(often.tolist()), tuple(owner.tolist())
        return cls(keys.astype(np.int32), people, classes, placed, gone, bool(missing.all()), dropped)

    @property
    def suppressed(self) -> int:
        """The number that stands for people who are in no class."""
        return len(self.placed)

    @property
    def complete(self) -> bool:
        """Whether the class of everybody is known, or that they are in none."""
        return bool(self.placed.all()) and self.gone_known

    def keys_of(self, c: int) -> list[int]:
        """Returns the keys that people of class c have."""
        return self.by_class.get(c, [])

    def key_numbers(self, c: int) -> NDArray[np.intp]:
        """Returns, for every person of class c, which of its keys they have."""
        keys = self.keys_of(c)
        return np.repeat(np.arange(len(keys)), [self.people[i] for i in keys])

    def people_of(self, c: int) -> Codes:
        """Returns the leaf ranks of the people of class c, one row each."""
        codes: Codes = self.codes[self.keys_of(c)][self.key_numbers(c)]
        return codes

    @cached_property
    def by_class(self) -> dict[int, list[int]]:
        """By class, the keys that its people have."""
        members: dict[int, list[int]] = {}
        for i, owner in enumerate(self.owner):
            members.setdefault(owner, []).append(i)
        return members


def _gone(people: int, rows: int, suppress: Fraction, dropped: int) -> int:
    """Returns how many people were suppressed; too many are people of another table."""
    gone, most = people - rows, max(0, int((people + dropped) * suppress) - dropped)
    if gone > most:
        raise BadData(
            f"the register has {gone} people more than the table has rows, and {most} can be suppressed",
            remedy="Give the register of the people in this table. Whoever is suppressed is looked for where"
            " `protect: suppress` allows it and whole classes are suppressed, by top-down, lattice or best.",
        )
    return max(0, gone)


def _place(fits: NDArray[np.bool_], often: Counts, sizes: Counts) -> tuple[Codes, Counts]:
    """Returns the class of every key as far as it follows, and how many people every class lacks."""
    owner, lacking = np.full(len(fits), NOWHERE, np.int32), sizes.copy()
    left = np.arange(len(fits))
    while len(left):
        fits = fits & (often[left, None] <= lacking)
        options = fits.sum(axis=1)
        if not options.all():
            raise BadData(
                f"{int(often[left[options == 0]].sum())} people of the register fit no class",
                remedy="Give the register of the people in this table, and the table that was published.",
            )
        short = (lacking > 0) & (fits.T @ often[left] == lacking)
        sure = (options == 1) | (fits & short).any(axis=1)
        if not sure.any():
            break
        goal = np.where((fits & short).any(axis=1), (fits & short).argmax(axis=1), fits.argmax(axis=1))[sure]
        owner[left[sure]] = goal
        np.subtract.at(lacking, goal, often[left[sure]])
        left, fits = left[~sure], fits[~sure]
        _agree(lacking)
    if not len(left):
        _agree(-np.abs(lacking))
    return owner, lacking


def _agree(lacking: Counts) -> None:
    if np.any(lacking < 0):
        raise BadData(
            f"{int((lacking < 0).sum())} classes have other people in the register than rows",
            remedy="The register must list everybody in the table once, and whoever was suppressed.",
        )
