"""Files of every kind hold the same rows, and what they cannot say is refused with what to do."""

from __future__ import annotations

import datetime as dt
import sqlite3
from contextlib import closing

import openpyxl
import polars as pl
import pyreadstat
import pytest

import sfumato as sf
from sfumato.system.errors import BadData, UsageError
from sfumato.table.reading import loaded_file as extras
from sfumato.table.source import open_source
from table.reading.files_of_rows import KINDS, QUERY, write

pytestmark = pytest.mark.slow

SECRET = "Xq7-canary"
ROWS = [
    {
        "zip": f"0{i % 4}{i % 3}",
        "age": 20 + i % 5,
        "weight": 60.5 + i % 3,
        "sex": "männlich" if i % 2 else None,
        "seen": dt.date(1950 + i % 60, 1 + i % 12, 1 + i % 28),
        "disease": ("flu", "cough")[i % 2],
    }
    for i in range(40)
]


def opened(path, **said):
    notes = []
    said |= {"query": QUERY} if path.suffix == ".sqlite" else {}
    return open_source(sf.DataFile(path, note=notes.append, **said)), notes


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_have_the_same_digest_in_every_kind_of_file(kind, tmp_path):
    source, _ = opened(write(kind, ROWS, tmp_path))
    expected = open_source(pl.DataFrame(ROWS, infer_schema_length=None))
    assert source.columns == expected.columns
    assert source.digest() == expected.digest()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_have_the_same_policy_and_plan_in_every_kind_of_file(kind, tmp_path):
    frame = pl.DataFrame(ROWS, infer_schema_length=None)
    source, _ = opened(write(kind, ROWS, tmp_path))
    ours, theirs = sf.declare(source).confirm_all(), sf.declare(frame).confirm_all()
    assert ours.digest == theirs.digest
    planned, expected = sf.protect(source, ours).as_dict(), sf.protect(frame, theirs).as_dict()
    assert {k: v for k, v in planned.items() if k != "seconds"} == {
        k: v for k, v in expected.items() if k != "seconds"
    }


def book(path, *rows, sheet="Sheet", merged=""):
    made = openpyxl.Workbook()
    made.active.title = sheet
    for row in rows:
        made.active.append(row)
    if merged:
        made.active.merge_cells(merged)
    made.save(path)
    return path


def test_a_sheet_is_chosen_by_name_and_not_guessed(tmp_path):
    path = tmp_path / "t.xlsx"
    made = openpyxl.Workbook()
    made.active.append(["a"])
    made.create_sheet("Zweites").append(["b"])
    made["Zweites"].append([1])
    made.save(path)
    with pytest.raises(UsageError, match="2 sheets") as refusal:
        opened(path)[0].columns  # noqa: B018
    assert "Sheet, Zweites" in refusal.value.remedy
    assert opened(path, sheet="Zweites")[0].columns == ("b",)
    with pytest.raises(UsageError, match="no such sheet"):
        opened(path, sheet="Drittes")[0].columns  # noqa: B018
    policy = sf.declare(sf.DataFile(path, sheet="Zweites"))
    assert policy.source.words == {"sheet": "Zweites"}
    assert open_source(path, expected=policy.source).columns == ("b",)


REFUSED_SHEETS = {
    "a title above the names": (
        [("Title", None), ("a", "b"), (SECRET, 2)],
        "",
        "1 of 2 columns have no name",
    ),
    "merged names": ([("a", None, "c"), (SECRET, 2, 3)], "A1:B1", "1 of 3 columns have no name"),
    "merged cells": ([("a", "b"), (SECRET, 2), (None, 3)], "A2:A3", "1 group of cells is merged"),
    "an error": ([("a", "b"), (SECRET, "#DIV/0!")], "", "1 cell holds an error"),
    "nothing": ([], "", "the sheet is empty"),
    "names that are equal": ([("a", "a"), (SECRET, 2)], "", "columns 1 and 2"),
}


