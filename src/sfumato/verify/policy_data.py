"""The policy as the judge is handed it: plain data, given names here.

`policy.judge_data` outside this room makes the data: texts, numbers, truths, fractions, and lists, tuples and
mappings of them. No object whose methods are the policy's comes in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from hashlib import sha256
from math import ceil, floor, inf
from typing import Any, Protocol

import numpy as np

from sfumato.system.errors import BadPolicy
from sfumato.system.verdict import Evidence
from sfumato.verify.cells import UNKNOWN, one_value_each
from sfumato.verify.trees import (
    ANY,
    UNITS,
    CodeLabels,
    ReadyList,
    Scale,
    Spec,
    Text,
    ValueTree,
    character_counts,
    in_order,
    is_moment,
    listed_words,
    number,
    span,
    value_tree,
)

# Published labels: whether a text of a key column is finer, or coarser, than the policy publishes.
#
# A label says which values a cell may hold. It is finer than the policy where it is a node below the finest
# level, or a range whose ends are not ends of nodes of the level that ranges run between: the first that the
# policy names above the values, where it names one. It is coarser than a level where the values that it
# stands for are not all below one node of that level.

DASH = "–"
"""Stands between the two ends of a range."""

_HALF_OPEN = re.compile(r"\[(\S+), (\S+)\)")
_FROM_TO = re.compile(r"(-?[0-9]+)(?:-| to )(-?[0-9]+)")


class LabelReader(Protocol):
    """Reads the labels of one column."""

    def is_finer(self, text: str, start: int, ranges: bool, /) -> bool:
        """Tells whether a text is finer than level `start`, or, with `ranges`, than a range may be."""

    def is_coarser(self, text: str, most: int, /) -> bool:
        """Tells whether a text is coarser than level `most`, which is below the last."""

    def height(self, texts: Sequence[str], /) -> int:
        """Returns the number of the last level, at which nothing is told; of masks, as far as texts tell."""

    def covers(self, wide: str, text: str, /) -> bool:
        """Tells whether every value that a text may stand for is one that `wide` may stand for."""


def label_reader(spec: Spec, content: bytes | None = None) -> LabelReader:
    """Returns the reader for the labels of a taxonomy, as a policy writes it."""
    if "date" in spec:
        form = spec.get("written")
        return DateLabels([str(u) for u in listed_words(spec["date"])], None if form is None else str(form))
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

    def is_finer(self, text: str, start: int, _ranges: bool) -> bool:
        return start > 0 and text != ANY

    def is_coarser(self, text: str, most: int) -> bool:
        return most < 1 and text == ANY

    def height(self, _texts: Sequence[str]) -> int:
        return 1

    def covers(self, wide: str, text: str) -> bool:
        halves = [[*_halves(label), (label, label)] for label in (wide, text)]
        return any(
            in_order([low, first, last, high]) == [low, first, last, high]
            for low, high in halves[0]
            for first, last in halves[1]
        )


@dataclass(frozen=True)
class MaskedLabels:
    """Labels of codes with masked characters; a code of its own may hold stars, too."""

    spec: Spec

    def is_finer(self, text: str, start: int, _ranges: bool) -> bool:
        if start == 0 or text == ANY:
            return False
        if "prefix" in self.spec:
            leading = [*character_counts(self.spec["prefix"]), 0][start - 1]
            return len(text.rstrip(ANY)) > leading
        steps = character_counts(self.spec.get("steps", ())) or range(1, len(text))
        masked: int = [*steps, len(text)][min(start - 1, len(steps))]
        return self._stars(text) < min(masked, len(text))

    def is_coarser(self, text: str, most: int) -> bool:
        if text == ANY:
            return True
        if "prefix" in self.spec:
            leading = len(text) if most == 0 else character_counts(self.spec["prefix"])[most - 1]
            return self._stars(text) > max(0, len(text) - leading)
        steps = character_counts(self.spec.get("steps", ()))
        return self._stars(text) > (0 if most == 0 else steps[most - 1] if steps else most)

    def _stars(self, text: str) -> int:
        """Returns how many stars stand at the masked end."""
        left = self.spec.get("mask") == "left"
        return len(text) - len(text.lstrip(ANY) if left else text.rstrip(ANY))

    def height(self, texts: Sequence[str]) -> int:
        if "prefix" in self.spec:
            return len(character_counts(self.spec["prefix"])) + 1
        steps = character_counts(self.spec.get("steps", ()))
        return len(steps) + 1 if steps else max(map(len, texts), default=1)

    def covers(self, wide: str, text: str) -> bool:
        return len(wide) == len(text) and all(a in (ANY, b) for a, b in zip(wide, text, strict=True))


@dataclass(frozen=True)
class IntervalLabels:
    """Labels of numbers: a number, an interval, or a range of intervals."""

    scale: Scale

    def is_finer(self, text: str, start: int, ranges: bool) -> bool:
        level = max(start, 1) if ranges or DASH in text else start
        numbers = any(self.scale.size(end) is not None for end in text.split(DASH))
        if text == ANY or (level == 0 and numbers):
            return False
        if self.scale.decimal and numbers:
            return True
        outer = self._outer_ends(text)
        if outer is None:
            return False
        width = self.scale.widths[max(level, 1) - 1] if level <= len(self.scale.widths) else None
        return not all(end is None or self._is_end(end, width) for end in outer)

    def is_coarser(self, text: str, most: int) -> bool:
        if most == 0:
            lowest = self.scale.bottom is not None and text == self.scale.lowest
            highest = self.scale.top is not None and text == self.scale.highest
            return number(text) is None and not (lowest or highest)
        if text == ANY or number(text) is not None:
            return text == ANY
        outer = self._outer_ends(text)
        if outer is None:
            return False
        scale, width = self.scale, self.scale.widths[most - 1]
        begin, end = outer
        if begin is None:
            low = -inf if scale.bottom is None else ceil((scale.bottom - scale.origin) / width) - 1
        else:
            low = floor((begin - scale.origin) / width)
        if end is None:
            high = inf if scale.top is None else floor((scale.top - scale.origin) / width)
        else:
            high = ceil((end - scale.origin) / width) - 1
        return high > low

    def height(self, _texts: Sequence[str]) -> int:
        return len(self.scale.widths) + 1

    def covers(self, wide: str, text: str) -> bool:
        size, outer, inner = number(text), self._outer_ends(wide), self._outer_ends(text)
        if outer is None or inner is None or number(wide) is not None:
            return False
        (low, high), (first, last) = outer, inner
        if self.scale.decimal and size is not None:
            return (low is None or low <= size) and (high is None or size < high)
        begins = low is None or (first is not None and low <= first)
        return begins and (high is None or (last is not None and last <= high))

    def _is_end(self, end: Fraction, width: Fraction | None) -> bool:
        """Tells whether an interval of this width may begin or end here."""
        if end in (self.scale.low, self.scale.high):
            return True
        return width is not None and ((end - self.scale.origin) / width).denominator == 1

    def _outer_ends(self, text: str) -> tuple[Fraction | None, Fraction | None] | None:
        """Returns where a label begins and ends, be it one interval or a range of them; as `_ends` does."""
        first, *_, last = (self._ends(end) for end in (text.partition(DASH)[0], text.rpartition(DASH)[2]))
        return None if first is None or last is None else (first[0], last[1])

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
        exact = any(is_moment(end, self.written) for end in text.split(DASH))
        if level > len(self.units) or (exact and "day" not in self.units[level - 1 :]):
            return True
        first, last = self._days(text)
        if first is None or last is None:
            return exact
        unit, one_day = UNITS[self.units[level - 1]], timedelta(days=1)
        begins = first == date.min or unit(first) != unit(first - one_day)
        return not (begins and (last == date.max or unit(last) != unit(last + one_day)))

    def is_coarser(self, text: str, most: int) -> bool:
        if most == 0:
            return not is_moment(text)
        if text == ANY:
            return True
        first, last = self._days(text)
        if first is None or last is None:
            return False
        unit = UNITS[self.units[most - 1]]
        return unit(first) != unit(last)

    def height(self, _texts: Sequence[str]) -> int:
        return len(self.units) + 1

    def covers(self, wide: str, text: str) -> bool:
        (low, high), (first, last) = self._days(wide), self._days(text)
        if low is None or high is None or first is None or last is None:
            return False
        return low <= first and last <= high

    def _days(self, text: str) -> tuple[date | None, date | None]:
        """Returns the first and the last day of a label, `None` where it names none."""
        first, _, last = text.partition(DASH)
        return span(first, self.written)[0], span(last or first, self.written)[1]


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

    def height(self, _texts: Sequence[str]) -> int:
        return self.tree.height

    def covers(self, wide: str, text: str) -> bool:
        return wide == self.tree.labels[-1][0] or any(
            low <= first and last <= high
            for low, high in self._spans(wide)
            for first, last in self._spans(text)
        )

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Returns the places of the values that a label may stand for: from the first to the one after."""
        if text in self._level:
            node, nodes = self.tree.nodes.named(text), self.tree.nodes
            return [(int(nodes.low[node]), int(nodes.high[node]))]
        group, (begins, ends) = self.tree.groups[self._range_level], self._ends
        ranges = [(group[begins[a]], group[ends[b]]) for a, b in _halves(text) if a in begins and b in ends]
        return [(int(first), int(np.searchsorted(group, last, "right"))) for first, last in ranges]


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

    def covers(self, wide: str, text: str) -> bool:
        return self.labels.covers(self.spelled.get(wide, wide), self.spelled.get(text, text))


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


