"""Versions of one table: all are published from rows that were read once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

from sfumato.system.progress import Progress, silent
from sfumato.table.microdata import Microdata
from sfumato.table.publication import WriteVersion
from sfumato.table.recoding import Recoding
from sfumato.table.source import Source


@runtime_checkable
class CanWriteVersions(Protocol):
    """A source that writes several versions of a table, and their witnesses, in one pass over its rows."""

    def versions(
        self,
        table: Microdata,
        *,
        count: int,
        drop: Sequence[str] = (),
        numbered: Sequence[str] = (),
        progress: Progress = silent,
    ) -> AbstractContextManager[WriteVersion]:
        """Returns what writes up to `count` versions of the counted table; rows are read at the first one."""


@contextmanager
def version_writer(
    source: Source,
    table: Microdata,
    *,
    count: int,
    drop: Sequence[str] = (),
    numbered: Sequence[str] = (),
    progress: Progress = silent,
) -> Iterator[WriteVersion]:
    """Yields what writes up to `count` versions of a table that was counted in this source.

    The columns `drop` are not published; those among them that are also `numbered` stand, as numbers, in a
    witness. A source that cannot write several files at a time reads its rows for each of them.
    """
    if isinstance(source, CanWriteVersions):
        with source.versions(table, count=count, drop=drop, numbered=numbered, progress=progress) as write:
            yield write
        return

    def one_by_one(recoding: Recoding, path: Path, witness: Path | None) -> None:
        source.write(recoding, path, drop=drop, progress=progress)
        if witness is not None:
            unpublished = [name for name in drop if name not in numbered]
            source.write(recoding, witness, drop=unpublished, numbered=numbered, progress=progress)

    yield one_by_one