@pytest.mark.parametrize("case", REFUSED_SHEETS)
def test_what_a_sheet_cannot_say_is_refused_with_what_to_do(case, tmp_path):
    rows, merged, complaint = REFUSED_SHEETS[case]
    path = book(tmp_path / "t.xlsx", *rows, merged=merged)
    with pytest.raises(BadData) as refusal:
        opened(path)[0].survey()
    assert complaint in refusal.value.message
    assert refusal.value.remedy or "columns" in refusal.value.message
    assert SECRET not in str(refusal.value)


def test_the_first_merged_cells_are_those_in_the_highest_row(tmp_path):
    """A sheet lists its merged cells in any order."""
    made = openpyxl.Workbook()
    for row in [("a", "b"), *((SECRET, number) for number in range(40))]:
        made.active.append(row)
    for top in range(2, 40, 2):
        made.active.merge_cells(start_row=top, end_row=top + 1, start_column=1, end_column=1)
    made.active.merged_cells.ranges = sorted(made.active.merged_cells.ranges, key=lambda r: -r.min_row)
    made.save(tmp_path / "t.xlsx")
    with pytest.raises(BadData, match=r"19 groups .* merged, the first in row 2\. "):
        opened(tmp_path / "t.xlsx")[0].survey()


def test_a_sheet_whose_first_column_has_no_name(tmp_path):
    path = book(tmp_path / "t.xlsx", (None, "a"), (1, SECRET), (2, "y"))
    assert opened(path)[0].columns == ("row", "a")


def test_cells_of_a_sheet_keep_what_they_are(tmp_path):
    day, moment = dt.datetime(2024, 2, 29), dt.datetime(2024, 2, 29, 8, 30)
    path = book(
        tmp_path / "t.xlsx",
        ("whole", "part", "truth", "day", "moment", "text", "mixed"),
        (7, 1.5, True, day, moment, "02138", 3),
        (None, None, None, None, None, None, None),
        (8, 2, False, None, None, "1,5", "x"),
    )
    survey = opened(path)[0].survey()
    values = {name: column.values for name, column in survey.columns.items()}
    assert survey.rows == 2
    assert values == {
        "whole": ("7", "8"),
        "part": ("1.5", "2"),
        "truth": ("false", "true"),
        "day": ("2024-02-29", None),
        "moment": ("2024-02-29T08:30:00", None),
        "text": ("02138", "1,5"),
        "mixed": ("3", "x"),
    }


def test_labels_are_values_and_declared_codes_are_missing(tmp_path):
    path = tmp_path / "t.sav"
    frame = pl.DataFrame({"sex": [1.0, 2.0, 9.0, 5.0], "n": [1.0, -99.0, 3.0, None]})
    pyreadstat.write_sav(
        frame,
        str(path),
        variable_value_labels={"sex": {1.0: "male", 2.0: "female", 9.0: "refused"}},
        missing_ranges={"sex": [9.0], "n": [{"lo": -99.0, "hi": -90.0}]},
    )
    source, notes = opened(path)
    values = {name: column.values for name, column in source.survey().columns.items()}
    assert values == {"sex": ("5", "female", "male", None), "n": ("1", "3", None)}
    assert [("declares missing" in note, "-99" in note) for note in notes] == [(True, False)] * 2


def test_labels_of_stata(tmp_path):
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(
        pl.DataFrame({"sex": [1, 2, 1]}), str(path), variable_value_labels={"sex": {1: "m", 2: "f"}}
    )
    assert opened(path)[0].survey().columns["sex"].values == ("f", "m")


@pytest.mark.parametrize(
    "form", ["MONNAME3.", "MONYY7.", "monyy5.", "YYQ6.", "WORDDATE18.", "WEEKV9.", "DATE9."]
)
def test_dates_of_sas_are_dates_whatever_of_them_is_shown(form, tmp_path):
    path = tmp_path / "t.xpt"
    days = pl.DataFrame({"month": [0.0, -1.0, 13000.0, None]})
    pyreadstat.write_xport(days, str(path), variable_format={"month": form})
    assert opened(path)[0].survey().columns["month"].values == (
        "1959-12-31",
        "1960-01-01",
        "1995-08-05",
        None,
    )


