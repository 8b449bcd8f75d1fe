"""A leak, read: which of its columns are ours, and which node each of its cells stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadData, WrongCall
from sfumato.core.microdata import Codes, Coding, Counts, Microdata, Role
from sfumato.core.progress import Progress, silent
from sfumato.core.reading_tree import UNKNOWN, ReadingTree, folded
from sfumato.core.taxonomy import ROOT, Label, Nodes, Taxonomy
from sfumato.engine.source import Source
from sfumato.tracing.versions import Handed

FAMILIAR = 0.05
"""A column of our name counts as ours if at least so many of its cells that say something can be read."""
ALIKE = 0.9
"""A column of another name counts as ours if at least so many can be read, and by no other column."""

Trees = Mapping[str, tuple[ReadingTree, ...]]


@dataclass(frozen=True, eq=False)
class Leak:
    """The distinct rows of a leak in the columns that are ours, each with its count.

    `names[j]` is our name of a column and `called[j]` the leak's. `texts[j]` are the texts that occur in it,
    and `codes[j]` says which of them every row has. `unknown` are columns of our names of which next to
    nothing can be read: they are left aside, and their rows are not.
    """

    names: tuple[str, ...]
    called: tuple[str, ...]
    texts: tuple[tuple[Label, ...], ...]
    codes: tuple[Codes, ...]
    counts: Counts
    trees: Trees = field(repr=False)
    unknown: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def renamed(self) -> dict[str, str]:
        """Our names of the columns that the leak calls otherwise."""
        return {ours: theirs for ours, theirs in zip(self.names, self.called, strict=True) if ours != theirs}

    def nodes(self, column: int, tree: ReadingTree) -> Nodes:
        """The node of every text of a column; UNKNOWN where the tree has none."""
        place = (column, tree.digest)
        if place not in self._read:
            self._read[place] = tree.read(self.texts[column])
        return self._read[place]

    @cached_property
    def _read(self) -> dict[tuple[int, str], Nodes]:
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
        found = np.ones(len(self.counts), dtype=bool)
        for can, codes in zip(self.readable, self.codes, strict=True):
            found &= can[codes]
        return found

    def strange(self) -> dict[str, tuple[str, ...]]:
        """The texts that cannot be read, by column: cell values, for whoever asked to see them."""
        return {
            name: tuple(str(text) for text, can in zip(texts, known.tolist(), strict=True) if not can)
            for name, texts, known in zip(self.names, self.texts, self.readable, strict=True)
            if not known.all()
        }


def read_leak(
    source: Source, handed: Handed, *, columns: Mapping[str, str] | None = None, progress: Progress = silent
) -> Leak:
    """Read a leak by the trees of what was handed out.

    Columns are known again by their names, whatever their case; one with another name by its cells, if they
    fit exactly one column of ours that is otherwise missing. `columns` says it instead: the leak's names, and
    what we call them.
    """
    trees = handed.columns
    ours = _by_name(source.columns, trees, columns or {})
    taken = set(ours.values())
    spare = [name for name in source.columns if name not in taken]
    table = _count(source, list(ours.values()), progress)
    unknown = tuple(
        name
        for name, theirs in ours.items()
        if theirs not in (columns or {}) and not _familiar(table, theirs, trees[name])
    )
    spare += [ours.pop(name) for name in unknown]
    lost = [name for name in trees if name not in ours]
    if lost and spare:
        ours |= _by_content(source, spare, {name: trees[name] for name in lost}, handed, progress)
    if not ours:
        raise BadData(
            "the leak has no column that can be read as one of ours",
            where=", ".join(unknown),
            remedy="Say which column is which, as columns={theirs: ours}; or it is not ours.",
        )
    names = tuple(name for name in trees if name in ours)
    called = tuple(ours[name] for name in names)
    if {*called} != {column.name for column in table.columns}:
        table = _count(source, called, progress)
    texts = tuple(table.column(theirs).taxonomy.leaf_labels for theirs in called)
    codes = tuple(table.codes(theirs) for theirs in called)
    return Leak(names, called, texts, codes, table.counts, {n: trees[n] for n in names}, unknown)


def _by_name(theirs: Sequence[str], trees: Trees, told: Mapping[str, str]) -> dict[str, str]:
    """Our names to theirs, as far as names tell."""
    if wrong := [name for name in (*told, *told.values()) if name not in {*theirs, *trees}]:
        raise WrongCall(f"there is no column {wrong[0]!r}", remedy="Say --column THEIRS=OURS.")
    found = {ours: name for name, ours in told.items()}
    free = [name for name in theirs if name not in told]
    for same in (str, folded):
        for ours in trees:
            fitting = [name for name in free if same(name) == same(ours)]
            if ours not in found and len(fitting) == 1:
                found[ours] = fitting[0]
                free.remove(fitting[0])
    return found


def _by_content(
    source: Source, spare: Sequence[str], trees: Trees, handed: Handed, progress: Progress
) -> dict[str, str]:
    """Columns that fit one of these trees each, and no second one; somebody must have known what they say."""
    seen = source.survey(spare, progress=progress).columns
    fits: dict[str, list[str]] = {name: [] for name in trees}
    for theirs, held in seen.items():
        if held.complete:
            fitting = [n for n in trees if _share(held.values, held.counts, trees[n], handed.told) >= ALIKE]
            for name in fitting:
                fits[name].append(theirs if len(fitting) == 1 else "")
    return {name: theirs[0] for name, theirs in fits.items() if len(theirs) == 1 and theirs[0]}


def _familiar(table: Microdata, theirs: str, trees: Sequence[ReadingTree]) -> bool:
    """Whether a column of our name holds enough that is ours; one that says nothing at all may stay."""
    column = table.column(theirs)
    counts = np.bincount(table.codes(theirs), weights=table.counts, minlength=len(column.taxonomy.leaves))
    labels = column.taxonomy.leaf_labels
    return _share(labels, counts, trees, silent_share=1.0) >= FAMILIAR


def _share(
    texts: Sequence[Label],
    counts: NDArray[np.generic],
    trees: Sequence[ReadingTree],
    told: Callable[[ReadingTree], NDArray[np.bool_]] | None = None,
    *,
    silent_share: float = 0.0,
) -> float:
    """How much of what cells say can be read, and was told to somebody; what says nothing is left out."""
    read = [tree.read(texts) for tree in trees]
    can = [nodes != UNKNOWN for nodes in read]
    if told is not None:
        can = [c & told(tree)[nodes] for c, tree, nodes in zip(can, trees, read, strict=True)]
    known = np.any(can, axis=0)
    mute = np.all([nodes == ROOT for nodes in read], axis=0)
    weight = np.where(mute, 0, counts.astype(np.float64))
    total = float(weight.sum())
    return float(weight[known].sum()) / total if total else silent_share


def _count(source: Source, names: Sequence[str], progress: Progress) -> Microdata:
    """The rows in these columns; every text is a value of its own."""
    codings = [Coding(name, Role.QUASI, Taxonomy.flat) for name in names]
    table = source.count(codings, progress=progress)
    if names and not table.rows:
        raise BadData("the leak has no rows", remedy="There is nothing to trace in it.")
    return table
