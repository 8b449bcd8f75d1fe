"""Records: what the ledger knows of one release, and the checks of a release beside earlier ones."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.core.json_object import JsonMapping
from sfumato.core.verdict import Verdict
from sfumato.releases.ledger.entry import RELEASE, Entry
from sfumato.releases.ledger.seals import canonical, digest


@dataclass(frozen=True)
class Record:
    """One release: what was promised, how columns were recoded, what later checks need. Never a row.

    `cuts` maps columns to the node numbers of their cuts, in the taxonomies that `taxonomies` gives the
    digests of; `trees` lets published texts be read as such nodes. `memory` is whatever later
    checks need, as bytes. `figures` are for the history; they are not in the certificate. `files` are the
    written files while the release is being made, and only then. A record that is not in the ledger yet has
    number 0.

    Versions for several recipients are records of one `event`, entered one after the other; `place` is the
    folder of each below that of the event (none where there is one version). `override` says who allowed a
    smaller k, and why.
    """

    release: str
    chain: str
    policy: str
    manifest: str = ""
    at: str = ""
    recipient: str | None = None
    verdicts: Sequence[JsonMapping] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    taxonomies: Mapping[str, str] = field(default_factory=dict)
    cuts: Mapping[str, Sequence[int]] | None = None
    trees: JsonMapping = field(default_factory=dict, repr=False)
    override: JsonMapping | None = None
    event: str = ""
    place: str = ""
    figures: JsonMapping = field(default_factory=dict)
    memory: bytes = field(default=b"", repr=False)
    files: tuple[Path, ...] = field(default=(), compare=False)
    number: int = 0
    sequence: int = 0
    hash: str = ""

    @classmethod
    def of(cls, entry: Entry) -> Record:
        """Returns the record that a sealed entry holds."""
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
        """Returns the entry of this record, still without a seal."""
        fields = vars(self)
        body = {name: fields[name] for name in PUBLIC}
        kept = {name: fields[name] for name in KEPT}
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
"""Fields that stay in the ledger. Entries that are older than one of these names lack it."""


@dataclass(frozen=True)
class HistoryComparison:
    """The result of comparing a release with earlier ones: more figures, and verdicts that replace those on
    the file alone."""

    figures: JsonMapping = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()


HistoryCheck = Callable[[Sequence[Record], Record], JsonMapping | HistoryComparison | None]
"""Compares a release with earlier ones of its chain; raises `RefusedByHistory`, or returns more figures."""


def memory_bytes(content: bytes | JsonMapping | None) -> bytes:
    """Returns what is to be remembered as bytes; a document is written in its one canonical form."""
    if content is None:
        return b""
    return content if isinstance(content, bytes) else canonical(content).encode()
