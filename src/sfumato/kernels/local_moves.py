"""Moves of key groups between classes that lower the total price, where only sizes are promised."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

# Classes of key groups: each publishes its box, the lowest node over its members in every column.
#
# Nodes of all columns have one numbering, column after column in preorder, so a box is an array of node
# numbers and no loop needs to know which column it is in. Prices are whole numbers: sums do not depend on
# their order.

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

NOBODY = -1
FAR = 1 << 61
"""More than any total."""
BARRED = 1 << 40
"""The price of a node that may not be published, more than that of any box that may."""


class Forest(NamedTuple):
    """The trees of all columns: parent and end of every node, and what a row published as it loses."""

    parent: Int32s
    end: Int32s
    price: Int64s


class KeyClasses(NamedTuple):
    """Key groups in classes, changed in place.

    Group g has the leaves `leaf[g]` and `weight[g]` rows. It is in class `class_of[g]`, or in none
    (NOBODY). The members of class c are a list: `first[c]`, then `after[g]`, with `before[g]` to walk back.
    `size`, `box` and `cost` (the price of the box for one row) belong to a class; a class of size 0 is
    unused.
    """

    leaf: Int32s
    weight: Int64s
    class_of: Int32s
    after: Int32s
    before: Int32s
    first: Int32s
    size: Int64s
    box: Int32s
    cost: Int64s


@njit(cache=True, inline="always", inner=True)
def lowest_cover(forest: Forest, node: int, second: int) -> int:
    """The lowest node over two nodes of one tree."""
    while not node <= second < forest.end[node]:
        node = forest.parent[node]
    return node


@njit(cache=True, inner=True, borrows=True)
def joined_cost(forest: Forest, box: Int32s, second: Int32s, bound: int) -> int:
    """What a row loses in the lowest box over two boxes; once that exceeds the bound, something above it."""
    cost = 0
    for j in range(len(box)):
        cost += forest.price[lowest_cover(forest, box[j], second[j])]
        if cost > bound:
            break
    return cost


@njit(cache=True, inner=True, borrows=True)
def growth(classes: KeyClasses, forest: Forest, group: int, target: int, bound: int) -> int:
    """How much the total rises when a group joins this class; once that reaches the bound, the bound.

    The bound also where the class would publish a node that is barred.
    """
    size, weight = classes.size[target], classes.weight[group]
    before = size * classes.cost[target]
    if weight * classes.cost[target] >= bound:
        return bound
    most = (bound + before + size + weight - 1) // (size + weight)
    cost = 0
    for j in range(classes.box.shape[1]):
        cost += forest.price[lowest_cover(forest, classes.box[target, j], classes.leaf[group, j])]
        if cost >= most:
            return bound
    return bound if cost >= BARRED else int((size + weight) * cost - before)


@njit(cache=True, inner=True, borrows=True)
def relief(classes: KeyClasses, forest: Forest, group: int, witness: Int32s | None = None) -> int:
    """How much the total falls when a group leaves its class; faster where its witnesses are known."""
    owner = classes.class_of[group]
    size = classes.size[owner]
    left = size - classes.weight[group]
    if left == 0:
        return int(size * classes.cost[owner])
    cost = 0
    for j in range(classes.box.shape[1]):
        if witness is None or group == classes.first[owner] or group == witness[j] or witness[j] == NOBODY:
            node = _node_without(classes, forest, group, owner, j)
        else:
            node = classes.box[owner, j]
        cost += forest.price[node]
    return int(size * classes.cost[owner] - left * cost)


@njit(cache=True, borrows=True)
def _node_without(classes: KeyClasses, forest: Forest, group: int, owner: int, j: int) -> int:
    """The lowest node in column j over the members of a class except one."""
    whole = classes.box[owner, j]
    node = -1
    member = classes.first[owner]
    while member != NOBODY:
        if member != group:
            leaf = classes.leaf[member, j]
            node = leaf if node < 0 else lowest_cover(forest, node, leaf)
            if node == whole:
                break
        member = classes.after[member]
    return node


@njit(cache=True, inner=True, borrows=True)
def find_witnesses(classes: KeyClasses, forest: Forest, owner: int, witness: Int32s) -> None:
    """Writes per column the member that makes the box of a class what it is, beside the first, or NOBODY.

    The node over the members before it is below that of the box, so the two of them alone have that node:
    whoever else leaves the class, it stays.
    """
    for j in range(classes.box.shape[1]):
        whole = classes.box[owner, j]
        member = classes.first[owner]
        node = classes.leaf[member, j]
        while node != whole:
            member = classes.after[member]
            if member == NOBODY:
                break
            node = lowest_cover(forest, node, classes.leaf[member, j])
        witness[j] = member


@njit(cache=True, borrows=True)
def join(classes: KeyClasses, forest: Forest, group: int, target: int) -> int:
    """Puts a group without a class into this one; returns how much the total rises."""
    size = classes.size[target]
    old = size * classes.cost[target]
    cost = 0
    for j in range(classes.box.shape[1]):
        leaf = classes.leaf[group, j]
        node = leaf if size == 0 else lowest_cover(forest, classes.box[target, j], leaf)
        classes.box[target, j] = node
        cost += forest.price[node]
    head = classes.first[target] if size else NOBODY
    classes.after[group] = head
    classes.before[group] = NOBODY
    if head != NOBODY:
        classes.before[head] = group
    classes.first[target] = group
    classes.class_of[group] = target
    classes.size[target] = size + classes.weight[group]
    classes.cost[target] = cost
    return int((size + classes.weight[group]) * cost - old)


@njit(cache=True, inner=True, borrows=True)
def leave(classes: KeyClasses, forest: Forest, group: int) -> int:
    """Takes a group out of its class; returns how much the total falls."""
    owner = classes.class_of[group]
    old = classes.size[owner] * classes.cost[owner]
    left = classes.size[owner] - classes.weight[group]
    cost = 0
    if left:
        for j in range(classes.box.shape[1]):
            node = _node_without(classes, forest, group, owner, j)
            classes.box[owner, j] = node
            cost += forest.price[node]
    after, before = classes.after[group], classes.before[group]
    if before == NOBODY:
        classes.first[owner] = after
    else:
        classes.after[before] = after
    if after != NOBODY:
        classes.before[after] = before
    classes.class_of[group] = NOBODY
    classes.size[owner] = left
    classes.cost[owner] = cost
    return int(old - left * cost)


@njit(cache=True)
def fill(classes: KeyClasses, forest: Forest, target_of: Int32s) -> int:
    """Puts every group that has a target into it; returns the total."""
    total = 0
    for group in range(len(target_of) - 1, -1, -1):
        if target_of[group] >= 0:
            total += join(classes, forest, group, target_of[group])
    return total


@njit(cache=True)
def place_rest(classes: KeyClasses, forest: Forest, count: int) -> int:
    """Puts every group without a class where the total rises least, the first of equals; returns how many."""
    placed = 0
    for group in range(len(classes.class_of)):
        if classes.class_of[group] != NOBODY:
            continue
        best, least = NOBODY, FAR
        for target in range(count):
            if classes.size[target]:
                rise = growth(classes, forest, group, target, least)
                if rise < least:
                    best, least = target, rise
        join(classes, forest, group, max(best, 0))
        placed += 1
    return placed


NONE = -1
CHAINED_TARGETS = 3
"""Target classes that a chain of two moves is tried with."""


REFILLS = 8
"""Neighbours of each member that may complete a class."""
CLOSEST = 4
"""Neighbours whose classes, when they change, make a group worth another look."""


class MoveLimits(NamedTuple):
    """`least` rows per class; `dear`: the price from which a new class is tried; `most` steps, counted."""

    least: int
    dear: int
    most: int


class Journal(NamedTuple):
    """What was moved since the last success: groups and the classes they left; and `number`: entries, steps
    counted, and the first class that was never used. `best` and `rises` are room for a few targets."""

    group: Int32s
    origin: Int32s
    number: Int64s
    best: Int64s
    rises: Int64s


class Board(NamedTuple):
    """What every move looks at: the classes, the trees, the neighbours of every group, the limits."""

    classes: KeyClasses
    forest: Forest
    near: Int32s
    journal: Journal
    limits: MoveLimits


@njit(cache=True, borrows=True)
def _move(classes: KeyClasses, forest: Forest, journal: Journal, group: int, target: int) -> int:
    """Moves a group and notes it; returns how much the total falls."""
    entry = journal.number[0]
    journal.group[entry] = group
    journal.origin[entry] = classes.class_of[group]
    journal.number[0] = entry + 1
    return leave(classes, forest, group) - join(classes, forest, group, target)


@njit(cache=True, borrows=True)
def _roll_back(classes: KeyClasses, forest: Forest, journal: Journal) -> None:
    """Undoes all noted moves."""
    for entry in range(journal.number[0] - 1, -1, -1):
        leave(classes, forest, journal.group[entry])
        join(classes, forest, journal.group[entry], journal.origin[entry])
    journal.number[0] = 0


@njit(cache=True, borrows=True)
def _cheapest_target(board: Board, group: int, but: int, bound: int) -> tuple[int, int]:
    """The neighbours' class, other than `but`, where a group costs least, and how much; below the bound."""
    classes, forest, near, journal, _ = board
    best, least, previous = NONE, bound, NONE
    for i in range(near.shape[1]):
        neighbour = near[group, i]
        if neighbour == NOBODY:
            break
        target = classes.class_of[neighbour]
        if target == but or target == previous:  # noqa: SIM109, PLR1714  # compiled: no tuple of two widths
            continue
        previous = target
        rise = growth(classes, forest, group, target, least)
        journal.number[1] += 1
        if rise < least:
            best, least = target, rise
    return best, least


