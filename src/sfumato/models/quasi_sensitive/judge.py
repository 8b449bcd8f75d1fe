"""The second judge of quasi-sensitive promises: dense numpy blocks, and fractions where they are in doubt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import nextafter

import numpy as np
from numpy.typing import NDArray

from sfumato.system.errors import BadPolicy
from sfumato.system.verdict import Measure, Verdict
from sfumato.verify.cells import TERM_END
from sfumato.verify.policy_data import PromiseData
from sfumato.verify.registry import NEEDS_ORIGINAL, second_judge, undecided, verdict
from sfumato.verify.tally import JointCounts, Tally, ValueCounts
from sfumato.verify.trees import Text

AT_ONCE = 1 << 23
"""Links of sets to labels that are looked at together."""
DOUBT = 1e-9
"""Far more than sums of shares lose in floating point."""
LONGEST = 62
READABLE = 2**53
"""Fractions with smaller denominators are told as they are, others as the next float above."""

Knowledge = tuple[tuple[str, tuple[str, ...]], ...]
"""Rows of a label and its terms."""

Bits = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LinkTable:
    """The knowledge as bits: which row holds which term (packed), and where each label's rows begin."""

    labels: tuple[str, ...]
    begin: NDArray[np.int64]
    place: dict[str, int]
    holds: NDArray[np.uint8]
    rows: int

    @classmethod
    def of(cls, knowledge: Knowledge) -> LinkTable:
        rows = sorted(knowledge, key=lambda row: row[0])
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

    def linked(self, texts: list[Text]) -> Bits:
        """Returns, for sets by labels, whether some row of the label holds every term of the set."""
        holders = np.empty((len(texts), self.holds.shape[1]), dtype=np.uint8)
        for i, text in enumerate(texts):
            terms = {term for term in (text or "").split(TERM_END) if term}
            if not terms:
                holders[i] = 255
            else:
                chosen = [self.place.get(term, len(self.place)) for term in terms]
                holders[i] = np.bitwise_and.reduce(self.holds[chosen], axis=0)
        apart = np.unpackbits(holders, axis=1, count=self.rows)
        return np.maximum.reduceat(apart, self.begin, axis=1).astype(bool)


@dataclass(frozen=True, eq=False)
class Block:
    """Some whole classes: their numbers, sizes, the entries of each, and their beliefs, rounded.

    `common` says how common every label is; `unlinked` rows of these classes link to no label.
    """

    classes: NDArray[np.int64]
    start: NDArray[np.int64]
    count: NDArray[np.int64]
    links: Bits
    size: NDArray[np.int64]
    belief: NDArray[np.float64]
    common: tuple[Fraction, ...]
    unlinked: int

    def exact(self, i: int) -> tuple[list[Fraction], NDArray[np.int64]]:
        """Returns the beliefs of one class, each kind once, and the kind of every label."""
        span = slice(self.start[i], self.start[i + 1])
        links, count = self.links[span], self.count[span].tolist()
        many = self._weighed(links)
        if len(count) <= LONGEST:
            pattern = (np.int64(1) << np.arange(len(count), dtype=np.int64)) @ links.astype(np.int64)
            _, kind = np.unique(pattern, return_inverse=True)
        else:
            _, kind = np.unique(links, axis=1, return_inverse=True)
        ranks = {share: rank for rank, share in enumerate(sorted(set(self.common)))}
        own = kind.ravel() * len(ranks) + np.array([ranks[share] for share in self.common])
        _, example, kind = np.unique(own, return_index=True, return_inverse=True)
        size = int(self.size[i])
        beliefs = []
        for label in example.tolist():
            linked = links[:, label].tolist()
            parts = [n / (m * size) for n, m, has in zip(count, many, linked, strict=True) if has]
            beliefs.append(self.common[label] * sum(parts, Fraction(0)))
        return beliefs, kind.ravel()

    def _weighed(self, links: Bits) -> list[Fraction]:
        """Returns how common the labels of every entry are together, exactly."""
        if len(set(self.common)) == 1:
            return [self.common[0] * many for many in links.sum(axis=1).tolist()]
        return [sum((self.common[label] for label in np.flatnonzero(row)), Fraction(0)) for row in links]


