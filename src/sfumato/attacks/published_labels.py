"""Labels of key columns: which of them a recoding under the policy could have published."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation

from sfumato.draft.evidence import TableEvidence, nearly_unique
from sfumato.draft.functional_dependencies import ColumnsBesideKeys
from sfumato.models.attack_contract import PublishedTable
from sfumato.policy.policy import Policy
from sfumato.policy.taxonomies.intervals import Intervals
from sfumato.policy.taxonomies.texts import Flat
from sfumato.system.errors import BadTaxonomy
from sfumato.table.microdata import Missing, Role
from sfumato.table.published_texts import PLAIN_NUMBER, RANGE
from sfumato.table.spelling import Folding, Spelling
from sfumato.table.taxonomy import ANY, Label, Taxonomy, TaxonomyRule
from sfumato.verify.file_bytes import Surplus

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_DAY = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?(?:-([0-9]{2}))?")
_QUARTER, _WEEK = re.compile(r"([0-9]{4})-Q([1-4])"), re.compile(r"([0-9]{4})-W([0-9]{2})")
_BETWEEN = re.compile(r"\s*[,;|/]\s*|\s+or\s+")
_AROUND = "[](){}<> "
_END = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|inf(?:inity)?|∞|[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?)"
_INTERVAL = re.compile(rf"[\[\](]\s*({_END})\s*[,;:]\s*({_END})\s*[\[\])]")
_SET = re.compile(r"\{[^{}]+\}")
_ISO_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
JUST_BELOW = Decimal("0.001")


class KnownLabels:
    """The labels that a column's taxonomy knows: all of them, or those that these labels lead to.

    Many taxonomies know their leaves only from the data. What a label stands for is then looked for in the
    label itself (the number 40 in `40-49`, the first day in `2026-03`), and the tree of these values shows
    whether it is the label of one of its nodes. `start` is the finest level that the policy publishes.

    Other programs write a group as an interval (`[20, 40[`, `(20, 40]`) or as a set (`{a, b}`). Neither is a
    list of raw values, unless a taxonomy says that what a set holds must not be published.
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
        if any(text in self._tree.labels or self._tree.is_range(text) for text in (label, _as_ours(label))):
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
        parts = {
            label: items
            for label in self._labels
            if len(items := _parts(label)) > 1 and not is_interval(label) and not self._is_group(label)
        }
        times_listed = Counter([*self._labels, *(part for items in parts.values() for part in items)])
        often = {text for text, times in times_listed.items() if times > 1}
        return tuple(
            label
            for label, items in parts.items()
            if not self._is_node(label) and self._is_list(items, often)
        )

    def _is_group(self, label: str) -> bool:
        """Whether it is a set as other programs write it, of values that no taxonomy names."""
        return self._open and _SET.fullmatch(label) is not None

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


def is_interval(label: str) -> bool:
    """Whether a text is an interval between two numbers or dates, each end in brackets of either kind.

    >>> [is_interval(text) for text in ("[20, 40[", "(20, 40]", "[-inf, 0.5)", "[40, 20]", "20, 40")]
    [True, True, True, False, False]
    """
    ends = _INTERVAL.fullmatch(label)
    if ends is None:
        return False
    with suppress(InvalidOperation):
        low, high = (Decimal(end.replace("∞", "inf")) for end in ends.groups())
        return low < high
    return ends[1] < ends[2]


def _as_ours(label: str) -> str:
    """Returns an interval that another program wrote as the policy's taxonomies write it."""
    if is_interval(label) and label[0] == "[" and label[-1] in "[)":
        return f"[{', '.join(re.split(r'[,;:]', label[1:-1].replace(' ', '')))})"
    return f"{label[2:].strip()}+" if label.startswith(">=") else label


def _parts(label: str) -> list[str]:
    """Returns the parts of a list, or the label alone."""
    return [part for part in _BETWEEN.split(label.strip(_AROUND)) if part]


def _tree(rule: TaxonomyRule, labels: Sequence[str], start: int) -> Taxonomy | None:
    """Returns the tree of all values that the labels lead to; `None` where there is none."""
    raw = {value for label in labels for value in _values(label)}
    values = sorted(raw | {text for value in raw for text in _as_written(value, rule.spec.get("written"))})
    for texts in _to_try(rule, values):
        with suppress(BadTaxonomy):
            tree = rule.build(texts)
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
    for number in _NUMBER.findall(label):
        yield number
        yield str(Decimal(number) - JUST_BELOW)  # `[0, 60)` ends with the interval below 60
    for year, month, day in _DAY.findall(label):
        yield f"{year}-{month or '01'}-{day or '01'}"
        yield f"{year}-01-01"
    for year, quarter in _QUARTER.findall(label):
        yield f"{year}-{3 * int(quarter) - 2:02}-01"
    for year, week in _WEEK.findall(label):
        with suppress(ValueError):
            yield date.fromisocalendar(int(year), int(week), 1).isoformat()


# Objections: where a published table is not what its policy describes.

DOUBT, BYTES = "doubt", "bytes"
FEW = 5
"""From so many cells on, a column without a repeated value is named."""


@dataclass(frozen=True)
class Objection:
    """Something the policy does not allow, in a sentence without cell values.

    `holds` is what it does to the audit: `False` breaks it, `None` leaves it open, `True` is a remark.
    `concerns` is `DOUBT` where it leaves no promise about classes standing: what is counted may be something
    else than what is published. It is `BYTES` where it is about the file and not about its rows.
    """

    sentence: str
    columns: tuple[str, ...]
    holds: bool | None
    concerns: str = ""

    def __str__(self) -> str:
        return f"{self.sentence}: {', '.join(self.columns)}" if self.columns else self.sentence


