"""Knowledge at work on coded columns: what their term sets link to, and what a table as a whole says."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.compiled import njit
from sfumato.kernels.hitting_sets import Words, put
from sfumato.models.contract import Prior
from sfumato.models.quasi_sensitive.kernels import distance, largest
from sfumato.models.quasi_sensitive.knowledge import Knowledge, Links
from sfumato.table.classes import Histogram
from sfumato.table.microdata import terms_of
from sfumato.table.taxonomy import Label, Taxonomy

# Which groups of reference rows contain a set, and what classes of sets share out among the groups.

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]

LARGEST_DENOMINATOR = 1 << 30
"""Common denominators up to this are kept as whole numbers."""


@njit(cache=True, nogil=True)
def link(
    start: Int64s, term: Int32s, first: Int64s, rows: Int32s, group: Int32s, weight: Int64s
) -> tuple[Words, Int64s]:
    """For every set the groups that contain it, as bits, and what these weigh together.

    Set i holds the terms `term[start[i]:start[i+1]]`, each once; a negative term is in no row.
    """
    sets, count = len(start) - 1, len(group)
    bits = np.zeros((sets, (len(weight) + 63) // 64), np.uint64)
    number = np.zeros(sets, np.int64)
    matches = np.zeros(count, np.int32)
    for i in range(sets):
        width = start[i + 1] - start[i]
        matches[:] = 0
        for e in range(start[i], start[i + 1]):
            if term[e] >= 0:
                for p in range(first[term[e]], first[term[e] + 1]):
                    matches[rows[p]] += 1
        last = -1
        for r in range(count):
            if matches[r] == width and group[r] != last:
                last = group[r]
                put(bits[i], last)
                number[i] += weight[last]
    return bits, number


@njit(cache=True, nogil=True)
def _spread(bits: Words, share: float, mass: Floats) -> None:
    for w in range(len(bits)):
        x = bits[w]
        if x != np.uint64(0):
            for b in range(64):
                if (x >> np.uint64(b)) & np.uint64(1) != np.uint64(0):
                    mass[64 * w + b] += share


@njit(cache=True, nogil=True)
def _common(value: Int32s, number: Int64s) -> int:
    """The least common multiple of the numbers, 0 where it is too large."""
    whole = 1
    for v in value:
        n = number[v]
        if n > 0:
            a, b = whole, n
            while b != 0:
                a, b = b, a % b
            whole = whole // a * n
            if whole > LARGEST_DENOMINATOR:
                return 0
    return whole


@njit(cache=True, nogil=True)
def heads_and_tails(
    start: Int64s, value: Int32s, count: Int64s, bits: Words, number: Int64s, weight: Int64s, skip: int
) -> tuple[Floats, Floats, Int64s]:
    """Per class: its largest share, the sum of all shares but the `skip` largest, and the number they are in.

    Shares are whole multiples of 1 / denominator, exact in floating point; where no small common denominator
    exists it is 0 and the shares are rounded.
    """
    classes, groups = len(start) - 1, len(weight)
    head, tail, common = np.zeros(classes), np.zeros(classes), np.zeros(classes, np.int64)
    mass, best = np.empty(groups), np.empty(max(1, min(skip, groups)))
    for i in range(classes):
        values = value[start[i] : start[i + 1]]
        whole = _common(values, number)
        mass[:] = 0.0
        for e in range(start[i], start[i + 1]):
            n = number[value[e]]
            if n > 0:
                share = float(count[e]) * (float(whole // n) if whole > 0 else 1.0 / n)
                _spread(bits[value[e]], share, mass)
        for j in range(groups):
            mass[j] *= weight[j]
        head[i] = mass.max()
        total = mass.sum()
        top = largest(mass, min(skip, groups), best)
        tail[i] = total - top if skip < groups else 0.0
        common[i] = whole
        if total >= 2.0**52:
            common[i] = 0
    return head, tail, common


@njit(cache=True, nogil=True)
def distances(
    start: Int64s,
    value: Int32s,
    count: Int64s,
    bits: Words,
    number: Int64s,
    weight: Int64s,
    target: Floats,
    norm: int,
) -> Floats:
    """Per class: the distance of its mean shares from a target, rounded."""
    classes = len(start) - 1
    far, mass = np.zeros(classes), np.empty(len(target))
    for i in range(classes):
        mass[:] = 0.0
        size = 0
        for e in range(start[i], start[i + 1]):
            n = number[value[e]]
            size += count[e]
            if n > 0:
                _spread(bits[value[e]], float(count[e]) / n, mass)
        for j in range(len(target)):
            mass[j] *= weight[j]
        far[i] = distance(mass, target, float(size), norm)
    return far


@njit(cache=True, nogil=True)
def tally_by_number(
    value: Int32s, count: Int64s, bits: Words, place: Int32s, places: int, groups: int
) -> Int64s:
    """How many rows link to each group with each number of links: groups x places."""
    tally = np.zeros((groups, places), np.int64)
    for e in range(len(value)):
        p = place[value[e]]
        if p >= 0:
            row = bits[value[e]]
            for w in range(len(row)):
                x = row[w]
                if x != np.uint64(0):
                    for b in range(64):
                        if (x >> np.uint64(b)) & np.uint64(1) != np.uint64(0):
                            tally[64 * w + b, p] += count[e]
    return tally


_links: WeakKeyDictionary[Taxonomy, dict[str, Links]] = WeakKeyDictionary()


def links_of_texts(knowledge: Knowledge, texts: Sequence[Label]) -> Links:
    """The links of many term sets at once, given as the texts of a coded column."""
    start, term = knowledge.coded([terms_of(text) for text in texts])
    first, rows = knowledge.holders
    weights = knowledge.weight_of_label
    return Links(*link(start, term, first, rows, knowledge.label_of_row, weights), weights)


def links_of(knowledge: Knowledge, taxonomy: Taxonomy) -> Links:
    """The links of every term set that a coded column holds, worked out once."""
    links = _links.setdefault(taxonomy, {})
    if knowledge.digest not in links:
        links[knowledge.digest] = links_of_texts(knowledge, taxonomy.leaf_labels)
    return links[knowledge.digest]


def prior_of(rule: str, labels: Sequence[str], links: Links, histogram: Histogram) -> Prior:
    """What a table as a whole says about labels; `histogram.overall` counts its term sets.

    mean        the mean over all rows of what each says of the labels it links to
    count       how often each label is linked to, over all links
    uniform     every label alike, whatever the table holds
    prevalence  every label as common as the knowledge says, whatever the table holds
    """
    if rule == "uniform":
        return Prior.of(dict.fromkeys(labels, Fraction(1, len(labels))), rule=rule)
    weights = links.weights.tolist()
    if rule == "prevalence":
        whole = sum(weights)
        return Prior.of({a: Fraction(w, whole) for a, w in zip(labels, weights, strict=True)}, rule=rule)
    counts, numbers = _counts(links, histogram)
    if rule == "count":
        whole = int(counts.sum())
        sums = counts.sum(axis=1).tolist()
        parts = {label: Fraction(n, whole) for label, n in zip(labels, sums, strict=True) if n}
        return Prior.of(parts, rule=rule)
    common = lcm(*numbers) if numbers else 1
    parts_of = [common // n for n in numbers]
    rows = int(histogram.overall.sum())
    shares = {}
    for label, weight, line in zip(labels, weights, counts.tolist(), strict=True):
        above = sum(n * w for n, w in zip(line, parts_of, strict=True) if n)
        if above:
            shares[label] = Fraction(weight * above, common * rows)
    return Prior.of(shares, rule=rule)


def _counts(links: Links, histogram: Histogram) -> tuple[NDArray[np.int64], list[int]]:
    """How many rows link to each label with each number of links; and those numbers."""
    occurring = np.flatnonzero(histogram.overall).astype(np.int32)
    numbers, place = np.unique(links.number[occurring], return_inverse=True)
    places = np.full(len(links.number), -1, np.int32)
    places[occurring] = place.ravel()
    linked = numbers > 0
    counts, width = histogram.overall[occurring].astype(np.int64), max(1, len(numbers))
    tallies = tally_by_number(occurring, counts, links.bits, places, width, links.labels)
    return tallies[:, : len(numbers)][:, linked], numbers[linked].tolist()
