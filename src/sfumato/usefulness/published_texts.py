"""Published texts as leaves: which values of the original column a cell of the safe table may stand for."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from math import isfinite, nan
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.interval_texts import PLAIN_NUMBER, numeric_ends
from sfumato.core.range_texts import RANGE
from sfumato.core.taxonomy import ANY, Label, Taxonomy

Reals = NDArray[np.float64]

_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?")


class PublishedTexts(Protocol):
    """The values of a column in order, and what a published text stands for: neighbours in that order."""

    @property
    def leaves(self) -> Sequence[Label]:
        """The values, in order."""
        ...

    @property
    def ordered(self) -> bool:
        """Whether the order means something."""
        ...

    def leaf(self, value: Label) -> int | None:
        """Returns the place of a value of the original table; `None` where it has none."""
        ...

    def span(self, text: Label) -> tuple[int, int] | None:
        """Returns the places `low .. high-1` that a published text stands for; `None` if unknown."""
        ...


class TreeTexts:
    """Texts that are read through the taxonomy of a policy; `start` is its finest published level.

    Where several nodes carry a text it stands for the leaves of all of them: nobody is taken to learn more
    than the text shows.

    >>> tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", "TB"], [-1, 0, 1, 1, 0])
    >>> TreeTexts(tree).span("Viral"), TreeTexts(tree).span("Virus")
    ((0, 2), None)
    """

    def __init__(self, tree: Taxonomy, start: int = 0) -> None:
        self._tree, self._start = tree, min(start, tree.height)
        self.ordered = tree.ordered

    @property
    def leaves(self) -> Sequence[Label]:
        return self._tree.leaf_labels

    def leaf(self, value: Label) -> int | None:
        return self._tree.rank(value)

    def span(self, text: Label) -> tuple[int, int] | None:
        if text in self._nodes:
            return self._nodes[text]
        between = self._above.span(text)
        if between is not None:
            low, high = self._bottom[between[0]], self._bottom[between[1] - 1]
            return int(self._tree.low[low]), int(self._tree.high[high])
        rank = self._tree.rank(text)
        return None if rank is None else (rank, rank + 1)

    @cached_property
    def _nodes(self) -> dict[Label, tuple[int, int]]:
        spans: dict[Label, tuple[int, int]] = {}
        tree = self._tree
        for node, (low, high) in enumerate(zip(tree.low.tolist(), tree.high.tolist(), strict=True)):
            label = tree.labels[node]
            first, last = spans.get(label, (low, high))
            spans[label] = min(first, low), max(last, high)
        return spans

    @cached_property
    def _above(self) -> Taxonomy:
        return self._tree.from_level(self._start)

    @cached_property
    def _bottom(self) -> NDArray[np.int32]:
        return np.unique(self._tree.levels[self._start])


class BareTexts:
    """Texts read without a policy: a value, `*`, a prefix such as `021**`, an interval, a span of dates.

    Values stand in the order of their numbers if all are numbers, else in that of their texts.

    >>> texts = BareTexts(["5", "23", "20", "31"])
    >>> texts.leaves, texts.span("20-29"), texts.span("[5, 31)"), texts.span("*"), texts.span("young")
    (('5', '20', '23', '31'), (1, 3), (0, 3), (0, 4), None)
    """

    def __init__(self, values: Sequence[Label]) -> None:
        known = [value for value in values if value is not None]
        self._numeric = bool(known) and all(PLAIN_NUMBER.fullmatch(value) for value in known)
        known.sort(key=lambda value: (float(value) if self._numeric else 0.0, value))
        self._known = known
        self._numbers = [float(value) for value in known] if self._numeric else []
        self.ordered = self._numeric or (bool(known) and all(_DATE.fullmatch(value) for value in known))
        self.leaves: Sequence[Label] = (*known, None) if len(known) < len(values) else tuple(known)
        self._place = {value: place for place, value in enumerate(self.leaves)}

    def leaf(self, value: Label) -> int | None:
        return self._place.get(value)

    def span(self, text: Label) -> tuple[int, int] | None:
        if text in self._place:
            return self._place[text], self._place[text] + 1
        if text is None:
            return None
        if not text.strip(ANY):
            return 0, len(self.leaves)
        low, high = self._between(text) if self._numeric else self._beginning(text)
        return (low, high) if low < high else None

    def _between(self, text: str) -> tuple[int, int]:
        """Returns the places of the numbers in an interval; an empty span where the text is none."""
        ends = numeric_ends(text)
        if ends is None:
            return 0, 0
        first, last, closed = ends
        upper = bisect_right if closed else bisect_left
        return bisect_left(self._numbers, first), upper(self._numbers, last)

    def _beginning(self, text: str) -> tuple[int, int]:
        """Returns the places of the values between two beginnings: of a prefix, of a span of dates."""
        one, _, other = text.partition(RANGE)
        years = re.fullmatch(r"([0-9]{4})-([0-9]{4})", text)
        if years:
            one, other = years[1], years[2]
        masked = one.endswith(ANY) and not other
        if not masked and not (self.ordered and _DATE.fullmatch(one)):
            return 0, 0
        first, last = one.rstrip(ANY), (other or one).rstrip(ANY)
        low = bisect_left(self._known, first)
        return low, bisect_right(self._known, last, key=lambda value: value[: len(last)])


def numbers_of(labels: Sequence[Label]) -> Reals | None:
    """Returns the number of each value, NaN where a cell is missing; `None` unless all are numbers."""
    known = [label for label in labels if label is not None]
    if not known or not all(PLAIN_NUMBER.fullmatch(label) for label in known):
        return None
    return np.array([nan if label is None else float(label) for label in labels])


def leaf_numbers(labels: Sequence[Label]) -> Reals:
    """Returns a number for each leaf of a numeric column: its own, the middle, or the known end."""
    return np.array([nan if label is None else _middle(label) for label in labels])


def _middle(label: str) -> float:
    ends = numeric_ends(label)
    if ends is None:
        return nan
    known = [end for end in ends[:2] if isfinite(end)]
    return sum(known) / len(known)
