"""Which earlier releases of a chain show other columns of the same people."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.aligned_imprints import show_other_columns
from sfumato.core.imprint import Imprint
from sfumato.core.marks import are_known


def overlapping(imprints: Sequence[Imprint]) -> list[int]:
    """Returns the places, from 0, of releases that show other columns than the newest, of people in both.

    Whether people are in both is told by shared counts or by marks; where neither tells, they are.
    """
    newest = imprints[-1]
    return [
        i
        for i, earlier in enumerate(imprints[:-1])
        if show_other_columns(newest.names, newest.unchanged, earlier) and _share_people(i, earlier, newest)
    ]


def _share_people(i: int, earlier: Imprint, newest: Imprint) -> bool:
    known = newest.departures
    if known is not None and known.shared:
        return bool(known.shared[i].any())
    if not len(earlier.batches):
        return True
    return bool(are_known(earlier.batches, newest.batches).any())
