"""Overlaps of histograms: compiled loops over pairs of sets that share a block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

NO_OVERLAP = np.iinfo(np.int64).max


@njit(cache=True)
def least_overlaps(
    start: Int64s,
    block: Int32s,
    count: Int64s,
    begin: Int64s,
    owner: Int32s,
    other_count: Int64s,
    others: int,
) -> tuple[Int64s, Int32s, Int64s, Int32s, Int64s]:
    """Of every set the smallest positive overlap with a set of the other side, and with which.

    Set a holds entries `start[a] .. start[a+1]-1`, each in a `block` with a `count`. The other side's entries
    are sorted by block: those of block b are `begin[b] .. begin[b+1]-1`, entry i belongs to set `owner[i]`.
    The overlap of two sets is the sum over their common blocks of the smaller count. Returns for both sides
    the least overlap (NO_OVERLAP where there is none) and its partner, and how many partners each set has.
    """
    sets = len(start) - 1
    least, with_whom = np.full(sets, NO_OVERLAP, np.int64), np.full(sets, -1, np.int32)
    back, back_whom = np.full(others, NO_OVERLAP, np.int64), np.full(others, -1, np.int32)
    partners = np.zeros(sets, np.int64)
    sums = np.zeros(others, np.int64)
    touched = np.empty(others, np.int32)
    for a in range(sets):
        used = 0
        for i in range(start[a], start[a + 1]):
            b = block[i]
            if b < 0:
                continue
            for j in range(begin[b], begin[b + 1]):
                o = owner[j]
                if sums[o] == 0:
                    touched[used] = o
                    used += 1
                sums[o] += min(count[i], other_count[j])
        partners[a] = used
        for t in range(used):
            o = touched[t]
            value = sums[o]
            sums[o] = 0
            if value < least[a] or (value == least[a] and o < with_whom[a]):
                least[a], with_whom[a] = value, o
            if value < back[o]:
                back[o], back_whom[o] = value, a
    return least, with_whom, back, back_whom, partners


# Sets of rows beside earlier sets of rows: compiled loops for checks that follow a splitting search.
#
# Rows carry a value and, for each earlier labelling, a block. Parts are sets of rows made by one split;
# they are numbered branch by branch.


@njit(cache=True)
def values_of_parts(
    member: Int32s, start: Int64s, value: Int32s, weight: Int64s, slot: Int64s
) -> tuple[Int64s, Int32s, Int64s, Int32s]:
    """The values in each part, with their weight and a row that has it; `slot` has one place per value."""
    parts = len(start) - 1
    begin = np.zeros(parts + 1, np.int64)
    values = np.empty(len(member), np.int32)
    count = np.zeros(len(member), np.int64)
    example = np.empty(len(member), np.int32)
    slot[:] = -1
    used = 0
    for p in range(parts):
        for i in range(start[p], start[p + 1]):
            row = member[i]
            v = value[row]
            if slot[v] < begin[p]:
                slot[v] = used
                values[used] = v
                example[used] = row
                used += 1
            count[slot[v]] += weight[row]
        begin[p + 1] = used
    return begin, values[:used].copy(), count[:used].copy(), example[:used].copy()


@njit(cache=True)
def weight_of_blocks(
    order: Int32s,
    bounds: Int64s,
    block: Int32s,
    weight: Int64s,
    kind: Int32s,
    example: Int32s,
    branch: Int32s,
    total: Int64s,
) -> Int64s:
    """The weight of each example's block within its branch, by kind; `total` holds zeros, by block and kind.

    Branch b holds the rows `order[bounds[b] : bounds[b+1]]`; examples are sorted by branch.
    """
    weights = np.zeros((len(example), total.shape[1]), np.int64)
    i = 0
    for b in range(len(bounds) - 1):
        for p in range(bounds[b], bounds[b + 1]):
            row = order[p]
            total[block[row], kind[row]] += weight[row]
        while i < len(example) and branch[i] == b:
            weights[i] = total[block[example[i]]]
            i += 1
        for p in range(bounds[b], bounds[b + 1]):
            total[block[order[p]], kind[order[p]]] = 0
    return weights


@njit(cache=True)
def least_of_parts(
    begin: Int64s,
    block: Int32s,
    caps: Int64s,
    branch: Int32s,
    cells: tuple[Int64s, Int32s, Int64s, Int32s, Int32s],
    rows: tuple[Int32s, Int64s, Int32s],
    sums: Int64s,
    enough: int,
) -> tuple[int, int]:
    """The least positive overlap of a part with a cell, over all cells and over those that a row is in.

    Part p holds the entries `begin[p] .. begin[p+1]-1`, each in a block; entry i counts `caps[t, i]` for the
    cells of time t. `cells` holds, by block: where its entries begin, their cell and count; the branch of
    every cell (no entries: no filter), and its time. `rows` holds the members of each part, where they begin,
    and the cell of every row (-1: none). `sums` holds zeros, one per cell. Stops once a cell that a row is in
    has less than `enough`.
    """
    first, cell, size, side, time = cells
    member, start, inside = rows
    least, real = NO_OVERLAP, NO_OVERLAP
    touched = np.empty(len(sums), np.int32)
    for p in range(len(begin) - 1):
        used = 0
        for i in range(begin[p], begin[p + 1]):
            b = block[i]
            for j in range(first[b], first[b + 1]):
                c = cell[j]
                more = min(caps[time[c], i], size[j])
                if more == 0 or (len(side) > 0 and side[c] != branch[p]):
                    continue
                if sums[c] == 0:
                    touched[used] = c
                    used += 1
                sums[c] += more
        for i in range(start[p], start[p + 1]):
            c = inside[member[i]]
            if c >= 0:
                real = min(real, sums[c])
        for t in range(used):
            least = min(least, sums[touched[t]])
            sums[touched[t]] = 0
        if real < enough:
            break
    return least, real


@njit(cache=True)
def survivors_of_parts(
    begin: Int64s,
    value: Int32s,
    block: Int32s,
    caps: Int64s,
    branch: Int32s,
    cells: tuple[Int64s, Int32s, Int64s, Int32s, Int32s],
    most: int,
) -> tuple[Int64s, Int32s, Int64s]:
    """The records of each value that a part and a cell can share: number of the pair, value, count.

    A pair is numbered part * cells + cell. At most `most` entries are written.
    """
    first, cell, size, side, time = cells
    width = 1
    for c in cell:
        width = max(width, c + 1)
    room = 0
    for p in range(len(begin) - 1):
        for i in range(begin[p], begin[p + 1]):
            room += first[block[i] + 1] - first[block[i]]
    room = min(room, most)
    pair, values, left = np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int64)
    used = 0
    for p in range(len(begin) - 1):
        for i in range(begin[p], begin[p + 1]):
            for j in range(first[block[i]], first[block[i] + 1]):
                more = min(caps[time[cell[j]], i], size[j])
                if more == 0 or (len(side) > 0 and side[cell[j]] != branch[p]):
                    continue
                if used == room:
                    return pair, values, left
                pair[used], values[used], left[used] = np.int64(p) * width + cell[j], value[i], more
                used += 1
    return pair[:used].copy(), values[:used].copy(), left[:used].copy()


# The largest share that a variable can have of whole-number sums: a simplex search in whole numbers.
#
# Every tableau entry is a whole number over one common denominator, so nothing is ever rounded. Where each
# variable is part of nested sums (a table with margins, for one) the denominator stays 1 and every corner
# is a whole-number solution.

DONE, NO_SOLUTION, GAVE_UP = 0, 1, 2
LARGEST_ENTRY = 1 << 30
"""Entries beyond this could overflow when multiplied."""
MOST_STALLS = 40
"""After so many steps on the spot the first column that helps is taken (Bland's rule), which cannot cycle."""
ENTRIES_PER_STEP = 16
"""Entries of a tableau that are changed in the time of one step."""


@njit(cache=True)
def _pivot(table: Int64s, basis: Int64s, row: int, column: int, over: Int64s, steps_left: Int64s) -> bool:
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
def _leaving(table: Int64s, basis: Int64s, column: int) -> int:
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
def _entering(line: Int64s, sign: int, stalled: bool) -> int:
    """A column with entries of this sign: the largest, or, where the search is stalled, the first."""
    entering, best = -1, 0
    for j in range(len(line) - 1):
        if line[j] * sign > best:
            entering, best = j, line[j] * sign
            if stalled:
                break
    return entering


@njit(cache=True)
def _begin(
    start: Int64s, through: Int32s, sums: Int64s, steps_left: Int64s
) -> tuple[int, Int64s, Int64s, Int64s]:
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
    for total in sums:
        table[rows, count] += total
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
def _ranked(basis: Int64s) -> Int64s:
    """Rows without a variable leave first, in their order."""
    ranks = basis.copy()
    for i in range(len(basis)):
        if basis[i] < 0:
            ranks[i] = i - len(basis)
    return ranks


@njit(cache=True)
def _note(table: Int64s, basis: Int64s, over: int, least: Int64s) -> bool:
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
    table: Int64s,
    basis: Int64s,
    over: Int64s,
    least: Int64s,
    most: Int64s,
    steps_left: Int64s,
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
    members: NDArray[np.intp], start: Int64s, through: Int32s, sums: Int64s, number: Int32s
) -> tuple[Int64s, Int32s, Int64s]:
    """The sums of some variables alone, numbered anew; `number` is -1 throughout, before and after."""
    length = 0
    for v in members:
        length += start[v + 1] - start[v]
    begin, rows = np.zeros(len(members) + 1, np.int64), np.empty(length, np.int32)
    part_sums, used, count = np.empty(length, np.int64), 0, 0
    for i in range(len(members)):
        for j in range(start[members[i]], start[members[i] + 1]):
            if number[through[j]] < 0:
                number[through[j]], part_sums[count] = count, sums[through[j]]
                count += 1
            rows[used] = number[through[j]]
            used += 1
        begin[i + 1] = used
    for v in members:
        for j in range(start[v], start[v + 1]):
            number[through[j]] = -1
    return begin, rows, part_sums[:count]


