"""Rows of a table in memory, handed over batch by batch: the narrow door for whatever is no file.

The caller asks its own table for rows and pushes them; nothing of the caller's runs while the judge does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from sfumato.core.errors import BadData
from sfumato.judge.policy_data import JudgedPolicy
from sfumato.judge.tables.arrow_text import texts_of
from sfumato.judge.tables.database import NO_LIMIT, Database
from sfumato.judge.tables.relation import Relation
from sfumato.judge.tables.tally import TERMS, Tally, TallyRequest, count
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

WHERE = "the table"
BATCH = "sfumato_handed_batch"
PILED = 4_000_000
"""Rows that wait before equal ones are put together."""


class HandedRows:
    """A table that comes in batches, for one policy; open while it is used in a `with`.

    `columns` are those of the whole table; `wanted` says which of them have to be handed over. Where a batch
    has been added up before, `counts` says how many rows each of its rows stands for.
    """

    def __init__(self, columns: Sequence[str], policy: JudgedPolicy, *, memory: Memory = NO_LIMIT) -> None:
        self.columns = tuple(columns)
        self._asked = TallyRequest.of(policy, self.columns)
        self._db = Database(WHERE, memory)
        self._waiting = 0
        self._kinds = ["VARCHAR"] * len(self.wanted)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The columns that are looked at."""
        return self._asked.columns

    def __enter__(self) -> Self:
        self._db.__enter__()
        made = ", ".join([*(f"c{i} VARCHAR" for i in range(len(self.wanted))), "n BIGINT"])
        self._db.ask(lambda db: db.execute(f"CREATE TEMP TABLE handed ({made})"))
        return self

    def __exit__(self, *_: object) -> None:
        self._db.__exit__()

    def add(self, batch: pa.RecordBatch, counts: pa.Array | None = None) -> None:
        """Takes a batch of rows, whose columns are the wanted ones in their order."""
        import pyarrow as pa  # noqa: PLC0415  # heavy

        if batch.num_columns != len(self.wanted):
            raise BadData("a batch of rows has other columns than were asked for", where=WHERE)
        if not batch.num_rows:
            return
        for i, column in enumerate(batch.columns):
            if pa.types.is_nested(column.type):
                self._kinds[i] = TERMS
        cells = [texts_of(column) for column in batch.columns]
        amount = pa.array([1] * batch.num_rows, pa.int64()) if counts is None else counts.cast(pa.int64())
        names = [*(f"c{i}" for i in range(len(cells))), "n"]
        piece = pa.table([*cells, amount], names=names)
        self._db.ask(lambda db: self._take(db, piece))

    def tally(self) -> Tally:
        """Returns the counts of all rows that were handed over."""
        table = Relation("handed", self.wanted, tuple(self._kinds), "sum(n)")
        return self._db.ask(lambda db: count(db, table, self._asked, where=WHERE))

    def _take(self, db: duckdb.DuckDBPyConnection, piece: pa.Table) -> None:
        listed = ", ".join(f"c{i}" for i in range(len(self.wanted)))
        grouped = f"{listed}, sum(n)::BIGINT AS n" if listed else "sum(n)::BIGINT AS n"
        db.register(BATCH, piece)
        db.execute(f"INSERT INTO handed SELECT {grouped} FROM {BATCH} GROUP BY ALL")  # noqa: S608
        db.unregister(BATCH)
        self._waiting += len(piece)
        if self._waiting > PILED:
            db.execute(f"CREATE TEMP TABLE fewer AS SELECT {grouped} FROM handed GROUP BY ALL")  # noqa: S608
            db.execute("DROP TABLE handed")
            db.execute("ALTER TABLE fewer RENAME TO handed")
            self._waiting = 0