def column_objections(names: Sequence[str], policy: Policy) -> Iterator[Objection]:
    """Columns that should not be there, and columns that should."""
    there, hidden = set(names), set(policy.dropped)
    secret = tuple(n for n in names if n in hidden)
    unknown = tuple(n for n in names if n not in policy.columns)
    absent = tuple(n for n in policy.published if n not in there)
    if secret:
        yield Objection("an identifier is published", secret, False)
    if unknown:
        yield Objection("the policy does not declare a column", unknown, False)
    if absent:
        yield Objection("the policy publishes a column that is not there", absent, None)


def label_objections(published: PublishedTable, policy: Policy) -> Iterator[Objection]:
    """Texts in key columns that no recoding under this policy could have published.

    Which people such a text covers nobody knows, so that no promise about classes is decided. A text that
    lists raw values is finer than the policy allows.
    """
    for column in published.table.keys:
        labels = column.taxonomy.leaf_labels if published.rows else ()
        if None in labels and policy.missing is not Missing.OWN_VALUE:
            sentence = f"empty cells are published, and the policy says missing: {policy.missing}"
            yield Objection(sentence, (column.name,), None)
        rule = policy.columns[column.name]
        readings = KnownLabels(rule.taxonomy, labels, start=rule.finest)
        if listing := set(readings.lists):
            sentence = f"{len(listing)} of {len(labels)} texts list raw values"
            yield Objection(
                sentence, (column.name,), False if listing & set(readings.unknown) else None, DOUBT
            )
        if foreign := set(readings.unknown) - listing:
            sentence = f"{len(foreign)} of {len(labels)} texts are no value of the policy's taxonomy"
            yield Objection(sentence, (column.name,), None, DOUBT)


def surplus_objections(surplus: Sequence[Surplus]) -> Iterator[Objection]:
    """What the bytes of a file tell beyond its rows."""
    for excess in surplus:
        yield Objection(excess.sentence, excess.columns, False if excess.certain else None, BYTES)


def unique_columns(survey: TableEvidence, policy: Policy) -> Iterator[Objection]:
    """Columns that are published as harmless, and tell nearly everybody apart."""
    for name, column in survey.columns.items():
        present = survey.rows - column.missing
        unique = nearly_unique(column, survey.rows) or (present >= FEW and column.distinct == present)
        if policy.columns[name].role is Role.INSENSITIVE and unique:
            sentence = (
                "a column that is published as insensitive tells nearly everybody apart"
                f" ({column.distinct:,} values in {present:,} cells)"
            )
            yield Objection(sentence, (name,), True)


def foldings(published: PublishedTable, policy: Policy) -> Iterator[Objection]:
    """What was counted as one value, or as none, though it stands in the table as different texts."""
    for column in published.table.sensitive:
        folded = policy.columns[column.name].spelling is Spelling.FOLDED
        folding = Folding.of(column.taxonomy.leaf_labels if published.rows else ())
        if folded and folding:
            yield Objection(f"{folding}; promises count them so", (column.name,), True)


def published_labels_of(policy: Policy, name: str, values: Sequence[Label] = ()) -> Taxonomy | None:
    """The taxonomy of a column if the policy names its values, whatever the data."""
    rule = policy.columns[name].taxonomy
    if rule is None:
        return None
    try:
        tree = rule.build(values)
    except BadTaxonomy:
        return None
    return tree if len(tree.labels) > 1 and not tree.aliases else None


# Keys that other columns give away: rows show coarsely what an unchanged cell tells, as other rows show.


def dependency_leak(
    policy: Policy, columns: ColumnsBesideKeys, rows: Mapping[str, Sequence[Label]]
) -> Iterator[Objection]:
    """Yields the columns that are published unchanged and tell a key where it is published coarsely.

    `rows` are the texts of some published rows, column by column. Where a row shows a raw value of a key, it
    shows what an unchanged cell goes with; if such cells tell that value nearly always, they tell it in
    coarser rows, too. Keys whose raw values cannot be told from groups by their texts are not looked at.
    """
    fine = {name: _fine(policy, name, rows[name]) for name in columns.keys}
    unchanged = {name: rows[name] for name in columns.unchanged}
    for telling in columns.telling({**unchanged, **fine}):
        cells, key = rows[telling.column], fine[telling.key]
        exact = {cell for cell, value in zip(cells, key, strict=True) if value is not None}
        people = sum(
            value is None and label is not None and cell in exact
            for cell, value, label in zip(cells, key, rows[telling.key], strict=True)
        )
        if people:
            rows_told = f"{people:,} rows that show it coarsely"
            sentence = f"a column that is published as insensitive tells a key in {rows_told}"
            yield Objection(sentence, (telling.column, telling.key), True)


def _fine(policy: Policy, name: str, labels: Sequence[Label]) -> list[Label]:
    """Returns the raw values among the labels of a key; `None` in place of groups, and of what is unclear."""
    rule = policy.columns[name].taxonomy
    different = set(labels)
    if rule is None or isinstance(rule, Flat):
        raw = {label for label in different if label != ANY}
    elif isinstance(rule, Intervals):
        raw = {label for label in different if label is not None and PLAIN_NUMBER.fullmatch(label)}
    else:
        tree = published_labels_of(policy, name)
        raw = set() if tree is None else {label for label in different if tree.rank(label) is not None}
    return [label if label in raw else None for label in labels]
