"""Several tables put together by whoever has a register, judged from the original rows and published counts.

Every position that somebody is in keeps what is promised, and so does what every two tables make likely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np

from sfumato.core.verdict import Verdict
from sfumato.judge.chain.expected_cells import (
    JointlyJudgedValues,
    JudgedValues,
    pair_entries,
    pair_kept,
)
from sfumato.judge.chain.source_positions import PositionRequest, SourcePositions
from sfumato.judge.policy_data import PromiseData
from sfumato.judge.registry import judge_of
from sfumato.judge.tables.database import NO_LIMIT, strictly
from sfumato.judge.tables.file_form import FileForm
from sfumato.judge.tables.handed_rows import HandedRows
from sfumato.judge.tables.relation import Relation, header
from sfumato.judge.tables.set_cells import set_cell
from sfumato.judge.tables.text_table import TextTable
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

PromiseWords = Mapping[str, object]
"""A promise as plain data."""


@dataclass(frozen=True)
class TablesTogether:
    """What is asked of tables, by number: of positions, group by group, and of what pairs make likely."""

    groups: tuple[tuple[tuple[int, ...], tuple[PromiseWords, ...]], ...]
    pairs: tuple[tuple[int, int], ...] = ()
    likely: tuple[PromiseWords, ...] = ()


@dataclass(frozen=True)
class TogetherRuling:
    """A verdict for every promise that was asked, and the size of the smallest position looked at."""

    verdicts: tuple[Verdict, ...]
    smallest: int | None

    @property
    def holds(self) -> bool | None:
        said = [verdict.holds for verdict in self.verdicts]
        return False if False in said else None if None in said else True


def judge_source_file(
    path: Path,
    columns: Sequence[str],
    request: PositionRequest,
    asked: TablesTogether,
    *,
    form: Mapping[str, str] | None = None,
    memory: Memory = NO_LIMIT,
) -> TogetherRuling | None:
    """Returns the ruling on tables and the file that they were made from, read from its bytes.

    `None` where the file is in another form than the judge reads: where it does not begin with `columns`, as
    somebody else has read them. Raises where it is not the file that the tables were made from.
    """
    told = FileForm.of(form)
    names = header(path, notes=True, form=told)
    if names != tuple(columns):
        return None

    def ask(db: duckdb.DuckDBPyConnection) -> TextTable:
        return _read(db, Relation.of_file(db, path, names, told), request)

    return _rule(SourcePositions.of(strictly(path.name, ask, memory), request), asked)


class SourceRows:
    """The original rows, handed over batch by batch; open while it is used in a `with`."""

    def __init__(self, request: PositionRequest, *, memory: Memory = NO_LIMIT) -> None:
        self.request = request
        self.wanted = request.columns
        self._rows = HandedRows(self.wanted, memory=memory)

    def __enter__(self) -> Self:
        self._rows.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows.__exit__()

    def add(self, batch: pa.RecordBatch, counts: pa.Array | None = None) -> None:
        """Takes a batch of the wanted columns; `counts`: how many rows each row stands for, if not one."""
        self._rows.add(batch, counts)

    def rule(self, asked: TablesTogether) -> TogetherRuling:
        """Returns the ruling on all rows that were handed over."""
        rows = self._rows.ask(lambda db, table: _read(db, table, self.request))
        return _rule(SourcePositions.of(rows, self.request), asked)


def _read(db: duckdb.DuckDBPyConnection, table: Relation, request: PositionRequest) -> TextTable:
    sets = request.policy.sets
    made = {name: set_cell(table, name, sets[name]) for name in request.wanted if name in sets}
    return TextTable.of(db, table, request.wanted, made=made)


def _rule(source: SourcePositions, asked: TablesTogether) -> TogetherRuling:
    found: dict[str, Verdict] = {}
    sizes: list[int] = []
    for tables, promises in asked.groups:
        tally = source.tally(tables)
        sizes += tally.people.tolist() if any(not p.get("columns") for p in promises) else []
        for promise in map(PromiseData, promises):
            _note(found, replace(judge_of(promise)(tally, promise), reason="asked of every position"))
    for first, second in asked.pairs if asked.likely else ():
        entries = pair_entries(*source.sides(first, second))
        for promise in map(PromiseData, asked.likely):
            kept = None if entries is None else pair_kept(entries, _values(source, promise), promise)
            if kept is not True:
                reason = "what two tables make likely breaks it" if kept is False else "too large to decide"
                _note(found, Verdict(str(promise), kept, None, 0, evidence=promise.evidence, reason=reason))
    sizes = sizes or source.tally(range(len(source.labels))).people.tolist()
    return TogetherRuling(tuple(found.values()), min(sizes, default=None))


def _values(source: SourcePositions, promise: PromiseData) -> JudgedValues | JointlyJudgedValues:
    of_value = np.zeros(int(source.matching.max(initial=0)) + 1, np.int64)
    if promise.get("jointly"):
        columns = tuple(column for column, _ in promise.jointly)
        cells, of_value[source.matching] = source.joint_cells[columns]
        return JointlyJudgedValues(columns, cells, of_value, source.request.policy)
    (column,) = promise.columns
    tree, leaf = source.leaves[column]
    of_value[source.matching] = leaf
    overall = np.zeros(len(tree.values), np.int64)
    np.add.at(overall, leaf, source.rows.counts)
    return JudgedValues(column, tree, of_value, overall, source.request.policy)


def _note(found: dict[str, Verdict], verdict: Verdict) -> None:
    """Keeps the worst verdict on every promise: broken, then open, then the narrowest."""
    before = found.get(verdict.promise)
    rank = {False: 0, None: 1, True: 2}
    if before is None or rank[verdict.holds] < rank[before.holds]:
        found[verdict.promise] = verdict
