"""Parquet files as readers."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.system.disk import digest_of, read_document, to_disk
from sfumato.system.errors import BadData
from sfumato.system.json_object import JsonObject, read_json
from sfumato.table.cell_text import check_names, is_text, safe_name, with_sound_text
from sfumato.table.data_file import built_in_reader
from sfumato.table.reader import ROWS_AT_A_TIME, FileReader, batches_of, no_columns
from sfumato.table.writing import check_target, write_parquet_again

if TYPE_CHECKING:
    import pyarrow.parquet as pq


VALUES_PER_PAGE = 4096
"""Writers look after so many values at the latest whether a page is full: long values make long pages."""
ORDINARY_PAGE = 8 << 20
LARGEST_BATCH = 64 << 20
"""Rows that are read at once hold so many bytes at most, however much room there is."""
COPIES_OF_A_PAGE = 3
"""A page is held as it is, unpacked, and as values."""


PARQUET_ENDINGS = (".parquet", ".pq")


@built_in_reader(".parquet", ".pq", what="a Parquet file", place=2, named=(".parquet",))
@dataclass(frozen=True, eq=False)
class ParquetReader(FileReader):
    """A Parquet file; text is read as dictionaries, straight from its pages, where these hold any.

    Its own figures say how much its pages unpack to: a page that `memory` has no room for is not begun.
    """

    path: Path
    kind: str = "parquet"

    @classmethod
    def of_file(cls, path: Path, *_: object) -> ParquetReader:
        """Returns the reader of a file, of which nothing is to be said."""
        return cls(path)

    @cached_property
    def schema(self) -> pa.Schema:
        import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

        try:
            schema = pq.read_schema(self.path).remove_metadata()
        except (pa.ArrowException, OSError):
            raise self._unreadable() from None
        check_names(schema.names)
        return schema

    @cached_property
    def total(self) -> int | None:
        import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

        return int(pq.read_metadata(self.path).num_rows)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

        if not names:
            yield from batches_of(no_columns(self.total or 0))
            return
        try:
            coded = self._dictionaries_of(pq.read_metadata(self.path))
            text = [n for n in names if n in coded and is_text(self.schema.field(n).type)]
            with pq.ParquetFile(self.path, read_dictionary=text, pre_buffer=False) as file:
                rows = self._rows_at_a_time(file.metadata, set(names))
                read = file.iter_batches(rows, columns=list(names))
                for batch in with_sound_text(read, where=self.path.name):
                    self._check_dictionaries(batch)
                    yield batch
        except (pa.ArrowException, OSError):
            raise self._unreadable() from None

    @staticmethod
    def _dictionaries_of(metadata: pq.FileMetaData) -> set[str]:
        """The columns of which some pages hold a dictionary.

        Of any other column, Arrow would put together one dictionary of all values up to each batch.
        """
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        columns = [group.column(j) for group in groups for j in range(group.num_columns)]
        return {column.path_in_schema for column in columns if column.has_dictionary_page}

    def _rows_at_a_time(self, metadata: pq.FileMetaData, names: set[str]) -> int:
        """How many rows are read at once, by how much they unpack to; raises where a page is too long."""
        widest = 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            columns = [group.column(j) for j in range(group.num_columns)]
            chosen = [column for column in columns if column.path_in_schema.split(".")[0] in names]
            for column in chosen:
                self._check_page(column)
            unpacked = sum(column.total_uncompressed_size for column in chosen)
            widest = max(widest, unpacked // max(group.num_rows, 1))
        room = min(self.memory.left // (4 * COPIES_OF_A_PAGE), LARGEST_BATCH)
        return max(1, min(ROWS_AT_A_TIME, room // max(widest, 1)))

    def _check_page(self, column: pq.ColumnChunkMetaData) -> None:
        unpacked = max(0, column.total_uncompressed_size)
        each = unpacked // max(column.num_values, 1)
        page = min(unpacked, max(ORDINARY_PAGE, each * VALUES_PER_PAGE))
        if page > ORDINARY_PAGE:
            self.memory.check(
                page * COPIES_OF_A_PAGE,
                f"unpacking values of about {each:,} bytes in column {safe_name(column.path_in_schema)}",
                "shorten its values beforehand, or leave the column out of the file.",
            )

    def _check_dictionaries(self, batch: pa.RecordBatch) -> None:
        """Arrow drops an entry that a dictionary holds twice, and leaves the numbers of those behind it."""
        for name, cells in zip(batch.schema.names, batch.columns, strict=True):
            if pa.types.is_dictionary(cells.type) and len(cells) > cells.null_count:
                last = pc.max(cells.indices).as_py()
                if last >= len(cells.dictionary):
                    what = f"cells of column {safe_name(name)} name entries that its dictionary"
                    raise BadData(
                        f"{what} lacks, or has twice",
                        where=self.path.name,
                        remedy="Write the file again: readers do not agree on what such cells are.",
                    )

    def _unreadable(self) -> BadData:
        return BadData("the file cannot be read as Parquet", where=self.path.name, remedy="Is it complete?")


# A table in parts: a folder of Parquet files that is there only through its manifest.
#
# The manifest is written last and names every part, in order, with its size, digest and rows. A folder
# without one is not read, and a file that it does not name is not part of the table: whatever wrote the parts
# may have been stopped or have tried twice.

MANIFEST = "_manifest.json"
"""Begins with a mark that makes other readers of such folders pass it over."""


def write_parts(path: Path, fill: Callable[[Path], object], *, rows: int, private: bool = False) -> Path:
    """Let `fill` write Parquet files into a new folder, put them in order, and give the folder its name.

    Nothing appears under `path` unless the parts hold exactly `rows` rows. A `private` folder can be read by
    its owner alone.
    """
    check_target(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        draft.mkdir(mode=0o700)
        fill(draft / "table")
        folder = draft / "table"
        parts = _named_in_order(folder, private=private)
        listed = [_described(part) for part in parts]
        written = sum(part["rows"] for part in listed)
        if written != rows:
            raise BadData(f"{written} rows were written where {rows} were planned", where=path.name)
        _store(folder / MANIFEST, listed, private=private)
        folder.chmod(0o700 if private else 0o777 & ~_umask())
        check_target(path)
        folder.rename(path)
        to_disk(path.parent)
    except OSError as error:
        raise BadData(f"the parts could not be written ({error.strerror})", where=str(path)) from None
    finally:
        with suppress(OSError):
            shutil.rmtree(draft)
    return path


def _named_in_order(folder: Path, *, private: bool) -> list[Path]:
    """The parts under their final names; marks and checksums of the writer are gone."""
    written = sorted(folder.glob("part-*.parquet")) if folder.is_dir() else []
    if not written:
        raise BadData(
            "Spark wrote no part where this process can see it",
            remedy="Name a folder that the driver and all workers share.",
        )
    for stray in set(folder.iterdir()) - set(written):
        if stray.is_dir():
            shutil.rmtree(stray)
        else:
            stray.unlink()
    parts = []
    for number, part in enumerate(written):
        final = part.with_name(f"part-{number:05}.parquet")
        part.rename(final)
        write_parquet_again(final)
        final.chmod(0o600 if private else 0o666 & ~_umask())
        to_disk(final)
        parts.append(final)
    return parts


def _described(part: Path) -> JsonObject:
    rows = ParquetReader(part).total
    return {"name": part.name, "bytes": part.stat().st_size, "sha256": digest_of(part), "rows": rows}


def _store(path: Path, parts: Sequence[JsonObject], *, private: bool) -> None:
    document = {"sfumato": 1, "rows": sum(part["rows"] for part in parts), "parts": list(parts)}
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(json.dumps(document, indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
    to_disk(path.parent)


def _umask() -> int:
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


@dataclass(frozen=True, eq=False)
class PartsReader(FileReader):
    """A folder of Parquet files, through its manifest."""

    path: Path
    kind: str = "parquet"

    @cached_property
    def parts(self) -> tuple[ParquetReader, ...]:
        try:
            listed = read_json(read_document(self.path / MANIFEST))["parts"]
            named = [(str(part["name"]), int(part["bytes"])) for part in listed]
        except FileNotFoundError:
            raise BadData(
                "the folder has no manifest: it is no table, or not a whole one",
                where=self.path.name,
                remedy="Name a file, or a folder that was published.",
            ) from None
        except (OSError, ValueError, KeyError, TypeError):
            raise BadData("the manifest cannot be read", where=self.path.name) from None
        for name, size in named:
            part = self.path / name
            if Path(name).name != name or not part.is_file() or part.stat().st_size != size:
                raise BadData("a part is not what the manifest says", where=self.path.name)
        if not named:
            raise BadData("the manifest names no part", where=self.path.name)
        return tuple(ParquetReader(self.path / name, memory=self.memory) for name, _ in named)

    @cached_property
    def schema(self) -> pa.Schema:
        first = self.parts[0].schema
        check_names(first.names)
        if any(part.schema != first for part in self.parts):
            raise BadData("the parts have different columns", where=self.path.name)
        return first

    @cached_property
    def total(self) -> int | None:
        return sum(part.total or 0 for part in self.parts)

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for part in self.parts:
            yield from part.batches(names)


@dataclass(frozen=True, eq=False)
class MatchingReader(PartsReader):
    """All Parquet files whose names match a pattern, such as `visits-*.parquet`, as one table."""

    @cached_property
    def parts(self) -> tuple[ParquetReader, ...]:
        files = sorted(file for file in self.path.parent.glob(self.path.name) if file.is_file())
        if not files:
            raise BadData("no file has such a name", where=str(self.path), remedy="Check the pattern.")
        return tuple(ParquetReader(file, memory=self.memory) for file in files)
