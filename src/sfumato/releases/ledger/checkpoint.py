"""The checkpoint: how far entries were followed before, with a signed digest of their rows, beside the key.

Rows that have the same digest still are what they were when every hash and signature of them was looked at,
so they are digested, and not looked at one by one. `ledger verify` takes no notice of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from sfumato.releases.ledger.keys import Key, entry_message, signed
from sfumato.system.disk import LARGEST_NOTE, read_document, replace_file
from sfumato.system.errors import BadInput
from sfumato.system.json_object import JsonMapping, read_json

T = TypeVar("T")

# The last head that was seen, kept beside the key: a ledger that ends before it was rolled back.


@dataclass(frozen=True)
class Head:
    """Where a ledger ends: the number and the hash of its last entry."""

    number: int
    hash: str


def seen_head_path(key: Path) -> Path:
    """Returns the path of the file beside a key."""
    return key.with_name(f"{key.name}.seen")


def last_seen(key: Path | None) -> Head | None:
    """Returns the head that was noted; `None` where none was, or none that can be read."""
    if key is None:
        return None
    return _noted(seen_head_path(key), lambda note: Head(int(note["number"]), str(note["hash"])))


def _noted(path: Path, parse: Callable[[JsonMapping], T]) -> T | None:
    """Returns what a note says; `None` where there is none, or none that can be read."""
    try:
        return parse(read_json(read_document(path, most=LARGEST_NOTE)))
    except (OSError, BadInput, ValueError, KeyError, TypeError):
        return None


def note_seen_head(key: Path | None, head: Head, *, instead: bool = False) -> None:
    """Notes the head, if it is further than the one noted before; failing to do so harms nothing.

    It is noted `instead`, however far, where the one noted before is known to be lost.
    """
    before = last_seen(key)
    if key is None or (before is not None and before.number >= head.number and not instead):
        return
    with contextlib.suppress(OSError):
        replace_file(seen_head_path(key), json.dumps(asdict(head)).encode(), mode=0o600)


NOTED_EVERY = 50
"""So many entries are followed one by one before a new checkpoint is worth its file."""


@dataclass(frozen=True)
class Checkpoint:
    """The entries up to `number` were followed; `digest` is that of their rows, `signature` that of both."""

    number: int
    digest: str
    signature: str = ""

    @property
    def message(self) -> bytes:
        """What is signed."""
        return f"sfumato checkpoint {self.number} {self.digest}".encode()

    def is_signed(self, public: str) -> bool:
        """Whether the holder of this key made the checkpoint."""
        return signed(self.message, self.signature, public)


NOWHERE = Checkpoint(0, "")
"""The checkpoint of whoever has followed nothing."""


@dataclass(frozen=True)
class Seal:
    """The part of an entry that its signature is made of, and the signature."""

    hash: str
    signer: str
    signature: str

    def is_signed(self, keys: Collection[str]) -> bool:
        """Whether one of these keys signed the entry, and is the one it names."""
        return self.signer in keys and signed(entry_message(self.hash), self.signature, self.signer)


@dataclass(frozen=True)
class FollowedEntries:
    """All entries, followed to the head: up to `trusted` by a checkpoint, each of the `others` by its hash.

    `digest` is that of all rows.
    """

    trusted: int
    digest: str
    others: tuple[Seal, ...]

    @property
    def number(self) -> int:
        return self.trusted + len(self.others)


def extended(digest: bytes, row: Sequence[object]) -> bytes:
    """Returns the digest of rows to which one more is added, whatever its values are.

    >>> extended(extended(b"", (1, "a")), (2, "b")) == extended(b"", (1, "a", 2, "b"))
    False
    """
    return hashlib.sha256(digest + repr(tuple(row)).encode()).digest()


def checkpoint_path(key: Path) -> Path:
    """Returns the path of the file beside a key."""
    return key.with_name(f"{key.name}.followed")


def last_checkpoint(key: Path | None) -> Checkpoint:
    """Returns the checkpoint beside a key; `NOWHERE` where there is none, or none that can be read."""
    if key is None:
        return NOWHERE
    checkpoint = _noted(
        checkpoint_path(key),
        lambda note: Checkpoint(int(note["number"]), str(note["digest"]), str(note["signature"])),
    )
    return checkpoint or NOWHERE


def note_checkpoint(path: Path | None, followed: FollowedEntries, key: Key, keys: Collection[str]) -> None:
    """Notes that all entries were followed, if many are new and each is signed by one of `keys`.

    Failing to write it harms nothing.
    """
    if path is None or len(followed.others) < NOTED_EVERY:
        return
    if all(seal.is_signed(keys) for seal in followed.others):
        checkpoint = Checkpoint(followed.number, followed.digest)
        checkpoint = Checkpoint(checkpoint.number, checkpoint.digest, key.sign(checkpoint.message))
        with contextlib.suppress(OSError):
            replace_file(checkpoint_path(path), json.dumps(asdict(checkpoint)).encode(), mode=0o600)
