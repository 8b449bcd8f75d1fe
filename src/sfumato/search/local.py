"""Local recoding: every class publishes the lowest nodes over its rows, whatever other classes publish."""

from __future__ import annotations

import numpy as np

from sfumato.core.cut import Cut
from sfumato.core.microdata import Codes, Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding
from sfumato.kernels.local import proposals
from sfumato.kernels.local.key_classes import NOBODY, KeyClasses, fill, place_rest
from sfumato.kernels.local.moves import CHAINED_TARGETS, Journal, MoveLimits, improve
from sfumato.protection.distinct_rows import distinct_rows
from sfumato.protection.loss import find_measure
from sfumato.protection.searches import refusal
from sfumato.protection.searches.box_walk import LevelLattice, walk_boxes
from sfumato.protection.searches.group_judge import GroupJudge
from sfumato.protection.searches.group_neighbours import neighbours_of
from sfumato.protection.searches.judged_moves import MOVES, improve_with_judge, place_with_judge
from sfumato.protection.searches.key_groups import WHOLE_PRICE, KeyGroups
from sfumato.protection.searches.search import Aim, Outcome
from sfumato.protection.searches.withheld import with_suppression

PASSES = 3
"""How often every group is tried; from the second time on only near changes."""
STEPS_PER_GROUP = 1000
"""Prices that the moves of one group may ask for, on average."""
LARGEST_FORMING = 10
"""New classes are formed around single groups up to this size of a class: the work grows with its square."""
DEAR = (3, 10)
"""A new class is tried around a group that loses at least this share of a column."""


MOST_WITHHELD_TRIED = 400_000
"""Distinct rows that are recoded again, all together, without those that may be suppressed."""


def local(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Returns classes of key groups (`classes_of_groups`), where suppressed rows have a price without some.

    Without a price nothing is suppressed.
    """
    return with_suppression(
        classes_of_groups,
        table,
        promises,
        aim,
        by_relief=True,
        by_top_down=False,
        most=MOST_WITHHELD_TRIED,
        progress=progress,
    )


def classes_of_groups(
    table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent
) -> Outcome:
    """Returns classes that keep every promise and publish nodes of the taxonomies, each class its own.

    Rows with equal keys stay together: what a row becomes depends on its key, on the other keys and, where
    a promise is about a sensitive column, on whether a class keeps it; never on the order of rows. Nothing
    is suppressed. First the boxes of all level vectors are walked, those first in which rows lose little
    (`box_walk`); groups that are left join the class where they cost least; then groups move between
    classes as long as the total falls, for a number of steps that is counted.

    Judged are classes as a reader sees them: all rows that publish the same. The result is not optimal.
    """
    find_measure(aim.loss)
    if not table.distinct or not table.keys:
        return _one_class(table, promises, aim)
    groups = KeyGroups.prepared(table, aim)
    judge = GroupJudge(groups, promises, aim)
    near, lattice = _neighbours_and_boxes(groups, aim, progress)
    class_of, count = walk_boxes(groups, lattice, judge, progress=progress)
    classes = groups.no_classes()
    fill(classes, groups.forest, class_of)
    progress(MOVES, 0, 1)
    if judge.by_size:
        place_rest(classes, groups.forest, max(1, count))
        _improve(groups, classes, near, judge.least, max(1, count), progress)
    else:
        place_with_judge(groups, classes, judge, count)
        improve_with_judge(groups, classes, near, judge, progress=progress)
    recoding = _recoding(groups, classes, judge)
    progress(MOVES, 1, 1)
    return Outcome(recoding, aim.loss_of(recoding), checked=judge.checked)


def _neighbours_and_boxes(groups: KeyGroups, aim: Aim, progress: Progress) -> tuple[Codes, LevelLattice]:
    """Returns the neighbours of groups and the boxes to walk, which no promise changes."""

    def made() -> tuple[Codes, LevelLattice]:
        near = neighbours_of(groups, progress=progress)
        return near, LevelLattice.of(groups, near)

    if aim.prepared is None or aim.prepared.table is not groups.table:
        return made()
    return aim.prepared.find(("boxes", *aim.weights.items()), made)


def _one_class(table: Microdata, promises: Promises, aim: Aim) -> Outcome:
    """Returns the table without rows, or without key columns, as it is."""
    if table.dropped > aim.allowed(table):
        raise refusal.too_many_missing(table, aim.allowed(table))
    recoding = Recoding.of_cuts(table, {c.name: Cut.coarsest(c.taxonomy) for c in table.keys})
    everything = recoding.classes(recoding.class_of, promises.sensitive)
    if not promises.holds_on(everything).all():
        raise refusal.at_the_root(table, everything, promises, final=True)
    return Outcome(recoding, aim.loss_of(recoding), checked=1)


def _improve(
    groups: KeyGroups, classes: KeyClasses, near: Codes, least: int, count: int, progress: Progress
) -> None:
    """Moves groups between classes where sizes are all that is promised."""
    number = len(groups)
    room = 4 * number + 8
    journal = Journal(
        np.zeros(room, np.int32),
        np.zeros(room, np.int32),
        np.array([0, 0, count], np.int64),
        np.zeros(CHAINED_TARGETS, np.int64),
        np.zeros(CHAINED_TARGETS, np.int64),
    )
    columns = classes.box.shape[1]
    dear = DEAR[0] * WHOLE_PRICE // (DEAR[1] * columns) if least <= LARGEST_FORMING else WHOLE_PRICE + 1
    limits = MoveLimits(least, dear, STEPS_PER_GROUP * number)
    again = np.ones(number, dtype=bool)
    for turn in range(PASSES):
        progress(MOVES, turn, PASSES)
        if not again.any():
            break
        order = np.lexsort((np.arange(number), -classes.cost[classes.class_of]))
        again = improve(classes, groups.forest, near, order, journal, limits, again)


def _recoding(groups: KeyGroups, classes: KeyClasses, judge: GroupJudge) -> Recoding:
    """Returns what the classes publish; those that publish the same are one.

    Where that breaks a promise, the class is merged with the nearest one until every class keeps it.
    """
    while True:
        boxes = classes.box[classes.class_of]
        seen, class_of = distinct_rows(boxes)
        numbers = class_of.astype(np.int32)
        truth = judge.all_hold(numbers, len(seen))
        if truth.all():
            low, high = groups.intervals(seen)
            return Recoding(groups.table, numbers[groups.group_of], low, high)
        _join_equal_boxes(groups, classes, numbers)
        broken = classes.class_of[np.flatnonzero(~truth[numbers])[0]]
        other = proposals.nearest_class(classes, groups.forest, broken, len(classes.size))
        if other != NOBODY:
            proposals.merge(classes, groups.forest, broken, other)


def _join_equal_boxes(groups: KeyGroups, classes: KeyClasses, numbers: Codes) -> None:
    """Makes one class of those that publish the same."""
    first = np.unique(numbers, return_index=True)[1]
    target = classes.class_of[first].copy()
    moved = np.flatnonzero(classes.class_of != target[numbers])
    goals = target[numbers].astype(np.int32)
    changed = np.zeros(len(classes.size), dtype=bool)
    proposals.move_all(moved, classes, groups.forest, goals, changed)
