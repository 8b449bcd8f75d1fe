"""What keeping a freeform promise costs: the search's result beside the best there is, and beside hiding all.

Two plain alternatives need no search. *Blanking* suppresses every cell that holds a sensitive value (the
paper's table T2); whoever sees a blank then knows that something sensitive stood there. *Withholding*
generalizes until no value that cannot be observed is published: nothing is left to infer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.models.contract import Cuts, Promises
from sfumato.models.freeform.inference import guarded_leaves
from sfumato.models.freeform.promise import Freeform
from sfumato.search.contract import Aim
from sfumato.search.optimum import Optimum, mean_loss, optimum
from sfumato.search.top_down import top_down
from sfumato.system.presentation.cards import Card, Printable, format_number, pluralize
from sfumato.table.cut import Cut
from sfumato.table.microdata import Microdata

Weights = Mapping[str, Fraction]


@dataclass(frozen=True, eq=False)
class Comparison(Printable):
    """The mean loss of four ways to keep a freeform promise; `greedy` is the minimal table of top-down."""

    greedy: Fraction
    best: Optimum
    withholding: Fraction
    blanking: Fraction

    @property
    def gap(self) -> Fraction:
        """What the greedy table loses, at most, beyond what has to be lost."""
        return self.greedy - self.best.bound

    def card(self) -> Card:
        proved = (
            "the best there is" if self.best.optimal else f"at least {format_number(float(self.best.bound))}"
        )
        lines = [
            (
                "top-down",
                format_number(float(self.greedy)),
                f"at most {format_number(float(self.gap))} above the best",
            ),
            ("exact search", format_number(float(self.best.loss)), proved),
            ("no hidden value published", format_number(float(self.withholding))),
            ("every sensitive cell blanked", format_number(float(self.blanking)), "a blank says: sensitive"),
        ]
        notes = (f"{pluralize(self.best.states, 'recoding')} looked at by the exact search",)
        return Card("loss of keeping the freeform promise", lines, notes)


def compare(
    table: Microdata, promise: Freeform, *, weights: Weights | None = None, most: int = 2_000_000
) -> Comparison:
    """Top-down, the exact optimum (or a bound after `most` states), and the two plain alternatives."""
    given = dict(weights or {})
    found = top_down(table, Promises((promise,)), Aim(weights=given)).recoding.cuts or {}
    return Comparison(
        mean_loss(table, found, given),
        optimum(table, promise, weights=given, most=most, start=found),
        mean_loss(table, withholding(table, promise), given),
        blanking(table, promise, given),
    )


def withholding(table: Microdata, promise: Freeform) -> Cuts:
    """The finest cuts under which nothing is published that cannot be observed."""
    cuts = {}
    for column, guard in zip(table.keys, promise.guards(table.keys), strict=True):
        tree = column.taxonomy
        there = np.zeros(len(tree.leaves), dtype=bool)
        there[table.codes(column.name)] = True
        cut, waiting = Cut.root(tree), [0]
        while waiting:
            node = waiting.pop()
            children = tree.children(node)
            shown = [c for c in children if there[tree.low[c] : tree.high[c]].any()]
            if children and all(guard.seen[c] for c in shown):
                cut = cut.specialize(node)
                waiting += children
        cuts[column.name] = cut
    return cuts


def blanking(table: Microdata, promise: Freeform, weights: Weights | None = None) -> Fraction:
    """The mean loss of a table in which every cell with a sensitive value is suppressed."""
    total, whole = Fraction(0), Fraction(0)
    for column in table.keys:
        weight = Fraction((weights or {}).get(column.name, 1))
        whole += weight
        free = promise.columns.get(column.name)
        if free is not None and table.rows:
            leaves = guarded_leaves(column.taxonomy, free.sensitive, column=column.name)
            blanks = int(table.counts[leaves[table.codes(column.name)]].sum())
            total += weight * Fraction(blanks, table.rows)
    return total / whole if whole else Fraction(0)
