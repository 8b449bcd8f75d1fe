"""Private files of the owner of the data beside what is published: both appear, or neither."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.core.errors import Unfinished
from sfumato.policy.reference import SUFFIX
from sfumato.system.address import SCHEMES
from sfumato.system.disk import NO_LINK, to_disk

try:
    import fcntl
except ImportError:  # no such locks on this system: nothing can be known to be left over
    fcntl = None  # type: ignore[assignment]

StageText = Callable[[str], None]
"""Takes the text that is to be kept."""

STAGED = re.compile(rf"\.(?P<name>.+{re.escape(SUFFIX)})\.[0-9a-f]{{8}}\.staged")
"""The name under which a file waits until what it belongs to is published."""


def discard(text: str) -> None:
    """Keeps nothing, for where nothing is published."""


@contextmanager
def kept_on_success(path: Path) -> Iterator[StageText]:
    """Yields what stages a text before something is published; on success it becomes `path`, else it is gone.

    A file of that name is replaced, or removed where nothing was staged. Only its owner can read it. If
    publishing is `Unfinished`, the text is kept: the release is in the ledger, and only has to be shown. What
    a process that was killed had staged in the same folder is settled first.
    """
    settle_abandoned(path.parent)
    staged = path.with_name(f".{path.name}.{secrets.token_hex(4)}.staged")
    handles: list[int] = []

    def stage(text: str) -> None:
        handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NO_LINK, 0o600)
        held = fcntl is not None
        if held:
            handles.append(handle)
            with suppress(OSError):  # a file system without locks: nobody removes it there either
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with os.fdopen(handle, "w", encoding="utf-8", closefd=not held) as file:
            file.write(text)
            file.flush()
            os.fsync(handle)

    try:
        try:
            yield stage
        except Unfinished:
            _put_in_place(staged, path)
            raise
        except BaseException:
            with suppress(OSError):
                staged.unlink(missing_ok=True)
            raise
        _put_in_place(staged, path)
    finally:
        for handle in handles:
            os.close(handle)


def settle_abandoned(folder: Path) -> None:
    """Settles what killed processes left staged in a folder.

    What belongs to something that was published since becomes visible. What belongs to a release that may
    still be recovered waits for that. The rest is removed.
    """
    for staged, name in _abandoned(folder):
        published = folder / name.removesuffix(SUFFIX)
        if _published_since(published, staged):
            staged.replace(folder / name)
        elif not name.startswith(tuple(f"{scheme}-" for scheme in SCHEMES)) and not any(
            folder.glob(".staged-*")
        ):
            staged.unlink()


def settle_recovered(path: Path, *, published: bool) -> None:
    """Puts in place, or removes, what was staged for `path` by a process that a recovery stood in for."""
    for staged, name in _abandoned(path.parent):
        if name == path.name and published:
            staged.replace(path)
        elif name == path.name:
            staged.unlink()


def _abandoned(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yields staged files of ours that no process holds, with the name that each was to get."""
    if fcntl is None:
        return
    for staged in sorted(folder.glob(f".*{SUFFIX}.*.staged")):
        named = STAGED.fullmatch(staged.name)
        with suppress(OSError):  # in use, somebody else's, or gone meanwhile
            handle = os.open(staged, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if named is not None and os.fstat(handle).st_uid == os.getuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    yield staged, named["name"]
            finally:
                os.close(handle)


def _published_since(published: Path, staged: Path) -> bool:
    """Whether something was published there after the text had been staged: that is written later."""
    try:
        return published.stat().st_mtime_ns >= staged.stat().st_mtime_ns
    except OSError:
        return False


def _put_in_place(staged: Path, path: Path) -> None:
    if staged.exists():
        staged.replace(path)
        to_disk(path.parent)
    else:
        path.unlink(missing_ok=True)