# The policy as plain data: what is said of columns, and every promise.

KEY_ROLES = ("quasi", "free")
"""The roles of columns by whose texts rows are alike."""
SET_ROLE = "quasi-sensitive"
HIDDEN_ROLE = "identifier"

IN_ORDER: Mapping[str, object] = {"flat": True, "ordered": True}
"""The taxonomy of a column that the policy gives none: the values that occur, in their order."""


UNSAID: Mapping[str, object] = {"flat": True}
"""The labels of such a column: a value, or nothing."""


class PromiseData:
    """One promise: its key, kind and sentence, and every parameter as an attribute.

    >>> promise = PromiseData({"promise": "k-anonymity", "sentence": "k = 5", "parameters": {"k": 5}})
    >>> promise.name, promise.kind, promise.k, str(promise)
    ('k-anonymity', None, 5, 'k = 5')
    """

    def __init__(self, data: Mapping[str, object]) -> None:
        self._data = data
        parameters = data.get("parameters")
        self._parameters: Mapping[str, object] = parameters if isinstance(parameters, Mapping) else {}
        self.name = str(data["promise"])
        kind = data.get("kind")
        self.kind = None if kind is None else str(kind)
        self.evidence = Evidence(str(data.get("evidence", Evidence.PUBLISHED)))
        self.columns: tuple[str, ...] = tuple(_listed(data.get("columns")))

    # What a promise is told differs from promise to promise, so the types of its parameters are its judge's.
    def __getattr__(self, name: str) -> Any:
        for place in (self._parameters, self._data):
            if name in place:
                return place[name]
        raise AttributeError(f"the data of {self.name} do not say {name}")

    def get(self, name: str, otherwise: object = None) -> Any:  # the promise's own, as above
        """Returns what the promise says under this name, or something else where it says nothing."""
        return getattr(self, name, otherwise)

    def __str__(self) -> str:
        return str(self._data["sentence"])


