"""Texts that stand for an empty cell among numbers or dates, as programs write them: `NA`, `NULL`."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.policy.column_evidence import TableEvidence, texts
from sfumato.policy.taxonomies.date_form import forms_of
from sfumato.policy.taxonomies.number_form import form_of

STAND_FOR_NOTHING = ("NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", ".")
"""What R, pandas, spreadsheets, databases and SAS write where there is nothing."""
LEAST_VALUES = 3
"""Fewer other values prove nothing."""


def empty_texts(table: TableEvidence) -> tuple[str, ...]:
    """Returns the texts without which some column of texts holds numbers or dates alone, in a fixed order."""
    found: set[str] = set()
    for column in table.columns.values():
        if column.is_text and column.complete:
            held = texts(column)
            told = [text for text in held if text in STAND_FOR_NOTHING]
            if told and _are_numbers_or_dates([text for text in held if text not in STAND_FOR_NOTHING]):
                found.update(told)
    return tuple(text for text in STAND_FOR_NOTHING if text in found)


def _are_numbers_or_dates(held: Sequence[str]) -> bool:
    return len(held) >= LEAST_VALUES and bool(form_of(held) or forms_of(held))
