"""The digest of a table: equal for equal multisets of rows, on every engine and in every file format.

A row is the text of its cells, each with its length in bytes before it; a missing cell is a dash. Rows are
hashed one by one (SHA-256) and the hashes are added up modulo 2**256, so that any engine can add up the rows
it has, in any order. The names of the columns and the number of rows are hashed with the sum. It compares
tables that nobody tampers with: sums of hashes can be forged, the digests of a release's files cannot.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

import pyarrow as pa

from sfumato.table.cell_text import canonical

DIGITS = 6
"""Hexadecimal digits of a hash that are added up as one number: sums of 2**39 rows fit into 64 bits."""

SLICES = -(-64 // DIGITS)


def table_digest(names: Sequence[str], rows: int, sums: Sequence[int]) -> str:
    """The digest, from the sums over all rows of each slice of their hashes."""
    whole = 0
    for number, part in enumerate(sums):
        after = max(0, 64 - (number + 1) * DIGITS)
        whole += int(part) << (4 * after)
    document = ["sfumato table 1", list(names), rows, f"{whole % 2**256:064x}"]
    return hashlib.sha256(json.dumps(document, ensure_ascii=False).encode()).hexdigest()


def digest(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> str:
    """The digest of rows that come as Arrow batches.

    >>> rows = pa.table({"zip": ["02138", None], "age": [30, 31]})
    >>> digest(rows.to_batches(), ["zip", "age"]) == digest(rows.take([1, 0]).to_batches(), ["zip", "age"])
    True
    """
    sums = RowSums(names)
    for batch in batches:
        sums.add(batch)
    return sums.result()


class RowSums:
    """A digest in the making: rows are added batch by batch, and the database that adds up is then closed."""

    def __init__(self, names: Sequence[str]) -> None:
        import duckdb  # noqa: PLC0415  # a database, loaded for digests alone

        self._database = duckdb.connect()
        self._names, self._rows, self._sums = names, 0, [0] * SLICES
        cells = [
            f"CASE WHEN c{i} IS NULL THEN '-' ELSE strlen(c{i}) || ':' || c{i} END" for i in range(len(names))
        ]
        row = " || ".join(cells) or "''"
        slices = [f"sum(('0x' || substr(h, {1 + i * DIGITS}, {DIGITS}))::BIGINT)" for i in range(SLICES)]
        self._query = f"SELECT count(*), {', '.join(slices)} FROM (SELECT sha256({row}) AS h FROM texts)"  # noqa: S608

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds the rows of a batch."""
        if not len(batch):
            return
        self._database.register("texts", _texts(batch, self._names))
        count, *parts = self._database.execute(self._query).fetchall()[0]
        self._rows += int(count)
        self._sums = [a + int(b) for a, b in zip(self._sums, parts, strict=True)]

    def result(self) -> str:
        """The digest of all rows; none can be added any more."""
        self._database.close()
        return table_digest(self._names, self._rows, self._sums)


def _texts(batch: pa.RecordBatch, names: Sequence[str]) -> pa.Table:
    columns = [canonical(batch.column(name), name) for name in names]
    if not columns:
        return pa.table({"none": pa.nulls(len(batch))})
    return pa.Table.from_arrays(columns, names=[f"c{i}" for i in range(len(names))])
