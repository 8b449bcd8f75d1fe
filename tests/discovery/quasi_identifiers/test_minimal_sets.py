"""All minimal quasi-identifiers against every subset of columns, for every reading."""

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.quasi_identifiers import coded, minimal_sets, random_table
from sfumato.discovery.quasi_identifiers.coded import NULL_RULE, Coded, Reading
from sfumato.discovery.quasi_identifiers.enumeration import minimal
from sfumato.system.errors import UsageError

pytestmark = pytest.mark.slow


def readings(draw, k):
    return [
        Reading.of(k=k, mode="any"),
        Reading.of(k=k, mode="all"),
        Reading.of(k=k, fraction=Fraction(draw.randint(0, 10), 10)),
        Reading.of(k=k, count=draw.randint(0, 12)),
        Reading.of(k=2, mode="distinct"),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_all_minimal_sets_and_no_others(seed):
    draw = random.Random(seed)
    for _ in range(110):
        table = random_table(draw)
        k = draw.randint(2, 5)
        for reading in readings(draw, k):
            found = minimal(coded(table), reading)
            assert found.complete
            assert list(found.sets) == minimal_sets(table, reading), (table, reading)
            assert (found.terms.k, found.terms.reading, found.terms.nulls) == (
                reading.k,
                reading.name,
                NULL_RULE,
            )


@given(st.integers(0, 2**32))
def test_all_minimal_sets_of_any_other_table(seed):
    draw = random.Random(seed)
    table = random_table(draw, columns=6, rows=40)
    for reading in readings(draw, draw.randint(2, 5)):
        assert list(minimal(coded(table), reading).sets) == minimal_sets(table, reading)


@pytest.mark.parametrize("seed", range(8))
def test_both_searches_find_the_same_small_sets(seed):
    draw = random.Random(100 + seed)
    for _ in range(40):
        table = random_table(draw, columns=7, rows=40)
        largest = draw.randint(1, 3)
        for reading in readings(draw, draw.randint(2, 5)):
            expected = minimal_sets(table, reading, largest)
            for engine in ("tree", "levels"):
                found = minimal(coded(table), reading, max_size=largest, engine=engine)
                assert list(found.sets) == expected, (engine, table, reading)
                assert found.complete


@pytest.mark.parametrize("mode", ["all", "any", "half"])
def test_more_columns_than_a_machine_word_has_bits(mode):
    draw = random.Random(5)
    table = {f"c{j}": [draw.randrange(3 + j % 4) for _ in range(40)] for j in range(70)}
    reading = Reading.of(k=2, fraction="0.5") if mode == "half" else Reading.of(k=2, mode=mode)
    found = minimal(coded(table), reading, max_size=2)
    assert list(found.sets) == minimal_sets(table, reading, 2)
    assert list(minimal(coded(table), reading, max_size=2, engine="tree").sets) == list(found.sets)


def test_the_order_of_rows_does_not_matter():
    draw = random.Random(11)
    for _ in range(60):
        table = random_table(draw)
        order = list(range(len(table["c0"])))
        draw.shuffle(order)
        shuffled = {name: [cells[i] for i in order] for name, cells in table.items()}
        for reading in readings(draw, 3):
            assert minimal(coded(table), reading).sets == minimal(coded(shuffled), reading).sets


def test_repeated_rows_leave_no_key_and_say_so():
    table = Coded.of_columns({"a": [1, 1, 1, 2], "b": [5, 5, 5, 6]})
    found = minimal(table, Reading.of(k=2, mode="all"))
    assert found.sets == ()
    assert found.duplicates == 2
    assert "2 rows repeat another row" in found.reason
    told_apart = minimal(table, Reading.of(k=2, mode="distinct"))
    assert told_apart.sets == (("a",), ("b",))
    assert (told_apart.duplicates, told_apart.terms.rows, told_apart.terms.t) == (2, 2, 2)


def test_two_readings_that_look_alike_are_not():
    table = Coded.of_columns({"a": [1, 1, 2], "b": [1, 1, 1]})
    assert minimal(table, Reading.of(k=2, mode="distinct")).sets == (("a",),)
    assert minimal(table, Reading.of(k=2, mode="all")).sets == ()
    assert minimal(table, Reading.of(k=2, mode="any")).sets == (("a",),)


def test_missing_cells_are_one_value():
    table = Coded.of_columns({"a": [None, None, float("nan"), ""], "b": ["x", "y", "z", "z"]})
    found = minimal(table, Reading.of(k=2, mode="any"))
    assert found.sets == (("a",), ("b",))
    assert minimal(table, Reading.of(k=2, mode="all")).sets == (("a", "b"),)


@pytest.mark.parametrize(
    ("columns", "reading", "sets", "word"),
    [
        ({"a": [1, 2]}, Reading.of(k=1, mode="any"), (), "fewer than 1"),
        ({"a": [1, 1]}, Reading.of(k=3, mode="any"), ((),), "fewer than k = 3"),
        ({"a": [1, 1]}, Reading.of(k=3, mode="all"), ((),), "fewer than k = 3"),
        ({"a": [1, 1]}, Reading.of(k=3, count=3), (), "has 2"),
        ({"a": [1, 1, 1]}, Reading.of(k=2, count=0), ((),), "0 exposed records"),
        ({"a": []}, Reading.of(k=2, mode="any"), (), "no rows"),
        ({"a": []}, Reading.of(k=2, mode="all"), (), "no rows"),
        ({"a": []}, Reading.of(k=2, mode="distinct"), (), "no rows"),
        ({"a": []}, Reading.of(k=2, count=0), ((),), "0 exposed records"),
        ({}, Reading.of(k=2, mode="any"), (), "no rows"),
        ({"a": [1, 1, 1], "b": [2, 2, 2]}, Reading.of(k=2, mode="any"), (), "expose 0 records, 1 are asked"),
    ],
)
def test_where_nothing_needs_to_be_searched(columns, reading, sets, word):
    found = minimal(Coded.of_columns(columns), reading)
    assert (found.sets, found.complete) == (sets, True)
    assert word in found.reason


def test_shares_are_exact_and_rounded_up():
    assert Reading.of(k=2, fraction=0.1).threshold(10) == 1
    assert Reading.of(k=2, fraction=0.1).threshold(11) == 2
    assert Reading.of(k=2, fraction=0.07).threshold(100) == 7
    assert Reading.of(k=2, fraction="1/3").threshold(9) == 3
    assert Reading.of(k=2, fraction=0).threshold(9) == 1
    assert Reading.of(k=2, fraction=1).threshold(9) == 9


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 2},
        {"k": 2, "mode": "any", "count": 1},
        {"k": 2, "mode": "some"},
        {"k": 0, "mode": "any"},
        {"k": True, "mode": "any"},
        {"k": 3, "mode": "distinct"},
        {"k": 2, "fraction": 1.5},
        {"k": 2, "fraction": "half"},
        {"k": 2, "count": -1},
    ],
)
def test_a_reading_is_chosen_and_meaningful(wrong):
    with pytest.raises(UsageError):
        Reading.of(**wrong)
