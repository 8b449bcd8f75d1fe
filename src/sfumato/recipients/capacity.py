"""Capacity: how many recipients a policy serves, at its quality and at a little less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb, exp, lgamma

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Cuts
from sfumato.policy.recipients import RecipientRule
from sfumato.recipients.versions import AvailableVersions
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import Card, json_ready, pluralize
from sfumato.table.recoding import SUPPRESSED, Recoding

TOLERANCES = (Fraction(0), *(Fraction(p, 100) for p in (1, 2, 5, 10, 20, 50)))
"""Shares of the best loss by which versions may be worse."""


@dataclass(frozen=True)
class Capacity:
    """How many recipients can be served within tolerances.

    `exact` says that no larger family of patterns exists; else so many were found. `held` are the recipients
    served before; they are not among those counted.
    """

    rule: RecipientRule
    metric: str
    steps: tuple[tuple[Fraction, int], ...]
    exact: bool
    held: int = 0

    @property
    def recipients(self) -> int:
        """How many the policy as it is serves."""
        return dict(self.steps)[self.rule.tolerance]

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """One line: how many the policy serves, and what more loss would buy."""
        more = f" more, beside {pluralize(self.held, 'recipient')} served before," if self.held else ""
        now = self.recipients
        sentence = f"this policy serves {pluralize(now, 'recipient')}{more} at this quality"
        better = [(t, n) for t, n in self.steps if t > self.rule.tolerance and n > now]
        grown = [better[i] for i in range(len(better)) if i == 0 or better[i][1] > better[i - 1][1]]
        parts = [f"{n} at {_percent(t)} more loss" for t, n in _first_and_last(grown)]
        return ", ".join([sentence, *parts])

    def as_dict(self) -> JsonObject:
        """Returns the capacity as JSON."""
        return {
            "recipients": self.recipients,
            "sentence": self.sentence,
            "quality": self.metric,
            "tolerance": json_ready(self.rule.tolerance),
            "frame_proof": self.rule.frame_proof,
            "patterns": [{"tolerance": json_ready(t), "recipients": n} for t, n in self.steps],
            "exact": self.exact,
            "held": self.held,
        }

    def card(self) -> Card:
        """Returns the capacity in a few lines."""
        lines = [(f"within {_percent(t)} of the best", pluralize(n, "recipient")) for t, n in self.steps]
        framers = "nobody builds" if self.rule.frame_proof == 1 else f"no {self.rule.frame_proof} build"
        notes = (
            f"alike in {self.metric}; {framers} the version of another",
            "no family of patterns is larger" if self.exact else "larger families may exist",
        )
        return Card(self.sentence, lines, notes)


def capacity_of(versions: AvailableVersions) -> Capacity:
    """Returns how many recipients the versions of a table serve."""
    rule = versions.rule
    steps = tuple((t, versions.most(t)) for t in sorted({*TOLERANCES, rule.tolerance}))
    holders = len({h.recipient for h in versions.held})
    return Capacity(rule, versions.metric, steps, versions.families.exact, holders)


def least_tolerance_for(versions: AvailableVersions, count: int) -> Fraction | None:
    """Returns the least of some tolerances that serves so many recipients."""
    rule = versions.rule
    for tolerance in (t for t in TOLERANCES if t > rule.tolerance):
        wider = replace(rule, tolerance=tolerance)
        more = AvailableVersions(versions.patterns, wider, versions.metric, held=versions.held)
        if more.most() >= count:
            return tolerance
    return None


def _percent(share: Fraction) -> str:
    whole = share * 100
    return f"{int(whole)} %" if whole.denominator == 1 else f"{float(whole):g} %"


def _first_and_last(steps: Sequence[tuple[Fraction, int]]) -> list[tuple[Fraction, int]]:
    """Returns the first and the last of some steps."""
    return list(steps) if len(steps) < 3 else [steps[0], steps[-1]]


# How many leaked rows identify a recipient: stated before a release, from the data and all versions.
#
# A leaked cell may come from whoever shows that value in the same detail or finer (`frame_proofness`).
# Others
# explain a leak if each of its cells may come from one of them; a row is *telling* against a coalition if
# one
# of its cells may not. Somebody leaks m rows of their version, drawn at random without looking: a coalition
# against which b of its n rows are telling still explains all of them with the chance C(n - b, m) / C(n,
# m).
# The recipient is identified when no coalition of a size explains the leak; chances add up to at most what
# is
# asked. This is a statement about rows drawn at random: whoever chooses rows chooses those that tell least.

USUAL_DOUBT = Fraction(1, 20)
LARGEST_COALITION = 3
MOST_COALITIONS = 5000
"""Coalitions of a size are looked at if there are at most so many of them."""
ROUNDING = 1e-9
"""By how much a sum of chances may exceed what is asked: more than floats err, so that ties count as kept."""


@dataclass(frozen=True)
class IdentifyingRows:
    """How many rows of a version, drawn at random, identify who holds it, in 19 of 20 draws.

    `by_size[c]` is the number against coalitions of c others; `None` where such a coalition explains even the
    whole version. Sizes with too many coalitions to look at are left out.
    """

    recipient: str
    rows: int
    by_size: dict[int, int | None]

    @property
    def alone(self) -> int | None:
        """The number after which nobody else alone explains the leak."""
        return self.by_size.get(1, 1)

    @property
    def sentence(self) -> str:
        """The numbers in words."""
        if not self.by_size:
            return "nobody else holds a version: one row identifies"
        parts = [
            f"{_named(size)}: {'never' if rows is None else pluralize(rows, 'row')}"
            for size, rows in self.by_size.items()
        ]
        return f"identified beside {', '.join(parts)}"

    def as_dict(self) -> JsonObject:
        """Returns the numbers as JSON."""
        sizes = {str(size): rows for size, rows in self.by_size.items()}
        return {"rows": self.rows, "beside_coalitions_of": sizes, "sentence": self.sentence}


def _named(size: int) -> str:
    return {1: "one other", 2: "any two"}.get(size, f"any {size}")


def identifying_rows(recipient: str, version: Recoding, others: Sequence[Cuts]) -> IdentifyingRows:
    """Counts the rows of a version after which its holder is identified, beside what others hold."""
    weights, shared = _told_cells(version, others)
    rows, by_size = int(weights.sum()), dict[int, int | None]()
    for size in range(1, min(LARGEST_COALITION, len(others)) + 1):
        if comb(len(others), size) > MOST_COALITIONS:
            break
        telling = [
            int(weights[~shared[list(group)].any(axis=0).all(axis=0)].sum())
            for group in combinations(range(len(others)), size)
        ]
        by_size[size] = rows_needed(rows, telling)
    return IdentifyingRows(recipient, rows, by_size)


def _told_cells(version: Recoding, others: Sequence[Cuts]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Returns kinds of published rows, each with how many there are, and by whom which cells may be known.

    Entry [u, j, i] says whether a cell of column j in a row of kind i may come from u.
    """
    table, cuts = version.table, version.cuts or {}
    published = version.class_of != SUPPRESSED
    lines = []
    for cuts_of_other in others:
        for column in table.keys:
            codes, depth = table.codes(column.name)[published], column.taxonomy.depth
            own, theirs = cuts[column.name].node_of[codes], cuts_of_other[column.name].node_of[codes]
            lines.append(depth[theirs] >= depth[own])
    counts = table.counts[published].astype(np.int64)
    if not lines:
        return counts, np.zeros((0, len(table.keys), len(counts)), bool)
    packed = np.packbits(np.array(lines), axis=0).T
    _, first, kind = np.unique(np.ascontiguousarray(packed), axis=0, return_index=True, return_inverse=True)
    weights = np.bincount(kind.ravel(), weights=counts).astype(np.int64)
    kinds = np.array(lines)[:, first]
    return weights, kinds.reshape(len(others), len(table.keys), len(first))


def rows_needed(rows: int, telling: Sequence[int]) -> int | None:
    """Returns the least m for which the chances that m rows tell nothing add up to at most `USUAL_DOUBT`.

    >>> [rows_needed(100, [telling]) for telling in (100, 3, 0)]
    [1, 63, None]
    """
    if min(telling, default=rows) == 0:
        return None
    often, times = np.unique(telling, return_counts=True)
    low, high = 1, max(1, rows - int(often[0]) + 1)
    while low < high:
        middle = (low + high) // 2
        pairs = zip(often.tolist(), times.tolist(), strict=True)
        if sum(n * _missed(rows, b, middle) for b, n in pairs) <= float(USUAL_DOUBT) * (1 + ROUNDING):
            high = middle
        else:
            low = middle + 1
    return low


def _missed(rows: int, telling: int, drawn: int) -> float:
    """The chance that none of the rows drawn is telling."""
    if drawn > rows - telling:
        return 0.0
    plain = rows - telling
    return exp(lgamma(plain + 1) - lgamma(plain - drawn + 1) - lgamma(rows + 1) + lgamma(rows - drawn + 1))
