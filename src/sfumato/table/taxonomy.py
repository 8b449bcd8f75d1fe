"""A taxonomy: the value tree of one column, in arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadTaxonomy
from sfumato.table.published_texts import RangeTexts
from sfumato.table.spelling import Spelling, meaning_under, meanings

# Trees as an array of parents: depths, sizes, numbers in preorder, and levels by depth.

Nodes = NDArray[np.int32]


def depths(parent: Nodes) -> Nodes:
    """Distance from the root; raises where parents run in a circle."""
    depth = np.zeros(len(parent), dtype=np.int32)
    above = parent.copy()
    for _ in range(len(parent) + 1):
        alive = above >= 0
        if not alive.any():
            return depth
        depth[alive] += 1
        above[alive] = parent[above[alive]]
    raise BadTaxonomy("the parents run in a circle")


def subtree_sizes(parent: Nodes, depth: Nodes) -> NDArray[np.int64]:
    """How many nodes each node has below it, itself among them."""
    size = np.ones(len(parent), dtype=np.int64)
    order = np.argsort(-depth, kind="stable")
    bounds = np.flatnonzero(np.diff(depth[order])) + 1
    for nodes in np.split(order, bounds):
        if depth[nodes[0]] > 0:
            np.add.at(size, parent[nodes], size[nodes])
    return size


def preorder(parent: Nodes, depth: Nodes) -> Nodes:
    """The preorder position of every node; siblings keep the order of their numbers."""
    size = subtree_sizes(parent, depth)
    position = np.zeros(len(parent), dtype=np.int64)
    for level in range(1, int(depth.max(initial=0)) + 1):
        nodes = np.flatnonzero(depth == level)
        nodes = nodes[np.argsort(parent[nodes], kind="stable")]
        running = np.cumsum(size[nodes]) - size[nodes]
        first = np.r_[True, np.diff(parent[nodes]) != 0]
        start = running[np.maximum.accumulate(np.where(first, np.arange(len(nodes)), 0))]
        position[nodes] = position[parent[nodes]] + 1 + running - start
    return position.astype(np.int32)


def is_preorder(parent: Nodes, end: Nodes) -> bool:
    """Whether nodes are numbered parents first, and those below a node right after it."""
    index = np.arange(1, len(parent))
    above = parent[1:]
    if parent[0] != -1 or np.any(above < 0) or np.any(above >= index):
        return False
    previous = index - 1
    return bool(np.all((above <= previous) & (previous < end[above]) & (end[1:] <= end[above])))


def levels_by_depth(parent: Nodes, depth: Nodes, leaves: NDArray[np.intp]) -> Nodes:
    """The node of every leaf at every level: level i lifts it to the depth `height - i`."""
    height = int(depth.max(initial=0))
    rows = [leaves.astype(np.int32)]
    for level in range(1, height + 1):
        current = rows[-1].copy()
        too_deep = depth[current] > height - level
        current[too_deep] = parent[current[too_deep]]
        rows.append(current)
    return np.array(rows, dtype=np.int32).reshape(height + 1, len(leaves))


__all__ = ["ANY", "ROOT", "Label", "Nodes", "Taxonomy"]

Label = str | None
"""A published text; `None` is a missing cell."""

ANY = "*"
"""The label of a root: the value says nothing."""

ROOT = 0


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A rooted tree over the values of a column; its leaves are the raw values.

    Nodes are numbered in preorder (the root is 0), so the nodes below `v` are `v .. end[v]-1` and an
    ancestor test is two comparisons. Leaves are numbered once more, left to right: a leaf's *rank* is
    the code that tables store, and the leaves below `v` are the ranks `low[v] .. high[v]-1`. Every
    generalization of a value, a node as well as a numeric range, is such an interval of ranks.

    `levels[i]` says which node a leaf becomes at level i of full-domain recoding: level 0 is the leaf,
    the last level the root. `ordered` says that the order of the leaves means something. `aliases` gives
    the rank of raw values that are coded as a leaf of another name (93 under the top code `90+`). A range
    of an ordered tree runs from one node of `levels[range_level]` to another: a range between leaves would
    tell the least and the greatest value of a class, and these may be one person's each. `spelling` says
    which leaves promises count as one value (see `meanings`); leaves stay apart all the same. `at_most` is
    the coarsest level that may be published, if the policy names one (see `ceiling`); `start` is the level
    that the leaves have in the tree that this one was made from (see `from_level`).

    >>> t = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> t.leaf_labels, t.height
    (('Flu', 'AIDS', 'TB'), 2)
    >>> t.covers(t.node("Viral"), t.node("AIDS")), t.covers(t.node("Viral"), t.node("TB"))
    (True, False)
    """

    labels: tuple[Label, ...]
    parent: Nodes
    levels: Nodes
    ordered: bool = False
    aliases: Mapping[Label, int] = field(default_factory=dict)
    range_level: int = 0
    spelling: Spelling = Spelling.EXACT
    at_most: int | None = None
    start: int = 0
    depth: Nodes = field(init=False)
    end: Nodes = field(init=False)
    low: Nodes = field(init=False)
    high: Nodes = field(init=False)
    leaves: Nodes = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.labels)
        parent = self.parent
        depth = depths(parent)
        end = (np.arange(count) + subtree_sizes(parent, depth)).astype(np.int32)
        if count > 1 and not is_preorder(parent, end):
            raise BadTaxonomy("nodes are not numbered in preorder", remedy="Build with Taxonomy.grow.")
        is_leaf = end == np.arange(count) + 1
        leaves = np.flatnonzero(is_leaf).astype(np.int32)
        before = np.concatenate(([0], np.cumsum(is_leaf))).astype(np.int32)
        for name, value in (
            ("depth", depth),
            ("end", end),
            ("low", before[:-1]),
            ("high", before[end]),
            ("leaves", leaves),
        ):
            object.__setattr__(self, name, _frozen(value))
        _frozen(parent)
        _frozen(self.levels)
        self._check_levels()
        if (named := len(self._rank_of_leaf)) != len(leaves):
            raise BadTaxonomy(f"{len(leaves) - named} leaves repeat another leaf's label")
        if any(not 0 <= rank < len(leaves) for rank in self.aliases.values()):
            raise BadTaxonomy("an alias stands for a leaf that does not exist")
        if not 0 <= self.range_level <= self.height:
            raise BadTaxonomy("ranges need a level of the tree to run between")

    @classmethod
    def grow(
        cls,
        labels: Sequence[Label],
        parent: Sequence[int] | Nodes,
        *,
        levels: NDArray[np.integer] | None = None,
        ordered: bool = False,
        aliases: Mapping[Label, int] | None = None,
        range_level: int = 0,
    ) -> Taxonomy:
        """Build from nodes in any order; `parent[root]` is -1. Siblings keep their order.

        `levels`, if given, uses the caller's node numbers, one row per level, one column per leaf in the
        caller's order of leaves; otherwise level i lifts every leaf to depth `height - i`. `aliases` maps
        further raw values to the node number of their leaf.
        """
        above = np.asarray(parent, dtype=np.int32)
        if len(above) != len(labels) or len(above) == 0:
            raise BadTaxonomy("a taxonomy needs at least a root, and one parent per node")
        if (roots := int((above < 0).sum())) != 1:
            raise BadTaxonomy(f"a taxonomy has one root; this one has {roots}")
        depth = depths(above)
        position = preorder(above, depth)
        order = np.argsort(position).astype(np.int32)
        parents = np.where(above[order] < 0, -1, position[above[order]]).astype(np.int32)
        has_child = np.zeros(len(above), dtype=bool)
        has_child[above[above >= 0]] = True
        if levels is None:
            ladder = levels_by_depth(parents, depth[order], np.flatnonzero(~has_child[order]))
        else:
            leaves = np.flatnonzero(~has_child)
            by_rank = np.argsort(position[leaves])
            ladder = position[np.asarray(levels)][:, by_rank].astype(np.int32)
        at = {v: rank for rank, v in enumerate(ladder[0].tolist())} if aliases else {}
        ranks = {name: at[int(position[leaf])] for name, leaf in (aliases or {}).items()}
        named = tuple(map(labels.__getitem__, order.tolist()))
        return cls(named, parents, ladder, ordered, ranks, range_level=range_level)

    @classmethod
    def flat(cls, values: Sequence[Label], *, ordered: bool = False) -> Taxonomy:
        """The value itself or `*`."""
        if not values:
            return cls.grow([ANY], [-1])
        return cls.grow([ANY, *values], np.r_[-1, np.zeros(len(values), np.int32)], ordered=ordered)

    @classmethod
    def flat_in_order(cls, values: Sequence[Label]) -> Taxonomy:
        """The same for values in the order of their texts, a missing one last."""
        return cls.flat(sorted(values, key=lambda value: (value is None, value or "")))

    @property
    def height(self) -> int:
        """The number of generalization steps from a leaf to the root."""
        return len(self.levels) - 1

    @property
    def ceiling(self) -> int:
        """The coarsest level that may be published: that of the root unless `at_most` is below it."""
        return self.height if self.at_most is None else min(self.at_most, self.height)

    @property
    def leaf_count(self) -> Nodes:
        """How many leaves each node covers."""
        return self.high - self.low

    @cached_property
    def leaf_labels(self) -> tuple[Label, ...]:
        """The raw values."""
        return tuple(map(self.labels.__getitem__, self.leaves.tolist()))

    @cached_property
    def _rank_of_leaf(self) -> dict[Label, int]:
        return dict(zip(self.leaf_labels, range(len(self.leaves)), strict=True))

    @cached_property
    def ranks(self) -> Mapping[Label, int]:
        """Every raw value that the tree knows, aliases included, and the rank of the leaf it is coded as."""
        return {**self.aliases, **self._rank_of_leaf} if self.aliases else self._rank_of_leaf

    @cached_property
    def meanings(self) -> Nodes:
        """For every leaf, the rank of the first leaf that means the same; -1 where it is a missing cell."""
        return meanings(self.leaf_labels, self.spelling)

    @cached_property
    def all_apart(self) -> bool:
        """Whether every leaf is a known value of its own."""
        return bool(np.array_equal(self.meanings, np.arange(len(self.leaves))))

    @cached_property
    def spelled_once(self) -> bool:
        """Whether every leaf is a known value of its own, or missing."""
        return bool(((self.meanings < 0) | (self.meanings == np.arange(len(self.leaves)))).all())

    def spelled(self, spelling: Spelling) -> Taxonomy:
        """The same tree, its leaves told apart in another way when promises count values."""
        return self if spelling is self.spelling else replace(self, spelling=spelling)

    @cached_property
    def _nodes(self) -> dict[Label, int]:
        return {label: v for v, label in reversed(list(enumerate(self.labels)))}

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the labels, the tree and the levels."""
        h = hashlib.sha256()
        for label in self.labels:
            h.update(b"\0" if label is None else b"\1" + label.encode("utf-8", "surrogatepass") + b"\0")
        h.update(self.parent.tobytes() + self.levels.tobytes() + bytes([self.ordered]))
        for name, rank in sorted(self.aliases.items(), key=repr):
            h.update(f"{name!r}\0{rank}\0".encode("utf-8", "surrogatepass"))
        return h.hexdigest()

    def node(self, label: Label) -> int:
        """The node with this label (the topmost, where a chain repeats it); `KeyError` if there is none."""
        return self._nodes[label]

    def rank(self, label: Label) -> int | None:
        """The rank of the leaf that this raw value is coded as, `None` if the tree lacks it."""
        return self.ranks.get(label)

    def covers(self, above: int, below: int) -> bool:
        """Whether `above` is `below` or one of its ancestors."""
        return bool(above <= below < self.end[above])

    def children(self, node: int) -> list[int]:
        """The children of a node, left to right."""
        children, child = [], node + 1
        while child < self.end[node]:
            children.append(child)
            child = int(self.end[child])
        return children

    def child_above(self, node: int) -> Nodes:
        """For every leaf below `node`, left to right, the child of `node` that covers it."""
        children = np.array(self.children(node), dtype=np.int32)
        return np.repeat(children, self.leaf_count[children])

    def lowest_cover(self, low: int, high: int) -> int:
        """The lowest node that covers the leaf ranks low .. high-1."""
        node = int(self.leaves[low])
        while self.high[node] < high:
            node = int(self.parent[node])
        return node

    def range_cells(self) -> tuple[Nodes, Nodes]:
        """For every leaf rank, the ranks `low .. high-1` of the node of the range level that covers it."""
        nodes = self.levels[self.range_level]
        return self.low[nodes], self.high[nodes]

    def describe(self, low: int, high: int) -> Label:
        """The published text of the leaf ranks low .. high-1: a node's label, or a range if ordered.

        Of nodes with the same leaves the lowest is named that is not below the range level: a year in which
        one date occurs is still a year. Raises `BadTaxonomy` where a range begins or ends within a node of
        the range level.

        >>> t = Taxonomy.grow(["*", "0-1", "0", "1", "2-3", "2", "4-5", "4"], [-1, 0, 1, 1, 0, 4, 0, 6],
        ...                   ordered=True, range_level=1)
        >>> t.describe(0, 3), t.describe(2, 3), t.describe(2, 4)
        ('0–3', '2-3', '2–5')
        """
        cell = int(self.levels[self.range_level][low])
        node = cell if self.ordered and self.low[cell] == low else self.lowest_cover(low, high)
        if self.high[node] != high:
            node = self.lowest_cover(low, high)
        if self.low[node] == low and self.high[node] == high:
            return self.labels[node]
        if not self.ordered:
            raise BadTaxonomy("a range of unordered values is no node of the tree")
        last = int(self.levels[self.range_level][high - 1])
        if self.low[cell] != low or self.high[last] != high:
            raise BadTaxonomy("a range begins or ends within a node of the level that ranges run between")
        return self._range_texts.between(cell, last)

    def is_range(self, text: str) -> bool:
        """Whether `describe` publishes some range of several nodes as this text."""
        nodes = self._range_texts.nodes(text) if self.ordered else None
        return nodes is not None and nodes[0] < nodes[1]

    def span(self, label: Label) -> tuple[int, int] | None:
        """The leaf ranks low .. high-1 that a published text stands for, `None` if it is none of the tree's.

        >>> Taxonomy.flat(["low", "mid", "high"], ordered=True).span("mid–high")
        (1, 3)
        """
        if label in self._nodes:
            return int(self.low[self._nodes[label]]), int(self.high[self._nodes[label]])
        nodes = self._range_texts.nodes(label) if label is not None and self.ordered else None
        return None if nodes is None else (int(self.low[nodes[0]]), int(self.high[nodes[1]]))

    @cached_property
    def _range_texts(self) -> RangeTexts:
        nodes = np.unique(self.levels[self.range_level])
        return RangeTexts({v: self.labels[v] for v in nodes.tolist()})

    def from_level(self, level: int) -> Taxonomy:
        """The tree above a level: its nodes are the leaves, and every value below is coded as one of them.

        >>> t = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0]).from_level(1)
        >>> t.leaf_labels, t.rank("AIDS"), t.rank("TB")
        (('Viral', 'TB'), 0, 1)
        """
        if not 0 <= level <= self.height:
            raise BadTaxonomy(f"there is no level {level}: the levels are 0 to {self.height}")
        if level == 0 and self.spelling is Spelling.EXACT and not self.aliases:
            return self
        bottom = self._nodes_of(level)
        stays = np.zeros(len(self.labels), dtype=bool)
        above = bottom
        while len(above):
            stays[above] = True
            above = np.unique(self.parent[above])
            above = above[above >= 0]
        number = (np.cumsum(stays) - 1).astype(np.int32)
        parents = self.parent[stays]
        ladder = number[self.levels[level:]][:, self.low[bottom]]
        leaf_of = np.searchsorted(bottom, self.levels[level])
        labels = {self.labels[node] for node in bottom.tolist()}
        return Taxonomy(
            tuple(self.labels[node] for node in np.flatnonzero(stays).tolist()),
            np.where(parents < 0, -1, number[parents]).astype(np.int32),
            ladder,
            self.ordered,
            {label: int(leaf_of[rank]) for label, rank in self.ranks.items() if label not in labels},
            range_level=max(0, self.range_level - level),
            at_most=None if self.at_most is None else max(0, self.at_most - level),
            start=self.start + level,
        )

    def _check_levels(self) -> None:
        levels, leaves = self.levels, self.leaves
        if levels.ndim != 2 or levels.shape[1] != len(leaves):
            raise BadTaxonomy("levels need one row per level and one entry per leaf")
        if not (np.array_equal(levels[0], leaves) and np.all(levels[-1] == ROOT)):
            raise BadTaxonomy("level 0 must be the leaves and the last level the root")
        lower, upper = levels[:-1], levels[1:]
        if not np.all((upper <= lower) & (lower < self.end[upper])):
            raise BadTaxonomy("a level must generalize the level below it")
        for level in range(len(levels)):
            if int(self.leaf_count[self._nodes_of(level)].sum()) != len(leaves):
                raise BadTaxonomy("a level must cover every leaf exactly once")

    def _nodes_of(self, level: int) -> NDArray[np.intp]:
        """The nodes of a level, ascending."""
        return np.flatnonzero(np.bincount(self.levels[level]))

    def __repr__(self) -> str:
        return f"Taxonomy({len(self.leaves)} leaves, {len(self.labels)} nodes, height {self.height})"


@lru_cache(maxsize=16)
def leaves_meaning(tree: Taxonomy, values: tuple[str, ...]) -> NDArray[np.bool_]:
    """Returns which leaves are one of these values, in any spelling that counts as one with it."""
    sought = {meaning_under(value, tree.spelling) for value in values} - {None}
    found = np.array(
        [meaning_under(label, tree.spelling) in sought for label in tree.leaf_labels], dtype=bool
    )
    found.setflags(write=False)
    return found


def _frozen(array: NDArray[np.generic]) -> NDArray[np.generic]:
    array.setflags(write=False)
    return array


# The ceiling of a tree: the coarsest level that may be published, and what lies within it.


def never_above(tree: Taxonomy, level: int | None) -> Taxonomy:
    """Returns the same tree, nothing of which may be published above this level; `None`: up to the root."""
    return tree if level == tree.at_most else replace(tree, at_most=level)


def within_ceiling(tree: Taxonomy) -> NDArray[np.bool_]:
    """Returns for every node whether it may be published: it is at the ceiling, or below a node that is.

    >>> t = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> within_ceiling(never_above(t, 1)).tolist(), within_ceiling(t).all()
    ([False, True, True, True, True], np.True_)
    """
    top = tree.levels[tree.ceiling]
    return np.asarray(top[tree.low] <= np.arange(len(tree.labels)), dtype=np.bool_)


def nodes_above_ceiling(tree: Taxonomy) -> Nodes:
    """Returns the nodes that may not be published, every parent before its children."""
    return np.flatnonzero(~within_ceiling(tree)).astype(np.int32)


# Taxonomy rules, as the policy declares them: they make a taxonomy from the values that occur.

Spec = Mapping[str, object]
"""A taxonomy as a policy writes it: `{prefix: [4, 3, 1]}`."""


class TaxonomyRule(Protocol):
    """How a column's taxonomy comes about; `build` receives the values that occur (`None`: an empty cell)."""

    @property
    def ordered(self) -> bool:
        """Whether the order of the leaves means something."""

    @property
    def spec(self) -> Spec:
        """The rule as a policy writes it."""

    @property
    def digest(self) -> str:
        """A fingerprint of what lies outside the policy (a file), else empty."""

    def build(self, values: Sequence[Label]) -> Taxonomy: ...


class Builder(TaxonomyRule, Protocol):
    """A rule that a policy can name: its key, its shape, and how to read it."""

    key: ClassVar[str]
    schema: ClassVar[Mapping[str, object]]

    @classmethod
    def read(cls, spec: Spec, folder: Path | None) -> Self:
        """From the policy's words; raises `BadPolicy` or `BadTaxonomy`."""
