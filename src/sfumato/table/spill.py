"""Arrays that memory has no room for, stored in a private folder that is gone afterwards."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import NotEnoughMemory
from sfumato.system.memory import Memory
from sfumato.system.private_folder import private_folder

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class StoredArray:
    """Lines of `width` whole numbers in a file; of every line, `length` numbers from `start` on."""

    file: Path
    lines: int
    width: int
    start: int
    length: int

    def part(self, start: int, stop: int) -> StoredArray:
        """Some columns of it."""
        stop = min(stop, self.length)
        return StoredArray(self.file, self.lines, self.width, self.start + start, max(0, stop - start))

    def read(self) -> Longs:
        lines = np.empty((self.lines, self.length), np.int64)
        with self.file.open("rb", buffering=0) as file:
            for line, numbers in enumerate(lines):
                file.seek((line * self.width + self.start) * numbers.itemsize)
                if file.readinto(numbers.data.cast("B")) != numbers.nbytes:
                    raise NotEnoughMemory("the spill folder lost what was in it", remedy="Try again.")
        return lines


@dataclass(eq=False)
class Spill:
    """A folder that is made when it is first needed; `memory` says where, and how much is held instead."""

    memory: Memory = field(default_factory=Memory)
    written: int = 0
    _stack: ExitStack = field(default_factory=ExitStack)
    _folder: Path | None = None

    def store(self, numbers: Longs) -> StoredArray:
        """Put an array away."""
        try:
            if self._folder is None:
                self._folder = self._stack.enter_context(private_folder(self.memory.spill))
            self.written += 1
            file = self._folder / f"{self.written}.codes"
            with file.open("wb") as out:
                for line in numbers:
                    out.write(np.ascontiguousarray(line).data)
        except OSError as error:
            raise NotEnoughMemory(
                f"the spill folder cannot take what memory has no room for ({error.strerror})",
                remedy="Name a folder with more room with --spill, or allow more with --memory.",
            ) from None
        return StoredArray(file, len(numbers), numbers.shape[1], 0, numbers.shape[1])

    def __enter__(self) -> Spill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        self._folder = None