@njit(cache=True, borrows=True)
def _relocate(board: Board, group: int, gain: int) -> bool:
    """Moves a group to the class where it costs least, if the total falls."""
    classes, forest, _, journal, _ = board
    target, _ = _cheapest_target(board, group, classes.class_of[group], gain)
    if target == NONE:
        return False
    _move(classes, forest, journal, group, target)
    return True


@njit(cache=True, borrows=True)
def _targets(board: Board, group: int, best: Int64s, rises: Int64s) -> None:
    """The few classes of neighbours in which a group costs least, by rising costs; NONE where fewer."""
    classes, forest, near, journal, _ = board
    last, home = len(best) - 1, classes.class_of[group]
    best[:] = NONE
    rises[:] = FAR
    for i in range(near.shape[1]):
        neighbour = near[group, i]
        if neighbour == NOBODY:
            break
        target = classes.class_of[neighbour]
        listed = target == home
        for t in range(len(best)):
            listed = listed or best[t] == target
        if listed:
            continue
        rise = growth(classes, forest, group, target, rises[last])
        journal.number[1] += 1
        if rise >= rises[last]:
            continue
        place = last
        while place > 0 and rises[place - 1] > rise:
            best[place], rises[place] = best[place - 1], rises[place - 1]
            place -= 1
        best[place], rises[place] = target, rise


