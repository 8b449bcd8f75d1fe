"""A published table as an auditor holds it, a file or rows in memory: what it proves about each promise.

Nothing is refused that can be read: what the table does not decide stays undecided, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sfumato.core.errors import BadData
from sfumato.core.verdict import Verdict
from sfumato.judge.file_bytes.csv_forms import LARGEST, form_of_file, is_shortest, marks_of, written_rows
from sfumato.judge.policy_data import JudgedPolicy
from sfumato.judge.rulings import rule_all
from sfumato.judge.tables.arrow_text import float_marks
from sfumato.judge.tables.database import NO_LIMIT, strictly
from sfumato.judge.tables.file_form import RELEASED, FileForm
from sfumato.judge.tables.handed_rows import WHERE, HandedRows
from sfumato.judge.tables.parquet import is_parquet
from sfumato.judge.tables.relation import APART, Relation, header
from sfumato.judge.tables.tally import Tally, TallyRequest, count
from sfumato.judge.tables.whole_file import is_whole
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

ROWS_AT_A_TIME = 100_000


def judge_file(
    path: Path,
    columns: Sequence[str],
    policy: Mapping[str, Any],
    *,
    form: Mapping[str, str] | None = None,
    memory: Memory = NO_LIMIT,
) -> tuple[Verdict, ...] | None:
    """Returns a verdict for every promise, from the bytes of a file in the form that releases have.

    `form` tells the `encoding` and the `delimiter` of a CSV file as somebody else has found them. A file in
    another form is judged as it is written: rows are told apart by their quotes and line ends, whatever
    separates the cells. `None` where it is in no form that is known here, or does not begin with these
    `columns`, as somebody else has read them. Raises `BadData` where it cannot be read.
    """
    meant = JudgedPolicy.of(policy)
    asked = TallyRequest.of(meant, columns)
    by_rows = meant.person is not None and asked.person is None
    told: FileForm | None = FileForm.of(form)
    if not is_parquet(path) and not is_whole(path):
        told = form_of_file(path, columns, FileForm.of(form))
        if told is None:
            return None
        if path.stat().st_size <= LARGEST and not _is_released_form(path, told, memory):
            return rule_all(_count_as_written(path, told, columns, asked, memory), by_rows=by_rows)
    written = told or RELEASED
    names = header(path, notes=True, form=written)
    if names != tuple(columns):
        return None

    def ask(db: duckdb.DuckDBPyConnection) -> Tally:
        return count(db, Relation.of_file(db, path, names, written), asked, where=path.name)

    return rule_all(strictly(path.name, ask, memory), by_rows=by_rows)


def _is_released_form(path: Path, form: FileForm, memory: Memory) -> bool:
    """Tells whether a CSV file is as releases are written: then its rows tell all that its bytes do."""
    try:
        return is_shortest(path, memory=memory, form=form)
    except BadData:
        return False


def _count_as_written(
    path: Path, form: FileForm, names: Sequence[str], asked: TallyRequest, memory: Memory
) -> Tally:
    """Returns the counts of a CSV file whose rows can be told apart by their quotes and line ends."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    wanted = [names.index(name) for name in asked.columns]
    keys = [names.index(name) for name in asked.keys]
    every = [*asked.columns, APART]
    with HandedRows(every, memory=memory) as rows:
        read = iter(written_rows(path, names, form))
        while some := list(islice(read, ROWS_AT_A_TIME)):
            columns = [[row.cells[i] for row in some] for i in wanted]
            columns.append([marks_of(row, keys) for row in some])
            rows.add(pa.record_batch([pa.array(cells, pa.large_string()) for cells in columns], every))
        return rows.ask(lambda db, table: count(db, table, asked, where=path.name))


class JudgedRows:
    """Rows of a table in memory that are handed over batch by batch; open while it is used in a `with`.

    `columns` are those of the table, `wanted` those that batches are to have, in that order.
    """

    def __init__(
        self, columns: Sequence[str], policy: Mapping[str, Any], *, memory: Memory = NO_LIMIT
    ) -> None:
        meant = JudgedPolicy.of(policy)
        self._asked = TallyRequest.of(meant, columns)
        self.wanted = self._asked.columns
        self._rows = HandedRows((*self.wanted, APART), memory=memory)
        self._by_rows = meant.person is not None and self._asked.person is None

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
        """Takes a batch; `counts` says how many rows each of its rows stands for, if not one."""
        marked = batch.append_column(APART, float_marks(batch, self._asked.keys))
        self._rows.add(marked, counts)

    def verdicts(self) -> tuple[Verdict, ...]:
        """Returns a verdict for every promise, on all rows that were handed over."""
        tally = self._rows.ask(lambda db, table: count(db, table, self._asked, where=WHERE))
        return rule_all(tally, by_rows=self._by_rows)
