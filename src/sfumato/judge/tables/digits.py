"""Digits of published numbers, told a second time: character by character, from the text of a cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sfumato.judge.tables.relation import Relation, text_of
from sfumato.judge.taxonomies.value_tree import Text

if TYPE_CHECKING:
    import duckdb

_WRITTEN = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?")


def too_exact_cells(
    db: duckdb.DuckDBPyConnection, table: Relation, digits: Mapping[str, int]
) -> dict[str, int]:
    """Returns, for columns of numbers, how many different cells tell more than so many digits."""
    found = {}
    for column, places in digits.items():
        cells = db.execute(f"SELECT DISTINCT {table.cell(column)} FROM {table.query}").fetchall()  # noqa: S608
        found[column] = too_exact((text_of(cell, table.kind(column)) for (cell,) in cells), places)
    return found


def too_exact(texts: Iterable[Text], digits: int) -> int:
    """Returns how many texts tell more than a number with so many digits behind the point.

    These are texts that write no number, numbers with more digits, zeros among them, and a zero with a sign.
    With fewer digits than none, the last ones before the point have to be zeros.

    >>> too_exact(["2.50", "7", None, "2.500", "-0", "n/a", "1e-3"], 2), too_exact(["1200", "1250"], -2)
    (4, 1)
    """
    return sum(text is not None and _says_more(text, digits) for text in texts)


def _says_more(text: str, digits: int) -> bool:
    written = _WRITTEN.fullmatch(text)
    if written is None:
        return True
    sign, whole, part, exponent = written[1], written[2], written[3] or "", int(written[4] or 0)
    every = whole + part
    if not every.strip("0"):
        return sign == "-" or len(part) > max(digits, 0)
    if exponent == 0 and len(part) > max(digits, 0):
        return True
    idle = len(every) - len(every.rstrip("0"))
    return len(part) - exponent - idle > digits
