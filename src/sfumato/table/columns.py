"""Names of columns: each its own, and harmless in a message."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadData
from sfumato.table.arrow_arrays import to_arrow
from sfumato.table.published_rows import PublishedRows, PublishedRowsBuilder
from sfumato.table.spill import Spill

ROW_NAMES = ("row", "row_names", "row_number")
"""What a first column without a name is called: the first of these that no other column is called."""
NO_FIRST_NAME = "the first column has no name, as where R writes row names; it is read as {}"


def name_first(names: Sequence[str]) -> str | None:
    """Returns a name for the first of several columns, if it alone has none; otherwise `None`.

    >>> name_first(["", "age"]), name_first(["", "row"]), name_first(["age", ""]), name_first([""])
    ('row', 'row_names', None, None)
    """
    if len(names) < 2 or names[0].strip() or not all(name.strip() for name in names[1:]):
        return None
    return next((name for name in ROW_NAMES if name not in names), None)


def check_names(names: Sequence[object]) -> None:
    """Refuse columns without a name of their own."""
    first: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if not isinstance(name, str) or not _is_unicode(name):
            raise BadData(f"column {place} has a name that is no text", remedy="Name every column with text.")
        if name == "":
            raise BadData(f"column {place} has an empty name", remedy="Give every column a name.")
        if name in first:
            raise BadData(
                f"columns {first[name]} and {place} have the same name",
                remedy="Give every column a name of its own.",
            )
        first[name] = place


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def safe_name(name: str, width: int = 60) -> str:
    """A column name that is safe in a message: quoted, escaped, of bounded length."""
    return ascii(name if len(name) <= width else name[:width] + "...")


# Numbers in place of values, for columns of which only equality may be seen.


def number_last(published: PublishedRows, count: int, spill: Spill) -> PublishedRows:
    """The same table, with numbers from 0 on in place of the values of its last `count` columns.

    Values are numbered as they first appear when rows are sorted by the columns before: a number says
    which cells are equal, and neither the value nor its place among the others. Missing cells stay missing.
    """
    first = len(published.names) - count
    numbers = [np.full(len(values) + 1, -1, np.int64) for values in published.values[first:]]
    for codes in published.blocks():
        for number, column in zip(numbers, codes[first:], strict=True):
            _number_new(number, column)
    for number in numbers:
        number[-1] = len(number) - 1
    values = [*published.values[:first], *(to_arrow(np.arange(len(n) - 1)) for n in numbers)]
    builder = PublishedRowsBuilder(published.names, values, spill)
    for codes in published.blocks():
        last = [number[column] for number, column in zip(numbers, codes[first:], strict=True)]
        builder.add(len(codes[0]), [*codes[:first], *last])
    return builder.finish()


def _number_new(number: NDArray[np.int64], codes: NDArray[np.int32]) -> None:
    """Go on numbering codes as they appear; the last one means a missing cell and has no number."""
    distinct, place = np.unique(codes, return_index=True)
    unseen = (number[distinct] < 0) & (distinct < len(number) - 1)
    new = distinct[unseen][np.argsort(place[unseen])]
    start = int(number.max(initial=-1)) + 1
    number[new] = np.arange(start, start + len(new))
