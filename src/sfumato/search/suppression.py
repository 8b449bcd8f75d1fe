"""Suppression: which classes are published, in one definition."""

from __future__ import annotations

import numpy as np

from sfumato.core.classes import Classes
from sfumato.core.microdata import Microdata
from sfumato.core.positions import judged_groups
from sfumato.core.promise import Cuts, Promises, Truth
from sfumato.core.recoding import Recoding, classes_under


def keep(classes: Classes, promises: Promises, *, most: int | None = None) -> Truth:
    """Returns one truth per class: whether it is published.

    Where people have several rows and outsiders know them all, positions stand for classes: people are
    suppressed with all their rows. Classes are suppressed whole, in rounds: judge the classes; drop those
    that break a class promise; judge the rest again as the table they would be, since a promise may compare
    with the published distribution; stop when none breaks. Every round drops at least one class, so this
    ends, if need be with nothing left. Table promises have no say here.

    With `most`, the rounds end early once more than that many rows are dropped: too many already, and
    dropped classes never come back.

    >>> from types import SimpleNamespace
    >>> sizes = np.array([5, 1, 2])
    >>> pair = SimpleNamespace(holds_on=lambda classes: classes.people >= 2)
    >>> keep(Classes(sizes, sizes), pair).tolist()
    [True, False, True]
    """
    left, numbers = classes, np.arange(len(classes))
    while len(numbers):
        truth = promises.holds_on(left)
        if truth.all():
            break
        numbers = numbers[truth]
        if most is not None and int(classes.rows.sum()) - int(classes.rows[numbers].sum()) > most:
            break
        left = classes.pick(numbers)
    kept = np.zeros(len(classes), dtype=bool)
    kept[numbers] = True
    return kept


def recoded(table: Microdata, cuts: Cuts, promises: Promises) -> Recoding:
    """Returns the recoding of some cuts; classes, or positions, that break a promise are suppressed."""
    grouped = classes_under(table, cuts)
    groups = judged_groups(table, grouped[0])
    kept = keep(Classes.of(table, groups, sensitive=promises.sensitive), promises)
    return Recoding.of_cuts(table, cuts, grouped=grouped).keeping(kept[groups])
