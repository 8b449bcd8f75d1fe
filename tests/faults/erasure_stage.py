"""A process in which erasures are killed, and made at once with others and with releases.

`python erasure_stage.py SCENARIO FOLDER URL KEY COUNT` prints one JSON document.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import uuid
from pathlib import Path

from faults.erased import enter_people, envelopes, erase, imprint, is_erased
from faults.made_up import issue, planned
from faults.stage import child, ended, harm
from sfumato.releases.issue import recover
from sfumato.releases.ledger.erasure import ERASURE_STEPS
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.notices import mark_bytes
from sfumato.releases.ledger.record import memory_bytes
from sfumato.table.keyed_hashes import label_marks


def steps(open_ledger, folder, _):
    """kill -9 at every step: nothing, or all of it after a recovery."""
    told = {}
    for step in ERASURE_STEPS:
        who = uuid.uuid4().hex
        enter_people(open_ledger(), [who, "others"])
        (folder / f"{step}.old").write_text("\n".join(old.hex() for old in envelopes(open_ledger())))
        code = ended(child(lambda w=who, s=step: erase(open_ledger(), w, at=harm(s, signal.SIGKILL))))
        assert code == -signal.SIGKILL, (step, code)
        recover(open_ledger())
        assert recover(open_ledger()) == (), "recovering twice is recovering once"
        told[step] = int(is_erased(open_ledger(), who))
        (folder / f"{step}.txt").write_text(who, encoding="utf-8")
    return told


def at_once(open_ledger, folder, count):
    """Several people, each erased by two processes at the same time, after a release about them began."""
    people = [uuid.uuid4().hex for _ in range(count)]
    enter_people(open_ledger(), [*people, "others"])
    begun_note = folder / ".begun"

    def slowly(step):
        if step == "begun":
            begun_note.touch()
        time.sleep(0.2 if step in ("planned", "written") else 0)

    def release():
        marks = mark_bytes(label_marks([*people, "others"]))
        memory = memory_bytes(imprint([*people, "others"]).as_dict())
        version = planned(memory=memory, people=marks)
        issue(open_ledger(), version, into=folder / "late", at=slowly)

    begun = [child(release)]
    while not begun_note.exists():
        time.sleep(0.01)
    begun += [child(lambda w=who: erase(open_ledger(patience=60.0), w)) for who in people for _ in range(2)]
    codes = [ended(pid) for pid in begun]
    recover(open_ledger())
    (folder / "people.txt").write_text("\n".join(people), encoding="utf-8")
    left = [who for who in people if not is_erased(open_ledger(), who)]
    releases = len(open_ledger().history(memory=False))
    return {"codes": sorted(codes[1:]), "release": codes[0], "left": len(left), "releases": releases}


SCENARIOS = {"steps": steps, "at_once": at_once}

if __name__ == "__main__":
    name, folder, url, key, count = sys.argv[1:6]
    played = SCENARIOS[name](lambda **more: Ledger(url, key=key, **more), Path(folder), int(count))
    print(json.dumps(played))