@njit(cache=True, borrows=True)
def _chain(board: Board, group: int, gain: int) -> bool:
    """Moves a group away from a class that then is too small, and refills that class with one other group.

    That other group comes from a class that can spare it, or from the class that the first one goes to.
    """
    classes, forest, _, journal, _ = board
    home = classes.class_of[group]
    best, rises = journal.best, journal.rises
    _targets(board, group, best, rises)
    if best[0] == NONE:
        return False
    _move(classes, forest, journal, group, best[0])
    spare, price = _refill(board, home, group)
    for t in range(len(best)):
        if best[t] == NONE:
            break
        won = gain - rises[t]
        if spare != NOBODY and won > price:
            _roll_back(classes, forest, journal)
            won = _move(classes, forest, journal, group, best[t])
            won += _move(classes, forest, journal, spare, home)
            if won > 0:
                return True
            _roll_back(classes, forest, journal)
            _move(classes, forest, journal, group, best[t])
        elif t:
            _roll_back(classes, forest, journal)
            _move(classes, forest, journal, group, best[t])
        replacement = _exchange(board, home, group, won)
        if replacement != NOBODY:
            _move(classes, forest, journal, replacement, home)
            return True
    _roll_back(classes, forest, journal)
    return False


@njit(cache=True, borrows=True)
def _refill(board: Board, home: int, but: int) -> tuple[int, int]:
    """The group that completes a class at the least total, and that total; its own class can spare it."""
    classes, forest, near, journal, limits = board
    missing = limits.least - classes.size[home]
    best, least = NOBODY, FAR
    member = classes.first[home]
    while member != NOBODY:
        for i in range(min(REFILLS, near.shape[1])):
            neighbour = near[member, i]
            if neighbour == NOBODY:
                break
            source, weight = classes.class_of[neighbour], classes.weight[neighbour]
            left = classes.size[source] - weight
            if source == home or neighbour == but or weight < missing or (0 < left < limits.least):
                continue
            freed = classes.size[source] * classes.cost[source]
            rise = growth(classes, forest, neighbour, home, least + freed)
            journal.number[1] += 1
            if rise < least + freed:
                rise -= relief(classes, forest, neighbour)
                journal.number[1] += 1
                if rise < least:
                    best, least = neighbour, rise
        member = classes.after[member]
    return best, least


