"""Mondrian: recursive partitioning at medians and along taxonomies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import log2

import numpy as np

from sfumato.models.contract import Promises, Truth
from sfumato.policy.searches import Ability
from sfumato.search import contract as refusal
from sfumato.search.best import with_suppression
from sfumato.search.contract import TIMES_DIVIDED_AGAIN, Aim, Outcome, TableSize, Work, built_in_search
from sfumato.search.groups import MovingRows, RowRanges, Segments, SplitProposal
from sfumato.search.loss import find_measure
from sfumato.search.refinement import GroupCounter
from sfumato.search.suppression import one_class_per_box
from sfumato.system.progress import Progress, silent
from sfumato.table.classes import Classes
from sfumato.table.microdata import Counts, Microdata
from sfumato.table.recoding import Recoding

ROWS_JUDGED_TOGETHER = 1 << 21
"""Classes of about so many rows are judged together."""


MOST_WITHHELD_TRIED = 4_000_000
"""Distinct rows that are split again, all together, without those that may be suppressed."""


@built_in_search(
    "mondrian",
    "splits classes one by one, at medians and along taxonomies",
    place=3,
    compared=4,
    ability=Ability(
        losses=("loss", "discernibility"),
        suppresses=False,
        weighs=True,
        relaxes=True,
        whole_columns=False,
        why_not="Mondrian recodes each class by itself, so a column has no level to measure",
        ranges=True,
    ),
    work=Work(
        steps=lambda size: (
            size.rows * size.keys * log2(2 + size.rows / size.least) * (1 + _times_divided_again(size))
        ),
        step_time=0.04,
        times_for_values=2,
        row_bytes=lambda _, width, named: 2 * width + (95 if named else 60),
        rows_of_rungs=200_000,
        cells_of_rungs=700_000,
        rows_of_offers=300_000,
    ),
)
def mondrian(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Splits the table into classes (`partition`), where suppressed rows have a price without some of them.

    Without a price nothing is suppressed.
    """
    return with_suppression(
        partition,
        table,
        promises,
        aim,
        by_relief=True,
        by_top_down=True,
        most=MOST_WITHHELD_TRIED,
        progress=progress,
    )


