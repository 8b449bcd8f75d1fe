"""What somebody who holds all releases of a chain knows of the people who left it."""

from __future__ import annotations

from enum import StrEnum


class Leavers(StrEnum):
    """How well departures are known; whoever knows more comes first, and what is kept there is kept below."""

    COUNTED = "counted"
    """How many people any two releases share, in every part that their classes can be compared in."""
    TOTAL = "total"
    """How many people any two releases share in all."""
    UNKNOWN = "unknown"
    """No number of departures."""

    @property
    def knows(self) -> str:
        """What this adversary knows of departures, for certificates and messages.

        >>> Leavers.TOTAL.knows
        'how many people any two releases share in all'
        """
        if self is Leavers.UNKNOWN:
            return "no number of departures"
        where = "in every part" if self is Leavers.COUNTED else "in all"
        return f"how many people any two releases share {where}"
