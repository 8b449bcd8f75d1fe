"""Files of SPSS and Stata, as a release writes them: cells, and nothing that describes them."""

from __future__ import annotations

from datetime import date
from importlib import import_module
from math import isnan
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadData
from sfumato.judge.tables.cell_text import label
from sfumato.judge.taxonomies.value_tree import Text

READ_BY = {".sav": "read_sav", ".dta": "read_dta"}
TOLD_BESIDE_CELLS = (
    "variable_value_labels",
    "missing_ranges",
    "missing_user_values",
    "notes",
    "file_label",
    "mr_sets",
)


def statistics_columns(path: Path) -> dict[str, list[Text]]:
    """Returns the cells of every column as texts; raises `BadData` where the file tells more than these."""
    try:
        library: Any = import_module("pyreadstat")  # it has no types
        read = getattr(library, READ_BY[path.suffix.lower()])
        columns, about = read(str(path), output_format="dict", user_missing=True)
    except Exception:  # of the library, whose message may quote cells
        raise BadData("the file cannot be read", where=path.name, remedy="Write it again.") from None
    told = [name for name in TOLD_BESIDE_CELLS if getattr(about, name, None)]
    if told or any(about.column_labels):
        raise BadData("the file tells more than its cells", where=path.name, remedy="Write it again.")
    return {name: [_text(cell) for cell in cells] for name, cells in columns.items()}


def _text(cell: object) -> Text:
    if cell is None or cell == "" or (isinstance(cell, float) and isnan(cell)):
        return None
    if not isinstance(cell, str | float | int | date):
        raise BadData("a cell is neither a number, a text nor a date")
    return label(cell)
