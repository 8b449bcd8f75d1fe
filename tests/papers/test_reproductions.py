"""Figures of experiments: every one is shown by a page, and small runs draw them again."""

import re
from pathlib import Path

import numpy as np
import pytest
from experiments import fingerprint_robustness, quasi_identifiers, quasi_sensitive, term_removal, term_tree
from experiments.__main__ import keep_figures, keep_measured, main

from sfumato.models.quasi_sensitive.knowledge import Knowledge
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveDiversity
from sfumato.search.class_term_removal import RemovalCosts, SolverBudget, TermLimit, solve_class
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "explanation"
FIGURES = PAGES / "figures"


def test_pages_show_every_figure_once_and_no_other():
    pages = [path.read_text(encoding="utf-8") for path in sorted(PAGES.glob("*.md"))]
    shown = [name for page in pages for name in re.findall(r"!\[[^\]]+\]\(figures/([^)]+)\)", page)]
    assert sorted(shown) == sorted(path.name for path in FIGURES.iterdir())


def test_figures_fetch_nothing_and_name_no_machine():
    for path in FIGURES.iterdir():
        text = path.read_text(encoding="utf-8")
        assert text.startswith("<svg")
        assert set(re.findall(r"https?://[^\"' <]+", text)) <= {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1999/xlink",
        }


def test_quasi_identifiers_need_no_data(tmp_path, monkeypatch):
    small = list(quasi_identifiers.planted_covers(columns=20, size=4, elements=40, seeds=1))
    monkeypatch.setattr(quasi_identifiers, "planted_covers", lambda: small)
    figures = tmp_path / "figures"
    words = ["--data", str(tmp_path), "--out", str(tmp_path / "out"), "--figures", str(figures)]
    assert main([*words, "quasi_identifiers"]) == 0
    assert [path.name for path in figures.iterdir()] == ["quasi-identifiers-planted.svg"]
    assert small[0]["greedy"] <= small[0]["50 orders"] and small[0]["at least"] <= 4
    rows = list(quasi_identifiers.examples())
    assert rows[0]["minimum"] == "c1 c4" and rows[1]["descent"] == "b c"
    assert len(rows[1]["minimum"].split(" | ")) == 5


def test_figures_in_folders_keep_their_folder_in_their_name(tmp_path):
    (tmp_path / "out" / "fingerprint-paper").mkdir(parents=True)
    (tmp_path / "out" / "fingerprint-paper" / "lattice.svg").write_text("<svg/>")
    (tmp_path / "out" / "other.svg").write_text("<svg/>")
    assert keep_figures(tmp_path / "out", tmp_path / "figures") == ["fingerprint-paper-lattice.svg"]


@pytest.mark.parametrize("name", ["drawn", "real"])
def test_costs_and_losses_of_term_removal_are_drawn(name):
    rows = [
        {"knowledge": name, "figure": "removal", "k": k, "l": count, "c": ratio}
        | {f"cost {method}": 0.1 * count for method in quasi_sensitive.METHODS}
        for k in quasi_sensitive.CROWDS
        for count in (2, 6)
        for ratio in ("1/2", "1")
    ]
    rows += [
        {"knowledge": name, "figure": "phases", "way": way, "k": 2, "t squared": t, "cost": t, "loss": 1 - t}
        for way in ("both", "removal only")
        for t in (0.1, 0.2)
    ]
    figures = [figure for figure in quasi_sensitive.pictures(rows) if name in figure.name]
    assert len(figures) == 6 and all(len(figure.rows()) > 1 for figure in figures)
    cost = next(figure for figure in figures if figure.name.endswith("-cost"))
    assert dict(cost.series["removal only"]) == {0.1: 0.1, 0.2: 0.2}


@pytest.mark.slow
def test_what_defences_buy_against_who_knows_how_terms_are_removed():
    """A stricter promise and removal from whole classes help; figures are shares."""
    found = term_removal.measured(2)
    assert set(found) == set(term_removal.METHODS)
    assert all(0 <= figure <= 1 for figures in found.values() for figure in figures)
    plain_cost = found["nothing"][3]
    assert plain_cost <= found["margin 1/4"][3] and plain_cost <= found["scope class"][3]
    assert found["nothing"][2] <= found["nothing"][1]


