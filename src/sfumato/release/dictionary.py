"""The dictionary of a published table as a document: CSV on the Web, with what Sfumato adds under `notes`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from sfumato.core.json_object import JsonMapping, JsonObject
from sfumato.core.microdata import Role
from sfumato.judge.column_texts import ColumnTexts, FileTexts, file_texts
from sfumato.policy.policy import ColumnRule, Policy
from sfumato.policy.published_forms import PublishedForm, PublishedForms
from sfumato.releases.dictionary.words import (
    GENERALIZED,
    PER_PERSON,
    SEVERAL_ROWS,
    TERMS_REMOVED,
    UNCHANGED,
)

VERSION = 1
MOST_TEXTS = 100_000
"""Of a column with more different texts it is not said which forms they have."""
MOST_LISTED = 60
"""So many texts of a form are listed; where there are more, none is."""

DATATYPES = {
    "VARCHAR": "string",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "FLOAT": "number",
    "DOUBLE": "number",
}
WHOLE = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
)


def dictionary(file: Path, policy: Policy, form: Mapping[str, str] | None = None) -> JsonObject:
    """Returns the dictionary of a published file, from its bytes and from what the policy says of it.

    It holds names of published columns, texts of generalized ones as they stand in the file, the number of
    rows, and the promises in words: nothing of columns that are dropped, and nothing of the original table.
    `form` names the encoding and the delimiter of a CSV file, where these are not UTF-8 and commas.
    """
    said = {"encoding": "utf-8", "delimiter": ",", **(form or {})}
    written = {name: said[name] for name in ("encoding", "delimiter")}
    keys = [name for name, rule in policy.columns.items() if rule.role.is_key]
    shown = file_texts(file, keys, most=MOST_TEXTS, form=form)
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "url": file.name,
        **({"dialect": written} if file.suffix == ".csv" else {}),
        "tableSchema": {"columns": [_schema_of(column) for column in shown.columns]},
        "notes": [
            {
                "sfumato": VERSION,
                "rows": shown.rows,
                "rows_are": PER_PERSON if policy.person is None else SEVERAL_ROWS,
                "promises": [_promise(p) for p in _promises(policy)],
                "columns": list(_columns(shown, policy)),
            }
        ],
    }


def as_bytes(document: JsonMapping) -> bytes:
    """Returns the bytes of the dictionary's file."""
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def texts_in(value: object) -> Iterator[str]:
    """Yields every text of a document, numbers as they are written; names of fields are none."""
    if isinstance(value, dict):
        for part in value.values():
            yield from texts_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts_in(part)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int) and not isinstance(value, bool):
        yield f"{value:,}"


def _promises(policy: Policy) -> list[tuple[str, str, str]]:
    stated = [promise for promise in policy.promises if not promise.derived]
    return [(str(promise), promise.in_words(), promise.silent_on) for promise in stated]


def _promise(said: tuple[str, str, str]) -> JsonObject:
    return dict(zip(("promise", "in_words", "leaves_open"), said, strict=True))


def _schema_of(column: ColumnTexts) -> JsonObject:
    kind = column.kind.partition("(")[0]
    datatype = DATATYPES.get(kind) or (
        "integer" if kind in WHOLE else "dateTime" if kind.startswith("TIMESTAMP") else "string"
    )
    return {"titles": column.name, "datatype": datatype, "required": not column.empty, "null": ""}


def _columns(shown: FileTexts, policy: Policy) -> Iterator[JsonObject]:
    for column in shown.columns:
        rule = policy.columns.get(column.name)
        entry: JsonObject = {
            "column": column.name,
            "published": _published(rule),
            "empty_cells": bool(column.empty),
        }
        if rule is not None and rule.role.is_key:
            entry["forms"] = None if column.texts is None else _forms(column, rule)
        yield entry


def _published(rule: ColumnRule | None) -> str:
    if rule is None:
        return UNCHANGED
    if rule.role.is_key:
        return f"{GENERALIZED}; {rule.rewritten}" if rule.rewritten else GENERALIZED
    return TERMS_REMOVED if rule.role is Role.QUASI_SENSITIVE else rule.rewritten or UNCHANGED


def _forms(column: ColumnTexts, rule: ColumnRule) -> list[JsonObject]:
    """Returns the forms that occur, each with its texts in order; the most frequent form first."""
    forms, rows = PublishedForms(rule.taxonomy), dict[PublishedForm, int]()
    texts: dict[PublishedForm, list[str]] = {}
    for text, count in column.texts or ():
        form = forms.of(text)
        rows[form] = rows.get(form, 0) + count
        texts.setdefault(form, []).append(text)
    ranked = sorted(rows, key=lambda form: (-rows[form], str(form)))
    return [
        {
            "form": form.form.value,
            "detail": form.detail,
            "reading": form.form.reading,
            "texts": sorted(texts[form]) if len(texts[form]) <= MOST_LISTED else None,
        }
        for form in ranked
    ]
