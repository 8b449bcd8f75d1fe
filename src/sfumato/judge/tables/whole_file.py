"""Published files that are neither CSV nor Parquet: read as a whole, each cell as its text.

The judge has readers of its own: XLSX by its bytes (`workbook.py`), Arrow by Polars, JSON lines cell by cell.
Files of SPSS and Stata are read by the library that wrote them, and refused where they hold more than cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import BadData
from sfumato.judge.tables.json_records import json_columns
from sfumato.judge.tables.statistics_table import statistics_columns
from sfumato.judge.tables.workbook import workbook_columns
from sfumato.judge.taxonomies.value_tree import Text

if TYPE_CHECKING:
    import pyarrow as pa

Columns = Mapping[str, list[Text]]


def is_whole(path: Path) -> bool:
    """Tells whether a path is meant to be a file that is read as a whole."""
    return path.suffix.lower() in _READERS


def whole_table(path: Path) -> pa.Table:
    """Returns all cells of a published file as texts; raises `BadData` where it is not as releases are."""
    if not path.is_file():
        raise BadData("there is no such file", where=path.name)
    state = path.stat()
    return _read(path, state.st_ino, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=1)
def _read(path: Path, *_: int) -> pa.Table:
    """Returns the table of a file in the state that the numbers tell: it is asked for several times."""
    import pyarrow as pa  # noqa: PLC0415  # heavy

    found = _READERS[path.suffix.lower()](path)
    if isinstance(found, pa.Table):
        return found
    return pa.table({name: pa.array(cells, pa.large_string()) for name, cells in found.items()})


def _arrow_table(path: Path) -> pa.Table:
    """Returns the cells of an Arrow file without metadata, as Polars reads them."""
    import polars as pl  # noqa: PLC0415  # heavy
    import pyarrow as pa  # noqa: PLC0415  # heavy

    from sfumato.judge.tables.arrow_text import texts_of  # noqa: PLC0415  # loads Arrow

    unreadable = BadData("the file cannot be read as Arrow", where=path.name, remedy="Write it again.")
    try:
        frame = pl.read_ipc(path)
        with pa.OSFile(str(path)) as file:
            schema = pa.ipc.open_file(file).schema
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError):
        raise unreadable from None
    if schema.metadata or any(field.metadata for field in schema) or schema.names != frame.columns:
        raise BadData("the file carries notes besides its columns", where=path.name, remedy="Write it again.")
    cells = [texts_of(column.combine_chunks()) for column in frame.to_arrow().columns]
    return pa.table([column.cast(pa.large_string()) for column in cells], names=frame.columns)


_READERS: Mapping[str, Callable[[Path], Columns | pa.Table]] = {
    ".xlsx": workbook_columns,
    ".sav": statistics_columns,
    ".dta": statistics_columns,
    ".arrow": _arrow_table,
    ".feather": _arrow_table,
    ".jsonl": json_columns,
    ".ndjson": json_columns,
}
