"""What a search asks before each step: a promise about the whole table, at work on one table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Protocol, runtime_checkable

from sfumato.core.cut import Cut


class Answer(Enum):
    """What a table promise says to a proposed recoding."""

    YES = "keeps the promise"
    LATER = "breaks it now; may be proposed again after another step"
    NEVER = "breaks it now and after any further specialization"


class Watch(ABC):
    """A table promise at work on one table; may remember the recoding it last accepted."""

    in_full: str = ""
    """The last objection with its values, for somebody who asks to see them."""

    @abstractmethod
    def ask(self, cuts: Mapping[str, Cut], step: tuple[str, int] | None = None) -> tuple[Answer, str]:
        """Returns a judgement of a recoding, and why.

        `step` is (column, node) if the recoding is the last accepted one with that node specialized, so that
        an incremental check need not start over.
        """

    @abstractmethod
    def accept(self, cuts: Mapping[str, Cut]) -> None:
        """The search moved here."""


@runtime_checkable
class Deliberate(Protocol):
    """A watch that answers by a bound while a search runs, because the truth takes longer to find."""

    def settle(self, cuts: Mapping[str, Cut]) -> bool:
        """Whether the promise is kept for certain under these cuts."""
        ...

    def deliberate(self, most: int | None = None) -> None:
        """Answer exactly from now on; after `most` such answers, LATER where a bound does not say NEVER."""
        ...