def _times_divided_again(size: TableSize) -> int:
    """Returns how often the table may be divided again, without some rows."""
    return min(TIMES_DIVIDED_AGAIN, MOST_WITHHELD_TRIED // max(1, size.rows)) if size.priced else 0


def partition(table: Microdata, promises: Promises, aim: Aim, *, progress: Progress = silent) -> Outcome:
    """Splits the table into ever smaller segments as long as every part keeps the promises.

    Each segment is split in the column in which it is widest (span of leaves, as a share of the column's,
    times the weight; ties go to the first column); if a part breaks a promise, in the next widest. An ordered
    column is split at its weighted median: strictly, all rows at the median go to the side that balances
    better; relaxed, they go to either side, rows with equal keys together. An unordered column is split into
    the children of the lowest node that covers the segment. The first segments are the blocks: rows that are
    below the same nodes where every column is at its ceiling (one, if that is the root). All open segments
    are split at once, round by round, so that promises judge many parts in one call.

    Segments become classes; nothing is suppressed. Which rows go where depends on key columns alone, except
    that promises may refuse a split. Relaxed segments that publish the same are one class; where a promise
    might not survive that (`SplitJudge.unions_keep`), splits are strict.

    Source: LeFevre, DeWitt and Ramakrishnan, *Mondrian multidimensional k-anonymity*, 2006.
    """
    find_measure(aim.loss)
    rows = MovingRows(table, aim.weights)
    judge = SplitJudge(rows, promises, aim)
    relaxed = aim.relaxed and judge.unions_keep
    progress("mondrian", 0, table.rows)
    if judge.by_size and len(rows.whole) == 1:
        segments = rows.divide(least=judge.least, relaxed=relaxed)
    else:
        segments = _by_rounds(rows, judge, relaxed=relaxed, progress=progress)
    progress("mondrian", table.rows, table.rows)
    recoding = _recoding(rows, segments, merge=relaxed)
    return Outcome(recoding, aim.loss_of(recoding), checked=judge.checked)


def _by_rounds(rows: MovingRows, judge: SplitJudge, *, relaxed: bool, progress: Progress) -> Segments:
    """Splits all open segments at once; those whose parts are refused are tried in their next column."""
    open_, closed, done = rows.whole, list[Segments](), 0
    while len(open_):
        proposal = rows.propose(open_, least=judge.least, relaxed=relaxed)
        split = proposal.parts > 1
        closed.append(open_.pick(~split))
        accepted = judge.accept(proposal, split)
        finer = open_.pick(accepted).cut(proposal.pick(accepted))
        open_ = Segments.joined([finer, open_.pick(split & ~accepted)])
        done += int(closed[-1].weight.sum())
        progress("mondrian", done, rows.table.rows)
    segments = Segments.joined(closed) if closed else rows.whole
    return segments.pick(np.argsort(segments.first))


class SplitJudge:
    """Judges the parts of all splits of a round at once.

    `least` rows a part must have in any case, which the splitting itself sees to; where k-anonymity of rows
    is all that is promised, nothing is left to judge. Where a person may have several rows, what the table
    as a whole holds (each person once per class and value) depends on the classes: promises that are not
    hereditary are then judged once more, on all classes together, halving the set of splits until the rest
    may stand. `unions_keep` says that classes which keep the promises still do when they are joined.
    """

    def __init__(self, rows: MovingRows, promises: Promises, aim: Aim) -> None:
        table = rows.table
        refusal.refuse_local(table, promises, aim, "; Mondrian recodes locally")
        for column in table.keys:
            if column.taxonomy.ordered and column.taxonomy.ceiling < column.taxonomy.range_level:
                raise refusal.no_single_values(column.name)
        self.least = max([1, *(p.least_people for p in promises if p.by_size)])
        self._rows, self._promises = rows, promises
        self._counter = None if rows.carries(promises.sensitive) else GroupCounter(table)
        self.by_size = not table.has_person and all(p.by_size for p in promises)
        self._jointly = table.has_person and not promises.hereditary
        self.unions_keep = promises.hereditary or (promises.monotone and not table.has_person)
        self._starts = rows.whole.first
        self.checked = 1
        everything = self._everything()
        self._overall = {name: h.overall for name, h in everything.histograms.items()}
        truth = promises.holds_on(everything)
        if not truth.all():
            whole = everything if len(everything) == 1 else self._one_class()
            if promises.holds_on(whole).all():
                raise refusal.at_the_ceilings(promises, int(everything.rows[~truth].sum()), 0)
            raise refusal.at_the_root(table, whole, promises, final=not self._jointly)

    def accept(self, proposal: SplitProposal, split: Truth) -> Truth:
        """Flags the segments that were split and may stay so."""
        if not split.any():
            return split
        self.checked += int(split.sum())
        accepted, parts = split.copy(), proposal.pick(split)
        judged = [
            self._promises.holds_on(self._classes(parts.ranges(batch), self._overall))
            for batch in _some_at_a_time(parts.last - parts.first)
        ]
        truth = np.concatenate(judged)
        accepted[split] = np.logical_and.reduceat(truth, parts.begin)
        return self._accept_jointly(proposal, accepted) if self._jointly else accepted

    def _accept_jointly(self, proposal: SplitProposal, split: Truth) -> Truth:
        """Accepts splits as long as all classes together keep the promises."""
        accepted = np.zeros(len(split), dtype=bool)
        groups = [np.flatnonzero(split)]
        while groups:
            group = groups.pop()
            tried = accepted.copy()
            tried[group] = True
            starts = np.union1d(self._starts, proposal.pick(tried).first)
            classes = self._classes(self._rows.ranges(starts), {})
            if self._promises.holds_on(classes).all():
                accepted = tried
                self._overall = {name: h.overall for name, h in classes.histograms.items()}
            elif len(group) > 1:
                groups += [group[len(group) // 2 :], group[: len(group) // 2]]
        self._starts = np.union1d(self._starts, proposal.pick(accepted).first)
        return accepted

    def _everything(self) -> Classes:
        """Returns the table as one class per block."""
        if self.by_size and len(self._starts) <= 1:
            rows = np.full(len(self._starts), self._rows.table.rows, np.int64)
            return Classes(rows, rows)
        return self._classes(self._rows.ranges(self._starts), {})

    def _one_class(self) -> Classes:
        """Returns the table as one class."""
        return self._classes(self._rows.ranges(np.zeros(1, np.int64)), {})

    def _classes(self, ranges: RowRanges, overall: dict[str, Counts]) -> Classes:
        """Returns ranges of rows as classes."""
        if self._counter is None:
            return self._rows.classes(ranges, self._promises.sensitive, overall)
        member, start = self._rows.rows_of(ranges)
        counts, begin = self._rows.table.counts[member], start[:-1]
        rows = np.add.reduceat(counts, begin) if len(begin) else begin
        return self._counter.classes(member, start, rows, self._promises.sensitive, overall)


def _some_at_a_time(rows: Counts) -> Iterator[slice]:
    """Yields runs of neighbours with about `ROWS_JUDGED_TOGETHER` rows, to be judged in little memory."""
    group = (np.cumsum(rows) - rows) // ROWS_JUDGED_TOGETHER
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    for start, stop in pairwise([*starts.tolist(), len(rows)]):
        yield slice(start, stop)


def _recoding(rows: MovingRows, segments: Segments, *, merge: bool) -> Recoding:
    """Returns segments as classes, in their order; `merge` joins those that publish the same."""
    recoding = Recoding(rows.table, rows.class_of(segments), *rows.published(segments))
    return one_class_per_box(recoding) if merge and recoding.count else recoding
