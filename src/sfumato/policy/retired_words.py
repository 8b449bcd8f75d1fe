"""Words that a policy no longer has: why each is refused, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.core.problem import Place, Problem

STAY = "whoever was published has to stay in the table, and neither moves nor is corrected"
NEXT = "Leave the key out, or, if people have left the table, start a new chain with people never published."

RETIRED: Mapping[str, tuple[str, str]] = {
    "sfumato": (
        "is no longer a key: there is one form of policies.",
        "Leave the line out; look at what `protect` then searches for with `sfumato policy check`.",
    ),
    "known-search": (
        "is no longer a key: what adversaries learn from the search can be decided on tiny tables alone.",
        "Leave it out, and attack a table with `sfumato attack minimality` or `sfumato attack downcoding`.",
    ),
    "protect.stricter": (
        "is no longer a key: it was shown to help on tiny tables alone.",
        "Leave it out; to keep more than is needed, promise more, as in `l: 3` for `l: 2`.",
    ),
    "continuous.until": (f"departures are not judged any more: {STAY}.", NEXT),
    "continuous.leavers": (f"departures are not judged any more: {STAY}.", NEXT),
    "continuous.returns": (f"returns are not judged any more: {STAY}.", NEXT),
    "continuous.moves": (f"key columns that change are not judged any more: {STAY}.", NEXT),
    "continuous.corrected": (f"corrected values are not judged any more: {STAY}.", NEXT),
    "continuous.companions": (
        "nobody is withheld any more so that others are safe beside earlier releases.",
        NEXT,
    ),
}
"""By the last two parts of its place: why a word is refused that must not be taken for a wrong spelling."""


def retired(place: Place) -> Problem | None:
    """Returns why the key at this place is refused; `None` where there never was such a key."""
    gone = RETIRED.get(".".join(map(str, place[-2:])))
    return None if gone is None else Problem(place, *gone)