@njit(cache=True, borrows=True)
def _exchange(board: Board, home: int, group: int, won: int) -> int:
    """A member of the class that a group joined which completes the class it left, at less than was won."""
    classes, forest, _, journal, limits = board
    source = classes.class_of[group]
    missing, best, least = limits.least - classes.size[home], NOBODY, won
    freed = classes.size[source] * classes.cost[source]
    member = classes.first[source]
    while member != NOBODY:
        weight = classes.weight[member]
        if member != group and weight >= missing and classes.size[source] - weight >= limits.least:
            rise = growth(classes, forest, member, home, least + freed)
            journal.number[1] += 1
            if rise < least + freed:
                rise -= relief(classes, forest, member)
                journal.number[1] += 1
                if rise < least:
                    best, least = member, rise
        member = classes.after[member]
    return best


@njit(cache=True, borrows=True)
def _dissolve(board: Board, home: int) -> tuple[bool, int]:
    """Moves every member of a class to where it costs least; returns whether all went, and what was won."""
    classes, forest, _, journal, _ = board
    won = 0
    while classes.size[home]:
        member = classes.first[home]
        target, _ = _cheapest_target(board, member, home, FAR)
        if target == NONE:
            return False, won
        won += _move(classes, forest, journal, member, target)
    return True, won


@njit(cache=True, borrows=True)
def _form(board: Board, group: int) -> tuple[bool, int]:
    """Makes a class of a group and neighbours that their classes can spare.

    Returns whether it is large enough, and how much was won. What is left of its old class goes elsewhere
    where it is too small.
    """
    classes, forest, near, journal, limits = board
    home, fresh = classes.class_of[group], journal.number[2]
    won = _move(classes, forest, journal, group, fresh)
    while classes.size[fresh] < limits.least:
        best, least = NOBODY, FAR
        for i in range(near.shape[1]):
            neighbour = near[group, i]
            if neighbour == NOBODY:
                break
            source, weight = classes.class_of[neighbour], classes.weight[neighbour]
            if source == fresh or (source != home and classes.size[source] - weight < limits.least):
                continue
            cost = joined_cost(forest, classes.box[fresh], classes.leaf[neighbour], least)
            journal.number[1] += 1
            if cost < min(least, BARRED):
                best, least = neighbour, cost
        if best == NOBODY:
            return False, won
        won += _move(classes, forest, journal, best, fresh)
    if 0 < classes.size[home] < limits.least:
        gone, more = _dissolve(board, home)
        return gone, won + more
    return True, won


@njit(cache=True, borrows=True)
def _improve(board: Board, group: int, stuck: NDArray[np.bool_]) -> bool:
    """Tries the moves of one group in turn; the first that lowers the total is kept.

    A class is stuck when it could not be dissolved and has not changed since.
    """
    classes, forest, _, journal, limits = board
    home = classes.class_of[group]
    left = classes.size[home] - classes.weight[group]
    gain = relief(classes, forest, group)
    journal.number[1] += 1
    if left == 0 or left >= limits.least:
        if _relocate(board, group, gain):
            return True
    elif _chain(board, group, gain):
        return True
    if classes.size[home] < 2 * limits.least and not stuck[home]:
        stuck[home] = True
        gone, won = _dissolve(board, home)
        if gone and won > 0:
            return True
        _roll_back(classes, forest, journal)
    if classes.cost[home] >= limits.dear and journal.number[2] < len(classes.size):
        enough, won = _form(board, group)
        if enough and won > 0:
            journal.number[2] += 1
            return True
        _roll_back(classes, forest, journal)
    return False


