"""Releases with other columns of the same people, in a ledger: from the first to history and audit."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.errors import RefusedByHistory
from sfumato.journey.overlapping_releases import overlapping
from sfumato.judge.chain.ruling import judge_chain

COLUMNS = {
    "who": {"role": "identifier"},
    "age": {"role": "quasi", "taxonomy": {"tree": {"All": ["young", "old"]}}},
    "place": {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK", "France"]}}},
    "disease": {"role": "sensitive"},
    "wage": {"role": "sensitive"},
}
PEOPLE = pl.DataFrame(
    [
        (f"{age}{place}{had}{wage}{n}", age, place, had, wage)
        for age in ("young", "old")
        for place in ("UK", "France")
        for had in ("Flu", "HIV")
        for wage in ("low", "high")
        for n in range(2)
    ],
    schema=list(COLUMNS),
    orient="row",
)
FIRST, SECOND = ["who", "age", "disease", "wage"], ["who", "place", "disease"]


def policy(names, **keys):
    return {
        "columns": {n: COLUMNS[n] for n in names},
        "promises": [{"continuous": {"k": 3, **keys}}],
        "protect": {"search": "top-down", "suppress": 0},
    }


@pytest.fixture
def go(tmp_path):
    def release(names, into, people=PEOPLE, **keys):
        keys = keys or {"person": "who"}
        ledger = f"sqlite:///{tmp_path}/l.db"
        return sf.release(people.select(names), policy(names, **keys), ledger=ledger, into=tmp_path / into)

    return release


def test_the_same_columns_in_another_order_are_no_other_columns(go):
    """A release is judged beside the others as one of the same columns, and none is refused."""
    names = ["who", "age", "place", "disease"]
    go(names, "first")
    for keys, into in (
        (["place", "age"], "second"),
        (["age", "place"], "third"),
        (["place", "age"], "fourth"),
    ):
        record = go(["who", *keys, "disease"], into).record
        assert "overlaps" not in record.figures
        assert record.figures["FA"] >= 3


def test_history_shows_which_releases_overlap(go, sfumato, tmp_path):
    go(FIRST, "health")
    second = go(SECOND, "places")
    assert second.record.figures["overlaps"] == [1]
    assert "it shows other columns of people in release 1" in str(second.card())
    said = sfumato("history", "--ledger", f"sqlite:///{tmp_path}/l.db")
    assert "other columns of" in said.out and said.code == 0
    listed = sfumato("history", "--ledger", f"sqlite:///{tmp_path}/l.db", "--json").document["releases"]
    assert [release["figures"].get("overlaps") for release in listed] == [None, [1]]
    for names, folder in ((FIRST, "health"), (SECOND, "places")):
        found = sf.audit(
            tmp_path / folder / "data.csv", policy(names, person="who"), against=f"sqlite:///{tmp_path}/l.db"
        )
        assert found.holds and not found.failed and not found.objections


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_a_column_that_the_first_policy_hid_stays_hidden(tmp_path, role):
    """One that it did not know may come as a key or as sensitive, which is judged; not as harmless."""
    hidden = {"wage": {"role": "identifier"}} if role == "sensitive" else {}
    rules = policy(SECOND, person="who")
    first = {**rules, "columns": {**rules["columns"], **hidden}}
    ledger = f"sqlite:///{tmp_path}/l.db"
    sf.release(PEOPLE.select(list(first["columns"])), first, ledger=ledger, into=tmp_path / "first")
    later = {**rules, "columns": {**rules["columns"], "wage": {"role": role}}}
    with pytest.raises(RefusedByHistory, match=r"columns\.wage\.role"):
        sf.release(PEOPLE.select(list(later["columns"])), later, ledger=ledger, into=tmp_path / "later")


def test_people_who_share_nothing_do_not_overlap():
    keys = {"person": "who", "leavers": "unknown"}
    first = sf.protect(PEOPLE.select(FIRST).head(16), policy(FIRST, **keys))
    rest = PEOPLE.select(SECOND).tail(16)
    second = sf.protect(rest, policy(SECOND, **keys), earlier=[first.imprint])
    assert overlapping([first.imprint, second.imprint]) == []
    both = sf.protect(PEOPLE.select(SECOND), policy(SECOND, **keys), earlier=[first.imprint])
    assert overlapping([first.imprint, both.imprint]) == [0]


@pytest.mark.parametrize("name", ["age", "disease"])
@pytest.mark.parametrize("spelled", [str.upper, " {} ".format, str.title], ids=["case", "blanks", "title"])
def test_a_column_whose_name_is_spelled_otherwise_is_refused(go, tmp_path, name, spelled):
    """Taken for another column, it would match nobody, and everybody would seem to keep more candidates."""
    names, other = ["who", "age", "place", "disease"], spelled(name)
    first = go(names, "first")
    renamed = {other if n == name else n: COLUMNS[n] for n in names}
    rules = {**policy(names, person="who"), "columns": renamed}
    with pytest.raises(RefusedByHistory, match="under another spelling") as refused:
        ledger = f"sqlite:///{tmp_path}/l.db"
        sf.release(PEOPLE.select(names).rename({name: other}), rules, ledger=ledger, into=tmp_path / "later")
    assert "as that release did" in refused.value.remedy
    words = first.record.memory.decode()
    later = json.loads(words.replace(f'"{name}"', json.dumps(other)))
    with pytest.raises(RefusedByHistory, match="spells otherwise"):
        judge_chain([json.loads(words), later], 3)


def test_a_column_beside_another_of_nearly_its_name_is_a_column_of_its_own(go, monkeypatch):
    """A table that has both columns means two: neither is taken for the other."""
    monkeypatch.setitem(COLUMNS, "Age", COLUMNS["place"])
    people = PEOPLE.with_columns(Age=pl.col("place"))
    go(["who", "age", "disease"], "first", people)
    second = go(["who", "age", "Age", "disease"], "second", people)
    assert second.record.figures["overlaps"] == [1]
