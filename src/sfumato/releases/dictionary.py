"""The dictionary of a published table as a document: CSV on the Web, with what Sfumato adds under `notes`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from sfumato.policy.content import ColumnRule
from sfumato.policy.policy import Policy
from sfumato.policy.published_forms import READINGS, PublishedForm, PublishedForms
from sfumato.system.errors import BadData
from sfumato.system.json_object import JsonMapping, JsonObject, document_bytes
from sfumato.system.presentation.article import (
    Article,
    Cell,
    Listing,
    Paragraph,
    Phrase,
    Section,
    ValuePairs,
    fragments,
)
from sfumato.system.presentation.pages import AllowList, article_page
from sfumato.table.microdata import BARE, Role
from sfumato.verify.file import ColumnTexts, FileTexts, dictionary_faults, file_texts

# Where the two files of a dictionary are: in the folder of a release, and beside a single file.

DOCUMENT, PAGE = "dictionary.json", "dictionary.html"
"""The names of both files in the folder of a release."""


def beside(file: Path) -> dict[str, Path]:
    """Returns where the dictionary of a single file is: `safe.csv` has `safe.dictionary.json` and `.html`."""
    return {name: file.with_name(f"{file.stem}.{name}") for name in (DOCUMENT, PAGE)}


# The fixed words of data dictionaries.


class DictionaryWording(StrEnum):
    """Every sentence of a dictionary's page that does not come from the table or the policy."""

    NAME = "Data dictionary"
    KICKER = "Data dictionary"
    TITLE = "What {file} means"
    VERDICT = "{rows} rows in {columns} columns, published under {promises} promises"
    ONE_ROW = "1 row in {columns} columns, published under {promises} promises"
    SUMMARY = "Values were made less exact before they were published. This page says how to read them."
    PROMISED = "What is promised of this table"
    PROMISE = "Promise"
    IN_WORDS = "In plain words"
    LEFT_OPEN = "What it leaves open"
    COLUMNS = "Columns"
    ENCODING = "Encoding"
    DELIMITER = "Between cells"
    COLUMN = "Column"
    TYPE = "Type"
    PUBLISHED = "Published"
    EMPTY = "Empty cells"
    VALUES = "How values are written"
    VALUES_LEAD = "Only texts that stand in the table are listed here."
    FORM = "Form"
    READING = "How to read it"
    TEXTS = "Texts of this form"
    MANY = "too many to list"
    NOTE = "This dictionary was made from the published file, and holds nothing that the file does not show."
    AND = ", "


IN_GROUPS = "Each row is taken to be about another person, and is as it was when it was first published."
BARE_ROWS = (
    f"Rows that {BARE} marks with yes are further rows of people who have a row already: what other columns"
    " than quasi-identifiers hold is not shown in them, and not missing at random."
)
MARKS_BARE_ROWS = "yes: a further row of somebody who has a row already; no: any other row"
PER_PERSON = "Each row is taken to be about another person."
SEVERAL_ROWS = (
    "Somebody may have several rows, each in another class: rows that look alike may be of the same person."
    " Promises are about classes, of which the publisher alone knows which rows they have."
)
AS_FIRST = "Rows are as they were when they were first published."
GENERALIZED = "made less exact"
UNCHANGED = "as in the source"
TERMS_REMOVED = "as in the source, some terms may be left out"


VERSION = 1
MOST_TEXTS = 100_000
"""Of a column with more different texts it is not said which forms they have."""
MOST_LISTED = 60
"""So many texts of a form are listed; where there are more, none is."""

SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
DATATYPES = {
    **dict.fromkeys((*SIGNED, *UNSIGNED), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "number"),
    **{"BOOLEAN": "boolean", "DATE": "date"},
}
"""What columns hold, by the names of the engine; of all other names it is texts."""


