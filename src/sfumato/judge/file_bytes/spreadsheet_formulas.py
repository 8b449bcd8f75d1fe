"""Cells of a CSV file that a spreadsheet would run when somebody opens the file in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.errors import BadData
from sfumato.judge.tables.database import Database
from sfumato.judge.tables.file_form import FileForm
from sfumato.judge.tables.parquet import is_parquet
from sfumato.judge.tables.relation import Relation

if TYPE_CHECKING:
    import duckdb

BEGINS = r"(?s)[=+@\t\r＝＋－＠-]."
"""How a cell begins that is run: a mark alone is none, and wide forms are read like the others."""
NUMBER = r"[+-]?[0-9]+([.,][0-9]+)*([eE][+-]?[0-9]+)?\s?%?"
"""Signed numbers begin so, too, and are what they look like."""
AT_A_TIME = 500
"""So many columns are asked about at once."""


def is_formula(text: str) -> bool:
    """Tells whether a spreadsheet would run this cell.

    >>> is_formula("=1+1"), is_formula("-5"), is_formula("-"), is_formula("+49 30 1")
    (True, False, False, True)
    """
    return re.match(BEGINS, text) is not None and re.fullmatch(NUMBER, text) is None


def check_formulas(db: Database, path: Path, names: Sequence[str], form: FileForm) -> None:
    """Raises `BadData` where a name or a cell of a CSV file would be run; the message names columns alone."""
    if is_parquet(path):
        return
    begun = sum(map(is_formula, names))
    if begun:
        named = "1 name of a column" if begun == 1 else f"{begun} names of columns"
        raise BadData(f"{named} would be run by a spreadsheet", where=path.name, remedy=REMEDY)

    def ask(connection: duckdb.DuckDBPyConnection) -> list[int]:
        table = Relation.of_file(connection, path, names, form)
        found: list[int] = []
        for start in range(0, len(names), AT_A_TIME):
            asked = ", ".join(_count(table.place(name)) for name in names[start : start + AT_A_TIME])
            # All rows: a result that is not read to its end keeps the connection busy.
            answer = connection.execute(f"SELECT {asked} FROM {table.query}").fetchall()  # noqa: S608  # our names
            found += answer[0]
        return found

    counts = db.ask(ask)
    run = [(name, count) for name, count in zip(names, counts, strict=True) if count]
    if run:
        name, count = run[0]
        more = f", and {len(run) - 1} more columns have such cells" if len(run) > 1 else ""
        raise BadData(
            f"a spreadsheet would run {count:,} cells of column {name}: "
            f"they begin with =, +, -, @ or a tab{more}",
            where=path.name,
            remedy=REMEDY,
        )


REMEDY = (
    "Change them beforehand, write Parquet, or say `formulas: keep` in the policy if no spreadsheet "
    "will open the file."
)


def _count(cell: str) -> str:
    text = f"{cell}::VARCHAR"
    begins, number = (pattern.replace("'", "''") for pattern in (f"^{BEGINS}", NUMBER))
    return (
        f"count(*) FILTER (regexp_matches({text}, '{begins}') AND NOT regexp_full_match({text}, '{number}'))"
    )
