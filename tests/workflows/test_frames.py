"""Any dataframe in, the same kind out; row order does not matter; everything is made once more the same."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.cli.demo import examples
from sfumato.system.errors import BadData
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

ROWS = 900
POLICY = sf.demo.policy().with_(search="lattice")


def rows_of(frame):
    """A published frame as a list of rows of text."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, duckdb.DuckDBPyRelation):
        return [tuple(map(str, row)) for row in frame.fetchall()]
    if isinstance(frame, pd.DataFrame):
        assert list(frame.index) == list(range(len(frame)))
        return [tuple(map(str, row)) for row in frame.itertuples(index=False)]
    if isinstance(frame, pa.Table):
        frame = pl.from_arrow(frame)
    return [tuple(map(str, row)) for row in frame.rows()]


def as_kind(kind):
    frame = sf.demo.hospital(ROWS)
    if kind == "lazy":
        return frame.lazy()
    if kind == "duckdb":
        arrow = frame.to_arrow()
        return duckdb.from_arrow(arrow)
    return sf.demo.hospital(ROWS, kind=kind)


@pytest.fixture(scope="module")
def expected():
    frame = sf.demo.hospital(ROWS)
    return rows_of(sf.protect(frame, POLICY).apply(frame))


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "pyarrow", "duckdb"])
def test_the_same_kind_comes_out(kind, expected):
    people = as_kind(kind)
    plan = sf.protect(people, POLICY)
    safe = plan.apply(people)
    assert type(safe) is type(people)
    assert rows_of(safe) == expected
    assert sf.audit(safe, POLICY).holds


def test_row_order_does_not_matter(tmp_path):
    policy, people = POLICY, sf.demo.hospital(ROWS)
    outputs = []
    for i, frame in enumerate((people, people.reverse(), people.sample(fraction=1, shuffle=True, seed=3))):
        out = tmp_path / f"{i}.csv"
        protect_file(frame, policy, out)
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]


def test_frames_and_files_agree(hospital, tmp_path):
    frame = sf.demo.hospital(1500)
    protect_file(frame, POLICY, tmp_path / "frame.csv")
    protect_file(hospital / "hospital.csv", hospital / "policy.yaml", tmp_path / "file.csv")
    assert (tmp_path / "frame.csv").read_bytes() == (tmp_path / "file.csv").read_bytes()


def test_the_demo_is_the_same_every_time():
    first = sf.demo.hospital(2000, seed=4)
    assert first.equals(sf.demo.hospital(2000, seed=4))
    assert not first.equals(sf.demo.hospital(2000, seed=5))
    assert first["patient_id"].n_unique() == 2000
    assert first["zip"].str.len_chars().unique().to_list() == [5]
    assert first["zip"].str.starts_with("0").any()


def test_the_demo_is_skewed_and_correlated():
    people = sf.demo.hospital(20_000)
    assert people["zip"].value_counts()["count"].max() > 50 * people["zip"].value_counts()["count"].median()
    income = dict(people.group_by("job").agg(pl.col("income").median()).iter_rows())
    assert income["Physician"] > 2 * income["Cook"]
    men = dict(people.group_by("disease").agg((pl.col("sex") == "male").mean()).iter_rows())
    assert men["Prostate cancer"] == 1
    assert men["Fibroid"] == 0
    age = dict(people.group_by("disease").agg(pl.col("born").str.head(4).cast(pl.Int64).mean()).iter_rows())
    assert age["Dementia"] < age["Concussion"] - 20


def test_a_plan_names_only_what_is_published():
    policy = {
        "columns": {"zip": {"role": "quasi", "taxonomy": {"prefix": [2]}}},
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "top-down", "price": "none", "suppress": "1/2"},
    }
    people = pl.DataFrame({"zip": ["0111", "0111", "CANARY"]})
    plan = sf.protect(people, policy)
    assert plan.suppressed == 1
    texts = [str(plan), repr(plan), plan._repr_html_(), str(plan.as_dict())]
    texts += [str(plan.explain()), plan.explain()._repr_html_(), str(plan.explain().as_dict())]
    assert not any("CA" in text for text in texts)
    assert plan.as_dict()["cuts"] == {"zip": ["0111"]}


def test_html_is_escaped():
    policy = {
        "columns": {"<b>x</b>": {"role": "quasi"}},
        "promises": [{"k-anonymity": {"k": 1}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    people = pl.DataFrame({"<b>x</b>": ["<script>", "<i>"]})
    plan = sf.protect(people, policy)
    for html in (plan._repr_html_(), plan.explain()._repr_html_(), sf.audit(people, policy)._repr_html_()):
        assert "<b>x" not in html
        assert "<script" not in html


def test_a_plan_is_for_the_table_it_was_made_for(hospital):
    people = sf.demo.hospital(ROWS)
    plan = sf.protect(people, POLICY)
    with pytest.raises(BadData):
        plan.apply(people.head(100))
    file = hospital / "hospital.csv"
    assert isinstance(sf.protect(file, hospital / "policy.yaml").apply(file), pa.Table)


def test_examples_show_what_the_file_says_or_nothing(hospital, tmp_path):
    plan, _ = protect_file(hospital / "hospital.csv", hospital / "policy.yaml", tmp_path / "safe.csv")
    before, after = examples(hospital / "hospital.csv", plan)
    header, *lines = (tmp_path / "safe.csv").read_text(encoding="utf-8").splitlines()
    assert len(before) == len(after) == 7
    assert "name" not in after[0]
    safe = pl.read_csv(tmp_path / "safe.csv", infer_schema=False).select(after[0]).rows()
    assert all(row in safe or set(row) == {"–"} for row in after[1:])
    assert len(lines) == plan.rows - plan.suppressed
    assert header.split(",") == [n for n in plan.policy.columns if n in plan.policy.published]
