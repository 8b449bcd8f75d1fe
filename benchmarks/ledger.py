"""A ledger of a thousand chains with ten releases each: the next release, the history, the verification."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import polars as pl
from sqlalchemy import Connection

import sfumato as sf
from sfumato.policy.strictness import statement_of
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.notices import append
from sfumato.releases.ledger.record import ReleaseRecord, memory_bytes
from sfumato.table.release_summary import Imprint

POLICY = {
    "columns": {
        "batch": {"role": "identifier"},
        "sex": {"role": "quasi", "taxonomy": {"tree": ["female", "male"]}},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"continuous": {"k": 5, "since": "batch"}}],
    "protect": {"search": "top-down", "suppress": 0},
    "confirm": {"disease": True},
}
EACH = 50


def people(batches: int) -> pl.DataFrame:
    """Everybody of so many batches."""
    rows = [
        (f"{b:02d}", ("female", "male")[i % 2], ("flu", "cold", "measles")[i % 3])
        for b in range(batches)
        for i in range(EACH)
    ]
    return pl.DataFrame(rows, schema=["batch", "sex", "disease"], orient="row")


def filled(url: str, chains: int, releases: int) -> Ledger:
    """A ledger with this many chains, all of the same releases; sealed one by one, stored at once."""
    ledger, kept = Ledger(url), list[Imprint]()
    for i in range(releases):
        kept.append(sf.protect(people(i + 1), POLICY, earlier=kept).imprint)
    stated = statement_of(sf.Policy.from_dict(POLICY))
    memories = [memory_bytes(imprint.as_dict()) for imprint in kept]
    at = ledger.clock().isoformat()

    def work(connection: Connection) -> None:
        number, before, name = ledger.head.number, ledger.head.hash, entries.identity(connection)
        for chain in range(chains):
            for sequence, memory in enumerate(memories, 1):
                figures = {"rows": sequence * EACH, "k": EACH // 2, "loss": 0.5}
                record = ReleaseRecord(
                    uuid.uuid4().hex,
                    f"c{chain}",
                    "0" * 64,
                    at=at,
                    statement=stated,
                    figures=figures,
                    memory=memory,
                )
                number += 1
                entry = record.entry(number=number, sequence=sequence, previous=before, ledger=name)
                before = append(connection, entry, ledger._key).hash

    ledger.write(work)
    return ledger


def cpu(work: Callable[[], object]) -> float:
    """Seconds of the processor."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main(chains: int = 1000, releases: int = 10) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        url, into = f"sqlite:///{folder}/ledger.db", Path(folder)
        ledger = filled(url, chains, releases)
        table = people(releases + 1)
        sf.release(table, POLICY, ledger=url, into=into / "warm", chain="c0", to="registry")
        found = {
            "the next release": cpu(
                lambda: sf.release(table, POLICY, ledger=url, into=into / "next", chain="c1", to="lab")
            ),
            "history": cpu(ledger.history),
            "verify": cpu(ledger.verify),
        }
    of = f"of {chains:,} chains of {releases} releases, CPU s"
    return [
        {"name": f"{name} {of}", "ours": ours, "goal": 2, "ok": ours <= 2} for name, ours in found.items()
    ]
