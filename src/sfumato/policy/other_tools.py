"""Words of other tools, and what a policy says instead: hints for people who come from elsewhere."""

from __future__ import annotations

import csv
import io
import re
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

from sfumato.policy.taxonomies.files import MOST_FILE_BYTES, HierarchyFile, Row, as_line
from sfumato.system.disk import DAMAGED
from sfumato.system.errors import BadInput, BadTaxonomy
from sfumato.table.published_texts import PLAIN_NUMBER


@cache
def words_elsewhere() -> dict[str, tuple[str, str]]:
    """Returns, by the word without case and marks, the tool that uses it, and what to write."""
    table = tomllib.loads(files("sfumato.policy").joinpath("lexicon/other_tools.toml").read_text("utf-8"))
    return {word: (tool, instead) for tool, words in table.items() for word, instead in words.items()}


def said_elsewhere(word: object) -> str:
    """Returns what a policy says where another tool says this word; empty for any other word.

    >>> said_elsewhere("keyVars")
    'That is a word of sdcMicro; write role: quasi below each column.'
    """
    tool, instead = words_elsewhere().get(re.sub(r"[^a-z]", "", str(word).lower()), ("", ""))
    return f"That is a word of {tool}; write {instead}." if tool else ""


# A project of ARX: the roles, hierarchies and limits that its file holds, read without touching its data.
#
# A `.deid` file is a ZIP archive. `input/definition.xml` lists every column with its type and, where it has
# one, a reference to a hierarchy in `input/hierarchies/`; `input/config.xml` has the suppression limit and
# the
# privacy models in words; `project.xml` names the separator of all CSV files in it. Everything else is left
# alone: the tables in `data/`, and what ends in `.dat`, which are objects of Java.

MOST_ENTRIES = 10_000
MOST_XML_BYTES = 16 * 2**20
ROLES = {
    "IDENTIFYING_ATTRIBUTE": "identifier",
    "QUASI_IDENTIFYING_ATTRIBUTE": "quasi",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "insensitive",
}
NUMBERS = ("Integer", "Decimal")
ALL_LEVELS = "All"
_K = re.compile(r"\(?([1-9][0-9]{0,8})\)?-anonymity", re.IGNORECASE)
_SHARE = re.compile(r"0(\.[0-9]{1,12})?|1(\.0{1,12})?")
REMEDY = "Open the project in ARX, export each hierarchy as CSV, and name the files in the policy."


@dataclass(frozen=True)
class ArxColumn:
    """A column of a project: its role here, and its hierarchy as rows, if it has one.

    `least` and `most` are the levels that generalization has to stay between, where the project says so.
    `ordered` says that values are numbers, and rows stand in their order. `refused` says why a hierarchy
    cannot be used, where it cannot.
    """

    name: str
    role: str
    rows: tuple[Row, ...] = field(default=(), repr=False)
    ordered: bool = False
    least: int | None = None
    most: int | None = None
    refused: str = ""

    @property
    def content(self) -> str:
        """The hierarchy as a file."""
        return "".join(f"{as_line(row)}\n" for row in self.rows)


@dataclass(frozen=True)
class ArxProject:
    """What a project says of its columns, its suppression limit, and its privacy models in ARX's words."""

    columns: tuple[ArxColumn, ...]
    models: tuple[str, ...] = ()
    suppress: str = ""

    @classmethod
    def read(cls, path: Path) -> ArxProject:
        """Reads a project file; raises `BadInput` where it is none, or is damaged."""
        try:
            if path.exists() and not path.is_file():  # a device has no end, and an archive is read from there
                raise BadInput("this is no file", where=path.name)
            with zipfile.ZipFile(path) as archive:
                return _Archive(archive, path.name).project()
        except OSError as wrong:
            reason = (wrong.strerror or "cannot be read").lower()
            raise BadInput(f"the project cannot be read: {reason}", where=path.name) from None
        except (*DAMAGED, ValueError):
            raise BadInput("this is no project of ARX, or it is damaged", where=path.name) from None

    @property
    def k(self) -> int | None:
        """The largest k of its models; `None` where no model is k-anonymity."""
        sizes = [int(match[1]) for match in map(_K.fullmatch, self.models) if match]
        return max(sizes, default=None)

    @property
    def other_models(self) -> tuple[str, ...]:
        """The models other than k-anonymity, in ARX's words."""
        return tuple(model for model in self.models if not _K.fullmatch(model))


