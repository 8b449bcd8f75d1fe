"""The largest share that a variable can have of whole-number sums: a simplex search in whole numbers.

Every tableau entry is a whole number over one common denominator, so nothing is ever rounded. Where each
variable is part of nested sums (a table with margins, for one) the denominator stays 1 and every corner is a
whole-number solution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

DONE, NO_SOLUTION, GAVE_UP = 0, 1, 2
LARGEST_ENTRY = 1 << 30
"""Entries beyond this could overflow when multiplied."""
MOST_STALLS = 40
"""After so many steps on the spot the first column that helps is taken (Bland's rule), which cannot cycle."""
ENTRIES_PER_STEP = 16
"""Entries of a tableau that are changed in the time of one step."""


@njit(cache=True)
def _pivot(table: Longs, basis: Longs, row: int, column: int, over: Longs, steps_left: Longs) -> bool:
    """Make a column that of a row; False where numbers grow too large. `over`: the common denominator."""
    width, below, pivot = table.shape[1], over[0], table[row, column]
    steps_left[0] -= (width + len(table)) // ENTRIES_PER_STEP + 1
    for i in range(len(table)):
        factor = table[i, column]
        if i == row or (factor == 0 and pivot == below):
            continue
        steps_left[0] -= width // ENTRIES_PER_STEP + 1
        for j in range(width):
            if table[i, j] != 0 or table[row, j] != 0:
                entry = table[i, j] * pivot - factor * table[row, j]
                if below != 1:
                    entry //= below
                if abs(entry) > LARGEST_ENTRY:
                    return False
                table[i, j] = entry
    basis[row] = column
    over[0] = pivot
    return True


@njit(cache=True)
def _leaving(table: Longs, basis: Longs, column: int) -> int:
    """The row whose variable reaches zero first as the column grows; -1: none does."""
    last, leaving = table.shape[1] - 1, -1
    for i in range(len(basis)):
        if table[i, column] <= 0:
            continue
        if leaving >= 0:
            mine = table[i, last] * table[leaving, column]
            best = table[leaving, last] * table[i, column]
            if mine > best or (mine == best and basis[i] > basis[leaving]):
                continue
        leaving = i
    return leaving


@njit(cache=True)
def _entering(line: Longs, sign: int, stalled: bool) -> int:
    """A column with entries of this sign: the largest, or, where the search is stalled, the first."""
    entering, best = -1, 0
    for j in range(len(line) - 1):
        if line[j] * sign > best:
            entering, best = j, line[j] * sign
            if stalled:
                break
    return entering


@njit(cache=True)
def _begin(start: Longs, through: Ints, sums: Longs, steps_left: Longs) -> tuple[int, Longs, Longs, Longs]:
    """A first solution, perhaps in fractions: what came of it, the tableau, its basis and denominator.

    Variable v is part of the sums `through[start[v] : start[v+1]]`. Sums that follow from others keep no
    variable (-1) and a row of zeros.
    """
    rows, count = len(sums), len(start) - 1
    table = np.zeros((rows + 1, count + 1), np.int64)
    basis, over = np.full(rows, -1, np.int64), np.ones(1, np.int64)
    for v in range(count):
        for i in range(start[v], start[v + 1]):
            table[through[i], v] = 1
        table[rows, v] = start[v + 1] - start[v]
    table[:rows, count] = sums
    for one in sums:
        table[rows, count] += one
    stalls = 0
    while table[rows, count] > 0:
        column = _entering(table[rows], 1, stalls > MOST_STALLS)
        if column < 0:
            return NO_SOLUTION, table[:rows], basis, over
        row = _leaving(table[:rows], _ranked(basis), column)
        stalls = stalls + 1 if table[row, count] == 0 else 0
        if steps_left[0] < 0 or not _pivot(table, basis, row, column, over, steps_left):
            return GAVE_UP, table[:rows], basis, over
    for row in range(rows):
        if basis[row] >= 0:
            continue
        for v in range(count):
            if table[row, v] != 0:
                if table[row, v] < 0:
                    table[row] = -table[row]
                if not _pivot(table, basis, row, v, over, steps_left):
                    return GAVE_UP, table[:rows], basis, over
                break
    return DONE, table[:rows], basis, over


@njit(cache=True)
def _ranked(basis: Longs) -> Longs:
    """Rows without a variable leave first, in their order."""
    ranks = basis.copy()
    for i in range(len(basis)):
        if basis[i] < 0:
            ranks[i] = i - len(basis)
    return ranks


@njit(cache=True)
def _note(table: Longs, basis: Longs, over: int, least: Longs) -> bool:
    """Keep what a corner gives every variable, if it is all in whole numbers."""
    last = table.shape[1] - 1
    if over != 1:
        for i in range(len(basis)):
            if table[i, last] % over:
                return False
    for i in range(len(basis)):
        if basis[i] >= 0:
            least[basis[i]] = max(least[basis[i]], table[i, last] // over)
    return True


@njit(cache=True)
def _raise_each(
    wanted: NDArray[np.bool_],
    table: Longs,
    basis: Longs,
    over: Longs,
    least: Longs,
    most: Longs,
    steps_left: Longs,
) -> int:
    """Raise one wanted variable after the other, from corner to corner; ends where the steps run out."""
    last = table.shape[1] - 1
    _note(table, basis, over[0], least)
    for v in range(len(wanted)):
        if not wanted[v] or least[v] >= most[v]:
            continue
        row = -1
        for i in range(len(basis)):
            if basis[i] == v:
                row = i
        stalls = 0
        while True:
            column = v if row < 0 else _entering(table[row], -1, stalls > MOST_STALLS)
            if column < 0:
                most[v] = min(most[v], table[row, last] // over[0])
                break
            leaving = _leaving(table, basis, column)
            if leaving < 0:
                break
            stalls = stalls + 1 if table[leaving, last] == 0 else 0
            if steps_left[0] < 0 or not _pivot(table, basis, leaving, column, over, steps_left):
                return GAVE_UP
            row = leaving if row < 0 else row
            if table[row, last] >= most[v] * over[0] and _note(table, basis, over[0], least):
                break
        _note(table, basis, over[0], least)
    return DONE


@njit(cache=True)
def _part(
    members: NDArray[np.intp], start: Longs, through: Ints, sums: Longs, number: Ints
) -> tuple[Longs, Ints, Longs]:
    """The sums of some variables alone, numbered anew; `number` is -1 throughout, before and after."""
    length = 0
    for v in members:
        length += start[v + 1] - start[v]
    begin, rows = np.zeros(len(members) + 1, np.int64), np.empty(length, np.int32)
    held, used, count = np.empty(length, np.int64), 0, 0
    for i in range(len(members)):
        for j in range(start[members[i]], start[members[i] + 1]):
            if number[through[j]] < 0:
                number[through[j]], held[count] = count, sums[through[j]]
                count += 1
            rows[used] = number[through[j]]
            used += 1
        begin[i + 1] = used
    for v in members:
        for j in range(start[v], start[v + 1]):
            number[through[j]] = -1
    return begin, rows, held[:count]


@njit(cache=True)
def raise_all(
    parts: Longs,
    members: tuple[NDArray[np.intp], Longs],
    system: tuple[Longs, Ints, Longs],
    wanted: NDArray[np.bool_],
    least: Longs,
    most: Longs,
    steps_left: Longs,
) -> Longs:
    """For wanted variables the largest number that any solution gives them, part by part.

    `members` lists the variables of all parts and where each part begins. Variable v of the `system` (start,
    through, sums) is part of the sums `through[start[v] : start[v+1]]`. `least` and `most` are narrowed: what
    some whole-number solution gives, and what none exceeds. They go on to differ where the best corner is in
    fractions. Says of every part whether it is done, has no solution, or was given up as the steps ran out.
    """
    variables, first = members
    start, through, sums = system
    number, answers = np.full(len(sums), -1, np.int32), np.full(len(parts), GAVE_UP, np.int64)
    for p in range(len(parts)):
        if steps_left[0] < 0:
            break
        mine = variables[first[parts[p]] : first[parts[p] + 1]]
        answer, table, basis, over = _begin(*_part(mine, start, through, sums, number), steps_left)
        if answer == DONE:
            low, high = least[mine], most[mine]
            answer = _raise_each(wanted[mine], table, basis, over, low, high, steps_left)
            least[mine], most[mine] = low, high
        answers[p] = answer
    return answers
