"""Explanations why a plan is not finer: per column the steps not taken, and what each would cost.

One pass per column judges all its steps at once: a class publishes one node per column, so refining every
node of a column by one step shows what refining each of them alone would do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Answer, Promises
from sfumato.search.loss import ColumnShape, leaves_of, measure, published_nodes, shape_of, tally
from sfumato.search.suppression import recoded
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import Card, Printable, format_number, json_ready, pluralize
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.recoding import SUPPRESSED, Recoding, classes_under
from sfumato.table.taxonomy import Label, Nodes, Taxonomy

# The parts into which classes would split if one column were a step finer.

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Parts:
    """All steps of one column, taken at once, each apart from the others.

    `part_of` is the part of every distinct row (SUPPRESSED: none, or not touched by any step), `step_of` the
    step that makes a part, `narrower` how many leaves fewer a row of it would publish; `label` says what is
    published today of each of `count` steps, `domain` counts the leaves of the column; `nodes` are what steps
    replace, where they replace nodes.
    """

    part_of: Ints
    step_of: Ints
    narrower: Ints
    count: int
    label: Callable[[int], Label]
    domain: int
    nodes: Sequence[int] = ()


def one_step_below(taxonomy: Taxonomy, node_of: Nodes) -> Nodes:
    """Returns for every leaf the child of its node that covers it, or the leaf where the node is one."""
    below = taxonomy.leaves.copy()
    while np.any(deep := taxonomy.depth[below] > taxonomy.depth[node_of] + 1):
        below = np.where(deep, taxonomy.parent[below], below)
    return below


def children_of_nodes(recoding: Recoding, j: int) -> Parts:
    """Returns the parts of steps that replace a node of the cut by its children, in every class with it."""
    column, table = recoding.table.keys[j], recoding.table
    taxonomy = column.taxonomy
    assert recoding.cuts is not None  # noqa: S101  # the caller asks this of global recodings only
    node_of = recoding.cuts[column.name].node_of
    nodes = np.array([v for v in published_nodes(recoding, j) if taxonomy.end[v] > v + 1], dtype=np.int64)
    number = np.full(len(taxonomy.labels), -1, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    codes = table.codes(column.name)
    touched = (recoding.class_of != SUPPRESSED) & (number[node_of[codes]] >= 0)
    below = one_step_below(taxonomy, node_of)[codes[touched]]
    part_of, example = _number(recoding, touched, below, len(taxonomy.labels))
    above, below = node_of[codes[touched]][example], below[example]
    narrower = (taxonomy.leaf_count[above] - taxonomy.leaf_count[below]).astype(np.int64)
    steps: list[int] = nodes.tolist()
    domain = leaves_of(taxonomy)
    return Parts(
        part_of, number[above], narrower, len(steps), lambda s: taxonomy.labels[steps[s]], domain, steps
    )


def halves_of_classes(recoding: Recoding, j: int) -> Parts:
    """Returns the parts of steps that split a class: at its median in an ordered column, else by branches.

    A range is split between nodes of the column's range level.
    """
    column, table = recoding.table.keys[j], recoding.table
    taxonomy = column.taxonomy
    published = recoding.class_of != SUPPRESSED
    owner, codes = recoding.class_of[published], table.codes(column.name)[published]
    beyond = codes + 1
    if taxonomy.ordered:
        codes, beyond = (ends[codes] for ends in taxonomy.range_cells())
    lowest, highest = _extremes(owner, codes, recoding.count, len(taxonomy.leaves))
    if taxonomy.ordered:
        middle = _medians(owner, codes, table.counts[published], recoding.count)
        middle = np.where(middle == highest, middle - 1, middle)
        side = (codes > middle[owner]).astype(np.int64)
    else:
        side = one_step_below_cover(taxonomy, lowest, highest, owner, codes)
    splits = np.flatnonzero(lowest < highest)
    number = np.full(recoding.count, -1, dtype=np.int64)
    number[splits] = np.arange(len(splits))
    touched = published.copy()
    touched[published] = number[owner] >= 0
    inside = number[owner] >= 0
    part_of, example = _number(recoding, touched, side[inside], len(taxonomy.labels) + 1)
    whose, low, high = owner[inside][example], recoding.low[:, j], recoding.high[:, j]
    first, _ = _extremes(part_of[touched], codes[inside], len(example), len(taxonomy.leaves))
    _, end = _extremes(part_of[touched], beyond[inside], len(example), len(taxonomy.leaves))
    narrower = ((high - low)[whose] - (end - first)).astype(np.int64)

    def label(step: int) -> Label:
        return taxonomy.describe(int(low[splits[step]]), int(high[splits[step]]))

    return Parts(part_of, number[whose], narrower, len(splits), label, leaves_of(taxonomy))


def one_step_below_cover(
    taxonomy: Taxonomy, lowest: Ints, highest: Ints, owner: NDArray[np.integer], codes: NDArray[np.integer]
) -> Ints:
    """Returns for every row the child, below the lowest node over its class, that covers its value."""
    cover = taxonomy.leaves[lowest]
    while np.any(short := taxonomy.high[cover] <= highest):
        cover = np.where(short, taxonomy.parent[cover], cover)
    limit = taxonomy.depth[cover][owner] + 1
    child = taxonomy.leaves[codes]
    while np.any(deep := taxonomy.depth[child] > limit):
        child = np.where(deep, taxonomy.parent[child], child)
    nodes: Ints = child.astype(np.int64)
    return nodes


def judged_parts(
    recoding: Recoding, parts: Parts, sensitive: Sequence[str]
) -> Iterator[tuple[Classes, Ints]]:
    """Yields what promises judge of all steps, and the step of each class."""
    yield Classes.of(recoding.table, parts.part_of, sensitive=sensitive), parts.step_of


def _number(
    recoding: Recoding, touched: NDArray[np.bool_], below: NDArray[np.integer], size: int
) -> tuple[Ints, Ints]:
    """Numbers the pairs of class and `below`; returns the part of every row, and one touched row per part."""
    pairs = recoding.class_of[touched].astype(np.int64) * size + below
    _, example, part = np.unique(pairs, return_index=True, return_inverse=True)
    part_of = np.full(len(touched), SUPPRESSED, dtype=np.int64)
    part_of[touched] = part.ravel()
    return part_of, example.astype(np.int64)


def _extremes(
    owner: NDArray[np.integer], codes: NDArray[np.integer], count: int, top: int
) -> tuple[Ints, Ints]:
    lowest, highest = np.full(count, max(0, top - 1), dtype=np.int64), np.zeros(count, dtype=np.int64)
    np.minimum.at(lowest, owner, codes)
    np.maximum.at(highest, owner, codes)
    return lowest, highest


def _medians(owner: NDArray[np.integer], codes: NDArray[np.integer], counts: Ints, classes: int) -> Ints:
    """Returns, per class, the least code that at least half of its rows do not exceed."""
    order = np.lexsort((codes, owner))
    sorted_owner, sorted_counts = owner[order], counts[order]
    totals = tally(owner, counts, classes)
    before = np.cumsum(totals) - totals
    running = np.cumsum(sorted_counts) - before[sorted_owner]
    at_half = np.flatnonzero(2 * running >= totals[sorted_owner])
    owners, first = np.unique(sorted_owner[at_half], return_index=True)
    medians = np.zeros(classes, dtype=np.int64)
    medians[owners] = codes[order][at_half[first]]
    return medians


MOST_STEPS_SHOWN = 5
"""An explanation lists so many steps per column; all of them are judged and counted."""
LEAST_GAIN = 0.0001
"""What is saved or lost below this is said to be less."""


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
        words = ("split of a class", "splits of a class") if self.by_class else ("finer step", "finer steps")
        steps = pluralize(self.possible, *words)
        if not self.possible:
            return "as fine as it can be"
        if not self.blocked:
            return f"{steps} would keep the promises, at a greater loss"
        worst = max(self.blocked, key=lambda name: self.blocked[name])
        stopped = f"{worst} stops {format_number(self.blocked[worst])} of {steps}"
        cheapest = next((step for step in self.steps if step.promise), None)
        if cheapest is None:
            free = self.possible - sum(self.blocked.values())
            return f"{stopped}; {format_number(free)} would keep the promises"
        if cheapest.reason:
            return f"{stopped}; {cheapest.reason}"
        gain = abs(cheapest.gain)
        much = f"less than {LEAST_GAIN}" if 0 < gain < LEAST_GAIN else format_number(gain)
        change = f"save {much}" if cheapest.gain >= 0 else f"lose {much} more"
        exposed = pluralize(cheapest.people, *(("row", "rows") if self.rows_only else ("person", "people")))
        cost = f"{pluralize(cheapest.cost, 'row')} ({exposed} too exposed)"
        return f"{stopped}; the cheapest would cost {cost} and {change}"


@dataclass(frozen=True)
class Explanation(Printable):
    """The explanations of all columns; `spare` counts the rows that may still be suppressed."""

    columns: Mapping[str, ColumnExplanation]
    spare: int = 0

    def card(self) -> Card:
        spare = f"{pluralize(self.spare, 'row')} more may be suppressed"
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

    def lost(recoding: Recoding, at: Mapping[str, int]) -> float:
        return measure(loss, recoding, at, weights, price)

    for j, column in enumerate(recoding.table.keys):
        if levels is not None:
            shape = shape_of(recoding, j, levels[column.name])
            explanations[column.name] = _explain_level(recoding, promises, shape, levels, lost)
        else:
            parts_of = halves_of_classes if recoding.cuts is None else children_of_nodes
            explanation = _explain_column(shape_of(recoding, j), recoding, promises, parts_of(recoding, j))
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
    classes = Classes.of(table, classes_under(table, cuts)[0], sensitive=promises.sensitive)
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
    table, count = recoding.table, parts.count
    touched = parts.part_of >= 0
    rows = tally(parts.part_of[touched], table.counts[touched], len(parts.step_of))
    first, people, cost, broken = np.full(count, -1), *(np.zeros(count, np.int64) for _ in range(3))
    for classes, step_of in judged_parts(recoding, parts, promises.sensitive):
        wrong = np.zeros(len(classes), dtype=bool)
        for i, promise in enumerate(promises.of_class):
            broken_here = ~promise.holds_on(classes)
            hit = np.zeros(count, dtype=bool)
            hit[step_of[broken_here]] = True
            first[hit & ((first < 0) | (first > i))] = i
            wrong |= broken_here
        people += tally(step_of[wrong], classes.people[wrong], count)
        cost += tally(step_of[wrong], classes.rows[wrong], count)
        broken += tally(step_of[wrong], np.ones(int(wrong.sum()), np.int64), count)
    unit = (table.rows + table.dropped) * max(1, parts.domain - 1) * len(table.keys)
    gain = tally(parts.step_of, rows * parts.narrower, count) / unit
    names = [str(p) for p in promises.of_class]
    steps = tuple(
        NextStep(
            parts.label(s), names[first[s]] if first[s] >= 0 else "", int(people[s]),
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
