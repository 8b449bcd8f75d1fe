"""Categorical and yes/no columns whose values are terms, through protection, judge and files."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from oracles import beliefs as plain
from sfumato.system.errors import BadData, BadPolicy
from strategies import cases

pytestmark = pytest.mark.slow

KNOWN = {
    "Flu": ["blood=A", "blood=B", "fever", "dose=1"],
    "Gout": ["blood=A", "dose=1", "dose=2"],
    "Cold": ["blood=B", "fever", "dose=2"],
}
COLUMNS = {
    "age": {"role": "quasi"},
    "blood": {"role": "quasi-sensitive", "set": "signs", "values": True},
    "fever": {"role": "quasi-sensitive", "set": "signs", "marks": ["no", "yes"]},
    "dose": {"role": "quasi-sensitive", "set": "signs", "values": True},
}
POLICY = {
    "columns": COLUMNS,
    "promises": [{"quasi-sensitive": {"of": "signs", "knowledge": KNOWN, "l": 2, "c": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
}
PEOPLE = pl.DataFrame(
    {
        "age": ["30", "30", "40", "40"],
        "blood": ["A", "A", "A", None],
        "fever": ["yes", "yes", "no", "yes"],
        "dose": [1, 1, 2, None],
    }
)


def terms_in(row):
    """The terms of a published row, as the columns read."""
    found = [f"{name}={row[name]}" for name in ("blood", "dose") if row[name] is not None]
    return (*found, *(["fever"] if row["fever"] == "yes" else []))


def kept_by_hand(frame):
    """Whether every class of a table keeps the promise, by the definition."""
    known = list(KNOWN.items())
    groups = {}
    for row in frame.rows(named=True):
        groups.setdefault(row["age"], []).append(terms_in(row))
    return all(plain.diverse(known, rows, 2, 2) for rows in groups.values())


def test_values_and_marks_are_terms_and_come_back_in_their_own_words():
    assert not sf.audit(PEOPLE, POLICY).holds and not kept_by_hand(PEOPLE)
    safe = sf.protect(PEOPLE, POLICY).apply(PEOPLE)
    assert safe.columns == PEOPLE.columns and safe.schema == PEOPLE.schema
    assert set(safe["fever"]) <= {"no", "yes"} and set(safe["blood"].drop_nulls()) <= {"A", "B"}
    assert kept_by_hand(safe) and sf.audit(safe, POLICY).holds


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["30", "40"]),
        st.sampled_from(["A", "B", None]),
        st.sampled_from(["yes", "no"]),
        st.sampled_from([1, 2, None]),
    ),
    min_size=1,
    max_size=6,
)


@given(ROWS)
@cases(15)
def test_both_judges_and_the_definition_agree(rows):
    schema = {"age": pl.String, "blood": pl.String, "fever": pl.String, "dose": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    assert sf.audit(frame, POLICY).holds == kept_by_hand(frame)
    safe = sf.protect(frame, POLICY).apply(frame)
    assert kept_by_hand(safe) and sf.audit(safe, POLICY).holds


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_through_files(tmp_path, ending):
    source = tmp_path / f"people.{ending}"
    (PEOPLE.write_csv if ending == "csv" else PEOPLE.write_parquet)(source)
    plan = sf.protect(source, POLICY)
    safe = plan.apply(source)
    frame = safe if isinstance(safe, pl.DataFrame) else pl.from_arrow(safe)
    assert sf.audit(frame, POLICY).holds


def test_other_words_are_refused_without_a_value_in_the_message():
    frame = PEOPLE.with_columns(fever=pl.Series(["yes", "canary", "no", "no"]))
    with pytest.raises(BadData, match="must hold the marks") as refused:
        sf.protect(frame, POLICY)
    assert "canary" not in str(refused.value)
    with pytest.raises(BadData, match="text or whole numbers"):
        sf.protect(PEOPLE.with_columns(dose=pl.Series([0.5, 1.0, 1.5, 2.0])), POLICY)


@pytest.mark.parametrize(
    ("column", "words", "said"),
    [
        ("fever", {"role": "quasi-sensitive", "marks": ["no", "yes"]}, "part of a set"),
        ("fever", {"role": "quasi-sensitive", "set": "signs", "marks": ["no", "no"]}, "two texts"),
        (
            "blood",
            {"role": "quasi-sensitive", "set": "signs", "values": True, "marks": ["n", "y"]},
            "no marks",
        ),
        ("blood=x", {"role": "quasi-sensitive", "set": "signs"}, "stands between a column and its value"),
    ],
)
def test_what_a_policy_may_not_say(column, words, said):
    with pytest.raises(BadPolicy, match=said):
        sf.protect(PEOPLE, {**POLICY, "columns": {**COLUMNS, column: words}})
