"""A discovery keeps its limits in every step, and claims nothing that is not so."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import sfumato as sf
from oracles.quasi_identifiers import coded
from sfumato.discovery import discovery as record_risk_
from sfumato.discovery.quasi_identifiers.coded import Limits, OutOfTime, Reading
from sfumato.discovery.quasi_identifiers.enumeration import minimal
from sfumato.discovery.quasi_identifiers.minimum import search
from sfumato.system.memory import Memory

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CALLS = int(os.environ.get("SFUMATO_DISCOVER_CALLS", "6"))
"""Random calls; `python -m benchmarks.discover_limits` makes 200."""


def test_random_calls_keep_their_limits():
    """In a program of its own: what these tests hold in memory is not held by a discovery."""
    words = ["--calls", str(CALLS), "--seed", "11", "--longest", "1.5"]
    program = [sys.executable, "-m", "benchmarks.discover_limits", *words]
    said = subprocess.run(program, capture_output=True, text=True, cwd=ROOT, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stdout.startswith(f"{CALLS} calls, ") and " 0 outside;" in said.stdout


def repeated(columns, copies, rows=40, seed=2):
    """A table in which every column has several look-alikes."""
    draw = random.Random(seed)
    made = {j: [str(draw.randrange(3)) for _ in range(rows)] for j in range(columns)}
    return pd.DataFrame({f"c{j}_{i}": made[j] for j in range(columns) for i in range(copies)})


def test_millions_of_sets_are_counted_and_not_written_out():
    scan = sf.discover(repeated(12, 8), k=2, mode="all", deadline=60)
    assert scan.complete and len(scan.minimal) > 1_000_000
    assert scan.proved and len(scan.minimal[0]) == len(scan.minimum)
    assert len(scan.as_dict()["minimal"]) == 100_000
    assert scan.as_dict()["minimal_sets"] == len(scan.minimal)
    assert sum(scan.within.values()) >= len(scan.minimal) * len(scan.minimum)


def wide(columns, rows, seed=3):
    draw = random.Random(seed)
    return {f"c{j}": [draw.randrange(3) for _ in range(rows)] for j in range(columns)}


@pytest.mark.parametrize("reading", [Reading.of(k=2, mode="all"), Reading.of(k=3, fraction="1/2")])
def test_a_bound_on_the_size_does_not_make_the_smallest_set_worse(reading):
    table = coded(wide(14, 60))
    _, free = search(table, reading)
    assert free.proved
    for largest in range(len(free.columns) + 1):
        _, bounded = search(table, reading, max_size=largest)
        assert (len(bounded.columns), bounded.proved) == (len(free.columns), True)


def test_memory_ends_a_search_with_what_was_found():
    table = coded(wide(40, 200))
    limits = Limits(deadline=60.0, memory=_Tight())
    found = minimal(table, Reading.of(k=2, mode="all"), limits=limits)
    assert found.stopped == "memory" and not found.complete
    assert 0 < len(found.sets) < 100_000


class _Tight(Memory):
    """Memory of which hardly any is left."""

    def __init__(self):
        super().__init__(limit=10**9)

    @property
    def left(self):
        return 1_000_000


@pytest.mark.parametrize(
    ("bounds", "stopped"),
    [({"max_results": 2}, "results"), ({"deadline": 0.0}, "deadline"), ({"budget": 1}, "steps"), ({}, "")],
)
def test_the_limit_that_was_met_is_named(bounds, stopped):
    size = (12, 60) if not bounds else (40, 200)
    found = minimal(coded(wide(*size)), Reading.of(k=2, mode="all"), limits=Limits(**bounds))
    assert found.stopped == stopped and found.complete == (not stopped)


def test_what_stopped_a_search_is_said_to_people():
    frame = pd.DataFrame({name: list(map(str, cells)) for name, cells in wide(40, 200).items()})
    assert "stopped at the deadline" in str(sf.discover(frame, k=2, mode="all", deadline=0.0))
    assert "as many as were asked for" in str(sf.discover(frame, k=2, mode="all", max_results=3))
    assert "its budget of steps" in str(sf.discover(frame, k=2, mode="all", budget=1))


def test_the_risk_of_records_is_left_out_where_the_deadline_is_over():
    frame = pd.DataFrame({name: list(map(str, cells)) for name, cells in wide(5, 20).items()})
    scan = sf.discover(frame, k=2, mode="any", record_risk=2, deadline=0.0)
    assert scan.risk is None and "risk of records was not counted" in str(scan)
    with pytest.raises(OutOfTime):
        record_risk_.record_risk(scan.table, max_size=2, limits=Limits(deadline=0.0))
    assert sf.discover(frame, k=2, mode="any", record_risk=2).risk is not None


def test_seconds_are_left_to_put_in_order_what_was_found():
    now = [0.0]
    limits = Limits(deadline=10, clock=lambda: now[0])
    now[0] = 9.0
    assert limits.allow(100)
    assert not limits.allow(10_000_000) and limits.stopped == "deadline"
    assert Limits().allow(10_000_000)
