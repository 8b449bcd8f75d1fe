"""The methods by name: each right about what it vouches for, and bounded by counted steps."""

import json
import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from discovery.quasi_identifiers.test_greedy import planted_cover
from oracles.quasi_identifiers import coded, is_quasi_identifier, minimal_sets, random_table
from sfumato.cli.main import app
from sfumato.discovery.quasi_identifiers.coded import Limits, Reading, usual_budget
from sfumato.discovery.quasi_identifiers.minimum import SearchMethod, search, search_by
from sfumato.system.errors import UsageError

pytestmark = pytest.mark.slow

KEYS = Reading.of(k=2, mode="all")
METHODS = ("exact", "greedy", "descend", "sample")
WORDS = [{"mode": "any"}, {"mode": "all"}, {"fraction": "1/3"}, {"count": 3}, {"mode": "distinct"}]


@given(st.integers(0, 10**9), st.sampled_from(METHODS), st.sampled_from(WORDS), st.integers(0, 5))
def test_what_a_method_vouches_for_is_so(seed, method, words, chance):
    table = random_table(random.Random(seed))
    if method == "sample" and words.get("mode") not in ("all", "distinct"):
        words = {"mode": "all"}
    reading = Reading.of(k=2, **words)
    every = minimal_sets(table, reading)
    chosen = SearchMethod(name=method, orders=3, seed=chance, epsilon=0.2)
    answer = search_by(chosen, coded(table), reading)
    found, smallest = answer.found, answer.smallest
    assert set(found.sets) <= set(every)
    assert not found.complete or sorted(found.sets) == sorted(every)
    if not every:
        assert smallest.columns is None and found.reason
        return
    least = min(map(len, every))
    assert all(is_quasi_identifier(table, columns, reading) for columns in smallest.sets)
    assert smallest.lower_bound <= least <= len(smallest.columns)
    assert not smallest.proved or len(smallest.columns) == least
    if smallest.complete:
        assert sorted(smallest.sets) == sorted(s for s in every if len(s) == least)


@given(st.integers(0, 10**9), st.sampled_from(WORDS), st.sampled_from([None, 1, 3]))
def test_a_budget_leaves_an_answer_that_says_how_far_it_goes(seed, words, max_size):
    draw = random.Random(seed)
    table = {f"c{j}": [draw.randrange(3) for _ in range(40)] for j in range(9)}
    reading = Reading.of(k=2, **words)
    found, smallest = search(coded(table), reading, max_size=max_size, limits=Limits(budget=1))
    every = minimal_sets(table, reading)
    within = [s for s in every if max_size is None or len(s) <= max_size]
    assert set(found.sets) <= set(within)
    if found.complete:
        assert sorted(found.sets) == sorted(within)
    else:
        short = [s for s in within if len(s) <= found.complete_to]
        assert set(short) <= set(found.sets)
    if every:
        assert smallest.lower_bound <= min(map(len, every))
        assert not smallest.complete or set(smallest.sets) == {
            s for s in every if len(s) == min(map(len, every))
        }


def test_the_same_budget_gives_the_same_answer():
    draw = random.Random(7)
    table = coded({f"c{j}": [draw.randrange(4) for _ in range(800)] for j in range(40)})
    reading = Reading.of(k=5, fraction="1/2")
    first = search(table, reading, limits=Limits(budget=1 << 27))
    assert search(table, reading, limits=Limits(budget=1 << 27)) == first
    found, smallest = first
    assert not found.complete and found.sets
    assert smallest.proved and smallest.sets[0] in found.sets
    assert found.complete_to >= smallest.lower_bound - 1


def test_the_usual_budget_looks_at_nothing_but_the_size():
    assert usual_budget(10, 3) == usual_budget(20_000, 60) < usual_budget(10**7, 60)


def test_all_minima_are_named():
    pairs = {"a": "xxyy", "b": "xyxy", "c": "xyyx"}
    scan = sf.discover(pl.DataFrame({name: list(cells) for name, cells in pairs.items()}), k=2, mode="all")
    assert scan.minima == [("a", "b"), ("a", "c"), ("b", "c")] and scan.all_minima
    shown = str(scan)
    assert shown.count("just as small") == 2
    assert scan.as_dict()["minima"] == [["a", "b"], ["a", "c"], ["b", "c"]]


def test_methods_on_the_command_line(tmp_path):
    table, planted = planted_cover()
    people = tmp_path / "planted.csv"
    pl.DataFrame({n: [str(v) for v in c] for n, c in table.items()}).write_csv(people)
    ask = ["discover", str(people), "--k", "2", "--mode", "all", "--header", "--json", "--method"]
    told = {}
    for method in ("greedy", "descend", "sample"):
        done = CliRunner().invoke(app, [*ask, method, "--max-results", "3"])
        assert done.exit_code == 0, done.output
        told[method] = json.loads(done.stdout)
        assert told[method]["method"] == method and told[method]["assurance"].startswith(method)
    assert set(told["greedy"]["minimum"]) == planted
    assert "times as many columns as the smallest" in told["greedy"]["assurance"]
    assert "50 random orders" in told["descend"]["assurance"]


@pytest.mark.parametrize(
    "words",
    [
        {"name": "guess"},
        {"name": "greedy", "max_size": 2},
        {"name": "descend", "max_size": 2},
        {"name": "greedy", "deadline": 1.0},
    ],
)
def test_a_method_refuses_what_it_cannot_keep(words):
    with pytest.raises(UsageError):
        SearchMethod(**words)


def test_a_budget_is_at_least_one_step():
    with pytest.raises(UsageError, match="budget"):
        search(coded({"a": [1, 2], "b": [1, 1]}), KEYS, limits=Limits(budget=0))
