"""Published labels: whether a text of a key column is finer, or coarser, than the policy publishes.

A label says which values a cell may hold. It is finer than the policy where it is a node below the finest
level, or a range whose ends are not ends of nodes of the level that ranges run between: the first that the
policy names above the values, where it names one. It is coarser than a level where the values that it stands
for are not all below one node of that level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from math import ceil, floor, inf
from typing import Protocol

from sfumato.verify import trees as dates
from sfumato.verify.trees import (
    ANY,
    CodeLabels,
    ReadyList,
    Scale,
    Spec,
    ValueTree,
    character_counts,
    number,
    value_tree,
)

DASH = "–"
"""Stands between the two ends of a range."""

_HALF_OPEN = re.compile(r"\[(\S+), (\S+)\)")
_FROM_TO = re.compile(r"(-?[0-9]+)(?:-| to )(-?[0-9]+)")


class LabelReader(Protocol):
    """Reads the labels of one column."""

    def is_finer(self, text: str, start: int, ranges: bool) -> bool:
        """Tells whether a text is finer than level `start`, or, with `ranges`, than a range may be."""
        ...

    def is_coarser(self, text: str, most: int) -> bool:
        """Tells whether a text is coarser than level `most`, which is below the last."""
        ...

    def height(self, texts: Sequence[str]) -> int:
        """Returns the number of the last level, at which nothing is told; of masks, as far as texts tell."""
        ...


def label_reader(spec: Spec, content: bytes | None = None) -> LabelReader:
    """Returns the reader for the labels of a taxonomy, as a policy writes it."""
    if "date" in spec:
        listed = spec["date"]
        units = list(listed) if isinstance(listed, (list, tuple)) else [listed]
        form = spec.get("written")
        return DateLabels([str(unit) for unit in units], None if form is None else str(form))
    if "intervals" in spec:
        return IntervalLabels(Scale.of(spec))
    if "prefix" in spec or "mask" in spec:
        return MaskedLabels(spec)
    if spec.get("flat") is True:
        return ValueOrNothing()
    return _reader_of_list(spec, content)


def _reader_of_list(spec: Spec, content: bytes | None) -> LabelReader:
    listed = ReadyList.of(spec, content) if "ready" in spec and content is not None else None
    if listed is not None and listed.has_codes:
        return CodeLabels(listed)
    labels = ListedLabels(value_tree(spec, [], content=content))
    return labels if listed is None else SpelledLabels(labels, listed.leaf_of)


@dataclass(frozen=True)
class ValueOrNothing:
    """Labels of a column that shows its values or `*`."""

    def is_finer(self, text: str, start: int, ranges: bool) -> bool:
        del ranges
        return start > 0 and text != ANY

    def is_coarser(self, text: str, most: int) -> bool:
        return most < 1 and text == ANY

    def height(self, texts: Sequence[str]) -> int:
        del texts
        return 1


@dataclass(frozen=True)
class MaskedLabels:
    """Labels of codes with masked characters; a code of its own may hold stars, too."""

    spec: Spec

    def is_finer(self, text: str, start: int, ranges: bool) -> bool:
        del ranges
        if start == 0 or text == ANY:
            return False
        if "prefix" in self.spec:
            leading = [*character_counts(self.spec["prefix"]), 0][start - 1]
            return len(text.rstrip(ANY)) > leading
        steps = character_counts(self.spec.get("steps", ())) or range(1, len(text))
        masked: int = [*steps, len(text)][min(start - 1, len(steps))]
        left = self.spec["mask"] == "left"
        stars: int = len(text) - len(text.lstrip(ANY) if left else text.rstrip(ANY))
        return stars < min(masked, len(text))

    def is_coarser(self, text: str, most: int) -> bool:
        if text == ANY:
            return True
        left = self.spec.get("mask") == "left"
        stars = len(text) - len(text.lstrip(ANY) if left else text.rstrip(ANY))
        if "prefix" in self.spec:
            leading = len(text) if most == 0 else character_counts(self.spec["prefix"])[most - 1]
            return stars > max(0, len(text) - leading)
        steps = character_counts(self.spec.get("steps", ()))
        return stars > (0 if most == 0 else steps[most - 1] if steps else most)

    def height(self, texts: Sequence[str]) -> int:
        if "prefix" in self.spec:
            return len(character_counts(self.spec["prefix"])) + 1
        steps = character_counts(self.spec.get("steps", ()))
        return len(steps) + 1 if steps else max(map(len, texts), default=1)


@dataclass(frozen=True)
class IntervalLabels:
    """Labels of numbers: a number, an interval, or a range of intervals."""

    scale: Scale

    def is_finer(self, text: str, start: int, ranges: bool) -> bool:
        level = max(start, 1) if ranges or DASH in text else start
        ends = text.split(DASH)
        numbers = any(self.scale.size(end) is not None for end in ends)
        if text == ANY or (level == 0 and numbers):
            return False
        if self.scale.decimal and numbers:
            return True
        first, last = self._ends(ends[0]), self._ends(ends[-1])
        if first is None or last is None:
            return False
        width = self.scale.widths[max(level, 1) - 1] if level <= len(self.scale.widths) else None
        return not all(end is None or self._is_end(end, width) for end in (first[0], last[1]))

    def is_coarser(self, text: str, most: int) -> bool:
        if most == 0:
            lowest = self.scale.bottom is not None and text == self.scale.lowest
            highest = self.scale.top is not None and text == self.scale.highest
            return number(text) is None and not (lowest or highest)
        if text == ANY or number(text) is not None:
            return text == ANY
        ends = text.split(DASH)
        first, last = self._ends(ends[0]), self._ends(ends[-1])
        if first is None or last is None:
            return False
        scale, width = self.scale, self.scale.widths[most - 1]
        begin, end = first[0], last[1]
        if begin is None:
            low = -inf if scale.bottom is None else ceil((scale.bottom - scale.origin) / width) - 1
        else:
            low = floor((begin - scale.origin) / width)
        if end is None:
            high = inf if scale.top is None else floor((scale.top - scale.origin) / width)
        else:
            high = ceil((end - scale.origin) / width) - 1
        return high > low

    def height(self, texts: Sequence[str]) -> int:
        del texts
        return len(self.scale.widths) + 1

    def _is_end(self, end: Fraction, width: Fraction | None) -> bool:
        """Tells whether an interval of this width may begin or end here."""
        if end in (self.scale.low, self.scale.high):
            return True
        return width is not None and ((end - self.scale.origin) / width).denominator == 1

    def _ends(self, text: str) -> tuple[Fraction | None, Fraction | None] | None:
        """Returns the first number of an interval and the first beyond it, `None` where that is open.

        Nothing where the text is no interval; a whole number is one that ends before the next.
        """
        inclusive = _FROM_TO.fullmatch(text)
        half_open = _HALF_OPEN.fullmatch(text) or inclusive
        pair: tuple[str, str] = (text[:-1], "") if text.endswith("+") else (text, text)
        if half_open:
            pair = (half_open[1], half_open[2])
        elif text.startswith("<"):
            pair = ("", text[1:])
        first, last = (number(end) if end else None for end in pair)
        if any(end and size is None for end, size in zip(pair, (first, last), strict=True)):
            return None
        closed = last is not None and (inclusive or pair == (text, text))
        return first, last + 1 if closed and last is not None else last


@dataclass(frozen=True)
class DateLabels:
    """Labels of dates: a date or time, a calendar unit, or a range of units."""

    units: list[str]
    written: str | None = None

    def is_finer(self, text: str, start: int, ranges: bool) -> bool:
        if text == ANY:
            return False
        level = max(start, 1) if ranges or DASH in text else start
        if level == 0:
            return False
        exact = any(dates.is_moment(end, self.written) for end in text.split(DASH))
        if level > len(self.units) or (exact and "day" not in self.units[level - 1 :]):
            return True
        first, last = self._days(text)
        if first is None or last is None:
            return exact
        unit, one_day = dates.UNITS[self.units[level - 1]], timedelta(days=1)
        begins = first == date.min or unit(first) != unit(first - one_day)
        return not (begins and (last == date.max or unit(last) != unit(last + one_day)))

    def is_coarser(self, text: str, most: int) -> bool:
        if most == 0:
            return not dates.is_moment(text)
        if text == ANY:
            return True
        first, last = self._days(text)
        if first is None or last is None:
            return False
        unit = dates.UNITS[self.units[most - 1]]
        return unit(first) != unit(last)

    def height(self, texts: Sequence[str]) -> int:
        del texts
        return len(self.units) + 1

    def _days(self, text: str) -> tuple[date | None, date | None]:
        """Returns the first and the last day of a label, `None` where it names none."""
        first, _, last = text.partition(DASH)
        return dates.span(first)[0], dates.span(last or first)[1]


@dataclass(frozen=True)
class ListedLabels:
    """Labels of a taxonomy that lists its values."""

    tree: ValueTree
    _level: dict[str | None, int] = field(init=False)
    _finest: dict[str | None, int] = field(init=False)
    _ends: tuple[Mapping[str, int], Mapping[str, int]] = field(init=False)

    def __post_init__(self) -> None:
        named = {label: i for i, level in enumerate(self.tree.labels) for label in level}
        object.__setattr__(self, "_level", named)
        levels = list(enumerate(self.tree.labels))
        finest = {label: i for i, level in reversed(levels) for label in level}
        object.__setattr__(self, "_finest", finest)
        begins, ends = {}, {}
        if self.tree.ordered:
            for place, label in enumerate(self.tree.labels[self._range_level]):
                begin, end = _ends_of_label(str(label))
                begins.update(dict.fromkeys((str(label), begin), place))
                ends.update(dict.fromkeys((str(label), end), place))
        object.__setattr__(self, "_ends", (begins, ends))

    @property
    def _range_level(self) -> int:
        return 1 if self.tree.ordered and self.tree.height > 1 else 0

    def is_finer(self, text: str, start: int, ranges: bool) -> bool:
        level = self._level.get(text)
        if level is not None:
            return level < (max(start, self._range_level) if ranges else start)
        if not self.tree.ordered or start > self._range_level:
            return any(self.tree.place(end) is not None for ends in _halves(text) for end in ends)
        begins, ends = self._ends
        named = [(begins[a], ends[b]) for a, b in _halves(text) if a in begins and b in ends]
        return not named and any(
            self.tree.place(a) is not None or self.tree.place(b) is not None for a, b in _halves(text)
        )

    def is_coarser(self, text: str, most: int) -> bool:
        finest = self._finest.get(text)
        if finest is not None:
            return finest > most
        group, (begins, ends) = self.tree.groups[most], self._ends
        spans = [(begins[a], ends[b]) for a, b in _halves(text) if a in begins and b in ends]
        return bool(spans) and not any(group[a] == group[b] for a, b in spans)

    def height(self, texts: Sequence[str]) -> int:
        del texts
        return self.tree.height


@dataclass(frozen=True)
class SpelledLabels:
    """Labels of a taxonomy that lists its values, some of which have other spellings."""

    labels: ListedLabels
    spelled: Mapping[str, str]

    def is_finer(self, text: str, start: int, ranges: bool) -> bool:
        return self.labels.is_finer(self.spelled.get(text, text), start, ranges)

    def is_coarser(self, text: str, most: int) -> bool:
        return self.labels.is_coarser(self.spelled.get(text, text), most)

    def height(self, texts: Sequence[str]) -> int:
        return self.labels.height(texts)


def _ends_of_label(label: str) -> tuple[str, str]:
    """Returns how a range begins that begins with this label, and how one ends that ends with it."""
    if half_open := _HALF_OPEN.fullmatch(label):
        return f"[{half_open[1]}", f"{half_open[2]})"
    whole = _FROM_TO.fullmatch(label)
    return (whole[1], whole[2]) if whole else (label, label)


def _halves(text: str) -> Iterator[tuple[str, str]]:
    """Yields the pairs of ends that a text may join."""
    for joint in (DASH, " to ", ", "):
        at = text.find(joint)
        while at >= 0:
            yield text[:at], text[at + len(joint) :]
            at = text.find(joint, at + 1)
