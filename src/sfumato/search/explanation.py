"""Explanations why a plan is not finer: per column the steps not taken, and what each would cost.

One pass per column judges all its steps at once: a class publishes one node per column, so refining every
node of a column by one step shows what refining each of them alone would do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Classes
from sfumato.core.cut import Cut
from sfumato.core.json_object import JsonObject
from sfumato.core.positions import judged_groups
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding, classes_under
from sfumato.core.taxonomy import Label
from sfumato.core.watch import Answer
from sfumato.protection.column_shape import ColumnShape, shape_of
from sfumato.protection.explanation.parts import Parts, children_of_nodes, halves_of_classes, judged_parts
from sfumato.protection.loss import measure
from sfumato.protection.suppression import recoded
from sfumato.show.card import Card, Printable, figure, several
from sfumato.show.document import json_ready

MOST_STEPS_SHOWN = 5
"""An explanation lists so many steps per column; all of them are judged and counted."""
LEAST_GAIN = 0.0001
"""What is saved or lost below this is said to be less."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class NextStep:
    """One specialization that was not taken.

    `of` is what is published today; `promise` the first promise that would break (empty: none), on so many
    `people` in so many `classes`; `cost` counts the rows to suppress for it, beyond those suppressed now;
    `gain` is the mean loss it would save (for a level: the loss of the plan's own measure). `reason` is what
    a promise about the table as a whole says against it: no suppressed row would help; `in_full` is the same
    with the values that are at stake, for those who ask to see them.
    """

    of: Label
    promise: str
    people: int
    classes: int
    cost: int
    gain: float
    reason: str = ""
    node: int = field(default=-1, repr=False, compare=False)
    in_full: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True)
class ColumnExplanation:
    """What one column became and why it is not finer.

    `possible` steps were judged, of which `steps` lists the cheapest; `blocked` counts per promise the steps
    that break it first. `by_class` says that classes are recoded one by one: a step splits one of them.
    `rows_only` says that rows were counted, and nobody knows how many people these are.
    """

    shape: ColumnShape
    steps: tuple[NextStep, ...]
    possible: int
    blocked: Mapping[str, int]
    by_class: bool = False
    rows_only: bool = False

    @property
    def sentence(self) -> str:
        steps = several(self.possible, "split of a class" if self.by_class else "finer step", self._many)
        if not self.possible:
            return "as fine as it can be"
        if not self.blocked:
            return f"{steps} would keep the promises, at a greater loss"
        worst = max(self.blocked, key=lambda name: self.blocked[name])
        stopped = f"{worst} stops {figure(self.blocked[worst])} of {steps}"
        cheapest = next((step for step in self.steps if step.promise), None)
        if cheapest is None:
            return f"{stopped}; {figure(self.possible - sum(self.blocked.values()))} would keep the promises"
        if cheapest.reason:
            return f"{stopped}; {cheapest.reason}"
        gain = abs(cheapest.gain)
        much = f"less than {LEAST_GAIN}" if 0 < gain < LEAST_GAIN else figure(gain)
        change = f"save {much}" if cheapest.gain >= 0 else f"lose {much} more"
        words = ("row", "rows") if self.rows_only else ("person", "people")
        cost = f"{several(cheapest.cost, 'row')} ({several(cheapest.people, *words)} too exposed)"
        return f"{stopped}; the cheapest would cost {cost} and {change}"

    @property
    def _many(self) -> str:
        return "splits of a class" if self.by_class else "finer steps"


@dataclass(frozen=True)
class Explanation(Printable):
    """The explanations of all columns; `spare` counts the rows that may still be suppressed."""

    columns: Mapping[str, ColumnExplanation]
    spare: int = 0

    def card(self) -> Card:
        spare = f"{several(self.spare, 'row')} more may be suppressed"
        notes = (spare,) if self.spare else ()
        lines = [(name, explanation.sentence) for name, explanation in self.columns.items()]
        return Card("why not finer", lines, notes)

    def as_dict(self) -> JsonObject:
        """Returns JSON, under the names of the attributes."""
        return {"columns": json_ready(self.columns), "spare": self.spare}

    def values(self) -> list[str]:
        """Returns what stops steps, with the values at stake, for whoever asked to see them."""
        return [
            f"{name}: {step.in_full}"
            for name, explanation in self.columns.items()
            for step in explanation.steps
            if step.in_full
        ]

    def __getitem__(self, column: str) -> ColumnExplanation:
        return self.columns[column]


def explain(
    recoding: Recoding,
    promises: Promises,
    *,
    levels: Mapping[str, int] | None = None,
    loss: str = "loss",
    weights: Mapping[str, Fraction] | None = None,
    price: Fraction | None = None,
    allowed: int = 0,
) -> Explanation:
    """Judges, column by column, the steps that the recoding does not take.

    `allowed` is how many rows may be suppressed in all.
    """
    explanations = {}
    table_check = TablePromiseCheck(recoding, promises)

    def lost(made: Recoding, at: Mapping[str, int]) -> float:
        return measure(loss, made, at, weights, price)

    for j, column in enumerate(recoding.table.keys):
        if levels is not None:
            shape = shape_of(recoding, j, levels[column.name])
            explanations[column.name] = _explain_level(recoding, promises, shape, levels, lost)
        else:
            parts = (
                children_of_nodes(recoding, j)
                if recoding.cuts is not None
                else halves_of_classes(recoding, j)
            )
            explanation = _explain_column(shape_of(recoding, j), recoding, promises, parts)
            explanations[column.name] = table_check.add(explanation, column.name)
    return Explanation(explanations, max(0, allowed - recoding.suppressed))


