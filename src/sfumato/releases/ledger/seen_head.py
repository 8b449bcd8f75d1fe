"""The last head somebody saw, kept beside the key: a ledger that ends before it was rolled back."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Head:
    """Where a ledger ends: the number and the hash of its last entry."""

    number: int
    hash: str


def place(key: Path) -> Path:
    """The file beside a key."""
    return key.with_name(f"{key.name}.seen")


def last_seen(key: Path | None) -> Head | None:
    """The head that was noted; `None` where nothing was, or nothing readable."""
    if key is None:
        return None
    try:
        found = json.loads(place(key).read_text(encoding="utf-8"))
        return Head(int(found["number"]), str(found["hash"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def note(key: Path | None, head: Head) -> None:
    """Remember the head, if it is further than what is noted. A hint: failing to note it harms nothing."""
    known = last_seen(key)
    if key is None or (known is not None and known.number >= head.number):
        return
    part = key.with_name(f".{key.name}.seen.{secrets.token_hex(4)}")
    with contextlib.suppress(OSError):
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"number": head.number, "hash": head.hash}, file)
            part.replace(place(key))
        finally:
            part.unlink(missing_ok=True)
