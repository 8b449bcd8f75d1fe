"""Generalization patterns: all of them, each with its anonymity and its quality.

A pattern gives every key column one level of its taxonomy (0: as it is). There are F = Π n_i patterns where
column i has n_i levels; they form a lattice. Two recipients with different patterns hold versions of the same
table that can be told apart by any row.

Cost: one walk over the lattice, about 10 ns for every class of every pattern. Memory: about 100 bytes per
pattern and 16 per key column.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from sfumato.core.cut import Cut
from sfumato.core.errors import WrongCall
from sfumato.core.json_object import JsonObject
from sfumato.core.microdata import Microdata
from sfumato.core.progress import Progress, silent
from sfumato.core.promise import Promises
from sfumato.protection.controls import permitted_levels, spared_rows, spares_all
from sfumato.protection.patterns.figures import count_sizes, judge_further
from sfumato.protection.patterns.pattern_table import PatternTable, shape_of
from sfumato.protection.patterns.summary import as_dict, card
from sfumato.protection.searches.frontier import levels_at
from sfumato.protection.searches.search import Aim
from sfumato.protection.searches.step_check import budget_of
from sfumato.protection.suppression import recoded
from sfumato.show.card import Card, Printable

MOST_PATTERNS = 1_000_000
"""Larger lattices are not classified."""


@dataclass(frozen=True, eq=False, repr=False)
class Patterns(PatternTable, Printable):
    """Every pattern of a table, judged under promises; arrays hold one entry per pattern.

    Patterns are numbered with the last key column fastest. `allowed` are those that keep every promise within
    the suppression limit. `figures` and metrics of an allowed pattern are those of what would be published;
    of the others only the promises about class sizes were asked.
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
        raise WrongCall(
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