def dictionary(
    file: Path, policy: Policy, form: Mapping[str, str] | None = None, *, groups: bool = False
) -> JsonObject:
    """Returns the dictionary of a published file, from its bytes and from what the policy says of it.

    It holds names of published columns, texts of generalized ones as they stand in the file, the number of
    rows, and the promises in words: nothing of columns that are dropped, and nothing of the original table.
    `form` names the encoding and the delimiter of a CSV file, where these are not UTF-8 and commas. `groups`
    says that the table is one of a chain of groups.
    """
    dialect = {"encoding": "utf-8", "delimiter": ",", **(form or {})}
    written = {name: dialect[name] for name in ("encoding", "delimiter")}
    keys = [name for name, rule in policy.columns.items() if rule.role.is_key]
    texts = file_texts(file, keys, most=MOST_TEXTS, form=form)
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "url": file.name,
        **({"dialect": written} if file.suffix == ".csv" else {}),
        "tableSchema": {"columns": [_schema_of(column) for column in texts.columns]},
        "notes": [
            {
                "sfumato": VERSION,
                "rows": texts.rows,
                "rows_are": rows_are(policy, groups=groups),
                "promises": [
                    {"promise": str(p), "in_words": p.in_words(), "leaves_open": p.silent_on}
                    for p in policy.promises.stated
                ],
                "columns": list(_columns(texts, policy, groups)),
            }
        ],
    }


def rows_are(policy: Policy, *, groups: bool = False) -> str:
    """Says whom the rows of a published table are about; `groups`: of one in a chain of groups."""
    whom = PER_PERSON if policy.people.rows == 1 else SEVERAL_ROWS
    if groups:
        whom = IN_GROUPS if policy.people.rows == 1 else f"{SEVERAL_ROWS} {AS_FIRST}"
    return f"{whom} {BARE_ROWS}" if BARE in policy.columns else whom


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


def _schema_of(column: ColumnTexts) -> JsonObject:
    kind = column.kind.partition("(")[0]
    datatype = "dateTime" if kind.startswith("TIMESTAMP") else DATATYPES.get(kind, "string")
    return {"titles": column.name, "datatype": datatype, "required": not column.empty, "null": ""}


