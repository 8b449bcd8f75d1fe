"""Whole numbers that add up: a compiled depth-first search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

NO, YES, GAVE_UP = 0, 1, 2


@njit(cache=True)
def _most(variable: int, start: Longs, through: Ints, left: Longs) -> int:
    most: int = left[through[start[variable]]]
    for i in range(start[variable] + 1, start[variable + 1]):
        most = min(most, left[through[i]])
    return most


@njit(cache=True)
def _within_reach(
    place: int, start: Longs, through: Ints, left: Longs, members: tuple[Longs, Ints], steps_left: Longs
) -> bool:
    """Whether the variables after this place can still use up the sums that it is part of."""
    begin, member = members
    for i in range(start[place], start[place + 1]):
        row, reach = through[i], 0
        for m in range(begin[row + 1] - 1, begin[row] - 1, -1):
            if member[m] <= place or reach >= left[row]:
                break
            steps_left[0] -= 1
            reach += _most(member[m], start, through, left)
        if reach < left[row]:
            return False
    return True


@njit(cache=True)
def _used_up(left: Longs) -> bool:
    """Whether nothing is left of any sum."""
    for one in left:  # noqa: SIM110  # compiled: no generators
        if one != 0:
            return False
    return True


@njit(cache=True, inner=True)
def fill(
    start: Longs, through: Ints, sums: Longs, members: tuple[Longs, Ints], amount: Longs, steps_left: Longs
) -> int:
    """Whether whole numbers can be given to variables so that every sum comes out.

    Variable v is part of the sums `through[start[v] : start[v+1]]`; `members` lists the variables of every
    sum, ascending, and where they begin. Larger numbers are tried first; a branch ends where a sum cannot be
    used up any more. The numbers are written to `amount`, which has one place more than there are variables.
    Every look at a variable takes one off `steps_left`, a single number that goes on to the next call; the
    search gives up where it is used up.
    """
    count = len(start) - 1
    left, place = sums.copy(), 0
    amount[:] = -1
    while place >= 0:
        if place == count:
            if _used_up(left):
                return YES
            place -= 1
            continue
        steps_left[0] -= 1
        if steps_left[0] < 0:
            return GAVE_UP
        if amount[place] < 0:
            amount[place] = _most(place, start, through, left) + 1
        else:
            for i in range(start[place], start[place + 1]):
                left[through[i]] += amount[place]
        amount[place] -= 1
        if amount[place] < 0:
            place -= 1
            continue
        for i in range(start[place], start[place + 1]):
            left[through[i]] -= amount[place]
        if _within_reach(place, start, through, left, members, steps_left):
            place += 1
            amount[place] = -1
    return NO


@njit(cache=True)
def _without(target: int, start: Longs, through: Ints) -> tuple[Longs, Ints]:
    """Returns the variables but one, with the sums that each is part of."""
    begin, end = start[target], start[target + 1]
    rest = np.concatenate((through[:begin], through[end:]))
    first = np.empty(len(start) - 1, np.int64)
    first[: target + 1] = start[: target + 1]
    first[target + 1 :] = start[target + 2 :] - (end - begin)
    return first, rest


@njit(cache=True)
def _members_without(target: int, begin: Longs, member: Ints) -> tuple[Longs, Ints]:
    """Returns the variables of every sum but one variable; those after it are numbered one less."""
    first, rest, count = np.zeros(len(begin), np.int64), np.empty(len(member), np.int32), 0
    for row in range(len(begin) - 1):
        for m in range(begin[row], begin[row + 1]):
            if member[m] != target:
                rest[count] = member[m] - 1 if member[m] > target else member[m]
                count += 1
        first[row + 1] = count
    return first, rest[:count]


@njit(cache=True)
def raise_by_search(
    target: int,
    system: tuple[Longs, Ints, Longs],
    members: tuple[Longs, Ints],
    bounds: tuple[Longs, Longs, Longs],
    tries: int,
    steps_left: Longs,
) -> None:
    """Narrows how much a variable can be, by whole numbers that `fill` finds for all others.

    `system` are `start`, `through` and `sums`, as `fill` has them. `bounds` are what every variable was seen
    to be at least, what it is at most, and what it was in the numbers that were found last (-1: never). The
    most is asked for first; where it cannot be, one less, and where `tries` steps do not tell, about half. A
    look at a number costs what its search takes of `steps_left`, and as much as there are variables.
    """
    (start, through, sums), (least, most, found) = system, bounds
    others, rest = _without(target, start, through)
    first, member = _members_without(target, members[0], members[1])
    amount, mine, asked = np.empty(len(start) - 1, np.int64), np.empty(1, np.int64), most[target]
    while least[target] < asked and steps_left[0] > 0:
        left, answer = sums.copy(), YES
        for i in range(start[target], start[target + 1]):
            left[through[i]] -= asked
        for row in range(len(left)):
            if first[row] == first[row + 1] and left[row] != 0:
                answer = NO
        mine[0] = tries
        if answer == YES:
            answer = fill(others, rest, left, (first, member), amount, mine)
        steps_left[0] -= tries - mine[0] + len(others) - 1
        if answer == YES:
            least[target] = found[target] = asked
            for other in range(len(others) - 1):
                v = other + 1 if other >= target else other
                found[v] = amount[other]
                least[v] = max(least[v], amount[other])
        elif answer == NO and asked == most[target]:
            asked -= 1
            most[target] = asked
        else:
            asked = (asked + least[target]) // 2


@njit(cache=True)
def components_of(start: Longs, through: Ints, sums: int) -> Ints:
    """Variables that share sums, directly or through others, get the same number; 0, 1, ... as they come."""
    parent = np.arange(sums, dtype=np.int32)
    for v in range(len(start) - 1):
        first = through[start[v]]
        while parent[first] != first:
            parent[first] = parent[parent[first]]
            first = parent[first]
        for i in range(start[v] + 1, start[v + 1]):
            other = through[i]
            while parent[other] != other:
                parent[other] = parent[parent[other]]
                other = parent[other]
            if other < first:
                first, other = other, first
            parent[other] = first
    component, number, count = np.empty(len(start) - 1, np.int32), np.full(sums, -1, np.int32), 0
    for v in range(len(start) - 1):
        root = through[start[v]]
        while parent[root] != root:
            root = parent[root]
        if number[root] < 0:
            number[root] = count
            count += 1
        component[v] = number[root]
    return component
