"""Where the second judge asks: a database in memory that tells nothing of what it read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sfumato.core.errors import BadData, NotEnoughMemory
from sfumato.system.memory import Memory
from sfumato.system.private_folder import private_folder

if TYPE_CHECKING:
    import duckdb

Answer = TypeVar("Answer")

LEAST = 128 << 20
"""The database is given this much memory, however little is left."""

NO_LIMIT = Memory()


@contextmanager
def _database(memory: Memory) -> Iterator[duckdb.DuckDBPyConnection]:
    """What does not fit in memory goes to a folder that is gone afterwards."""
    import duckdb  # noqa: PLC0415  # heavy

    with private_folder(memory.spill) as folder:
        db = duckdb.connect(config={"temp_directory": str(folder), "preserve_insertion_order": "false"})
        try:
            if memory.limit is not None:
                db.execute(f"SET memory_limit = '{max(LEAST, memory.left * 3 // 4)}B'")
            yield db
        finally:
            db.close()


def strictly(
    path: Path, ask: Callable[[duckdb.DuckDBPyConnection], Answer], memory: Memory = NO_LIMIT
) -> Answer:
    """Ask a database about a file; its complaint, which may quote cells, is left behind altogether."""
    import duckdb  # noqa: PLC0415  # heavy

    with _database(memory) as db:
        try:
            return ask(db)
        except duckdb.Error as error:
            no_room = isinstance(error, duckdb.OutOfMemoryException) or "No space left" in str(error)
            line = re.search(r"CSV Error on Line: (\d+)", str(error))
    if no_room:
        raise NotEnoughMemory(
            "the second judge has no room left, neither in memory nor in the folder for what does not fit",
            where=path.name,
            remedy="Allow more with --memory, or name a folder with more room with --spill.",
        )
    complaint = f"line {line[1]} cannot be read" if line else "the file cannot be read"
    raise BadData(complaint, where=path.name, remedy="Write it again: it is damaged or no such table.")
