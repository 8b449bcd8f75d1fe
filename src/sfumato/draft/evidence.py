"""Evidence about columns: the part of an engine's survey that declaring needs, and what else was found."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.policy.columns import word_set
from sfumato.policy.header_lexicon import HeaderReading, lexicon
from sfumato.policy.taxonomies.dates import DateForm, forms_of
from sfumato.policy.taxonomies.intervals import NumberForm, form_of
from sfumato.table.data_file import NO_FORM, SourceForm
from sfumato.table.microdata import Role
from sfumato.table.taxonomy import Label


class ColumnEvidence(Protocol):
    """The values of one column; `values` is empty where `complete` is False."""

    @property
    def kind(self) -> str: ...
    @property
    def is_text(self) -> bool:
        """Whether its cells are texts, whatever these look like."""
        ...

    @property
    def distinct(self) -> int: ...
    @property
    def missing(self) -> int: ...
    @property
    def values(self) -> tuple[Label, ...]: ...
    @property
    def counts(self) -> NDArray[np.int64]: ...
    @property
    def complete(self) -> bool: ...
    @property
    def repeats(self) -> bool:
        """Whether a value was seen twice, as far as values were told apart."""
        ...


class TableEvidence(Protocol):
    """The values of every column of a table."""

    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> Mapping[str, ColumnEvidence]: ...


@dataclass(frozen=True)
class ColumnFinding:
    """What a closer look at the data found out about a column: reasons, for the draft to decide by.

    `identifies` says why the column names people by itself (empty: it does not), `remark` what else was
    found.
    """

    identifies: str = ""
    remark: str = ""


NO_FINDING = ColumnFinding()

NATIONAL = word_set("""
    ssn nhs dni nie nif bsn cf codice fiscale nir insee secu idnr steuer tin pesel personnummer national
""")
"""Words of headers above numbers that a state gives its people: these are never a key to keep."""

NEARLY_UNIQUE_SHARE = 0.9
"""A column in which this share of the values differ tells nearly everybody apart."""
LONG_TEXT = 40
"""Characters that cells of free text have on average, at least."""
SEVERAL_WORDS = 4
MANY_WORDS = 6
"""Words of long texts, and of any texts, that nobody would number people with."""
FEWEST_CELLS = 50
"""A share of fewer cells than this says nothing."""


def texts(column: ColumnEvidence) -> list[str]:
    """Returns the values that occur, without empty cells."""
    return [value for value in column.values if value is not None]


def nearly_unique(column: ColumnEvidence, rows: int) -> bool:
    """Whether the column tells nearly everybody apart."""
    present = rows - column.missing
    return present >= FEWEST_CELLS and column.distinct >= NEARLY_UNIQUE_SHARE * present


def is_free_text(values: Sequence[str]) -> bool:
    """Whether cells are sentences: many words on average, or several in long texts. Hash values are one word.

    >>> is_free_text(["Came late and was seen at once."] * 2), is_free_text(["Ada Lovelace", "f" * 64])
    (True, False)
    """
    cells = max(1, len(values))
    words = sum(len(value.split()) for value in values) / cells
    long = sum(map(len, values)) / cells > LONG_TEXT
    return words >= MANY_WORDS or (long and words >= SEVERAL_WORDS)


def folded(text: str) -> str:
    """Returns the same text for texts that look alike: composed, without case and idle blanks.

    >>> folded(" Zu\u0308rich") == folded("ZÜRICH")
    True
    """
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def look_alikes(values: Sequence[str]) -> list[list[str]]:
    """Returns the groups of different texts that look alike."""
    groups: dict[str, list[str]] = {}
    for value in values:
        groups.setdefault(folded(value), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


# Profiles: the header, the values and the findings by which a column is guessed.

FEW_VALUES = 12
"""So few values need no hierarchy."""
MOST_ANSWERS = 5
"""Yes, no, and some ways to give no answer."""
SCREENED = 200
"""So many values tell whether all are worth reading."""
QUANTITIES = ("age", "birth", "household", "looks", "measure_word", "measurement", "money", "outcome")
"""Kinds of headers above numbers, with how many zeros these may be written."""
_FLAGS = """
    true false yes no y n t f ja nein oui non sí si vero falso wahr falsch vrai faux
    checked unchecked selected not_selected mentioned not_mentioned present absent
"""
FLAGS = frozenset(word.replace("_", " ") for word in _FLAGS.split())
"""Words that are answers and nothing else."""
_NO_ANSWERS = """
    unknown missing refused unsure not_sure not_stated not_known no_answer don't_know dont_know do_not_know
    dk na n/a unbekannt keine_angabe weiß_nicht weiss_nicht inconnu ne_sait_pas sans_réponse desconocido
    no_sabe ns/nc sconosciuto non_so non_risponde