def _columns(table: FileTexts, policy: Policy, groups: bool) -> Iterator[JsonObject]:
    for column in table.columns:
        rule = policy.columns.get(column.name)
        entry: JsonObject = {
            "column": column.name,
            "published": MARKS_BARE_ROWS if groups and column.name == BARE else _published(rule),
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


# The dictionary of a published table as a page for people.

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def dictionary_page(document: JsonMapping) -> str:
    """Returns the page of a dictionary: nothing that the document does not hold."""
    (notes,) = document["notes"]
    columns = notes["columns"]
    counts = {"rows": f"{notes['rows']:,}", "columns": str(len(columns))}
    counts["promises"] = str(len(notes["promises"]))
    verdict = DictionaryWording.ONE_ROW if notes["rows"] == 1 else DictionaryWording.VERDICT
    article = Article(
        DictionaryWording.NAME,
        Phrase(DictionaryWording.TITLE, {"file": document["url"]}),
        "plain",
        Phrase(verdict, counts),
        (Phrase(DictionaryWording.SUMMARY), str(notes["rows_are"])),
        (
            Section(Phrase(DictionaryWording.COLUMNS), [*_written(document), _page_columns(document)]),
            Section(
                Phrase(DictionaryWording.VALUES),
                list(_values(columns)),
                Phrase(DictionaryWording.VALUES_LEAD),
            ),
            Section(Phrase(DictionaryWording.PROMISED), [_page_promises(notes["promises"])]),
        ),
        kicker=Phrase(DictionaryWording.KICKER),
        footer=Phrase(DictionaryWording.NOTE),
    )
    return article_page(article)


def _written(document: JsonMapping) -> list[ValuePairs]:
    """Returns how a CSV file is written."""
    dialect = document.get("dialect")
    if dialect is None:
        return []
    delimiter = str(dialect["delimiter"])
    pairs = [
        (Phrase(DictionaryWording.ENCODING), str(dialect["encoding"])),
        (Phrase(DictionaryWording.DELIMITER), DELIMITERS.get(delimiter, delimiter)),
    ]
    return [ValuePairs(pairs)]


def allow_list(document: JsonMapping) -> AllowList:
    """Returns what the page of a dictionary may hold: its fixed words, and the texts of the document."""
    (notes,) = document["notes"]
    counts = {str(len(notes["columns"])), str(len(notes["promises"])), "yes", "no"}
    counts.add(DELIMITERS.get(document.get("dialect", {}).get("delimiter", ","), ""))
    return AllowList({*fragments(list(DictionaryWording))}, {*texts_in(dict(document)), *counts})


def _listing(lines: Sequence[Sequence[Cell]], *heads: DictionaryWording) -> Listing:
    return Listing([Phrase(head) for head in heads], lines)


def _page_columns(document: JsonMapping) -> Listing:
    (notes,) = document["notes"]
    schemas = document["tableSchema"]["columns"]
    lines = [
        (
            Cell(column["column"]),
            Cell(schema["datatype"]),
            Cell(column["published"]),
            Cell("yes" if column["empty_cells"] else "no"),
        )
        for schema, column in zip(schemas, notes["columns"], strict=True)
    ]
    return _listing(
        lines,
        DictionaryWording.COLUMN,
        DictionaryWording.TYPE,
        DictionaryWording.PUBLISHED,
        DictionaryWording.EMPTY,
    )


def _values(columns: list[JsonMapping]) -> Iterator[Listing | Paragraph]:
    lines = [
        (
            Cell(column["column"]),
            Cell(Phrase("{form}, {detail}" if form["detail"] else "{form}", form)),
            Cell(form["reading"]),
            Cell(_texts(form["texts"])),
        )
        for column in columns
        for form in column.get("forms") or ()
    ]
    if lines:
        yield _listing(
            lines,
            DictionaryWording.COLUMN,
            DictionaryWording.FORM,
            DictionaryWording.READING,
            DictionaryWording.TEXTS,
        )


def _texts(texts: list[str] | None) -> Phrase:
    if texts is None:
        return Phrase(DictionaryWording.MANY)
    return Phrase(
        DictionaryWording.AND.join(f"{{t{i}}}" for i in range(len(texts))),
        {f"t{i}": t for i, t in enumerate(texts)},
    )


def _page_promises(promises: list[JsonMapping]) -> Listing:
    lines = [(Cell(p["promise"]), Cell(p["in_words"]), Cell(p["leaves_open"])) for p in promises]
    return _listing(lines, DictionaryWording.PROMISE, DictionaryWording.IN_WORDS, DictionaryWording.LEFT_OPEN)


# The files of a dictionary beside a published table, checked before anybody sees them.


def dictionary_files(
    file: Path, policy: Policy, form: Mapping[str, str] | None = None, *, groups: bool = False
) -> Mapping[str, bytes]:
    """Returns the two files of a published table's dictionary, by their names in a release.

    The judge reads the table again and holds the document against it; the page may say what the document
    says. Raises `BadData` where anything else is found: nothing is to be published then.
    """
    document = dictionary(file, policy, form, groups=groups)
    page = dictionary_page(document)
    wrong = dictionary_faults(file, document, sentences=_known(policy, groups), form=form)
    wrong += allow_list(document).faults(page)
    if wrong:
        raise BadData(
            f"the data dictionary would say what is not published: {wrong[0]}",
            where=file.name,
            remedy="Please report this; nothing was published.",
        )
    return {DOCUMENT: document_bytes(document), PAGE: page.encode()}


def _known(policy: Policy, groups: bool = False) -> frozenset[str]:
    """Returns the sentences that a dictionary may hold, whatever is in the table."""
    sentences = {rows_are(policy, groups=groups), MARKS_BARE_ROWS, GENERALIZED, UNCHANGED}
    sentences |= {TERMS_REMOVED, *READINGS.values(), *(rule.rewritten for rule in policy.columns.values())}
    sentences |= {f"{GENERALIZED}; {rule.rewritten}" for rule in policy.columns.values() if rule.rewritten}
    for promise in policy.promises:
        sentences |= {str(promise), promise.in_words(), promise.silent_on}
    return frozenset(sentences)
