"""Beliefs: what the classes of a table say about labels, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import TypeVar

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
Number = TypeVar("Number", int, Fraction)

EUCLIDEAN, VARIATIONAL, LARGEST_GAP = "euclidean", "variational", "largest"
DISTANCES = (EUCLIDEAN, VARIATIONAL, LARGEST_GAP)
"""How far two sets of beliefs are apart: the root of the summed squares of all gaps, half their sum, the
largest one. The first is measured by its square, so that it stays a fraction."""


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

    def keeps_beliefs(self, beliefs: Sequence[Fraction], before: Sequence[Fraction]) -> bool:
        """Returns whether these beliefs in all labels keep it, exactly."""
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
        """Whether beliefs can keep it at all: if not where all labels are alike, then never."""
        return self.c * (len(self.knowledge.labels) - self.l + 1) >= 1

    @property
    def kept_without_terms(self) -> bool:
        """Whether a class keeps it when every term is gone: labels are then believed in as they weigh."""
        falling: list[int] = sorted(self.knowledge.weight_of_label.tolist(), reverse=True)
        return falling[0] * self.c.denominator <= sum(falling[self.l - 1 :]) * self.c.numerator

    def keeps_beliefs(self, beliefs: Sequence[Fraction], before: Sequence[Fraction]) -> bool:
        del before
        falling = sorted(beliefs, reverse=True)
        tail = sum(falling[self.l - 1 :], Fraction(0))
        return not falling[0] or (tail > 0 and falling[0] <= self.c * tail)

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
    """In every class the beliefs are within the distance t of a prior, which is measured as `distance` says.

    Before the original table was looked at, `prior` is the rule that makes one from it.
    """

    t: Fraction
    prior: Prior | str
    distance: str = EUCLIDEAN

    @property
    def most(self) -> Fraction:
        """How far beliefs may be from the prior, as the distance is measured."""
        return self.t * self.t if self.distance == EUCLIDEAN else self.t

    def keeps_beliefs(self, beliefs: Sequence[Fraction], before: Sequence[Fraction]) -> bool:
        gaps = [abs(belief - share) for belief, share in zip(beliefs, before, strict=True)]
        return measured(gaps, self.distance) <= self.most

    def kept_without_terms(self, prior: Prior) -> bool:
        """Whether a class keeps it when every term is gone."""
        labels, weights = self.knowledge.labels, self.knowledge.weight_of_label.tolist()
        whole = sum(weights)
        gaps = [abs(Fraction(w, whole) - q) for w, q in zip(weights, prior.on(labels), strict=True)]
        return measured(gaps, self.distance) <= self.most

    def broken(
        self, belief: NDArray[np.float64], before: list[Fraction], links: Links, held: Histogram, low: int
    ) -> Truth:
        gap = abs(belief - np.array([float(share) for share in before]))
        if self.distance == LARGEST_GAP:
            far = gap.max(axis=1, initial=0.0)
        else:
            far = (gap**2).sum(axis=1) if self.distance == EUCLIDEAN else gap.sum(axis=1) / 2
        most = float(self.most)
        broken: Truth = far > most
        for i in np.flatnonzero(abs(far - most) <= DOUBT * (1 + most)).tolist():
            broken[i] = distance_from(links, held, low + i, before, self.distance) > self.most
        return broken


def posterior(links: Links, held: Histogram, index: int) -> tuple[list[int], NDArray[np.int64], int]:
    """What one class says about labels: shares as whole numbers over a common denominator, each kind of
    label once; the kind of every label; and the denominator, people included.

    Labels of one weight that the same rows link to have the same share: they are one kind.
    """
    span = slice(int(held.start[index]), int(held.start[index + 1]))
    sets, counts = held.values[span], held.counts[span].tolist()
    numbers = links.number[sets].tolist()
    common = lcm(*(n for n in numbers if n)) if any(numbers) else 1
    weights = [c * common // n if n else 0 for c, n in zip(counts, numbers, strict=True)]
    linked, own = links.matrix(sets), links.weights
    if len(sets) <= NARROW:
        pattern = (linked.astype(np.int64) << np.arange(len(sets))[:, None]).sum(axis=0)
        _, alike = np.unique(pattern, return_inverse=True)
    else:
        _, alike = np.unique(linked.T, axis=0, return_inverse=True)
    sizes, size = np.unique(own, return_inverse=True)
    both = alike.ravel() * len(sizes) + size.ravel()
    _, example, kind = np.unique(both, return_index=True, return_inverse=True)
    shares = [
        int(own[place]) * sum(w for w, has in zip(weights, linked[:, place].tolist(), strict=True) if has)
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


def distance_from(
    links: Links, held: Histogram, index: int, target: list[Fraction], distance: str = EUCLIDEAN
) -> Fraction:
    """How far one class's beliefs are from a prior, as the distance is measured."""
    shares, kind, whole = posterior(links, held, index)
    below = lcm(whole, *{share.denominator for share in target})
    scaled = [share * (below // whole) for share in shares]
    pairs = zip(kind.tolist(), target, strict=True)
    gaps = [abs(scaled[k] - share.numerator * (below // share.denominator)) for k, share in pairs]
    far = measured(gaps, distance)
    return Fraction(far, below * below if distance == EUCLIDEAN else below)


def measured(gaps: Sequence[Number], distance: str) -> Number | Fraction:
    """What gaps, none of them negative, come to.

    >>> [str(measured([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], name)) for name in DISTANCES]
    ['3/8', '1/2', '1/2']
    """
    if distance == LARGEST_GAP:
        return max(gaps, default=Fraction(0))
    if distance == VARIATIONAL:
        return Fraction(sum(gaps), 2)
    return sum((gap * gap for gap in gaps), Fraction(0))
