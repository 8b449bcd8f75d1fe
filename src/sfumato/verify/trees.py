"""The tree of one column's values, made from what every value becomes, level by level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadTaxonomy

Text = str | None
"""What a cell holds; `None` where it holds nothing."""

Numbers = NDArray[np.int64]

ANY = "*"
"""What a value becomes that says nothing any more."""


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """All nodes of a tree, a node before those below it, siblings from left to right.

    Node v stands for the values `low[v]` to `high[v] - 1`; those below it are the nodes up to `end[v] - 1`.
    """

    labels: tuple[Text, ...]
    parent: Numbers
    low: Numbers
    high: Numbers
    end: Numbers

    def named(self, label: Text) -> int:
        """Returns the topmost node with this label; raises `BadTaxonomy` where there is none."""
        try:
            return self.labels.index(label)
        except ValueError:
            raise BadTaxonomy("a label is spoken of that is no value of the taxonomy") from None


@dataclass(frozen=True, eq=False)
class ValueTree:
    """The values of a column in their order, and the groups that they become at every level.

    `values` are the leaves. At level i the leaves with the same number in `groups[i]` are one group, which is
    published as `labels[i]` says; level 0 is the leaves themselves, the last level is the root. A group's
    number is the place of its first leaf. `aliases` are texts that mean a leaf of another name.
    """

    values: tuple[Text, ...]
    groups: NDArray[np.int64]
    labels: tuple[tuple[Text, ...], ...]
    ordered: bool = False
    aliases: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_levels(
        cls,
        levels: Sequence[Sequence[Text]],
        *,
        ordered: bool = False,
        missing: bool = False,
        aliases: Mapping[str, str] | None = None,
    ) -> ValueTree:
        """Returns the tree in which value j becomes `levels[i][j]` at level i.

        A root `*` is added unless all values become one at the last of several levels. With `missing` an
        empty cell is a value of its own, directly below the root. Raises `BadTaxonomy` where a label would
        stand in two unrelated places, and where an `ordered` tree groups values that are no neighbours.

        >>> tree = ValueTree.of_levels([["Flu", "TB", "AIDS"], ["Viral", "Bacterial", "Viral"]], missing=True)
        >>> tree.values, tree.labels[1]
        (('Flu', 'AIDS', 'TB', None), ('Viral', 'Viral', 'Bacterial', None))
        """
        above: Text = ANY
        below = [list(level) for level in levels]
        if not below or not below[0]:
            return cls._of_nothing(missing=missing)
        if len(below) > 1 and len(set(below[-1])) == 1:
            above = below.pop()[0]
        if missing:
            for level in below:
                level.append(None)
        groups = _first_of_group(below)
        order = np.lexsort(groups)
        if ordered and not np.array_equal(order, np.arange(len(order))):
            raise BadTaxonomy("values are ordered, and a group of them is not in one piece")
        spoken = [[level[j] for j in order.tolist()] for level in below]
        rows = [_starts(row[order]) for row in groups]
        tree = cls(
            tuple(spoken[0]),
            np.array([*rows, np.zeros(len(order), np.int64)]),
            (*map(tuple, spoken), (above,) * len(order)),
            ordered,
            dict(aliases or {}),
        )
        tree._check_labels()
        return tree

    @classmethod
    def _of_nothing(cls, *, missing: bool) -> ValueTree:
        """Returns the tree of no values: a root, and below it the empty cell if there is one."""
        if missing:
            return cls((None,), np.zeros((2, 1), np.int64), ((None,), (ANY,)))
        return cls((ANY,), np.zeros((1, 1), np.int64), ((ANY,),))

    @cached_property
    def _place(self) -> dict[Text, int]:
        own: dict[Text, int] = {value: place for place, value in enumerate(self.values)}
        return {**{text: own[leaf] for text, leaf in self.aliases.items()}, **own}

    def place(self, text: Text) -> int | None:
        """Returns the number of the leaf that a cell with this text is, `None` where it has no place."""
        return self._place.get(text)

    @property
    def height(self) -> int:
        """The number of steps from a leaf to the root."""
        return len(self.groups) - 1

    @cached_property
    def nodes(self) -> TreeNodes:
        """All nodes: a group that keeps its leaves and its label from one level to the next is one."""
        count = len(self.values)
        low, high, label, parent = _Growing(), _Growing(), _Growing(), _Growing()
        above, over = np.full(count, -1, np.int64), np.full(count, None, object)
        width = np.full(count, -1, np.int64)
        for level in range(self.height, -1, -1):
            start = np.flatnonzero(self.groups[level] == np.arange(count))
            lengths = np.diff(start, append=count)
            texts = np.array(self.labels[level], dtype=object)[start]
            fresh = (lengths != width[start]) | (texts != over[start]) | (above[start] < 0)
            number = above[start]
            number[fresh] = len(low) + np.arange(int(fresh.sum()))
            low.add(start[fresh])
            high.add((start + lengths)[fresh])
            label.add(texts[fresh])
            parent.add(above[start][fresh])
            above, over = np.repeat(number, lengths), np.repeat(texts, lengths)
            width = np.repeat(lengths, lengths)
        return _in_order(low.whole(), high.whole(), label.whole(), parent.whole())

    def _check_labels(self) -> None:
        """Raises where a label stands in two places, other than right below a group of its own name."""
        nodes = self.nodes
        often = {label for label, times in Counter(nodes.labels).items() if times > 1}
        last: dict[Text, int] = {}
        for node in [v for v, label in enumerate(nodes.labels) if label in often]:
            label = nodes.labels[node]
            if label in last and nodes.parent[node] != last[label]:
                raise BadTaxonomy("not a hierarchy: the same label stands in two places")
            last[label] = node

    def __repr__(self) -> str:
        return f"ValueTree({len(self.values)} values, {self.height} levels)"


def _first_of_group(levels: Sequence[Sequence[Text]]) -> list[Numbers]:
    """Returns, level by level, the first member of every value's group; groups lie within those above."""
    found: list[Numbers] = []
    above = [0] * len(levels[0])
    for level in reversed(levels):
        first: dict[tuple[int, Text], int] = {}
        above = [first.setdefault(pair, j) for j, pair in enumerate(zip(above, level, strict=True))]
        found.append(np.array(above, dtype=np.int64))
    return found[::-1]


def _starts(group: Numbers) -> Numbers:
    """Returns the place of the first member of every group, where groups are in one piece."""
    fresh = np.append(True, group[1:] != group[:-1])
    return np.maximum.accumulate(np.where(fresh, np.arange(len(group)), 0))


class _Growing:
    """An array that grows piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[NDArray[Any]] = []
        self._length = 0

    def add(self, piece: NDArray[Any]) -> None:
        self._pieces.append(piece)
        self._length += len(piece)

    def whole(self) -> NDArray[Any]:
        return np.concatenate(self._pieces)

    def __len__(self) -> int:
        return self._length


def _in_order(low: Numbers, high: Numbers, label: NDArray[np.object_], parent: Numbers) -> TreeNodes:
    """Returns the nodes in order; they come level by level from the top, so a parent before its children."""
    order = np.lexsort((np.arange(len(low)), -high, low))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    above = parent[order]
    low, high = low[order], high[order]
    end = np.searchsorted(low, high).astype(np.int64)
    return TreeNodes(tuple(label[order]), np.where(above < 0, -1, number[above]), low, high, end)
