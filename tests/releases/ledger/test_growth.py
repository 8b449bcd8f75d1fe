"""Many releases: how often the database is asked does not grow with them, page by page apart."""

from __future__ import annotations

import uuid

import pytest
from sqlalchemy import Engine, event

from sfumato.releases.issue import recover
from sfumato.releases.ledger import cross_chain_overlap
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.system.errors import RefusedByHistory

pytestmark = pytest.mark.slow


def fill(ledger, count, *, chains):
    """Enter releases; the hash that the next one follows."""
    after = ""
    for number in range(count):
        chain = f"c{number}" if chains else "main"
        people = number.to_bytes(16, "little") if chains else b""
        record = ReleaseRecord(
            uuid.uuid4().hex, chain, "p" * 64, memory=b"kept", people=people, table=f"{number}"
        )
        after = ledger.commit(record, after=after if not chains else "", staged=False).hash
    return "" if chains else after


def asked(work):
    """How many statements something sends."""
    statements = []

    def note(*words):
        statements.append(words[2])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    return len(statements)


def statements(url, key, count, *, chains):
    """How often a ledger with so many releases is asked: by each of what is done with it."""
    ledger = Ledger(url, key=key)
    after = fill(ledger, count, chains=chains)
    following = ReleaseRecord(
        uuid.uuid4().hex, "next" if chains else "main", "p" * 64, people=bytes(range(16)), table="next"
    )
    return [
        asked(ledger.verify),
        asked(ledger.history),
        asked(lambda: recover(ledger)),
        asked(lambda: Ledger(url, key=key)),
        asked(lambda: ledger.commit(following, after=after, staged=False)),
    ]


@pytest.mark.parametrize("chains", [True, False])
def test_as_many_statements_for_many_releases_as_for_few(tmp_path, chains):
    few, many = (
        statements(f"sqlite:///{tmp_path}/{count}.db", tmp_path / f"{count}.key", count, chains=chains)
        for count in (3, 40)
    )
    assert few == many


def test_everybody_is_met_in_every_page(tmp_path, monkeypatch):
    """The people of all other chains are looked at, however many pages they fill."""
    monkeypatch.setattr(cross_chain_overlap, "ENTRIES_AT_ONCE", 3)
    monkeypatch.setattr(cross_chain_overlap, "CELLS_AT_ONCE", 2)
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    fill(ledger, 8, chains=True)
    assert ledger.verify().holds
    for number in range(8):
        again = ReleaseRecord(uuid.uuid4().hex, "next", "p" * 64, people=number.to_bytes(16, "little"))
        with pytest.raises(RefusedByHistory, match=f"chain c{number} of this ledger has 1 person"):
            ledger.check_elsewhere([again])
    ledger.check_elsewhere([ReleaseRecord("x", "next", "p" * 64, people=(99).to_bytes(16, "little"))])
