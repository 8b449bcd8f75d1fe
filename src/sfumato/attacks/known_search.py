"""The planner as adversaries know it: handed in by the caller, for attacks share no code with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.models.attack_contract import PublishedTable
from sfumato.system.errors import BadTaxonomy
from sfumato.table.microdata import Codes, Column, Counts, Microdata
from sfumato.table.recoding import SUPPRESSED, Recoding
from sfumato.table.taxonomy import Label, Taxonomy

# Published boxes: the leaves that each class may stand for, as somebody reads them who knows the trees.

Republish = Callable[[Microdata], Recoding | None]
"""What the search would publish for a table; `None` where it would refuse. The search is the caller's."""

Builds = Mapping[str, Callable[[Sequence[Label]], Taxonomy]]
"""How the policy makes the taxonomy of a key column from the values that occur."""

Publication = Mapping[tuple[tuple[Label, ...], tuple[Label, ...]], int]
"""Rows by what they show in the key columns, and their sensitive values."""


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
        labels = [column.taxonomy.leaf_labels for column in self.values]
        groups = zip(self.owner.tolist(), self.held.tolist(), self.counts.tolist(), strict=True)
        rows: Counter[tuple[tuple[Label, ...], tuple[Label, ...]]] = Counter()
        for c, values, n in groups:
            rows[self.texts[c], tuple(names[v] for names, v in zip(labels, values, strict=True))] += n
        return rows

    def hiding(self, j: int) -> NDArray[np.int64]:
        """Returns the rows of every class that hides something in key column j, and 0 of any other."""
        if j not in self._hiding:
            hides = [bool(self.parts(c, j).any()) for c in range(len(self.low))]
            self._hiding[j] = np.where(hides, self.sizes, 0)
        return self._hiding[j]

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

    def table(self, codes: Sequence[NDArray[np.integer]], values: Codes) -> Microdata:
        """Returns the table with these leaf ranks in the key columns and these in the sensitive ones."""
        return Microdata.of_codes([*self.keys, *self.values], [*codes, *values.T])


def publication_of(recoding: Recoding, keys: Sequence[Column], values: Sequence[Column]) -> Publication:
    """Returns what a recoding publishes in these columns; suppressed rows are missing."""
    table, place = recoding.table, {column.name: j for j, column in enumerate(recoding.table.keys)}
    texts = [recoding.texts(place[column.name]) for column in keys]
    labels = [table.column(column.name).taxonomy.leaf_labels for column in values]
    value_rows = zip(*(table.codes(column.name).tolist() for column in values), strict=True)
    rows: Counter[tuple[tuple[Label, ...], tuple[Label, ...]]] = Counter()
    shown = list(value_rows) or [()] * table.distinct
    for c, value, n in zip(recoding.class_of.tolist(), shown, table.counts.tolist(), strict=True):
        if c != SUPPRESSED:
            seen = tuple(names[v] for names, v in zip(labels, value, strict=True))
            rows[tuple(names[which[c]] for names, which in texts), seen] += n
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
"""So many tables are planned at most, where an attack tries every one."""

ALL_TABLES = "all tables"
"""The method of a finding in which nothing was left out."""


@dataclass(frozen=True)
class KnownSearch:
    """What everybody may know of how a table came about: the planner itself, as a black box.

    `republish` plans with the policy's promises, every time with the same coins; `builds` makes the trees of
    the key columns. At most `steps` tables are planned. `seed` fixes what is drawn. `suppress` is the share
    of the rows that may stay unpublished.

    Where groups are drawn by coins, `units` says which rows of a table were put together before anybody's
    values were read. Then plans are compared with each other, since the coins behind a file are secret; and
    values are exchanged within a unit: which units are joined depends on coins that go with them.
    """

    republish: Republish
    builds: Builds = field(default_factory=dict)
    steps: int = STEPS
    seed: int = 0
    suppress: Fraction = Fraction(0)
    units: Callable[[Microdata], Codes | None] | None = None
