"""The experiment on continuous publishing, small: figures from made-up files, and files that are absent."""

import csv
import xml.etree.ElementTree as ET

import pytest
from experiments import continuous
from experiments.nested_trees import nested_tree, nested_trees

from papers.adult_like import write_adult_like
from sfumato.system.errors import BadTaxonomy

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    data, out = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("out")
    write_adult_like(data / "adult_uci")
    keep = continuous.KS
    continuous.KS = (5, 10)
    try:
        return continuous.main(data, out), out
    finally:
        continuous.KS = keep


def test_every_figure_is_drawn_with_a_line_per_series(drawn):
    rows, out = drawn
    assert len(rows) == 2 * 3 * 2
    names = {path.stem for path in out.glob("*.svg")}
    assert names == {f"continuous-{n}" for n in ("1a", "1b", "1c", "1d", "2a", "2b", "2c", "2d", "2e", "2f")}
    for path in out.glob("*.svg"):
        texts = {t.text for t in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")}
        expected = {"200D2", "2000D2", "allD2"} if "-1" in path.stem else set(continuous.COSTS.values())
        assert expected <= texts


def test_a_release_made_beside_the_first_is_safe_and_separate_ones_are_measured(drawn):
    rows, out = drawn
    for row in rows:
        assert 0 < row["k-R2"] <= 1 and 0 < row["BCF-R2"] <= 1
        assert row["FA literal"] <= row["FA feasible"] <= row["FA realized"]
        assert row["FA feasible"] >= 1 and row["BA feasible"] >= 1
    assert any(row["BA feasible"] < row["k"] for row in rows)
    with (out / "continuous.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(rows)


def test_what_is_printed_stands_beside_what_was_found(drawn):
    said = continuous.compared(drawn[0])
    assert all("(printed: " in line for line in said) and len(said) == 6


def test_absent_trees_are_named(tmp_path, capsys):
    write_adult_like(tmp_path / "adult_uci")
    (tmp_path / "adult_uci" / "adult_tds.hchy").unlink()
    assert continuous.main(tmp_path, tmp_path / "out") == []
    assert "left out" in capsys.readouterr().out


def test_nested_braces_are_a_tree(tmp_path):
    write_adult_like(tmp_path)
    trees = nested_trees(tmp_path / "adult_tds.hchy")
    assert set(trees) >= {"martial-status", "sex"} and "age" not in trees
    assert trees["martial-status"].leaf_labels == ("Here", "Away", "Single")
    with pytest.raises(BadTaxonomy):
        nested_tree("{Any {Twice} {Twice}}")