def _explain_level(
    recoding: Recoding,
    promises: Promises,
    shape: ColumnShape,
    levels: Mapping[str, int],
    lost: Callable[[Recoding, Mapping[str, int]], float],
) -> ColumnExplanation:
    """Explains why one column of a full-domain recoding is not at one level less."""
    table, level = recoding.table, levels[shape.column]
    if level == 0:
        return ColumnExplanation(shape, (), 0, {})
    finer_levels = {**levels, shape.column: level - 1}
    cuts = {c.name: Cut.level(c.taxonomy, finer_levels[c.name]) for c in table.keys}
    groups = judged_groups(table, classes_under(table, cuts)[0])
    classes = Classes.of(table, groups, sensitive=promises.sensitive)
    finer = recoded(table, cuts, promises)
    truths = [promise.holds_on(classes) for promise in promises.of_class]
    first = next((str(p) for p, t in zip(promises.of_class, truths, strict=True) if not t.all()), "")
    broken = ~np.logical_and.reduce(truths) if truths else np.zeros(len(classes), bool)
    step = NextStep(
        f"level {level}",
        first,
        int(classes.people[broken].sum()),
        int(broken.sum()),
        finer.suppressed - recoding.suppressed,
        lost(recoding, levels) - lost(finer, finer_levels),
    )
    blocked = {first: 1} if first else {}
    return ColumnExplanation(shape, (step,), 1, blocked, rows_only=table.rows_only)


def _explain_column(
    shape: ColumnShape, recoding: Recoding, promises: Promises, parts: Parts
) -> ColumnExplanation:
    """Judges every part, and adds up what each step would break."""
    table, count = recoding.table, len(parts.labels)
    touched = parts.part_of >= 0
    rows = sums_per_id(parts.part_of[touched], table.counts[touched], len(parts.step_of))
    first, people, cost, broken = np.full(count, -1), *(np.zeros(count, np.int64) for _ in range(3))
    for classes, step_of in judged_parts(recoding, parts, promises.sensitive):
        wrong = np.zeros(len(classes), dtype=bool)
        for i, promise in enumerate(promises.of_class):
            broken_here = ~promise.holds_on(classes)
            hit = np.zeros(count, dtype=bool)
            hit[step_of[broken_here]] = True
            first[hit & ((first < 0) | (first > i))] = i
            wrong |= broken_here
        people += sums_per_id(step_of[wrong], classes.people[wrong], count)
        cost += sums_per_id(step_of[wrong], classes.rows[wrong], count)
        broken += sums_per_id(step_of[wrong], np.ones(int(wrong.sum()), np.int64), count)
    unit = (table.rows + table.dropped) * max(1, parts.domain - 1) * len(table.keys)
    gain = sums_per_id(parts.step_of, rows * parts.narrower, count) / unit
    names = [str(p) for p in promises.of_class]
    steps = tuple(
        NextStep(
            parts.labels[s], names[first[s]] if first[s] >= 0 else "", int(people[s]),
            int(broken[s]), int(cost[s]), float(gain[s]),
            node=parts.nodes[s] if parts.nodes else -1,
        )
        for s in np.lexsort((-gain, cost))[: None if promises.of_table else MOST_STEPS_SHOWN].tolist()
    )  # fmt: skip
    blocked = {name: n for i, name in enumerate(names) if (n := int((first == i).sum()))}
    by_class = recoding.cuts is None
    return ColumnExplanation(shape, steps, count, blocked, by_class=by_class, rows_only=table.rows_only)


class TablePromiseCheck:
    """Asks promises about the table as a whole for single steps of a global recoding."""

    def __init__(self, recoding: Recoding, promises: Promises) -> None:
        self._cuts = recoding.cuts or {}
        self._watches = [(p, p.watch(recoding.table)) for p in promises.of_table] if self._cuts else []
        for _, watch in self._watches:
            watch.ask(self._cuts)
            watch.accept(self._cuts)

    def add(self, explanation: ColumnExplanation, column: str) -> ColumnExplanation:
        """Returns the explanation with the steps that a table promise stops, the most gainful first."""
        if not self._watches:
            return explanation
        steps = [step if step.promise else self._judged(step, column) for step in explanation.steps]
        blocked = dict(explanation.blocked)
        for step in steps:
            if step.reason:
                blocked[step.promise] = blocked.get(step.promise, 0) + 1
        steps.sort(key=lambda step: (step.cost, -step.gain))
        return replace(explanation, steps=tuple(steps[:MOST_STEPS_SHOWN]), blocked=blocked)

    def _judged(self, step: NextStep, column: str) -> NextStep:
        finer = {**self._cuts, column: self._cuts[column].specialize(step.node)}
        for promise, watch in self._watches:
            answer, reason = watch.ask(finer, (column, step.node))
            if answer is not Answer.YES:
                return replace(step, promise=str(promise), reason=reason, in_full=watch.in_full)
        return step


def sums_per_id(ids: Ints, weights: Ints, count: int) -> Ints:
    """Returns exact sums per id."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, ids, weights)
    return sums
