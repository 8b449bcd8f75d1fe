"""Names of columns: each its own, and harmless in a message."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.system.errors import BadData

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
