"""Rows of people over time: which earlier releases each row was in, and which rows are about one person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.history import NEW_CHAIN
from sfumato.core.errors import BadData, RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.core.marks import Marks, label_marks, leaf_marks, numbered_together
from sfumato.core.microdata import Codes, Microdata
from sfumato.core.taxonomy import Label

Truths = NDArray[np.bool_]

CAME, LEFT, WAITS = "", "left", "waits"
"""As what an imprint knows a batch: rows of it were published, somebody left with it, or it is held back."""
PUBLISHED, SEEN = (CAME,), (CAME, LEFT, WAITS)


def batch_marks(labels: Sequence[Label], word: str) -> Marks:
    """A mark per batch, as what it is known. One that is held back, and left with, was not published."""
    said = f"\0{word}\0" if word else ""
    return label_marks([label if label is None else said + label for label in labels])


@dataclass(frozen=True, eq=False)
class RowPresence:
    """The rows of a table, and of people who left it, with the releases that each was in.

    `parts` are the table and, where there are any, the departed rows; `there[p][i]` says which rows of a part
    were in release i. `owners[p]` is the row of the table that is about the same person (-1: nobody in it).
    `present[i]` and `kept[i]` say of the rows of the table whether their person was in release i, and whether
    with the same value.
    """

    table: Microdata
    parts: tuple[Microdata, ...]
    there: tuple[tuple[Truths, ...], ...]
    owners: tuple[Codes, ...]
    present: tuple[Truths, ...]
    kept: tuple[Truths, ...]
    person: str | None

    @classmethod
    def of(
        cls,
        table: Microdata,
        earlier: Sequence[Imprint],
        since: str | None,
        until: str | None,
        person: str | None,
    ) -> RowPresence:
        """The presence of every row, by the batches it came and left with, or by the mark of its person."""
        parts = (table, *([table.departed] if table.departed is not None else []))
        owners = [np.arange(table.distinct, dtype=np.int32)]
        owners += [np.full(part.distinct, -1, np.int32) for part in parts[1:]]
        if since is None:
            there = [_with_marks(part, earlier, person) for part in parts]
        else:
            there = [_between(part, earlier, since, until) for part in parts]
        return cls(table, parts, tuple(there), tuple(owners), there[0], there[0], person)

    def in_release(self, i: int) -> list[Truths]:
        """Part by part, which rows were in release i."""
        return [part[i] for part in self.there]


def _with_marks(table: Microdata, earlier: Sequence[Imprint], person: str | None) -> tuple[Truths, ...]:
    """Which rows are about people whose marks a release holds; all of them, where people are not told."""
    if person is None:
        return tuple(np.ones(table.distinct, dtype=bool) for _ in earlier)
    marks = leaf_marks(table.column(person).taxonomy)
    (now, *then), count = numbered_together([marks, *(imprint.batches for imprint in earlier)])
    found = []
    for some in then:
        held = np.zeros(count, dtype=bool)
        held[some] = True
        found.append(held[now][table.codes(person)])
    return tuple(found)


def _between(
    table: Microdata, earlier: Sequence[Imprint], since: str, until: str | None
) -> tuple[Truths, ...]:
    """Which rows had come and not yet left when a release was made."""
    came, seen = _first_with(table, earlier, since, *PUBLISHED), _first_with(table, earlier, since, *SEEN)
    left = np.full(table.distinct, len(earlier) + 1, np.int64)
    if until is not None:
        gone = np.array([label is not None for label in table.column(until).taxonomy.leaf_labels], bool)
        left = np.where(gone[table.codes(until)], _first_with(table, earlier, until, *SEEN), left)
        same = _same_label(table, since, until)
        if wrong := int(table.counts[(left < seen) | same].sum()):
            raise BadData(
                f"{wrong} rows have left before they came, or with the batch that they came with",
                where=f"column {until}",
                remedy="Write the first batch that somebody is no longer part of, or leave the cell empty.",
            )
    return tuple((came <= i) & (i < left) for i in range(len(earlier)))


def _same_label(table: Microdata, since: str, until: str) -> Truths:
    """Which rows have the same batch in both columns."""
    ours = table.column(until).taxonomy.leaf_labels
    place = {label: n for n, label in enumerate(table.column(since).taxonomy.leaf_labels)}
    same = np.array([-1 if label is None else place.get(label, -1) for label in ours], np.int64)
    found: Truths = same[table.codes(until)] == table.codes(since)
    return found


def _first_with(table: Microdata, earlier: Sequence[Imprint], name: str, *words: str) -> NDArray[np.int64]:
    """The first release that knows the batch of every row in this column; their number, where none does.

    `words` say as what it knows the batch: any of them counts.
    """
    labels = table.column(name).taxonomy.leaf_labels
    each = [batch_marks(labels, word) for word in words]
    numbers, count = numbered_together([*each, *(imprint.batches for imprint in earlier)])
    now, then = numbers[: len(each)], numbers[len(each) :]
    first = np.full(count, len(earlier), np.int64)
    for i in reversed(range(len(earlier))):
        first[then[i]] = i
    found: NDArray[np.int64] = np.min([first[some] for some in now], axis=0)[table.codes(name)]
    return found


def link_versions(
    rows: RowPresence,
    value: tuple[Codes, ...],
    moves: Sequence[str],
    corrected: bool,
    *,
    returns: bool,
) -> RowPresence:
    """The same rows, with departed ones counted for whoever in the table they are about.

    Raises where somebody has changed or come back and nothing allows it, or was in a release twice.
    """
    linked = _linked(rows, value, moves, corrected=corrected)
    if not returns and linked.present:
        there = np.stack([*linked.present, np.ones(linked.table.distinct, dtype=bool)])
        back = np.any(there[:-1] & ~np.logical_and.accumulate(there[::-1])[::-1][:-1], axis=0)
        if some := int(linked.table.counts[back].sum()):
            raise RefusedByHistory(
                f"{some} people have left and come back",
                remedy="If they were withheld as companions, keep `companions` in the policy: they stay out."
                f" Else say `returns: true` with `leavers: unknown` from the first release on, {NEW_CHAIN}.",
            )
    return linked


def _linked(
    rows: RowPresence, value: tuple[Codes, ...], moves: Sequence[str], *, corrected: bool
) -> RowPresence:
    if rows.person is None or len(rows.parts) < 2:
        return rows
    table, gone = rows.parts
    owner = _row_of_person(table, gone, rows.person)
    there = np.flatnonzero(owner >= 0)
    mine = owner[there]
    moved = np.zeros(len(there), dtype=bool)
    for column in table.keys:
        differs = table.codes(column.name)[mine] != gone.codes(column.name)[there]
        if column.name not in moves and (some := int(differs.sum())):
            raise _undeclared(some, column.name, "moves")
        moved |= differs
    changed = value[0][mine] != value[1][there]
    if changed.any() and not corrected:
        raise _undeclared(int(changed.sum()), "a column that is published unchanged", "corrected")
    if both := int((changed & moved).sum()):
        raise RefusedByHistory(
            f"{both} people have moved and have another value at the same time",
            remedy="Publish one change first, and the other with a later release.",
        )
    present, kept = [], []
    for now, then in zip(rows.there[0], rows.there[1], strict=True):
        here = then[there]
        times = np.bincount(mine[here], minlength=table.distinct)
        if np.any(times + now > 1):
            raise BadData(
                f"{int((times + now > 1).sum())} people have two rows in one release",
                where=f"column {rows.person}",
                remedy="Each row must have left before the next one about the same person came.",
            )
        same = np.bincount(mine[here & ~changed], minlength=table.distinct)
        present.append(now | (times > 0))
        kept.append(now | (same > 0))
    return replace(rows, owners=(rows.owners[0], owner), present=tuple(present), kept=tuple(kept))


def _row_of_person(table: Microdata, gone: Microdata, person: str) -> Codes:
    """The row of the table that is about the same person as each departed row; -1 where there is none."""
    row = np.full(len(table.column(person).taxonomy.leaves), -1, np.int32)
    row[table.codes(person)] = np.arange(table.distinct, dtype=np.int32)
    found: Codes = row[gone.codes(person)]
    return found


def _undeclared(count: int, where: str, key: str) -> RefusedByHistory:
    return RefusedByHistory(
        f"{count} people have changed since an earlier release, and `{key}` does not allow it",
        where=where,
        remedy=f"Restore them, say so under `{key}` from the first release on, {NEW_CHAIN}.",
    )
