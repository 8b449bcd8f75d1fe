"""A file that a caller names, and how it is to be read where its own bytes do not tell."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from os import PathLike, fspath
from os.path import relpath
from pathlib import Path
from typing import TypeVar

from sfumato.system.errors import UsageError
from sfumato.system.plugins import Declared, declared

Note = Callable[[str], None]
"""Receives what a reader found out about a file that its owner should know; no sentence holds a cell."""

DECIMAL_MARKS = (".", ",")


@dataclass(frozen=True)
class SourceForm:
    """How a table is read: what is not said, the bytes tell, or the usual holds.

    `encoding` and `delimiter` are those of a text file. `decimal` and `date_format` say how its texts write
    numbers and dates (`,` and `dd.mm.yyyy`), where several readings are possible; cells stay as they are.
    `sheet` names a sheet of a spreadsheet, `query` what is asked of a database. `longest_cell` is how many
    bytes a cell of a text file may have, and `empty` are texts, with commas between, that stand there for an
    empty cell unless they are in quotes. `catalog` is the file in which SAS keeps the labels of codes.

    >>> SourceForm(delimiter=";").over(SourceForm(delimiter=",", decimal=",")).words
    {'delimiter': ';', 'decimal': ','}
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    sheet: str | None = None
    query: str | None = None
    longest_cell: str | None = None
    empty: str | None = None
    catalog: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            _check_delimiter(self.delimiter)
        if self.decimal is not None and self.decimal not in DECIMAL_MARKS:
            raise UsageError("a decimal mark is a point or a comma", remedy="Say --decimal , or --decimal .")
        if self.encoding is not None:
            _check_encoding(self.encoding)
        if self.longest_cell is not None:
            _check_length(self.longest_cell)

    @classmethod
    def of_words(cls, words: Mapping[str, object]) -> SourceForm:
        """Returns the form that a policy writes under `source`."""
        return cls(**{key.replace("-", "_"): str(word) for key, word in words.items()})

    @property
    def words(self) -> dict[str, str]:
        """What is said, by the keys of a policy."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name.replace("_", "-"): value for name, value in values if value is not None}

    @property
    def empty_texts(self) -> tuple[str, ...]:
        """The texts that stand for an empty cell.

        >>> SourceForm(empty="NA, NULL").empty_texts
        ('NA', 'NULL')
        """
        return tuple(text.strip() for text in (self.empty or "").split(",") if text.strip())

    def over(self, fallback: SourceForm) -> SourceForm:
        """Returns this form; where it says nothing, the other one speaks."""
        return replace(fallback, **{key.replace("-", "_"): word for key, word in self.words.items()})

    def beside(self, folder: Path | None) -> SourceForm:
        """Returns this form, as a policy in `folder` says it, with paths that hold here.

        >>> SourceForm(catalog="formats.sas7bcat").beside(Path("study")).catalog
        'study/formats.sas7bcat'
        """
        if self.catalog is None or folder is None:
            return self
        return replace(self, catalog=(folder / self.catalog).as_posix())

    def seen_from(self, folder: Path) -> SourceForm:
        """Returns this form, with paths that hold here, as a policy in `folder` says it.

        >>> SourceForm(catalog="study/formats.sas7bcat").seen_from(Path("study")).catalog
        'formats.sas7bcat'
        """
        if self.catalog is None or Path(self.catalog).is_absolute():
            return self
        try:
            return replace(self, catalog=Path(relpath(self.catalog, folder)).as_posix())
        except ValueError:  # another drive
            return replace(self, catalog=Path(self.catalog).resolve().as_posix())

    def __bool__(self) -> bool:
        return self != SourceForm()


NO_FORM = SourceForm()


def _check_delimiter(delimiter: str) -> None:
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise UsageError("a delimiter is one character, no quote and no line end")
    if not delimiter.isascii():
        raise UsageError("a delimiter is an ASCII character")


def _check_length(length: str) -> None:
    if not (length.isascii() and length.isdigit() and len(length) < 16 and int(length) > 0):
        raise UsageError("the longest cell is a number of bytes", remedy="Say --longest-cell 5000000.")


def _check_encoding(encoding: str) -> None:
    try:
        "a;1".encode(codecs.lookup(encoding).name)
    except (LookupError, UnicodeError):
        raise UsageError(
            "the encoding has an unknown name", remedy="Try utf-8, windows-1252 or latin-1."
        ) from None


class DataFile(PathLike[str]):
    """A path (or the address of a database) with a form, to be handed to a verb in place of a path.

    What the caller says here goes before what a policy says under `source`.

    Args:
        path: the path of the file, or the address of the database.
        encoding: the encoding of a text file, such as "windows-1252".
        delimiter: what stands between the cells of a text file.
        decimal: the decimal mark of its numbers: "." or ",".
        date_format: how its dates are written.
        sheet: the sheet of a workbook.
        query: the query, or the table, of a database.
        longest_cell: the most characters of a cell.
        empty: texts that stand for an empty cell, with commas between them.
        catalog: the file of value labels of a statistics file.
        note: receives what a reader finds out: that a file is in Windows-1252, that codes of a statistics
            file stand for missing cells.

    >>> DataFile("patients.csv", delimiter=";", encoding="windows-1252")
    DataFile('patients.csv', encoding='windows-1252', delimiter=';')
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        encoding: str | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
        date_format: str | None = None,
        sheet: str | None = None,
        query: str | None = None,
        longest_cell: int | str | None = None,
        empty: str | None = None,
        catalog: str | PathLike[str] | None = None,
        note: Note | None = None,
    ) -> None:
        self.path = fspath(path)
        longest = None if longest_cell is None else str(longest_cell)
        labels = None if catalog is None else fspath(catalog)
        self.form = SourceForm(
            encoding, delimiter, decimal, date_format, sheet, query, longest, empty, labels
        )
        self.note = note

    @classmethod
    def reading_as_empty(cls, data: str | PathLike[str], texts: Sequence[str]) -> DataFile:
        """Returns the same file, in which these texts stand for an empty cell; its owner is told.

        Args:
            data: the file, or its path.
            texts: the texts.
        """
        file = data if isinstance(data, DataFile) else cls(data)
        if file.note is not None:
            file.note(f"read as empty cells: {', '.join(texts)} (--empty says otherwise)")
        again = cls(file.path, note=file.note)
        again.form = replace(file.form, empty=",".join(texts))
        return again

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        options = "".join(f", {key.replace('-', '_')}={word!r}" for key, word in self.form.words.items())
        return f"DataFile({self.path!r}{options})"


