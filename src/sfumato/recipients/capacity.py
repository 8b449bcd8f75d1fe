"""Capacity: how many recipients a policy serves, at its quality and at a little less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import ceil, comb, exp, lgamma, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import Cuts
from sfumato.policy.recipients import RecipientRule
from sfumato.recipients.marks import MarkedChain
from sfumato.recipients.versions import AvailableVersions, ColumnClues
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import Card, format_number, json_ready, pluralize
from sfumato.table.base import CLASS_NUMBER, GROUP
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
        more = AvailableVersions(
            versions.patterns, wider, versions.metric, held=versions.held, follows=versions.follows
        )
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


def identifying_rows(
    recipient: str,
    version: Recoding,
    others: Sequence[Cuts],
    follows: Mapping[str, Collection[str]] | None = None,
) -> IdentifyingRows:
    """Counts the rows of a version after which its holder is identified, beside what others hold."""
    weights, shared = _told_cells(version, others, ColumnClues(version.table, follows or {}))
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


def _told_cells(
    version: Recoding, others: Sequence[Cuts], clues: ColumnClues
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
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
            known = depth[theirs]
            for level in clues.levels_told(column.name, cuts_of_other):
                known = np.maximum(known, depth[column.taxonomy.levels[level, codes]])
            lines.append(known >= depth[own])
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


# Marks: any number of recipients; what is counted is how much of a leak names those who made it.

SURE = 0.9
"""Leakers are named with this probability, and in this share of leaks as large."""
MOST_LEAKERS = 3
DRAWN_LEAKS = 50


@dataclass(frozen=True)
class NamedLeakers:
    """How large a leak is that names so many leakers: in groups, in rows drawn at random, in rows one after
    the other; `None` where even the whole version does not."""

    leakers: int
    groups: int
    random: int | None
    contiguous: int | None

    def __str__(self) -> str:
        who = "one leaker" if self.leakers == 1 else f"{self.leakers} who mix their versions"
        if self.random is None:
            return f"{who}: about {self.groups} marked groups, more than there are"
        rows = f"{self.random:,} rows drawn at random"
        if self.contiguous is not None:
            rows += f", or {self.contiguous:,} in a row"
        return f"{who}: about {self.groups} marked groups, {rows}"


@dataclass(frozen=True)
class MarkCapacity:
    """What the marks of a release tell of leakers, and what hides them.

    `marked` are groups with a mark, `rows` how many of `all_rows` they have. `loss` is that of the base,
    `hidden` that of a version with both columns of every mark raised. Without the columns in `dropped`
    there would be `left` marks.
    """

    recipients: int
    error: Fraction
    marked: int
    rows: int
    all_rows: int
    loss: float
    hidden: float
    dropped: tuple[str, ...]
    left: int
    leaks: tuple[NamedLeakers, ...]

    @property
    def sentence(self) -> str:
        """One line: how much of a version carries a mark."""
        share = format_number(self.rows / max(1, self.all_rows))
        return f"any number of recipients: {share} of the rows carry a mark, in {self.marked:,} groups"

    @property
    def notes(self) -> list[str]:
        """How much of a leak names whom, and what whoever knows the program can do about it."""
        hidden = f"loss {format_number(self.hidden)}, where the base has {format_number(self.loss)}"
        return [
            f"{pluralize(self.recipients, 'recipient')}; an innocent one is charged in at most {self.error}"
            " of all traces",
            *map(str, self.leaks),
            f"raising both columns of every mark leaves no evidence: {hidden}",
            f"dropping {' and '.join(self.dropped)} leaves {pluralize(self.left, 'marked group')}",
        ]

    def as_dict(self) -> JsonObject:
        """Returns the capacity as JSON."""
        words = {**vars(self), "leaks": [vars(leak) for leak in self.leaks]}
        document: JsonObject = json_ready({"sentence": self.sentence, **words, "notes": self.notes})
        return document


@dataclass(frozen=True, eq=False)
class MarkedVersions:
    """The versions of a release of a chain of groups to so many recipients, of the rows that are `shown`."""

    chain: MarkedChain
    shown: NDArray[np.bool_]
    recipients: int
    error: Fraction

    def capacity(self) -> MarkCapacity:
        """Returns what its marks tell of leakers."""
        base, marks = self.chain.base, self.chain.base.marks
        mark_of = np.full(base.groups, -1, np.int64)
        mark_of[marks.column("group").to_numpy()] = np.arange(len(marks))
        own = mark_of[base.numbers(GROUP)[self.shown & ~base.is_bare]]
        here, rows = np.unique(own[own >= 0], return_counts=True)
        both = sum(marks.column(f"{side}_cost").to_numpy()[here] for side in ("first", "second"))
        loss, people = base.loss(self.shown), max(1, len(own))
        names = [marks.column(f"{side}_column").to_pylist() for side in ("first", "second")]
        used = Counter(tuple(sorted(side[mark] for side in names)) for mark in here.tolist())
        dropped, most = max(used.items(), key=lambda item: (item[1], item[0]), default=(("nothing",), 0))
        bias = marks.column("bias").to_numpy()[here]
        return MarkCapacity(
            self.recipients,
            self.error,
            len(here),
            int(rows.sum()),
            len(own),
            loss,
            loss + float((both * rows).sum()) / people if len(here) else loss,
            dropped,
            len(here) - most,
            tuple(self._named(leakers, bias, mark_of) for leakers in range(1, MOST_LEAKERS + 1)),
        )

    def _named(self, leakers: int, bias: NDArray[np.float64], mark_of: NDArray[np.int64]) -> NamedLeakers:
        groups = groups_needed(leakers, self.recipients, float(self.error), bias)
        coins = self.chain.coins.of("capacity")
        published = self._in_order(mark_of)
        count = len(published)
        starts = coins.draw("starts", DRAWN_LEAKS) % np.uint64(max(1, count))
        drawn = [published[coins.order(f"rows {leak}", count)] for leak in range(DRAWN_LEAKS)]
        rolled = [np.roll(published, -int(start)) for start in starts.tolist()]
        return NamedLeakers(leakers, groups, _usual(drawn, groups), _usual(rolled, groups))

    def _in_order(self, mark_of: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the mark of every row, -1 for none, in the order in which the table is published."""
        base = self.chain.base
        view = base.view(self.shown & ~base.is_bare, marked=False, numbered=True)
        ordered = view.sort_by([(name, "ascending") for name in base.published])
        return np.asarray(mark_of[ordered.column(CLASS_NUMBER).to_numpy().astype(np.int64)], np.int64)


