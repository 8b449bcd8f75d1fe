"""Memory: how much a call may use, and the folder for what does not fit."""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from pathlib import Path

from sfumato.system.errors import NotEnoughMemory, SfumatoError, UsageError

try:
    import resource
except ImportError:  # pragma: no cover  # not a POSIX system
    resource = None  # type: ignore[assignment]

UNITS = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY = {"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}

PROGRAM_BYTES = 400_000_000
"""What Python and its table libraries take before the first row is read (330 MB measured)."""

LEAST_ADDRESS_SPACE = 1_200_000_000
"""Bytes of address space below which libraries cannot be loaded: they reserve far more than they use."""

SMALLEST_BUFFER = 8 << 20
"""No buffer is made smaller than this: smaller ones only cost time."""


@dataclass(frozen=True)
class Memory:
    """`limit` bytes for the whole process, or as much as there is; `spill`: where to put what does not fit.

    Results never depend on it, only where rows wait. Without a folder, the system's temporary one is used.

    >>> Memory.of("4GB").limit, Memory.of("512MiB").limit, Memory.of(None).limit
    (4000000000, 536870912, None)
    """

    limit: int | None = None
    spill: Path | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < PROGRAM_BYTES:
            raise UsageError(
                f"a memory limit of {in_words(self.limit)} is below what the program takes by itself",
                remedy=f"Allow at least {in_words(PROGRAM_BYTES)}.",
            )
        if self.spill is not None and not self.spill.is_dir():
            raise UsageError(
                "the spill folder does not exist", where=str(self.spill), remedy="Make it first."
            )

    @classmethod
    def of(cls, limit: Memory | str | int | None, *, spill: str | Path | None = None) -> Memory:
        """Memory from 4GB, 512MiB, a number of bytes, or `None` for no limit."""
        if isinstance(limit, Memory):
            return limit
        folder = None if spill is None else Path(spill)
        return cls(_bytes(limit) if isinstance(limit, str) else limit, folder)

    @property
    def left(self) -> int:
        """Bytes that may still be taken: of the limit, or of what the machine or its container has."""
        unused = (self.limit or machine_memory()) - resident()
        return max(0, min(unused, address_space_left()))

    @property
    def room(self) -> int:
        """How large a buffer of packed rows may grow: to sort and count it takes some five times as much."""
        return max(SMALLEST_BUFFER, self.left // 10)

    def check(self, need: int, doing: str, remedy: str) -> None:
        """Raise unless `need` more bytes are within the limit, if there is one."""
        if self.limit is None or need <= self.left:
            return
        raise NotEnoughMemory(
            f"{doing} takes about {in_words(need + resident())} of memory, "
            f"and {in_words(self.limit)} are allowed",
            remedy=f"Allow more with --memory, or {remedy}",
        )


def coarser_start(name: str) -> str:
    """The remedy where too many rows differ: begin the column with the most values at a coarser level."""
    return f"let a column begin coarser (`start: 1` in the policy, or higher): {name} has the most values."


def _bytes(text: str) -> int:
    parts = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?i?)b?\s*", text.lower())
    if parts is None or parts[2] == "i":
        raise UsageError("a memory limit is a number and a unit", remedy="Write it as 4GB, 1.5GB or 512MiB.")
    return int(float(parts[1]) * {**UNITS, **BINARY}[parts[2]])


def in_words(count: int) -> str:
    """So many bytes, in words.

    >>> in_words(1_650_000_000), in_words(999)
    ('1.6 GB', '999 B')
    """
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            tenths = f"{int(count * 10 // size) / 10:.1f}" if count < 10 * size else str(count // size)
            return f"{tenths} {unit}"
    return f"{count} B"


NO_ROOM = ("out of memory", "cannot allocate memory", "can't start new thread", "failed to map segment")
"""What the system, the interpreter and libraries say where an allocation, a thread or a library fails."""


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one that it came from, says that the system has no more memory.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("can't start new thread"))
    (True, True)
    """
    causes: list[BaseException] = []
    while error is not None and error not in causes and len(causes) < 20:
        message = "" if isinstance(error, SfumatoError) else str(error).lower()
        if isinstance(error, MemoryError) or any(words in message for words in NO_ROOM):
            return True
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            return True
        causes.append(error)
        error = error.__cause__ or error.__context__
    return False


def resident() -> int:
    """Bytes that this process holds in memory now; 0 where the system does not say."""
    return _pages_of_process(1)


def _pages_of_process(field: int) -> int:
    """Bytes of a figure of this process: 0 is its address space, 1 what it holds; 0 where nothing is told."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[field])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):  # not every system has this call
        return 0


def address_space() -> int | None:
    """Bytes of address space that this process may use (`ulimit -v`); `None` where there is no limit."""
    if resource is None:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else int(limit)


def address_space_left() -> int:
    """Bytes of address space that may still be taken; where there is no limit, more than anybody has."""
    limit = address_space()
    return 1 << 62 if limit is None else max(0, limit - _pages_of_process(0))


def check_address_space() -> None:
    """Raises `NotEnoughMemory` where the limit of the process is below what its libraries need.

    Where there is a limit, OpenBLAS is told to start no threads: it takes 32 MB for each when it is loaded,
    and where it gets none it asks again for ever.
    """
    limit = address_space()
    if limit is not None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if limit is not None and limit < LEAST_ADDRESS_SPACE:
        raise NotEnoughMemory(
            f"this process may use {in_words(limit)} of address space, "
            f"and needs {in_words(LEAST_ADDRESS_SPACE)}",
            remedy="Raise the limit (`ulimit -v`), and bound what is held by --memory instead.",
        )


def machine_memory(root: Path = Path("/")) -> int:
    """Bytes of memory that the machine has, or the control group of this process, whichever is less."""
    try:
        bounds = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (ValueError, OSError, AttributeError):  # not every system has this call
        bounds = [1 << 62]
    group = root / "sys/fs/cgroup"
    limits = [group / "memory.max", group / "memory/memory.limit_in_bytes"]
    try:
        for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            place = Path(path.lstrip("/"))
            if not controllers:
                limits += [group / above / "memory.max" for above in (place, *place.parents)]
    except (OSError, ValueError):
        pass
    for file in limits:
        try:
            bounds.append(int(file.read_text(encoding="ascii")))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return min(bounds)
