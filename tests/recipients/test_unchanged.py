"""Columns that are published unchanged: they set rows aside, jointly, and charge nobody."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from recipients.clinic import hand_out
from recipients.toy_ledger import ToyLedger, at_levels
from sfumato.system.errors import BadData
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    return hand_out(tmp_path_factory.mktemp("clinic"))


@pytest.fixture
def traced(clinic):
    return lambda leak, **options: sf.trace(leak, ledger=clinic.url, **options)


def in_some(rows, column, cells):
    """The first cells of a column replaced."""
    return rows.with_columns(pl.Series(column, [*cells, *rows[column][len(cells) :]]))


def test_foreign_text_in_a_column_that_is_published_unchanged_sets_the_row_aside(clinic, traced):
    result = traced(in_some(clinic.versions["Elm"], "disease", ["gout"] * 20))
    assert result.rows == {"all": 300, "ours": 280, "unreadable": 20, "foreign": 0, "finer": 0}
    assert result.unchanged == ("disease",)
    assert result.as_dict()["columns"]["unchanged"] == ["disease"]
    assert "disease" in str(result) and "gout" not in str(result)


def test_a_text_of_another_record_fits_none(clinic, traced):
    """Alone each column is as published; together no class holds some of the rows."""
    rows = clinic.versions["Fir"]
    key = ["age", "zip", "job", "sex"]
    held = {row[:4]: set() for row in rows.select(*key, "disease").rows()}
    for *keys, disease in rows.select(*key, "disease").rows():
        held[tuple(keys)].add(disease)
    other = {"flu": "burn", "burn": "cough", "cough": "flu"}
    changed = [other[disease] for disease in rows["disease"][:60]]
    wrong = sum(
        disease not in held[row] for row, disease in zip(rows.select(key).rows()[:60], changed, strict=True)
    )
    assert wrong > 10
    result = traced(in_some(rows, "disease", changed))
    assert wrong <= result.rows["foreign"] <= 60, "a finer version may tell more of them"
    assert result.rows["ours"] == 300 - result.rows["foreign"]
    assert set(result.certain) <= {"Fir"}


def test_an_unchanged_column_that_was_changed_throughout_is_left_aside(clinic, traced):
    for changed in (pl.col("disease").str.to_uppercase(), pl.lit("x")):
        result = traced(clinic.versions["Cedar"].with_columns(disease=changed))
        assert result.rows["ours"] == 300
        assert result.unchanged == ()
    assert traced(clinic.versions["Cedar"].drop("disease")).rows["ours"] == 300


def test_rows_that_differ_only_there_are_one_try_of_an_outsider(clinic, traced):
    row = clinic.versions["Dogwood"].row(3, named=True)
    same = clinic.versions["Dogwood"].filter(*(pl.col(c) == row[c] for c in ("age", "zip", "job", "sex")))
    assert same["disease"].n_unique() > 1
    charge = traced(same, max_coalition_size=1).false_charge
    assert charge.outside.rows == charge.outside.fitting == 1


HIDDEN = {"Alder": (1, 1, 1, 1), "Birch": (2, 1, 0, 1)}
"""Nobody is shown a sex."""


def test_foreign_text_in_a_column_that_all_versions_hide_sets_the_row_aside(tmp_path):
    clinic = hand_out(tmp_path, HIDDEN)
    rows = clinic.versions["Alder"]
    result = sf.trace(in_some(rows, "sex", ["x1", "x2", "x3"]), ledger=clinic.url)
    assert result.leak.unknown == ()
    assert result.rows["unreadable"] == 3 and result.rows["ours"] == 297
    finer = sf.trace(in_some(rows, "sex", ["m", "f"]), ledger=clinic.url)
    assert finer.rows["finer"] == 2 and finer.rows["ours"] == 298
    with pytest.raises(BadData, match="no row of the leak can be read"):
        sf.trace(rows.with_columns(sex=pl.lit("x")), ledger=clinic.url)


ZIP = Taxonomy.flat(["11", "12", "21", "22"])
JOB = Taxonomy.flat(["nurse", "mason"])
HOMES, WORKS, JOBS = (0, 0, 1, 1, 2, 2, 3, 3), (0, 1, 1, 2, 2, 3, 3, 0), (0, 1, 0, 1, 0, 1, 0, 1)


def towns():
    """Home and job are recoded, the place of work is published unchanged."""
    columns = [
        Column("home", Role.QUASI, ZIP),
        Column("job", Role.QUASI, JOB),
        Column("work", Role.SENSITIVE, ZIP),
    ]
    table = Microdata.of_codes(columns, [np.array(codes, np.int32) for codes in (HOMES, JOBS, WORKS)])
    ledger = ToyLedger()
    for who, levels in (("homes", (0, 1)), ("jobs", (1, 0))):
        ledger.give(who, table, at_levels(table, levels), event="e", unchanged=("work",))
    return ledger


def test_an_unchanged_column_under_the_name_of_a_key_column_charges_nobody():
    """Where people work stands for where they live: for some it is the same, and a record fits."""
    for rows in (
        [{"home": ZIP.leaf_labels[w]} for w in WORKS],
        [{"home": ZIP.leaf_labels[w], "work": "*"} for w in WORKS],
    ):
        result = towns().trace(rows)
        assert result.certain == ()
        assert "jobs" in result.alone
        said = towns().trace(rows, columns={"home": "home"})
        assert said.certain == ("homes",), "unless the column is known to be what it is called"


def test_where_both_are_what_they_are_called_the_leaker_is_charged():
    rows = [
        {"home": ZIP.leaf_labels[h], "work": ZIP.leaf_labels[w]} for h, w in zip(HOMES, WORKS, strict=True)
    ]
    assert towns().trace(rows).certain == ("homes",)


def test_an_unchanged_column_is_not_taken_for_a_key_column_that_is_gone():
    rows = [{"work": ZIP.leaf_labels[w], "job": JOB.leaf_labels[j]} for w, j in zip(WORKS, JOBS, strict=True)]
    result = towns().trace(rows)
    assert result.leak.names == ("job",)
    assert result.certain == ("jobs",)
