"""Where the judge asks: a database in memory that tells nothing of what it read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from sfumato.core.errors import BadData, NotEnoughMemory
from sfumato.system.memory import Memory
from sfumato.system.private_folder import private_folder

if TYPE_CHECKING:
    import duckdb

Answer = TypeVar("Answer")

LEAST = 128 << 20
"""The database is given this much memory, however little is left."""

NO_LIMIT = Memory()

_shared: ContextVar[_SharedDatabase | None] = ContextVar("_shared", default=None)
"""What `one_database` keeps open."""


@contextmanager
def one_database() -> Iterator[None]:
    """Meanwhile every `Database` without a limit is a connection to the same one, opened when first asked.

    Opening one takes longer than most questions about a small table. Connections share no table: what they
    make is temporary, and files are read anew by each.
    """
    with _SharedDatabase() as shared:
        token = _shared.set(shared)
        try:
            yield
        finally:
            _shared.reset(token)


class _SharedDatabase(ExitStack):
    """A database in memory, opened when somebody first asks for a connection."""

    def __init__(self) -> None:
        super().__init__()
        self._database: duckdb.DuckDBPyConnection | None = None

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Returns a new connection to it."""
        if self._database is None:
            self._database = _opened(self.enter_context(private_folder()))
            self.callback(self._database.close)
        return self._database.cursor()


def _opened(spill: Path) -> duckdb.DuckDBPyConnection:
    """Returns a database in memory that keeps what does not fit in a folder."""
    import duckdb  # noqa: PLC0415  # heavy

    return duckdb.connect(config={"temp_directory": str(spill), "preserve_insertion_order": "false"})


class Database:
    """A database for one table, called `where` in complaints; open while it is used in a `with`.

    What does not fit in memory goes to a folder that is gone afterwards.
    """

    def __init__(self, where: str, memory: Memory = NO_LIMIT) -> None:
        self._where, self._memory = where, memory
        self._open = ExitStack()

    def __enter__(self) -> Self:
        shared = _shared.get() if self._memory == NO_LIMIT else None
        if shared is None:
            self._db = _opened(self._open.enter_context(private_folder(self._memory.spill)))
        else:
            self._db = shared.connection()
        self._open.callback(self._db.close)
        self._db.execute("SET TimeZone = 'UTC'")  # a moment is written in the zone of the session
        if self._memory.limit is not None:
            self._db.execute(f"SET memory_limit = '{max(LEAST, self._memory.left * 3 // 4)}B'")
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def ask(self, question: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
        """Returns the answer; the database's complaint, which may quote cells, is left behind altogether."""
        import duckdb  # noqa: PLC0415  # heavy

        try:
            return question(self._db)
        except duckdb.Error as error:
            no_room = isinstance(error, duckdb.OutOfMemoryException) or "No space left" in str(error)
            line = re.search(r"CSV Error on Line: (\d+)", str(error))
        # Raised here, where the complaint is handled no more, so that it is no part of what is told.
        if no_room:
            full = "neither in memory nor in the folder for what does not fit"
            raise NotEnoughMemory(
                f"the second judge has no room left, {full}",
                where=self._where,
                remedy="Allow more with --memory, or name a folder with more room with --spill.",
            )
        complaint = f"line {line[1]} cannot be read" if line else "the file cannot be read"
        raise BadData(complaint, where=self._where, remedy="Write it again: it is damaged or no such table.")


def strictly(
    where: str, question: Callable[[duckdb.DuckDBPyConnection], Answer], memory: Memory = NO_LIMIT
) -> Answer:
    """Returns what a database of its own answers to one question."""
    with Database(where, memory) as db:
        return db.ask(question)
