"""The taxonomy of a sensitive column, for the second judge: the policy's, or the values in their order.

A file holds the values of the source. Where the policy's taxonomy holds several to be one (93 and 95 under
`90+`), they are one value to every judge, as they were to the search. The finer values that are published can
only raise l-diversity of any kind; t-closeness is promised between leaves, not within one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from sfumato.core.errors import BadData, BadTaxonomy
from sfumato.core.taxonomy import Label, Taxonomy

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
DIGITS = 60


def planting(rule: Any, column: str, more: Sequence[Label] = ()) -> Callable[[Sequence[Label]], Taxonomy]:
    """How the taxonomy grows from the texts that occur; `more` are texts that need a place if it has one."""

    def plant(texts: Sequence[Label]) -> Taxonomy:
        wanted = list(dict.fromkeys([*texts, *more]))
        if rule is None:
            return Taxonomy.flat(in_order(wanted), ordered=True)
        try:
            tree: Taxonomy = rule.build(wanted)
        except BadTaxonomy:
            tree = _tolerant(rule, texts, column)
        lacking = sum(tree.rank(text) is None for text in texts)
        if lacking:
            raise BadData(f"{lacking} values of {column} are not in its taxonomy")
        return tree

    return plant


def in_order(texts: Sequence[Label]) -> list[Label]:
    """Numbers by size if all are numbers of at most 60 digits, else by text; a missing cell last.

    >>> in_order(["10", None, "9"]), in_order(["10", "9", "x"])
    (['9', '10', None], ['10', '9', 'x'])
    """
    present = [text for text in texts if text is not None]
    if all(map(_is_number, present)):
        present.sort(key=lambda text: (Decimal(text), text))
    else:
        present.sort()
    return [*present, *([None] if len(present) < len(texts) else [])]


def _is_number(text: str) -> bool:
    if len(text) > DIGITS or not NUMBER.fullmatch(text):
        return False
    return Decimal(text) == 0 or abs(Decimal(text).adjusted()) < DIGITS


def _tolerant(rule: Any, texts: Sequence[Label], column: str) -> Taxonomy:
    lacking = 0
    try:
        tree: Taxonomy = rule.build(texts)
    except BadTaxonomy as problem:
        lacking = max(1, len(problem.values))
    if lacking:
        raise BadData(f"{lacking} values of {column} are not in its taxonomy")
    return tree
