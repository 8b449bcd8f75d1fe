"""Yuan's examples, with what the paper gets wrong about them."""

import random
import re
from itertools import combinations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from oracles.quasi_identifiers import coded, is_quasi_identifier, minimal_sets, paper_loop, random_table
from papers.yuan_quasi_identifiers import cover_table, example_4_2, example_5_2
from sfumato.cli.main import app
from sfumato.discovery.quasi_identifiers.coded import Coded, Reading
from sfumato.discovery.quasi_identifiers.descent import descend
from sfumato.discovery.quasi_identifiers.enumeration import minimal
from sfumato.discovery.quasi_identifiers.measures import k_test, measure
from sfumato.discovery.quasi_identifiers.minimum import SearchMethod, minimum, search_by
from sfumato.system.errors import UsageError

DISTINCT = Reading.of(k=2, mode="distinct")
ALL = Reading.of(k=2, mode="all")
ANY = Reading.of(k=2, mode="any")


def test_lemma_1_grouping_all_columns_decides_for_every_subset():
    table = Coded.of_columns(example_4_2())
    assert not k_test(table, k=2).k_anonymous
    assert k_test(table, k=2).exposed == 6
    assert all(
        measure(table, columns, k=2).exposed <= 6
        for size in range(5)
        for columns in combinations(table.names, size)
    )


@pytest.mark.parametrize("reading", [DISTINCT, ALL])
def test_example_4_2_the_cover_is_the_only_minimal_set(reading):
    table = Coded.of_columns(example_4_2())
    assert minimal(table, reading).sets == (("c1", "c4"),)
    assert minimum(table, reading).sets == (("c1", "c4"),)
    assert minimum(table, reading).proved
    assert not is_quasi_identifier(example_4_2(), ("c1", "c2", "c3"), reading)


def test_definition_3_asks_for_some_record_but_proof_and_examples_mean_all():
    table = Coded.of_columns(example_4_2())
    assert minimal(table, ANY).sets == (("c1",), ("c2",), ("c3",), ("c4",))


def test_example_5_2_the_algorithm_returns_b_c_and_not_a_b_c():
    found = descend(Coded.of_columns(example_5_2()), DISTINCT)
    assert found.columns == ("b", "c")
    assert [(step.without, step.holds) for step in found.steps] == [
        ("e", True),
        ("d", True),
        ("c", False),
        ("b", False),
        ("a", True),
    ]
    assert paper_loop(example_5_2(), DISTINCT) == (("b", "c"), 7)
    assert is_quasi_identifier(example_5_2(), ("b", "c"), DISTINCT)


def test_algorithm_5_1_in_column_order_by_public_words(tmp_path):
    people = pl.DataFrame({name: list(map(str, cells)) for name, cells in example_5_2().items()})
    scan = sf.discover(people, k=2, mode="distinct", method="descend", orders=0)
    told = [(", ".join(step.remaining), step.holds) for step in scan.steps]
    tests = [("a, b, c, d", True), ("a, b, c", True), ("a, b", False), ("a, c", False), ("b, c", True)]
    assert told == tests and scan.minimal == [("b", "c")] and not scan.complete
    people.write_csv(tmp_path / "table.csv")
    words = ["discover", str(tmp_path / "table.csv"), "--header", "--k", "2", "--mode", "distinct"]
    shown = CliRunner().invoke(app, [*words, "--method", "descend", "--orders", "0"]).stdout
    assert re.findall(r"without (\w) +(.+?)  +(still one|needed)", shown) == [
        (step.without, ", ".join(step.remaining), "still one" if step.holds else "needed")
        for step in scan.steps
    ]
    steps = [{"columns": columns.split(", "), "holds": holds} for columns, holds in tests]
    assert scan.as_dict()["steps"] == steps
    with pytest.raises(UsageError, match="no deadline"):
        sf.discover(people, k=2, mode="distinct", method="descend", orders=0, deadline=1)


@given(st.integers(0, 10**9), st.sampled_from([{"mode": "distinct"}, {"mode": "all"}, {"mode": "any"}]))
def test_algorithm_5_1_ends_where_the_papers_loop_ends(seed, words):
    table = random_table(random.Random(seed))
    reading = Reading.of(k=2, **words)
    answer = search_by(SearchMethod(name="descend", orders=0), coded(table), reading)
    columns = paper_loop(table, reading)[0] if is_quasi_identifier(table, tuple(table), reading) else None
    assert answer.smallest.columns == columns
    assert all(is_quasi_identifier(table, s.remaining, reading) == s.holds for s in answer.steps)


def test_example_5_2_has_five_minimum_sets_so_a_minimum_is_not_unique():
    table = Coded.of_columns(example_5_2())
    five = (("a", "d"), ("b", "c"), ("b", "e"), ("c", "d"), ("d", "e"))
    assert minimal(table, DISTINCT).sets == five
    assert minimum(table, DISTINCT).sets == five
    assert minimal(table, ANY).sets == (("a",), ("b",), ("c",), ("d",), ("e",))


def test_projections_must_keep_repeated_rows():
    """Read as sets, the two equal rows would merge and look unique."""
    table = Coded.of_columns({"a": [1, 1, 2], "b": [1, 1, 1]})
    assert k_test(table, k=2).exposed == 1
    assert descend(table, DISTINCT).columns == ("a",)
    assert descend(table, ALL).columns is None


covers = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.sets(st.integers(1, n)), min_size=1, max_size=6).map(lambda sets: (n, sets))
)


@given(covers)
def test_reduction_minimum_quasi_identifier_is_minimum_cover(instance):
    elements, sets = instance
    collection = {f"s{i}": members for i, members in enumerate(sets)}
    universe = set(range(1, elements + 1))
    chosen = [
        names
        for size in range(len(sets) + 1)
        for names in combinations(collection, size)
        if set().union(*(collection[n] for n in names)) == universe
    ]
    smallest = [names for names in chosen if len(names) == len(chosen[0])]
    found = minimum(Coded.of_columns(cover_table(sorted(universe), collection)), ALL)
    assert list(found.sets) == smallest
    assert found.proved == bool(smallest)


@given(covers)
def test_reduction_minimal_quasi_identifiers_are_minimal_covers(instance):
    elements, sets = instance
    table = cover_table(range(1, elements + 1), {f"s{i}": members for i, members in enumerate(sets)})
    assert list(minimal(Coded.of_columns(table), ALL).sets) == minimal_sets(table, ALL)
