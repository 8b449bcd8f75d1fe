"""A recoding: what every row of a table becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.table.classes import Classes, histogram
from sfumato.table.cut import Cut
from sfumato.table.microdata import BLOCK_ROWS, Codes, Counts, Microdata, Packing, joined, numbered_keys
from sfumato.table.taxonomy import Label, Taxonomy

SUPPRESSED = -1


@dataclass(frozen=True, eq=False)
class Rewriting:
    """The values that rows publish in a column that is no key, where these are not what the rows hold.

    `codes` has one leaf rank of `taxonomy` for every row, not every distinct row: rows are taken in the order
    of the distinct rows, and copies of a distinct row one after the other.
    """

    taxonomy: Taxonomy
    codes: Codes


@dataclass(frozen=True, eq=False)
class Recoding:
    """What each class publishes in each key column, and which rows are in it.

    `class_of[i]` is the class of distinct row i of `table`, or SUPPRESSED: that row is not published.
    Class c publishes in key column j the leaf ranks `low[c, j] .. high[c, j]-1`. `cuts` is set when every
    value of a column becomes the same thing in all classes (global recoding): the engine may then recode
    column by column. `rewritten` holds the columns, other than keys, that do not publish what they hold.
    """

    table: Microdata
    class_of: Codes
    low: Codes
    high: Codes
    cuts: Mapping[str, Cut] | None = None
    rewritten: Mapping[str, Rewriting] = field(default_factory=dict)

    @classmethod
    def of_cuts(
        cls,
        table: Microdata,
        cuts: Mapping[str, Cut],
        *,
        keep: NDArray[np.bool_] | None = None,
        grouped: tuple[Codes, Codes] | None = None,
    ) -> Recoding:
        """Global recoding; `keep` says which of its classes (in ascending order of nodes) are published.

        `grouped` is what `classes_under` gives for these cuts, where that is known.
        """
        class_of, nodes = grouped or classes_under(table, cuts)
        if keep is not None:
            renumber = np.where(keep, np.cumsum(keep) - 1, SUPPRESSED).astype(np.int32)
            class_of, nodes = renumber[class_of], nodes[keep]
        low, high = np.empty_like(nodes), np.empty_like(nodes)
        for j, column in enumerate(table.keys):
            low[:, j] = column.taxonomy.low[nodes[:, j]]
            high[:, j] = column.taxonomy.high[nodes[:, j]]
        return cls(table, class_of, low, high, dict(cuts))

    def keeping(self, rows: NDArray[np.bool_]) -> Recoding:
        """The same recoding of these distinct rows alone; the others are suppressed, no class stays empty."""
        class_of = np.where(rows, self.class_of, SUPPRESSED)
        left = np.zeros(self.count, bool)
        left[class_of[class_of != SUPPRESSED]] = True
        number = np.append(np.where(left, np.cumsum(left) - 1, SUPPRESSED), SUPPRESSED).astype(np.int32)
        return replace(self, class_of=number[class_of], low=self.low[left], high=self.high[left])

    @property
    def count(self) -> int:
        """How many classes are published."""
        return len(self.low)

    def texts(self, key: int) -> tuple[list[Label], NDArray[np.intp]]:
        """The texts that a key column publishes, and which of them each class has.

        A global recoding publishes the nodes of its cut, also where only one leaf is below such a node.
        """
        column = self.table.keys[key]
        tree, low, high = column.taxonomy, self.low[:, key], self.high[:, key]
        if self.cuts is not None:
            nodes, which = np.unique(self.cuts[column.name].node_of[low], return_inverse=True)
            return [tree.labels[v] for v in nodes.tolist()], which
        spans, which = np.unique((low.astype(np.int64) << 32) | high, return_inverse=True)
        return [tree.describe(span >> 32, span & 0xFFFFFFFF) for span in spans.tolist()], which

    @cached_property
    def suppressed(self) -> int:
        """How many rows are not published."""
        return int(self.table.counts[self.class_of == SUPPRESSED].sum()) + self.table.dropped

    @cached_property
    def rows(self) -> Counts:
        """Published rows per class."""
        sums = np.zeros(self.count + 1, dtype=np.int64)  # the last one is of rows that are SUPPRESSED
        for start in range(0, len(self.class_of), BLOCK_ROWS):
            span = slice(start, start + BLOCK_ROWS)
            np.add.at(sums, self.class_of[span].astype(np.intp), self.table.counts[span])
        return sums[:-1]

    def classes(self, class_of: NDArray[np.integer], sensitive: Sequence[str]) -> Classes:
        """The classes that `class_of` gives to the distinct rows, with histograms of what is published."""
        joints = {joint.name: joint for joint in self.table.joints if set(joint.parts) & set(self.rewritten)}
        plain = [name for name in sensitive if name not in self.rewritten and name not in joints]
        classes = Classes.of(self.table, class_of, sensitive=plain)
        if len(plain) == len(sensitive):
            return classes
        owner = np.repeat(class_of, self.table.counts)
        included = owner >= 0
        ones = np.ones(int(included.sum()), np.int64)
        histograms = dict(classes.histograms)
        for name in sensitive:
            if name in joints:
                parts = [self._shown(part) for part in joints[name].parts]
                tree, codes = joined([tree for tree, _ in parts], [codes[included] for _, codes in parts])
                histograms[name] = histogram(tree, owner[included], codes, ones, len(classes))
            elif name in self.rewritten:
                new = self.rewritten[name]
                histograms[name] = histogram(
                    new.taxonomy, owner[included], new.codes[included], ones, len(classes)
                )
        return Classes(classes.people, classes.rows, histograms)

    def _shown(self, name: str) -> tuple[Taxonomy, Codes]:
        """What every row, not every distinct row, publishes in a column that is no key."""
        if name in self.rewritten:
            return self.rewritten[name].taxonomy, self.rewritten[name].codes
        return self.table.column(name).taxonomy, np.repeat(self.table.codes(name), self.table.counts)


def classes_under(table: Microdata, cuts: Mapping[str, Cut]) -> tuple[Codes, Codes]:
    """The class of every distinct row under these cuts, and the node of every class in every key column."""
    keys = table.keys
    if not keys:
        return np.zeros(table.distinct, np.int32), np.zeros((min(table.distinct, 1), 0), np.int32)
    packing = Packing(tuple(len(c.taxonomy.labels) for c in keys))
    packed = np.zeros((packing.words, table.distinct), np.int64)
    for column, (word, shift, _) in zip(keys, packing.places, strict=True):
        moved = cuts[column.name].node_of.astype(np.int64) << shift
        packed[word] |= moved[table.codes(column.name)]
    class_of, distinct = numbered_keys(packed)
    columns = [packing.unpack(distinct, j) for j in range(len(keys))]
    return class_of, np.stack(columns, axis=1)
