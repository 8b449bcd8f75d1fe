"""Labels of key columns: which of them a recoding under the policy could have published."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal

from sfumato.core.errors import BadTaxonomy
from sfumato.core.range_texts import RANGE
from sfumato.core.taxonomy import ANY, Label, Taxonomy
from sfumato.core.taxonomy_rule import TaxonomyRule

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_DAY = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?(?:-([0-9]{2}))?")
_QUARTER, _WEEK = re.compile(r"([0-9]{4})-Q([1-4])"), re.compile(r"([0-9]{4})-W([0-9]{2})")
_BETWEEN = re.compile(r"\s*[,;|/]\s*|\s+or\s+")
_AROUND = "[](){}<> "
_ISO_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
JUST_BELOW = Decimal("0.001")


class KnownLabels:
    """The labels that a column's taxonomy knows: all of them, or those that these labels lead to.

    Many taxonomies know their leaves only from the data. What a label stands for is then looked for in the
    label itself (the number 40 in `40-49`, the first day in `2026-03`), and the tree of these values shows
    whether it is the label of one of its nodes. `start` is the finest level that the policy publishes.
    """

    def __init__(self, rule: TaxonomyRule | None, labels: Sequence[Label], *, start: int = 0) -> None:
        self._labels = [label for label in labels if label is not None]
        self._open = rule is None or rule.spec.get("flat") is not None
        self._tree = None if rule is None else _tree(rule, self._labels, start)
        self._written = None if rule is None else _tree(rule, (), start)

    def __contains__(self, label: Label) -> bool:
        """Whether it is known what a label stands for: a missing cell, `*`, a node, a range between two."""
        if label is None or label == ANY or self._open:
            return True
        if self._tree is None:
            return False
        if label in self._tree.labels or self._tree.is_range(label):
            return True
        ends = label.split(RANGE)  # between two values: finer than is allowed, which is another question
        return self._tree.ordered and len(ends) == 2 and all(self._tree.rank(end) is not None for end in ends)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The labels that no recoding under the policy could have published."""
        return tuple(label for label in self._labels if label not in self)

    @property
    def lists(self) -> tuple[str, ...]:
        """The labels that list raw values: finer than any node that covers all of them.

        That is so where every part is a value of a taxonomy that the policy writes down. Of values that only
        the data knows it is taken to be so where the parts are alike in form and hold digits, or where each
        of them occurs on its own or in another list.
        """
        parts = {label: some for label in self._labels if len(some := _parts(label)) > 1}
        seen = Counter([*self._labels, *(part for some in parts.values() for part in some)])
        often = {text for text, times in seen.items() if times > 1}
        return tuple(
            label for label, some in parts.items() if not self._is_node(label) and self._is_list(some, often)
        )

    def _is_node(self, label: str) -> bool:
        """Whether the policy itself has this label, for a value or for several."""
        tree = self._tree
        inner = tree is not None and label in self and tree.rank(label) is None and not self._open
        return inner or (self._written is not None and label in self._written.labels)

    def _is_list(self, parts: Sequence[str], often: set[str]) -> bool:
        if self._written is not None and all(self._written.rank(part) is not None for part in parts):
            return True
        forms = {re.sub(r"[0-9]", "0", part) for part in parts}
        return (len(forms) == 1 and "0" in forms.pop()) or often.issuperset(parts)


def _parts(label: str) -> list[str]:
    """Returns the parts of a list, or the label alone."""
    return [part for part in _BETWEEN.split(label.strip(_AROUND)) if part]


def _tree(rule: TaxonomyRule, labels: Sequence[str], start: int) -> Taxonomy | None:
    """Returns the tree of all values that the labels lead to; `None` where there is none."""
    raw = {value for label in labels for value in _values(label)}
    values = sorted(raw | {text for value in raw for text in _as_written(value, rule.spec.get("written"))})
    for some in _to_try(rule, values):
        with suppress(BadTaxonomy):
            tree = rule.build(some)
            return tree.from_level(min(start, tree.height))
    return None


def _to_try(rule: TaxonomyRule, values: list[str]) -> Iterator[list[str]]:
    """Yields all values, those that the taxonomy does not name as unknown, those that fit alone, none."""
    yield values
    try:
        rule.build(values)
    except BadTaxonomy as error:
        unknown = set(error.values)
        yield [value for value in values if value not in unknown]
    yield [value for value in values if _fits(rule, value)]
    yield []


def _as_written(value: str, form: object) -> Iterator[str]:
    """Yields an ISO day, or a plain number, in the form that a policy says its cells have."""
    if form is None:
        return
    day = _ISO_DAY.fullmatch(value)
    if day is not None and "yyyy" in str(form):
        yield str(form).replace("yyyy", day[1]).replace("mm", day[2]).replace("dd", day[3])
    elif day is None and "yyyy" not in str(form):
        yield value.replace(".", str(form)[-2])


def _fits(rule: TaxonomyRule, value: str) -> bool:
    try:
        return rule.build([value]).rank(value) is not None
    except BadTaxonomy:
        return False


def _values(label: str) -> Iterator[str]:
    """Yields raw values that a label may stand for."""
    for part in (label, *_parts(label), *label.split(RANGE)):
        yield part.replace(ANY, "0")
    for found in _NUMBER.findall(label):
        yield found
        yield str(Decimal(found) - JUST_BELOW)  # `[0, 60)` ends with the interval below 60
    for year, month, day in _DAY.findall(label):
        yield f"{year}-{month or '01'}-{day or '01'}"
        yield f"{year}-01-01"
    for year, quarter in _QUARTER.findall(label):
        yield f"{year}-{3 * int(quarter) - 2:02}-01"
    for year, week in _WEEK.findall(label):
        with suppress(ValueError):
            yield date.fromisocalendar(int(year), int(week), 1).isoformat()