# The formats of files, by their endings: each reader and writer says in a decorator which it is.

READERS, WRITERS = "sfumato.table.reading", "sfumato.table.writing"
"""Where they are; the writer of a format may stand in the file of its reader, too."""
T = TypeVar("T")


def built_in_reader(
    *endings: str,
    what: str,
    place: int,
    options: tuple[str, ...] = (),
    named: tuple[str, ...] | None = None,
    packed: bool = False,
) -> Callable[[T], T]:
    """Offers a class as the reader of files with these endings; it has a class method `of_file`.

    These words are read from the file without importing it, so they are literals.

    Args:
        endings: what the names of such files end in, in lower case.
        what: what such a file is called in a message, with its article.
        place: where the format stands among its like when they are listed.
        options: what may be said of such a file, by the keys of a policy's `source`.
        named: those endings that a message names, unless all.
        packed: such files may be compressed, with another ending behind their own.
    """
    del endings, what, place, options, named, packed  # read from the file
    return lambda reader: reader


def built_in_writer(name: str, *endings: str, place: int, releases: tuple[str, ...] = ()) -> Callable[[T], T]:
    """Offers a function as the writer of a format, of this name, for files with these endings.

    `releases` are kinds of data that are released in this format, besides its own.
    """
    del name, endings, place, releases  # read from the file
    return lambda writer: writer


PACKED_ENDINGS = (".gz", ".zst")


@dataclass(frozen=True)
class ReadableFormat:
    """A kind of file that is read, known by the ending of its name."""

    endings: tuple[str, ...]
    what: str
    options: tuple[str, ...]
    named: tuple[str, ...]
    reader: Declared


@dataclass(frozen=True)
class WrittenFormat:
    """A kind of file that is written; its name is the ending of a released table."""

    name: str
    endings: tuple[str, ...]
    releases: tuple[str, ...]
    writer: Declared


@cache
def readable_formats() -> tuple[ReadableFormat, ...]:
    """Returns the kinds of files that are read; nothing is loaded for that.

    >>> [kind.endings for kind in readable_formats() if kind.what == "a Parquet file"]
    [('.parquet', '.pq')]
    """
    return tuple(
        ReadableFormat(
            (*part.words, *(end + more for more in PACKED_ENDINGS for end in part.words))
            if part.options.get("packed")
            else part.words,
            part.options["what"],
            part.options.get("options", ()),
            part.options.get("named", part.words),
            part,
        )
        for part in declared(READERS, "built_in_reader")
    )


@cache
def written_formats() -> Mapping[str, WrittenFormat]:
    """Returns the kinds of files that are written, by name; nothing is loaded for that.

    >>> list(written_formats())
    ['csv', 'parquet', 'xlsx', 'sav', 'dta', 'arrow', 'jsonl']
    """
    parts = [*declared(WRITERS, "built_in_writer"), *declared(READERS, "built_in_writer")]
    return {
        part.name: WrittenFormat(part.name, part.words[1:], part.options.get("releases", ()), part)
        for part in sorted(parts, key=lambda part: part.place)
    }


def written_format_of(path: Path) -> WrittenFormat | None:
    """Returns the format in which a file of this name is written, if there is one."""
    suffix = path.suffix.lower()
    return next((kind for kind in written_formats().values() if suffix in kind.endings), None)


def in_words(names: Sequence[str]) -> str:
    """Returns names as a list in a sentence.

    >>> in_words([".csv", ".sav", ".dta"])
    '.csv, .sav or .dta'
    """
    return " or ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