@dataclass(frozen=True, eq=False)
class LinkedValues:
    """What rows hold, class by class, and which labels each value links to.

    Where a promise takes several tables together, a value is a cell of each of their columns, and it links to
    the labels that every one of these cells links to.
    """

    labels: tuple[str, ...]
    common: tuple[Fraction, ...]
    entries: ValueCounts | JointCounts
    linked: Callable[[NDArray[np.int64]], Bits]

    @classmethod
    def of(cls, tally: Tally, promise: PromiseData) -> LinkedValues:
        if not promise.get("jointly"):
            table, spread = LinkTable.of(promise.knowledge), tally.spreads[promise.of]
            texts = spread.tree.values
            common = _how_common(promise, table.labels)
            return cls(
                table.labels, common, spread, lambda values: table.linked([texts[v] for v in values.tolist()])
            )
        tables = [LinkTable.of(knowledge) for _, knowledge in promise.jointly]
        if len({table.labels for table in tables}) > 1:
            raise BadPolicy(f"{promise} takes tables together that are about different labels")
        joint = tally.together[tuple(column for column, _ in promise.jointly)]

        def linked(values: NDArray[np.int64]) -> Bits:
            cells = [joint.texts[v] for v in values.tolist()]
            parts = [table.linked([row[d] for row in cells]) for d, table in enumerate(tables)]
            return np.asarray(np.logical_and.reduce(parts))

        return cls(tables[0].labels, _how_common(promise, tables[0].labels), joint, linked)


