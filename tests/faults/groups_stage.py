"""A process that releases a chain of groups in further processes, and harms them.

`python groups_stage.py SCENARIO FOLDER URL KEY COUNT` prints one JSON document.
It never opens a table itself, so that forking it is safe.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import sys
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from faults.made_up import check_all, visible
from faults.stage import child, ended, harm
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.staging import STEPS
from sfumato.system.errors import LedgerConflict

K = 3
POLICY = {
    "columns": {
        "person": {"role": "identifier"},
        "town": {"role": "quasi", "taxonomy": {"tree": {"north": ["Ahus", "Bro"], "south": ["Cora"]}}},
        "illness": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": K}}],
    "person": "person",
    "chain": {},
    "confirm": {"illness": True},
}


def table(batches):
    """Twelve people of each batch; those of the first come again with every later one."""
    import polars as pl  # only in processes that fork no more

    chance, rows = random.Random(5), []
    for batch in range(1, batches + 1):
        rows += [
            (f"{batch}-{number}", chance.choice(("Ahus", "Bro", "Cora")), chance.choice("abc"))
            for number in range(12)
        ]
    rows += [(f"1-{number}", chance.choice(("Ahus", "Bro", "Cora")), "a") for number in range(4)]
    return pl.DataFrame(rows, schema=["person", "town", "illness"], orient="row")


def publish(place, into, batches, *, chain="main", at=None, checks=()):
    import sfumato as sf
    from sfumato.workflows import release as verb

    if at is not None:
        begin = verb.begin
        verb.begin = lambda *words, **options: begin(*words, **options, at=at)
    sf.release(
        table(batches), POLICY, ledger=Ledger(place[1], key=place[2]), into=into, chain=chain, checks=checks
    )


def bases(place):
    """The files of bases, oldest names first, and how many of them the ledger names."""
    from sfumato.releases.base_file import BaseStore
    from sfumato.releases.ledger.record import notes_of_groups

    ledger = Ledger(place[1], key=place[2])
    there = {path.name for path in BaseStore.of(ledger).folder.glob("*")}
    last = {record.chain: record.memory for record in ledger.history()}
    named = {notes_of_groups(memory)["base"] for memory in last.values()}
    assert named <= there, "the base of the last release is there"
    for memory in last.values():
        BaseStore.of(ledger).open(memory)
    return len(there), len(named)


def checked(place):
    """The number of releases, in a process of its own; and the files of bases."""
    with get_context("spawn").Pool(1) as pool:
        count = pool.apply(check_all, (place[1], place[2], place[0]))
        return count, (pool.apply(bases, (place,)) if count else (0, 0))


def steps(place):
    """kill -9 at every named step; the chain goes on after each."""
    told, batches = {}, 1
    assert ended(child(lambda: publish(place, place[0] / "r0", 1))) == 0
    before, _ = checked(place)
    for number, step in enumerate(STEPS):
        into = place[0] / f"r{number + 1}"
        work = partial(publish, place, into, batches + 1, at=harm(step, signal.SIGKILL))
        code = ended(child(work))
        assert code == -signal.SIGKILL, (step, code)
        after, (there, named) = checked(place)
        assert named == 1
        assert there <= 3 + number
        told[step], before = after - before, after
        batches += told[step]
    assert ended(child(lambda: publish(place, place[0] / "last", batches + 1))) == 0
    check_chain(place)
    return told


def small_files(place):
    """A limit on the size of files, in the place of a full disk, at many sizes."""
    told = {}
    assert ended(child(lambda: publish(place, place[0] / "r0", 1))) == 0
    before, _ = checked(place)

    def work(into, limit):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        publish(place, into, 2)

    for limit in (100, 1500, 3000, 5000, 7000, 9000, 20_000, 1 << 22):
        into = place[0] / f"r{limit}"
        code = ended(child(lambda t=into, n=limit: work(t, n)))
        after, (_, named) = checked(place)
        assert named == 1
        assert code in (0, 3), (limit, code)
        assert (code == 0) == (after > before) == into.exists()
        told[limit], before = code, after
    check_chain(place)
    return told


def writers(place, rounds):
    """Four who release the next table at once; one wins, the others try again."""
    assert ended(child(lambda: publish(place, place[0] / "r0", 1))) == 0
    context = get_context("fork")
    barrier = context.Barrier(4)

    def write(who):
        for number in range(rounds):
            barrier.wait(600)
            while True:
                try:
                    publish(place, place[0] / f"w{number}-{who}", 2 + number)
                    break
                except LedgerConflict:
                    continue
            barrier.wait(600)

    processes = [context.Process(target=write, args=(who,)) for who in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    count, (there, named) = checked(place)
    assert (there, named) == (1, 1)
    check_chain(place)
    return count


def check_chain(place):
    """Rows once published stay, and new ones stand in classes of their own."""
    import csv
    from collections import Counter

    with get_context("spawn").Pool(1) as pool:
        order = pool.apply(folders_in_order, (place,))
    earlier = Counter()
    for folder in order:
        with (folder / "data.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        now = Counter((row["town"], row["illness"], row.get("bare_row", "no")) for row in rows)
        assert not earlier - now
        added = Counter()
        for (town, _, bare), count in (now - earlier).items():
            added[town] += count * (bare == "no")
        assert all(count == 0 or count >= K for count in added.values())
        earlier = now


def folders_in_order(place):
    found = {}
    for path in visible(place[0]):
        entry = json.loads((path / "certificate.json").read_text())["entry"]
        found[entry["number"]] = path
    return [found[number] for number in sorted(found)]


if __name__ == "__main__":
    scenario, folder, url, key, count = sys.argv[1:]
    here = (Path(folder), url, Path(key))
    answers = {"steps": steps, "small_files": small_files, "writers": lambda p: writers(p, int(count))}
    print(json.dumps(answers[scenario](here)))
