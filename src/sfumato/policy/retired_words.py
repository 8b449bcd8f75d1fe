"""Words that policies once had and have no more: a policy that says one asks for what nothing keeps."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.core.problem import Place, Problem

STAY = "whoever was published has to stay in the table, and neither moves nor is corrected"
NEXT = "Leave the key out, or, if people have left the table, start a new chain with people never published."

RETIRED: Mapping[str, str] = {
    "continuous.until": f"departures are not judged any more: {STAY}.",
    "continuous.leavers": f"departures are not judged any more: {STAY}.",
    "continuous.returns": f"returns are not judged any more: {STAY}.",
    "continuous.moves": f"key columns that change are not judged any more: {STAY}.",
    "continuous.corrected": f"corrected values are not judged any more: {STAY}.",
    "continuous.companions": "nobody is withheld any more so that others are safe beside earlier releases.",
}
"""By the last two parts of its place: why a word is refused that must not be taken for a wrong spelling."""


def retired(place: Place) -> Problem | None:
    """Returns why the key at this place is refused; `None` where there never was such a key."""
    reason = RETIRED.get(".".join(map(str, place[-2:])))
    return None if reason is None else Problem(place, reason, NEXT)
