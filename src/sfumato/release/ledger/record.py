"""Records: what the ledger knows of one release, and the checks of a release beside earlier ones."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sfumato.core.json_object import JsonMapping
from sfumato.core.verdict import Verdict
from sfumato.releases.ledger.entry import RELEASE, Entry
from sfumato.releases.ledger.redaction import (
    SALT_BYTES,
    lasting_digest,
    salted_marks,
    salted_memory,
    salted_table,
)
from sfumato.releases.ledger.seals import canonical, digest


@dataclass(frozen=True)
class Record:
    """One release: what was promised, how columns were recoded, what later checks need. Never a row.

    `cuts` maps columns to the node numbers of their cuts, in the taxonomies that `taxonomies` gives the
    digests of; `trees` lets published texts be read as such nodes. `memory` is whatever later
    checks need, as bytes. `figures` are for the history; they are not in the certificate. `files` are the
    written tables and `described` what stands beside them, while the release is being made, and only then. A
    record that is not in the ledger yet has number 0.

    Versions for several recipients are records of one `event`, entered one after the other; `place` is the
    folder of each below that of the event (none where there is one version). `override` says who allowed a
    smaller k, and why; `weaker` who allowed a policy that promises less than the chain's first one, and which
    parts do. `statement` is what the policy promises (`policy/strictness.py`). `table` is the digest of the
    original table, `people` the marks of the people in it, while the release is being made; `despite` names
    chains with the same people that it was not held against. `imported` says that the version was handed out
    without the ledger and entered later: nothing was judged, and nothing is promised of it.
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
    weaker: JsonMapping | None = None
    despite: Sequence[str] = ()
    imported: bool = False
    statement: JsonMapping = field(default_factory=dict, repr=False)
    table: str = ""
    event: str = ""
    place: str = ""
    figures: JsonMapping = field(default_factory=dict)
    memory: bytes = field(default=b"", repr=False)
    people: bytes = field(default=b"", repr=False, compare=False)
    table_salt: bytes = field(default=b"", repr=False, compare=False)
    files: tuple[Path, ...] = field(default=(), compare=False)
    described: tuple[Path, ...] = field(default=(), compare=False)
    number: int = 0
    sequence: int = 0
    hash: str = ""

    @classmethod
    def of(cls, entry: Entry) -> Record:
        """Returns the record that a sealed entry holds."""
        body, kept = json.loads(entry.body), entry.kept_words
        public = {name: body[name] for name in PUBLIC}
        return cls(
            release=entry.release,
            chain=entry.chain,
            **public,
            **{name: body[name] for name in REMARKS if name in body},
            **{name: kept[name] for name in KEPT},
            memory=entry.memory,
            number=entry.number,
            sequence=entry.sequence,
            hash=entry.hash,
        )

    def salted(self, at: str) -> Record:
        """Returns the record as it is entered at a time, with salt for what tells of people."""
        memory, people = salted_memory(self.memory), salted_marks(self.people)
        salt = secrets.token_bytes(SALT_BYTES) if self.table else b""
        table = salted_table(self.table, salt)
        return replace(self, at=at, memory=memory, people=people, table=table, table_salt=salt)

    def entry(self, *, number: int, sequence: int, previous: str, ledger: str) -> Entry:
        """Returns the entry of this record, without a seal."""
        fields = vars(self)
        body = {name: fields[name] for name in PUBLIC}
        body |= {name: fields[name] for name in REMARKS if fields[name]}
        kept = {name: fields[name] for name in KEPT}
        digests = {"memory": digest(self.memory), "people": digest(self.people) if self.people else ""}
        if lasting := lasting_digest(self.memory):
            digests["lasting"] = lasting
        if self.table_salt:
            digests["table_salt"] = digest(self.table_salt)
        return Entry(
            number=number,
            release=self.release,
            chain=self.chain,
            sequence=sequence,
            kind=RELEASE,
            previous=previous,
            body=canonical({**body, "ledger": ledger}),
            kept=canonical({**kept, **digests, "salt": secrets.token_hex(16)}),
            memory=self.memory,
            signer="",
        )


PUBLIC = ("policy", "manifest", "at", "recipient", "verdicts", "versions")
REMARKS = ("weaker", "despite", "imported")
"""Fields that are in a certificate where they say something."""
KEPT = ("taxonomies", "cuts", "trees", "override", "statement", "table", "event", "place", "figures")
"""Fields that stay in the ledger."""


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
