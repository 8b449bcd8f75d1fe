"""`sf.discover`: the same answers as the definitions, from every kind of table, and nothing else shown."""

import json
import random
from fractions import Fraction

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from discovery.people import cells
from oracles.quasi_identifiers import exposed, is_quasi_identifier, minimal_sets, random_table
from sfumato.discovery.discovery import percent
from sfumato.discovery.quasi_identifiers.coded import Reading
from sfumato.system.errors import BadData, SfumatoError, UsageError

READINGS = [{"mode": "any"}, {"mode": "all"}, {"fraction": "1/3"}, {"count": 3}, {"mode": "distinct"}]


def frame(table):
    return pl.DataFrame(
        {n: pl.Series([None if v is None else str(v) for v in c], dtype=pl.String) for n, c in table.items()}
    )


@given(st.integers(0, 10**9), st.sampled_from(READINGS), st.integers(2, 4), st.sampled_from([None, 1, 2, 5]))
def test_answers_are_those_of_the_definitions(seed, words, k, max_size):
    table = random_table(random.Random(seed))
    k = 2 if words.get("mode") == "distinct" else k
    reading = Reading.of(k=k, **words)
    scan = sf.discover(frame(table), k=k, max_size=max_size, **words)
    every = minimal_sets(table, reading)
    assert sorted(scan.minimal) == sorted(minimal_sets(table, reading, max_size))
    assert scan.complete
    assert scan.exposed == exposed(table, tuple(table), k) and scan.k_anonymous == (scan.exposed == 0)
    assert [m.exposed for m in scan.sets] == [exposed(table, s, k) for s in scan.minimal]
    smallest = min(map(len, every), default=None)
    if smallest is None:
        assert scan.minimum is None and scan.reason
    else:
        assert is_quasi_identifier(table, scan.minimum, reading)
        assert scan.lower_bound <= smallest <= len(scan.minimum)
        assert scan.proved == (len(scan.minimum) == scan.lower_bound) or smallest == 0
        assert len(scan.minimum) == smallest or not scan.proved


@given(st.integers(0, 10**9), st.sampled_from([{"deadline": 0.0}, {"max_results": 1}]))
def test_a_search_that_was_stopped_says_so_and_stays_right(seed, stop):
    table = random_table(random.Random(seed))
    reading = Reading.of(k=2, mode="any")
    scan = sf.discover(frame(table), k=2, mode="any", **stop)
    every = minimal_sets(table, reading)
    assert set(scan.minimal) <= set(every)
    assert not scan.complete or sorted(scan.minimal) == sorted(every)
    if every:
        assert is_quasi_identifier(table, scan.minimum, reading)
        assert scan.lower_bound <= min(map(len, every)) <= len(scan.minimum)
        assert not scan.proved or len(scan.minimum) == min(map(len, every))


@pytest.mark.parametrize(
    "words",
    [{}, {"mode": "any", "count": 2}, {"fraction": 0.5, "count": 1}, {"mode": "some"}, {"fraction": 2}],
)
def test_exactly_one_reading_and_no_default(words):
    with pytest.raises(UsageError):
        sf.discover(pl.DataFrame({"a": ["x", "y"]}), k=2, **words)


def test_wrong_calls():
    people = pl.DataFrame({"a": ["x", "y"]})
    for words in ({"k": 0}, {"k": True}, {"k": 2, "max_size": -1}, {"k": 2, "deadline": -1.0}):
        with pytest.raises(UsageError):
            sf.discover(people, mode="any", **words)
    with pytest.raises(UsageError, match="no such column"):
        sf.discover(people, k=2, mode="any", without=["b"])
    with pytest.raises(TypeError):
        sf.discover(people, mode="any")
    with pytest.raises(BadData, match="no columns"):
        sf.discover(pl.DataFrame(), k=2, mode="any")


def test_every_answer_echoes_what_was_asked():
    scan = sf.discover(sf.demo.hospital(200), k=3, fraction=0.05, max_size=2)
    assert (scan.k, scan.t, scan.reading, scan.null_rule, scan.rows) == (3, 10, "fraction", "equal", 200)
    assert (scan.max_size, scan.columns) == (2, tuple(sf.demo.hospital(0).columns))
    document = scan.as_dict()
    assert [document[key] for key in ("k", "t", "reading", "null_rule", "rows")] == [
        3,
        10,
        "fraction",
        "equal",
        200,
    ]


def test_a_column_left_out_uncovers_the_others():
    people = pl.DataFrame({"id": list("abcd"), "zip": list("1122"), "sex": list("fmfm")})
    assert sf.discover(people, k=2, mode="all").minimal == [("id",), ("zip", "sex")]
    scan = sf.discover(people, k=2, mode="all", without=["id"])
    assert scan.minimal == [("zip", "sex")] and scan.columns == ("zip", "sex")
    assert {f.column for f in scan.identifiers} == {"id"}


