"""The groups that a top-down search judges: classes or, where people have several rows, their positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.microdata import Counts
from sfumato.core.positions import multisets
from sfumato.core.recoding import Recoding
from sfumato.protection.searches.group_counts import GroupCounter
from sfumato.protection.searches.refinement import GroupSplit, Refinement, Split


class JudgedGroups(Protocol):
    """Groups under cuts that get finer: what a step does to them, and what they hold."""

    count: int

    def split(self, step: Split) -> GroupSplit:
        """Returns what a step would do to the groups; the last one asked about is proposed."""
        ...

    def parts(self, sensitive: Sequence[str], overall: dict[str, Counts]) -> Classes:
        """Returns the parts of the proposed split, to be judged."""
        ...

    def everything(self, sensitive: Sequence[str]) -> Classes:
        """Returns the groups with every key column at its root."""
        ...

    def marked_parts(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns which parts of the proposed split go with one of the marked distinct rows."""
        ...

    def marked_groups(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns the same of the groups with every key column at its root."""
        ...

    def accept(self) -> None:
        """Makes the proposed split; the classes are split by the search."""
        ...

    def recoding(self, kept: NDArray[np.bool_]) -> Recoding:
        """Returns the classes as a recoding; the rows of groups that are not kept are suppressed."""
        ...


def groups_of(classes: Refinement) -> JudgedGroups:
    """Returns the groups that promises are judged on while these classes are refined."""
    return PositionGroups(classes) if classes.table.profiles else ClassGroups(classes)


class ClassGroups:
    """The classes themselves."""

    def __init__(self, classes: Refinement) -> None:
        self._classes = classes
        self.count = classes.count

    def split(self, step: Split) -> GroupSplit:
        self._proposed = step
        return step

    def parts(self, sensitive: Sequence[str], overall: dict[str, Counts]) -> Classes:
        return self._classes.parts(self._proposed, sensitive, overall)

    def everything(self, sensitive: Sequence[str]) -> Classes:
        return self._classes.everything(sensitive)

    def marked_parts(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        parts = np.zeros(len(self._proposed.parent), dtype=bool)
        if self._proposed.row_parts is not None:
            parts[self._proposed.row_parts.part[marked[self._classes.rows_below_step(self._proposed)]]] = True
        return parts

    def marked_groups(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.full(self.count, marked.any())

    def accept(self) -> None:
        self.count = int(self._proposed.ids.max(initial=self.count - 1)) + 1

    def recoding(self, kept: NDArray[np.bool_]) -> Recoding:
        return self._classes.recoding(kept)


class PositionGroups:
    """The positions of people (`core.positions`).

    A step replaces classes as a whole, so what it does to a person depends on the position and on the parts
    that the person's rows below the node fall into. Only people with such a row are looked at.
    """

    def __init__(self, classes: Refinement) -> None:
        table, person = classes.table, classes.table.person
        assert person is not None  # noqa: S101  # only tables with people have profiles
        self._classes, self._person, self._counter = classes, person, GroupCounter(table)
        people = int(person.max(initial=-1)) + 1
        self._rows_of = np.zeros(people, np.int64)
        np.add.at(self._rows_of, person, table.counts)
        self._by_person = np.argsort(person, kind="stable").astype(np.int32)
        self._first = np.searchsorted(person[self._by_person], np.arange(people + 1)).astype(np.int64)
        self._position = np.full(people, -1, np.int32)
        who, self._part = multisets(person, np.zeros(len(person), np.int32), table.counts)
        self._position[who] = self._part
        self.count = int(self._part.max(initial=-1)) + 1
        self._who, self._proposed = who, GroupSplit(np.zeros(0, np.int32), np.zeros(0, np.int64), self.count)

    def split(self, step: Split) -> GroupSplit:
        rows = self._classes.rows_below_step(step)
        part = np.zeros(0, np.int32) if step.row_parts is None else step.row_parts.part
        self._who, pattern = multisets(self._person[rows], part, self._classes.table.counts[rows])
        pairs = self._position[self._who].astype(np.int64) * (int(pattern.max(initial=0)) + 1) + pattern
        _, example, part_of = np.unique(pairs, return_index=True, return_inverse=True)
        self._part = part_of.ravel()
        parent = self._position[self._who[example]]
        self._proposed = GroupSplit(parent, self._rows_in(len(parent)), self.count)
        return self._proposed

    def parts(self, sensitive: Sequence[str], overall: dict[str, Counts]) -> Classes:
        return self._counted(len(self._proposed.parent), self._proposed.rows, sensitive, overall)

    def everything(self, sensitive: Sequence[str]) -> Classes:
        return self._counted(self.count, self._rows_in(self.count), sensitive, {})

    def marked_parts(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return self._marked(marked, len(self._proposed.parent))

    def marked_groups(self, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return self._marked(marked, self.count)

    def _marked(self, marked: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
        """Flags the parts in which somebody has a marked row."""
        people = np.zeros(len(self._rows_of), dtype=bool)
        people[self._person[marked]] = True
        parts = np.zeros(count, dtype=bool)
        parts[self._part[people[self._who]]] = True
        return parts

    def accept(self) -> None:
        self._position[self._who] = self._proposed.ids[self._part]
        self.count = int(self._proposed.ids.max(initial=self.count - 1)) + 1

    def recoding(self, kept: NDArray[np.bool_]) -> Recoding:
        whole = self._classes.recoding(np.ones(self._classes.count, bool))
        return whole.keeping(kept[self._position[self._person]])

    def _rows_in(self, parts: int) -> Counts:
        """Counts the rows of the people of every part."""
        rows = np.zeros(parts, np.int64)
        np.add.at(rows, self._part, self._rows_of[self._who])
        return rows

    def _counted(
        self, parts: int, rows: Counts, sensitive: Sequence[str], overall: dict[str, Counts]
    ) -> Classes:
        """Counts people, and what all their rows hold, part by part."""
        if not sensitive:
            return Classes(np.bincount(self._part, minlength=parts).astype(np.int64), rows)
        who = self._who[np.argsort(self._part, kind="stable")]
        length = self._first[who + 1] - self._first[who]
        end = np.cumsum(length)
        place = np.arange(int(length.sum())) + np.repeat(self._first[who] - (end - length), length)
        per_part = np.zeros(parts, np.int64)
        np.add.at(per_part, self._part, self._first[self._who + 1] - self._first[self._who])
        start = np.concatenate(([0], np.cumsum(per_part))).astype(np.int64)
        return self._counter.classes(self._by_person[place], start, rows, sensitive, overall)
