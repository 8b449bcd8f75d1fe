"""Charts: exact numbers in, files out, nothing fetched from anywhere."""

import itertools
import re
import sys

import polars as pl
import pytest

import sfumato as sf
from oracles.quasi_identifiers import exposed
from sfumato.discovery.discovery import growth
from sfumato.system.errors import UsageError
from sfumato.system.presentation.charts import Chart, draw


@pytest.fixture(scope="module")
def scan():
    return sf.discover(sf.demo.hospital(300), k=3, mode="any", max_size=2)


def test_growth_counts_what_the_definition_counts(scan):
    people = sf.demo.hospital(300)
    table = {name: people[name].to_list() for name in people.columns}
    steps = growth(scan)
    assert [s.exposed for s in steps] == [exposed(table, s.columns, 3) for s in steps]
    assert [len(s.columns) for s in steps] == list(range(len(steps)))
    assert all(a.exposed <= b.exposed for a, b in itertools.pairwise(steps))
    best = max(exposed(table, (n,), 3) for n in table if n not in ("patient_id", "name"))
    assert steps[1].exposed == best and "patient_id" not in steps[-1].columns


def test_growth_of_tables_with_nothing_to_tell():
    assert [s.exposed for s in growth(sf.discover(pl.DataFrame({"a": ["x"] * 5}), k=2, mode="any"))] == [0]
    assert [s.exposed for s in growth(sf.discover(pl.DataFrame({"a": ["x"]}), k=2, mode="any"))] == [1]
    assert [s.exposed for s in growth(sf.discover(pl.DataFrame({"a": []}), k=2, mode="any"))] == [0]


def test_contribution_is_the_share_of_minimal_sets(scan):
    exposed_chart, contribution = scan.charts()
    assert exposed_chart.name == "exposed-by-size" and contribution.name == "contribution-by-column"
    within = {n: sum(n in s for s in scan.minimal) / len(scan.minimal) for n in scan.columns}
    assert dict(contribution.points) == pytest.approx(within)


def test_files_that_need_nobody_else(scan, tmp_path):
    files = sf.draw(scan, tmp_path / "charts")
    assert [f.name for f in files] == ["exposed-by-size.svg", "contribution-by-column.svg", "charts.html"]
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert "<svg" in text and "<script" not in text
        assert set(re.findall(r"""(?:href|src)=["'](.*?)["']""", text)) == set()
        assert {u for u in re.findall(r"https?://[^\s\"'<>]+", text) if "www.w3.org" not in u} == set()
    again = sf.draw(scan, tmp_path / "again")
    assert [f.read_bytes() for f in files] == [f.read_bytes() for f in again]


def test_names_of_columns_are_escaped(tmp_path):
    frame = pl.DataFrame({"<b>bold</b>": list("abcd"), "x": list("aabb")})
    page = sf.draw(sf.discover(frame, k=2, mode="any"), tmp_path)[-1].read_text(encoding="utf-8")
    assert "<b>bold" not in page and "&lt;b&gt;bold" in page


def test_any_chart_can_be_drawn():
    chart = Chart("n", "t", "bars", ("x", "y"), (("a", 1.0), ("b", 20.0)))
    drawn = draw(chart).to_dict()
    assert drawn["mark"]["type"] == "bar" and drawn["encoding"]["y"]["sort"] == ["a", "b"]


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_without_the_extra_it_says_what_to_install(scan, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=r"pip install 'sfumato\[charts\]'"):
        sf.draw(scan, tmp_path / "charts")
    assert not (tmp_path / "charts").exists()
