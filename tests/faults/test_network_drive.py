"""A ledger in a file on a network drive is told of: locks cannot be relied on there."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.releases.ledger import database
from sfumato.releases.ledger.database import SHARED_DRIVES, LedgerDatabase


@pytest.fixture
def mounts(tmp_path, monkeypatch):
    """Says what is mounted where the ledger will be."""
    told = tmp_path / "mounts"

    class Machine(type(tmp_path)):
        def read_text(self, *args, **options):
            return Path.read_text(told if str(self) == "/proc/self/mounts" else self, *args, **options)

    def mount(kind):
        lines = [
            "sysfs /sys sysfs rw 0 0",
            "disk / ext4 rw 0 0",
            f"server:/x {tmp_path}/share {kind} rw 0 0",
            "odd",
        ]
        told.write_text("\n".join(lines), encoding="utf-8")

    monkeypatch.setattr(database, "Path", Machine)
    return mount


@pytest.mark.parametrize("kind", sorted(SHARED_DRIVES))
def test_a_ledger_on_a_network_drive_is_told_of(tmp_path, mounts, kind):
    mounts(kind)
    assert LedgerDatabase(f"sqlite:///{tmp_path}/share/ledger.db").on_a_shared_drive
    assert not LedgerDatabase(f"sqlite:///{tmp_path}/ledger.db").on_a_shared_drive


def test_a_disk_of_this_machine_is_none(tmp_path, mounts):
    mounts("xfs")
    assert not LedgerDatabase(f"sqlite:///{tmp_path}/share/ledger.db").on_a_shared_drive