@njit(cache=True)
def improve(
    classes: KeyClasses,
    forest: Forest,
    near: Int32s,
    order: Int64s,
    journal: Journal,
    limits: MoveLimits,
    looked_at: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Tries every flagged group once, in this order; returns the groups that are worth another look.

    Those are the members of classes that changed, and the groups that have one of them as a neighbour.
    """
    board = Board(classes, forest, near, journal, limits)
    changed = np.zeros(len(classes.size), np.bool_)
    stuck = np.zeros(len(classes.size), np.bool_)
    for i in range(len(order)):
        group = order[i]
        if not looked_at[group] or classes.cost[classes.class_of[group]] == 0:
            continue
        if journal.number[1] >= limits.most:
            break
        home = classes.class_of[group]
        if _improve(board, group, stuck):
            changed[home], stuck[home] = True, False
            for entry in range(journal.number[0]):
                origin, target = journal.origin[entry], classes.class_of[journal.group[entry]]
                changed[origin], changed[target] = True, True
                stuck[origin], stuck[target] = False, False
            journal.number[0] = 0
    again = np.zeros(len(order), np.bool_)
    for group in range(len(order)):
        again[group] = changed[classes.class_of[group]]
        for i in range(min(CLOSEST, near.shape[1])):
            if near[group, i] == NOBODY:
                break
            again[group] = again[group] or changed[classes.class_of[near[group, i]]]
    return again


# Moves of key groups that lower the total price, proposed for a judge to accept or refuse.

Truths = NDArray[np.bool_]


@njit(cache=True)
def cheapest_classes(
    classes: KeyClasses, forest: Forest, groups: Int64s, count: int, most: int
) -> tuple[Int32s, Int64s]:
    """Per group the classes in which it costs least, by rising costs, and those costs; NOBODY where fewer."""
    target = np.full((len(groups), most), NOBODY, np.int32)
    rises = np.full((len(groups), most), FAR, np.int64)
    for i in range(len(groups)):
        for c in range(count):
            if classes.size[c] == 0 or c == classes.class_of[groups[i]]:
                continue
            rise = growth(classes, forest, groups[i], c, rises[i, most - 1])
            if rise >= rises[i, most - 1]:
                continue
            place = most - 1
            while place > 0 and rises[i, place - 1] > rise:
                target[i, place], rises[i, place] = target[i, place - 1], rises[i, place - 1]
                place -= 1
            target[i, place], rises[i, place] = c, rise
    return target, rises


@njit(cache=True, inner=True, borrows=True)
def _relief(classes: KeyClasses, forest: Forest, group: int, witness: Int32s, examined: Truths) -> int:
    """How much the total falls when a group leaves its class; witnesses of a class are looked for once."""
    home = classes.class_of[group]
    if home == NOBODY:
        return relief(classes, forest, group)
    if not examined[home]:
        find_witnesses(classes, forest, home, witness[home])
        examined[home] = True
    return relief(classes, forest, group, witness[home])


@njit(cache=True)
def reliefs(classes: KeyClasses, forest: Forest) -> Int64s:
    """How much the total falls when each group leaves its class."""
    freed = np.empty(len(classes.class_of), np.int64)
    witness = np.empty(classes.box.shape, np.int32)
    examined = np.zeros(len(classes.size), np.bool_)
    for group in range(len(freed)):
        freed[group] = _relief(classes, forest, group, witness, examined)
    return freed


@njit(cache=True)
def propose(
    classes: KeyClasses, forest: Forest, near: Int32s, least: int, dirty: Truths, target: Int32s, gain: Int64s
) -> None:
    """Writes per dirty group the neighbours' class in which it lowers the total most, and by how much.

    NOBODY if there is none; a class that it leaves must keep `least` rows or none.
    """
    witness = np.empty(classes.box.shape, np.int32)
    examined = np.zeros(len(classes.size), np.bool_)
    for group in range(len(dirty)):
        if not dirty[group]:
            continue
        target[group], gain[group] = NOBODY, 0
        home = classes.class_of[group]
        left = classes.size[home] - classes.weight[group]
        if classes.cost[home] == 0 or 0 < left < least:
            continue
        freed = _relief(classes, forest, group, witness, examined)
        bound = freed
        for i in range(near.shape[1]):
            if near[group, i] == NOBODY:
                break
            candidate = classes.class_of[near[group, i]]
            if candidate != home:
                rise = growth(classes, forest, group, candidate, bound)
                if rise < bound:
                    target[group], bound = candidate, rise
        gain[group] = freed - bound


@njit(cache=True)
def independent(order: Int64s, classes: KeyClasses, target: Int32s) -> Int64s:
    """The proposals, first come first served, of which no two concern the same class."""
    busy = np.zeros(len(classes.size), np.bool_)
    chosen = np.empty(len(order), np.int64)
    count = 0
    for i in range(len(order)):
        home, joined = classes.class_of[order[i]], target[order[i]]
        if busy[joined] or (home != NOBODY and busy[home]):
            continue
        busy[joined] = True
        if home != NOBODY:
            busy[home] = True
        chosen[count] = order[i]
        count += 1
    return chosen[:count].copy()


@njit(cache=True)
def classes_after(chosen: Int64s, classes: KeyClasses, target: Int32s) -> tuple[Int64s, Int32s]:
    """Two lists per proposal: the class that a group leaves, without it, and the one it joins, with it.

    Returns where the lists start, and their members. A group without a class leaves an empty list.
    """
    start = np.zeros(2 * len(chosen) + 1, np.int64)
    members = np.empty(16, np.int32)
    filled = 0
    for i in range(len(chosen)):
        group = chosen[i]
        for side in range(2):
            owner = target[group] if side else classes.class_of[group]
            if side:
                members = _with_room(members, filled)
                members[filled] = group
                filled += 1
            member = classes.first[owner] if owner != NOBODY else NOBODY
            while member != NOBODY:
                if member != group:
                    members = _with_room(members, filled)
                    members[filled] = member
                    filled += 1
                member = classes.after[member]
            start[2 * i + side + 1] = filled
    return start, members[:filled].copy()


@njit(cache=True)
def _with_room(members: Int32s, filled: int) -> Int32s:
    """An array with room for one more."""
    if filled < len(members):
        return members
    larger = np.empty(2 * len(members), np.int32)
    larger[:filled] = members
    return larger


@njit(cache=True)
def move_all(chosen: Int64s, classes: KeyClasses, forest: Forest, target: Int32s, changed: Truths) -> None:
    """Moves groups to their targets, and flags the classes that changed."""
    for i in range(len(chosen)):
        group = chosen[i]
        if classes.class_of[group] != NOBODY:
            changed[classes.class_of[group]] = True
            leave(classes, forest, group)
        changed[target[group]] = True
        join(classes, forest, group, target[group])


@njit(cache=True)
def near_changes(classes: KeyClasses, near: Int32s, changed: Truths) -> Truths:
    """The groups that are in a changed class, or have a neighbour in one."""
    flags = np.zeros(len(classes.class_of), np.bool_)
    for group in range(len(flags)):
        flags[group] = changed[classes.class_of[group]]
        for i in range(near.shape[1]):
            if flags[group] or near[group, i] == NOBODY:
                break
            flags[group] = changed[classes.class_of[near[group, i]]]
    return flags


@njit(cache=True)
def nearest_class(classes: KeyClasses, forest: Forest, owner: int, count: int) -> int:
    """The class whose union with this one costs least, the first of equals; NOBODY if none may be joined."""
    best, least = NOBODY, FAR
    for candidate in range(count):
        if candidate == owner or classes.size[candidate] == 0:
            continue
        cost = joined_cost(forest, classes.box[owner], classes.box[candidate], BARRED - 1)
        if cost >= BARRED:
            continue
        rise = (classes.size[owner] + classes.size[candidate]) * cost - classes.size[
            candidate
        ] * classes.cost[candidate]
        if rise < least:
            best, least = candidate, rise
    return best


@njit(cache=True)
def merge(classes: KeyClasses, forest: Forest, source: int, target: int) -> None:
    """Moves every member of a class to another one."""
    while classes.size[source]:
        group = classes.first[source]
        leave(classes, forest, group)
        join(classes, forest, group, target)
