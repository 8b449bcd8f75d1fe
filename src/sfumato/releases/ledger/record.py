"""A record: what the ledger knows of one release."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.verdict import Verdict
from sfumato.releases.ledger.entry import RELEASE, Entry
from sfumato.releases.ledger.seals import canonical, digest


@dataclass(frozen=True)
class Record:
    """One release: what was promised, how columns were recoded, what later checks need. Never a row.

    `cuts` maps columns to the node numbers of their cuts, in the taxonomies that `taxonomies` gives the
    digests of; `trees` lets published texts be read as such nodes. `memory` is whatever the caller wants to
    be told again, as bytes. `figures` are for the history; they are not in the certificate. `files` are the
    written files while the release is being made, and only then. A record that is not in the ledger yet has
    number 0.

    Versions for several recipients are records of one `event`, entered one after the other; `place` is the
    folder of each below that of the event (none where there is one version). `override` tells who allowed a
    smaller k, and why.
    """

    release: str
    chain: str
    policy: str
    manifest: str = ""
    at: str = ""
    recipient: str | None = None
    verdicts: Sequence[Mapping[str, Any]] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    taxonomies: Mapping[str, str] = field(default_factory=dict)
    cuts: Mapping[str, Sequence[int]] | None = None
    trees: Mapping[str, Any] = field(default_factory=dict, repr=False)
    override: Mapping[str, Any] | None = None
    event: str = ""
    place: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)
    memory: bytes = field(default=b"", repr=False)
    files: tuple[Path, ...] = field(default=(), compare=False)
    number: int = 0
    sequence: int = 0
    hash: str = ""

    @classmethod
    def of(cls, entry: Entry) -> Record:
        """What a sealed entry says."""
        body, kept = json.loads(entry.body), json.loads(entry.kept)
        return cls(
            release=entry.release,
            chain=entry.chain,
            **{name: body[name] for name in PUBLIC},
            **{name: kept[name] for name in KEPT if name in kept},
            memory=entry.memory,
            number=entry.number,
            sequence=entry.sequence,
            hash=entry.hash,
        )

    def entry(self, *, number: int, sequence: int, previous: str, ledger: str) -> Entry:
        """The entry to be, still without a seal."""
        body = {name: getattr(self, name) for name in PUBLIC}
        kept = {name: getattr(self, name) for name in KEPT}
        return Entry(
            number=number,
            release=self.release,
            chain=self.chain,
            sequence=sequence,
            kind=RELEASE,
            previous=previous,
            body=canonical({**body, "ledger": ledger}),
            kept=canonical({**kept, "memory": digest(self.memory), "salt": secrets.token_hex(16)}),
            memory=self.memory,
            signer="",
        )


PUBLIC = ("policy", "manifest", "at", "recipient", "verdicts", "versions")
KEPT = ("taxonomies", "cuts", "trees", "override", "event", "place", "figures")
"""What stays in the ledger. Entries that are older than one of these names lack it."""


@dataclass(frozen=True)
class Compared:
    """What came of holding a release against earlier ones: more figures, and verdicts that take the place of
    those on the file alone."""

    figures: Mapping[str, Any] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()


Check = Callable[[Sequence[Record], Record], Mapping[str, Any] | Compared | None]
"""Holds a release against the earlier ones of its chain; raises `RefusedByHistory`, or gives more figures."""


def remembered(content: bytes | Mapping[str, Any] | None) -> bytes:
    """What is to be remembered, as bytes; a document is written in its one canonical way."""
    if content is None:
        return b""
    return content if isinstance(content, bytes) else canonical(content).encode()
