"""Leaks as they turn up: in parts, changed, mixed, in any format. The source is still found."""

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from recipients.clinic import PATTERNS, hand_out, people
from recipients.toy_ledger import found

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    return hand_out(tmp_path_factory.mktemp("clinic"))


@pytest.fixture
def traced(clinic):
    def run(leak, **options):
        return sf.trace(leak, ledger=clinic.url, **options)

    return run


def is_from(result, name):
    """The only one who could have made all rows alone, and the one who fits best."""
    best = max(result.suspects, key=lambda suspect: suspect.agree)
    return result.alone == (name,) and best.recipient == name


@pytest.mark.parametrize("name", PATTERNS)
def test_a_whole_version(clinic, traced, name):
    result = traced(clinic.versions[name])
    assert is_from(result, name)
    assert result.rows == {"all": 300, "ours": 300, "unreadable": 0}


def test_one_row_as_a_record(clinic, traced):
    record = clinic.versions["Cedar"].row(7, named=True)
    assert is_from(traced(record), "Cedar")
    assert is_from(traced([record]), "Cedar")


def test_some_rows_in_another_order(clinic, traced):
    assert is_from(traced(clinic.versions["Elm"].sample(12, shuffle=True, seed=3)), "Elm")


def test_columns_dropped(clinic, traced):
    some = clinic.versions["Birch"].select("sex", "age", "zip")
    result = traced(some)
    assert result.columns.ours == ("age", "zip", "sex")
    assert is_from(result, "Birch")
    few = traced(clinic.versions["Birch"].select("sex"))
    assert few.alone == ("Birch", "Cedar", "Dogwood")


def test_columns_renamed_are_known_by_their_cells(clinic, traced):
    other = clinic.versions["Dogwood"].rename({"age": "Alter", "zip": "PLZ", "job": "Beruf", "sex": "SEX"})
    result = traced(other)
    assert result.columns.renamed == {"age": "Alter", "zip": "PLZ", "job": "Beruf", "sex": "SEX"}
    assert is_from(result, "Dogwood")


def test_columns_can_be_named(clinic, traced):
    cells = clinic.versions["Dogwood"].select(pl.col("job").alias("x"), pl.col("sex").alias("age"))
    result = traced(cells, columns={"x": "job", "age": "sex"})
    assert result.columns.ours == ("job", "sex")
    assert is_from(result, "Dogwood")


def test_a_column_that_two_of_ours_fit_is_left_aside(traced):
    result = traced({"a": "*", "b": "*", "job": "Küche"})
    assert result.columns.ours == ("job",)


def test_further_generalized_with_our_own_labels(clinic, traced):
    coarse = clinic.versions["Birch"].with_columns(job=pl.lit("*"), zip=pl.col("zip").str.slice(0, 3) + "**")
    assert set(coarse["zip"]) <= {"021**", "022**"}
    result = traced(coarse)
    fitting = {n for n, p in PATTERNS.items() if all(a <= b for a, b in zip(p, (2, 2, 2, 0), strict=True))}
    assert set(result.alone) == fitting


def test_further_generalized_in_some_rows_only(clinic, traced):
    half = pl.when(pl.int_range(pl.len()) % 2 == 0)
    changed = clinic.versions["Fir"].with_columns(job=half.then(pl.lit("*")).otherwise(pl.col("job")))
    assert is_from(traced(changed), "Fir")


def test_mixed_row_by_row(clinic, traced):
    mixed = pl.concat([clinic.versions["Alder"].head(150), clinic.versions["Dogwood"].tail(150)])
    result = traced(mixed)
    assert result.alone == () and result.rows["ours"] == 300
    best = sorted(result.suspects, key=lambda suspect: -suspect.agree)[:2]
    assert {suspect.recipient for suspect in best} == {"Alder", "Dogwood"}


def test_mixed_column_by_column(clinic, traced):
    """Colluders who can put their rows together publish the finest of everything."""
    pooled = clinic.original.select(
        pl.col("age").map_elements(lambda a: f"[{a // 5 * 5}, {a // 5 * 5 + 5})", pl.String),
        pl.col("zip").str.slice(0, 4) + "*",
        "job",
        "sex",
    )
    result = traced(pooled)
    assert result.rows["ours"] == 300
    assert result.alone == () and frozenset({"Alder", "Dogwood"}) in found(result)


def test_foreign_rows_are_set_aside(clinic, traced):
    other = people(400, seed=9).select("age", "zip", "job", "sex").with_columns(pl.col("age").cast(pl.String))
    strange = pl.DataFrame({"age": ["99"] * 5, "zip": ["99999"] * 5, "job": ["Pope"] * 5, "sex": ["m"] * 5})
    ours = clinic.versions["Elm"].select("age", "zip", "job", "sex")
    result = traced(pl.concat([other, ours, strange]))
    assert result.rows["unreadable"] == 5
    assert 300 <= result.rows["ours"] < 350
    assert is_from(result, "Elm")


