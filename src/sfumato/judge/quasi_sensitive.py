"""The second judge of quasi-sensitive promises: dense numpy blocks, and fractions where they are in doubt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.taxonomy import Label
from sfumato.core.verdict import Verdict
from sfumato.judge.reader import Tally, ValueCounts
from sfumato.judge.registry import second_judge, verdict

MARK = "\x1f"
"""Stands between the terms of a set."""
AT_ONCE = 1 << 23
DOUBT = 1e-9
LONGEST = 62

Bits = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Table:
    """The knowledge as bits: which row holds which term (packed), and where each label's rows begin."""

    labels: tuple[str, ...]
    begin: NDArray[np.int64]
    place: dict[str, int]
    holds: NDArray[np.uint8]
    rows: int

    @classmethod
    def of(cls, known: Any) -> Table:
        rows = sorted(known.rows, key=lambda row: row[0])
        labels = sorted({label for label, _ in rows})
        first: dict[str, int] = {}
        for i, (label, _) in enumerate(rows):
            first.setdefault(label, i)
        begin = [first[label] for label in labels]
        place: dict[str, int] = {}
        for _, terms in rows:
            for term in terms:
                place.setdefault(term, len(place))
        dense = np.zeros((len(place) + 1, len(rows)), dtype=bool)
        for i, (_, terms) in enumerate(rows):
            dense[[place[term] for term in terms], i] = True
        packed = np.packbits(dense, axis=1)
        return cls(tuple(labels), np.array(begin), place, packed, len(rows))

    def linked(self, texts: list[Label]) -> Bits:
        """Sets x labels: whether some row of the label holds every term of the set."""
        found = np.empty((len(texts), self.holds.shape[1]), dtype=np.uint8)
        for i, text in enumerate(texts):
            terms = {term for term in (text or "").split(MARK) if term}
            if not terms:
                found[i] = 255
            else:
                chosen = [self.place.get(term, len(self.place)) for term in terms]
                found[i] = np.bitwise_and.reduce(self.holds[chosen], axis=0)
        apart = np.unpackbits(found, axis=1, count=self.rows)
        return np.maximum.reduceat(apart, self.begin, axis=1).astype(bool)


@dataclass(frozen=True, eq=False)
class Block:
    """Some whole classes: their numbers, sizes, the entries of each, and their beliefs, rounded."""

    classes: NDArray[np.int64]
    start: NDArray[np.int64]
    count: NDArray[np.int64]
    links: Bits
    size: NDArray[np.int64]
    belief: NDArray[np.float64]

    def exact(self, i: int) -> tuple[list[Fraction], NDArray[np.int64]]:
        """The beliefs of one class, each kind once, and the kind of every label."""
        span = slice(self.start[i], self.start[i + 1])
        links, count = self.links[span], self.count[span].tolist()
        many = links.sum(axis=1).tolist()
        if len(count) <= LONGEST:
            pattern = (np.int64(1) << np.arange(len(count), dtype=np.int64)) @ links.astype(np.int64)
            _, example, kind = np.unique(pattern, return_index=True, return_inverse=True)
        else:
            _, example, kind = np.unique(links, axis=1, return_index=True, return_inverse=True)
        size = int(self.size[i])
        beliefs = []
        for label in example.tolist():
            held = links[:, label].tolist()
            parts = [Fraction(n, m * size) for n, m, has in zip(count, many, held, strict=True) if has]
            beliefs.append(sum(parts, Fraction(0)))
        return beliefs, kind.ravel()


