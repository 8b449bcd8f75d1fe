"""How a CSV file is written, as the judge is told: its encoding, its separator, texts of empty cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import BadData

LETTERS_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class FileForm:
    """UTF-8 with commas, unless something else is said; `empty` are texts that stand for an empty cell.

    >>> FileForm.of({"delimiter": ";", "empty": "NA, NULL"})
    FileForm(encoding='utf-8', separator=';', empty=('NA', 'NULL'))
    """

    encoding: str = "utf-8"
    separator: str = ","
    empty: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: Mapping[str, str] | None) -> FileForm:
        """Returns the form that plain data tell by `encoding`, `delimiter` and `empty`, or some of them."""
        said = words or {}
        empty = tuple(text for part in said.get("empty", "").split(",") if (text := part.strip()))
        return cls(said.get("encoding", cls.encoding), said.get("delimiter", cls.separator), empty)

    @property
    def is_utf8(self) -> bool:
        return self.encoding == "utf-8"

    def texts(self, path: Path) -> Iterator[str]:
        """Yields the text of a file in pieces; raises `BadData` where its bytes are in another encoding."""
        try:
            with path.open(encoding=self.encoding, newline="") as file:
                while piece := file.read(LETTERS_AT_A_TIME):
                    yield piece
        except UnicodeError:
            wrong = True
        else:
            wrong = False
        if wrong:  # raised here, where the complaint, which quotes bytes, is no part of what is told
            raise BadData("the file is not in the encoding that it is said to have", where=path.name)

    def utf8_copy(self, path: Path, folder: Path) -> Path:
        """Returns a copy of a file in UTF-8, in a folder that its owner alone can see; its last line ends."""
        copy = folder / f"utf-8-{sum(1 for _ in folder.iterdir())}.csv"
        last = ""
        with copy.open("w", encoding="utf-8", newline="") as out:
            for piece in self.texts(path):
                out.write(piece)
                last = piece[-1]
        if last != "\n":
            raise BadData("the last line has no end", where=path.name, remedy="It is empty or truncated.")
        return copy


RELEASED = FileForm()
"""The form of a release, unless its source had another one."""
