"""Classes of key groups: each publishes its box, the lowest node over its members in every column.

Nodes of all columns have one numbering, column after column in preorder, so a box is an array of node
numbers and no loop needs to know which column it is in. Prices are whole numbers: sums do not depend on
their order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit

Small = NDArray[np.int32]
Longs = NDArray[np.int64]

NOBODY = -1
FAR = 1 << 61
"""More than any total."""
BARRED = 1 << 40
"""The price of a node that may not be published, more than that of any box that may."""


class Forest(NamedTuple):
    """The trees of all columns: parent and end of every node, and what a row published as it loses."""

    parent: Small
    end: Small
    price: Longs


class KeyClasses(NamedTuple):
    """Key groups in classes, changed in place.

    Group g has the leaves `leaf[g]` and `weight[g]` rows. It is in class `class_of[g]`, or in none
    (NOBODY). The members of class c are a list: `first[c]`, then `after[g]`, with `before[g]` to walk back.
    `size`, `box` and `cost` (the price of the box for one row) belong to a class; a class of size 0 is
    unused.
    """

    leaf: Small
    weight: Longs
    class_of: Small
    after: Small
    before: Small
    first: Small
    size: Longs
    box: Small
    cost: Longs


@njit(cache=True, inline="always", inner=True)
def lowest_cover(forest: Forest, node: int, other: int) -> int:
    """The lowest node over two nodes of one tree."""
    while not node <= other < forest.end[node]:
        node = forest.parent[node]
    return node


@njit(cache=True, inner=True, borrows=True)
def joined_cost(forest: Forest, box: Small, other: Small, bound: int) -> int:
    """What a row loses in the lowest box over two boxes; once that exceeds the bound, something above it."""
    cost = 0
    for j in range(len(box)):
        cost += forest.price[lowest_cover(forest, box[j], other[j])]
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
def relief(classes: KeyClasses, forest: Forest, group: int, witness: Small | None = None) -> int:
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
def find_witnesses(classes: KeyClasses, forest: Forest, owner: int, witness: Small) -> None:
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
def fill(classes: KeyClasses, forest: Forest, target_of: Small) -> int:
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
