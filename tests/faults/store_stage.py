"""A process that releases into a store in further processes, and harms them.

`python store_stage.py SCENARIO FOLDER URL KEY ADDRESS SERVER STRIDE` prints one JSON document.
It never speaks to the store by itself, so that forking it is safe.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import urllib.request
from pathlib import Path

from faults.made_up import release, release_to_three
from faults.made_up_in_stores import check_store, objects
from faults.stage import child, ended, harm
from sfumato.releases import targets as store
from sfumato.releases.issue import recover
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.staging import STEPS, STORE_STEPS
from sfumato.system.errors import LedgerConflict, UsageError

store.RETRIES = 0


class Stage:
    """Where the ledger is, and where releases go."""

    def __init__(self, folder, url, key, address, server, stride):
        self.folder, self.url, self.key, self.address, self.server = Path(folder), url, key, address, server
        self.number, self.stride = 0, int(stride)

    def ledger(self):
        return Ledger(self.url, key=self.key)

    def next(self):
        self.number += 1
        return f"{self.address}/r{self.number:04d}"

    def check(self, address=None, chain=None):
        """Looked at by another process: this one must stay as it is."""
        told = self.folder / "told"
        told.unlink(missing_ok=True)

        def look():
            seen = check_store(self.url, self.key, address or self.address, self.folder, chain=chain)
            told.write_text(str(seen), encoding="utf-8")

        assert ended(child(look)) == 0
        return int(told.read_text(encoding="utf-8"))

    def fault(self, **told):
        asked = urllib.request.Request(f"{self.server}/_fault", method="PUT", data=json.dumps(told).encode())
        with urllib.request.urlopen(asked) as answer:
            return json.loads(answer.read())["count"]


def steps(stage):
    """kill -9 at every named step."""
    told = {}
    stage.check()
    for step in (*STEPS, *STORE_STEPS):
        target = f"{stage.address}/{step}/r"
        options = {"chain": step, "aside": stage.folder, "at": harm(step, signal.SIGKILL)}
        pid = child(lambda t=target, o=options: release(stage.ledger(), t, **o) and None)
        assert ended(pid) == -signal.SIGKILL, step
        told[step] = stage.check(f"{stage.address}/{step}", step)
    stage.check()
    return told


def requests(stage):
    """kill -9 at requests of a release in three versions, before and after the store has done them."""
    stage.check()
    gate, told = stage.folder / "gate", {}

    def work(number):
        while not gate.exists():
            time.sleep(0.005)
        into = f"{stage.address}/{how}-{number}/r"
        release_to_three(stage.ledger(), into, chain=f"{how}-{number}", aside=stage.folder)

    for how in ("kill", "slay"):
        for number in range(1, 200, stage.stride):
            pid = child(lambda n=number: work(n))
            stage.fault(how=how, first=number, last=number, pid=pid)
            gate.touch()
            code = ended(pid)
            gate.unlink()
            count = stage.fault()
            assert code in (0, -signal.SIGKILL), (how, number, code)
            place = f"{how}-{number}"
            told[f"{how} {number}"] = stage.check(f"{stage.address}/{place}", place)
            if count < number:
                break
    return told


def signals(stage):
    """Ctrl-C and SIGTERM at steps that a store has part in: nothing is left, even before recovery."""
    told = {}
    stage.check()

    def stop(*_):
        raise KeyboardInterrupt

    def work(target, step, number):
        signal.signal(number, stop)
        try:
            release(stage.ledger(), target, aside=stage.folder, at=harm(step, number))
        finally:
            assert len(objects(target)) in (0, 3)
            assert recover(stage.ledger()) == ()

    for number in (signal.SIGINT, signal.SIGTERM):
        for step in (*STORE_STEPS, "ready", "committed", "certified"):
            target = stage.next()
            pid = child(lambda t=target, s=step, n=number: work(t, s, n))
            told[f"{signal.Signals(number).name} {step}"] = ended(pid)
    stage.check()
    return told


def same_target(stage):
    """Four writers of chains of their own want the same place: one of them gets it."""
    target = stage.next()
    stage.check()

    def work(who):
        try:
            release(stage.ledger(), target, chain=f"c{who}", aside=stage.folder)
        except (LedgerConflict, UsageError) as late:
            return late.exit_code
        return 0

    codes = [ended(pid) for pid in [child(lambda w=who: work(w)) for who in range(4)]]
    return {"published": codes.count(0), "refused": codes.count(2) + codes.count(4), "seen": stage.check()}


def main():
    scenario, *words = sys.argv[1:]
    sys.stdout.write(json.dumps(globals()[scenario](Stage(*words))) + "\n")


if __name__ == "__main__":
    main()
