"""The dictionary of a published table as a page for people."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.core.json_object import JsonMapping
from sfumato.releases.dictionary.document import texts_in
from sfumato.releases.dictionary.words import DictionaryWording as W
from sfumato.show.allow_list import AllowList
from sfumato.show.article import Article, Cell, Facts, Listing, Paragraph, Phrase, Section, fragments
from sfumato.show.article_page import article_page

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def dictionary_page(document: JsonMapping) -> str:
    """Returns the page of a dictionary: nothing that the document does not hold."""
    (notes,) = document["notes"]
    columns = notes["columns"]
    counts = {"rows": f"{notes['rows']:,}", "columns": str(len(columns))}
    counts["promises"] = str(len(notes["promises"]))
    verdict = W.ONE_ROW if notes["rows"] == 1 else W.VERDICT
    article = Article(
        W.NAME,
        Phrase(W.TITLE, {"file": document["url"]}),
        "plain",
        Phrase(verdict, counts),
        (Phrase(W.SUMMARY), str(notes["rows_are"])),
        (
            Section(Phrase(W.COLUMNS), [*_written(document), _columns(document)]),
            Section(Phrase(W.VALUES), list(_values(columns)), Phrase(W.VALUES_LEAD)),
            Section(Phrase(W.PROMISED), [_promises(notes["promises"])]),
        ),
        kicker=Phrase(W.KICKER),
        footer=Phrase(W.NOTE),
    )
    return article_page(article)


def _written(document: JsonMapping) -> list[Facts]:
    """Returns how a CSV file is written."""
    dialect = document.get("dialect")
    if dialect is None:
        return []
    pairs = [(Phrase(W.ENCODING), str(dialect["encoding"]))]
    pairs.append((Phrase(W.DELIMITER), DELIMITERS.get(dialect["delimiter"], str(dialect["delimiter"]))))
    return [Facts(pairs)]


def allow_list(document: JsonMapping) -> AllowList:
    """Returns what the page of a dictionary may hold: its fixed words, and the texts of the document."""
    (notes,) = document["notes"]
    counts = {str(len(notes["columns"])), str(len(notes["promises"])), "yes", "no"}
    counts.add(DELIMITERS.get(document.get("dialect", {}).get("delimiter", ","), ""))
    return AllowList({*fragments(list(W))}, {*texts_in(dict(document)), *counts})


def _columns(document: JsonMapping) -> Listing:
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
    return Listing([Phrase(head) for head in (W.COLUMN, W.TYPE, W.PUBLISHED, W.EMPTY)], lines)


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
        yield Listing([Phrase(head) for head in (W.COLUMN, W.FORM, W.READING, W.TEXTS)], lines)


def _texts(texts: list[str] | None) -> Phrase:
    if texts is None:
        return Phrase(W.MANY)
    return Phrase(
        W.AND.join(f"{{t{i}}}" for i in range(len(texts))), {f"t{i}": t for i, t in enumerate(texts)}
    )


def _promises(promises: list[JsonMapping]) -> Listing:
    lines = [(Cell(p["promise"]), Cell(p["in_words"]), Cell(p["leaves_open"])) for p in promises]
    return Listing([Phrase(head) for head in (W.PROMISE, W.IN_WORDS, W.LEFT_OPEN)], lines)
