"""The judge of a top-down search: whether a step keeps the promises, by what the step changes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import (
    Answer,
    Cuts,
    Deliberate,
    IncrementalChecker,
    Promises,
    TablePromise,
    Truth,
)
from sfumato.search import contract as refusal
from sfumato.search.contract import Aim
from sfumato.search.controls import spared_rows
from sfumato.search.groups import ClassGroups, PublishedGroups, tells_margins
from sfumato.search.key_groups import WHOLE_PRICE, node_prices
from sfumato.search.refinement import GroupSplit, Refinement, Split
from sfumato.search.suppression import keep
from sfumato.system.errors import Infeasible, UsageError
from sfumato.table.classes import Classes, Histogram
from sfumato.table.microdata import Codes, Counts, Microdata
from sfumato.table.recoding import Recoding

# The price of a top-down step: what it makes finer, against the rows that it suppresses.


class StepPrices:
    """What rows lose in the classes of a search, in whole numbers; a suppressed row loses its price.

    Measures of class sizes count the rows of its class for a row, others the generality of its values.
    """

    def __init__(self, classes: Refinement, aim: Aim, price: Fraction) -> None:
        self._classes, self._by_size = classes, aim.loss == "discernibility"
        self._prices = node_prices(classes.table, aim.weights)
        roots = sum(int(prices[0]) for prices in self._prices)
        self._cost = np.full(classes.count, roots, np.int64)
        whole = classes.table.rows + classes.table.dropped if self._by_size else WHOLE_PRICE
        self._suppressed = int(price * whole)

    def worsen(self, split: Split, before: Truth, after: Truth) -> bool:
        """Whether a step suppresses more rows than what the others gain by it is worth.

        `before` says of the parent of each part whether it is suppressed, `after` of the part.
        """
        rows = split.rows
        if int(rows[after].sum()) <= int(rows[before].sum()):
            return False
        old, new = self._costs(split)
        return self._total(rows, new, after) >= self._total(rows, old, before)

    def accept(self, split: Split) -> None:
        """Notes that the search makes this step."""
        self._cost = split.after(self._cost, self._costs(split)[1])

    def _costs(self, split: Split) -> tuple[Counts, Counts]:
        """Returns what a row of each part loses before and after the step."""
        if self._by_size:
            return self._classes.rows[split.parent], split.rows
        prices, old = self._prices[split.step.column], self._cost[split.parent]
        return old, old - prices[split.step.node] + prices[split.children[split.branch]]

    def _total(self, rows: Counts, cost: Counts, suppressed: Truth) -> int:
        left = ~suppressed
        return int(rows[left] @ cost[left]) + int(rows[suppressed].sum()) * self._suppressed


class StepJudge:
    """Judges the steps of a top-down search, and remembers the accepted ones.

    `budget` rows may stay unpublished, but no group with a row that the aim never suppresses. A promise is
    *lasting* if breaking it now means breaking it after any further step: a monotone promise where nothing is
    suppressed and the parts of a group add up to it (they cannot all keep what their union breaks), a
    hereditary promise always. Where people are counted in classes, somebody in two parts counts in both, so a
    union is no longer the sum of its parts and `monotone` alone proves nothing.

    Lasting promises are judged on the parts of a step alone; more than `budget` rows in parts that break one
    mean NEVER. The other promises are judged on all classes by the written definition of suppression
    (`suppression.keep`): more than `budget` rows to suppress mean LATER. Table promises are asked last, by
    their `watches`; those of another search of the same table serve again.

    Where suppressed rows have a price, a step that costs more than it gains (`StepPrices`) is set aside, too.
    """

    def __init__(
        self,
        classes: Refinement,
        promises: Promises,
        aim: Aim,
        *,
        watches: Sequence[IncrementalChecker] | None = None,
    ) -> None:
        table = classes.table
        self.classes = classes
        self.budget = budget_of(table, promises, aim)
        self.promises = promises
        summed = self.budget == 0 and not table.has_person
        self.lasting = Promises(
            tuple(p for p in promises.of_class if p.hereditary or (p.monotone and summed))
        )
        self._sized = Promises(tuple(p for p in self.lasting.of_class if p.by_size))
        self._whole = len(self.lasting.members) < len(promises.of_class)
        self.groups = ClassGroups(classes)
        self._spared = spared_rows(table, aim)
        self._split: GroupSplit | None = None
        everything = self._at_roots = self.groups.everything(promises.sensitive)
        self._overall = {name: h.overall for name, h in everything.histograms.items()}
        self._all = everything
        self._proposed = everything
        self._broken = ~self.lasting.holds_on(everything)
        self._breaking = self._broken
        self._kept: NDArray[np.bool_] | None = None
        self._lost = int(everything.rows[self._broken].sum())
        self._stays = None if self._spared is None else self.groups.marked_groups(self._spared)
        self._staying = self._stays
        self.watches = [p.watch(table) for p in promises.of_table] if watches is None else list(watches)
        self._cuts = classes.cuts if self.watches else {}
        for watch in self.watches:
            watch.accept(self._cuts)
        self._published = self._published_groups(everything) if self._whole else None
        self.waiting: tuple[TablePromise, str] | None = None
        self.broken_root: Infeasible | None = None
        weighed = aim.price is not None and self.budget > 0
        self._prices = StepPrices(classes, aim, aim.price) if weighed and aim.price is not None else None

    def ask(self, split: Split) -> Answer:
        """Whether a step keeps every promise; if not, whether it ever can."""
        change = self._split = self.groups.split(split)
        if self._parts_too_small(change):
            return Answer.NEVER
        parts = self._parts_of(change)
        if parts is not None:
            over = self._rows_broken(change, self._breaking) > self.budget
            if over or self._drops_spared(self._breaking, change.ids):
                return Answer.NEVER
            suppressed = self._breaking
            if self._whole:
                published = self._kept_after(change, parts)
                if published is None or self._drops_spared(~published):
                    return Answer.LATER
                suppressed = ~published[change.ids]
            if self._prices is not None and self._prices.worsen(split, ~self.kept[change.parent], suppressed):
                return Answer.LATER
        return self._ask_watches(split)

    def force(self, split: Split) -> None:
        """Notes that the search makes this step, whatever it breaks: it leads to where the search starts."""
        change = self._split = self.groups.split(split)
        parts = self._parts_of(change)
        if parts is not None:
            self._kept_after(change, parts)
        self.accept(split)

    def accept(self, split: Split) -> None:
        """Notes that the search makes this step, the last one asked about."""
        change = self._split
        assert change is not None  # noqa: S101  # a step is asked about before it is made
        self._lost = self._rows_broken(change, self._breaking)
        self._broken = change.after(self._broken, self._breaking)
        self._all, self._stays = self._proposed, self._staying
        self._kept = None
        if self._published is not None:
            self._published.accept()
        if self._prices is not None:
            self._prices.accept(split)
        self.groups.accept()
        if self.watches:
            self._cuts = self.classes.cuts_after(split.step, self._cuts)
            for watch in self.watches:
                watch.accept(self._cuts)

    def certain(self, cuts: Cuts) -> bool:
        """Whether these cuts keep the table promises for certain, not only by a bound."""
        return all(watch.resolve(cuts) for watch in self.watches if isinstance(watch, Deliberate))

    def deliberate(self, most: int) -> None:
        """Has table promises answer exactly from now on, so many times."""
        for watch in self.watches:
            if isinstance(watch, Deliberate):
                watch.deliberate(most)

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which groups are published."""
        if self._published is not None:
            return self._published.kept
        if self._kept is None:
            self._kept = keep(self._all, self.promises) if self._whole else ~self._broken
        return self._kept

    def recoding(self) -> Recoding:
        """Returns the classes as they are, as a recoding, without the rows that are suppressed."""
        return self.groups.recoding(self.kept)

    def _published_groups(self, everything: Classes) -> PublishedGroups | None:
        """Returns what follows the groups step by step; `None` where all have to be judged at every step.

        Where a person counts in several groups, what all of them hold is not what the table holds.
        """
        table = self.classes.table
        not_lasting = Promises(tuple(p for p in self.promises.of_class if p not in self.lasting.members))
        if table.has_person or not tells_margins(not_lasting, everything):
            return None
        return PublishedGroups(everything, ~self._broken, not_lasting)

    def _parts_too_small(self, change: GroupSplit) -> bool:
        """Whether the sizes of the parts alone break lasting promises for more rows than the budget.

        What the parts hold need not be counted then. Where people have several rows, sizes do not tell.
        """
        if change.whole or self.classes.table.has_person:
            return False
        breaking = ~self._sized.holds_on(Classes(change.rows, change.rows))
        return self._rows_broken(change, breaking) > self.budget

    def _parts_of(self, change: GroupSplit) -> Classes | None:
        """Returns the parts of a step; None where it divides no group.

        What breaks a promise and what has to stay are then those after the step.
        """
        if change.whole:
            self._breaking, self._proposed = self._broken[change.parent], self._all
            self._staying = self._stays
            if self._published is not None:
                self._published.forget()
            return None
        sensitive = self.promises.sensitive if self._whole else self.lasting.sensitive
        parts = self.groups.parts(sensitive, self._overall)
        self._breaking = ~self.lasting.holds_on(parts)
        self._staying = self._stays_after(change)
        return parts

    def _kept_after(self, change: GroupSplit, parts: Classes) -> NDArray[np.bool_] | None:
        """Returns which groups are published after a split; `None` where that leaves out too many rows."""
        if self._published is not None:
            return self._published.propose(change, parts, ~self._breaking, most=self.budget)
        if not self._whole:
            return None
        self._proposed = replaced(self._all, change, parts)
        published = keep(self._proposed, self.promises, most=self.budget)
        return published if int(self._proposed.rows[~published].sum()) <= self.budget else None

    def _stays_after(self, change: GroupSplit) -> NDArray[np.bool_] | None:
        """Returns which groups hold a row that may not be suppressed, after a split; `None`: all may."""
        if self._stays is None or self._spared is None:
            return None
        return change.after(self._stays, self.groups.marked_parts(self._spared))

    def _drops_spared(self, dropped: NDArray[np.bool_], ids: Codes | None = None) -> bool:
        """Whether one of these proposed groups, all by default, is dropped with a row that has to stay."""
        if self._staying is None:
            return False
        staying = self._staying if ids is None else self._staying[ids]
        return bool((staying & dropped).any())

    def _rows_broken(self, split: GroupSplit, breaking: NDArray[np.bool_]) -> int:
        """Counts the rows that would be in groups that break a lasting promise, as these parts do."""
        gone = int(split.rows[self._broken[split.parent]].sum()) if self._lost else 0
        return self._lost - gone + int(split.rows[breaking].sum())

    def _ask_watches(self, split: Split) -> Answer:
        worst = Answer.YES
        if self.watches:
            step = (self.classes.table.keys[split.step.column].name, split.step.node)
            cuts = self.classes.cuts_after(split.step, self._cuts)
            for watch in self.watches:
                answer, _ = watch.ask(cuts, step)
                if answer is Answer.NEVER:
                    return answer
                worst = worst if answer is Answer.YES else answer
        return worst

    def check_start(self) -> None:
        """Raises where the coarsest cuts that may be published break a promise for good; these are made.

        What may hold further down is kept, with the reason: in `broken_root` where suppressing classes can
        mend it, in `waiting` where a table promise breaks.
        """
        rows = self._all.rows if self._published is None else self._published.rows
        lost = int(rows[~self.kept].sum()) if self._whole else self._lost
        if lost > self.budget or self._drops_spared(~self.kept):
            final, roots = not self._whole, self._at_roots
            refused = refusal.at_the_root(self.classes.table, roots, self.promises, final=final)
            if int(roots.rows[~keep(roots, self.promises)].sum()) <= self.budget:
                refused = refusal.at_the_ceilings(self.promises, lost, self.budget)
            if final:
                raise refused
            self.broken_root = refused
        for promise, watch in zip(self.promises.of_table, self.watches, strict=True):
            answer, reason = watch.ask(self._cuts)
            if answer is Answer.NEVER:
                raise refusal.by_table(promise, reason)
            if answer is Answer.LATER:
                self.waiting = self.waiting or (promise, reason)
            watch.accept(self._cuts)


