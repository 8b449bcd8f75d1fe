"""With the history in view: protect, release and audit beside what a ledger remembers."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.system.errors import RefusedByHistory, UsageError
from sfumato.workflows import protect_file as protect_file_module
from sfumato.workflows.protect_file import protect_file
from workflows.test_chain import ALONE, FIRST, PEOPLE, POLICY

pytestmark = pytest.mark.slow

LEDGER = "sqlite:///l.db"
AGAINST = ("--against", LEDGER)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The first release is out; the second table lies ready."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(json.dumps(POLICY), encoding="utf-8")
    PEOPLE.write_csv(tmp_path / "people.csv")
    sf.release(FIRST, POLICY, ledger=LEDGER, into=tmp_path / "one")
    return tmp_path


RELEASE = ("release", "people.csv", "-p", "policy.yaml", "--ledger", LEDGER, "--into")
PROTECT = ("protect", "people.csv", "-p", "policy.yaml", "-o")
AUDIT = ("audit", "-p", "policy.yaml")


def test_protect_and_release_agree(sfumato, home):
    said = sfumato(*PROTECT, "safe.csv", *AGAINST)
    assert said.code == 0, said.err
    assert "the ledger does not know of it" in said.err
    assert len(sf.Ledger(LEDGER, readonly=True).history()) == 1
    assert sfumato(*RELEASE, "two").code == 0
    assert (home / "safe.csv").read_bytes() == (home / "two" / "data.csv").read_bytes()


@pytest.mark.usefixtures("home")
def test_without_the_history_the_second_table_is_unsafe_and_the_audit_says_so(sfumato):
    assert sfumato(*PROTECT, "alone.csv").code == 0
    assert sfumato(*AUDIT, "alone.csv").code == 0, "alone nothing is wrong with it"
    said = sfumato(*AUDIT, "alone.csv", *AGAINST)
    assert said.code == 1
    assert " BROKEN. " in said.out.splitlines()[0]
    assert "\n  continuous, k = 5" in said.out
    assert "held against 1 release of chain main; it is none of them" in said.out
    document = sfumato(*AUDIT, "alone.csv", *AGAINST, "--json").document
    assert document["beside"] == {"chain": "main", "releases": 1, "place": None}
    struck = {f["attack"] for f in document["findings"]}
    assert {"correspondence", "differencing", "composition", "minimality"} <= struck
    assert any(f["breach"] for f in document["findings"] if f["attack"] == "correspondence")


@pytest.mark.usefixtures("home")
def test_what_was_planned_beside_the_first_is_safe_and_knows_its_place(sfumato):
    sfumato(*PROTECT, "safe.csv", *AGAINST)
    assert sfumato(*AUDIT, "safe.csv", *AGAINST, "--strict").code == 0
    assert sfumato(*RELEASE, "two").code == 0
    for file, place in (("one/data.csv", 1), ("two/data.csv", 2), ("safe.csv", 2)):
        document = sfumato(*AUDIT, file, *AGAINST, "--json").document
        assert document["beside"] == {"chain": "main", "releases": 2, "place": place}
        assert [v["holds"] for v in document["verdicts"]] == [True]


@pytest.mark.usefixtures("home")
def test_one_adversary_beside_the_history(sfumato):
    sfumato(*PROTECT, "alone.csv")
    call = ("attack", "correspondence", "alone.csv", "-p", "policy.yaml")
    assert sfumato(*call).code == 2, "alone there is nothing to correspond to"
    said = sfumato(*call, *AGAINST)
    assert said.code == 1
    assert {f["attack"] for f in sfumato(*call, *AGAINST, "--json").document["findings"]} == {
        "correspondence"
    }


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (PEOPLE.select("place", "job"), "columns of the earlier releases are not in this table"),
        (PEOPLE.with_columns(place=pl.lit("UK–France")), "have no place"),
        (PEOPLE.head(2), "an earlier release holds people that a later one lacks"),
    ],
)
def test_a_table_that_cannot_be_compared_is_left_open(sfumato, home, cells, said):
    cells.drop("quarter", strict=False).write_csv(home / "other.csv")
    found = sfumato(*AUDIT, "other.csv", *AGAINST, "--json")
    assert any(said in o["sentence"] and o["holds"] is None for o in found.document["objections"])
    assert found.document["holds"] is not True


def test_a_chain_that_left_no_imprint_is_left_open(sfumato, home):
    sf.release(FIRST, ALONE, ledger=LEDGER, into=home / "plain", chain="plain", ignore_chains=["main"])
    document = sfumato(*AUDIT, "one/data.csv", *AGAINST, "--chain", "plain", "--json").document
    assert "leave no imprint" in document["objections"][-1]["sentence"]
    assert document["holds"] is None


@pytest.mark.parametrize(
    ("extra", "code", "said"),
    [
        (("--against", LEDGER, "--chain", "mian"), 2, "chain mian has no release"),
        (("--against", "sqlite:///nowhere.db"), 3, "no such ledger"),
        (("--against", "nowhere"), 2, "named by a URL"),
    ],
)
@pytest.mark.usefixtures("home")
def test_a_history_that_is_not_there(sfumato, extra, code, said):
    found = sfumato(*AUDIT, "one/data.csv", *extra)
    assert found.code == code
    assert said in found.err


def test_a_policy_that_does_not_look_back_cannot_be_planned_beside_others(home):
    with pytest.raises(UsageError, match="no promise"):
        protect_file(PEOPLE, ALONE, home / "x.csv", against=LEDGER)
    with pytest.raises(UsageError, match="given twice"):
        sf.protect(PEOPLE, POLICY, earlier=[sf.protect(FIRST, POLICY).imprint], against=LEDGER)
    assert not (home / "x.csv").exists()


def test_a_file_that_forgets_the_history_is_not_written(home, monkeypatch):
    forgetful = sf.protect(PEOPLE, POLICY)
    monkeypatch.setattr(protect_file_module, "plan_table", lambda *_, **__: forgetful)
    with pytest.raises(RefusedByHistory, match="fewer than 5 people are possible"):
        protect_file(PEOPLE, POLICY, home / "x.csv", against=LEDGER)
    assert not (home / "x.csv").exists()


HOLD = {**POLICY, "promises": [{"continuous": {"k": 5, "since": "quarter", "hold": True}}]}


def test_too_few_newcomers_wait_and_the_next_release_takes_them_along(sfumato, home):
    (home / "policy.yaml").write_text(json.dumps(HOLD), encoding="utf-8")
    few = pl.concat([FIRST, PEOPLE.filter(pl.col("quarter") == "Q2").head(2)])
    few.write_csv(home / "people.csv")
    before = sorted(path.name for path in home.iterdir())
    for extra in ((), ("--dry-run",)):
        said = sfumato(*RELEASE, "two", *extra, "--json")
        assert (said.code, said.document["error"]["kind"]) == (5, "DeferredRelease")
        assert "2 people are new" in said.err
        assert "until 3 more have come" in said.err
    assert sorted(path.name for path in home.iterdir()) == before
    assert len(sf.Ledger(LEDGER, readonly=True).history()) == 1
    later = PEOPLE.filter(pl.col("quarter") == "Q2").tail(3).with_columns(quarter=pl.lit("Q3"))
    pl.concat([few, later]).write_csv(home / "people.csv")
    assert sfumato(*RELEASE, "two", "--json").document["figures"]["rows"] == 10


DTYPES = {
    "whole": pl.Series([1, 2, 1, 2, 1]),
    "broken": pl.Series([0.1, 1e20, -0.0, 2.0, None]),
    "truth": pl.Series([True, False, None, True, False]),
    "day": pl.Series(["2026-01-02"] * 5).str.to_date(),
    "time": pl.Series(["2026-01-02 03:04:05"] * 5).str.to_datetime(),
    "text": pl.Series(["", " x", "NA", '"', None]),
}


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("kind", DTYPES)
def test_columns_of_every_kind_are_counted_alike_before_and_after_writing(tmp_path, kind, format):
    """The written bytes leave the imprint that was planned, whatever type an unchanged column has."""
    people = FIRST.with_columns(note=DTYPES[kind])
    words = {**POLICY, "columns": {**POLICY["columns"], "note": {"role": "insensitive"}}}
    made = sf.release(
        people, words, ledger=f"sqlite:///{tmp_path}/l.db", into=tmp_path / "one", format=format
    )
    found = sf.audit(tmp_path / "one" / f"data.{format}", words, against=f"sqlite:///{tmp_path}/l.db")
    assert made.record.sequence == found.beside.place == 1
