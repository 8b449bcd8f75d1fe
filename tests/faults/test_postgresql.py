"""The ledger in a PostgreSQL that stops, or whose answers are lost, at the worst moment."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import text

from faults.conftest import report
from faults.erased import enter_people, is_erased
from faults.made_up import check_all, release, release_to_three
from faults.postgresql import Wire
from releases.ledger.dictionary import cells_of, found_by_digest, found_by_name
from releases.ledger.test_growth import statements
from sfumato.cli.main import run
from sfumato.releases.issue import recover
from sfumato.releases.ledger import database
from sfumato.releases.ledger import ledger as ledgers
from sfumato.releases.ledger.backup import backup, restore
from sfumato.releases.ledger.encryption import reading_key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.staging import STEPS
from sfumato.system.errors import BadLedger, Unfinished, UsageError


@pytest.fixture
def place(cluster, tmp_path, request):
    (tmp_path / "out").mkdir()
    name = request.node.name[:40].replace("[", "_").replace("]", "")
    return cluster.database(name), tmp_path / "ledger.key", tmp_path / "out", name


@pytest.fixture
def outage(cluster, monkeypatch):
    """outage(step): what stops the database once, at a step, and the note that it did.

    The database is back when somebody has found it gone and waits before the next try, or when the test ends:
    no clock decides which comes first.
    """
    stopped = []

    def back(_seconds=0):
        if stopped[-1:] == ["stopped"]:
            stopped.append("back")
            cluster.start()

    def stopper(step):
        def stop(passed):
            if passed == step and not stopped:
                stopped.append("stopped")
                cluster.stop()

        return stop, stopped

    monkeypatch.setattr(database, "time", SimpleNamespace(sleep=back, monotonic=time.monotonic))
    yield stopper
    back()


@pytest.mark.parametrize("step", ["staged", "ready", "entered", "committed"])
def test_stopped_and_back_again(place, outage, step):
    """Stopped in mid-commit: the outcome is looked up before the transaction is tried again; one entry."""
    url, key, out, _ = place

    stop, stopped = outage(step)
    release(Ledger(url, key=key), out / "one", at=stop)
    assert stopped == ["stopped", "back"]
    entered = check_all(url, key, out)
    report(f"PostgreSQL stopped at the step {step}, and back again", {"entered": entered})
    assert entered == 1


@pytest.mark.parametrize("step", ["entered", "committed"])
def test_stopped_for_long(place, cluster, monkeypatch, step):
    """While nobody can ask, nothing is decided; then recovery does what the ledger says."""
    url, key, out, _ = place
    monkeypatch.setattr(database, "RETRY_PAUSES", (0.01,))
    ledger = Ledger(url, key=key)

    def stop(passed):
        if passed == step:
            cluster.stop()

    if step == "entered":
        with pytest.raises(Unfinished, match="not known yet"):
            release(ledger, out / "one", at=stop)
        assert not (out / "one").exists()
    else:
        release(ledger, out / "one", at=stop)
    cluster.start()
    entered = [check_all(url, key, out)]
    release(ledger, out / "two")
    entered.append(check_all(url, key, out))
    told = {"recovered": entered[0], "after the next release": entered[1]}
    report(f"PostgreSQL stopped for long at the step {step}", told)
    assert entered == ([1, 2] if step == "committed" else [0, 1])


def test_the_answer_to_the_commit_is_lost(place, cluster):
    """The server has committed, the client never hears of it: one entry, and the same answer."""
    url, key, out, name = place
    with Wire(cluster, cluster.folder / "wire") as wire:
        ledger = Ledger(cluster.url(name, folder=wire.folder), key=key)

        def arm(step):
            wire.armed = step == "entered"

        receipt = release(ledger, out / "one", at=arm)
    assert receipt.record.sequence == 1
    told = {"answers lost": wire.cuts, "entered": check_all(url, key, out)}
    report("PostgreSQL has committed, and its answer is lost", told)
    assert told == {"answers lost": 1, "entered": 1}


def test_opening_while_somebody_else_releases(place, monkeypatch):
    """The head noted beside the key may be newer than the view of the database: nothing was rolled back."""
    url, key, out, _ = place
    other, real, met = Ledger(url, key=key), ledgers.key_in_force, []

    def meanwhile(connection, known, path):
        connection.execute(text("SELECT 1"))  # from here on the view stands
        if not met:
            met.append(True)
            release(other, out / "one")
        return real(connection, known, path)

    with monkeypatch.context() as patched:
        patched.setattr(ledgers, "key_in_force", meanwhile)
        Ledger(url, key=key)
    assert met
    assert check_all(url, key, out) == 1


def test_killed_at_every_step(stage, cluster):
    told = stage("steps", url=cluster.database("steps"))
    assert list(told.values()) == [int(i >= STEPS.index("committed")) for i in range(len(STEPS))]


def test_killed_at_random_moments(stage, times, cluster):
    count = times(5, 100)
    told = stage("moments", count, url=cluster.database("moments"))
    assert told["killed"] == count
    assert told["of these published"] < count


@pytest.mark.parametrize("step", ["staged", "entered", "committed"])
def test_stopped_with_three_versions(place, outage, step):
    url, key, out, _ = place

    stop, stopped = outage(step)
    release_to_three(Ledger(url, key=key), out / "one", at=stop)
    assert stopped == ["stopped", "back"]
    entered = check_all(url, key, out)
    report(f"PostgreSQL stopped at the step {step} of a release in three versions", {"entered": entered})
    assert entered == 3


def test_an_auditor_reads_and_cannot_write(place, cluster):
    """With the rights that the page on the ledger gives them."""
    url, key, out, name = place
    release(Ledger(url, key=key), out / "one")
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "ledger.md").read_text(encoding="utf-8")
    grants = page.partition("```sql\n")[2].partition("```")[0]
    cluster.sql("DROP ROLE IF EXISTS auditor", *grants.strip().rstrip(";").split(";"), name=name)
    seen = cluster.url(name, user="auditor")
    reading_key(Ledger(url, key=key).database).write(out.parent / "auditor.key")
    assert Ledger(seen, readonly=True).verify().closed
    auditor = Ledger(seen, key=out.parent / "auditor.key", readonly=True)
    public = Ledger(url, key=key).public_key
    assert auditor.verify(key=public).holds
    assert [record.sequence for record in auditor.history("main")] == [1]
    with pytest.raises(UsageError, match="reading only"):
        auditor.unstage("x")
    cluster.sql("REVOKE SELECT ON staged FROM auditor", name=name)
    with pytest.raises(BadLedger, match="does not let this role"):
        auditor.verify()
    with pytest.raises(BadLedger, match="does not let this role"):
        release(Ledger(seen, key=key), out / "two")
    cluster.sql("DROP OWNED BY auditor", "DROP ROLE auditor", name=name)


def test_backup_and_move_from_sqlite(place, tmp_path):
    url, key, out, _ = place
    small = f"sqlite:///{tmp_path}/small.db"
    release(Ledger(small, key=key), out / "one")
    backup(Ledger(small, readonly=True), tmp_path / "backup.db")
    moved = restore(tmp_path / "backup.db", url, key=key)
    assert moved.head == Ledger(small, readonly=True).head
    assert recover(moved) == ()
    release(moved, out / "two")
    assert check_all(url, key, out) == 2


def test_keys_change_and_backups_go_back_into_postgresql(place, cluster, tmp_path):
    """A backup of a ledger on a server goes into a new one: the same entries, and the chain goes on."""
    url, key, out, _ = place
    ledger = Ledger(url, key=key)
    old = ledger.public_key
    release(ledger, out / "one")
    assert ledger.rotate() == ledger.public_key != old
    release(Ledger(url, key=key), out / "two")
    assert ledger.verify(key=old).holds
    copy = backup(Ledger(url, readonly=True), tmp_path / "backup.db")
    elsewhere = cluster.database("elsewhere")
    restored = restore(copy, elsewhere, key=key)
    assert restored.history() == ledger.history()
    assert restored.verify(key=old).holds
    release(restored, out / "three")
    assert check_all(elsewhere, key, out) == 3
    with pytest.raises(BadLedger, match="entry 5"):
        restore(copy, cluster.database("late"), key=key)


def test_a_dictionary_finds_nobody_in_the_database(place):
    url, key, _, _ = place
    ledger, people = Ledger(url, key=key), ["canary-one", "canary-two"]
    enter_people(ledger, people)
    cells = cells_of(url.replace("postgresql:", "postgresql+psycopg:"))
    assert found_by_name(cells, people) == set() and found_by_digest(cells, [people]) == []
    assert not is_erased(ledger, people[0]), "the key opens what is there"


def test_the_programs_of_an_auditor(place, cluster, capsys, monkeypatch):
    """`verify` needs the right to read; `history` and `audit --against` a key that opens, too."""
    url, key, out, name = place
    table, policy = out.parent / "people.csv", out.parent / "policy.json"
    table.write_text("zip,disease,month\n" + "021,flu,1\n022,cold,1\n" * 3, encoding="utf-8")
    words = {
        "columns": {
            "zip": {"role": "quasi"},
            "disease": {"role": "sensitive"},
            "month": {"role": "identifier"},
        },
        "promises": [{"continuous": {"k": 2, "since": "month"}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": {"disease": True},
    }
    policy.write_text(json.dumps(words), encoding="utf-8")
    call = ["release", str(table), "-p", str(policy), "--ledger", url, "--key", str(key)]
    assert run([*call, "--into", str(out / "one")]) == 0
    cluster.sql("DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN", name=name)
    cluster.sql("GRANT SELECT ON entries, people, secrets, head, staged, format TO reader", name=name)
    seen = cluster.url(name, user="reader")
    assert run(["ledger", "verify", "--ledger", seen, "--key", f"{key}.pub"]) == 0
    assert run(["history", "--ledger", seen]) == 3
    reading_key(Ledger(url, key=key).database).write(out.parent / "auditor.key")
    monkeypatch.setenv("SFUMATO_LEDGER_KEY", str(out.parent / "auditor.key"))
    assert run(["history", "--ledger", seen]) == 0
    file = str(out / "one" / "data.csv")
    assert run(["audit", file, "-p", str(policy), "--against", seen, "--strict"]) == 0
    assert "it is release 1 of them" in capsys.readouterr().out
    assert run([*call[:4], "--ledger", seen, "--key", str(key), "--into", str(out / "two")]) == 3
    cluster.sql("DROP OWNED BY reader", "DROP ROLE reader", name=name)


def test_a_ledger_in_postgresql_needs_a_key(place):
    with pytest.raises(UsageError, match="needs a key"):
        Ledger(place[0])


@pytest.mark.parametrize("chains", [True, False])
def test_as_many_statements_for_many_releases_as_for_few(cluster, tmp_path, chains):
    few, many = (
        statements(cluster.database(f"growth_{chains}_{n}".lower()), tmp_path / f"{n}.key", n, chains=chains)
        for n in (3, 40)
    )
    assert few == many
