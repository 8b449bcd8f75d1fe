"""Versions for several recipients, issued by several processes at once: all of an event, or none of it."""

from __future__ import annotations

from multiprocessing import get_context

import pytest

from faults.made_up import NAMES, check_all, release_to_three
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.errors import LedgerConflict

pytestmark = pytest.mark.slow

WRITERS = 3


def _release(url, key, into, chain, told):
    with Ledger(url, key=key) as ledger:
        while True:
            try:
                told.put([receipt.record.release for receipt in release_to_three(ledger, into, chain=chain)])
                return
            except LedgerConflict:
                continue


def issue_at_once(url, key, out):
    """All writers of one chain, and again of a chain each."""
    Ledger(url, key=key).close()
    context, entered = get_context("fork"), []
    for chains in (["main"] * WRITERS, [f"c{who}" for who in range(WRITERS)]):
        told = context.SimpleQueue()
        processes = [
            context.Process(target=_release, args=(url, key, out / f"{len(entered)}-{who}", chain, told))
            for who, chain in enumerate(chains)
        ]
        for process in processes:
            process.start()
        entered += [told.get() for _ in processes]
        for process in processes:
            process.join()
            assert process.exitcode == 0
    assert check_all(url, key, out) == 2 * WRITERS * len(NAMES)
    with Ledger(url, key=key, readonly=True) as ledger:
        events = {}
        for record in ledger.history():
            events.setdefault(record.event, []).append(record)
    assert sorted(map(sorted, entered)) == sorted(
        sorted(record.release for record in event) for event in events.values()
    )
    for event in events.values():
        assert tuple(record.recipient for record in event) == NAMES, "in order, and nobody else between them"
        assert [r.number for r in event] == list(range(event[0].number, event[0].number + len(NAMES)))


def test_several_versions_at_once_on_sqlite(tmp_path):
    (tmp_path / "out").mkdir()
    issue_at_once(f"sqlite:///{tmp_path}/ledger.db", tmp_path / "ledger.key", tmp_path / "out")


def test_several_versions_at_once_on_postgresql(tmp_path, cluster):
    (tmp_path / "out").mkdir()
    issue_at_once(cluster.database("versions_at_once"), tmp_path / "ledger.key", tmp_path / "out")
