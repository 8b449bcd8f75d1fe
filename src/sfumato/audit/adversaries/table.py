"""Exact ends: a range that runs from one person's value to another's tells both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.attacks.published_table import PublishedTable, crowd
from sfumato.attacks.registry import register
from sfumato.core.errors import BadTaxonomy
from sfumato.core.limits import AttackLimits
from sfumato.core.range_texts import RANGE
from sfumato.core.taxonomy import Label, Taxonomy
from sfumato.core.taxonomy_rule import TaxonomyRule
from sfumato.core.verdict import Finding
from sfumato.show.card import several


@register("exact-ends")
@dataclass(frozen=True)
class ExactEnds:
    """A class that publishes the range of its own values tells the least and the greatest of them.

    Both are values of somebody in the class, to the day or the unit, however many people are in it: whoever
    is known to be the oldest, or to earn the most, is named with the value. A range whose ends are ends of
    nodes of the policy's taxonomy tells no value.

    Silent on: columns without a taxonomy, and values that a whole class shares.
    """

    name: ClassVar[str] = "exact-ends"
    knows: ClassVar[str] = "how the ranges of a table are made, and who comes first or last in a class"
    seeks: ClassVar[str] = "the exact value of a key column"
    needs: ClassVar[str] = "a key column that the policy gives a taxonomy"
    succeeds: ClassVar[str] = "a range ends at a value, and not at a boundary that the policy names"
    threatens: ClassVar[tuple[str, ...]] = ("k-anonymity",)

    def strike(self, published: PublishedTable, limits: AttackLimits) -> list[Finding]:
        del limits
        names = [name for name in published.keys if name in published.rules]
        return [self._column(published, name) for name in names]

    def _column(self, published: PublishedTable, name: str) -> Finding:
        texts, codes, _ = published.texts
        exact = exact_ends(published.rules[name], texts[name])
        ends = int(exact.sum())
        classes = np.minimum(exact[codes[name]], published.classes.people)
        told = int(classes.sum())
        sentence = "no range ends at a value"
        if ends:
            hold = several(int((classes > 0).sum()), "class tells", "classes tell")
            sentence = f"{hold} the exact value of at least {crowd(told)}"
        return Finding(
            attack=self.name,
            adversary=f"someone who knows {self.knows}",
            sentence=f"{name}: {sentence}",
            confidence=Fraction(int(ends > 0)),
            people=told,
            breach=ends > 0,
            columns=(name,),
            details={"texts": int((exact > 0).sum()), "values": ends},
        )


def exact_ends(rule: TaxonomyRule, labels: Sequence[Label]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Returns, per label, how many of its ends are values and no boundary of the taxonomy: 0, 1 or 2."""
    listed = _tree(rule, [])
    found = np.zeros(len(labels), np.int64)
    for i, label in enumerate(labels):
        first, dash, last = (label or "").partition(RANGE)
        if dash:
            found[i] = _is_value(rule, listed, first, last=False) + _is_value(rule, listed, last, last=True)
    return found


def _is_value(rule: TaxonomyRule, listed: Taxonomy | None, text: str, *, last: bool) -> bool:
    """Whether the end of a range is a value that no node of the range level begins with, or ends with."""
    tree = listed if listed is not None and len(listed.leaves) > 1 else _tree(rule, [text])
    rank = None if tree is None else tree.rank(text)
    if tree is None or rank is None:
        return False
    cell = int(tree.levels[tree.range_level][rank])
    if tree.labels[cell] == text:
        return False
    if tree is not listed:
        return True
    return rank != (int(tree.high[cell]) - 1 if last else int(tree.low[cell]))


def _tree(rule: TaxonomyRule, values: Sequence[Label]) -> Taxonomy | None:
    try:
        return rule.build(values)
    except BadTaxonomy:
        return None
