"""The groups that stay published after each step of a top-down search, by what the step changes.

`suppression.keep` says which classes are published: in rounds, each on all classes that are left, because a
promise may compare a class with everything that is published. Here the same rounds look only at classes whose
answer can have changed: those that a step divides, and in later rounds those that are nearer to a limit
(`ClassPromise.margins`) than what is published has moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes, Histogram
from sfumato.core.microdata import Counts
from sfumato.core.promise import Promises, Truth
from sfumato.protection.searches.histogram_store import HistogramStore
from sfumato.protection.searches.refinement import GroupSplit

Margins = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Proposal:
    """What the groups are after a step: `first` says which of them pass the first round."""

    change: GroupSplit
    parts: Classes
    rows: Counts
    people: Counts
    first: Truth
    margins: Margins
    gone: dict[str, Counts]
    left: Truth

    @cached_property
    def part_of(self) -> NDArray[np.int64]:
        """The part that each group is, -1 for a group that stays as it was."""
        parts = np.full(len(self.rows), -1, np.int64)
        parts[self.change.ids] = np.arange(len(self.change.ids))
        return parts


class PublishedGroups:
    """Groups of rows that add up to the table, and which of them are published.

    `rest` are the promises that are not judged on the parts of a step alone; those of them that are
    `relative` have to tell margins (`tells_margins`).
    """

    def __init__(self, everything: Classes, passing: Truth, rest: Promises) -> None:
        relative = tuple(p for p in rest.of_class if p.relative)
        self._rest, self._relative = rest, Promises(relative)
        self._columns = self._relative.sensitive
        self._overall = {name: everything.histograms[name].overall for name in self._columns}
        self._stores = {name: HistogramStore(everything.histograms[name]) for name in self._columns}
        self.rows, self._people = everything.rows, everything.people
        self._first, self._margins = self._judged(everything, passing)
        self._gone = {
            name: store.total(np.flatnonzero(~self._first), len(self._overall[name]))
            for name, store in self._stores.items()
        }
        self._proposal: _Proposal | None = None
        self._kept: Truth | None = None

    def propose(
        self, change: GroupSplit, parts: Classes, passing: Truth, *, most: int | None = None
    ) -> Truth | None:
        """Returns which groups are published after a step; `None` where more than `most` rows are not.

        `passing` says which parts keep the promises that are not among the `rest`. The step is made by
        `accept`.
        """
        count = int(change.ids.max(initial=change.count - 1)) + 1
        truth, margins = self._judged(parts, passing)
        rows, people = _replaced(self.rows, change, parts.rows), _replaced(self._people, change, parts.people)
        first = np.zeros(count, dtype=bool)
        first[: change.count] = self._first
        dropped = change.touched[~first[change.touched]]
        first[change.ids] = truth
        near = np.full((len(margins), count), np.inf)
        near[:, : change.count] = self._margins
        near[:, change.ids] = margins
        gone = {}
        for name, store in self._stores.items():
            total = self._gone[name] - store.total(dropped, len(self._overall[name]))
            np.add.at(total, *_entries(parts.histograms[name], ~truth))
            gone[name] = total
        self._proposal = _Proposal(change, parts, rows, people, first, near, gone, first.copy())
        return self._left_after_rounds(self._proposal, most)

    def forget(self) -> None:
        """The last step divides no group: nothing changes when it is made."""
        self._proposal = None

    def accept(self) -> None:
        """Makes the step that was proposed last."""
        made = self._proposal
        if made is None:
            return
        for name, store in self._stores.items():
            store.replace(made.change.ids, made.parts.histograms[name])
        self.rows, self._people, self._first = made.rows, made.people, made.first
        self._margins, self._gone, self._proposal, self._kept = made.margins, made.gone, None, None

    @property
    def kept(self) -> Truth:
        """Which groups are published, after the steps that were made."""
        if self._kept is None:
            nothing = GroupSplit(np.zeros(0, np.int32), np.zeros(0, np.int64), len(self.rows))
            now = _Proposal(
                nothing,
                Classes(np.zeros(0, np.int64), np.zeros(0, np.int64)),
                *(self.rows, self._people, self._first, self._margins, self._gone, self._first.copy()),
            )
            left = self._left_after_rounds(now, None)
            assert left is not None  # noqa: S101  # there is no limit
            self._kept = left
        return self._kept

    def _judged(self, classes: Classes, passing: Truth) -> tuple[Truth, Margins]:
        """Returns which classes pass the first round, and their margins, one line for each promise."""
        truth = passing & self._rest.holds_on(classes)
        margins = np.empty((len(self._relative.members), len(classes)))
        for line, promise in zip(margins, self._relative.of_class, strict=True):
            line[:] = promise.margins(classes)
        return truth, margins

    def _left_after_rounds(self, made: _Proposal, most: int | None) -> Truth | None:
        left, gone = made.left, {name: total.copy() for name, total in made.gone.items()}
        whole = int(made.rows.sum())
        while True:
            if most is not None and whole - int(made.rows[left].sum()) > most:
                return None
            overall = {name: self._overall[name] - gone[name] for name in self._columns}
            doubtful = np.flatnonzero(left & self._may_have_changed(made.margins, overall))
            if not len(doubtful):
                return left
            doubtful = doubtful[np.argsort(made.part_of[doubtful] >= 0, kind="stable")]
            some = self._picked(made, doubtful, overall)
            truth = self._relative.holds_on(some)
            if truth.all():
                return left
            left[doubtful[~truth]] = False
            for name in self._columns:
                np.add.at(gone[name], *_entries(some.histograms[name], ~truth))

    def _may_have_changed(self, margins: Margins, overall: dict[str, Counts]) -> Truth:
        """Flags the groups that are nearer to a limit than what is published has moved."""
        moved = {name: _variation(self._overall[name], now) for name, now in overall.items()}
        doubtful = np.zeros(margins.shape[1], dtype=bool)
        for line, promise in zip(margins, self._relative.of_class, strict=True):
            doubtful |= line <= max(moved[name] for name in promise.sensitive)
        return doubtful

    def _picked(self, made: _Proposal, chosen: NDArray[np.intp], overall: dict[str, Counts]) -> Classes:
        """Returns some groups after a step as classes, beside what is published: parts of the step last."""
        fresh = made.part_of[chosen]
        old, new = chosen[fresh < 0], fresh[fresh >= 0]
        histograms = {
            name: store.pick(
                old, overall[name], then=made.parts.histograms[name].pick(new) if len(new) else None
            )
            for name, store in self._stores.items()
        }
        return Classes(made.people[chosen], made.rows[chosen], histograms)


def tells_margins(promises: Promises, everything: Classes) -> bool:
    """Whether every promise that compares classes with what is published can tell margins."""
    return all(p.margins(everything) is not None for p in promises.of_class if p.relative)


def _replaced(old: Counts, change: GroupSplit, new: Counts) -> Counts:
    count = int(change.ids.max(initial=change.count - 1)) + 1
    grown = np.zeros(count, np.int64)
    grown[: change.count] = old
    grown[change.ids] = new
    return grown


def _entries(histogram: Histogram, chosen: Truth) -> tuple[NDArray[np.int32], Counts]:
    """Returns the values and counts of some classes, one after the other."""
    held = np.repeat(chosen, np.diff(histogram.start))
    return histogram.values[held], histogram.counts[held]


def _variation(before: Counts, now: Counts) -> float:
    """Returns at least the total variation between two distributions of counts; 1 where one is empty."""
    whole, left = int(before.sum()), int(now.sum())
    if not whole or not left:
        return 1.0
    rounded = (len(before) + 8) * 2.0**-50  # far more than a sum of so many shares loses
    return float(np.abs(before / whole - now / left).sum()) / 2 + rounded
