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
from sfumato.judge.chain.marks import in_order
from sfumato.judge.chain.remembered_release import unpacked


def check_people(
    documents: Sequence[Mapping[str, Any]], shared: Mapping[tuple[int, int], int], *, returns: bool
) -> None:
    """Raises where somebody is back who had left, or where marks contradict the numbers of people.

    `documents` are what is remembered of releases that tell people by a key, oldest first; `shared[i, j]` is
    how many people releases i < j are said to share in all, where that is said.
    """
    there = _presences([_marks(document) for document in documents])
    erased = [
        int(document["rows"]) - int(some.sum()) for document, some in zip(documents, there, strict=True)
    ]
    for i, few in enumerate(erased):
        if few < 0:
            raise _contradiction(i)
    if not returns:
        _refuse_returned(there)
    for (i, j), people in shared.items():
        both = int((there[i] & there[j]).sum())
        if not both <= people <= both + erased[i]:
            raise _contradiction(j)


def _marks(document: Mapping[str, Any]) -> NDArray[np.uint64]:
    try:
        return np.asarray(unpacked(document["batches"], "<u8"), np.uint64).reshape(-1, 2)
    except (KeyError, TypeError, ValueError):
        raise BadData("the imprint of a release is damaged", remedy="Restore it from a backup.") from None


def _presences(marks: Sequence[NDArray[np.uint64]]) -> list[NDArray[np.bool_]]:
    """Release by release, which of all people are in it; everybody has a number, in the order of marks."""
    every = np.concatenate([*marks, np.zeros((0, 2), np.uint64)])
    order = in_order(every)
    last = np.concatenate([[False], np.all(every[order[1:]] == every[order[:-1]], axis=1)])[: len(order)]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(~last) - 1
    found, begin = [], 0
    for some in marks:
        there = np.zeros(int((~last).sum()), dtype=bool)
        there[number[begin : begin + len(some)]] = True
        found.append(there)
        begin += len(some)
    return found


def _refuse_returned(there: Sequence[NDArray[np.bool_]]) -> None:
    known, gone = there[0].copy(), np.zeros_like(there[0])
    for some in there[1:]:
        if back := int((some & gone).sum()):
            raise RefusedByHistory(
                f"{back} people are in a release who were withheld from an earlier one, or had left",
                remedy="Whoever is withheld stays out, unless the chain says `returns: true`.",
            )
        gone |= known & ~some
        known |= some


def _contradiction(place: int) -> BadData:
    return BadData(
        f"the imprint of release {place + 1} says other numbers of people than its marks do",
        remedy="Restore it from a backup.",
    )
