"""A chain of releases in a ledger: each is planned and checked beside all earlier ones."""

from __future__ import annotations

import json
from contextlib import contextmanager

import polars as pl
import pytest

import sfumato as sf
from sfumato.system.errors import BadData, RefusedByHistory
from sfumato.workflows import delivery

pytestmark = pytest.mark.slow

POLICY = {
    "columns": {
        "quarter": {"role": "identifier"},
        "place": {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK", "France"]}}},
        "job": {"role": "quasi", "taxonomy": {"tree": {"Professional": ["Lawyer", "Doctor"]}}},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"continuous": {"k": 5, "since": "quarter"}}],
    "protect": {"search": "top-down", "suppress": 0, "loss": "discernibility"},
    "confirm": {"disease": True},
}
ALONE = {**POLICY, "promises": [{"k-anonymity": {"k": 5}}]}
ROWS = (
    [("Q1", "UK", "Lawyer", "Flu")] * 3
    + [("Q1", "France", "Lawyer", "HIV")] * 2
    + [("Q2", "France", "Lawyer", "HIV")]
    + [("Q2", "France", "Doctor", "Flu")] * 2
    + [("Q2", "UK", "Doctor", "HIV"), ("Q2", "UK", "Lawyer", "HIV")]
)
PEOPLE = pl.DataFrame(ROWS, schema=list(POLICY["columns"]), orient="row")
FIRST = PEOPLE.filter(pl.col("quarter") == "Q1")


@pytest.fixture
def go(tmp_path):
    """Release into a folder of this name."""

    def release(people, policy, name, **more):
        return sf.release(people, policy, ledger=f"sqlite:///{tmp_path}/l.db", into=tmp_path / name, **more)

    return release


def test_the_second_release_is_safe_beside_the_first(go, tmp_path):
    """At k = 5 the tables of the paper's example are safe alone and give people away together."""
    first, second = sf.protect(FIRST, POLICY), sf.protect(PEOPLE, POLICY)
    assert sf.attack.correspondence([first.imprint, second.imprint], POLICY).holds is False
    one, two = go(FIRST, POLICY, "one"), go(PEOPLE, POLICY, "two")
    assert (one.record.sequence, two.record.sequence) == (1, 2)
    assert two.record.figures["FA"] >= 5 and two.record.figures["BA"] >= 5
    stored = (tmp_path / "l.db").read_bytes()
    assert b"Lawyer" not in stored and b"HIV" not in stored


def test_comparing_and_entering_are_phases_of_their_own(go, tmp_path):
    phases = []

    def told(phase, done, total=None):
        phases.append((phase, done, total))

    go(FIRST, POLICY, "one", progress=told)
    assert phases[-2:] == [("enter in the ledger", 0, 1), ("enter in the ledger", 1, 1)]
    assert "beside earlier releases" not in {phase for phase, *_ in phases}
    go(PEOPLE, POLICY, "two", progress=told)
    last = [phase for phase in phases[-6:] if phase[0] in ("beside earlier releases", "enter in the ledger")]
    assert ("beside earlier releases", 1, 1) in last and last[-1] == ("enter in the ledger", 1, 1)
    phases.clear()
    sf.audit(tmp_path / "two" / "data.csv", POLICY, against=f"sqlite:///{tmp_path}/l.db", progress=told)
    strikes = [(phase, done, total) for phase, done, total in phases if phase.startswith("attack")]
    assert len(strikes) > 3 and strikes[-1][1] == strikes[-1][2]
    assert phases[-1][0] == "beside earlier releases"


def test_a_plan_that_forgets_the_first_release_is_refused(go, tmp_path, monkeypatch):
    go(FIRST, POLICY, "one")
    forgetful = sf.protect(PEOPLE, POLICY)
    monkeypatch.setattr(delivery, "plan_table", lambda *_, **__: forgetful)
    with pytest.raises(RefusedByHistory, match="fewer than 5 people are possible"):
        go(PEOPLE, POLICY, "two")
    assert not (tmp_path / "two").exists()


def test_the_ledger_remembers_what_the_plan_left(go):
    go(FIRST, POLICY, "one")
    two = go(PEOPLE, POLICY, "two")
    planned = sf.protect(PEOPLE, POLICY, earlier=[sf.protect(FIRST, POLICY).imprint])
    assert json.loads(two.record.memory) == planned.imprint.as_dict()


def test_a_policy_that_does_not_look_back_is_refused(go, tmp_path):
    assert go(FIRST, ALONE, "one").record.is_of_groups
    with pytest.raises(RefusedByHistory, match="nothing tells who is in earlier releases"):
        go(PEOPLE, ALONE, "two")
    with pytest.raises(RefusedByHistory, match="is one of groups, and goes on as one alone"):
        go(PEOPLE, {**POLICY, "promises": ALONE["promises"] + POLICY["promises"]}, "two")
    assert not (tmp_path / "two").exists()
    assert go(PEOPLE, ALONE, "two", chain="other people").record.sequence == 1


def test_people_who_vanish_are_refused(go, tmp_path):
    go(FIRST, POLICY, "one")
    with pytest.raises(RefusedByHistory):
        go(PEOPLE.filter(pl.col("quarter") == "Q2"), POLICY, "two")
    assert not (tmp_path / "two").exists()


def test_bytes_that_differ_from_what_is_remembered_are_refused(go, tmp_path, monkeypatch):
    honest = delivery.version_writer

    @contextmanager
    def careless(*given, **more):
        with honest(*given, **more) as write:

            def write_carelessly(recoding, path, witness):
                write(recoding, path, witness)
                lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
                path.write_text("".join([lines[0], lines[1], *lines[1:-1]]), encoding="utf-8")

            yield write_carelessly

    monkeypatch.setattr(delivery, "version_writer", careless)
    with pytest.raises(BadData, match="later releases would be checked against"):
        go(FIRST, POLICY, "one")
    assert not (tmp_path / "one").exists()
