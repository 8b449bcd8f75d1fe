"""The judge of data dictionaries: whatever one says of a table must stand in the table's bytes.

It gets the dictionary as plain data, and reads the file by itself. It knows the shape of the document and
nothing of how it was made.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.judge.tables.database import strictly
from sfumato.judge.tables.file_form import FileForm
from sfumato.judge.tables.relation import Relation, different_cells, header, rows_and_empty_cells, text_of
from sfumato.judge.taxonomies.value_tree import Text

if TYPE_CHECKING:
    import duckdb

_FORMS = frozenset(
    ("value", "interval", "whole numbers", "from on", "below", "leading characters", "masked characters")
) | {"calendar unit", "group", "range", "any value", "empty"}
_DETAIL = re.compile(r"|week|month|quarter|year|decade|\d+ of \d+ characters|level \d+ of \d+")
_TYPES = frozenset(["string", "integer", "number", "boolean", "date", "dateTime"])


def dictionary_faults(
    path: Path,
    document: Mapping[str, Any],
    *,
    known: Collection[str],
    form: Mapping[str, str] | None = None,
) -> list[str]:
    """Returns what a dictionary says that its table does not show; nothing if it may stand beside it.

    `known` are the sentences that do not depend on the table, `form` how a CSV file is written, where not in
    UTF-8 with commas. A fault names a place, never a text.
    """
    told = FileForm.of(form)
    names = header(path, form=told)
    faults = list(_words(document, known, {path.name, *names, "http://www.w3.org/ns/csvw", ""}))
    written = {"encoding": told.encoding, "delimiter": told.separator}
    if document.get("dialect") != (written if path.suffix == ".csv" else None):
        faults.append("another way of writing than that of the table")
    (notes,) = document["notes"]
    columns = notes["columns"]
    schemas = document["tableSchema"]["columns"]
    if [c["column"] for c in columns] != list(names) or [s["titles"] for s in schemas] != list(names):
        return [*faults, "its columns are not those of the table"]

    def ask(db: duckdb.DuckDBPyConnection) -> list[str]:
        table = Relation.of_file(db, path, names, told)
        rows, empty = rows_and_empty_cells(db, table, [column["column"] for column in columns])
        wrong = [] if rows == notes["rows"] else ["its rows"]
        listed = [column["column"] for column in columns if _listed(column)]
        cells = different_cells(db, table, listed)
        for place, (column, gaps) in enumerate(zip(columns, empty, strict=True), 1):
            name, kind = column["column"], table.kind(column["column"])
            shown = {text_of(value, kind) for value, _ in cells.get(name, ())}
            shown |= {None} if gaps else set()
            wrong += [f"column {place}: {what}" for what in _column_faults(column, gaps, shown)]
        return wrong

    return faults + strictly(path.name, ask)


def _listed(column: Mapping[str, Any]) -> set[str]:
    """Returns the texts that a dictionary lists of a column."""
    return {text for form in column.get("forms") or () for text in form["texts"] or ()}


def _column_faults(column: Mapping[str, Any], empty: int, shown: Collection[Text]) -> Iterator[str]:
    if bool(empty) != column["empty_cells"]:
        yield "empty cells"
    if not _listed(column) <= set(shown):
        yield "a text that the table does not show"


def _words(document: Mapping[str, Any], known: Collection[str], own: Collection[str]) -> Iterator[str]:
    """Yields a fault for every text at a place where only sentences of the publisher may stand."""
    (notes,) = document["notes"]
    sentences = [notes["rows_are"], *(text for promise in notes["promises"] for text in promise.values())]
    sentences += [column["published"] for column in notes["columns"]]
    forms = [form for column in notes["columns"] for form in column.get("forms") or ()]
    sentences += [form["reading"] for form in forms]
    if not set(sentences) <= {*known, ""}:
        yield "a sentence that is not one of the policy"
    if not all(form["form"] in _FORMS and _DETAIL.fullmatch(form["detail"]) for form in forms):
        yield "a form that no published value has"
    schemas = document["tableSchema"]["columns"]
    if not {document["@context"], document["url"], *(schema["null"] for schema in schemas)} <= set(own):
        yield "a name that is not that of the table"
    if not all(schema["datatype"] in _TYPES for schema in schemas):
        yield "a type that no column has"
    shape = {"@context", "url", "tableSchema", "notes"}
    inside = {"sfumato", "rows", "rows_are", "promises", "columns"}
    if set(document) - {"dialect"} != shape or set(notes) != inside:
        yield "a field that no dictionary has"
