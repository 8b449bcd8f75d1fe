"""The history of a table: the earlier releases of its people, checked before anything is built on them.

Each check refuses with its reason: rows that are old must be told by a declared column, of batches or of
people, and reproduce what was published of them, to the last count; releases show the same columns, in
whatever order, by the same trees; there is one record per person; no release is missing from the list;
everything was recoded globally (an imprint of anything else cannot be made).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.chains.detail import by_cut
from sfumato.core.chain import Chain, ClassTable, PresentTrees, positions
from sfumato.core.cut import Cut
from sfumato.core.errors import BadData, RefusedByHistory
from sfumato.core.imprint import Imprint, grouped
from sfumato.core.marks import (
    leaf_marks,
    matching,
    numbered_together,
)
from sfumato.core.microdata import Codes, Microdata, Role
from sfumato.core.packing import Packing, sort_and_count
from sfumato.core.person_keys import keys_written_twice
from sfumato.core.promise import Cuts
from sfumato.core.recoding import classes_under
from sfumato.core.same_columns import in_key_order, refuse_other_columns
from sfumato.core.taxonomy import Nodes

NEW_CHAIN = "or start a new chain with the people who were never published"


@dataclass(frozen=True, eq=False)
class History:
    """A table beside the releases of its earlier batches.

    `releases` are the earlier releases on the table's trees, oldest first; `time` says of every distinct row
    which of them it came with (their number, if it is new), `value` numbers its matching value as they do.
    """

    table: Microdata
    releases: tuple[ClassTable, ...]
    time: Codes
    value: Codes
    values: int

    @classmethod
    def of(
        cls, table: Microdata, earlier: Sequence[Imprint], since: str | None, *, person: bool = False
    ) -> History:
        """The history of a table beside these releases; raises where a precondition fails.

        The column `since` says which batch a row came with or, with `person`, who it is about.
        """
        refuse_several_rows(table)
        if since is not None:
            refuse_unnamed(table, since, person=person)
        refuse_gaps(earlier)
        unchanged, names = unchanged_columns(table), [column.name for column in table.keys]
        for i, imprint in enumerate(earlier):
            refuse_other_columns(names, unchanged, imprint, i)
        if earlier and earlier[-1].since != since:
            raise RefusedByHistory(
                "an earlier release was told by another column which rows are new",
                remedy=f"Keep the promise's `since`, {NEW_CHAIN}.",
            )
        refuse_erased(earlier)
        value = matching(table, unchanged)
        numbers, values = numbered_together([value.marks, *(i.values for i in earlier)])
        trees = PresentTrees([column.taxonomy for column in table.keys])
        named = zip(earlier, numbers[1:], strict=True)
        releases = tuple(trees.place(in_key_order(imprint, names), number) for imprint, number in named)
        time = came_with(table, earlier, since, person=person)
        history = cls(table, releases, time, numbers[0][value.ids], values)
        for same_cuts in by_cut(releases):
            history._reproduces(same_cuts)
        return history

    @property
    def new(self) -> int:
        """How many rows are new."""
        return int(self.table.counts[self.time == len(self.releases)].sum())

    def since(self, release: int) -> History:
        """The same from a release on, with whom everybody in it counts as having come."""
        time = np.maximum(self.time - release, 0).astype(np.int32)
        return replace(self, releases=self.releases[release:], time=time)

    def chain_with(self, *releases: ClassTable) -> Chain:
        """The chain of the earlier releases and these."""
        trees = tuple(column.taxonomy for column in self.table.keys)
        return Chain(trees, (*self.releases, *releases), self.values)

    def code_of_value(self, name: str) -> Codes:
        """The leaf rank in a column that is published unchanged, by the number of a matching value."""
        codes = np.zeros(max(1, self.values), np.int32)
        codes[self.value] = self.table.codes(name)
        return codes

    def _reproduces(self, same_cuts: Sequence[int]) -> None:
        """Refuse old rows that, recoded as in these releases, do not give every published group its count."""
        keys, cuts = self.table.keys, self.releases[same_cuts[0]].node_of
        packing = Packing((*(len(c.taxonomy.labels) for c in keys), self.values))
        shown = [cut[self.table.codes(c.name)] for c, cut in zip(keys, cuts, strict=True)]
        packed = packing.pack([*shown, self.value])
        known, _ = sort_and_count(packed.copy())
        group, came = positions(known, packed), np.searchsorted(same_cuts, self.time)
        order = np.argsort(came, kind="stable")
        ends = np.searchsorted(came[order], np.arange(1, len(same_cuts) + 1))
        now, begin = np.zeros(known.shape[1], np.int64), 0
        for i, end in zip(same_cuts, ends.tolist(), strict=True):
            np.add.at(now, group[order[begin:end]], self.table.counts[order[begin:end]])
            begin, release = end, self.releases[i]
            then = positions(known, packing.pack([*release.nodes[release.owner].T, release.values]))
            old = np.zeros(len(now) + 1, np.int64)
            np.add.at(old, then, release.counts)
            if old[-1] or not np.array_equal(now, old[:-1]):
                raise RefusedByHistory(
                    f"the old rows do not reproduce release {i + 1}: it holds {int(old.sum())} rows in"
                    f" {len(then)} groups, the same batches now give {int(now.sum())} rows in"
                    f" {int((now > 0).sum())} groups",
                    remedy="Old records must not change, go, or come back after they were suppressed, and new"
                    f" ones must be told apart by `since`. Restore them, {NEW_CHAIN}.",
                )


def unchanged_columns(table: Microdata) -> list[str]:
    """The names of the columns that are published as they are."""
    return [c.name for c in table.columns if not c.role.is_key and c.role is not Role.IDENTIFIER]


def refuse_several_rows(table: Microdata) -> None:
    """Refuse a table where somebody has several rows."""
    if table.has_person and table.people != table.rows:
        raise BadData(
            f"{table.rows} rows are about {table.people} people; in a chain everybody has one record",
            remedy="Bring each person's rows together in one.",
        )


def refuse_unnamed(table: Microdata, since: str, *, person: bool) -> None:
    """Refuse rows that do not say when they came, or who they are; and people with several rows."""
    codes, labels = table.codes(since), table.column(since).taxonomy.leaf_labels
    unsaid = int(table.counts[np.array([label is None for label in labels], bool)[codes]].sum())
    if unsaid:
        raise BadData(
            f"{unsaid} rows do not say {'who they are about' if person else 'which batch they came with'}",
            where=f"column {since}",
            remedy="Who is old is declared, never guessed: fill the column.",
        )
    rows = np.zeros(len(labels), np.int64)
    np.add.at(rows, codes, table.counts)
    if person and (several := int((rows > 1).sum())):
        raise BadData(
            f"{several} people have several rows; in a chain everybody has one record",
            where=f"column {since}",
            remedy="Bring each person's rows together in one.",
        )
    if person and (again := keys_written_twice(labels)):
        raise BadData(
            f"of the keys of people {again} differ from others in nothing but blanks around them or composed"
            " letters",
            where=f"column {since}",
            remedy="Write each key in one way: the same person would count as several.",
        )


def refuse_erased(earlier: Sequence[Imprint]) -> None:
    """Refuse a history from which somebody was erased: the table lacks people whom releases count."""
    for i, imprint in enumerate(earlier):
        if imprint.erased:
            people = "1 person was" if imprint.erased == 1 else f"{imprint.erased} people were"
            raise RefusedByHistory(
                f"{people} erased from release {i + 1}, and releases that somebody has left are not judged",
                remedy="Start a new chain with the people who were never published.",
            )


def refuse_gaps(earlier: Sequence[Imprint]) -> None:
    """Refuse a history with gaps: a release counts beside every one that it was itself made beside.

    Versions for several recipients are releases like any other.
    """
    known: set[str] = set()
    for i, imprint in enumerate(earlier):
        if lacking := len(set(imprint.after) - known):
            raise RefusedByHistory(
                f"release {i + 1} was made beside {len(imprint.after)} others, and {lacking} of them"
                " are not given",
                remedy="Give every earlier release, to whomever it went, oldest first.",
            )
        known.add(imprint.digest)


def came_with(
    table: Microdata, earlier: Sequence[Imprint], since: str | None, *, person: bool = False
) -> Codes:
    """The release every distinct row came with; nobody is guessed to be old, and nobody has gone."""
    if since is None:
        return np.zeros(table.distinct, np.int32)
    marks = leaf_marks(table.column(since).taxonomy)
    (now, *then), count = numbered_together([marks, *(imprint.batches for imprint in earlier)])
    present = np.zeros(count, dtype=bool)
    present[now] = True
    first = np.full(count, len(earlier), np.int32)
    before: NDArray[np.bool_] | None = None
    for i in reversed(range(len(earlier))):
        if person and (gone := int((~present[then[i]]).sum())):
            raise RefusedByHistory(
                f"{gone} people of release {i + 1} are not in the table any more",
                where=f"column {since}",
                remedy=f"Somebody who was published stays: restore them, {NEW_CHAIN}.",
            )
        here = np.zeros(count, dtype=bool)
        here[then[i]] = True
        if before is not None and np.any(here & present & ~before):
            raise RefusedByHistory(
                f"release {i + 1} holds batches that release {i + 2} lacks: they are no chain",
                remedy="Give the releases of one chain, oldest first.",
            )
        first[here] = i
        before = here
    came: Codes = first[now][table.codes(since)]
    return came


def release_under(history: History, cuts: Cuts) -> ClassTable:
    """The release that the table would be under these cuts, on the same trees and values as the earlier.

    Where nobody is, its cuts are as coarse as can be: what is published tells no more of them.
    """
    table = history.table
    class_of, nodes = classes_under(table, cuts)
    owner, values, counts = grouped(table, class_of, history.value, len(nodes), history.values)
    shown = [_as_shown(cuts[c.name], nodes[:, j]) for j, c in enumerate(table.keys)]
    return ClassTable(tuple(shown), nodes, owner, values, counts)


def _as_shown(cut: Cut, nodes: Codes) -> Nodes:
    """The coarsest cut that has these nodes of a cut."""
    tree = cut.taxonomy
    begins = np.zeros(len(tree.labels) + 1, np.int64)
    begins[np.unique(nodes) + 1] = 1
    before = np.cumsum(begins)
    nobody = before[tree.end] == before[:-1]
    top = np.arange(len(tree.labels), dtype=np.int32)
    while True:
        above = np.where(top > 0, tree.parent[top], 0)
        climbs = nobody[top] & (top > 0) & nobody[above]
        if not climbs.any():
            return top[cut.node_of]
        top = np.where(climbs, above, top).astype(np.int32)
