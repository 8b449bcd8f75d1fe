"""Bounds on a search: what it found within them is right, and it says when something may be missing."""

import random

import pytest

from oracles.quasi_identifiers import coded, is_quasi_identifier, minimal_sets
from sfumato.discovery.quasi_identifiers.coded import Limits, Reading
from sfumato.discovery.quasi_identifiers.enumeration import minimal
from sfumato.discovery.quasi_identifiers.minimum import minimum
from sfumato.system.errors import UsageError


def wide_table(columns=16, rows=300, seed=3):
    draw = random.Random(seed)
    return {f"c{j}": [draw.randrange(4) for _ in range(rows)] for j in range(columns)}


def ticking(step):
    """A clock that moves on whenever somebody looks."""
    now = [0.0]

    def clock():
        now[0] += step
        return now[0]

    return clock


@pytest.mark.parametrize("reading", [Reading.of(k=2, mode="all"), Reading.of(k=3, fraction="0.2")])
def test_a_number_of_results_stops_the_search(reading):
    table = wide_table()
    few = minimal(coded(table), reading, limits=Limits(5))
    assert len(few.sets) == 5
    assert not few.complete
    for columns in few.sets:
        assert is_quasi_identifier(table, columns, reading)
        assert not any(
            is_quasi_identifier(table, columns[:i] + columns[i + 1 :], reading) for i in range(len(columns))
        )


def test_a_size_bound_is_complete_up_to_that_size():
    table = wide_table(columns=8, rows=60)
    reading = Reading.of(k=2, mode="all")
    for largest in range(6):
        found = minimal(coded(table), reading, max_size=largest)
        assert found.complete
        assert list(found.sets) == minimal_sets(table, reading, largest)


@pytest.mark.parametrize("reading", [Reading.of(k=2, mode="all"), Reading.of(k=3, mode="any")])
def test_a_deadline_leaves_a_sound_answer(reading):
    table = coded(wide_table(columns=30, rows=2000))
    late = minimal(table, reading, limits=Limits(deadline=0.5, clock=ticking(1.0)))
    assert not late.complete
    bounded = minimum(table, reading, limits=Limits(deadline=0.5, clock=ticking(1.0)))
    assert not bounded.complete
    assert bounded.columns is not None
    assert 1 <= bounded.lower_bound <= len(bounded.columns)
    assert bounded.proved == (bounded.lower_bound == len(bounded.columns))


def test_progress_tells_what_was_found():
    told = []
    minimal(
        coded(wide_table()), Reading.of(k=5, fraction="0.2"), max_size=3, progress=lambda *a: told.append(a)
    )
    assert told and all(phase.startswith("minimal sets") for phase, *_ in told)
    assert [done for _, done in told] == sorted(done for _, done in told)
    assert told[-1][0] == "minimal sets, smallest 3"
    told.clear()
    minimum(coded(wide_table()), Reading.of(k=3, fraction="0.2"), progress=lambda *a: told.append(a))
    assert any("none below" in phase for phase, *_ in told)


def test_bounds_that_make_no_sense_are_refused():
    table = coded(wide_table(columns=2, rows=3))
    for wrong in (
        {"max_size": -1},
        {"limits": {"max_results": 0}},
        {"limits": {"deadline": -1.0}},
        {"max_size": 4, "engine": "levels"},
    ):
        with pytest.raises(UsageError):
            minimal(
                coded(wide_table(columns=5, rows=40)) if "engine" in wrong else table,
                Reading.of(k=2, mode="any"),
                **{**wrong, **({"limits": Limits(**wrong["limits"])} if "limits" in wrong else {})},
            )
