"""Chains of groups and the tables they are made from: ids, formats, types, and other policies."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.system.errors import BadData, BadPolicy, Infeasible, RefusedByHistory, UsageError
from workflows.groups_chain import release, rows
from workflows.visitors import FIRST, RETURNED, SECOND, policy, table, visits

__all__ = ["release"]


# -- ids -------------------------------------------------------------------------------------------------


def test_ids_are_compared_without_blanks_and_by_their_texts(release):
    numbered = table(FIRST).with_columns(person=pl.col("person").str.slice(1).cast(pl.Int64))
    release(numbered, policy(by="day"))
    written = numbered.with_columns(person=" " + pl.col("person").cast(pl.String) + "  ")
    assert release(written, policy(by="day")).record.figures["newcomers"] == 0


@pytest.mark.parametrize("nobody", [None, "", "  "])
def test_every_row_has_a_person(release, nobody):
    with pytest.raises(BadData, match="1 row names nobody"):
        release(table(FIRST, visits([1], 1, person=nobody)), policy(by="day"))


def test_new_ids_of_the_same_people_are_noticed(release):
    release(table(FIRST), policy(by="day"))
    renamed = table(FIRST).with_columns(person="new " + pl.col("person"))
    said = str(release(renamed, policy(by="day")))
    assert "40 newcomers have the quasi-identifiers of somebody who left" in said


# -- formats and types -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("form", ["pandas", "arrow", "csv", "parquet", "xlsx"])
def test_every_form_of_a_table(release, tmp_path, form):
    def formed(data, name):
        path = tmp_path / f"{name}.{form}"
        match form:
            case "pandas":
                return data.to_pandas()
            case "arrow":
                return data.to_arrow()
            case "csv":
                data.write_csv(path)
            case "parquet":
                data.write_parquet(path)
            case _:
                pytest.importorskip("openpyxl")
                data.to_pandas().to_excel(path, index=False)
        return path

    release(formed(table(FIRST), "q1"), policy(by="day"))
    second = release(formed(table(FIRST, RETURNED, SECOND), "q2"), policy(by="day"))
    assert second.record.figures["newcomers"] == 20
    assert second.record.figures["rows"] >= 58


def with_nights(rows_of, column):
    return table(rows_of).with_columns(column.alias("nights"))


NIGHTS = pl.col("nights")
KINDS = {
    "numbers": NIGHTS,
    "fractions": NIGHTS / 4,
    "decimals": (NIGHTS / 4).cast(pl.Decimal(6, 2)),
    "dates": pl.date(2026, 1, 1 + NIGHTS),
    "moments": pl.datetime(2026, 1, 1 + NIGHTS, 3),
    "truths": NIGHTS > 2,
    "texts": NIGHTS.cast(pl.String),
    "categories": NIGHTS.cast(pl.String).cast(pl.Categorical),
    "nothing": pl.lit(None),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_unchanged_columns_keep_their_types(release, kind):
    column = KINDS[kind]
    release(with_nights(FIRST, column), policy(by="day"), format="parquet")
    empty = pl.when(pl.col("age") > 20).then(column)
    second = release(with_nights(FIRST + RETURNED + SECOND, empty), policy(by="day"), format="parquet")
    types = [pl.read_parquet(second.folder.parent / n / "data.parquet").schema["nights"] for n in "12"]
    assert types[0] == types[1]


def test_values_take_the_types_of_earlier_releases(release):
    release(with_nights(FIRST, NIGHTS), policy(by="day"))
    holes = with_nights(FIRST + SECOND, pl.when(pl.col("age") > 20).then(NIGHTS.cast(pl.Float64)))
    second = release(holes.to_pandas(), policy(by="day"))
    assert {dict(row)["nights"] for row in rows(second)} <= {"", "0", "1", "2", "3", "4"}
    halves = with_nights(FIRST + visits(range(300, 320), 3), NIGHTS + 0.5)
    with pytest.raises(RefusedByHistory, match="column nights was published as int64, and is double now"):
        release(halves, policy(by="day"))
    with pytest.raises(RefusedByHistory, match="published as int64, and is"):
        release(with_nights(visits(range(300, 320), 3), NIGHTS.cast(pl.String)), policy(by="day"))


def test_a_column_without_values_may_get_some(release):
    release(with_nights(FIRST, pl.lit(None)), policy(by="day"), format="parquet")
    second = release(with_nights(FIRST + SECOND, NIGHTS), policy(by="day"), format="parquet")
    assert pl.read_parquet(second.folder / "data.parquet")["nights"].null_count() >= 40


def test_an_empty_table_is_refused(release):
    release(table(FIRST), policy(by="day"))
    with pytest.raises(BadData, match="the table has no rows"):
        release(table(FIRST)[:0], policy(by="day"))


# -- other policies --------------------------------------------------------------------------------------


def test_a_stricter_promise_is_for_new_groups(release):
    release(table(FIRST), policy(by="day"))
    second = release(table(FIRST, SECOND), policy(k=6, by="day"))
    verdicts = {verdict["promise"]: verdict["measured"] for verdict in second.record.verdicts}
    assert verdicts["k-anonymity, k = 3 (people who came in release 1)"] >= 3
    assert verdicts["k-anonymity, k = 6 (people who came in release 2)"] >= 6
    third = release(table(FIRST, SECOND, visits(range(300, 320), 3)), policy(k=4, by="day"))
    assert len(third.record.verdicts) == 7


def test_a_weaker_promise_is_refused(release):
    release(table(FIRST), policy(by="day"))
    with pytest.raises(RefusedByHistory, match="promises less than the first release"):
        release(table(FIRST, SECOND), policy(k=2, by="day"))


def test_another_tree_is_for_new_groups(release):
    first = release(table(FIRST), policy(by="day"))
    tree = {"role": "quasi", "taxonomy": {"tree": {"coast": ["Ahus", "Dorn"], "inland": ["Bro", "Cora"]}}}
    ages = {"role": "quasi", "taxonomy": {"intervals": [16, 32], "from": 0, "to": 96}}
    other = policy(columns={"town": tree, "age": ages}, by="day")
    second = release(table(FIRST, RETURNED, SECOND), other)
    assert not rows(first) - rows(second)


def test_other_columns_are_refused(release):
    release(table(FIRST), policy(by="day"))
    hidden = policy(columns={"nights": {"role": "identifier"}}, by="day")
    with pytest.raises(RefusedByHistory, match=r"published or not\): nights"):
        release(table(FIRST, SECOND), hidden)
    more = policy(columns={"ward": {"role": "insensitive"}}, by="day")
    with pytest.raises(RefusedByHistory, match=r"columns\.ward\.role"):
        release(table(FIRST, SECOND).with_columns(ward=pl.lit("A")), more)
    with pytest.raises(BadPolicy, match="not in the data: person"):
        release(table(FIRST).drop("person"), policy(by="day"))


def test_newcomers_who_cannot_be_put_into_groups_are_said_so(release):
    release(table(FIRST), policy(by="day"))
    with pytest.raises(Infeasible, match="12 newcomers cannot be put into groups by themselves") as refused:
        release(table(FIRST, visits(range(200, 212), 2, illness="flu")), policy(by="day"))
    assert "Wait until more have come" in refused.value.remedy


def test_a_column_that_is_called_as_ours_is_refused(release):
    with pytest.raises(BadPolicy, match="tells bare rows of people from others"):
        release(table(FIRST), policy(columns={"bare_row": {"role": "insensitive"}}, by="day"))


# -- reports, and what is still told of the tables ---------------------------------------------------------


def test_a_report_of_a_release_tells_who_came_and_who_left(release):
    release(table(FIRST), policy(by="day"))
    receipt = release(table(FIRST[:30], RETURNED, SECOND), policy(by="day"))
    page = sf.report(receipt, policy(by="day"), ledger=release.url).html
    for said in (
        "20 people are new",
        "of earlier releases are not in this table and stay in it",
        "values of 8 further rows are not shown",
        "earlier rows stay as they were published: holds, by the certificate",
        "Adversaries whom no promise stops",
    ):
        assert said in page, said
    assert "20 people are new" in sf.report(receipt.record.number, ledger=release.url).html
    assert "20 people are new" not in sf.report(receipt, policy(by="day"), audience="public").html


def test_a_release_is_compared_with_the_tables_it_was_made_from(release):
    release(table(FIRST), policy(by="day"))
    receipt = release(table(SECOND, RETURNED), policy(by="day"))
    file = receipt.folder / "data.csv"
    use = sf.compare(table(FIRST, SECOND, RETURNED), file, policy(by="day"))
    assert use.table.rows == 60 and use.table.published == 60 - use.table.suppressed
    assert any("8 further rows are left aside" in note for note in use.notes)
    with pytest.raises(BadData, match="the safe table has"):
        sf.compare(table(SECOND, RETURNED), file, policy(by="day"))
    others = table(FIRST, SECOND).with_columns(illness=pl.lit("flu"))
    with pytest.raises(UsageError, match="rows of the file are not in this table"):
        sf.compare(others, file, policy(by="day"))
    report = sf.report(receipt, policy(by="day"), original=table(FIRST, SECOND, RETURNED))
    assert "cells that" in report.html