def budget_of(table: Microdata, promises: Promises, aim: Aim) -> int:
    """Returns how many of the coded rows may be suppressed; at least one must be left to publish."""
    if promises.of_table and aim.suppress > 0:
        name = promises.of_table[0].name
        raise UsageError(
            f"{name} is about the table as a whole and is not judged with rows suppressed",
            remedy="Set suppress to 0.",
        )
    refusal.check_missing(table, aim)
    return min(aim.allowed(table) - table.dropped, max(0, table.rows - 1))


def replaced(classes: Classes, split: GroupSplit, parts: Classes) -> Classes:
    """Returns the groups with those that a split touches replaced by its parts, by number."""
    chosen = np.arange(split.count_after)
    chosen[split.ids] = len(classes) + np.arange(len(parts))
    return _concatenated(classes, parts).pick(chosen)


def _concatenated(left: Classes, right: Classes) -> Classes:
    """Returns the classes of one, then those of the other."""
    histograms = {}
    for name, h in left.histograms.items():
        more = right.histograms[name]
        histograms[name] = Histogram(
            h.taxonomy,
            np.concatenate((h.start, h.start[-1] + more.start[1:])),
            np.concatenate((h.values, more.values)),
            np.concatenate((h.counts, more.counts)),
            h.overall,
        )
    return Classes(
        np.concatenate((left.people, right.people)), np.concatenate((left.rows, right.rows)), histograms
    )
