"""Judgement of classes that are made of key groups."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.errors import WrongCall
from sfumato.core.microdata import Codes, Counts
from sfumato.core.promise import Promises, Truth
from sfumato.protection.searches import refusal
from sfumato.protection.searches.group_counts import GroupCounter
from sfumato.protection.searches.key_groups import KeyGroups
from sfumato.protection.searches.search import Aim


class GroupJudge:
    """Judges lists of key groups as the classes they would be.

    `least` rows a class must have in any case; `by_size` says that nothing else is promised. Promises that
    compare with the whole table are told what the whole table holds: every row is published. Where a person
    may have several rows, that depends on the classes, and only `all_hold` is exact.
    """

    def __init__(self, groups: KeyGroups, promises: Promises, aim: Aim) -> None:
        table = groups.table
        if promises.of_table:
            raise WrongCall(
                f"{promises.of_table[0].name} needs one recoding for all classes, and this one is local",
                remedy="Search top-down.",
            )
        if table.profiles:
            raise WrongCall(
                "people with several rows are judged by what all their rows show, which needs one recoding"
                " for all classes, and this one is local",
                remedy="Search top-down or by lattice.",
            )
        if table.dropped > aim.allowed(table):
            raise refusal.too_many_missing(table, aim.allowed(table))
        self.least = max([1, *(p.least_people for p in promises)])
        self.by_size = not table.has_person and all(p.by_size for p in promises)
        self.unions_keep = promises.hereditary or (promises.monotone and not table.has_person)
        self.checked = 1
        self._groups, self._promises = groups, promises
        everything = self._classes(np.arange(len(groups)), np.array([0, len(groups)]), {})
        self._overall = {name: h.overall for name, h in everything.histograms.items()}
        if not promises.holds_on(everything).all():
            raise refusal.at_the_root(table, everything, promises, final=self.unions_keep)
        blocks = int(groups.block_of.max(initial=0)) + 1
        if blocks > 1 and not (truth := self.all_hold(groups.block_of, blocks)).all():
            lost = int(groups.weight[~truth[groups.block_of]].sum())
            raise refusal.at_the_ceilings(promises, lost, 0)

    @cached_property
    def _counter(self) -> GroupCounter:
        return GroupCounter(self._groups.table)

    def holds(self, members: NDArray[np.integer], start: Counts) -> Truth:
        """Returns whether each list of groups keeps the promises; list i begins at `start[i]`."""
        self.checked += len(start) - 1
        if len(start) == 1:
            return np.zeros(0, dtype=bool)
        return self._promises.holds_on(self._classes(members, start, self._overall))

    def all_hold(self, class_of: Codes, count: int) -> Truth:
        """Returns whether each class keeps the promises when these are all."""
        self.checked += count
        order = np.argsort(class_of, kind="stable")
        start = np.searchsorted(class_of[order], np.arange(count + 1))
        return self._promises.holds_on(self._classes(order, start, {}))

    def _classes(self, members: NDArray[np.integer], start: Counts, overall: dict[str, Counts]) -> Classes:
        sums = np.concatenate(([0], np.cumsum(self._groups.weight[members])))
        rows = sums[start[1:]] - sums[start[:-1]]
        if self.by_size:
            return Classes(rows, rows)
        member, begin = self._groups.rows_of(members, start)
        return self._counter.classes(member, begin, rows, self._promises.sensitive, overall)
