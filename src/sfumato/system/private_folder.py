"""Private folders: temporary files that only their owner can read and that do not outlive the call."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.core.errors import WrongCall
from sfumato.system.stop_request import stop_request

try:
    import fcntl
except ImportError:  # no such locks on this system: nothing can be known to be left over
    fcntl = None  # type: ignore[assignment]

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
            raise WrongCall(
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
