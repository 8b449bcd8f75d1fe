"""Knowledge at work on coded columns: what their term sets link to, and what a table as a whole says."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Histogram
from sfumato.core.knowledge import Knowledge, Links
from sfumato.core.prior import Prior
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.term_sets import terms_of
from sfumato.kernels.term_sets.links import link, tally_by_number

_seen: WeakKeyDictionary[Taxonomy, dict[str, Links]] = WeakKeyDictionary()


def links_of_texts(knowledge: Knowledge, texts: Sequence[Label]) -> Links:
    """The links of many term sets at once, given as the texts of a coded column."""
    start, term = knowledge.coded([terms_of(text) for text in texts])
    first, rows = knowledge.holders
    weights = knowledge.weight_of_label
    return Links(*link(start, term, first, rows, knowledge.label_of_row, weights), weights)


def links_of(knowledge: Knowledge, taxonomy: Taxonomy) -> Links:
    """The links of every term set that a coded column holds, worked out once."""
    known = _seen.setdefault(taxonomy, {})
    if knowledge.digest not in known:
        known[knowledge.digest] = links_of_texts(knowledge, taxonomy.leaf_labels)
    return known[knowledge.digest]


def prior_of(rule: str, labels: Sequence[str], links: Links, held: Histogram) -> Prior:
    """What a table as a whole says about labels; `held.overall` counts its term sets.

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
    counts, numbers = _counts(links, held)
    if rule == "count":
        whole = int(counts.sum())
        sums = counts.sum(axis=1).tolist()
        parts = {label: Fraction(n, whole) for label, n in zip(labels, sums, strict=True) if n}
        return Prior.of(parts, rule=rule)
    common = lcm(*numbers) if numbers else 1
    parts_of = [common // n for n in numbers]
    rows = int(held.overall.sum())
    shares = {}
    for label, weight, line in zip(labels, weights, counts.tolist(), strict=True):
        above = sum(n * w for n, w in zip(line, parts_of, strict=True) if n)
        if above:
            shares[label] = Fraction(weight * above, common * rows)
    return Prior.of(shares, rule=rule)


def _counts(links: Links, held: Histogram) -> tuple[NDArray[np.int64], list[int]]:
    """How many rows link to each label with each number of links; and those numbers."""
    occurring = np.flatnonzero(held.overall).astype(np.int32)
    numbers, place = np.unique(links.number[occurring], return_inverse=True)
    places = np.full(len(links.number), -1, np.int32)
    places[occurring] = place.ravel()
    linked = numbers > 0
    found = tally_by_number(
        occurring,
        held.overall[occurring].astype(np.int64),
        links.bits,
        places,
        max(1, len(numbers)),
        links.labels,
    )
    return found[:, : len(numbers)][:, linked], numbers[linked].tolist()
