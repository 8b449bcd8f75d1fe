"""Arrow files and JSON lines of published rows."""

from __future__ import annotations

import json
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from sfumato.core.progress import Progress
from sfumato.engine.arrow_arrays import text_array, to_arrow
from sfumato.engine.files.column_types import as_written
from sfumato.engine.published_rows import PublishedRows
from sfumato.engine.text import canonical

ROWS_AT_A_TIME = 1 << 17


def write_arrow(published: PublishedRows, file: BinaryIO, progress: Progress) -> None:
    """Writes the rows as an Arrow IPC file, without metadata."""
    values = [as_written(column) for column in published.values]
    fields = [pa.field(name, column.type) for name, column in zip(published.names, values, strict=True)]
    schema, done = pa.schema(fields), 0
    options = ipc.IpcWriteOptions(compression="zstd", use_threads=False)
    with ipc.new_file(file, schema, options=options) as out:
        for codes in published.blocks(ROWS_AT_A_TIME):
            columns = [
                pc.take(column, to_arrow(code, missing=len(column)))
                if len(column)
                else pa.nulls(len(code), column.type)
                for column, code in zip(values, codes, strict=True)
            ]
            out.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            done += len(codes[0])
            progress("writing", done, published.rows)


def write_json_lines(published: PublishedRows, file: BinaryIO, progress: Progress) -> None:
    """Writes a record on each line: every column in order, a missing cell as null."""
    cells = [_members(name, v) for name, v in zip(published.names, published.values, strict=True)]
    comma, nothing, done = _scalar(", "), _scalar(""), 0
    for codes in published.blocks(ROWS_AT_A_TIME):
        columns = [values.take(to_arrow(code)) for values, code in zip(cells, codes, strict=True)]
        members = pc.binary_join_element_wise(*columns, comma) if len(columns) > 1 else columns[0]
        lines = pc.binary_join_element_wise(_scalar("{"), members, _scalar("}\n"), nothing)
        _, offsets, data = lines.buffers()
        bounds = np.frombuffer(offsets, np.int64)
        file.write(memoryview(data)[int(bounds[lines.offset]) : int(bounds[lines.offset + len(lines)])])
        done += len(codes[0])
        progress("writing", done, published.rows)


def _members(name: str, values: pa.Array) -> pa.Array:
    """Returns a column's name with each of its values in JSON, and with null at the end."""
    kind, types = values.type, pa.types
    plain = types.is_integer(kind) or types.is_boolean(kind) or types.is_float64(kind)
    key = json.dumps(name, ensure_ascii=False)
    texts = canonical(values, name).to_pylist()
    if types.is_float64(kind):
        plain = bool(np.isfinite(values.to_numpy(zero_copy_only=False)).all())
    told = texts if plain else [json.dumps(text, ensure_ascii=False) for text in texts]
    return text_array([f"{key}: {text}" for text in [*told, "null"]])


def _scalar(text: str) -> pa.Scalar:
    return text_array([text])[0]
