"""Beliefs: what the classes of a table say about labels, exactly."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Histogram
from sfumato.core.knowledge import Knowledge, Links
from sfumato.core.limits import AttackLimit
from sfumato.core.prior import Prior

NARROW = 62


DOUBT = 1e-9
"""Far more than sums and quotients of beliefs lose in floating point: what is nearer is judged exactly."""

Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class BeliefLimit(AttackLimit):
    """What may be believed, at most, about labels that terms of a column link to under some knowledge.

    With `parts`, of these columns taken together (`JointColumn`), under what is known of each.
    """

    column: str
    knowledge: Knowledge
    parts: tuple[str, ...] = field(default=(), kw_only=True)

    def broken(
        self, belief: NDArray[np.float64], before: list[Fraction], links: Links, held: Histogram, low: int
    ) -> Truth:
        """Returns which classes from number `low` on break it, exactly.

        `belief` holds a row per class and a column per label, rounded; `before` is believed in the first
        place.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class LabelDiversity(BeliefLimit):
    """In every class p1 <= c * (pl + ... + pm), where p1 >= ... >= pm > 0 are the beliefs in its m labels.

    A class with fewer than l labels breaks it; one whose rows link to none keeps it.
    """

    l: int  # noqa: E741  # the name in the paper and in every policy
    c: Fraction

    @property
    def reachable(self) -> bool:
        """Whether a class with linked rows can keep it at all: if not with every term gone, then never."""
        return self.c * (len(self.knowledge.labels) - self.l + 1) >= 1

    def keeps(self, links: Links, held: Histogram, index: int) -> bool:
        """Whether a class keeps it, exactly."""
        head, tail = head_and_tail(links, held, index, self.l)
        return head == 0 or (tail > 0 and head * self.c.denominator <= tail * self.c.numerator)

    def broken(
        self,
        belief: NDArray[np.float64],
        before: list[Fraction],  # noqa: ARG002  # what was believed before does not matter
        links: Links,
        held: Histogram,
        low: int,
    ) -> Truth:
        falling = -np.sort(-belief, axis=1)
        left, right = falling[:, 0], float(self.c) * falling[:, self.l - 1 :].sum(axis=1)
        broken: Truth = left > right
        for i in np.flatnonzero(abs(left - right) <= DOUBT * (left + right)).tolist():
            broken[i] = not self.keeps(links, held, low + i)
        return broken


@dataclass(frozen=True)
class LabelCloseness(BeliefLimit):
    """In every class the beliefs are within the Euclidean distance t of a prior.

    Before the original table was looked at, `prior` is the rule that makes one from it.
    """

    t: Fraction
    prior: Prior | str

    def broken(
        self, belief: NDArray[np.float64], before: list[Fraction], links: Links, held: Histogram, low: int
    ) -> Truth:
        far = ((belief - np.array([float(share) for share in before])) ** 2).sum(axis=1)
        most = float(self.t * self.t)
        broken: Truth = far > most
        for i in np.flatnonzero(abs(far - most) <= DOUBT * (1 + most)).tolist():
            broken[i] = squared_distance(links, held, low + i, before) > self.t * self.t
        return broken


def posterior(links: Links, held: Histogram, index: int) -> tuple[list[int], NDArray[np.int64], int]:
    """What one class says about labels: shares as whole numbers over a common denominator, each kind of
    label once; the kind of every label; and the denominator, people included.

    Labels that the same rows link to have the same share: they are one kind.
    """
    span = slice(int(held.start[index]), int(held.start[index + 1]))
    sets, counts = held.values[span], held.counts[span].tolist()
    numbers = links.number[sets].tolist()
    common = lcm(*(n for n in numbers if n)) if any(numbers) else 1
    weights = [c * common // n if n else 0 for c, n in zip(counts, numbers, strict=True)]
    linked = links.matrix(sets)
    if len(sets) <= NARROW:
        pattern = (linked.astype(np.int64) << np.arange(len(sets))[:, None]).sum(axis=0)
        _, example, kind = np.unique(pattern, return_index=True, return_inverse=True)
    else:
        _, example, kind = np.unique(linked.T, axis=0, return_index=True, return_inverse=True)
    shares = [
        sum(w for w, has in zip(weights, linked[:, place].tolist(), strict=True) if has)
        for place in example.tolist()
    ]
    return shares, kind.ravel().astype(np.int64), common * sum(counts)


def head_and_tail(links: Links, held: Histogram, index: int, l: int) -> tuple[int, int]:  # noqa: E741
    """The largest share of one class and the sum of all but the l-1 largest, as whole numbers."""
    shares, kind, _ = posterior(links, held, index)
    many = np.bincount(kind, minlength=len(shares)).tolist()
    falling = sorted(zip(shares, many, strict=True), reverse=True)
    skip, tail = l - 1, 0
    for share, labels in falling:
        counted = max(0, labels - skip)
        skip = max(0, skip - labels)
        tail += share * counted
    return (falling[0][0] if falling else 0), tail


def squared_distance(links: Links, held: Histogram, index: int, target: list[Fraction]) -> Fraction:
    """The squared distance of one class's beliefs from a prior."""
    shares, kind, whole = posterior(links, held, index)
    below = lcm(whole, *{share.denominator for share in target})
    scaled = [share * (below // whole) for share in shares]
    total = 0
    for k, share in zip(kind.tolist(), target, strict=True):
        gap = scaled[k] - share.numerator * (below // share.denominator)
        total += gap * gap
    return Fraction(total, below * below)
