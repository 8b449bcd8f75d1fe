"""The form in which a source was read: what a policy remembers, and how what is published is written."""

from __future__ import annotations

from sfumato.core.data_file import NO_FORM, SourceForm
from sfumato.engine.csv.reader import CsvReader
from sfumato.engine.csv.text_form import PLAIN_FORM, TextForm
from sfumato.engine.files.loaded_file import LoadedFileReader
from sfumato.engine.reader import PassingReader, Reader
from sfumato.engine.set_columns import SetReader


def first_reader(reader: Reader) -> Reader:
    """Returns the reader that reads, behind all that stand before it."""
    while isinstance(reader, PassingReader | SetReader):
        reader = reader.reader
    return reader


def text_form(reader: Reader) -> TextForm:
    """Returns the form of the CSV file that a reader reads; UTF-8 with commas where it reads none."""
    first = first_reader(reader)
    return first.form if isinstance(first, CsvReader) else PLAIN_FORM


def source_form(reader: Reader) -> SourceForm:
    """Returns what has to be said so that the same source is read the same way again."""
    first = first_reader(reader)
    if isinstance(first, LoadedFileReader):
        return first.source_form
    if not isinstance(first, CsvReader):
        return NO_FORM
    empty = {"empty": ",".join(first.empty)} if first.empty else {}
    return SourceForm.of_words({**first.form.words, **empty})
