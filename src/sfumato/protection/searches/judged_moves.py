"""Placing and moving key groups where more than sizes is promised: proposals in rounds, judged together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.microdata import Codes
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Truth
from sfumato.kernels.local import proposals
from sfumato.kernels.local.key_classes import NOBODY, KeyClasses, join
from sfumato.protection.searches.group_judge import GroupJudge
from sfumato.protection.searches.key_groups import KeyGroups

TARGETS = 8
"""Classes that a group without one is offered to."""
MOST_ROUNDS = 400
"""Rounds of proposals; in each, a class is concerned by one proposal at most."""
MOST_VISITS = 2_000_000_000
"""Members of classes that are looked at, at most: what a class is without one of them may ask all others."""
MOVES = "local: moves"
"""What local recoding does last, as progress calls it."""


def place_with_judge(groups: KeyGroups, classes: KeyClasses, judge: GroupJudge, count: int) -> None:
    """Puts every group without a class into one that keeps the promises with it, as cheaply as may be.

    Groups that none of the cheapest classes takes become a class of their own, one per block; it is merged
    with the nearest one until the promises hold.
    """
    for _ in range(2):
        rest = np.flatnonzero(classes.class_of == NOBODY)
        if not len(rest) or not count:
            break
        targets, rises = proposals.cheapest_classes(classes, groups.forest, rest, count, TARGETS)
        _offer(groups, classes, judge, rest, targets, rises)
    rest = np.flatnonzero(classes.class_of == NOBODY)
    blocks, block = np.unique(groups.block_of[rest], return_inverse=True)
    for group, number in zip(rest.tolist(), block.ravel().tolist(), strict=True):
        join(classes, groups.forest, group, count + number)
    for number in range(len(blocks)):
        _merge_until_kept(groups, classes, judge, count + number)


def _offer(
    groups: KeyGroups,
    classes: KeyClasses,
    judge: GroupJudge,
    rest: NDArray[np.int64],
    targets: Codes,
    rises: NDArray[np.int64],
) -> None:
    """Offers groups to their targets in turn, the cheapest proposals first, until taken or refused by all."""
    turn, target = np.zeros(len(rest), np.int64), np.full(len(groups), NOBODY, np.int32)
    place = np.full(len(groups), -1, np.int64)
    place[rest] = np.arange(len(rest))
    changed = np.zeros(len(classes.size), dtype=bool)
    while True:
        waiting = np.flatnonzero((classes.class_of[rest] == NOBODY) & (turn < TARGETS))
        goal = targets[waiting, turn[waiting]]
        turn[waiting[goal == NOBODY]] = TARGETS
        waiting = waiting[goal != NOBODY]
        if not len(waiting):
            return
        target[rest[waiting]] = targets[waiting, turn[waiting]]
        order = rest[waiting[np.argsort(rises[waiting, turn[waiting]], kind="stable")]]
        chosen = proposals.independent(order, classes, target)
        good = _judged(judge, classes, chosen, target)
        proposals.move_all(chosen[good], classes, groups.forest, target, changed)
        turn[place[chosen[~good]]] += 1


def improve_with_judge(
    groups: KeyGroups, classes: KeyClasses, near: Codes, judge: GroupJudge, *, progress: Progress = silent
) -> None:
    """Moves single groups to classes where they cost less, as long as both classes keep the promises.

    It ends after a number of rounds, or where so many members of classes would have been looked at.
    """
    number, visits = len(groups), 0
    target, gain = np.full(number, NOBODY, np.int32), np.zeros(number, np.int64)
    dirty = np.ones(number, dtype=bool)
    for number_of_round in range(MOST_ROUNDS):
        progress(MOVES, number_of_round, MOST_ROUNDS)
        visits += int(np.bincount(classes.class_of)[classes.class_of[dirty]].sum())
        if visits > MOST_VISITS:
            return
        proposals.propose(classes, groups.forest, near, judge.least, dirty, target, gain)
        order = np.flatnonzero(target != NOBODY)
        if not len(order):
            return
        order = order[np.argsort(-gain[order], kind="stable")]
        chosen = proposals.independent(order, classes, target)
        good = _judged(judge, classes, chosen, target)
        changed = np.zeros(len(classes.size), dtype=bool)
        proposals.move_all(chosen[good], classes, groups.forest, target, changed)
        target[chosen] = NOBODY
        dirty = proposals.near_changes(classes, near, changed)


def _judged(judge: GroupJudge, classes: KeyClasses, chosen: NDArray[np.int64], target: Codes) -> Truth:
    """Returns whether both classes of each proposal would keep the promises; a class may also end empty."""
    start, members = proposals.classes_after(chosen, classes, target)
    there = start[1:] > start[:-1]
    truth = np.ones(len(there), dtype=bool)
    lists = np.append(start[:-1][there], len(members))
    truth[there] = judge.holds(members, lists)
    return truth[0::2] & truth[1::2]


def _merge_until_kept(groups: KeyGroups, classes: KeyClasses, judge: GroupJudge, one: int) -> None:
    """Merges a class with the nearest one until it keeps the promises."""
    while True:
        members = np.flatnonzero(classes.class_of == one)
        if judge.holds(members, np.array([0, len(members)]))[0]:
            return
        other = proposals.nearest_class(classes, groups.forest, one, len(classes.size))
        if other == NOBODY:
            return
        proposals.merge(classes, groups.forest, other, one)
