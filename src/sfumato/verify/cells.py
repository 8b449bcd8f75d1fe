"""The text of a cell, as taxonomies know it: written a second time, from its definition.

Text stays as it is. Whole numbers are decimal digits, truths are `true` and `false`. Other numbers take the
shortest text that reads back as the same number, without a fraction where there is none; there is one zero,
and what is not a number is a missing cell. Dates are ISO dates. A point in time has a `T` between its parts,
no more decimals than needed, and is in UTC (`+00:00`) where it has a zone; midnight without one is the date.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from sfumato.judge.taxonomies.value_tree import Text


def label(cell: object) -> Text:
    """Returns the text that a taxonomy has for this cell.

    >>> [label(cell) for cell in ("02138", 7, 7.0, 2.5, True, date(2026, 3, 1), Decimal("1.50"), None)]
    ['02138', '7', '7', '2.5', 'true', '2026-03-01', '1.50', None]
    """
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, Decimal):
        return format(cell, "f")
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def moment(text: str) -> str:
    """Returns a moment as SQL writes it in the form of a label: `T` between the parts, no bare midnight.

    >>> moment("2026-03-01 00:00:00"), moment("2026-03-01 08:30:00.5"), moment("2026-03-01 08:30:00+02")
    ('2026-03-01', '2026-03-01T08:30:00.5', '2026-03-01T08:30:00+02:00')
    """
    day, _, rest = text.partition(" ")
    if rest == "00:00:00":
        return day
    if len(rest) > 3 and rest[-3] in "+-":
        rest += ":00"
    return f"{day}T{rest}"
