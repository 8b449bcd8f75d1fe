"""Who puts several tables about the same people together, and what they know besides."""

from __future__ import annotations

from enum import StrEnum


class Adversary(StrEnum):
    """Somebody who holds several tables about the same people; `register` knows more than `target`."""

    REGISTER = "register"
    TARGET = "target"

    @property
    def knows(self) -> str:
        """What this adversary has, for reports and messages.

        >>> Adversary.TARGET.knows
        "these tables and the key values of one person, nobody else's"
        """
        if self is Adversary.REGISTER:
            return "these tables and everybody's key values"
        return "these tables and the key values of one person, nobody else's"
