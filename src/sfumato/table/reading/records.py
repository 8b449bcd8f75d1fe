"""JSON lines as readers: one record on each line, a mapping of column names to cells.

Columns are all that some record names, in the order of their appearance; a record that lacks one has a
missing cell there. A column of numbers, or of truths, keeps its type; any other is read as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from sfumato.core.errors import BadData
from sfumato.core.json_object import read_json
from sfumato.engine.column_names import safe_name
from sfumato.engine.files.loaded_file import LoadedFileReader
from sfumato.engine.text import canonical

LINES_ENDINGS = (".jsonl", ".ndjson")
BYTES_PER_BYTE = 8
"""Memory for each byte of the file: measured were 6.7, most of it for single cells."""


def _texts(cells: list[object], kind: type) -> Iterator[str]:
    """Yields the texts of all cells of one type, in their order."""
    return iter(canonical(pa.array([cell for cell in cells if type(cell) is kind])).to_pylist())


@dataclass(frozen=True, eq=False)
class JsonLinesReader(LoadedFileReader):
    """A file of JSON lines, in UTF-8."""

    def needed_bytes(self) -> int:
        return self.path.stat().st_size * BYTES_PER_BYTE

    def load(self) -> pa.Table:
        columns: dict[str, list[object]] = {}
        rows = 0
        for number, line in enumerate(self._lines(), 1):
            if not line.strip():
                continue
            for name, cell in self._record(line, number).items():
                cells = columns.setdefault(name, [])
                cells.extend([None] * (rows - len(cells)))
                cells.append(cell)
            rows += 1
        for cells in columns.values():
            cells.extend([None] * (rows - len(cells)))
        if not columns:
            raise BadData("the file holds no record", where=self.path.name)
        return pa.table({name: self._column(name, cells) for name, cells in columns.items()})

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text(encoding="utf-8-sig").split("\n")
        except UnicodeDecodeError:
            raise BadData("the file is not in UTF-8", where=self.path.name) from None

    def _record(self, line: str, number: int) -> dict[str, object]:
        try:
            record = read_json(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise BadData(
                f"line {number} is no record", where=self.path.name, remedy="Each line is an object {…}."
            )
        return record

    def _column(self, name: str, cells: list[object]) -> pa.Array:
        """Returns the cells in the one type that all of them have, or as texts."""
        kinds = {type(cell) for cell in cells if cell is not None}
        try:
            if kinds <= {int, float} or kinds == {bool}:
                return pa.array(cells, None if kinds else pa.string())
            if kinds == {str}:
                return pa.array(cells, pa.string())
            if kinds <= {str, int, float, bool}:
                texts = {kind: _texts(cells, kind) for kind in kinds}
                found = [None if cell is None else next(texts[type(cell)]) for cell in cells]
                return pa.array(found, pa.string())
        except (pa.ArrowException, OverflowError):
            pass
        raise BadData(
            f"column {safe_name(name)} holds lists, records or numbers that are too large",
            where=self.path.name,
            remedy="Leave it out or turn it into text.",
        )
