"""Tables kept against a register, judged by what is published alone: kept in all worlds, broken, or unknown.

How many people of which value are in a cell of two tables, the tables do not say; they bound it, value by
value: no fewer than what the two classes hold beyond all others, no more than either holds. All whole numbers
between these bounds occur in some world. A promise is kept for sure if every corner of these bounds keeps it
(what keeps it is convex). It is broken for sure if what is likely breaks it, or if some class has no cell
that could hold enough. Otherwise only whoever counted the positions on the data can tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from sfumato.core.verdict import Verdict
from sfumato.judge.chain.expected_cells import JudgedValues, PairEntries, SideCounts, pair_entries, pair_kept
from sfumato.judge.chain.marks import text_marks, tuple_marks
from sfumato.judge.chain.remembered_release import (
    Numbers,
    ReleaseTable,
    RememberedRelease,
    on_newest_trees,
)
from sfumato.judge.chain.world_equations import blocks, joins, no_world
from sfumato.judge.policy_data import JudgedPolicy, PromiseData
from sfumato.judge.registry import judge_of
from sfumato.judge.tables.tally import grown
from sfumato.judge.taxonomies.value_tree import Text

NOT_FROM_FILES = "not decidable from the tables: it was asked of every position of people, on the data"
LIKELY = "what two tables make likely breaks it"
NO_CELL = "some class cannot be divided among cells that keep it"
IN_ALL_WORLDS = "kept in every world that gives these tables"

MOST_FREE_VALUES = 12
"""In cells where more values than this are not known exactly, corners are not looked at."""

HeldValues = Mapping[str, Sequence[Text]]
"""Column -> texts: the different combinations of what is published unchanged, one after the other."""


@dataclass(frozen=True)
class FilesQuestion:
    """What is asked: the policy as plain data, k people in every position, and these class promises there."""

    policy: Mapping[str, Any]
    k: int
    promises: tuple[Mapping[str, object], ...] = ()


def files_verdict(
    sentence: str, documents: Sequence[Mapping[str, Any]], asked: FilesQuestion, values: HeldValues
) -> Verdict:
    """Returns whether tables, oldest first, keep what is asked of everybody's position, as far as they tell.

    Each table holds everybody of those before it.
    """
    releases = [RememberedRelease.of(document) for document in documents]
    tables = on_newest_trees(releases)
    sure = len(tables) == 2
    for i, j in combinations(range(len(tables)), 2):
        first, second, of_block = _sides(tables[i], tables[j])
        entries = pair_entries(first, second, of_block)
        if entries is None:
            sure = False
            continue
        if _lacks_room(entries, first, second, asked.k):
            return _said(sentence, False, asked.k, NO_CELL)
        sure = sure and _always_people(entries, asked.k)
        for promise in map(PromiseData, asked.promises):
            known = _known(releases, promise, asked.policy, values)
            if known is None:
                sure = False
                continue
            if not _counts_values_alone(promise) and pair_kept(entries, known, promise) is False:
                return _said(sentence, False, asked.k, LIKELY)
            sure = sure and _always(entries, known, promise)
    return _said(sentence, True if sure else None, asked.k, IN_ALL_WORLDS if sure else NOT_FROM_FILES)


def _said(sentence: str, holds: bool | None, k: int, reason: str) -> Verdict:
    return Verdict(sentence, holds, None, k, reason=reason)


def _counts_values_alone(promise: PromiseData) -> bool:
    return bool(promise.get("by_values")) or not promise.columns


def _sides(first: ReleaseTable, second: ReleaseTable) -> tuple[SideCounts, SideCounts, Numbers]:
    """Returns both tables as counts by block; who is new in a component is one more class of the first."""
    one, other, count = blocks(first, second)
    _, join = joins(first, second)
    before, after = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.add.at(before, one, first.count)
    np.add.at(after, other, second.count)
    if np.any(after < before):
        raise no_world()
    value, component = np.zeros(count, np.int64), np.zeros(count, np.int64)
    value[other], component[other] = second.value, join[second.owner]
    new = np.flatnonzero(after > before)
    old_and_new = SideCounts.of(
        np.concatenate([one, new]),
        np.concatenate([first.owner, len(first) + component[new]]),
        np.concatenate([first.count, (after - before)[new]]),
    )
    return old_and_new, SideCounts.of(other, second.owner, second.count), value


def _people(entries: PairEntries, bound: Numbers) -> Numbers:
    sums = np.zeros(int(entries.cell.max(initial=-1)) + 1, np.int64)
    np.add.at(sums, entries.cell, bound)
    return sums


def _always_people(entries: PairEntries, k: int) -> bool:
    """Tells whether in every world a cell where somebody is holds k people."""
    return bool((np.maximum(1, _people(entries, entries.least)) >= k).all())


def _lacks_room(entries: PairEntries, first: SideCounts, second: SideCounts, k: int) -> bool:
    """Tells whether some class holds people, and none of its cells can hold k of them."""
    most = _people(entries, entries.most)[entries.cell]
    for side, owner in ((first, entries.row), (second, entries.column)):
        best = np.zeros(int(side.owner.max(initial=-1)) + 1, np.int64)
        np.maximum.at(best, owner, most)
        if np.any(best[side.owner] < k):
            return True
    return False


def _known(
    releases: Sequence[RememberedRelease],
    promise: PromiseData,
    policy: Mapping[str, Any],
    values: HeldValues,
) -> JudgedValues | None:
    """Returns the value of the promise's column for every matching value; `None` where one is not known."""
    if len(promise.columns) != 1:
        return None
    (column,) = promise.columns
    judged = JudgedPolicy.of(policy)
    unchanged = sorted(releases[-1].unchanged)
    if column not in unchanged or any(name not in values for name in unchanged):
        return None
    texts = values[column]
    marks = tuple_marks([text_marks(values[name]) for name in unchanged], len(texts))
    every = np.concatenate([release.values for release in releases])
    distinct, number = np.unique(every, axis=0, return_inverse=True)
    place = {tuple(mark): i for i, mark in enumerate(distinct.tolist())}
    ordered = sorted(set(texts), key=lambda text: (text is None, text or ""))
    tree, lacking = grown(judged.columns.get(column), ordered, [*judged.spoken_of(column)])
    leaf = np.full(len(distinct), -1, np.int64)
    for mark, text in zip(marks.tolist(), texts, strict=True):
        if tuple(mark) in place:
            found = tree.place(text)
            leaf[place[tuple(mark)]] = -1 if found is None else found
    if lacking or np.any(leaf < 0):
        return None
    newest = number.ravel()[-len(releases[-1].values) :]
    overall = np.zeros(len(tree.values), np.int64)
    np.add.at(overall, leaf[newest], releases[-1].counts)
    return JudgedValues(column, tree, leaf, overall, judged)


def _always(entries: PairEntries, values: JudgedValues, promise: PromiseData) -> bool:
    """Tells whether every world keeps a promise in every cell: all corners of the bounds do."""
    corners: list[dict[int, int]] = []
    leaf = values.leaf_of_value[entries.value]
    order = np.argsort(entries.cell, kind="stable")
    begin = np.searchsorted(entries.cell[order], np.arange(int(entries.cell.max(initial=-1)) + 2))
    for start, stop in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
        low: dict[int, int] = {}
        high: dict[int, int] = {}
        for e in order[start:stop].tolist():
            low[int(leaf[e])] = low.get(int(leaf[e]), 0) + int(entries.least[e])
            high[int(leaf[e])] = high.get(int(leaf[e]), 0) + int(entries.most[e])
        if sum(low[v] < high[v] for v in low) > MOST_FREE_VALUES:
            return False
        for chosen in product(*(sorted({low[v], high[v]}) for v in low)):
            held = {v: n for v, n in zip(low, chosen, strict=True) if n}
            corners += [held] if held else []
    if not corners:
        return True
    return judge_of(promise)(values.tally(corners), promise).holds is True
