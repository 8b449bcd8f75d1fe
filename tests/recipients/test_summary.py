"""What is said and drawn of patterns."""

import re
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from experiments.drawing import Diagram
from experiments.pattern_charts import (
    MOST_LEAVES,
    MOST_PATTERNS_DRAWN,
    lattice_chart,
    level_tree,
    quality_map,
    tracing_chart,
)

import sfumato as sf
from papers.schrittwieser_2011 import GENDER, ROWS_I, table_i, table_v
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.recipients.patterns import classify
from sfumato.search.contract import Aim
from sfumato.system.errors import UsageError
from sfumato.system.presentation.charts import Chart, draw
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

pytestmark = pytest.mark.slow

TWO = Promises((KAnonymity(2),))
PEOPLE = pl.DataFrame(
    [(gender, "-".join(reversed(day.split(".")))) for gender, day in ROWS_I],
    schema=["gender", "birthdate"],
    orient="row",
)
POLICY = {
    "columns": {
        "gender": {"role": "quasi", "taxonomy": {"tree": {"*": ["m", "f"]}}},
        "birthdate": {"role": "quasi", "taxonomy": {"date": ["month", "year"]}},
    },
    "promises": [{"k-anonymity": {"k": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
}


def test_the_card_of_the_paper():
    found = sf.patterns(PEOPLE, POLICY, quality="height")
    assert str(found) == (
        "patterns of 2 columns\n"
        "  8 patterns  2 x 4 levels of gender, birthdate\n"
        "  6 allowed   keep k-anonymity, k = 2\n"
        "  height 1  1 pattern   1 apart\n"
        "  height 2  2 patterns  2 apart\n"
        "  height 3  2 patterns  2 apart\n"
        "  height 4  1 pattern   1 apart\n"
        "  within 1 % of the best   1 pattern  1 apart\n"
        "  within 5 % of the best   1 pattern  1 apart\n"
        "  within 10 % of the best  1 pattern  1 apart\n"
        "  within 20 % of the best  1 pattern  1 apart\n"
        "apart: none can be made from another; of all patterns at most 2 are"
    )
    assert "<table" in found._repr_html_() and repr(found) == "Patterns(8 patterns, 6 allowed)"


def test_the_document():
    found = sf.patterns(PEOPLE, POLICY, quality="height", tolerance="100%").as_dict()
    assert found["columns"] == {"gender": 2, "birthdate": 4} and found["tolerance"] == "1"
    assert found["classes"][0] == {"best": 1.0, "worst": 2.0, "patterns": 3, "apart": 2}
    assert found["apart"] == [{"gender": 0, "birthdate": 2}, {"gender": 1, "birthdate": 1}]
    assert found["within"] == {} and found["class_count"] == len(found["classes"]) == 2


def test_the_policy_says_what_is_equally_good():
    rule = {"recipients": {"quality": "precision", "tolerance": "5%"}}
    found = sf.patterns(PEOPLE, {**POLICY, **rule})
    assert (found.quality, found.tolerance) == ("precision", Fraction(1, 20))
    assert sf.patterns(PEOPLE, {**POLICY, **rule}, quality="loss").quality == "loss"
    assert sf.patterns(PEOPLE, POLICY).quality == "loss"


def test_where_nothing_is_allowed_it_says_so():
    found = sf.patterns(PEOPLE, {**POLICY, "promises": [{"k-anonymity": {"k": 5}}]})
    assert str(found).endswith("nothing can be published: relax a promise, or let rows be suppressed")
    assert found.as_dict()["apart"] == []


def test_patterns_beside_earlier_releases():
    policy = {
        "columns": {"since": {"role": "identifier"}, **POLICY["columns"]},
        "promises": [{"continuous": {"k": 2, "since": "since"}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    people = PEOPLE.with_columns(since=pl.Series(["Q1", "Q1", "Q2", "Q2"]))
    first = sf.protect(people.filter(pl.col("since") == "Q1"), policy)
    alone, beside = sf.patterns(people, policy), sf.patterns(people, policy, earlier=[first.imprint])
    plan = sf.protect(
        people, {**policy, "protect": {"suppress": 0, "search": "top-down"}}, earlier=[first.imprint]
    )
    assert alone.allowed.sum() == 6 and not (beside.allowed & ~alone.allowed).any()
    assert beside.allowed[-1] and plan.recoding.cuts is not None


@pytest.mark.parametrize("wrong", [{"quality": "beauty"}, {"tolerance": "-5%"}])
def test_nonsense_is_refused(wrong):
    with pytest.raises(UsageError):
        sf.patterns(PEOPLE, POLICY, **wrong)


def test_figure_1_names_what_the_policy_names_and_no_other_value():
    columns = sf.patterns(PEOPLE, POLICY).table.keys
    gender, birthdate = (level_tree(column, {"*", "m", "f"}) for column in columns)
    assert [s.text for s in gender.spots] == ["*", "m", "f"] and gender.links == [(0, 1), (0, 2)]
    assert [s.text.split("\n")[1] for s in birthdate.spots] == ["4 values", "2 values", "1 value", "1 value"]
    assert not any("1970" in text for row in birthdate.rows() for text in row)


def test_a_tree_of_unlike_depths_and_a_large_one():
    tree = Taxonomy.grow(["*", "Viral", "Flu", "AIDS", None], [-1, 0, 1, 1, 0])
    drawn = level_tree(Column("Disease, all", Role.QUASI, tree), set(tree.labels))
    assert drawn.name == "levels-1-disease-all"
    assert sorted(s.text for s in drawn.spots) == ["", "(empty)", "*", "AIDS", "Flu", "Viral"]
    assert len(drawn.links) == len(drawn.spots) - 1
    many = Taxonomy.flat([str(i) for i in range(MOST_LEAVES + 1)])
    assert len(level_tree(Column("n", Role.QUASI, many), set(many.labels)).spots) == 2


def test_figure_2_has_every_pattern_and_every_step():
    for table in (table_i(), table_v()):
        patterns = classify(table, TWO)
        drawn = lattice_chart(patterns, "precision")
        assert isinstance(drawn, Diagram) and len(drawn.spots) == patterns.count
        for a, b in drawn.links:
            steps = np.array(patterns.levels(b)) - np.array(patterns.levels(a))
            assert sorted(steps)[-1] == 1 == steps.sum() and drawn.spots[b].y == drawn.spots[a].y + 1
        expected = sum(patterns.count // size * (size - 1) for size in patterns.shape)
        assert len(set(drawn.links)) == len(drawn.links) == expected
        assert len({(s.x, s.y) for s in drawn.spots}) == patterns.count
    assert drawn.spots[0].text == "(0, 0, 0)\nk 1 · 0"


def test_a_large_lattice_is_told_by_its_heights():
    columns = [Column(f"c{j}", Role.QUASI, GENDER) for j in range(7)]
    table = Microdata.of_codes(columns, [np.arange(20) % 2 for _ in columns])
    patterns = classify(table, TWO)
    assert patterns.count > MOST_PATTERNS_DRAWN
    drawn = lattice_chart(patterns, "height")
    assert isinstance(drawn, Chart) and sum(n for _, n in drawn.points) == patterns.allowed.sum()


def test_figure_3_shows_every_pattern_once_and_the_best_classes():
    patterns = classify(table_i(), TWO)
    drawn = quality_map(patterns, "height")
    assert sum(m.weight for m in drawn.marks) == 6 and drawn.floor == (2.0, "k = 2")
    assert [(m.x, m.y, m.weight) for m in drawn.marks if m.kind == "class 2: 2"] == [(2.0, 2.0, 2)]
    assert drawn.rows()[1:][-1] == ("not allowed", "2", "0 to 1", "1 to 1")


def test_a_crowded_map_joins_near_patterns():
    rng = np.random.default_rng(1)
    ladder = [str(i) for i in range(64)]
    parent = (
        [64 + i // 2 for i in range(64)]
        + [96 + i // 2 for i in range(32)]
        + [112 + i // 4 for i in range(16)]
    )
    labels = [*ladder, *(f"g{i}" for i in range(32)), *(f"h{i}" for i in range(16)), *"wxyz", "*"]
    tree = Taxonomy.grow(labels, [*parent, *[116] * 4, -1])
    columns = [Column(f"c{j}", Role.QUASI, tree) for j in range(6)]
    table = Microdata.of_codes(columns, [rng.integers(0, 64, 200).astype(np.int32) for _ in columns])
    patterns = classify(table, TWO, Aim(Fraction(1, 2)))
    drawn = quality_map(patterns, "loss")
    assert sum(m.weight for m in drawn.marks) == patterns.count == 15_625 and len(drawn.marks) < 5_000
    kept = [m.y for m in drawn.marks if m.kind != "not allowed"]
    assert min(kept) == patterns.smallest[patterns.allowed].min() == 2.0, "none is drawn below the line of k"


def test_every_figure_can_be_drawn(tmp_path):
    patterns = sf.patterns(PEOPLE, POLICY)
    words = {"*", "m", "f"}
    trees = [level_tree(column, words, i) for i, column in enumerate(patterns.table.keys, 1)]
    figures = (*trees, lattice_chart(patterns, "loss"), quality_map(patterns, "loss"))
    files = sf.draw(SimpleNamespace(charts=lambda: figures), tmp_path / "charts")
    names = ["levels-1-gender.svg", "levels-2-birthdate.svg", "lattice.svg", "quality-map.svg", "charts.html"]
    assert [f.name for f in files] == names
    page = files[-1].read_text(encoding="utf-8")
    assert page.count("<svg") == 4 and "1970" not in page and "<script" not in page
    assert set(re.findall(r"""(?:href|src)=["'](.*?)["']""", page)) == set()
    held = {"U1": [("level 1", False)], "U2": [("level 0", True)]}
    grid = tracing_chart(["gender"], ["level 0"], held, {"U1": "cleared", "U2": "alone"})
    assert grid.rows() == [
        ("", "gender", "verdict"),
        ("leak", "level 0", ""),
        ("U1", "level 1", "cleared"),
        ("U2", "level 0", "alone"),
    ]
    drawn = draw(grid).to_dict()
    assert [layer["mark"]["type"] for layer in drawn["layer"]] == ["rect", "text"]


def test_what_nobody_can_draw_is_refused():
    with pytest.raises(UsageError, match="draw a str"):
        draw("a picture")
