"""Beliefs: what the classes of a table say about labels, exactly."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Histogram
from sfumato.core.knowledge import Knowledge, Links
from sfumato.core.taxonomy import Taxonomy

_seen: WeakKeyDictionary[Taxonomy, dict[str, Links]] = WeakKeyDictionary()

NARROW = 62


def links_of(knowledge: Knowledge, taxonomy: Taxonomy) -> Links:
    """The links of every term set that a coded column holds, worked out once."""
    known = _seen.setdefault(taxonomy, {})
    if knowledge.digest not in known:
        known[knowledge.digest] = knowledge.links(taxonomy.leaf_labels)
    return known[knowledge.digest]


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
