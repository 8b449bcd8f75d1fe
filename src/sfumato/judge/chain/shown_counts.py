"""Does a table show the counts that a release is remembered by? Read again, from its bytes or its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadData
from sfumato.judge.chain.marks import child_marks, text_marks, tuple_marks
from sfumato.judge.chain.remembered_release import MarkedTree, Numbers, RememberedRelease
from sfumato.judge.tables.database import NO_LIMIT, strictly
from sfumato.judge.tables.file_form import FileForm
from sfumato.judge.tables.handed_rows import HandedRows
from sfumato.judge.tables.relation import Relation, header
from sfumato.judge.tables.text_table import TextTable
from sfumato.judge.taxonomies.value_tree import Text
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

AT_ONCE = 1_000_000
"""So many labels times nodes are looked at together."""


def file_shows(
    path: Path,
    document: Mapping[str, Any],
    *,
    notes: bool = False,
    form: Mapping[str, str] | None = None,
    memory: Memory = NO_LIMIT,
) -> bool:
    """Returns whether a published file shows exactly the classes and counts of a release, by its document.

    `form` tells the encoding and the delimiter of a CSV file, where these are not UTF-8 and commas. Raises
    `BadData` where the file cannot be read, or lacks a column that the release has.
    """
    told = FileForm.of(form)
    release, names = RememberedRelease.of(document), header(path, notes=notes, form=told)
    wanted = _wanted(release, names)

    def ask(db: duckdb.DuckDBPyConnection) -> TextTable:
        return TextTable.of(db, Relation.of_file(db, path, names, told), wanted)

    return _same(strictly(path.name, ask, memory), release)


class ShownRows:
    """Rows of a table in memory, to be compared with releases; open while it is used in a `with`.

    `document` is that of some release with the same columns.
    """

    def __init__(
        self, columns: Sequence[str], document: Mapping[str, Any], *, memory: Memory = NO_LIMIT
    ) -> None:
        self.wanted = _wanted(RememberedRelease.of(document), columns)
        self._rows = HandedRows(self.wanted, memory=memory)

    def __enter__(self) -> Self:
        self._rows.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows.__exit__()

    def restart(self) -> None:
        """Forgets all rows that were handed over."""
        self._rows.restart()

    def add(self, batch: pa.RecordBatch, counts: pa.Array | None = None) -> None:
        """Takes a batch of the wanted columns; `counts`: how many rows each row stands for, if not one."""
        self._rows.add(batch, counts)

    def show(self, document: Mapping[str, Any]) -> bool:
        """Returns whether the rows show exactly the classes and counts of a release, by its document."""
        table = self._rows.ask(lambda db, table: TextTable.of(db, table, self.wanted))
        return _same(table, RememberedRelease.of(document))


def _wanted(release: RememberedRelease, columns: Sequence[str]) -> tuple[str, ...]:
    wanted = (*release.names, *sorted(release.unchanged))
    absent = [name for name in wanted if name not in columns]
    if absent:
        raise BadData(f"{len(absent)} columns of the earlier releases are not in this table")
    return wanted


def _same(table: TextTable, release: RememberedRelease) -> bool:
    """Returns whether a table has the groups of a release, and nothing else.

    Nodes with the same leaves below them publish the same, whichever of them is named; but a table that names
    two of them in one column tells rows apart that the release has in one class. The table's key columns come
    first, in whatever order.
    """
    release, ranges = release.in_key_order(table.names[: len(release.trees)]), []
    for tree, texts, code in zip(release.trees, table.texts, table.codes, strict=False):
        node = nodes_of(tree, texts)
        spans = np.unique(np.stack((tree.low[node], tree.high[node])), axis=1)
        if np.any(node < 0) or spans.shape[1] < len(texts):
            return False
        ranges += [tree.low[node[code]], tree.high[node[code]]]
    width = len(release.trees)
    own = [
        text_marks(texts)[code] for texts, code in zip(table.texts[width:], table.codes[width:], strict=True)
    ]
    values = tuple_marks(own, len(table.counts))
    theirs = [
        side[release.nodes[release.owner, j]]
        for j, tree in enumerate(release.trees)
        for side in (tree.low, tree.high)
    ]
    return _listed(ranges, values, table.counts) == _listed(theirs, release.values, release.counts)


def nodes_of(tree: MarkedTree, texts: Sequence[Text]) -> Numbers:
    """Returns the highest node with each label; -1 where there is none, or two mean different things."""
    text, node = _named(tree, texts)
    low, high = tree.low[node], tree.high[node]
    found = np.full(len(texts), -1, np.int64)
    there, first = np.unique(text, return_index=True)
    found[there] = node[first]
    highest = found[text]
    found[text[(low != tree.low[highest]) | (high != tree.high[highest])]] = -1
    return found


def _named(tree: MarkedTree, texts: Sequence[Text]) -> tuple[Numbers, Numbers]:
    """Returns every pair of a text and a node with that label, sorted by text, then node."""
    order = np.argsort(tree.marks, kind="stable")
    known = tree.marks[order]
    roots = np.flatnonzero(text_marks(texts)[:, 0] == tree.marks[0])
    which, nodes = [roots], [np.zeros(len(roots), np.int64)]
    inner = np.unique(tree.parent[1:])
    step = max(1, AT_ONCE // max(1, len(texts)))
    for begin in range(0, len(inner) if len(texts) else 0, step):
        made = child_marks(tree.marks[inner[begin : begin + step]], texts).ravel()
        place = np.minimum(np.searchsorted(known, made), len(known) - 1)
        hit = np.flatnonzero(known[place] == made)
        which.append(hit % len(texts))
        nodes.append(order[place[hit]])
    text, node = np.concatenate(which), np.concatenate(nodes)
    sort = np.lexsort((node, text))
    return text[sort], node[sort]


def _listed(columns: Sequence[Numbers], values: NDArray[np.uint64], counts: Numbers) -> tuple[bytes, bytes]:
    """Returns groups with their sums, in an order that depends on nothing else, as bytes to be compared."""
    whole = np.stack([*(c.astype(np.int64) for c in columns), *values.view(np.int64).T], axis=1)
    distinct, which = np.unique(whole, axis=0, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, which.ravel(), counts)
    return distinct.tobytes(), sums.tobytes()