def blocks(spread: ValueCounts, table: Table, classes: int) -> Iterator[Block]:
    """All classes, a few at a time."""
    texts = spread.tree.leaf_labels
    first = np.searchsorted(spread.owner, np.arange(classes + 1))
    most = max(1, AT_ONCE // max(1, len(table.labels)))
    low = 0
    while low < classes:
        high = low + 1
        while high < classes and first[high + 1] - first[low] <= most:
            high += 1
        span = slice(first[low], first[high])
        values, again = np.unique(spread.value[span], return_inverse=True)
        links = table.linked([texts[v] for v in values.tolist()])[again.ravel()]
        count, start = spread.count[span], first[low : high + 1] - first[low]
        many = links.sum(axis=1)
        weight = np.divide(count, many, out=np.zeros(len(count)), where=many > 0)
        belief = np.add.reduceat(links * weight[:, None], start[:-1], axis=0)
        size = np.add.reduceat(count, start[:-1])
        yield Block(np.arange(low, high), start, count, links, size, belief / size[:, None])
        low = high


@second_judge("quasi-sensitive", "diversity")
def quasi_sensitive_diversity(tally: Tally, promise: Any) -> Verdict:
    """No class with p1 > c * (pl + ... + pm), the beliefs in its labels in falling order."""
    table, c, skip = Table.of(promise.knowledge), Fraction(promise.c), int(promise.l) - 1
    broken = np.zeros(len(tally.people), dtype=bool)
    worst: Fraction | None = None
    rough_worst, poor = -1.0, False
    for block in blocks(tally.spreads[promise.of], table, len(tally.people)):
        falling = -np.sort(-block.belief, axis=1)
        head, tail = falling[:, 0], falling[:, skip:].sum(axis=1)
        broken[block.classes] = head > float(c) * tail
        doubtful = abs(head - float(c) * tail) <= DOUBT * (head + float(c) * tail) + DOUBT * DOUBT
        ratio = np.divide(head, tail, out=np.zeros(len(head)), where=tail > DOUBT * head)
        best = float(ratio.max(initial=0.0))
        for i in np.flatnonzero(
            doubtful | (ratio >= max(best, rough_worst) * (1 - DOUBT)) & (ratio > 0)
        ).tolist():
            above, below = _head_and_tail(*block.exact(i), skip)
            if doubtful[i]:
                broken[block.classes[i]] = above > c * below
            if below and (worst is None or above / below > worst):
                worst = above / below
        rough_worst = max(rough_worst, best)
        poor |= bool(np.any((head > 0) & (tail <= DOUBT * head) & broken[block.classes]))
    return verdict(promise, tally, broken, measured=None if poor else worst, limit=c)


def _head_and_tail(beliefs: list[Fraction], kind: NDArray[np.int64], skip: int) -> tuple[Fraction, Fraction]:
    falling = sorted((beliefs[k] for k in kind.tolist()), reverse=True)
    return falling[0], sum((b for b in falling[skip:] if b), Fraction(0))


@second_judge("quasi-sensitive", "closeness")
def quasi_sensitive_closeness(tally: Tally, promise: Any) -> Verdict:
    """No class whose beliefs are further from the prior than t, in squares."""
    table, limit = Table.of(promise.knowledge), Fraction(promise.t) ** 2
    before = _prior(promise.prior, table)
    if before is None:
        return Verdict(
            str(promise),
            None,
            None,
            limit,
            evidence=promise.evidence,
            reason="it compares with the original table: give its reference",
        )
    floats = np.array([float(share) for share in before])
    broken = np.zeros(len(tally.people), dtype=bool)
    furthest = 0.0
    for block in blocks(tally.spreads[promise.of], table, len(tally.people)):
        gap = ((block.belief - floats) ** 2).sum(axis=1)
        broken[block.classes] = gap > float(limit)
        for i in np.flatnonzero(abs(gap - float(limit)) <= DOUBT * (1 + float(limit))).tolist():
            beliefs, kind = block.exact(i)
            pairs = zip(kind.tolist(), before, strict=True)
            far = sum(((beliefs[k] - share) ** 2 for k, share in pairs), Fraction(0))
            broken[block.classes[i]] = far > limit
        furthest = max(furthest, float(gap.max(initial=0.0)))
    measured = furthest if len(tally.people) else None
    return verdict(promise, tally, broken, measured=measured, limit=limit)


def _prior(prior: Any, table: Table) -> list[Fraction] | None:
    if prior == "uniform":
        return [Fraction(1, len(table.labels))] * len(table.labels)
    if isinstance(prior, str):
        return None
    known = dict(prior.shares)
    return [known.get(label, Fraction(0)) for label in table.labels]