def test_duplicate_rows_leave_no_key_and_say_so():
    scan = sf.discover(pl.DataFrame({"a": list("xxy"), "b": list("ppq")}), k=2, mode="all")
    assert scan.minimal == [] and scan.minimum is None and scan.duplicates == 1
    assert "1 rows repeat" in scan.reason and scan.reason in str(scan)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tables")
    people = sf.demo.hospital(300, seed=4)
    people.write_csv(place / "people.csv")
    people.write_parquet(place / "people.parquet")
    return place


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "polars-lazy", "duckdb", "csv", "parquet"])
def test_every_kind_of_table_gives_the_same_answer(folder, kind):
    people = sf.demo.hospital(300, seed=4)
    table = {
        "pandas": people.to_pandas,
        "pyarrow": people.to_arrow,
        "polars-lazy": people.lazy,
        "duckdb": lambda: duckdb.from_arrow(people.to_arrow()),
        "csv": lambda: folder / "people.csv",
        "parquet": lambda: str(folder / "people.parquet"),
    }[kind]()
    asked = {"k": 3, "mode": "any", "max_size": 3, "record_risk": 2}
    one, other = sf.discover(people, **asked), sf.discover(table, **asked)
    assert one.as_dict() == other.as_dict() and str(one) == str(other)
    assert one.suggest().to_yaml() == other.suggest().to_yaml()


def test_the_order_of_rows_does_not_matter():
    people = sf.demo.hospital(300)
    asked = {"k": 2, "count": 5, "record_risk": 2}
    shuffled = people.sample(fraction=1, shuffle=True, seed=1)
    assert sf.discover(people, **asked).as_dict() == sf.discover(shuffled, **asked).as_dict()


def test_no_cell_is_shown_anywhere():
    kinds = cells()
    rows = 20
    table = pl.DataFrame({f"c{i}": texts[:rows] for i, texts in enumerate(kinds.values())})
    scan = sf.discover(table, k=2, mode="any", max_size=2, record_risk=1)
    shown = "".join(
        [str(scan), repr(scan), scan._repr_html_(), json.dumps(scan.as_dict()), scan.suggest().to_yaml()]
        + [repr(chart) for chart in scan.charts()]
    )
    assert not [cell for texts in kinds.values() for cell in texts[:rows] if cell in shown]


def test_lists_cannot_be_compared():
    with pytest.raises(SfumatoError, match="lists"):
        sf.discover(pa.table({"a": [[1], [2]]}), k=2, mode="any")


def test_record_risk_on_demand_and_with_the_rest():
    people = sf.demo.hospital(200)
    scan = sf.discover(people, k=2, mode="any", max_size=1, record_risk=2)
    assert scan.risk.at_risk == scan.record_risk(2).at_risk == 200
    assert scan.as_dict()["record_risk"]["records_by_smallest_size"] == {"1": 200, "2": 0}
    assert list(scan.contribution.values()) == sorted(scan.contribution.values(), reverse=True)
    assert sf.discover(people, k=2, mode="any", max_size=1).as_dict()["record_risk"] is None


def test_progress_names_the_best_so_far():
    told = []
    sf.discover(sf.demo.hospital(300), k=2, mode="any", max_size=2, progress=lambda *said: told.append(said))
    phases = {said[0] for said in told}
    assert "reading" in phases
    assert "surveying" not in phases, "rows are read once"
    assert any("smallest 1" in phase for phase in phases)


def test_near_keys_of_numbers_are_named():
    weights = pd.DataFrame({"weight": [40 + i / 7 for i in range(60)], "sex": ["f", "m"] * 30})
    assert "nearly every number differs in weight" in str(sf.discover(weights, k=2, mode="any"))


@given(st.fractions(0, 1))
def test_a_percentage_never_rounds_to_all_or_nothing(share):
    assert (percent(share) == "100%") == (share == 1) and (percent(share) == "0%") == (share == 0)


def test_measures_are_exact():
    scan = sf.discover(pl.DataFrame({"zip": list("1122"), "sex": list("fmff")}), k=2, mode="any")
    assert scan.minimal == [("sex",)]
    assert scan.as_dict()["sets"][0] == {
        "columns": ["sex"],
        "exposed": 1,
        "share": "1/4",
        "decimals": {"share": 0.25, "distinct_ratio": 0.5, "separation": 0.5},
        "groups": 2,
        "smallest_group": 1,
        "distinct_ratio": "1/2",
        "separation": str(Fraction(1, 2)),
    }
