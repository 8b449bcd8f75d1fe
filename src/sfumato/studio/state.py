"""The opened folder: the files that the studio may read and write, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import WrongCall
from sfumato.core.problem import short
from sfumato.show.visible_text import visible

TABLES = (
    *(".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".parquet", ".pq", ".xlsx", ".xls", ".ods"),
    *(".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt", ".arrow", ".feather", ".jsonl"),
)
"""Endings of the files that are offered as tables."""
LONGEST_NAME = 200
DROPPED, HERE = "dropped", "folder"


@dataclass(frozen=True)
class DataChoice:
    """A table that may be chosen: its key on pages, its name for people, and where it is."""

    key: str
    name: str
    path: Path

    @property
    def dropped(self) -> bool:
        """Whether it was dropped into the browser, and goes when the studio ends."""
        return self.key.startswith(f"{DROPPED}/")

    @property
    def stamp(self) -> str:
        """A text that differs where the file does, for results that belong to one state of it."""
        state = self.path.stat()
        return f"{self.key}:{state.st_size}:{state.st_mtime_ns}"


class OpenedFolder:
    """A folder on which the studio was opened, and the private one for what is dropped into the browser."""

    def __init__(self, path: Path, private: Path) -> None:
        if not path.is_dir():
            raise WrongCall("there is no such folder", where=str(path), remedy="Name a folder that is there.")
        self.path, self._private = path.resolve(), private

    def tables(self) -> tuple[DataChoice, ...]:
        """Returns the tables that are there, those dropped first."""
        return (*self._in(self._private, DROPPED), *self._in(self.path, HERE))

    def table(self, key: str) -> DataChoice:
        """Returns the table of this key; raises `WrongCall` where none is offered under it."""
        for choice in self.tables():
            if choice.key == key:
                return choice
        raise WrongCall("there is no such table here", remedy="Choose one of those that are listed.")

    def file(self, name: str) -> Path:
        """Returns the path of a file directly in the folder; raises `WrongCall` for anything elsewhere.

        The name is one of a file, without a folder; a link may not lead out of the folder.
        """
        check_name(name)
        path = self.path / name
        if path.is_symlink() and path.resolve().parent != self.path:
            raise WrongCall("this link leads out of the folder", remedy="Copy the file here.")
        return path

    def place_for(self, name: str) -> Path:
        """Returns where a dropped file is kept: in the private folder, under its own name made harmless."""
        plain = visible(name.replace("\\", "/").rpartition("/")[2]).strip() or "table.csv"
        check_name(plain)
        if not plain.lower().endswith(TABLES):
            remedy = f"Endings of tables: {', '.join(TABLES)}."
            raise WrongCall("its name does not end like that of a table", where=short(plain), remedy=remedy)
        return self._private / plain

    def wipe(self, choice: DataChoice) -> None:
        """Removes a dropped file; one of the folder stays."""
        if choice.dropped:
            choice.path.unlink(missing_ok=True)

    def _in(self, folder: Path, word: str) -> Iterator[DataChoice]:
        for path in sorted(folder.iterdir()):
            inside = not path.is_symlink() or path.resolve().parent == folder.resolve()
            if (
                inside
                and path.is_file()
                and path.name.lower().endswith(TABLES)
                and not path.name.startswith(".")
            ):
                yield DataChoice(f"{word}/{path.name}", path.name, path)


def check_name(name: str) -> None:
    """Raises `WrongCall` unless this is the plain name of a file."""
    wrong = (
        not name
        or len(name.encode(errors="replace")) > LONGEST_NAME
        or name in {".", ".."}
        or name.startswith(".")
        or any(mark in name for mark in ("/", "\\", "\0", ":"))
        or not name.isprintable()
    )
    if wrong:
        raise WrongCall(
            "this is no name of a file in the folder",
            remedy=f"A plain name of at most {LONGEST_NAME} bytes, without a folder, no dot in front.",
        )
