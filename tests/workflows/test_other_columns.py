"""Releases of a chain show the same columns, in any order, under the same names and in the same roles."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from oracles.chain_rulings import judge_chain
from sfumato.system.errors import RefusedByHistory

pytestmark = pytest.mark.slow

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


def confirmed(columns):
    """Their sensitive columns, which a promise about several releases does not protect, by name."""
    return {name: True for name, rule in columns.items() if rule["role"] == "sensitive"}


def policy(names, **keys):
    columns = {n: COLUMNS[n] for n in names}
    return {
        "columns": columns,
        "promises": [{"continuous": {"k": 3, **keys}}],
        "protect": {"search": "top-down", "suppress": 0},
        "confirm": confirmed(columns),
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
        assert go(["who", *keys, "disease"], into).record.figures["FA"] >= 3


@pytest.mark.parametrize("later", [["who", "place", "disease"], ["who", "age", "place", "disease", "wage"]])
def test_a_column_that_the_first_policy_did_not_know_is_refused(go, later):
    go(["who", "age", "disease", "wage"], "first")
    with pytest.raises(RefusedByHistory, match=r"columns\.place\.role: not there, now quasi"):
        go(later, "later")


def test_a_column_that_is_shown_no_more_is_refused(go):
    go(["who", "age", "place", "disease"], "first", person="who")
    with pytest.raises(RefusedByHistory, match="release 1 showed other columns: 2 key columns") as refused:
        go(["who", "place", "disease"], "later", person="who")
    assert "or start a new chain" in refused.value.remedy


def test_both_attack_and_judge_refuse_releases_with_other_columns():
    made = [
        sf.protect(PEOPLE.select(names), policy(names, person="who")).imprint for names in (FIRST, SECOND)
    ]
    with pytest.raises(RefusedByHistory, match="release 1 showed other columns"):
        sf.attack.correspondence(made, policy(SECOND, person="who"))
    with pytest.raises(RefusedByHistory, match="do not show the same columns"):
        judge_chain([imprint.as_dict() for imprint in made], 3)


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_a_column_that_the_first_policy_hid_stays_hidden(tmp_path, role):
    hidden = {"wage": {"role": "identifier"}} if role == "sensitive" else {}
    rules = policy(SECOND, person="who")
    first = {**rules, "columns": {**rules["columns"], **hidden}}
    ledger = f"sqlite:///{tmp_path}/l.db"
    sf.release(PEOPLE.select(list(first["columns"])), first, ledger=ledger, into=tmp_path / "first")
    columns = {**rules["columns"], "wage": {"role": role}}
    later = {**rules, "columns": columns, "confirm": confirmed(columns)}
    with pytest.raises(RefusedByHistory, match=r"columns\.wage\.role"):
        sf.release(PEOPLE.select(list(later["columns"])), later, ledger=ledger, into=tmp_path / "later")


@pytest.mark.parametrize("name", ["age", "disease"])
@pytest.mark.parametrize("spelled", [str.upper, " {} ".format, str.title], ids=["case", "blanks", "title"])
def test_a_column_whose_name_is_spelled_otherwise_is_refused(go, tmp_path, name, spelled):
    """Taken for another column, it would match nobody, and everybody would seem to keep more candidates."""
    names, other = ["who", "age", "place", "disease"], spelled(name)
    first = go(names, "first")
    renamed = {other if n == name else n: COLUMNS[n] for n in names}
    rules = {**policy(names, person="who"), "columns": renamed, "confirm": confirmed(renamed)}
    people = PEOPLE.select(names).rename({name: other})
    with pytest.raises(RefusedByHistory, match="not there, now"):
        sf.release(people, rules, ledger=f"sqlite:///{tmp_path}/l.db", into=tmp_path / "later")
    words = first.record.memory.decode()
    with pytest.raises(RefusedByHistory, match="showed other columns") as refused:
        sf.protect(
            people, rules, earlier=[sf.protect(PEOPLE.select(names), policy(names, person="who")).imprint]
        )
    assert "under the same names" in refused.value.remedy
    later = json.loads(words.replace(f'"{name}"', json.dumps(other)))
    with pytest.raises(RefusedByHistory, match="do not show the same columns"):
        judge_chain([json.loads(words), later], 3)