def test_rows_of_others_in_our_own_detail_fit_no_record(clinic, traced):
    rng = np.random.default_rng(5)
    ours = clinic.versions["Dogwood"].select("age", "zip", "job", "sex")
    rows = set(ours.rows())
    made_up = [
        row
        for row in zip(*(rng.permutation(ours[c].to_list() * 4).tolist() for c in ours.columns), strict=True)
        if row not in rows
    ]
    assert made_up
    result = traced(pl.concat([ours, pl.DataFrame(made_up, schema=ours.columns, orient="row")]))
    assert result.rows["ours"] == 300
    assert is_from(result, "Dogwood")


def test_not_ours(clinic, traced):
    ours = set(clinic.versions["Birch"].select("age", "zip", "job", "sex").rows())
    record = next(
        dict(zip(("age", "zip", "job", "sex"), (a, z, j, s), strict=True))
        for a, z, j, s in sorted((a, z, j, s) for a, _, j, _ in ours for _, z, _, s in ours)
        if (a, z, j, s) not in ours
    )
    result = traced(record)
    assert not result.ours
    assert "not ours" in str(result)


def test_finer_than_anything_handed_out(clinic, traced):
    assert not traced(clinic.original.select("age", "zip", "job", "sex")).ours


def typed(frame):
    """Ages of version Alder are intervals; zips become numbers where they can."""
    return frame.with_columns(pl.col("sex").str.to_uppercase(), pl.col("job") + " ")


@pytest.mark.parametrize("format", ["csv", "semicolon", "latin", "utf16", "gz", "parquet", "json", "jsonl"])
def test_other_formats(clinic, traced, tmp_path, format):
    frame = typed(clinic.versions["Cedar"])
    if format == "csv":
        path = tmp_path / "leak.csv"
        frame.write_csv(path)
    elif format == "semicolon":
        path = tmp_path / "leak.txt"
        frame.write_csv(path, separator=";")
    elif format in ("latin", "utf16"):
        path = tmp_path / "leak.csv"
        encoding = {"latin": "cp1252", "utf16": "utf-16"}[format]
        path.write_bytes(frame.write_csv().encode(encoding))
    elif format == "gz":
        import gzip

        path = tmp_path / "leak.csv.gz"
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    elif format == "parquet":
        path = tmp_path / "leak.parquet"
        frame.write_parquet(path)
    elif format == "json":
        path = tmp_path / "leak.json"
        path.write_text(json.dumps(frame.to_dicts()), encoding="utf-8")
    else:
        path = tmp_path / "leak.jsonl"
        path.write_text("\n".join(map(json.dumps, frame.to_dicts())), encoding="utf-8")
    result = traced(path)
    assert result.rows["ours"] == 300
    assert is_from(result, "Cedar")


def test_dataframes(clinic, traced):
    frame = clinic.versions["Fir"]
    for leak in (frame.to_pandas(), frame.lazy(), frame.to_arrow()):
        assert is_from(traced(leak), "Fir")


@pytest.mark.parametrize("write", [str, float, lambda a: f" {a}.0 ", lambda a: f"0{a}", int])
def test_numbers_typed_otherwise(tmp_path, write):
    clinic = hand_out(tmp_path, {"raw": (0, 3, 2, 1), "other": (3, 0, 2, 1)})
    ages = [write(a) for a in clinic.versions["raw"]["age"].cast(pl.Int64).to_list()]
    assert is_from(sf.trace(pl.DataFrame({"age": ages}), ledger=clinic.url), "raw")
    numbers = clinic.versions["other"]["zip"].cast(pl.Int64)
    assert is_from(sf.trace(pl.DataFrame({"zip": numbers}), ledger=clinic.url), "other")


def test_missing_cells_say_nothing(clinic, traced):
    gaps = pl.when(pl.int_range(pl.len()) % 3 == 0).then(None)
    holes = clinic.versions["Birch"].with_columns(gaps.otherwise(pl.col(c)).alias(c) for c in ("age", "sex"))
    result = traced(holes)
    assert result.rows["ours"] == 300
    assert is_from(result, "Birch")


def test_a_column_that_is_all_strange_is_left_aside_and_its_rows_are_not(clinic, traced):
    hashed = clinic.versions["Dogwood"].with_columns(zip=pl.Series([f"#{i}" for i in range(300)]))
    result = traced(hashed)
    assert result.columns.unknown == ("zip",)
    assert result.rows["ours"] == 300
    assert is_from(result, "Dogwood")
    assert "zip left aside" in str(result)