class _Archive:
    """The entries of a project that are read, each within limits."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive, self._name = archive, name
        self._entries = set(archive.namelist())
        if len(self._entries) > MOST_ENTRIES:
            raise BadInput(f"more than {MOST_ENTRIES:,} entries", where=name)

    def project(self) -> ArxProject:
        if "input/definition.xml" not in self._entries:
            raise BadInput(
                "this is no project of ARX: it has no input/definition.xml", where=self._name, remedy=REMEDY
            )
        separator = self._told("project.xml", "separator") or ";"
        columns = tuple(self._columns(separator if len(separator) == 1 else ";"))
        if not columns:
            raise BadInput("the project names no column", where=self._name, remedy=REMEDY)
        share = self._told("input/config.xml", "relativeMaxOutliers") or ""
        models = tuple(" ".join(text.split()) for text in self._texts("input/config.xml", "criterion"))
        return ArxProject(columns, tuple(filter(None, models)), share if _SHARE.fullmatch(share) else "")

    def _columns(self, separator: str) -> Iterator[ArxColumn]:
        for assignment in self._tree("input/definition.xml").iter("assigment"):  # ARX spells it so
            words = {child.tag: (child.text or "") for child in assignment}
            name = words.get("name", "")
            role = ROLES.get(words.get("type", ""))
            if not name or role is None:
                raise BadInput("a column has no name or no known type", where=self._name, remedy=REMEDY)
            plain = ArxColumn(name, role, least=_level(words.get("min")), most=_level(words.get("max")))
            entry = f"input/{words.get('ref') or f'hierarchies/{name}.csv'}"
            rows = self._rows(entry, separator) if entry in self._entries else []
            yield _with_hierarchy(plain, rows, numbers=words.get("datatype", "").strip() in NUMBERS)

    def _rows(self, entry: str, separator: str) -> list[Row]:
        text = _decoded(self._bytes(entry, MOST_FILE_BYTES))
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
            return [tuple(row) for row in reader if row]
        except csv.Error:
            raise BadInput("a hierarchy is no CSV file", where=self._name, remedy=REMEDY) from None

    def _told(self, entry: str, tag: str) -> str | None:
        return next(iter(self._texts(entry, tag)), None)

    def _texts(self, entry: str, tag: str) -> list[str]:
        if entry not in self._entries:
            return []
        return [element.text or "" for element in self._tree(entry).iter(tag)]

    def _tree(self, entry: str) -> ElementTree.Element:
        content = _decoded(self._bytes(entry, MOST_XML_BYTES))
        if "<!DOCTYPE" in content or "<!ENTITY" in content:
            raise BadInput("declarations that ARX does not write", where=f"{self._name}, {entry}")
        try:
            return ElementTree.fromstring(content)  # noqa: S314  # bounded, and without declarations
        except ElementTree.ParseError:
            raise BadInput("no XML that can be read", where=f"{self._name}, {entry}") from None

    def _bytes(self, entry: str, most: int) -> bytes:
        with self._archive.open(entry) as opened:
            content = opened.read(most + 1)
        if len(content) > most:
            raise BadInput(f"an entry is larger than {most >> 20} MiB", where=f"{self._name}, {entry}")
        return content


def _decoded(content: bytes) -> str:
    """Returns a text that was written in the encoding of some machine: UTF-8, or on Windows mostly cp1252."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252")


def _level(text: str | None) -> int | None:
    """Returns the level that is named; none where all are allowed."""
    return int(text) if text is not None and text != ALL_LEVELS and text.isdecimal() else None


def _with_hierarchy(column: ArxColumn, rows: list[Row], *, numbers: bool) -> ArxColumn:
    """Returns the column with its hierarchy, rows of numbers in their order; or with why it is refused."""
    if not rows or all(len(row) < 2 for row in rows):
        return column
    numbered = numbers and all(PLAIN_NUMBER.fullmatch(row[0]) for row in rows)
    in_order = tuple(sorted(rows, key=lambda row: float(row[0]))) if numbered else tuple(rows)
    with_rows = replace(column, rows=in_order, ordered=numbered)
    if numbered and _fault(with_rows):
        with_rows = replace(column, rows=tuple(rows))
    fault = _fault(with_rows)
    return replace(column, refused=fault) if fault else with_rows


def _fault(column: ArxColumn) -> str:
    """Returns why a hierarchy cannot be used; empty where it can."""
    try:
        HierarchyFile(column.name, column.content.encode(), column.ordered).build([])
    except BadTaxonomy as wrong:
        return wrong.message
    return ""
