"""Spreadsheets as readers: XLSX, XLS and ODS, a sheet of them.

The first row that holds something names the columns. Numbers, dates and truths keep their types; a column in
which these are mixed with texts is read as text. A text without a character, as formulas give it, is an empty
cell. Rows without a cell hold nobody. What a reader cannot know is refused: names that are missing or merged,
cells that hold an error, sheets of which none was chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.data_file import NO_FORM, SourceForm
from sfumato.core.errors import BadData, NotEnoughMemory, SfumatoError, WrongCall
from sfumato.core.problem import short
from sfumato.engine.column_names import NO_FIRST_NAME, name_first, safe_name
from sfumato.engine.files.binary_sheets import xls_extents, xlsb_extent, xlsb_sheets
from sfumato.engine.files.extra_library import extra_library, is_panic
from sfumato.engine.files.loaded_file import LoadedFileReader, as_dates
from sfumato.engine.files.sheet_extent import (
    BYTES_OF_CELL,
    NoDocument,
    SheetExtent,
    ods_extents,
    xlsx_extent,
)
from sfumato.system.library_logs import without_library_prints
from sfumato.system.memory import in_words
from sfumato.system.packed_file import DAMAGED

SPREADSHEET_ENDINGS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
LONGEST_LIST = 8
SHARED_TEXTS, ODS_CONTENT, BINARY_BOOK = "xl/sharedStrings.xml", "content.xml", "xl/workbook.bin"
BYTES_PER_BYTE = 4
"""Memory for each byte of an unpacked sheet: measured were 3.2 of XLSX; ODS is taken to be alike."""
PACKED = 3
"""Cells of old binary files take less room than those of unpacked sheets: how much less is a guess."""
MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^<>]*ref=\"([A-Z]+)([0-9]+):([A-Z]+)([0-9]+)\"")
UNREADABLE = (*DAMAGED, KeyError, OSError)
"""What a packed file raises that is damaged, or of another kind."""


@dataclass(frozen=True, eq=False)
class SpreadsheetReader(LoadedFileReader):
    """One sheet: the one that is named, the one that a policy expects, or the only one."""

    named: str | None = None
    expected: SourceForm = field(default=NO_FORM)

    @property
    def sheet(self) -> str:
        """The name of the sheet that is read."""
        return self._sheet(self._workbook().sheet_names)

    @property
    def source_form(self) -> SourceForm:
        return SourceForm(sheet=self.sheet)

    def load(self) -> pa.Table:
        workbook = self._workbook()
        name = self._sheet(workbook.sheet_names)
        with self._told_as_unreadable():
            self._check_sheet(workbook.sheet_names.index(name))
            content = self._packed_sheet(workbook.sheet_names.index(name))
            self._check_extent(xlsb_extent(content) if self._ending == ".xlsb" else xlsx_extent(content))
            names = self._names(workbook, name)
            self._refuse_merged(content)
            sheet = workbook.load_sheet(name, header_row=0, schema_sample_rows=None)
            rows, errors = sheet.to_arrow_with_errors()
        if places := _errors_in(workbook, name, errors.errors if errors is not None else []):
            row, column = min(places)
            told = "1 cell holds" if len(places) == 1 else f"{len(places)} cells hold"
            raise BadData(
                f"{told} an error such as #N/A, the first in row {row + 1} of column"
                f" {safe_name(names[column])}",
                where=self.path.name,
                remedy="Correct their formulas, or clear the cells if nothing is known.",
            )
        columns = [_without_empty_texts(as_dates(column)) for column in rows.columns]
        return _without_empty_rows(pa.table(columns, names=names))

    def needed_bytes(self) -> int:
        """Returns what it takes to open the file: texts that sheets share are read at once."""
        return self._unpacked(SHARED_TEXTS) * BYTES_PER_BYTE

    def _check_sheet(self, place: int) -> None:
        """Raises where there is no room for the sheet that is read; sizes stand in the file."""
        try:
            with ZipFile(self.path) as file:
                parts = _sheet_parts(file)
        except (*UNREADABLE, NoDocument):  # ODS has one part, older files are not packed
            parts = []
        size = self._unpacked(parts[place] if place < len(parts) else ODS_CONTENT)
        self.check_room((size or self.path.stat().st_size * PACKED) * BYTES_PER_BYTE)

    def _unpacked(self, part: str) -> int:
        """Returns the size of a part of a packed file; 0 where there is none."""
        try:
            with ZipFile(self.path) as file:
                return file.getinfo(part).file_size
        except UNREADABLE:
            return 0

    def _workbook(self) -> Any:  # a reader of fastexcel, which has no types for it
        library = extra_library("fastexcel", "a spreadsheet")
        self._check_extents_of_all()
        with self._told_as_unreadable():
            return library.read_excel(str(self.path))

    @property
    def _ending(self) -> str:
        return self.path.suffix.lower()

    def _check_extents_of_all(self) -> None:
        """Raises where an ODS or XLS file is no whole document, or one of its sheets reaches too far.

        The library reads all sheets of them as soon as it opens the file.
        """
        try:
            extents = self._all_extents()
        except (*UNREADABLE, NoDocument):
            raise self._unreadable() from None
        for extent in extents:
            self._check_extent(extent)

    def _all_extents(self) -> list[SheetExtent]:
        """Returns how far the sheets reach that are read whichever is asked for."""
        if self._ending == ".ods":
            with ZipFile(self.path) as file, file.open(ODS_CONTENT) as content:
                return ods_extents(content)
        return xls_extents(self.path.read_bytes()) if self._ending == ".xls" else []

    def _check_extent(self, extent: SheetExtent) -> None:
        """Raises where a sheet reaches so far that there is no room for all cells up to its last one."""
        if not extent.is_possible:
            raise self._unreadable()
        if extent.is_scattered:
            raise BadData(
                f"the sheet reaches to row {extent.rows:,} and column {extent.columns:,}, and nearly all"
                " of it is empty",
                where=self.path.name,
                remedy="Delete the rows and columns after the table, with what strayed into them.",
            )
        need = extent.cells * BYTES_OF_CELL
        if need > self.memory.left:
            raise NotEnoughMemory(
                f"reading this sheet as a whole takes about {in_words(need)} of memory, and"
                f" {in_words(self.memory.left)} are left",
                where=self.path.name,
                remedy="Save it as CSV or Parquet: these are read piece by piece.",
            )

    def _sheet(self, there: list[str]) -> str:
        """Returns the name of the sheet to read."""
        if not there:
            raise self._unreadable()
        if self.named is not None and self.named not in there:
            raise WrongCall(
                "there is no such sheet", where=self.path.name, remedy=f"There are: {_listed(there)}."
            )
        if self.named is None and self.expected.sheet in there:
            return str(self.expected.sheet)
        if self.named is None and len(there) != 1:
            raise WrongCall(
                f"the file has {len(there)} sheets",
                where=self.path.name,
                remedy=f"Name one with --sheet: {_listed(there)}.",
            )
        return self.named or there[0]

    def _names(self, workbook: Any, sheet: str) -> list[str]:
        """Returns the texts of the first row; raises where one is missing."""
        first = workbook.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_arrow()
        names = [column[0].as_py() if len(column) else None for column in first.columns]
        if not names or all(name is None for name in names):
            raise BadData(
                "the sheet is empty", where=self.path.name, remedy="It needs a row of column names."
            )
        texts = ["" if name is None else str(name) for name in names]
        if (own := name_first(texts)) is not None:
            self.tell(NO_FIRST_NAME.format(own))
            return [own, *texts[1:]]
        lacking = [place for place, name in enumerate(names, 1) if not (name or "").strip()]
        if lacking:
            raise BadData(
                f"{len(lacking)} of {len(names)} columns have no name in the first row, the first of them"
                f" column {lacking[0]}",
                where=self.path.name,
                remedy="Delete titles above the row of names, unmerge its cells, and name every column.",
            )
        return [str(name) for name in names]

    def _packed_sheet(self, place: int) -> bytes:
        """Returns the content of a sheet of an XLSX or XLSB file; nothing where the file is another one.

        Whatever raises means that the file is damaged, even where the library would not notice. Only parts
        of an XLSX file may have other names than are known here: the library says what it makes of that.
        """
        if self._ending not in (".xlsx", ".xlsm", ".xlsb"):
            return b""
        with ZipFile(self.path) as file:
            try:
                return file.read(_sheet_parts(file)[place])
            except LookupError:
                if self._ending == ".xlsb":
                    raise
                return b""

    def _refuse_merged(self, content: bytes) -> None:
        """Raises where cells of an XLSX sheet are merged: all but one of them would seem to be empty."""
        merged = MERGED.findall(content)
        if merged:
            told = "1 group of cells is" if len(merged) == 1 else f"{len(merged)} groups of cells are"
            raise BadData(
                f"{told} merged, the first in row {min(int(row) for _, row, _, _ in merged)}",
                where=self.path.name,
                remedy="Unmerge them, and write the value into each cell that it is about.",
            )

    @contextmanager
    def _told_as_unreadable(self) -> Iterator[None]:
        """Raises `BadData` for whatever the library raises, whose message may quote cells, and so may what it
        prints."""
        try:
            with without_library_prints():
                yield
        except SfumatoError:
            raise
        except BaseException as wrong:
            if isinstance(wrong, Exception) or is_panic(wrong):
                raise self._unreadable() from None
            raise

    def _unreadable(self) -> BadData:
        return BadData(
            "the file cannot be read as a spreadsheet",
            where=self.path.name,
            remedy="Open it in its program and save it again, without a password.",
        )


def _sheet_parts(file: ZipFile) -> list[str]:
    """Returns the files of the sheets, in the order in which the workbook lists them.

    Whatever it holds, looking through it takes time in proportion to its length: patterns begin at the
    beginning of a word, and end before the next element.
    """
    book = BINARY_BOOK if BINARY_BOOK in file.namelist() else "xl/workbook.xml"
    links = file.read(book.replace("xl/", "xl/_rels/") + ".rels").decode("utf-8", "replace")
    targets = {}
    for link in re.findall(r"<(?:\w+:)?Relationship\s[^<>]*>", links):
        said = dict(re.findall(r'\b(\w+)="([^"]*)"', link))
        targets[said.get("Id")] = said.get("Target", "")
    if book == BINARY_BOOK:
        listed = xlsb_sheets(file.read(book))
    else:
        sheets = file.read(book).decode("utf-8", "replace")
        listed = re.findall(r"<(?:\w+:)?sheet\s[^<>]*?\b\w+:id=\"([^\"]*)\"", sheets)
    found = [targets.get(key, "") for key in listed]
    return [target[1:] if target.startswith("/") else f"xl/{target}" for target in found]


def _errors_in(workbook: Any, sheet: str, errors: list[Any]) -> list[tuple[int, int]]:
    """Returns the row and column of every cell that holds an error.

    The library also counts empty texts in a column of numbers, such as formulas give: these cells are empty.
    """
    if not errors:
        return []
    columns = sorted({error.position[1] for error in errors})
    texts = workbook.load_sheet(
        sheet, header_row=0, schema_sample_rows=None, dtypes=dict.fromkeys(columns, "string")
    )
    read = texts.to_arrow_with_errors()[0]
    return [
        error.position
        for error in errors
        if read.column(error.position[1])[error.offset_position[0]].as_py() != ""
    ]


def _without_empty_texts(column: pa.Array) -> pa.Array:
    """Returns a column in which a text without a character is an empty cell, as it looks."""
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)


def _without_empty_rows(table: pa.Table) -> pa.Table:
    """Returns the rows that hold something."""
    held = pc.is_valid(table.column(0))
    for column in table.columns[1:]:
        held = pc.or_(held, pc.is_valid(column))
    return table.filter(held)


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(short, names[:LONGEST_LIST]))
    return shown if len(names) <= LONGEST_LIST else f"{shown} and {len(names) - LONGEST_LIST} more"