@dataclass(frozen=True)
class JudgedColumn:
    """What the policy says of a column: its role, its taxonomy in words, and how it holds sets of terms.

    `content` is what a hierarchy file holds that the taxonomy names. `start` is the finest level that may be
    published, `at_most` the coarsest, if one is named. With `ranges`, an ordered column shows nothing finer
    than the level that ranges run between. `spelling` is `folded` where spellings of one value count as one.
    `digits` is how many a number has behind the point at most, where the policy says so.
    """

    role: str
    taxonomy: Mapping[str, object] | None = None
    content: bytes | None = field(default=None, repr=False)
    separator: str = ";"
    part_of: str | None = None
    marks: tuple[str, ...] | None = None
    by_value: bool = False
    spelling: str = "exact"
    start: int = 0
    ranges: bool = False
    at_most: int | None = None
    digits: int | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> JudgedColumn:
        content = data.get("content")
        if content is not None and sha256(content).hexdigest() != data.get("digest"):
            raise BadPolicy("a hierarchy file is not the one that the policy was read with")
        options = data.get("options") or {}
        return cls(
            str(data["role"]),
            data.get("taxonomy"),
            content,
            str(options.get("separator") or ";"),
            options.get("set"),
            _two_marks(options.get("marks")),
            options.get("values") is True,
            start=int(data.get("start", 0)),
            ranges=data.get("ranges") is True,
            at_most=None if data.get("at_most") is None else int(data["at_most"]),
            spelling=str(data.get("spelling") or "folded"),
            digits=None if data.get("digits") is None else int(data["digits"]),
        )

    @property
    def is_key(self) -> bool:
        return self.role in KEY_ROLES

    def too_fine(self, texts: Sequence[Text]) -> int:
        """Returns how many of the texts that a key column shows are finer than the policy's levels."""
        if self.taxonomy is None:
            return 0
        reader = label_reader(self.taxonomy, self.content)
        return sum(text is not None and reader.is_finer(text, self.start, self.ranges) for text in texts)

    def too_coarse(self, texts: Sequence[Text]) -> int:
        """Returns how many of the texts that a key column shows are coarser than the policy lets it be."""
        if self.at_most is None:
            return 0
        present = [text for text in texts if text is not None]
        reader = label_reader(self.taxonomy or UNSAID, self.content)
        if self.at_most >= reader.height(present):
            return 0
        return sum(reader.is_coarser(text, self.at_most) for text in present)

    def spelled_again(self, texts: Sequence[Text]) -> int:
        """Returns how many texts of a key column are further spellings of a value that it shows already."""
        if self.spelling == "exact":
            return 0
        numbers = [number for number in one_value_each(texts, self.spelling).tolist() if number != UNKNOWN]
        return len(numbers) - len(set(numbers))

    def not_covered(self, pairs: Sequence[tuple[Text, Text]]) -> list[tuple[Text, Text]]:
        """Returns the pairs of texts in which the first does not say the same as the second, or less."""
        reader = label_reader(self.taxonomy or UNSAID, self.content)
        different = [(wide, text) for wide, text in pairs if wide not in (text, ANY)]
        return [
            (wide, text)
            for wide, text in different
            if wide is None or not reader.covers(wide, ANY if text is None else text)
        ]

    def shows_above_another(self, texts: Sequence[Text]) -> bool:
        """Returns whether one of the texts stands for more than another does, and for all of that."""
        if ANY in texts and len(texts) > 1:
            return True
        if self.levels(texts)[0]:
            return False
        reader = label_reader(self.taxonomy or UNSAID, self.content)
        present = [text for text in texts if text is not None]
        wide = [text for text in present if not reader.is_finer(text, 1, False)]
        return any(
            reader.covers(above, text) and not reader.covers(text, above)
            for above in wide
            for text in present
            if text != above
        )

    def levels(self, texts: Sequence[Text]) -> tuple[frozenset[int], int]:
        """Returns the levels that a key column may be at where it shows these texts, and the last level."""
        present = [text for text in texts if text is not None]
        reader = label_reader(self.taxonomy or UNSAID, self.content)
        last = reader.height(present)
        return frozenset(
            level
            for level in range(last + 1)
            if not any(reader.is_finer(text, level, False) for text in present)
            and not (level < last and any(reader.is_coarser(text, level) for text in present))
        ), last

    def tree(self, texts: Sequence[Text]) -> ValueTree:
        """Returns the tree of these texts; raises `BadTaxonomy` where one has no place."""
        return value_tree(self.taxonomy or IN_ORDER, texts, content=self.content)


