"""Positions of people: where somebody has several rows, what all of them show together.

The position of a person is the multiset of the classes of their rows. Whoever knows all key values of a
person knows the position, and nothing published tells the people of one position apart. So promises are
judged on positions, each person once (`judged_groups`). A finer recoding splits positions, as it splits
classes, and moves nobody from one to another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Codes, Microdata
from sfumato.core.packing import Packing, sort_and_count

Longs = NDArray[np.int64]

NOWHERE = -1
"""The position of people of whom nothing is published."""


def judged_groups(table: Microdata, class_of: NDArray[np.integer]) -> NDArray[np.integer]:
    """Returns the group of every distinct row that promises are judged on: its class, or a person's position.

    Rows with a negative class are left out, and stay so.
    """
    return positions(table, class_of) if table.profiles else class_of


def positions(table: Microdata, class_of: NDArray[np.integer]) -> Codes:
    """Returns the position of the person of every distinct row; a negative class leaves a row out.

    >>> from sfumato.core.microdata import Column, Role
    >>> from sfumato.core.taxonomy import Taxonomy
    >>> month = Column("month", Role.QUASI, Taxonomy.flat(["Jan", "Feb"]))
    >>> who, when = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0])
    >>> table = Microdata.of_codes([month], [when], person=who)
    >>> table.person.tolist(), positions(table, table.codes("month")).tolist()
    ([0, 1, 2, 0, 1], [1, 1, 0, 1, 1])
    """
    person = table.person
    if person is None:
        return class_of.astype(np.int32)
    kept = class_of >= 0
    of_person = np.full(int(person.max(initial=-1)) + 1, NOWHERE, np.int32)
    who, position = multisets(person[kept], class_of[kept], table.counts[kept])
    of_person[who] = position
    return np.where(kept, of_person[person], NOWHERE).astype(np.int32)


def multisets(
    owner: NDArray[np.integer], item: NDArray[np.integer], times: NDArray[np.integer]
) -> tuple[Codes, Codes]:
    """Returns every owner once, ascending, and a number for the multiset of items that the owner holds.

    Entry i says that `owner[i]` holds `item[i]` so many times more. Equal multisets have equal numbers, from
    0 on without gaps. Neighbouring items are joined two by two until everybody has one, so the time is that
    of a few sorts, also where somebody holds very many.

    >>> who, held = multisets(np.array([7, 7, 9, 9, 8]), np.array([1, 2, 2, 1, 1]), np.ones(5, np.int64))
    >>> who.tolist(), held.tolist()
    ([7, 8, 9], [1, 0, 1])
    """
    packing = Packing((int(owner.max(initial=0)) + 1, int(item.max(initial=0)) + 1))
    words, sums = sort_and_count(packing.pack([owner, item]), times.astype(np.int64))
    who, held = packing.unpack(words, 0), packing.unpack(words, 1)
    _, often = np.unique(sums, return_inverse=True)
    number = _numbered(held.astype(np.int64), often.ravel())
    while True:
        first = np.flatnonzero(np.diff(who, prepend=-1))
        if len(first) == len(who):
            return who, number.astype(np.int32)
        length = np.diff(np.append(first, len(who)))
        place = np.arange(len(who)) - np.repeat(first, length)
        left = np.flatnonzero(place % 2 == 0)
        alone = place[left] + 1 == np.repeat(length, length)[left]
        right = np.where(alone, 0, number[np.minimum(left + 1, len(who) - 1)] + 1)
        who, number = who[left], _numbered(number[left], right)


def _numbered(one: Longs, other: NDArray[np.integer]) -> Longs:
    """Returns a number for every pair, equal for equal pairs, in the order of the pairs."""
    pairs = one.astype(np.int64) * (int(other.max(initial=0)) + 1) + other
    _, number = np.unique(pairs, return_inverse=True)
    return number.ravel().astype(np.int64)
