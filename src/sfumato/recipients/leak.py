"""A leak as it is read: which of its columns are ours, and which node each of its cells stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadData, WrongCall
from sfumato.core.marks import Marks, joined_marks
from sfumato.core.microdata import Codes, Coding, Counts, Microdata, Role
from sfumato.core.progress import Progress, silent
from sfumato.core.reading_tree import UNKNOWN, ReadingTree, folded
from sfumato.core.taxonomy import ROOT, Label, Nodes, Taxonomy
from sfumato.engine.source import Source
from sfumato.tracing.versions import IssuedVersions

LEAST_READABLE = 0.05
"""A column with a name of ours is ours if this share of its cells that say something can be read."""
LEAST_READABLE_RENAMED = 0.9
"""A column with another name is ours if this share can be read by the trees of exactly one column."""

Flags = NDArray[np.bool_]
Trees = Mapping[str, tuple[ReadingTree, ...]]


@dataclass(frozen=True, eq=False)
class Leak:
    """The distinct rows of a leak in the columns that are ours, each with its count.

    `names[j]` is our name of a column and `called[j]` the leak's. `texts[j]` are the texts that occur in it,
    and `codes[j]` says which of them every row has. `unknown` are columns of our names of which next to
    nothing can be read: they are left aside, and their rows are not. `fixed` are columns of which the caller
    said which they are. Where a leak is read otherwise, `places[j]` is the place of column j as it was read
    at first, and `exchanged` are columns taken for unchanged ones: their names at first, and now. `unchanged`
    are columns of the leak that were published unchanged: texts, and that of every row.
    """

    names: tuple[str, ...]
    called: tuple[str, ...]
    texts: tuple[tuple[Label, ...], ...]
    codes: tuple[Codes, ...]
    counts: Counts
    trees: Trees = field(repr=False)
    unknown: tuple[str, ...] = ()
    fixed: frozenset[str] = frozenset()
    places: tuple[int, ...] = ()
    exchanged: tuple[tuple[str, str], ...] = ()
    unchanged: Mapping[str, tuple[tuple[Label, ...], Codes]] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def renamed(self) -> dict[str, str]:
        """Maps our names to those of the leak, where they differ."""
        return {ours: theirs for ours, theirs in zip(self.names, self.called, strict=True) if ours != theirs}

    def read_as(self, names: Mapping[int, str], trees: Trees) -> Leak:
        """Returns the leak with some of its columns, by place, each read as the column of this name.

        Columns that were published unchanged have the places behind the others. Columns with a name that is
        not in `trees` are taken for unchanged ones; where there are none, nothing is known of these.
        """
        called = (*self.names, *self.unchanged)
        columns = [*zip(self.texts, self.codes, strict=True), *self.unchanged.values()]
        places = tuple(j for j, name in names.items() if name in trees)
        taken = {j: name for j, name in names.items() if name not in trees}
        unchanged = {n: held for n, held in self.unchanged.items() if called.index(n) not in names}
        unchanged |= {name: columns[j] for j, name in taken.items()}
        return Leak(
            tuple(names[j] for j in places),
            tuple((*self.called, *self.unchanged)[j] for j in places),
            tuple(columns[j][0] for j in places),
            tuple(columns[j][1] for j in places),
            self.counts,
            trees,
            places=places,
            exchanged=tuple((called[j], name) for j, name in taken.items() if called[j] != name),
            unchanged=unchanged if taken else {},
        )

    def nodes(self, column: int, tree: ReadingTree) -> Nodes:
        """Returns the node of every text of a column; UNKNOWN where the tree has none."""
        key = (column, tree.digest)
        if key not in self._nodes:
            self._nodes[key] = tree.read(self.texts[column])
        return self._nodes[key]

    def joint_marks(self, names: Sequence[str], *, instead: tuple[str, int] | None = None) -> Marks | None:
        """Returns a mark per row for what it shows in unchanged columns together; `None` if one is missing.

        `instead` names one of them, and the place of the column that is taken for it.
        """
        key = (tuple(sorted(names)), instead)
        if key not in self._joint_marks:
            held = dict(self.unchanged)
            if instead is not None:
                held[instead[0]] = self.texts[instead[1]], self.codes[instead[1]]
            there = bool(names) and all(name in held for name in names)
            columns = [held[name] for name in key[0]] if there else []
            self._joint_marks[key] = joined_marks(columns, len(self.counts)) if there else None
        return self._joint_marks[key]

    @cached_property
    def _joint_marks(self) -> dict[tuple[tuple[str, ...], tuple[str, int] | None], Marks | None]:
        """The marks that have been worked out."""
        return {}

    def different(self, rows: NDArray[np.bool_]) -> int:
        """Counts the rows, of those that are flagged, that differ in the columns that were read."""
        if not self.unchanged:
            return int(rows.sum())
        return len(np.unique(np.stack(self.codes, axis=1)[rows], axis=0))

    @cached_property
    def _nodes(self) -> dict[tuple[int, str], Nodes]:
        """The nodes that have been read, by column and tree."""
        return {}

    @cached_property
    def readable(self) -> tuple[NDArray[np.bool_], ...]:
        """Per column: which of its texts some tree can read."""
        return tuple(
            np.any([self.nodes(j, tree) != UNKNOWN for tree in self.trees[name]], axis=0)
            for j, name in enumerate(self.names)
        )

    @cached_property
    def legible(self) -> NDArray[np.bool_]:
        """The rows whose cells can all be read."""
        legible = np.ones(len(self.counts), dtype=bool)
        for readable, codes in zip(self.readable, self.codes, strict=True):
            legible &= readable[codes]
        return legible

    def unreadable_texts(self) -> dict[str, tuple[str, ...]]:
        """Returns the texts that cannot be read, by column: cell values, for whoever asked to see them."""
        return {
            name: tuple(str(text) for text, can in zip(texts, readable.tolist(), strict=True) if not can)
            for name, texts, readable in zip(self.names, self.texts, self.readable, strict=True)
            if not readable.all()
        }


def read_leak(
    source: Source,
    issued: IssuedVersions,
    *,
    columns: Mapping[str, str] | None = None,
    unchanged: Iterable[str] = (),
    progress: Progress = silent,
) -> Leak:
    """Returns a leak, its cells read by the trees of the issued versions.

    A column is recognized by its name, whatever the case; one with another name by its cells, if they fit
    exactly one column of ours that is otherwise missing. `columns` maps names of the leak to ours, where that
    is known. `unchanged` names columns that are not recoded: those that the leak has by these names are read.
    """
    trees = issued.columns
    kept = [name for name in dict.fromkeys(unchanged) if name in source.columns]
    ours = _by_name(source.columns, trees, columns or {})
    taken = set(ours.values())
    spare = [name for name in source.columns if name not in taken and name not in kept]
    table = _count(source, [*ours.values(), *kept], progress)
    unknown = tuple(
        name
        for name, theirs in ours.items()
        if theirs not in (columns or {})
        and not _familiar(table, theirs, trees[name])
        and any(issued.known_nodes(tree)[ROOT + 1 :].any() for tree in trees[name])
    )
    spare += [ours.pop(name) for name in unknown]
    lost = [name for name in trees if name not in ours]
    if lost and spare:
        ours |= _by_content(source, spare, {name: trees[name] for name in lost}, issued, progress)
    if not ours:
        raise BadData(
            "the leak has no column that can be read as one of ours",
            where=", ".join(unknown),
            remedy="Say which column is which, as columns={theirs: ours}; or it is not ours.",
        )
    names = tuple(name for name in trees if name in ours)
    called = tuple(ours[name] for name in names)
    if {*called, *kept} != {column.name for column in table.columns}:
        table = _count(source, [*called, *kept], progress)
    fixed = frozenset((columns or {}).values())
    texts = tuple(table.column(theirs).taxonomy.leaf_labels for theirs in called)
    codes = tuple(table.codes(theirs) for theirs in called)
    held = {name: (table.column(name).taxonomy.leaf_labels, table.codes(name)) for name in kept}
    ours_trees = {name: trees[name] for name in names}
    return Leak(names, called, texts, codes, table.counts, ours_trees, unknown, fixed, unchanged=held)


def _by_name(theirs: Sequence[str], trees: Trees, given: Mapping[str, str]) -> dict[str, str]:
    """Maps our names to theirs: those that are `given`, and those that are equal."""
    if wrong := [name for name in (*given, *given.values()) if name not in {*theirs, *trees}]:
        raise WrongCall(f"there is no column {wrong[0]!r}", remedy="Say --column THEIRS=OURS.")
    matched = {ours: name for name, ours in given.items()}
    free = [name for name in theirs if name not in given]
    for same in (str, folded):
        for ours in trees:
            fitting = [name for name in free if same(name) == same(ours)]
            if ours not in matched and len(fitting) == 1:
                matched[ours] = fitting[0]
                free.remove(fitting[0])
    return matched


def _by_content(
    source: Source, spare: Sequence[str], trees: Trees, issued: IssuedVersions, progress: Progress
) -> dict[str, str]:
    """Maps our names to spare columns whose cells fit the trees of that column and of no other.

    Only cells count that some issued version shows.
    """
    seen = source.survey(spare, progress=progress).columns
    fits: dict[str, list[str]] = {name: [] for name in trees}
    for theirs, held in seen.items():
        if held.complete:
            fitting = [
                name
                for name, ours in trees.items()
                if _readable_share(held.values, held.counts, ours, issued.known_nodes)
                >= LEAST_READABLE_RENAMED
            ]
            for name in fitting:
                fits[name].append(theirs if len(fitting) == 1 else "")
    return {name: theirs[0] for name, theirs in fits.items() if len(theirs) == 1 and theirs[0]}


def _familiar(table: Microdata, theirs: str, trees: Sequence[ReadingTree]) -> bool:
    """Whether enough of a column with a name of ours can be read, or most of it says nothing."""
    column = table.column(theirs)
    counts = np.bincount(table.codes(theirs), weights=table.counts, minlength=len(column.taxonomy.leaves))
    labels = column.taxonomy.leaf_labels
    silent = np.all([tree.read(labels) == ROOT for tree in trees], axis=0)
    if counts[silent].sum() * 2 >= counts.sum():
        return True
    return _readable_share(labels, counts, trees) >= LEAST_READABLE


def _readable_share(
    texts: Sequence[Label],
    counts: NDArray[np.generic],
    trees: Sequence[ReadingTree],
    known_nodes: Callable[[ReadingTree], NDArray[np.bool_]] | None = None,
) -> float:
    """Returns the share of cells that can be read as `known_nodes`; cells that say nothing do not count."""
    read = [tree.read(texts) for tree in trees]
    readable = [nodes != UNKNOWN for nodes in read]
    if known_nodes is not None:
        readable = [
            can & known_nodes(tree)[nodes] for can, tree, nodes in zip(readable, trees, read, strict=True)
        ]
    by_any = np.any(readable, axis=0)
    says_nothing = np.all([nodes == ROOT for nodes in read], axis=0)
    weight = np.where(says_nothing, 0, counts.astype(np.float64))
    total = float(weight.sum())
    return float(weight[by_any].sum()) / total if total else 0.0


def _count(source: Source, names: Sequence[str], progress: Progress) -> Microdata:
    """Returns the distinct rows of these columns; every text is a value of its own."""
    codings = [Coding(name, Role.QUASI, Taxonomy.flat) for name in dict.fromkeys(names)]
    table = source.count(codings, progress=progress)
    if names and not table.rows:
        raise BadData("the leak has no rows", remedy="There is nothing to trace in it.")
    return table