@dataclass(frozen=True)
class JudgedPolicy:
    """What the judge knows of a policy."""

    columns: Mapping[str, JudgedColumn]
    promises: tuple[PromiseData, ...]
    person: str | None = None
    together: tuple[tuple[str, ...], ...] = ()
    refuses_formulas: bool = False
    bare: str | None = None
    """The column that tells bare rows from those of people; these are judged."""
    numbers: tuple[str, ...] = ()
    """Columns of a private file that number people and groups: bare rows have them, too."""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> JudgedPolicy:
        """Returns the policy of plain data, as `policy.judge_data` writes them."""
        columns = {str(name): JudgedColumn.of(words) for name, words in data["columns"].items()}
        return cls(
            columns,
            tuple(map(PromiseData, data["promises"])),
            data.get("person"),
            tuple(tuple(map(str, group)) for group in data.get("together") or ()),
            data.get("formulas") == "refuse",
            data.get("bare"),
            tuple(map(str, data.get("numbers") or ())),
        )

    @property
    def published(self) -> tuple[str, ...]:
        """The columns that are published, in the order of the policy."""
        return tuple(name for name, column in self.columns.items() if column.role != HIDDEN_ROLE)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The columns that are published unchanged, which bare rows do not show."""
        keys = {name for name, column in self.columns.items() if column.role in KEY_ROLES}
        return tuple(name for name in self.published if name not in (*keys, *self.numbers, self.bare))

    @property
    def judged(self) -> tuple[str, ...]:
        """The columns that promises are about, each once."""
        return tuple(dict.fromkeys(name for promise in self.promises for name in promise.columns))

    @property
    def judged_jointly(self) -> tuple[tuple[str, ...], ...]:
        """The columns that some promise looks at together, each group once."""
        groups = [tuple(column for column, _ in p.get("jointly") or ()) for p in self.promises]
        return tuple(dict.fromkeys(group for group in groups if group))

    @property
    def digits(self) -> dict[str, int]:
        """The columns of numbers that are rounded, and to how many digits behind the point."""
        return {name: column.digits for name, column in self.columns.items() if column.digits is not None}

    def spelling_of(self, column: str) -> str:
        """Returns how the values of a column are told apart when they are counted."""
        rule = self.columns.get(column)
        return rule.spelling if rule is not None and rule.role == "sensitive" else "exact"

    def about(self, column: str) -> Iterator[PromiseData]:
        """Yields the promises about a column."""
        return (promise for promise in self.promises if column in promise.columns)

    def spoken_of(self, column: str) -> Iterator[Text]:
        """Yields the values that references name: they need a place in the column's tree, if it has one."""
        for promise in self.promises:
            if column in promise.columns:
                yield from (label for label, _ in promise.get("reference") or ())

    @property
    def sets(self) -> dict[str, SetColumn]:
        """The columns of term sets, by the name that promises use."""
        sets: dict[str, SetColumn] = {}
        for name, column in self.columns.items():
            if column.role != SET_ROLE:
                continue
            if column.part_of is None:
                sets[name] = SetColumn(column.separator)
            else:
                before = sets.get(column.part_of, SetColumn())
                sets[column.part_of] = SetColumn(
                    parts=(*before.parts, name),
                    marks={**before.marks, name: column.marks or ONE},
                    by_value=before.by_value | ({name} if column.by_value else frozenset()),
                )
        return sets


@dataclass(frozen=True)
class SetColumn:
    """How term sets are written: text with a separator, lists, or several columns (`parts`).

    A part is a column of 0 and 1 that stands for one term, or has other texts for presence (`marks`); of the
    parts `by_value` every text is a term.
    """

    separator: str = ";"
    parts: tuple[str, ...] = ()
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by_value: frozenset[str] = frozenset()


ONE = ("1", "true", "1.0")
"""What a column of 0 and 1 may hold for 1."""


def _two_marks(marks: object) -> tuple[str, ...] | None:
    """Returns what stands for presence: the second of two marks."""
    return (str(marks[1]),) if isinstance(marks, list | tuple) and len(marks) == 2 else None


def _listed(names: object) -> Sequence[str]:
    return [str(name) for name in names] if isinstance(names, Sequence) and not isinstance(names, str) else []
