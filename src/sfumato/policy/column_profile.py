"""Profiles: the header, the values and the findings by which a column is guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from sfumato.core.data_file import NO_FORM, SourceForm
from sfumato.core.microdata import Role
from sfumato.policy.column_evidence import NO_FINDING, ColumnEvidence, ColumnFinding, nearly_unique
from sfumato.policy.lexicon.header_lexicon import HeaderReading, lexicon
from sfumato.policy.taxonomies.date_form import DateForm, forms_of
from sfumato.policy.taxonomies.number_form import NumberForm, form_of

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
        finding: ColumnFinding,
        written: SourceForm = NO_FORM,
    ) -> ColumnProfile:
        pairs = zip(column.values, column.counts.tolist(), strict=True)
        told = [(value, count) for value, count in pairs if value is not None]
        values, counts = tuple(v for v, _ in told), tuple(c for _, c in told)
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
