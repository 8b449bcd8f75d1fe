"""Moves of key groups between classes that lower the total price, where only sizes are promised."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.local.key_classes import (
    BARRED,
    FAR,
    NOBODY,
    Forest,
    KeyClasses,
    growth,
    join,
    joined_cost,
    leave,
    relief,
)

Small = NDArray[np.int32]
Longs = NDArray[np.int64]

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

    group: Small
    origin: Small
    number: Longs
    best: Longs
    rises: Longs


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
def _cheapest_target(
    classes: KeyClasses, forest: Forest, near: Small, journal: Journal, group: int, but: int, bound: int
) -> tuple[int, int]:
    """The neighbours' class, other than `but`, where a group costs least, and how much; below the bound."""
    best, least, previous = NONE, bound, NONE
    for i in range(near.shape[1]):
        other = near[group, i]
        if other == NOBODY:
            break
        target = classes.class_of[other]
        if target == but or target == previous:  # noqa: SIM109, PLR1714  # compiled: no tuple of two widths
            continue
        previous = target
        rise = growth(classes, forest, group, target, least)
        journal.number[1] += 1
        if rise < least:
            best, least = target, rise
    return best, least


@njit(cache=True, borrows=True)
def _relocate(
    classes: KeyClasses, forest: Forest, near: Small, journal: Journal, group: int, gain: int
) -> bool:
    """Moves a group to the class where it costs least, if the total falls."""
    target, _ = _cheapest_target(classes, forest, near, journal, group, classes.class_of[group], gain)
    if target == NONE:
        return False
    _move(classes, forest, journal, group, target)
    return True


@njit(cache=True, borrows=True)
def _targets(
    classes: KeyClasses, forest: Forest, near: Small, journal: Journal, group: int, best: Longs, rises: Longs
) -> None:
    """The few classes of neighbours in which a group costs least, by rising costs; NONE where fewer."""
    last, home = len(best) - 1, classes.class_of[group]
    best[:] = NONE
    rises[:] = FAR
    for i in range(near.shape[1]):
        other = near[group, i]
        if other == NOBODY:
            break
        target = classes.class_of[other]
        known = target == home
        for t in range(len(best)):
            known = known or best[t] == target
        if known:
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
def _chain(
    classes: KeyClasses,
    forest: Forest,
    near: Small,
    journal: Journal,
    limits: MoveLimits,
    group: int,
    gain: int,
) -> bool:
    """Moves a group away from a class that then is too small, and refills that class with one other group.

    That other group comes from a class that can spare it, or from the class that the first one goes to.
    """
    home = classes.class_of[group]
    best, rises = journal.best, journal.rises
    _targets(classes, forest, near, journal, group, best, rises)
    if best[0] == NONE:
        return False
    _move(classes, forest, journal, group, best[0])
    spare, price = _refill(classes, forest, near, journal, limits, home, group)
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
        other = _exchange(classes, forest, journal, limits, home, group, won)
        if other != NOBODY:
            _move(classes, forest, journal, other, home)
            return True
    _roll_back(classes, forest, journal)
    return False


@njit(cache=True, borrows=True)
def _refill(
    classes: KeyClasses,
    forest: Forest,
    near: Small,
    journal: Journal,
    limits: MoveLimits,
    home: int,
    but: int,
) -> tuple[int, int]:
    """The group that completes a class at the least total, and that total; its own class can spare it."""
    missing = limits.least - classes.size[home]
    best, least = NOBODY, FAR
    member = classes.first[home]
    while member != NOBODY:
        for i in range(min(REFILLS, near.shape[1])):
            other = near[member, i]
            if other == NOBODY:
                break
            source, weight = classes.class_of[other], classes.weight[other]
            left = classes.size[source] - weight
            if source == home or other == but or weight < missing or (0 < left < limits.least):
                continue
            freed = classes.size[source] * classes.cost[source]
            rise = growth(classes, forest, other, home, least + freed)
            journal.number[1] += 1
            if rise < least + freed:
                rise -= relief(classes, forest, other)
                journal.number[1] += 1
                if rise < least:
                    best, least = other, rise
        member = classes.after[member]
    return best, least


