"""The judge of lattice nodes: their classes, what is suppressed, what promises about tables answer."""

from __future__ import annotations

import numpy as np

from sfumato.core.classes import Classes
from sfumato.core.cut import Cut
from sfumato.core.microdata import Microdata
from sfumato.core.promise import Promises, Truth
from sfumato.core.watch import Answer
from sfumato.protection.controls import spares_all
from sfumato.protection.searches.frontier import Levels
from sfumato.protection.searches.node_cost import JudgedNode
from sfumato.protection.searches.rollup import RollUp
from sfumato.protection.suppression import keep, recoded


class NodeJudge:
    """Judges nodes. `budget` rows may be suppressed, but none of the distinct rows that are `spared`.

    A promise is *lasting* if breaking it means breaking it at every finer node: a hereditary one, and a
    monotone one where nothing may be suppressed and rows are people, or where people's positions are judged.
    """

    def __init__(
        self,
        table: Microdata,
        promises: Promises,
        budget: int,
        *,
        rollup: RollUp | None = None,
        spared: Truth | None = None,
    ) -> None:
        self.table, self.promises, self.budget, self.spared = table, promises, budget, spared
        self.rollup = rollup or RollUp(table, promises.sensitive)
        summed = budget == 0 and (table.profiles or not table.has_person)
        self.lasting = Promises(
            tuple(p for p in promises.of_class if p.hereditary or (p.monotone and summed))
        )
        self.by_size = Promises(tuple(p for p in self.lasting.of_class if not p.sensitive))
        self.watches = [p.watch(table) for p in promises.of_table]

    @property
    def least_rows(self) -> int:
        """How many rows a class has at least that keeps the promises, whoever they belong to."""
        return max([1, *(p.least_people for p in self.promises.of_class)])

    @property
    def asks_sizes_alone(self) -> bool:
        """Whether classes of enough people are all that is promised."""
        return not self.watches and all(p.by_size for p in self.promises.of_class)

    def judge_node(self, levels: Levels) -> JudgedNode | None:
        """Judges the classes of a node; returns `None` if it and every finer one break the budget.

        A node that breaks it alone suppresses more rows than allowed; how many more is not worked out.
        """
        grouped = self.rollup.at(levels)
        classes = self.rollup.classes(grouped, sensitive=False)
        kept = self.by_size.holds_on(classes)
        if _rows(classes, ~kept) > self.budget:
            return None
        if len(self.by_size.members) < len(self.promises.of_class):
            classes = self.rollup.classes(grouped, sensitive=True)
            lasting = self.lasting.holds_on(classes) if self.lasting.sensitive else kept
            if self.lasting.sensitive and _rows(classes, ~lasting) > self.budget:
                return None
            kept = keep(classes, self.promises, most=self.budget)
            if _rows(classes, ~kept) > self.budget and self._least_lost(classes, lasting) > self.budget:
                return None
        left = self.rollup.rows_of(grouped, kept)
        return JudgedNode(
            levels,
            grouped.rows,
            left[left > 0],
            _rows(classes, ~kept),
            lambda: self.rollup.tally(grouped, ~kept),
            kept,
        )

    def _least_lost(self, classes: Classes, lasting: Truth) -> int:
        """Returns how many rows this node and every finer one suppress at least.

        Classes that break a lasting promise are lost. Of the others, promises bound what can be kept, and
        less than the least class is nothing. Where people have rows, it cannot be told.
        """
        if self.table.has_person:
            return 0
        most = np.where(lasting, classes.rows, 0)
        for promise in self.promises.of_class:
            if (bound := promise.most_kept(classes, self.budget)) is not None:
                most = np.minimum(most, bound)
        least = max(promise.least_people for promise in self.promises.of_class)
        return int((classes.rows - np.where(most < least, 0, most)).sum())

    def ask(self, node: JudgedNode) -> Answer:
        """Returns what the table promises answer, and whether every row is published that has to be."""
        if not self.watches and self.spared is None:
            return Answer.YES
        cuts = self.cuts(node.levels)
        answers = [watch.ask(cuts)[0] for watch in self.watches]
        if node.suppressed and not spares_all(recoded(self.table, cuts, self.promises), self.spared):
            lasts = all(p.hereditary for p in self.promises.of_class)
            answers.append(Answer.NEVER if lasts else Answer.LATER)
        for answer in (Answer.NEVER, Answer.LATER):
            if answer in answers:
                return answer
        return Answer.YES

    def cuts(self, levels: Levels) -> dict[str, Cut]:
        keys = self.table.keys
        return {c.name: Cut.level(c.taxonomy, i) for c, i in zip(keys, levels, strict=True)}


def _rows(classes: Classes, chosen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int:
    return int(classes.rows[chosen].sum())