@njit(cache=True)
def raise_all(
    parts: Int64s,
    members: tuple[NDArray[np.intp], Int64s],
    system: tuple[Int64s, Int32s, Int64s],
    wanted: NDArray[np.bool_],
    least: Int64s,
    most: Int64s,
    steps_left: Int64s,
) -> Int64s:
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


# Whole numbers that add up: a compiled depth-first search.

NO, YES, SUMS_GAVE_UP = 0, 1, 2


@njit(cache=True)
def _most(variable: int, start: Int64s, through: Int32s, left: Int64s) -> int:
    most: int = left[through[start[variable]]]
    for i in range(start[variable] + 1, start[variable + 1]):
        most = min(most, left[through[i]])
    return most


@njit(cache=True)
def _within_reach(
    place: int,
    start: Int64s,
    through: Int32s,
    left: Int64s,
    members: tuple[Int64s, Int32s],
    steps_left: Int64s,
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
def _used_up(left: Int64s) -> bool:
    """Whether nothing is left of any sum."""
    for amount in left:  # noqa: SIM110  # compiled: no generators
        if amount != 0:
            return False
    return True


@njit(cache=True, inner=True)
def fill(
    start: Int64s,
    through: Int32s,
    sums: Int64s,
    members: tuple[Int64s, Int32s],
    amount: Int64s,
    steps_left: Int64s,
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
            return SUMS_GAVE_UP
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
def _without(target: int, start: Int64s, through: Int32s) -> tuple[Int64s, Int32s]:
    """Returns the variables but one, with the sums that each is part of."""
    begin, end = start[target], start[target + 1]
    remaining = np.concatenate((through[:begin], through[end:]))
    first = np.empty(len(start) - 1, np.int64)
    first[: target + 1] = start[: target + 1]
    first[target + 1 :] = start[target + 2 :] - (end - begin)
    return first, remaining


@njit(cache=True)
def _members_without(target: int, begin: Int64s, member: Int32s) -> tuple[Int64s, Int32s]:
    """Returns the variables of every sum but one variable; those after it are numbered one less."""
    first, renumbered, count = np.zeros(len(begin), np.int64), np.empty(len(member), np.int32), 0
    for row in range(len(begin) - 1):
        for m in range(begin[row], begin[row + 1]):
            if member[m] != target:
                renumbered[count] = member[m] - 1 if member[m] > target else member[m]
                count += 1
        first[row + 1] = count
    return first, renumbered[:count]


@njit(cache=True)
def raise_by_search(
    target: int,
    system: tuple[Int64s, Int32s, Int64s],
    members: tuple[Int64s, Int32s],
    bounds: tuple[Int64s, Int64s, Int64s],
    tries: int,
    steps_left: Int64s,
) -> None:
    """Narrows how much a variable can be, by whole numbers that `fill` finds for all others.

    `system` are `start`, `through` and `sums`, as `fill` has them. `bounds` are what every variable was seen
    to be at least, what it is at most, and what it was in the numbers that were found last (-1: never). The
    most is asked for first; where it cannot be, one less, and where `tries` steps do not tell, about half. A
    look at a number costs what its search takes of `steps_left`, and as much as there are variables.
    """
    (start, through, sums), (least, most, last_found) = system, bounds
    others, through_others = _without(target, start, through)
    first, member = _members_without(target, members[0], members[1])
    amount, mine, wanted = np.empty(len(start) - 1, np.int64), np.empty(1, np.int64), most[target]
    while least[target] < wanted and steps_left[0] > 0:
        left, answer = sums.copy(), YES
        for i in range(start[target], start[target + 1]):
            left[through[i]] -= wanted
        for row in range(len(left)):
            if first[row] == first[row + 1] and left[row] != 0:
                answer = NO
        mine[0] = tries
        if answer == YES:
            answer = fill(others, through_others, left, (first, member), amount, mine)
        steps_left[0] -= tries - mine[0] + len(others) - 1
        if answer == YES:
            least[target] = last_found[target] = wanted
            for place in range(len(others) - 1):
                v = place + 1 if place >= target else place
                last_found[v] = amount[place]
                least[v] = max(least[v], amount[place])
        elif answer == NO and wanted == most[target]:
            wanted -= 1
            most[target] = wanted
        else:
            wanted = (wanted + least[target]) // 2


@njit(cache=True)
def components_of(start: Int64s, through: Int32s, sums: int) -> Int32s:
    """Variables that share sums, directly or through others, get the same number; 0, 1, ... as they come."""
    parent = np.arange(sums, dtype=np.int32)
    for v in range(len(start) - 1):
        first = through[start[v]]
        while parent[first] != first:
            parent[first] = parent[parent[first]]
            first = parent[first]
        for i in range(start[v] + 1, start[v + 1]):
            second = through[i]
            while parent[second] != second:
                parent[second] = parent[parent[second]]
                second = parent[second]
            if second < first:
                first, second = second, first
            parent[second] = first
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


# Looking up numbers in sorted arrays, for compiled code.
#
# Numba's own functions on arrays are quicker to write, but machine code that holds one of them loads the
# module it is from, and SciPy where that is installed: a quarter of a second at the start of a process.


@njit(cache=True, inner=True)
def first_place(numbers: NDArray[Any], wanted: int) -> int:
    """Returns how many of the ascending numbers are below the wanted one, as `np.searchsorted` does."""
    low, high = 0, len(numbers)
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