@njit(cache=True, borrows=True)
def _exchange(
    classes: KeyClasses, forest: Forest, journal: Journal, limits: MoveLimits, home: int, group: int, won: int
) -> int:
    """A member of the class that a group joined which completes the class it left, at less than was won."""
    source = classes.class_of[group]
    missing, best, least = limits.least - classes.size[home], NOBODY, won
    freed = classes.size[source] * classes.cost[source]
    other = classes.first[source]
    while other != NOBODY:
        weight = classes.weight[other]
        if other != group and weight >= missing and classes.size[source] - weight >= limits.least:
            rise = growth(classes, forest, other, home, least + freed)
            journal.number[1] += 1
            if rise < least + freed:
                rise -= relief(classes, forest, other)
                journal.number[1] += 1
                if rise < least:
                    best, least = other, rise
        other = classes.after[other]
    return best


@njit(cache=True, borrows=True)
def _dissolve(
    classes: KeyClasses, forest: Forest, near: Small, journal: Journal, home: int
) -> tuple[bool, int]:
    """Moves every member of a class to where it costs least; returns whether all went, and what was won."""
    won = 0
    while classes.size[home]:
        member = classes.first[home]
        target, _ = _cheapest_target(classes, forest, near, journal, member, home, FAR)
        if target == NONE:
            return False, won
        won += _move(classes, forest, journal, member, target)
    return True, won


@njit(cache=True, borrows=True)
def _form(
    classes: KeyClasses, forest: Forest, near: Small, journal: Journal, limits: MoveLimits, group: int
) -> tuple[bool, int]:
    """Makes a class of a group and neighbours that their classes can spare.

    Returns whether it is large enough, and how much was won. What is left of its old class goes elsewhere
    where it is too small.
    """
    home, fresh = classes.class_of[group], journal.number[2]
    won = _move(classes, forest, journal, group, fresh)
    while classes.size[fresh] < limits.least:
        best, least = NOBODY, FAR
        for i in range(near.shape[1]):
            other = near[group, i]
            if other == NOBODY:
                break
            source, weight = classes.class_of[other], classes.weight[other]
            if source == fresh or (source != home and classes.size[source] - weight < limits.least):
                continue
            cost = joined_cost(forest, classes.box[fresh], classes.leaf[other], least)
            journal.number[1] += 1
            if cost < min(least, BARRED):
                best, least = other, cost
        if best == NOBODY:
            return False, won
        won += _move(classes, forest, journal, best, fresh)
    if 0 < classes.size[home] < limits.least:
        gone, more = _dissolve(classes, forest, near, journal, home)
        return gone, won + more
    return True, won


@njit(cache=True, borrows=True)
def _improve(
    classes: KeyClasses,
    forest: Forest,
    near: Small,
    journal: Journal,
    limits: MoveLimits,
    group: int,
    stuck: NDArray[np.bool_],
) -> bool:
    """Tries the moves of one group in turn; the first that lowers the total is kept.

    A class is stuck when it could not be dissolved and has not changed since.
    """
    home = classes.class_of[group]
    left = classes.size[home] - classes.weight[group]
    gain = relief(classes, forest, group)
    journal.number[1] += 1
    if left == 0 or left >= limits.least:
        if _relocate(classes, forest, near, journal, group, gain):
            return True
    elif _chain(classes, forest, near, journal, limits, group, gain):
        return True
    if classes.size[home] < 2 * limits.least and not stuck[home]:
        stuck[home] = True
        gone, won = _dissolve(classes, forest, near, journal, home)
        if gone and won > 0:
            return True
        _roll_back(classes, forest, journal)
    if classes.cost[home] >= limits.dear and journal.number[2] < len(classes.size):
        enough, won = _form(classes, forest, near, journal, limits, group)
        if enough and won > 0:
            journal.number[2] += 1
            return True
        _roll_back(classes, forest, journal)
    return False


@njit(cache=True)
def improve(
    classes: KeyClasses,
    forest: Forest,
    near: Small,
    order: Longs,
    journal: Journal,
    limits: MoveLimits,
    looked_at: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Tries every flagged group once, in this order; returns the groups that are worth another look.

    Those are the members of classes that changed, and the groups that have one of them as a neighbour.
    """
    changed = np.zeros(len(classes.size), np.bool_)
    stuck = np.zeros(len(classes.size), np.bool_)
    for i in range(len(order)):
        group = order[i]
        if not looked_at[group] or classes.cost[classes.class_of[group]] == 0:
            continue
        if journal.number[1] >= limits.most:
            break
        home = classes.class_of[group]
        if _improve(classes, forest, near, journal, limits, group, stuck):
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
