"""The watch of the promise `continuous` against a register: steps judged by positions and random worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from sfumato.chains.history import History, release_under
from sfumato.chains.positions import (
    Labels,
    numbered,
    overall_counts,
    people_at,
    positions_of,
    rows_under,
    smallest_position,
)
from sfumato.chains.random_worlds import BelievedColumn, expectations_kept, expected_cells
from sfumato.core.chain import ClassTable
from sfumato.core.classes import Classes
from sfumato.core.cut import Cut
from sfumato.core.errors import RefusedByHistory, WrongCall
from sfumato.core.promise import ClassPromise, Cuts, Promises
from sfumato.core.watch import Answer, Watch
from sfumato.show.card import several

NEW_CHAIN = "Ask for less, or start a new chain with the people who came later."


@dataclass(frozen=True, eq=False)
class RegisterRule:
    """What is asked beside earlier releases: k people in every position, and these promises about them."""

    history: History
    k: int
    promises: tuple[ClassPromise, ...]

    def positions_kept(self, classes: Classes) -> bool:
        """Tells whether people of these positions keep everything: rule M."""
        return bool((classes.people >= self.k).all() and Promises(self.promises).holds_on(classes).all())

    def people_at(self, position: Labels) -> Classes:
        """Returns the people of every position; rows at -1 are left out."""
        return people_at(self.history.table, position, self._columns, self._overall)

    def expectations_kept(self, one: ClassTable, other: ClassTable) -> bool:
        """Tells whether what random worlds make of two releases keeps what is asked: rule P."""
        if not self._beliefs:
            return True
        trees = [c.taxonomy for c in self.history.table.keys]
        try:
            cells = expected_cells(trees, one, other)
        except WrongCall:  # too many cells to look at
            return False
        return expectations_kept(cells, self._beliefs, self._judged)

    def expected_beside(self, releases: Sequence[ClassTable], cuts: Cuts) -> bool:
        """Tells the same of each of these releases beside the table under these cuts."""
        if not self._beliefs or not releases:
            return True
        now = release_under(self.history, cuts)
        return all(self.expectations_kept(release, now) for release in releases)

    def smallest(self, cuts: Cuts) -> int | None:
        """Returns the number of people in the smallest position."""
        return smallest_position(self.history.table, positions_of(self.history, cuts))

    @cached_property
    def _beliefs(self) -> tuple[ClassPromise, ...]:
        return Promises(self.promises).about_beliefs

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        return Promises(self.promises).sensitive

    @cached_property
    def _overall(self) -> dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        return overall_counts(self.history.table, self._columns)

    @cached_property
    def _judged(self) -> list[BelievedColumn]:
        table, history = self.history.table, self.history
        return [
            BelievedColumn(n, table.column(n).taxonomy, history.code_of_value(n), self._overall[n])
            for n in self._columns
        ]


class RegisterWatch(Watch):
    """Follows a search. A position that breaks a promise keeps a part that does under every further step:
    that is NEVER. Random worlds may be worse now and better further down: that is LATER."""

    def __init__(self, rule: RegisterRule) -> None:
        self.rule, self.history = rule, rule.history
        self._refuse_earlier()
        roots = {c.name: Cut.root(c.taxonomy) for c in self.history.table.keys}
        self._position = positions_of(self.history, roots)
        if not rule.positions_kept(rule.people_at(self._position)):
            count = several(len(self.history.releases), "earlier release")
            raise RefusedByHistory(
                f"beside {count}, people whom nothing tells apart for somebody with everybody's key values"
                " break a promise, also where the next release shows no key at all",
                remedy=NEW_CHAIN,
            )

    def ask(self, cuts: Cuts, step: tuple[str, int] | None = None) -> tuple[Answer, str]:
        position = positions_of(self.history, cuts) if step is None else self._parts(*step)
        if not self.rule.positions_kept(self.rule.people_at(position)):
            return Answer.NEVER, "people whom the releases together do not tell apart would break a promise"
        if not self.rule.expected_beside(self.history.releases, cuts):
            return Answer.LATER, "what two releases together make likely would break a promise"
        return Answer.YES, ""

    def accept(self, cuts: Cuts) -> None:
        self._position = positions_of(self.history, cuts)

    def _parts(self, column: str, node: int) -> Labels:
        """Returns the positions that a step makes; rows that it leaves where they are, are at -1."""
        table = self.history.table
        tree, codes = table.column(column).taxonomy, table.codes(column)
        here = rows_under(codes, tree, node)
        child = tree.child_above(node)[codes[here] - tree.low[node]]
        parts = np.full(table.distinct, -1, np.int64)
        sizes = (int(self._position.max(initial=0)) + 1, len(tree.labels))
        parts[here] = numbered([self._position[here], child], sizes)
        return parts

    def _refuse_earlier(self) -> None:
        """Raises where two of the earlier releases make too much likely already."""
        for i, j in combinations(range(len(self.history.releases)), 2):
            if not self.rule.expectations_kept(self.history.releases[i], self.history.releases[j]):
                raise RefusedByHistory(
                    f"releases {i + 1} and {j + 1} together make a value more likely than is promised; no"
                    " later release mends that",
                    remedy=NEW_CHAIN,
                )
