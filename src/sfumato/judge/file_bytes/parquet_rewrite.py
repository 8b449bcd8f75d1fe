"""A Parquet file written again from its rows, to see whether its bytes hold anything else.

The settings are those of releases. The same library writes the same bytes for the same rows, so a file that
differs was written otherwise, or changed afterwards: it may hold values that no row has.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import BadData

if TYPE_CHECKING:
    import pyarrow as pa

SETTINGS = {"compression": "zstd", "store_schema": False, "use_dictionary": True, "version": "2.6"}
ROWS_OF_A_GROUP = 1 << 20
"""So many rows every group has, but for the last."""
SCHEMA_NOTE = "ARROW:schema"


def is_as_released(path: Path) -> bool:
    """Tells whether the bytes of a Parquet file are those that its rows and the types of its columns give.

    One group of rows is in memory at a time, and nothing is written to disk. Raises `BadData` where the rows
    cannot be read.
    """
    import pyarrow as pa  # noqa: PLC0415  # heavy
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

    try:
        schema = _bare(pq.read_schema(path))
        texts = [column.name for column in schema if pa.types.is_string(column.type)]
        written = pa.schema([_coded(column) if column.name in texts else column for column in schema])
        with path.open("rb") as original, pq.ParquetFile(path, read_dictionary=texts) as rows:
            sizes = [rows.metadata.row_group(number).num_rows for number in range(rows.num_row_groups)]
            if sizes and (set(sizes[:-1]) - {ROWS_OF_A_GROUP} or sizes[-1] > ROWS_OF_A_GROUP):
                return False
            compared = ComparedBytes(original)
            with pq.ParquetWriter(compared, written, **SETTINGS) as writer:
                note = base64.b64encode(schema.serialize()).decode()
                writer.add_key_value_metadata({SCHEMA_NOTE: note})
                for number in range(rows.num_row_groups):
                    if compared.differ:
                        return False
                    columns = map(canonical_cells, rows.read_row_group(number).columns)
                    batch = pa.RecordBatch.from_arrays(list(columns), schema=written)
                    writer.write_batch(batch, row_group_size=ROWS_OF_A_GROUP)
            return not compared.differ and not original.read(1)
    except (pa.ArrowException, OSError, UnicodeError):  # the last of names
        raise BadData("the file cannot be read as Parquet", where=path.name) from None


class ComparedBytes(io.RawIOBase):
    """Takes what is written to it, and notes whether it differs from the bytes of a file; keeps nothing."""

    def __init__(self, original: io.BufferedReader) -> None:
        super().__init__()
        self._original = original
        self._place = 0
        self.differ = False

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def write(self, data: Any) -> int:  # whatever has bytes
        piece = memoryview(data)
        self._place += piece.nbytes
        self.differ = self.differ or self._original.read(piece.nbytes) != piece
        return piece.nbytes


def canonical_cells(cells: pa.ChunkedArray) -> pa.Array:
    """Returns the cells in one array; of a dictionary, only the values that occur, once each, in their order.

    Raises `pyarrow.ArrowInvalid` where a cell names no entry: Arrow drops an entry that a dictionary holds
    twice, and leaves the numbers of those behind it.

    >>> import pyarrow as pa
    >>> cells = pa.DictionaryArray.from_arrays([2, 0, 2], ["x", "unused", "x"])
    >>> canonical_cells(pa.chunked_array([cells])).dictionary.to_pylist()
    ['x']
    """
    import pyarrow as pa  # noqa: PLC0415  # heavy

    cells.validate(full=True)
    whole = cells.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks)
    if not pa.types.is_dictionary(whole.type):
        return whole
    entries = whole.dictionary.dictionary_encode()
    codes = entries.indices.take(whole.indices).dictionary_encode()
    return pa.DictionaryArray.from_arrays(codes.indices, entries.dictionary.take(codes.dictionary))


def _bare(schema: pa.Schema) -> pa.Schema:
    """Returns the schema without what else its columns may carry."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    return pa.schema([column.remove_metadata() for column in schema])


def _coded(column: pa.Field) -> pa.Field:
    import pyarrow as pa  # noqa: PLC0415  # heavy

    return column.with_type(pa.dictionary(pa.int32(), column.type))