def groups_needed(leakers: int, recipients: int, error: float, bias: NDArray[np.float64]) -> int:
    """Returns how many marked groups a leak shows, about, that names everybody who mixed their versions.

    Each symbol is that of one of them, as often. An innocent scores 0 on average, with a deviation of 1 a
    group; a leaker, more by 2 sqrt(p (1 - p)) / `leakers`.

    >>> [groups_needed(leakers, 3, 0.001, np.full(9, 0.5)) for leakers in (1, 2, 3)]
    [12, 82, 192]
    """
    gain = float(np.mean(2 * np.sqrt(bias * (1 - bias)))) / leakers if len(bias) else 1 / leakers
    innocent = NormalDist().inv_cdf(1 - error / max(1, recipients))
    found = NormalDist().inv_cdf(SURE) * sqrt(1 - gain**2)
    return ceil(((innocent + found) / gain) ** 2)


def _usual(leaks: Sequence[NDArray[np.int64]], groups: int) -> int | None:
    """Returns how many rows a leak has in most cases that shows so many marks; `leaks` are marks of rows."""
    rows = []
    for marks in leaks:
        places = np.flatnonzero(marks >= 0)
        _, first = np.unique(marks[places], return_index=True)
        if len(first) < groups:
            return None
        rows.append(int(places[np.sort(first)[groups - 1]]) + 1)
    return int(np.quantile(rows, SURE, method="higher"))
