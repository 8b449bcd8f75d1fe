"""Who is in which release, by the marks that imprints keep of keys: nobody comes back unsaid.

Whoever is withheld from a release counts as having left, and everything that is judged of the chain rests on
their staying out, and on the number of people that two releases are said to share. Where people asked to be
erased, imprints have fewer marks than rows, and the numbers may differ by as many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadData, RefusedByHistory
from sfumato.judge.chain.remembered_release import unpacked

PAIR = np.dtype([("a", "<u8"), ("b", "<u8")])


def check_people(
    documents: Sequence[Mapping[str, Any]], shared: Mapping[tuple[int, int], int], *, returns: bool
) -> None:
    """Raises where somebody is back who had left, or where marks contradict the numbers of people.

    `documents` are what is remembered of releases that tell people by a key, oldest first; `shared[i, j]` is
    how many people releases i < j are said to share in all, where that is said.
    """
    marks = [_marks(document) for document in documents]
    erased = [int(document["rows"]) - len(some) for document, some in zip(documents, marks, strict=True)]
    for i, few in enumerate(erased):
        if few < 0:
            raise _contradiction(i)
    if not returns:
        _refuse_returned(marks)
    for (i, j), people in shared.items():
        both = int(np.isin(marks[i], marks[j]).sum())
        if not both <= people <= both + erased[i]:
            raise _contradiction(j)


def _marks(document: Mapping[str, Any]) -> NDArray[Any]:
    try:
        return np.unique(np.ascontiguousarray(unpacked(document["batches"], "<u8")).view(PAIR))
    except (KeyError, TypeError, ValueError):
        raise BadData("the imprint of a release is damaged", remedy="Restore it from a backup.") from None


def _refuse_returned(marks: Sequence[NDArray[Any]]) -> None:
    known, gone = marks[0], marks[0][:0]
    for some in marks[1:]:
        if back := int(np.isin(some, gone).sum()):
            raise RefusedByHistory(
                f"{back} people are in a release who were withheld from an earlier one, or had left",
                remedy="Whoever is withheld stays out, unless the chain says `returns: true`.",
            )
        gone = np.union1d(gone, known[~np.isin(known, some)])
        known = np.union1d(known, some)


def _contradiction(place: int) -> BadData:
    return BadData(
        f"the imprint of release {place + 1} says other numbers of people than its marks do",
        remedy="Restore it from a backup.",
    )
