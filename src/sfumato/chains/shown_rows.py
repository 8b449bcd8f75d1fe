"""Rows recoded as in earlier releases: do they give what was published, and which class was everybody in?

Releases with the same cut show the same of every row: rows are recoded and numbered once per cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.detail import by_cut
from sfumato.chains.history import NEW_CHAIN
from sfumato.chains.person_versions import RowPresence
from sfumato.core.chain import ClassTable, positions
from sfumato.core.errors import RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.core.microdata import Codes
from sfumato.core.packing import Packing, sort_and_count


@dataclass(frozen=True, eq=False)
class _ShownRows:
    """The rows of all parts, recoded as in releases with one cut: what they show there, numbered.

    `group[p]` is the number of every row of a part among the `known` keys, which `packing` makes of what
    `columns` show and, where it counts, of the matching value.
    """

    columns: list[int]
    packing: Packing
    known: NDArray[np.int64]
    group: tuple[Codes, ...]

    @classmethod
    def of(
        cls,
        rows: RowPresence,
        release: ClassTable,
        fixed: list[int] | None = None,
        value: tuple[Codes, ...] | None = None,
    ) -> _ShownRows:
        """The rows as releases with the cut of this one show them in the columns `fixed`, or in all."""
        keys = rows.table.keys
        columns = list(range(len(keys))) if fixed is None else fixed
        widths = [len(keys[j].taxonomy.labels) for j in columns]
        widths += [] if value is None else [1 + max(int(some.max(initial=0)) for some in value)]
        packing, packed = Packing(tuple(widths)), []
        for p, part in enumerate(rows.parts):
            said = [release.node_of[j][part.codes(keys[j].name)] for j in columns]
            said += [] if value is None else [value[p]]
            packed.append(packing.pack(said) if said else np.zeros((1, part.distinct), np.int64))
        known, _ = sort_and_count(np.concatenate(packed, axis=1))
        return cls(columns, packing, known, tuple(positions(known, some) for some in packed))

    def groups_of(self, nodes: Codes, values: Codes | None = None) -> Codes:
        """The groups of what a release shows; -1 where no row shows it."""
        said = [nodes[:, j] for j in self.columns]
        if values is None:
            packed = self.packing.pack(said) if said else np.zeros((1, len(nodes)), np.int64)
            return positions(self.known, packed)
        beyond = values >= self.packing.sizes[-1]
        found = positions(self.known, self.packing.pack([*said, np.where(beyond, 0, values)]))
        return np.where(beyond, np.int32(-1), found)


def refuse_lost_rows(
    rows: RowPresence,
    earlier: Sequence[Imprint],
    releases: Sequence[ClassTable],
    value: tuple[Codes, ...],
    fixed: list[int] | None,
) -> None:
    """Refuse rows of a release that are missing, or that give a group more than was published of it.

    `releases` are the `earlier` ones on the trees of the table, `value` numbers the matching values of its
    parts. `fixed` is set where people are told by their key, to the columns that cannot change: then rows may
    be missing, and may have moved. Otherwise exactly as many are missing as were erased. Where several
    releases have such rows, the oldest is named.
    """
    wrong: dict[int, RefusedByHistory] = {}
    if fixed is not None and rows.person is not None:
        wrong |= {i: lost for i, imprint in enumerate(earlier) if (lost := _lost_marks(imprint, i))}
    for same_cuts in by_cut(releases):
        shown = _ShownRows.of(rows, releases[same_cuts[0]], fixed, value)
        for i in same_cuts:
            told = None if fixed is not None else earlier[i].erased
            if i not in wrong and (lost := _lost_rows(rows, i, shown, releases[i], told)):
                wrong[i] = lost
    if wrong:
        raise wrong[min(wrong)]


def _lost_marks(imprint: Imprint, i: int) -> RefusedByHistory | None:
    """The refusal of a release that knows fewer people than it holds, beyond those who were erased."""
    if len(imprint.batches) + imprint.erased == imprint.rows:
        return None
    return RefusedByHistory(
        f"release {i + 1} holds {imprint.rows} rows, and is known to be about"
        f" {len(imprint.batches)} people and {imprint.erased} who were erased",
        remedy=f"Restore the ledger from a backup, {NEW_CHAIN}.",
    )


def _lost_rows(
    rows: RowPresence, i: int, shown: _ShownRows, release: ClassTable, erased: int | None
) -> RefusedByHistory | None:
    """The refusal of rows that do not give a release; where `erased` is set, so many have to be missing."""
    left = np.zeros(shown.known.shape[1] + 1, np.int64)  # at its end what no row shows any more
    np.add.at(left, shown.groups_of(release.nodes[release.owner], release.values), release.counts)
    for part, group, there in zip(rows.parts, shown.group, rows.in_release(i), strict=True):
        np.subtract.at(left, group[there], part.counts[there])
    if np.any(left < 0):
        return RefusedByHistory(
            f"{int(-left[left < 0].sum())} rows of release {i + 1} do not give what was published of them",
            remedy=f"Rows must not change unless `moves` or `corrected` allow it: restore them, {NEW_CHAIN}.",
        )
    lost = 0 if erased is None else int(left.sum()) - erased
    if lost > 0:
        beyond = f", beyond {erased} that were erased" if erased else ""
        return RefusedByHistory(
            f"{lost} rows of release {i + 1} are missing{beyond}",
            remedy="Keep rows of people who left, with the batch they left with in `until`, or tell people by"
            " `person`; `sfumato erase` deletes people who ask for it. Restore the others,"
            f" {NEW_CHAIN}.",
        )
    if lost < 0:
        return RefusedByHistory(
            f"{-lost} rows of release {i + 1} are in the table again, and were erased",
            remedy="Delete the rows of whoever was erased: `sfumato erase` named them.",
        )
    return None


def classes_in(linked: RowPresence, releases: Sequence[ClassTable]) -> tuple[Codes, ...]:
    """The class in each release of everybody in the table; -1 where they were not in it."""
    found = tuple(np.full(linked.table.distinct, -1, np.int32) for _ in releases)
    for same_cuts in by_cut(releases):
        shown = _ShownRows.of(linked, releases[same_cuts[0]])
        for i in same_cuts:
            class_of = np.full(shown.known.shape[1] + 1, -1, np.int32)
            class_of[shown.groups_of(releases[i].nodes)] = np.arange(len(releases[i]), dtype=np.int32)
            class_of[-1] = -1
            for group, owner, there in zip(shown.group, linked.owners, linked.in_release(i), strict=True):
                rows = np.flatnonzero(there & (owner >= 0))
                found[i][owner[rows]] = class_of[group[rows]]
    return found
