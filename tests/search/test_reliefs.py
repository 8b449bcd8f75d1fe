"""What a class is relieved of when a group leaves, held against boxes that are made anew without it."""

import random

import numpy as np
import pytest

from sfumato.kernels.compiled import njit
from sfumato.kernels.local_moves import FAR, NOBODY, Forest, KeyClasses, fill, propose, relief, reliefs

DEPTH, WIDTH = 3, 3


def trees(columns, dice):
    """Returns a forest, three levels below every root, and the leaves; what is coarser costs more."""
    parent, end, price, leaves = [], [], [], []

    def grow(above, level):
        here = len(parent)
        parent.append(here if above is None else above)
        end.append(0)
        price.append(0 if level == DEPTH else 9 * (DEPTH - level) + dice.randint(0, 8))
        for _ in range(dice.randint(1, WIDTH) if level < DEPTH else 0):
            grow(here, level + 1)
        if level == DEPTH:
            leaves[-1].append(here)
        end[here] = len(parent)

    for _ in range(columns):
        leaves.append([])
        grow(None, 0)
    return Forest(np.array(parent, np.int32), np.array(end, np.int32), np.array(price, np.int64)), leaves


def box_cost(forest, members, leaf):
    cost = 0
    for j in range(leaf.shape[1]):
        node = int(leaf[members[0], j])
        while not all(node <= leaf[g, j] < forest.end[node] for g in members):
            node = int(forest.parent[node])
        cost += int(forest.price[node])
    return cost


def total(forest, members, leaf, weight):
    return sum(int(weight[g]) for g in members) * box_cost(forest, members, leaf) if members else 0


def room(leaf, weight):
    count, columns = leaf.shape
    none = [np.full(count, NOBODY, np.int32) for _ in range(3)]
    first, box = np.full(count + 1, NOBODY, np.int32), np.zeros((count + 1, columns), np.int32)
    sizes = [np.zeros(count + 1, np.int64) for _ in range(2)]
    return KeyClasses(leaf, weight, *none, first, sizes[0], box, sizes[1])


@njit(cache=False)
def reliefs_without_witnesses(classes, forest):
    """What `moves` asks for, group by group."""
    freed = np.empty(len(classes.class_of), np.int64)
    for group in range(len(freed)):
        freed[group] = relief(classes, forest, group)
    return freed


@pytest.mark.parametrize("seed", range(40))
def test_reliefs_are_those_of_boxes_made_anew(seed):
    dice = random.Random(seed)
    forest, leaves = trees(3, dice)
    count = dice.randint(4, 24)
    leaf = np.array([[dice.choice(some) for some in leaves] for _ in range(count)], np.int32)
    weight = np.array([dice.randint(1, 4) for _ in range(count)], np.int64)
    class_of = np.array([dice.randint(0, 2) for _ in range(count)], np.int32)
    classes = room(leaf, weight)
    fill(classes, forest, class_of)
    members = [[g for g in range(count) if class_of[g] == c] for c in range(3)]

    def freed(group):
        home = members[class_of[group]]
        rest = [g for g in home if g != group]
        return total(forest, home, leaf, weight) - total(forest, rest, leaf, weight)

    def rise(group, other):
        there = members[other]
        return total(forest, [*there, group], leaf, weight) - total(forest, there, leaf, weight)

    assert reliefs(classes, forest).tolist() == [freed(g) for g in range(count)]
    assert reliefs_without_witnesses(classes, forest).tolist() == [freed(g) for g in range(count)]
    near = np.array([[g for g in range(count) if g != one] for one in range(count)], np.int32)
    target, gain = np.full(count, NOBODY, np.int32), np.zeros(count, np.int64)
    propose(classes, forest, near, 0, np.ones(count, dtype=bool), target, gain)
    for group in range(count):
        others = [c for c in range(3) if c != class_of[group] and members[c]]
        best = min((rise(group, c) for c in others), default=FAR)
        if box_cost(forest, members[class_of[group]], leaf) == 0 or best >= freed(group):
            assert target[group] == NOBODY
            assert gain[group] == 0
        else:
            assert gain[group] == freed(group) - best
            assert rise(group, target[group]) == best
