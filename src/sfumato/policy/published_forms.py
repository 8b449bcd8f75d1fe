"""Forms of published values: what a text in a published column stands for, by the policy's taxonomy alone.

A form follows from the text and from the words of the policy. No row is looked at, so whoever holds the
published table learns nothing from it that the table does not show.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import chain

from sfumato.policy.taxonomies.levels import sequence
from sfumato.policy.taxonomies.ready.catalogue import ReadyTaxonomy
from sfumato.system.errors import BadTaxonomy
from sfumato.table.published_texts import PLAIN_NUMBER, RANGE, numeric_ends
from sfumato.table.taxonomy import ANY, Label, Taxonomy, TaxonomyRule


class ValueForm(StrEnum):
    """How a published value is to be read."""

    VALUE = "value"
    INTERVAL = "interval"
    WHOLE_NUMBERS = "whole numbers"
    FROM_ON = "from on"
    BELOW = "below"
    LEADING = "leading characters"
    MASKED = "masked characters"
    CALENDAR = "calendar unit"
    GROUP = "group"
    RANGE = "range"
    ANY = "any value"
    EMPTY = "empty"

    @property
    def reading(self) -> str:
        """One sentence for whoever reads the table."""
        return READINGS[self]


READINGS: Mapping[ValueForm, str] = {
    ValueForm.VALUE: "The value as it is in the source.",
    ValueForm.INTERVAL: "A number from the first end on, and less than the second: [2, 3) holds 2, not 3.",
    ValueForm.WHOLE_NUMBERS: "A whole number from the first to the second, both included.",
    ValueForm.FROM_ON: "This number, or a larger one.",
    ValueForm.BELOW: "A smaller number than this.",
    ValueForm.LEADING: "A value that begins so; each * hides one character.",
    ValueForm.MASKED: "A value with these characters; each * hides one.",
    ValueForm.CALENDAR: "A date in this part of the calendar.",
    ValueForm.GROUP: "One of the values that the publisher's hierarchy puts in this group.",
    ValueForm.RANGE: "A value from the first to the second, both included, in the order of the column.",
    ValueForm.ANY: "Any value: nothing is told.",
    ValueForm.EMPTY: "No value: the cell of the source is empty.",
}

_CALENDAR = (
    ("week", re.compile(r"[0-9]{4}-W[0-9]{2}")),
    ("quarter", re.compile(r"[0-9]{4}-Q[1-4]")),
    ("decade", re.compile(r"[0-9]{4}-[0-9]{4}")),
    ("month", re.compile(r"[0-9]{4}-[0-9]{2}")),
    ("year", re.compile(r"[0-9]{4}")),
)


@dataclass(frozen=True)
class PublishedForm:
    """A form, and how much of the value it keeps: 3 leading characters, a month, level 1 of a hierarchy."""

    form: ValueForm
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.form.value}, {self.detail}" if self.detail else self.form.value


class PublishedForms:
    """The forms of one key column, by its taxonomy in the policy.

    >>> str(PublishedForms(None).of("*")), str(PublishedForms(None).of("red"))
    ('any value', 'value')
    """

    def __init__(self, rule: TaxonomyRule | None) -> None:
        self._rule = rule
        self._spec = {} if rule is None else rule.spec

    def of(self, text: Label) -> PublishedForm:
        """Returns what a text stands for."""
        if text is None:
            return PublishedForm(ValueForm.EMPTY)
        if text and not text.strip(ANY):
            return PublishedForm(ValueForm.ANY)
        return self._read(text)

    def _read(self, text: str) -> PublishedForm:
        if "intervals" in self._spec:
            return _number(text)
        if "prefix" in self._spec or "mask" in self._spec:
            return _masked(text, leading="prefix" in self._spec)
        if "date" in self._spec:
            return _date(text)
        return self._in_tree(text)

    def _in_tree(self, text: str) -> PublishedForm:
        ordered = self._rule is not None and self._rule.ordered
        level = self._levels.get(text)
        if level is None:
            return PublishedForm(ValueForm.RANGE if ordered and RANGE in text else ValueForm.VALUE)
        if level == 0 or self._tree is None:
            return PublishedForm(ValueForm.VALUE)
        return PublishedForm(ValueForm.GROUP, f"level {level} of {self._tree.height}")

    @cached_property
    def _tree(self) -> Taxonomy | None:
        return None if self._rule is None else _written_tree(self._rule)

    @cached_property
    def _levels(self) -> dict[Label, int]:
        """The lowest level at which a label of the written hierarchy stands."""
        if self._tree is None:
            return {}
        lowest: dict[Label, int] = {}
        for level, nodes in enumerate(self._tree.levels.tolist()):
            for node in nodes:
                lowest.setdefault(self._tree.labels[node], level)
        return lowest


def _number(text: str) -> PublishedForm:
    if PLAIN_NUMBER.fullmatch(text):
        return PublishedForm(ValueForm.VALUE)
    if text.endswith("+"):
        return PublishedForm(ValueForm.FROM_ON)
    if text.startswith("<"):
        return PublishedForm(ValueForm.BELOW)
    ends = numeric_ends(text)
    if ends is None:
        return PublishedForm(ValueForm.RANGE if RANGE in text else ValueForm.VALUE)
    return PublishedForm(ValueForm.WHOLE_NUMBERS if ends[2] else ValueForm.INTERVAL)


def _masked(text: str, *, leading: bool) -> PublishedForm:
    hidden = text.count(ANY)
    if not hidden:
        return PublishedForm(ValueForm.VALUE)
    visible = len(text) - hidden
    form = ValueForm.LEADING if leading else ValueForm.MASKED
    return PublishedForm(form, f"{visible} of {len(text)} characters")


def _date(text: str) -> PublishedForm:
    if RANGE in text:
        return PublishedForm(ValueForm.RANGE)
    unit = next((name for name, form in _CALENDAR if form.fullmatch(text)), None)
    return PublishedForm(ValueForm.VALUE) if unit is None else PublishedForm(ValueForm.CALENDAR, unit)


def _written_tree(rule: TaxonomyRule) -> Taxonomy | None:
    """Returns the tree that the policy writes down; `None` where its leaves come from the data."""
    if isinstance(rule, ReadyTaxonomy):
        return rule.listed()
    try:
        return rule.build(())
    except BadTaxonomy:
        return None


def example_of(rule: TaxonomyRule | None, value: str = "") -> tuple[str, ...]:
    """Returns a made-up value, or the first of a written hierarchy, and what each level makes of it.

    No value of a table is used; nothing where the policy gives no taxonomy. A `value` that is given is tried
    first.

    >>> from sfumato.policy.taxonomies.texts import Prefix
    >>> example_of(Prefix((3, 1)))
    ('12345', '123**', '1****', '*')
    """
    if rule is None:
        return ()
    for leaf in chain([value] if value else (), _written_value(rule), _made_up(rule.spec)):
        try:
            tree = rule.build((leaf,))
        except BadTaxonomy:
            continue
        rank = tree.rank(leaf)
        if rank is not None:
            path = [str(tree.labels[node]) for node in tree.levels[:, rank].tolist()]
            return (leaf, *(label for label in dict.fromkeys(path) if label != leaf))
    return ()


def _written_value(rule: TaxonomyRule) -> tuple[str, ...]:
    """Returns the first leaf of a hierarchy that is written down."""
    if {"intervals", "date", "prefix", "mask", "flat"} & set(rule.spec):
        return ()
    tree = _written_tree(rule)
    leaves = () if tree is None else tuple(label for label in tree.leaf_labels if label is not None)
    return leaves[:1]


def _made_up(spec: Mapping[str, object]) -> tuple[str, ...]:
    """Returns values that nobody has to have, one of which the taxonomy probably takes."""
    if "intervals" in spec:
        low = _whole(spec.get("from", spec.get("bottom")), 0)
        width = _whole(next(iter(sequence(spec["intervals"])), 1), 1)
        return tuple(str(low + step) for step in (width * 8 + width // 2, width + width // 2, 1, 0))
    if "date" in spec:
        form = str(spec.get("written", "yyyy-mm-dd"))
        return (form.replace("yyyy", "1984").replace("mm", "05").replace("dd", "17"), "1984-05-17")
    return ("12345",) if "prefix" in spec or "mask" in spec else ()


def _whole(word: object, otherwise: int) -> int:
    return int(str(word)) if re.fullmatch(r"-?[0-9]+", str(word)) else otherwise
