"""Moves of key groups that lower the total price, proposed for a judge to accept or refuse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.local.key_classes import (
    BARRED,
    FAR,
    NOBODY,
    Forest,
    KeyClasses,
    find_witnesses,
    growth,
    join,
    leave,
    relief,
)

Small = NDArray[np.int32]
Longs = NDArray[np.int64]
Truths = NDArray[np.bool_]


@njit(cache=True)
def cheapest_classes(
    classes: KeyClasses, forest: Forest, some: Longs, count: int, most: int
) -> tuple[Small, Longs]:
    """Per group the classes in which it costs least, by rising costs, and those costs; NOBODY where fewer."""
    target = np.full((len(some), most), NOBODY, np.int32)
    rises = np.full((len(some), most), FAR, np.int64)
    for i in range(len(some)):
        for c in range(count):
            if classes.size[c] == 0 or c == classes.class_of[some[i]]:
                continue
            rise = growth(classes, forest, some[i], c, rises[i, most - 1])
            if rise >= rises[i, most - 1]:
                continue
            place = most - 1
            while place > 0 and rises[i, place - 1] > rise:
                target[i, place], rises[i, place] = target[i, place - 1], rises[i, place - 1]
                place -= 1
            target[i, place], rises[i, place] = c, rise
    return target, rises


@njit(cache=True, inner=True, borrows=True)
def _relief(classes: KeyClasses, forest: Forest, group: int, witness: Small, known: Truths) -> int:
    """How much the total falls when a group leaves its class; witnesses of a class are looked for once."""
    home = classes.class_of[group]
    if home == NOBODY:
        return relief(classes, forest, group)
    if not known[home]:
        find_witnesses(classes, forest, home, witness[home])
        known[home] = True
    return relief(classes, forest, group, witness[home])


@njit(cache=True)
def reliefs(classes: KeyClasses, forest: Forest) -> Longs:
    """How much the total falls when each group leaves its class."""
    freed = np.empty(len(classes.class_of), np.int64)
    witness = np.empty(classes.box.shape, np.int32)
    known = np.zeros(len(classes.size), np.bool_)
    for group in range(len(freed)):
        freed[group] = _relief(classes, forest, group, witness, known)
    return freed


@njit(cache=True)
def propose(
    classes: KeyClasses, forest: Forest, near: Small, least: int, dirty: Truths, target: Small, gain: Longs
) -> None:
    """Writes per dirty group the neighbours' class in which it lowers the total most, and by how much.

    NOBODY if there is none; a class that it leaves must keep `least` rows or none.
    """
    witness = np.empty(classes.box.shape, np.int32)
    known = np.zeros(len(classes.size), np.bool_)
    for group in range(len(dirty)):
        if not dirty[group]:
            continue
        target[group], gain[group] = NOBODY, 0
        home = classes.class_of[group]
        left = classes.size[home] - classes.weight[group]
        if classes.cost[home] == 0 or 0 < left < least:
            continue
        freed = _relief(classes, forest, group, witness, known)
        bound = freed
        for i in range(near.shape[1]):
            if near[group, i] == NOBODY:
                break
            other = classes.class_of[near[group, i]]
            if other != home:
                rise = growth(classes, forest, group, other, bound)
                if rise < bound:
                    target[group], bound = other, rise
        gain[group] = freed - bound


@njit(cache=True)
def independent(order: Longs, classes: KeyClasses, target: Small) -> Longs:
    """The proposals, first come first served, of which no two concern the same class."""
    busy = np.zeros(len(classes.size), np.bool_)
    chosen = np.empty(len(order), np.int64)
    count = 0
    for i in range(len(order)):
        home, other = classes.class_of[order[i]], target[order[i]]
        if busy[other] or (home != NOBODY and busy[home]):
            continue
        busy[other] = True
        if home != NOBODY:
            busy[home] = True
        chosen[count] = order[i]
        count += 1
    return chosen[:count].copy()


@njit(cache=True)
def classes_after(chosen: Longs, classes: KeyClasses, target: Small) -> tuple[Longs, Small]:
    """Two lists per proposal: the class that a group leaves, without it, and the one it joins, with it.

    Returns where the lists start, and their members. A group without a class leaves an empty list.
    """
    start = np.zeros(2 * len(chosen) + 1, np.int64)
    members = np.empty(16, np.int32)
    held = 0
    for i in range(len(chosen)):
        group = chosen[i]
        for side in range(2):
            owner = target[group] if side else classes.class_of[group]
            if side:
                members = _with_room(members, held)
                members[held] = group
                held += 1
            member = classes.first[owner] if owner != NOBODY else NOBODY
            while member != NOBODY:
                if member != group:
                    members = _with_room(members, held)
                    members[held] = member
                    held += 1
                member = classes.after[member]
            start[2 * i + side + 1] = held
    return start, members[:held].copy()


@njit(cache=True)
def _with_room(members: Small, held: int) -> Small:
    """An array with room for one more."""
    if held < len(members):
        return members
    larger = np.empty(2 * len(members), np.int32)
    larger[:held] = members
    return larger


@njit(cache=True)
def move_all(chosen: Longs, classes: KeyClasses, forest: Forest, target: Small, changed: Truths) -> None:
    """Moves groups to their targets, and flags the classes that changed."""
    for i in range(len(chosen)):
        group = chosen[i]
        if classes.class_of[group] != NOBODY:
            changed[classes.class_of[group]] = True
            leave(classes, forest, group)
        changed[target[group]] = True
        join(classes, forest, group, target[group])


@njit(cache=True)
def near_changes(classes: KeyClasses, near: Small, changed: Truths) -> Truths:
    """The groups that are in a changed class, or have a neighbour in one."""
    found = np.zeros(len(classes.class_of), np.bool_)
    for group in range(len(found)):
        found[group] = changed[classes.class_of[group]]
        for i in range(near.shape[1]):
            if found[group] or near[group, i] == NOBODY:
                break
            found[group] = changed[classes.class_of[near[group, i]]]
    return found


@njit(cache=True)
def nearest_class(classes: KeyClasses, forest: Forest, one: int, count: int) -> int:
    """The class whose union with this one costs least, the first of equals; NOBODY if none may be joined."""
    best, least = NOBODY, FAR
    for other in range(count):
        if other == one or classes.size[other] == 0:
            continue
        cost = np.int64(0)
        for j in range(classes.box.shape[1]):
            node = classes.box[one, j]
            while not node <= classes.box[other, j] < forest.end[node]:
                node = forest.parent[node]
            cost += forest.price[node]
        if cost >= BARRED:
            continue
        rise = (classes.size[one] + classes.size[other]) * cost - classes.size[other] * classes.cost[other]
        if rise < least:
            best, least = other, rise
    return best


@njit(cache=True)
def merge(classes: KeyClasses, forest: Forest, one: int, other: int) -> None:
    """Moves every member of a class to another one."""
    while classes.size[one]:
        group = classes.first[one]
        leave(classes, forest, group)
        join(classes, forest, group, other)
