"""A process in which changes of a ledger are killed before every statement that they send to the database.

`python life_stage.py CHANGE FOLDER URL KEY COUNT` prints one JSON document. Each change is tried in a process
of its own, which is killed at its first statement, then COUNT statements later, and so on until one comes
through.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import uuid
from pathlib import Path

from sqlalchemy import Engine, event

from faults.erased import enter_people, erase, is_erased
from faults.stage import child, ended
from sfumato.releases.issue import recover
from sfumato.releases.ledger.backup import backup, restore
from sfumato.releases.ledger.erasure import retire, withdraw, withdrawals
from sfumato.releases.ledger.keys import public_keys
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import ReleaseRecord


def enter(ledger, chain, **more):
    """Enter a release of nothing; its id."""
    history = ledger.history(chain, memory=False)
    record = ReleaseRecord(uuid.uuid4().hex, chain, "p" * 64, memory=b"kept", **more)
    ledger.commit(record, after=history[-1].hash if history else "", staged=False)
    return record.release


class KilledAt:
    """Kills this process before its `count`-th statement or commit."""

    def __init__(self, count):
        self.left = count
        event.listen(Engine, "before_cursor_execute", self.step)
        event.listen(Engine, "commit", self.step)

    def step(self, *_):
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Change:
    """One kind of change: `begin` makes what is changed, `do` changes it, `done` says whether it is."""

    def __init__(self, url, key, folder):
        self.url, self.key, self.folder = url, key, Path(folder)
        self.subject = None

    def ledger(self):
        return Ledger(self.url, key=self.key)


class Withdrawal(Change):
    def begin(self):
        self.subject = enter(self.ledger(), "main")

    def do(self):
        withdraw(self.ledger(), self.subject, reason="wrong")

    def done(self):
        return self.subject in withdrawals(self.ledger())


class Retirement(Change):
    def begin(self):
        self.subject = uuid.uuid4().hex
        enter(self.ledger(), self.subject, people=bytes(16), recipient=self.subject)

    def do(self):
        retire(self.ledger(), self.subject)

    def done(self):
        ledger = self.ledger()
        kept = [record.memory for record in ledger.history(self.subject)]
        told = any(self.subject in remark for remark in ledger.verify().remarks)
        assert kept == ([b""] if told else [b"kept"]), "deleted with a notice, or neither"
        return told


class Rotation(Change):
    def begin(self):
        self.subject = self.ledger().public_key

    def do(self):
        self.ledger().rotate()

    def done(self):
        ledger = self.ledger()
        assert public_keys(self.key.with_name(f"{self.key.name}.pub")) == ledger.dated_keys
        return ledger.public_key != self.subject


class Restoration(Change):
    """Into the one empty database, with an entry that is lost."""

    def begin(self):
        if self.subject is None:
            old = Ledger(f"sqlite:///{self.folder}/old.db", key=self.key)
            enter(old, "main")
            self.subject = backup(old, self.folder / "copy.db")
            enter(old, "main")  # noted beside the key, and not in the backup

    def do(self):
        restore(self.subject, self.url, key=self.key, accept_loss=True)

    def done(self):
        if not Ledger(f"sqlite:///{self.folder}/old.db", readonly=True).verify().holds:
            raise AssertionError
        try:
            return Ledger(self.url, readonly=True).head.number == 3
        except Exception:  # nothing is there yet, or an empty file
            return False


class Erasure(Change):
    """Whoever is not erased yet is tried again, so that the ledger does not grow with every kill."""

    def begin(self):
        if self.subject is None or self.done():
            self.subject = uuid.uuid4().hex
            enter_people(self.ledger(), [self.subject, "others", "more"])

    def do(self):
        erase(self.ledger(), self.subject)

    def done(self):
        recover(self.ledger())
        return is_erased(self.ledger(), self.subject)


CHANGES = {
    "withdraw": Withdrawal,
    "retire": Retirement,
    "rotate": Rotation,
    "restore": Restoration,
    "erase": Erasure,
}


def killed_at_statements(change, stride):
    """Try until a change comes through; how often it was killed, and how often it counted all the same."""
    told = {"killed": 0, "counted": 0}
    while True:
        change.begin()

        def work(count=told["killed"] * stride):
            KilledAt(count)
            change.do()

        code = ended(child(work))
        done = change.done()
        if not isinstance(change, Restoration) or done:
            verification = change.ledger().verify()
            assert verification.holds, verification.faults
        if code == 0:
            assert done
            return told
        assert code == -signal.SIGKILL, code
        told["killed"] += 1
        told["counted"] += done
        if isinstance(change, Restoration) and done:
            return told


if __name__ == "__main__":
    name, folder, url, key, stride = sys.argv[1:6]
    print(json.dumps(killed_at_statements(CHANGES[name](url, Path(key), folder), int(stride))))
