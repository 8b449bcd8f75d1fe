"""Four processes that publish the next release of one chain at once, with the promise `continuous`.

`python chain_stage.py SCENARIO FOLDER URL KEY ROUNDS` prints one JSON document.
It never opens a table itself, so that forking it is safe.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import time
from multiprocessing import get_context
from pathlib import Path

from faults.made_up import check_all, visible
from faults.stage import child, ended
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.errors import LedgerConflict, RefusedByHistory

K = 4
SIDES = ("some", "some", "more", "more")
"""What each writer publishes. Beside the first release each is safe, and so are both of a side: they hold the
same people. `more` has two people more than `some`: beside it they would stand alone, and it cannot follow
`more`, whose people it lacks."""
BATCHES = {"first": "1", "some": "12", "more": "123"}
TOWNS = {"north": ["Ahus", "Bro", "Ceka"], "south": ["Dorn", "Elm", "Furt"]}
WORK = {"indoors": ["clerk", "nurse"], "outdoors": ["farmer", "sailor"]}


def policy(purpose):
    """Two purposes: detail about the town above all, or about the work."""
    return {
        "columns": {
            "batch": {"role": "identifier"},
            "town": {"role": "quasi", "taxonomy": {"tree": TOWNS}},
            "work": {"role": "quasi", "taxonomy": {"tree": WORK}},
            "illness": {"role": "sensitive"},
        },
        "promises": [{"continuous": {"k": K, "since": "batch"}}],
        "protect": {
            "search": "top-down",
            "suppress": 0,
            "loss": "loss",
            "weights": {"work" if purpose else "town": 9},
        },
        "confirm": {"illness": True},
    }


def table(number, which):
    """Everybody up to and with the last batch of `which`; other people in every round."""
    import polars as pl  # only in processes that fork no more

    chance = random.Random(number + 1)
    towns, works = ([leaf for leaves in tree.values() for leaf in leaves] for tree in (TOWNS, WORK))
    rows = [
        (batch, chance.choice(towns), chance.choice(works), chance.choice(("flu", "cold", "TB")))
        for batch, people in (("1", 60), ("2", 60), ("3", 2))
        for _ in range(people)
    ]
    everybody = pl.DataFrame(rows, schema=["batch", "town", "work", "illness"], orient="row")
    return everybody.filter(pl.col("batch").is_in(list(BATCHES[which])))


def publish(ledger, into, number, which, *, purpose=0, checks=()):
    import sfumato as sf

    return sf.release(
        table(number, which), policy(purpose), ledger=ledger, into=into, chain=f"c{number}", checks=checks
    )


def write(who, place, rounds, barrier):
    """One of the four: once each round, and again for as long as somebody else was faster."""
    folder, url, key = place
    answers = []
    for number in range(rounds):
        if who == number % 4:
            publish(Ledger(url, key=key), folder / f"{number:04d}-first", number, "first")
        barrier.wait(600)
        waits = [barrier.wait] if number % 2 == 0 else []  # all are judged before any is entered

        def meet(*_, _waits=waits):
            if _waits:
                _waits.pop()(600)

        codes = []
        while not codes or codes[-1] == LedgerConflict.exit_code:
            into = folder / f"{number:04d}-{who}"
            try:
                publish(Ledger(url, key=key), into, number, SIDES[who], purpose=who % 2, checks=[meet])
                codes.append(0)
            except (LedgerConflict, RefusedByHistory) as refused:
                codes.append(refused.exit_code)
                time.sleep(0.01 * who)
        answers.append(codes)
        barrier.wait(600)
    (folder.parent / f"{who}.json").write_text(json.dumps(answers), encoding="utf-8")


def judge(place, rounds):
    """What the ledger accepted: attacked, and made again one after the other.

    Tells in how many rounds even the two of a side, planned as if each were alone, would have been unsafe.
    """
    import sfumato as sf
    from sfumato.table.release_summary import Imprint

    folder, url, key = place
    again = folder.parent / "again"
    again.mkdir()
    ledger, second, unaware = Ledger(url, key=key), Ledger(f"sqlite:///{again}/ledger.db"), 0
    for number in range(rounds):
        history = ledger.history(f"c{number}")
        names = [_name_of(folder, record) for record in history]
        known = [Imprint.from_json(record.memory) for record in history]
        found = sf.attack.correspondence(known, policy(0))
        assert found.holds is True and min(found.FA, found.BA) >= K, (number, str(found))
        seen = sf.attack.correspondence([folder / name / "data.csv" for name in names], policy(0))
        assert seen.holds is True, "nor does anybody learn more who holds the published tables alone"

        _remake(second, again, number, names)
        assert [r.memory for r in second.history(f"c{number}")] == [r.memory for r in history]

        apart = {
            who: sf.protect(table(number, SIDES[who]), policy(who % 2), earlier=known[:1]).imprint
            for who in range(4)
        }
        for some, more in itertools.product((0, 1), (2, 3)):
            crossed = sf.attack.correspondence([known[0], apart[some], apart[more]], policy(0))
            assert crossed.holds is False and crossed.BA < K, "both sides together give somebody away"
        side = [apart[int(name.partition("-")[2])] for name in names[1:]]
        unaware += not sf.attack.correspondence([known[0], *side], policy(0)).holds
    (folder.parent / "unaware.json").write_text(json.dumps(unaware), encoding="utf-8")


def _name_of(folder, record):
    """The folder that holds the certificate of an entry."""
    (name,) = [
        path.name
        for path in visible(folder)
        if json.loads((path / "certificate.json").read_text())["entry"]["release"] == record.release
    ]
    return name


def _remake(ledger, folder, number, names):
    """The same releases in the same order, then the others: those are refused again."""
    publish(ledger, folder / names[0], number, "first")
    accepted = [int(name.partition("-")[2]) for name in names[1:]]
    for who in accepted:
        publish(ledger, folder / f"{number:04d}-{who}", number, SIDES[who], purpose=who % 2)
    for who in set(range(4)).difference(accepted):
        try:
            publish(ledger, folder / "none", number, SIDES[who], purpose=who % 2)
        except RefusedByHistory:
            continue
        raise AssertionError((number, who, "was refused, and is safe"))


def continuous_writers(folder, url, key, rounds):
    """Exactly one side gets in, whole, and the other is told why."""
    place = folder, url, key
    with Ledger(url, key=key):
        pass
    barrier = get_context("fork").Barrier(4)
    pids = [child(lambda w=who: write(w, place, rounds, barrier)) for who in range(4)]
    assert [ended(pid) for pid in pids] == [0] * 4
    told = [json.loads((folder.parent / f"{who}.json").read_text()) for who in range(4)]
    for number, codes in enumerate(zip(*told, strict=True)):
        last = [each[-1] for each in codes]
        assert last in ([0, 0, 5, 5], [5, 5, 0, 0]), (number, codes)
        if number % 2 == 0:
            assert sorted(each[0] for each in codes) == [0, 4, 4, 4], "one was first, three came too late"
        there = {path.name for path in folder.glob(f"{number:04d}-*")}
        assert there == {f"{number:04d}-{who}" for who in ("first", *(w for w in range(4) if not last[w]))}
    entered = check_all(url, key, folder)
    assert entered == 3 * rounds == len(visible(folder))
    assert ended(child(lambda: judge(place, rounds))) == 0
    assert check_all(url, key, folder) == entered
    every = [code for codes in told for each in codes for code in each]
    first = sum(codes[-1] == 0 for codes in told[0])
    return {
        "rounds": rounds,
        "tries": len(every),
        "exit 4": every.count(4),
        "exit 5": every.count(5),
        "entered beside the first": every.count(0),
        "rounds that each side won": [first, rounds - first],
        "rounds unsafe had they not known of each other": json.loads(
            (folder.parent / "unaware.json").read_text()
        ),
    }


def main():
    scenario, folder, url, key, rounds = sys.argv[1:]
    told = globals()[scenario](Path(folder), url, key, int(rounds))
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