@pytest.mark.parametrize(("form", "cell"), [("MONYY7.", 1e9), ("MONYY7.", 0.5), ("F8.", 13000.0)])
def test_numbers_of_sas_that_are_no_days_stay_numbers(form, cell, tmp_path):
    path = tmp_path / "t.xpt"
    pyreadstat.write_xport(pl.DataFrame({"n": [cell, 1.0]}), str(path), variable_format={"n": form})
    assert {float(value) for value in opened(path)[0].survey().columns["n"].values} == {cell, 1.0}


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("csv", "latin-1", "parquet", "sqlite")])
def test_damaged_files_are_refused_without_their_content(kind, tmp_path):
    path = write(kind, [{"name": SECRET, "n": i} for i in range(30)], tmp_path)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"", SECRET.encode() * 20):
        path.write_bytes(damaged)
        try:
            source, _ = opened(path)
            rows = source.survey().rows
        except BadData as refusal:
            assert SECRET not in str(refusal) + repr(refusal)
        else:
            assert rows <= 30


def test_a_library_that_is_missing_is_named_with_its_extra(tmp_path, monkeypatch):
    for kind, extra in (("xlsx", "excel"), ("sav", "stats"), ("sqlite", "sql")):
        path = write(kind, ROWS, tmp_path)

        def absent(name):
            raise ImportError(name)

        monkeypatch.setattr(extras, "import_module", absent)
        with pytest.raises(UsageError, match="not installed") as refusal:
            opened(path)[0].survey()
        assert f"sfumato[{extra}]" in refusal.value.remedy
        monkeypatch.undo()


def test_a_database_is_asked_without_a_password_in_sight_and_cannot_be_changed(tmp_path, monkeypatch):
    path = write("sqlite", ROWS, tmp_path)
    with pytest.raises(UsageError, match="asked a query"):
        open_source(path)
    for address in ("postgresql://me:secret@host/care", "postgresql://host/care?password=secret"):
        with pytest.raises(UsageError, match="password") as refusal:
            open_source(sf.DataFile(address, query="SELECT 1"))
        assert "secret" not in str(refusal.value)
    with pytest.raises(BadData, match="refuses the query"):
        open_source(sf.DataFile(path, query="DROP TABLE people")).survey()
    monkeypatch.setenv("CARE", f"sqlite:///{path}")
    source = open_source(sf.DataFile("env:CARE", query="SELECT zip FROM people WHERE age > 20"))
    assert source.columns == ("zip",)
    assert "CARE" not in repr(source)


def test_texts_of_a_database_that_are_no_texts_are_refused(tmp_path):
    path = tmp_path / "people.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE people (zip TEXT)")
        database.execute("INSERT INTO people VALUES ('02139'), (CAST(x'61b262' AS TEXT))")
    with pytest.raises(BadData, match="its answer cannot be read") as refused:
        open_source(sf.DataFile(f"sqlite:///{path}", query="SELECT zip FROM people")).survey()
    assert "02139" not in str(refused.value)


def test_lines_of_json_may_lack_columns(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n\n{"b": "x", "a": 2.5}\n{"b": 3, "c": true}\n')
    values = {name: column.values for name, column in opened(path)[0].survey().columns.items()}
    assert values == {"a": ("1", "2.5", None), "b": ("3", "x", None), "c": ("true", None)}
    path.write_text('{"a": [1]}\n')
    with pytest.raises(BadData, match="lists"):
        opened(path)[0].survey()
    path.write_text('{"a": 1}\n[]\n')
    with pytest.raises(BadData, match="line 2 is no record"):
        opened(path)[0].survey()
