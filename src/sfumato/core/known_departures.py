"""What an imprint knows of people who left: nothing of anybody by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import packed, unpacked
from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.core.leavers import Leavers
from sfumato.core.marks import Marks
from sfumato.core.microdata import Counts


@dataclass(frozen=True, eq=False)
class KnownDepartures:
    """What a release of a table that people leave adds to its imprint: nothing of anybody by themselves.

    `leavers` says what is known of departures. `shared[i]` is how many people this release has in common with
    the i-th that it was made beside: one number per class, that of the component which the class belongs to,
    or one number in all, or none where departures are unknown. `returns`, `moves` and `corrected` say what
    else may happen. `batches` marks every batch so far, also those whose people have all left; `None` where
    people tell themselves apart.
    """

    leavers: Leavers
    shared: tuple[Counts, ...] = ()
    returns: bool = False
    moves: tuple[str, ...] = ()
    corrected: bool = False
    batches: Marks | None = None

    @property
    def terms(self) -> tuple[object, ...]:
        """What has to stay the same in a chain."""
        return (self.leavers, self.returns, self.moves, self.corrected)

    def as_dict(self) -> JsonObject:
        """JSON-ready; arrays are packed as text."""
        return {
            "leavers": self.leavers.value,
            "shared": [packed(numbers) for numbers in self.shared],
            "returns": self.returns,
            "moves": list(self.moves),
            "corrected": self.corrected,
        }

    @classmethod
    def from_dict(cls, words: JsonMapping) -> KnownDepartures:
        """Reads its JSON form; raises `ValueError` where that is not whole."""
        shared = tuple(unpacked(numbers, np.int64) for numbers in words["shared"])
        if any(np.any(numbers < 0) for numbers in shared):
            raise ValueError
        return cls(
            Leavers(words["leavers"]),
            shared,
            bool(words["returns"]),
            tuple(map(str, words["moves"])),
            bool(words["corrected"]),
        )
