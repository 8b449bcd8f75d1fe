"""The second judge of freeform: keys spelled out and counted, written from the definition alone.

For every column that hides something, each class is copied once for every combination of values that an
adversary may observe in the other columns, equal combinations are added up, and so are the classes among
them that hold a hidden value. In a column it is enough to observe what is published, and what lies right
above something hidden: any other value is a mixture of values that can be observed as well, and a mixture
is never surer than its surest part. Where the copies are too many they are made in portions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.core.verdict import Verdict
from sfumato.judge.policy_data import PromiseData
from sfumato.judge.promises.freeform.free_columns import FreeField, field_of
from sfumato.judge.registry import second_judge
from sfumato.judge.tables.tally import Tally

Ints = NDArray[np.int64]

AT_ONCE = 4_000_000
"""Copies made at a time."""


@dataclass
class Surest:
    """The largest confidence in a hidden value, and the classes that such a guess hits."""

    confidence: Fraction = Fraction(0)
    hit: set[int] = field(default_factory=set)

    def add(self, confidence: Fraction, classes: Ints) -> None:
        if confidence > self.confidence:
            self.confidence, self.hit = confidence, set()
        if confidence == self.confidence:
            self.hit.update(classes.tolist())


@second_judge("freeform")
def freeform(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no hidden value is inferred with a threat above the one allowed.

    `people` are those whom some surest guess about a value at risk is right about, `classes` counts such
    values.
    """
    fields = [
        field_of(name, shown, tally.policy.columns.get(name), promise) for name, shown in tally.shown.items()
    ]
    limit, most = Fraction(promise.threat), Fraction(0)
    broken, exposed = 0, np.zeros(len(tally.rows), dtype=bool)
    for j, aim in enumerate(fields):
        if not any(aim.hidden):
            continue
        for node, surest in _surest_guesses(fields, j, tally.rows).items():
            threat = surest.confidence * aim.harm[node]
            most = max(most, threat)
            if threat > limit:
                broken += 1
                exposed[list(surest.hit)] = True
    return Verdict(
        promise=str(promise),
        holds=not broken,
        measured=most,
        limit=limit,
        people=int(tally.rows[exposed].sum()),
        classes=broken,
        evidence=promise.evidence,
        reason="" if len(tally.rows) else "nothing is published",
    )


def _surest_guesses(fields: list[FreeField], target: int, weight: Ints) -> dict[int, Surest]:
    """Returns the surest guess about every hidden value of one column that is published, or above what is."""
    aim, found = fields[target], dict[int, Surest]()
    others = [one for i, one in enumerate(fields) if i != target]
    choices = [one.seen() for one in others]
    sought = sorted({node for nodes in aim.sought().values() for node in nodes})
    for rows, key in _copies(np.arange(len(weight)), others, choices):
        keys = int(key.max(initial=-1)) + 1
        total = np.zeros(keys, dtype=np.int64)
        np.add.at(total, key, weight[rows])
        for node in sought:
            inside = (aim.node[rows] >= node) & (aim.node[rows] < aim.tree.end[node])
            held = np.zeros(keys, dtype=np.int64)
            np.add.at(held, key[inside], weight[rows[inside]])
            some = np.flatnonzero(held)
            if not len(some):
                continue
            share = held[some] / total[some]
            near = some[share >= share.max() * (1 - 1e-9)]
            exact = [Fraction(h, t) for h, t in zip(held[near].tolist(), total[near].tolist(), strict=True)]
            best = max(exact)
            surest = near[[one == best for one in exact]]
            found.setdefault(node, Surest()).add(best, rows[inside & np.isin(key, surest)])
    return found


def _copies(
    rows: Ints, others: list[FreeField], choices: list[dict[int, list[int]]]
) -> Iterator[tuple[Ints, Ints]]:
    """Yields portions of (row, key): every row once for each combination; a combination is in one portion."""
    amount = np.ones(len(rows))
    for one, choice in zip(others, choices, strict=True):
        amount *= _lookup(choice, {v: len(c) for v, c in choice.items()})[one.node[rows]]
    if amount.sum() > AT_ONCE and others and len(rows) > 1:
        (one, *rest), (choice, *after) = others, choices
        for a in sorted({a for c in choice.values() for a in c}):
            inside = (one.node[rows] >= a) & (one.node[rows] < one.tree.end[a])
            if inside.any():
                yield from _copies(rows[inside], rest, after)
        return
    key = np.zeros(len(rows), dtype=np.int64)
    for one, choice in zip(others, choices, strict=True):
        rows, key = _spelled_out(rows, key, one, choice)
    yield rows, key


def _spelled_out(rows: Ints, key: Ints, one: FreeField, choice: dict[int, list[int]]) -> tuple[Ints, Ints]:
    """Returns every row once for each node of one more column; keys are numbered anew."""
    many = _lookup(choice, {v: len(c) for v, c in choice.items()})[one.node[rows]]
    first = np.repeat(np.cumsum(many) - many, many)
    turn = np.arange(len(first)) - first
    width = max((len(c) for c in choice.values()), default=0)
    table = np.zeros((len(one.tree.labels), max(1, width)), dtype=np.int64)
    for v, nodes in choice.items():
        table[v, : len(nodes)] = nodes
    rows = np.repeat(rows, many)
    pair = np.repeat(key, many) * len(one.tree.labels) + table[one.node[rows], turn]
    return rows, np.unique(pair, return_inverse=True)[1].ravel()


def _lookup(choice: dict[int, list[int]], numbers: Mapping[int, int]) -> Ints:
    table = np.zeros(max(choice, default=0) + 1, dtype=np.int64)
    for v, number in numbers.items():
        table[v] = number
    return table
