"""Whoever reads a ledger while others release sees what was before, or what is after, never half of it."""

from __future__ import annotations

import threading

import pytest

from faults.made_up import check_all, release_to_three
from sfumato.releases.ledger.ledger import Ledger

pytestmark = pytest.mark.slow


def read_while_releasing(url, key, out, events):
    """Read again and again while events of three versions are entered; the lengths that were seen."""
    Ledger(url, key=key).close()
    over, seen, wrong = threading.Event(), [], []

    def read():
        with Ledger(url, key=key, readonly=True) as ledger:
            while True:
                last = over.is_set()
                history = ledger.history()
                seen.append(len(history))
                if [record.sequence for record in history] != list(range(1, len(history) + 1)):
                    wrong.append("out of order")
                if not ledger.verify().holds:
                    wrong.append("not whole")
                if last:
                    return

    reader = threading.Thread(target=read)
    reader.start()
    with Ledger(url, key=key) as ledger:
        for number in range(events):
            release_to_three(ledger, out / f"r{number}")
    over.set()
    reader.join()
    assert wrong == []
    assert check_all(url, key, out) == 3 * events
    return seen


def told_whole(seen, events):
    return seen == sorted(seen) and seen[-1] == 3 * events and all(length % 3 == 0 for length in seen)


def test_a_reader_of_sqlite_sees_whole_events(tmp_path, times):
    (tmp_path / "out").mkdir()
    events = times(3, 100)
    seen = read_while_releasing(f"sqlite:///{tmp_path}/l.db", tmp_path / "l.key", tmp_path / "out", events)
    assert told_whole(seen, events)


def test_a_reader_of_postgresql_sees_whole_events(tmp_path, times, cluster):
    (tmp_path / "out").mkdir()
    events = times(3, 100)
    seen = read_while_releasing(cluster.database("readers"), tmp_path / "l.key", tmp_path / "out", events)
    assert told_whole(seen, events)
