"""Rows of a table in memory, handed over batch by batch: the narrow door for whatever is no file.

The caller asks its own table for rows and pushes them; nothing of the caller's runs while the judge does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from sfumato.core.errors import BadData
from sfumato.judge.tables.arrow_text import texts_of
from sfumato.judge.tables.database import NO_LIMIT, Answer, Database
from sfumato.judge.tables.relation import TERMS, Relation
from sfumato.system.memory import Memory

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

WHERE = "the table"
BATCH = "sfumato_handed_batch"
PILED = 4_000_000
"""Rows that wait before equal ones are put together."""


class HandedRows:
    """A table that comes in batches; open while it is used in a `with`.

    `wanted` are the columns that have to be handed over, in the order that they have in every batch.
    """

    def __init__(self, wanted: Sequence[str], *, memory: Memory = NO_LIMIT) -> None:
        self.wanted = tuple(wanted)
        self._db = Database(WHERE, memory)
        self._waiting = 0
        self._kinds = ["VARCHAR"] * len(self.wanted)

    def __enter__(self) -> Self:
        self._db.__enter__()
        made = ", ".join([*(f"c{i} VARCHAR" for i in range(len(self.wanted))), "n BIGINT"])
        self._db.ask(lambda db: db.execute(f"CREATE TEMP TABLE handed ({made})"))
        return self

    def __exit__(self, *_: object) -> None:
        self._db.__exit__()

    def restart(self) -> None:
        """Forgets all rows that were handed over."""
        self._db.ask(lambda db: db.execute("DELETE FROM handed"))
        self._waiting = 0

    def add(self, batch: pa.RecordBatch, counts: pa.Array | None = None) -> None:
        """Takes a batch of rows; `counts` says how many rows of the table each stands for, if not one."""
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

    def ask(self, question: Callable[[duckdb.DuckDBPyConnection, Relation], Answer]) -> Answer:
        """Returns the answer to a question about all rows that were handed over."""
        table = Relation("handed", self.wanted, tuple(self._kinds), "sum(n)")
        return self._db.ask(lambda db: question(db, table))

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