def blocks(linked_values: LinkedValues, classes: int) -> Iterator[Block]:
    """Yields all classes, a few at a time."""
    spread = linked_values.entries
    first = np.searchsorted(spread.owner, np.arange(classes + 1))
    own = np.array([float(share / max(linked_values.common)) for share in linked_values.common])
    most = max(1, AT_ONCE // max(1, len(linked_values.labels)))
    low = 0
    while low < classes:
        high = low + 1
        while high < classes and first[high + 1] - first[low] <= most:
            high += 1
        span = slice(first[low], first[high])
        values, again = np.unique(spread.value[span], return_inverse=True)
        links = linked_values.linked(values)[again.ravel()]
        count, start = spread.count[span], first[low : high + 1] - first[low]
        many, has_label = links @ own, links.any(axis=1)
        weight = np.divide(count, many, out=np.zeros(len(count)), where=has_label)
        belief = np.add.reduceat(links * weight[:, None] * own, start[:-1], axis=0)
        size = np.add.reduceat(count, start[:-1])
        unlinked = int(count[~has_label].sum())
        mean = belief / size[:, None]
        yield Block(np.arange(low, high), start, count, links, size, mean, linked_values.common, unlinked)
        low = high


@second_judge("quasi-sensitive", "diversity")
def quasi_sensitive_diversity(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no class has p1 > c * (pl + ... + pm), the beliefs in its labels in falling order."""
    linked_values, c, skip = LinkedValues.of(tally, promise), Fraction(promise.c), int(promise.l) - 1
    broken, poor = (np.zeros(len(tally.people), dtype=bool) for _ in range(2))
    ratios: dict[int, Fraction] = {}
    leading, unlinked = 0.0, 0
    for block in blocks(linked_values, len(tally.people)):
        unlinked += block.unlinked
        falling = -np.sort(-block.belief, axis=1)
        head, tail = falling[:, 0], falling[:, skip:].sum(axis=1)
        broken[block.classes] = head > float(c) * tail
        doubtful = abs(head - float(c) * tail) <= DOUBT * (head + float(c) * tail) + DOUBT * DOUBT
        rich = tail > DOUBT * head
        ratio = np.divide(head, tail, out=np.zeros(len(head)), where=rich)
        leading = max(leading, float(ratio.max(initial=0.0)))
        near = rich & (ratio > 0) & (ratio >= leading * (1 - DOUBT))
        for i in np.flatnonzero(doubtful | near | ~rich).tolist():
            above, below = _head_and_tail(*block.exact(i), skip)
            place = int(block.classes[i])
            broken[place], poor[place] = above > c * below, bool(above) and not below
            if below:
                ratios[place] = above / below
    worst = int(poor.argmax()) if poor.any() else max(ratios, key=lambda i: (ratios[i], -i), default=None)
    measured = None if worst is None or poor.any() or not ratios[worst] else ratios[worst]
    few = f"a class links to fewer than {promise.l} labels" if poor.any() else ""
    reason = "; ".join(sentence for sentence in (few, _without_label(unlinked)) if sentence)
    worst = None if measured is None and not poor.any() else worst
    return verdict(promise, tally, broken, measured=measured, limit=c, worst=worst, reason=reason)


def _head_and_tail(beliefs: list[Fraction], kind: NDArray[np.int64], skip: int) -> tuple[Fraction, Fraction]:
    falling = sorted((beliefs[k] for k in kind.tolist()), reverse=True)
    return falling[0], sum((b for b in falling[skip:] if b), Fraction(0))


@second_judge("quasi-sensitive", "closeness")
def quasi_sensitive_closeness(tally: Tally, promise: PromiseData) -> Verdict:
    """Returns whether no class has beliefs further from the prior than t (squared if Euclidean)."""
    linked_values, limit = LinkedValues.of(tally, promise), Fraction(promise.t)
    name = promise.get("distance") or "euclidean"
    if name == "euclidean":
        limit *= limit
    before = _prior(promise, linked_values)
    if before is None:
        return undecided(promise, NEEDS_ORIGINAL)
    floats = np.array([float(share) for share in before])
    broken = np.zeros(len(tally.people), dtype=bool)
    furthest, unlinked = -1.0, 0
    exact: dict[int, Fraction] = {}
    for block in blocks(linked_values, len(tally.people)):
        unlinked += block.unlinked
        gap = _far(abs(block.belief - floats), name)
        broken[block.classes] = gap > float(limit)
        furthest = max(furthest, float(gap.max(initial=0.0)))
        doubtful = abs(gap - float(limit)) <= DOUBT * (1 + float(limit))
        for i in np.flatnonzero(doubtful | (gap >= furthest - DOUBT)).tolist():
            beliefs, kind = block.exact(i)
            pairs = zip(kind.tolist(), before, strict=True)
            far = _exactly_far([abs(beliefs[k] - share) for k, share in pairs], name)
            broken[block.classes[i]] = far > limit
            exact[int(block.classes[i])] = far
    if promise.get("jointly") and unlinked:
        return undecided(promise, f"{_without_label(unlinked)} in every column")
    worst = max(exact, key=lambda i: (exact[i], -i), default=None)
    measured = None if worst is None else _readable(exact[worst])
    return verdict(
        promise, tally, broken, measured=measured, limit=limit, worst=worst, reason=_without_label(unlinked)
    )


def _far(gaps: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Returns how far each row of gaps is, rounded."""
    if name == "largest":
        return np.asarray(gaps.max(axis=1, initial=0.0))
    return np.asarray((gaps**2 if name == "euclidean" else gaps / 2).sum(axis=1))


def _exactly_far(gaps: list[Fraction], name: str) -> Fraction:
    if name == "largest":
        return max(gaps, default=Fraction(0))
    return sum((gap * gap if name == "euclidean" else gap / 2 for gap in gaps), Fraction(0))


def _how_common(promise: PromiseData, labels: tuple[str, ...]) -> tuple[Fraction, ...]:
    """Returns how common every label is, in the unit of the policy; all alike where it does not say."""
    prevalence = dict(promise.get("prevalence") or ())
    if prevalence and not all(prevalence.get(label, 0) > 0 for label in labels):
        raise BadPolicy(f"{promise} does not say how common every label is")
    return tuple(Fraction(prevalence[label]) if prevalence else Fraction(1) for label in labels)


def _prior(promise: PromiseData, linked_values: LinkedValues) -> list[Fraction] | None:
    """Returns the share of every label before; `None` where it is yet to be made of the original table."""
    if promise.prior == "uniform":
        return [Fraction(1, len(linked_values.labels))] * len(linked_values.labels)
    if promise.prior == "prevalence":
        return [share / sum(linked_values.common) for share in linked_values.common]
    if isinstance(promise.prior, str):
        return None
    shares = dict(promise.prior)
    return [shares.get(label, Fraction(0)) for label in linked_values.labels]


def _without_label(rows: int) -> str:
    """Returns a sentence about rows that link to nothing."""
    return f"{rows:,} {'row links' if rows == 1 else 'rows link'} to no label" if rows else ""


def _readable(number: Fraction) -> Measure:
    return number if number.denominator < READABLE else nextafter(float(number), 2.0)
