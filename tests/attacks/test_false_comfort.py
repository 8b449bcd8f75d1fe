"""Tables that look safe to a careless reader: none of them passes an audit."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.attacks.audit import audit
from sfumato.policy.policy import Policy
from sfumato.verify import file_bytes as parquet_surplus

pytestmark = pytest.mark.slow

OLD = Path(__file__).parent.parent / "golden" / "false_comfort"
NOT_A_NUMBER = float(np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0])
RULE = Policy.load(OLD / "policy.yaml")


def verdict(found, start):
    return next(v for v in found.verdicts if v.promise.startswith(start))


def test_spellings_of_one_value_are_one_value():
    found = audit(OLD / "spellings.csv", RULE)
    diversity = verdict(found, "distinct l-diversity")
    assert (diversity.holds, diversity.measured, diversity.classes) == (False, 1, 2)
    assert verdict(found, "k-anonymity").holds is True
    homogeneity = next(f for f in found.findings if f.attack == "homogeneity")
    assert homogeneity.breach
    assert homogeneity.details["people exposed with certainty"] == 6  # who have a value
    said = [o.sentence for o in found.objections]
    assert said == [
        "6 texts are spellings of 2 values, 1 text means that nothing is known; promises count them so"
    ]


def test_who_asks_for_it_has_every_spelling_counted():
    words = RULE.to_dict()
    words["columns"]["disease"]["spelling"] = "exact"
    found = audit(OLD / "spellings.csv", Policy.from_dict(words))
    # Even so an empty cell is no value: flu, Flu and n/a are three.
    assert verdict(found, "distinct l-diversity").measured == 3
    assert found.holds is True
    assert not found.objections


def test_a_label_that_lists_raw_values_breaks_the_policy():
    found = audit(OLD / "raw_lists.csv", RULE)
    assert found.holds is False
    assert verdict(found, "only labels").reason == "1 of 1 texts list raw values: job"
    assert verdict(found, "k-anonymity").holds is None


def test_a_list_of_values_that_only_the_data_knows_is_not_passed():
    rows = {"zip": ["02138, 02139"] * 4, "job": ["Health"] * 4, "disease": ["a", "b", "c", "d"]}
    found = audit(pd.DataFrame(rows), RULE)
    assert found.holds is None
    assert {v.holds for v in found.verdicts} == {None}


@pytest.mark.parametrize("label", ["Lung, left", "Exec, managerial", "021**", "*", "02138", "0****"])
def test_labels_that_may_be_values_are_no_lists(label):
    rows = {"zip": [label] * 4, "job": ["Health"] * 4, "disease": ["a", "b", "c", "d"]}
    assert audit(pd.DataFrame(rows), RULE).holds is True


def test_labels_that_the_taxonomy_does_not_know_decide_nothing():
    found = audit(OLD / "unknown_labels.csv", RULE)
    assert found.holds is None
    assert {v.holds for v in found.verdicts} == {None}
    assert {v.reason for v in found.verdicts} == {"1 of 1 texts are no value of the policy's taxonomy: job"}
    assert found.headline.fails == "undecided"


@pytest.mark.parametrize(
    ("taxonomy", "known", "unknown"),
    [
        (
            {"intervals": [5, 10], "from": 0, "to": 100, "top": 90},
            ["[40, 45)", "[40, 50)", "90+", "7", "*"],
            ["93", "[41, 45)", "40-44"],
        ),
        ({"intervals": [5, 10], "decimal": True}, ["[40, 45)", "2.5"], ["elderly"]),
        ({"date": ["month", "year"]}, ["2024-02-29", "2024-02", "2024"], ["spring 2024", "2024-02-30"]),
        ({"date": ["week"]}, ["2024-W09"], ["2024-W60"]),
        ({"date": ["quarter", "year", "decade"]}, ["2024-Q1", "2020-2029"], ["2024-Q5", "2021-2030"]),
        ({"prefix": [3, 1]}, ["02138", "021**", "0****"], []),
        ({"mask": "left"}, ["K12", "*12", "**2"], []),
        ("flat", ["whatever", "*"], []),
    ],
)
def test_labels_are_read_by_the_taxonomy(taxonomy, known, unknown):
    rule = Policy.from_dict(
        {
            "columns": {"x": {"role": "quasi", "taxonomy": taxonomy}},
            "promises": [{"k-anonymity": {"k": 1}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )
    for label in known:
        assert audit(pd.DataFrame({"x": [label]}), rule).holds is True, label
    for label in unknown:
        assert audit(pd.DataFrame({"x": [label]}), rule).holds is not True, label


def test_a_label_finer_than_the_finest_published_level_is_no_label():
    words = {
        "columns": {"zip": {"role": "quasi", "taxonomy": {"prefix": [3, 1]}, "start": 1}},
        "promises": [{"k-anonymity": {"k": 1}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    rule = Policy.from_dict(words)
    assert audit(pd.DataFrame({"zip": ["021**", "0****"]}), rule).holds is True
    found = audit(pd.DataFrame({"zip": ["02138"]}), rule)
    assert found.holds is False
    assert {v.holds for v in found.verdicts[1:]} == {None}


def test_nothing_published_is_nothing_judged():
    found = audit(OLD / "no_rows.csv", RULE)
    assert (found.rows, found.holds) == (0, None)
    assert {v.reason for v in found.verdicts} == {"there are no rows to judge"}
    assert str(found).startswith("Not every promise is decided. ")


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("quotes.csv", "one text is written with quotes and without: zip"),
        ("line_ends.csv", "lines end in different ways"),
    ],
)
def test_rows_are_told_apart_by_how_they_are_written(file, sentence):
    found = audit(OLD / file, RULE)
    anonymity = verdict(found, "k-anonymity")
    assert (anonymity.holds, anonymity.measured) == (False, 2 if file == "quotes.csv" else 1)
    assert [str(o) for o in found.objections] == [sentence]


@pytest.mark.parametrize("style", [csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_MINIMAL])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_file_that_is_written_in_one_way_tells_nothing_more(style, ends, tmp_path):
    rows = {"zip": ["021**"] * 4, "job": ["Health"] * 4, "disease": ['a "b"', "b, c", "d\ne", None]}
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False, quoting=style, lineterminator=ends)
    found = audit(tmp_path / "t.csv", RULE)
    assert verdict(found, "k-anonymity").holds is True
    assert verdict(found, "distinct").measured == 3
    assert [o for o in found.objections if o.concerns] == []


@pytest.mark.parametrize("make", [pa.table, pl.DataFrame, lambda t: pl.DataFrame(t).lazy()])
@pytest.mark.parametrize("cells", [[0.0, -0.0], [float("nan"), None], [float("nan"), NOT_A_NUMBER]])
def test_numbers_that_are_one_value_and_two_for_a_reader(make, cells, tmp_path):
    words = {
        "columns": {"x": {"role": "quasi"}},
        "promises": [{"k-anonymity": {"k": 4}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    missing = np.array([cell is None for cell in cells * 2])
    numbers = np.array([np.nan if cell is None else cell for cell in cells * 2])
    table = {"x": pa.array(numbers, mask=missing)}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    for data in (make(table), tmp_path / "t.parquet"):
        [anonymity] = audit(data, Policy.from_dict(words)).verdicts
        assert (anonymity.holds, anonymity.measured) == (False, 2)


UNREAD = "bytes of the file that readers pass over were not looked at"


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("unused_dictionary.parquet", "a dictionary holds values that no row has: job"),
        ("old_statistics.parquet", "statistics name values that no row has: disease"),
    ],
)
def test_bytes_that_tell_more_than_the_rows_break_the_policy(file, sentence):
    found = audit(OLD / file, RULE)
    assert found.holds is False
    assert verdict(found, "nothing in the file").reason == sentence
    assert "Canary" not in str(found.as_dict())


@pytest.mark.parametrize(
    ("file", "sentences"),
    [
        ("noted_field.parquet", ["the file carries a note besides its columns", UNREAD]),
        ("stray_bytes.parquet", [UNREAD]),
    ],
)
def test_what_may_stand_in_a_file_leaves_it_open(file, sentences):
    found = audit(OLD / file, RULE)
    assert found.holds is None
    assert [o.sentence for o in found.objections] == sentences


def test_a_certificate_decides_what_another_version_of_the_writer_leaves_open(tmp_path, monkeypatch):
    rows = pd.DataFrame({"zip": ["02139", "02138"] * 4, "job": ["Nurse"] * 8, "disease": [*"abcdabcd"]})
    words = {**RULE.to_dict(), "promises": [{"k-anonymity": {"k": 2}}], "confirm": {"disease": True}}
    rows.to_parquet(tmp_path / "raw.parquet", index=False)
    sf.release(tmp_path / "raw.parquet", words, ledger=f"sqlite:///{tmp_path}/l.db", into=tmp_path / "out")
    file, [key] = tmp_path / "out" / "data.parquet", tmp_path.glob("*.pub")
    assert sf.audit(file, words).holds is True
    monkeypatch.setattr(parquet_surplus, "is_as_released", lambda _: False)
    plain = sf.audit(file, words)
    assert plain.holds is None and UNREAD in [o.sentence for o in plain.objections]
    sealed = sf.audit(file, words, key=key)
    assert sealed.holds is True and UNREAD not in [o.sentence for o in sealed.objections]


def test_unique_columns_that_are_declared_harmless_are_named():
    words = RULE.to_dict()
    words["columns"] |= {"note": {"role": "insensitive"}, "ward": {"role": "insensitive"}}
    rows = {
        "zip": ["021**"] * 8,
        "job": ["Health"] * 8,
        "disease": [*"abcdabcd"],
        "note": [f"n{i}" for i in range(8)],
        "ward": ["w"] * 8,
    }
    found = audit(pd.DataFrame(rows), Policy.from_dict(words))
    assert found.holds is True
    [objection] = found.objections
    assert objection.columns == ("note",)
    assert "tells nearly everybody apart (8 values in 8 cells)" in objection.sentence


def test_the_headline_never_comforts_above_a_breach():
    words = {**RULE.to_dict(), "promises": [{"k-anonymity": {"k": 4}}]}
    rows = {"zip": ["021**"] * 4, "job": ["Health"] * 4, "disease": ["HIV"] * 4}
    found = audit(pd.DataFrame(rows), Policy.from_dict(words))
    assert found.holds is True
    assert [f.attack for f in found.breaches] == ["homogeneity", "linkage", "linkage", "linkage"][
        : len(found.breaches)
    ]
    lines = str(found).splitlines()
    assert lines[0] == "All promises hold. 1 attack that no promise covers succeeds."
    assert lines[1] == "  not protected: disease  every value"
    assert lines[2] == "  Result: failed. Certain for 4 people, and confirmed by nobody: disease."
    document = found.as_dict()
    assert document["promised"] == {"hold": 1, "broken": 0, "undecided": 0}
    assert document["attacked"]["succeeded"] == 1
    assert (document["fails"], document["certain"]) == ("certain", {"disease": 4})
    confirmed = audit(pd.DataFrame(rows), Policy.from_dict({**words, "confirm": {"disease": True}}))
    assert confirmed.headline.fails is None and confirmed.headline.result.startswith("Result: passed.")
