"""Generalization patterns: all of them, each with its anonymity and its quality.

A pattern gives every key column one level of its taxonomy (0: as it is). There are F = Π n_i patterns where
column i has n_i levels; they form a lattice. Two recipients with different patterns hold versions of the same
table that can be told apart by any row.

Cost: one walk over the lattice, about 10 ns for every class of every pattern. Memory: about 100 bytes per
pattern and 16 per key column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

import numpy as np

from sfumato.models.contract import Promises
from sfumato.policy.policy import Policy
from sfumato.policy.recipients import RecipientRule
from sfumato.recipients.pattern_figures import count_sizes, judge_further
from sfumato.recipients.pattern_quality import METRICS, PatternTable, as_dict, card, shape_of
from sfumato.search.contract import Aim
from sfumato.search.controls import permitted_levels, spared_rows, spares_all
from sfumato.search.frontier import levels_at
from sfumato.search.plan import aim_of, check_people, key_promises, with_original
from sfumato.search.step_check import budget_of
from sfumato.search.suppression import recoded
from sfumato.system.errors import UsageError
from sfumato.system.json_object import JsonObject
from sfumato.system.presentation.cards import Card, Printable
from sfumato.system.progress import Progress, silent
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata

MOST_PATTERNS = 1_000_000
"""Larger lattices are not classified."""


@dataclass(frozen=True, eq=False, repr=False)
class Patterns(PatternTable, Printable):
    """Every pattern of a table, judged under promises; arrays hold one entry per pattern.

    Patterns are numbered with the last key column fastest. `allowed` are those that keep every promise within
    the suppression limit. `figures` and metrics of an allowed pattern are those of what would be published;
    of the others only the promises about class sizes were asked.

    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": ["21", "24", "37", "39"], "disease": ["flu", "cold", "flu", "asthma"]})
    >>> patterns = sf.patterns(people, sf.protect(people, k=2, quasi="age", sensitive="disease").policy)
    >>> patterns.allowed.tolist()
    [False, True, True, True, True, True]
    """

    def card(self) -> Card:
        """Returns the patterns on a few lines."""
        return card(self)

    def as_dict(self) -> JsonObject:
        """Returns JSON: counts, the quality classes, and patterns of the first that can be handed out."""
        return as_dict(self)

    def __repr__(self) -> str:
        return f"Patterns({self.count} patterns, {int(self.allowed.sum())} allowed)"


def classify(
    table: Microdata, promises: Promises, aim: Aim | None = None, *, progress: Progress = silent
) -> Patterns:
    """Returns every pattern of a table with its classes, its suppressed rows, and whether it is allowed.

    Patterns that the policy's controls do not permit are not allowed.
    """
    wanted = aim or Aim()
    if (count := prod(shape_of(table))) > MOST_PATTERNS:
        raise UsageError(
            f"the key columns have {count:,} patterns; at most {MOST_PATTERNS:,} are classified",
            remedy="Give some taxonomies fewer levels.",
        )
    budget = budget_of(table, promises, wanted)
    figures = count_sizes(table, promises, progress)
    allowed = judge_further(table, promises, budget, figures, progress)
    allowed &= permitted_levels(table, wanted).ravel()
    spared = spared_rows(table, wanted)
    for at in np.flatnonzero(allowed & (figures.suppressed > 0)).tolist() if spared is not None else ():
        levels = zip(table.keys, levels_at(at, shape_of(table)), strict=True)
        cuts = {c.name: Cut.level(c.taxonomy, level) for c, level in levels}
        allowed[at] = spares_all(recoded(table, cuts, promises), spared)
    return Patterns(table, promises, wanted, figures, allowed, wanted.loss)


# The patterns of a table under a policy.


def patterns_of(
    table: Microdata,
    policy: Policy,
    *,
    quality: str | None = None,
    tolerance: Fraction | None = None,
    compared: Sequence[str] = (),
    progress: Progress = silent,
) -> Patterns:
    """Returns every pattern of the policy's key columns, judged by its promises.

    Versions are equally good by `quality`, a metric, up to `tolerance`; where these are not given, as the
    policy says of recipients, else equal in the loss that it keeps small. Where terms are removed
    for a quasi-sensitive promise, that comes after a pattern is chosen: here only the promises that levels
    decide are judged.
    """
    rule = policy.recipients or RecipientRule()
    metric = quality or rule.quality or policy.protect.loss
    share = rule.tolerance if tolerance is None else tolerance
    if unknown := [name for name in (metric, *compared) if name not in METRICS]:
        raise UsageError(f"patterns have no metric '{unknown[0]}'", remedy=f"Known: {', '.join(METRICS)}.")
    if share < 0:
        raise UsageError("a tolerance is not negative", remedy="0 means equal quality.")
    check_people(table)
    meant = with_original(policy, table)
    promises = meant.promises if policy.protect.terms.method == "keep" else key_promises(meant.promises)
    patterns = classify(table, promises, aim_of(policy), progress=progress)
    return replace(patterns, quality=metric, tolerance=share, compared=tuple(compared))