"""
NO_ANSWERS = frozenset(word.replace("_", " ") for word in _NO_ANSWERS.split())
"""Words of those who gave no answer."""
_CODE_BEFORE = re.compile(r"\(?[0-9]{1,2}\)?[ _.:=)-]+(?=[^\W\d])")
"""The number of an answer that stands before it: `0_no`, `(1) yes`, `2 = don't know`."""


@dataclass(frozen=True)
class ColumnProfile:
    """What is known of a column; `counts` stand beside `values`, which leave empty cells out."""

    header: str
    column: ColumnEvidence
    values: tuple[str, ...]
    counts: tuple[int, ...]
    rows: int
    finding: ColumnFinding = NO_FINDING
    written: SourceForm = NO_FORM
    """How the texts of the source write numbers and dates, where somebody said so."""

    @classmethod
    def of(
        cls,
        header: str,
        column: ColumnEvidence,
        rows: int,
        finding: ColumnFinding = NO_FINDING,
        written: SourceForm = NO_FORM,
    ) -> ColumnProfile:
        pairs = zip(column.values, column.counts.tolist(), strict=True)
        listed = [(value, count) for value, count in pairs if value is not None]
        values, counts = tuple(v for v, _ in listed), tuple(c for _, c in listed)
        return cls(header, column, values, counts, rows, finding, written)

    @property
    def distinct(self) -> int:
        return self.column.distinct

    @property
    def present(self) -> int:
        """The cells that hold something."""
        return self.rows - self.column.missing

    @cached_property
    def unique(self) -> bool:
        """Whether the column tells nearly everybody apart."""
        return nearly_unique(self.column, self.rows)

    @cached_property
    def reading(self) -> HeaderReading:
        return lexicon().read(self.header)

    @property
    def says(self) -> str:
        """What the header says, as the start of a reason."""
        return f"by its header, {self.reading.says}"

    @property
    def role_by_header(self) -> Role | None:
        return self.reading.role

    def called(self, *kinds: str) -> bool:
        """Whether the header names one of these kinds."""
        return not self.reading.kinds.isdisjoint(kinds)

    @cached_property
    def dates(self) -> list[DateForm]:
        """The forms in which all values are dates; the one that was said, if it is among them."""
        forms = forms_of(self.values) if forms_of(self.values[:SCREENED]) else []
        return [form for form in forms if form.written == self.written.date_format] or forms

    @cached_property
    def number_form(self) -> NumberForm | None:
        """The form in which all values are numbers; none for dates without marks (20240229), and for 007."""
        if any(form.written == "yyyymmdd" for form in self.dates) or not self.values:
            return None
        if not _may_be_numbers(self.values[:SCREENED]):
            return None
        if are_padded_codes(self.values) and not self.called(*QUANTITIES):
            return None
        return form_of(self.values, decimal=self.written.decimal)

    @cached_property
    def numbers(self) -> tuple[Decimal, ...] | None:
        """The values as numbers, beside their counts; `None` where one of them is no number."""
        form = self.number_form
        if form is None:
            return None
        read = tuple(size for value in self.values if (size := form.read(value)) is not None)
        return read if len(read) == len(self.values) else None

    @cached_property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.numbers is not None and all(size == int(size) for size in self.numbers)

    @property
    def flags(self) -> bool:
        """Whether the values are answers to a question of yes or no; some may have given none."""
        if not 0 < self.distinct <= MOST_ANSWERS:
            return False
        answers = {_CODE_BEFORE.sub("", value.strip(), count=1).strip().lower() for value in self.values}
        return 0 < len(answers - NO_ANSWERS) <= 2 and answers - NO_ANSWERS <= FLAGS

    def spoken(self) -> str:
        """How many different values there are, in words."""
        return f"{self.distinct} different value{'' if self.distinct == 1 else 's'} in {self.present} cells"


def _may_be_numbers(values: tuple[str, ...]) -> bool:
    return all(any(c.isdigit() for c in value) and not any(c in "/:" for c in value) for value in values)


def are_padded_codes(values: Sequence[str]) -> bool:
    """Whether values are digits, all as long, with zeros in front that numbers do not need.

    Months and hours are written so, too: two digits are codes only where they are few, with gaps between.

    >>> are_padded_codes(["001", "002"]), are_padded_codes(["01", "07", "79"]), are_padded_codes(["01", "02"])
    (True, True, False)
    """
    length = len(values[0]) if values else 0
    if length < 2 or not any(value.startswith("0") for value in values):
        return False
    if not all(len(value) == length and value.isascii() and value.isdigit() for value in values):
        return False
    span = max(map(int, values)) - min(map(int, values)) + 1
    return length > 2 or len(set(values)) < min(span, FEW_VALUES + 1)


# Texts that stand for an empty cell among numbers or dates, as programs write them: `NA`, `NULL`.

STAND_FOR_NOTHING = ("NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", ".")
"""What R, pandas, spreadsheets, databases and SAS write where there is nothing."""
LEAST_VALUES = 3
"""Fewer other values prove nothing."""


def empty_texts(table: TableEvidence) -> tuple[str, ...]:
    """Returns the texts without which some column of texts holds numbers or dates alone, in a fixed order."""
    empty: set[str] = set()
    for column in table.columns.values():
        if column.is_text and column.complete:
            cells = texts(column)
            stand_ins = [text for text in cells if text in STAND_FOR_NOTHING]
            if stand_ins and _are_numbers_or_dates([text for text in cells if text not in STAND_FOR_NOTHING]):
                empty.update(stand_ins)
    return tuple(text for text in STAND_FOR_NOTHING if text in empty)


def _are_numbers_or_dates(cells: Sequence[str]) -> bool:
    return len(cells) >= LEAST_VALUES and bool(form_of(cells) or forms_of(cells))
