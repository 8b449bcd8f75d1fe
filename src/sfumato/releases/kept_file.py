"""Keeping a file for the owner of the data beside what is published: both appear, or neither."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.core.errors import Unfinished
from sfumato.system.disk import to_disk

Stage = Callable[[str], None]


def unkept(text: str) -> None:
    """Where nothing is published, nothing is kept."""


@contextmanager
def keeping(path: Path) -> Iterator[Stage]:
    """Stage a text before something is published; it gets its name when that went well, else it is gone.

    A file of that name is replaced, or removed where nothing was staged. Only its owner can read it. Where
    the last step of publishing is still to be taken, the text is kept: what it is about is settled.
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
        _settle(staged, path)
        raise
    except BaseException:
        with suppress(OSError):
            staged.unlink(missing_ok=True)
        raise
    _settle(staged, path)


def _settle(staged: Path, path: Path) -> None:
    if staged.exists():
        staged.replace(path)
        to_disk(path.parent)
    else:
        path.unlink(missing_ok=True)
