"""The last head that was seen, kept beside the key: a ledger that ends before it was rolled back."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import BadInput
from sfumato.core.json_object import JsonMapping, read_json
from sfumato.system.disk import LARGEST_NOTE, read_document


@dataclass(frozen=True)
class Head:
    """Where a ledger ends: the number and the hash of its last entry."""

    number: int
    hash: str


def path_beside(key: Path) -> Path:
    """Returns the path of the file beside a key."""
    return key.with_name(f"{key.name}.seen")


def last_seen(key: Path | None) -> Head | None:
    """Returns the head that was noted; `None` where none was, or none that can be read."""
    if key is None:
        return None
    try:
        found = read_json(read_document(path_beside(key), most=LARGEST_NOTE))
        return Head(int(found["number"]), str(found["hash"]))
    except (OSError, BadInput, ValueError, KeyError, TypeError):
        return None


def note(key: Path | None, head: Head, *, instead: bool = False) -> None:
    """Notes the head, if it is further than the one noted before; failing to do so harms nothing.

    It is noted `instead`, however far, where the one noted before is known to be lost.
    """
    known = last_seen(key)
    if key is None or (known is not None and known.number >= head.number and not instead):
        return
    with contextlib.suppress(OSError):
        replace_note(path_beside(key), {"number": head.number, "hash": head.hash})


def replace_note(path: Path, content: JsonMapping) -> None:
    """Writes a note for the owner of a key, in place of the one before: whole, or not at all."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(dict(content), file)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
