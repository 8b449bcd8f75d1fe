"""Promises in plain words, for people who never read a paper."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar


class InPlainWords:
    """What a promise means, and what it leaves open, in sentences for whoever has to sign for it.

    A definition says both as class variables; a parameter that a policy always names may stand in braces.
    """

    plain: ClassVar[str] = ""
    """One sentence: what holds of everybody in the table where it is kept."""
    silent_on: ClassVar[str] = ""
    """One sentence: what may happen although it is kept."""

    @abstractmethod
    def parameters(self) -> dict[str, object]:
        """Returns its parameters as a policy holds them."""

    def in_words(self) -> str:
        """Returns the plain sentence with its parameters; without one, the promise as it calls itself."""
        return self.plain.format_map(self.parameters()) if self.plain else str(self)
