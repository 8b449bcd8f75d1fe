"""Texts of ranges: what is published for several neighbouring nodes of an ordered tree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

RANGE = "–"
"""Joins the two ends of a range that is no node of the tree."""

_HALF_OPEN = re.compile(r"\[(\S+), (\S+)\)")
_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(?:(?:-| to )(0|-?[1-9][0-9]*))?")


class RangeTexts:
    """The texts of ranges between nodes, from the labels of the nodes in their order.

    Where labels are intervals the range is one, too: `[0, 20)` to `[40, 60)` is `[0, 60)`, and `20-24` to
    `40-44` is `20–44`. Other ranges name both nodes: `1953–1957`. Different ranges have different texts:
    where two intervals begin or end with the same number, every range names both nodes.

    >>> RangeTexts({1: "20-24", 2: "25-29", 3: "30+"}).between(1, 2)
    '20–29'
    >>> RangeTexts({1: "2024-02", 2: "2024-03"}).between(1, 2)
    '2024-02–2024-03'
    """

    def __init__(self, labels: Mapping[int, str | None]) -> None:
        self._labels = labels
        ends = {node: _ends(label) for node, label in labels.items()}
        known = [pair for pair in ends.values() if pair is not None]
        one_to_one = all(len({pair[i] for pair in known}) == len(known) for i in (0, 1))
        self._ends = ends if one_to_one else {}

    @cached_property
    def _named(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The node that a range begins with, and the one that it ends with, by the text of the end."""
        first, last = (
            {label: node for node, label in self._labels.items() if label is not None} for _ in "12"
        )
        for node, pair in self._ends.items():
            if pair is not None:
                mark = "[" if pair[2] else ""
                first[mark + pair[0]], last[mark + pair[1]] = node, node
        return first, last

    def nodes(self, text: str) -> tuple[int, int] | None:
        """Returns the first and the last node of a range, `None` where the text is none.

        >>> RangeTexts({1: "20-24", 2: "25-29", 3: "30+"}).nodes("20–29")
        (1, 2)
        """
        first, last = self._named
        half_open = _HALF_OPEN.fullmatch(text)
        halves = [(f"[{half_open[1]}", f"[{half_open[2]}")] if half_open else []
        for joint in (RANGE, " to "):
            pieces = text.split(joint)
            halves += [(joint.join(pieces[:i]), joint.join(pieces[i:])) for i in range(1, len(pieces))]
        for one, other in halves:
            begin, end = first.get(one), last.get(other)
            if begin is not None and end is not None and self.between(begin, end) == text:
                return begin, end
        return None

    def between(self, first: int, last: int) -> str:
        """Returns the text of the range from one node to another."""
        begin, end = self._ends.get(first), self._ends.get(last)
        one, other = self._labels[first], self._labels[last]
        if begin is None or end is None or begin[2] != end[2]:
            return f"{one}{RANGE}{other}"
        if begin[2]:
            return f"[{begin[0]}, {end[1]})"
        return f"{begin[0]}{' to ' if begin[0].startswith('-') else RANGE}{end[1]}"


def _ends(label: str | None) -> tuple[str, str, bool] | None:
    """Returns the two ends of an interval, and whether it is half-open; `None` where it is no interval."""
    if label is None:
        return None
    if half_open := _HALF_OPEN.fullmatch(label):
        return half_open[1], half_open[2], True
    whole = _WHOLE.fullmatch(label)
    if whole is None:
        return None
    first, last = whole[1], whole[2] or whole[1]
    return (first, last, False) if int(first) <= int(last) else None
