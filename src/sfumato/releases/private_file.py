"""Private files of the owner of the data beside what is published: both appear, or neither."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.core.errors import Unfinished
from sfumato.system.disk import to_disk

StageText = Callable[[str], None]
"""Takes the text that is to be kept."""


def discard(text: str) -> None:
    """Keeps nothing, for where nothing is published."""


@contextmanager
def kept_on_success(path: Path) -> Iterator[StageText]:
    """Yields what stages a text before something is published; on success it becomes `path`, else it is gone.

    A file of that name is replaced, or removed where nothing was staged. Only its owner can read it. If
    publishing is `Unfinished`, the text is kept: the release is in the ledger, and only has to be shown.
    """
    staged = path.with_name(f".{path.name}.{secrets.token_hex(4)}.staged")

    def stage(text: str) -> None:
        handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

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


def _put_in_place(staged: Path, path: Path) -> None:
    if staged.exists():
        staged.replace(path)
        to_disk(path.parent)
    else:
        path.unlink(missing_ok=True)
