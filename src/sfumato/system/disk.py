"""Files that outlast a power cut, and locks on folders."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import select
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from zipfile import BadZipFile
from zlib import error as damaged_part

from sfumato.system.errors import BadData, UsageError
from sfumato.system.progress import stop_request

_BLOCK = 1 << 20

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]


LARGEST_DOCUMENT = 1 << 28
"""Certificates, imprints and the like are read whole, and none is larger."""

LARGEST_LIST = 1 << 26
"""Files that a policy names (knowledge, priors, references) are read whole, and none is larger."""

LARGEST_NOTE = 1 << 20
"""Keys, overrides and notes of ours are short."""

PIPE_PATIENCE = 10.0
"""Seconds to wait for a pipe, such as `<(decrypt policy.yaml)`, to give something."""


NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""Keeps `os.open` from following a link, where the system can."""


def require_locks() -> None:
    """Raises `UsageError` where folders have no locks, as on Windows: two could release at once."""
    if fcntl is None:
        raise UsageError(
            "this system has no locks on folders, without which two releases could meet",
            remedy="Release on Linux or macOS (on Windows: in WSL). Everything else works here.",
        )


def to_disk(path: Path) -> None:
    """Ask the system to keep a file, or the names in a folder, also through a power cut.

    A system that has no locks on folders keeps their names by itself, and wants a file to be writable.
    """
    if fcntl is None and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY if fcntl is not None else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_document(path: Path, *, most: int = LARGEST_DOCUMENT) -> bytes:
    """The bytes of a file that is read whole; refused where there are more than `most`, or no end.

    A pipe is read, too; it is given up where nothing comes out of it for `PIPE_PATIENCE` seconds.
    """
    content = read_start(path, most + 1)
    if len(content) > most:
        raise BadData(f"the file has more than {most} bytes", where=path.name, remedy="Is it the right one?")
    return content


def read_start(path: Path, count: int) -> bytes:
    """The first `count` bytes of a file, a device or a pipe, or as many as there are."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb", buffering=0) as file:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        waits = not stat.S_ISREG(os.fstat(handle).st_mode) and hasattr(select, "poll")
        blocks: list[bytes] = []
        while count > 0:
            if waits:
                _wait_for_bytes(handle, path)
            block = file.read(min(count, _BLOCK))
            if not block:  # the end; `None` where another reader of the pipe was faster
                break
            blocks.append(block)
            count -= len(block)
    return b"".join(blocks)


def _wait_for_bytes(handle: int, path: Path) -> None:
    """Returns when a pipe has something to read, or has ended."""
    events = select.poll()
    events.register(handle, select.POLLIN)
    if not events.poll(PIPE_PATIENCE * 1000):
        raise BadData(
            f"nothing came out of the pipe for {PIPE_PATIENCE:g} seconds",
            where=path.name,
            remedy="Write it to a file first.",
        )


def digest_of(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_to_disk(path: Path, content: bytes) -> None:
    """Write a whole file in place, to disk."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    with os.fdopen(handle, "r+b") as file:
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, content: bytes, *, mode: int, new: bool = False) -> None:
    """Writes a file whole or not at all, to disk, in place of the one that may be there.

    A `new` file replaces none: raises `FileExistsError` where one of its name is there.
    """
    staged = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if new:
            os.link(staged, path)
        else:
            staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)
    to_disk(path.parent)


def remove_folder(folder: Path) -> None:
    """Remove a folder and what is in it; a link is not followed."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


class FolderLock:
    """A lock on a folder, held by this process until it is released or the process ends."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    @classmethod
    def take(cls, folder: Path) -> FolderLock | None:
        """The lock, taken; `None` where another process holds it, or may, or the folder is gone."""
        require_locks()
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_ino == folder.stat().st_ino:
                return cls(handle)
        except OSError:
            pass
        os.close(handle)
        return None

    @classmethod
    def wait(cls, folder: Path, seconds: float) -> FolderLock | None:
        """The lock, as soon as it is free; `None` where it is not within so many seconds."""
        until = time.monotonic() + seconds
        while (lock := cls.take(folder)) is None and time.monotonic() < until:
            time.sleep(0.01)
        return lock

    def release(self) -> None:
        """Let go."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


# Private folders: temporary files that only their owner can read and that do not outlive the call.

PREFIX = "sfumato-private-"


@contextmanager
def private_folder(parent: Path | None = None, *, hidden: bool = False) -> Iterator[Path]:
    """A folder for temporary files that only its owner can open, gone afterwards in all cases.

    It is made in `parent`, by default the system's folder for temporary files; its name may be hidden there.

    A process that is killed cannot clean up; the next call does it. Whoever uses a folder holds a lock on
    it, which ends with the process however it ends: a folder without one is left over, and is removed.
    A request to stop is heeded once the folder is made, and once it is removed, never halfway.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    prefix = f".{PREFIX}" if hidden else PREFIX
    remove_abandoned(place, prefix)
    folder, handle = None, None
    try:
        with stop_request.hold():
            folder, handle = _locked(place, prefix)
            stop_request.folders.add(folder)
        yield folder
    finally:
        with stop_request.hold():
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
                stop_request.folders.discard(folder)
            if handle is not None:
                os.close(handle)


def remove_abandoned(parent: Path, prefix: str = PREFIX) -> None:
    """Remove the folders of processes that are no more."""
    if fcntl is None:
        return
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):  # in use, or somebody else's, or gone meanwhile
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(handle).st_uid == os.getuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def _locked(parent: Path, prefix: str) -> tuple[Path, int | None]:
    """A new folder and the lock on it; made again where another process removed it meanwhile."""
    while True:
        try:
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        except OSError as error:
            raise UsageError(
                f"the folder cannot be written to ({error.strerror})", where=str(parent)
            ) from None
        if fcntl is None:
            return folder, None
        handle = None
        with suppress(OSError):  # a file system without locks: nobody removes it there either
            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
        if folder.is_dir():
            return folder, handle
        if handle is not None:
            os.close(handle)


# Packed files (ZIP): what one raises that is damaged, or packed in a way that is not known here.

DAMAGED = (BadZipFile, damaged_part, EOFError, NotImplementedError, RuntimeError, UnicodeError)
"""Errors of the parts of a file; whoever opens it adds what its own names and folders raise."""