def test_robustness_over_columns_and_levels_on_made_up_data():
    rng = np.random.default_rng(3)
    # No two columns have a label in common: exchanged ones would be seen, and nobody is cleared by that.
    trees = [
        Taxonomy.grow(["*", *(f"{label}{j}" for label in "ABabcd")], [-1, 0, 0, 1, 1, 2, 2]) for j in range(3)
    ]
    columns = [Column(f"q{j}", Role.QUASI, tree) for j, tree in enumerate(trees)]
    table = Microdata.of_codes(columns, [rng.integers(0, 4, 400).astype(np.int32) for _ in columns])
    tree = trees[0]
    flat = fingerprint_robustness.shallower(tree, 2)
    assert flat.leaf_labels == tree.leaf_labels and len(flat.levels) == 2
    same = fingerprint_robustness.shallower(tree, 3)
    assert sorted(same.labels) == sorted(tree.labels) and len(same.levels) == 3
    rows = list(fingerprint_robustness.robustness(table, columns=(1, 2, 3), levels=(2, 0), trials=3))
    assert [row["patterns"] for row in rows] == [2, 3, 4, 9, 8, 27]
    served = {(row["columns"], row["levels"]): row["recipients"] for row in rows}
    assert served[3, "all"] >= served[3, 2] >= 1
    assert all(row["raised 0"] in (None, 1) for row in rows)
    assert all(row["raised 1"] is None or 0 <= row["raised 1"] <= 1 for row in rows)
    assert len(fingerprint_robustness.figures(rows)) == 2


def test_the_search_tree_of_figure_3_is_that_of_the_search(tmp_path):
    """Every set of cells once, in either order; and the cheapest node is what the searches find."""
    known = Knowledge.of(term_tree.KNOWN.items())
    limit = TermLimit.of(QuasiSensitiveDiversity("s", known, l=term_tree.L, c=term_tree.C))
    first = {}
    for name in ("plain", "adaptive"):
        nodes = list(term_tree.walk(name == "adaptive"))
        sets = {frozenset(node.removed) for node in nodes}
        assert len(nodes) == len(sets) == 2 ** len(term_tree.CELLS)
        assert all(not set(node.removed) & set(node.tail) for node in nodes)
        first[name] = next(term_tree.cost(node.removed) for node in nodes if node.keeps)
        best = min(term_tree.cost(node.removed) for node in nodes if node.keeps)
        costs = RemovalCosts("inverse", 3)
        found = solve_class(term_tree.ROWS, limit, costs, SolverBudget(name))
        assert found.found and costs.share(found.cost, [len(row) for row in term_tree.ROWS]) == best
    assert first["adaptive"] < first["plain"]
    term_tree.main(tmp_path, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"term-tree-plain.svg", "term-tree-adaptive.svg"}


def test_measured_figures_are_copied_with_a_line_that_says_when(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "term_removal.csv").write_text("defence,T\nnothing,0.1\n", encoding="utf-8")
    assert keep_measured(tmp_path / "out", tmp_path / "measured") == ["term_removal.csv"]
    first, *lines = (tmp_path / "measured" / "term_removal.csv").read_text(encoding="utf-8").splitlines()
    assert re.match(r"# \d+ \w+ \d{4}, .+, load \d+\. .* 40 drawn tables", first)
    assert lines == ["defence,T", "nothing,0.1"]


def test_experiments_that_need_no_data_ask_for_no_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(term_removal, "measured", lambda _: {"nothing": (0.1, 0.2, 0.3, 0.4)})
    words = ["--data", str(tmp_path / "none"), "--out", str(tmp_path / "out")]
    assert main([*words, "term_removal"]) == 0
    assert "defence,promise broken" in (tmp_path / "out" / "term_removal.csv").read_text(encoding="utf-8")
    assert main([*words, "freeform"]) == 1 and "left out" in capsys.readouterr().out
