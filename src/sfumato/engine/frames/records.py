"""Single records as a source: mappings of column names to cells, from Python or from a JSON file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from sfumato.core.errors import BadData
from sfumato.core.json_object import JsonMapping, read_json
from sfumato.engine.arrow_arrays import text_array
from sfumato.engine.column_names import safe_name
from sfumato.engine.frames.arrow import ArrowReader
from sfumato.engine.rows import RowSource
from sfumato.engine.text import canonical
from sfumato.system.disk import read_document

JSON_ENDINGS = (".json", ".jsonl", ".ndjson")


def open_records(records: Sequence[JsonMapping]) -> RowSource:
    """Records as a source; a column that a record lacks is a missing cell of it.

    >>> source = open_records([{"age": 34.0, "sex": "m"}, {"age": "37"}])
    >>> source.columns, source.survey(["age"]).columns["age"].values
    (('age', 'sex'), ('34', '37'))
    """
    names = list(dict.fromkeys(str(name) for record in records for name in record))
    columns = {name: [_text(record.get(name), name) for record in records] for name in names}
    return RowSource(ArrowReader(pa.table({name: text_array(cells) for name, cells in columns.items()})))


def open_json(path: Path) -> RowSource:
    """A JSON file: one record, a list of records, or one record on each line."""
    if not path.is_file():
        raise BadData("there is no such file", where=str(path), remedy="Check the path.")
    try:
        text = read_document(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadData("the file is not in UTF-8", where=path.name) from None
    records = _whole(text) or _line_by_line(text, path.name)
    if not all(isinstance(record, dict) for record in records):
        raise BadData("the file does not hold records", where=path.name, remedy="Each is an object {…}.")
    return open_records(records)


def _whole(text: str) -> list[JsonMapping] | None:
    """The records of a text that is one JSON document; whether they are objects is checked later."""
    try:
        document = read_json(text)
    except ValueError:
        return None
    return document if isinstance(document, list) else [document]


def _line_by_line(text: str, name: str) -> list[JsonMapping]:
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                records.append(read_json(line))
            except ValueError:
                raise BadData(f"line {number} is no JSON", where=name) from None
    return records


def _text(cell: object, column: str) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    try:
        text: str | None = canonical(pa.array([cell]), column)[0].as_py()
    except (pa.ArrowException, TypeError, OverflowError):
        raise BadData(f"column {safe_name(column)} holds a cell that has no text") from None
    return text
