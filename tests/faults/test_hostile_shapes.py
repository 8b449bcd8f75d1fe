"""Tables of hostile shapes: twice as much of what makes them so costs about twice the steps, or is refused.

Steps are calls of Python functions, which do not depend on the machine: no loop of ours goes over rows, and
none over pairs of columns or of values. Seconds are measured by `python -m benchmarks`. How far the lattice
search goes with many columns is a number of counted steps: it has tests of its own.
"""

from __future__ import annotations

import sys

import polars as pl
import pytest

import sfumato as sf
from sfumato.system.errors import SfumatoError

pytestmark = pytest.mark.slow

PROMISE = [{"k-anonymity": {"k": 2}}]


def calls_of(work):
    """How many functions are called, and what comes of it."""
    counted = 0

    def count(frame, event, argument):
        nonlocal counted
        del frame, argument
        counted += event == "call"

    sys.setprofile(count)
    try:
        result = work()
    finally:
        sys.setprofile(None)
    return counted, result


def unique(size):
    """Every value occurs once, in two key columns."""
    keys = {"role": "quasi", "taxonomy": {"prefix": [3, 2, 1]}}
    cells = [f"{(number * 7919) % 100_000:05d}" for number in range(size)]
    return {"a": cells, "b": cells[::-1]}, {"a": keys, "b": keys}


def many_keys(size):
    """So many key columns of two values."""
    cells = {f"c{i}": [str((row >> (i % 5)) & 1) for row in range(96)] for i in range(size)}
    return cells, {name: {"role": "quasi"} for name in cells}


def many_leaves(size):
    """A hierarchy of so many leaves, of which few occur."""
    tree = {f"g{group}": [f"v{group}-{leaf}" for leaf in range(50)] for group in range(size // 50)}
    cells = {"a": [f"v{row % 7}-{row % 3}" for row in range(200)]}
    return cells, {"a": {"role": "quasi", "taxonomy": {"tree": tree}}}


def one_class(size):
    """So many rows, all alike but for one value that is not published."""
    cells = {"a": ["x"] * size, "who": [f"p{row}" for row in range(size)]}
    return cells, {"a": {"role": "quasi"}, "who": {"role": "identifier"}}


SHAPES = {unique: 1500, many_keys: 25, many_leaves: 5000, one_class: 20_000}
MOST = {unique: 2.3, many_keys: 2.6, many_leaves: 2.2, one_class: 1.2}
"""How many times the steps twice the size may take: rows cost none, columns and different values do."""
SEARCHES = ("top-down", "lattice", "mondrian", "local")


@pytest.mark.parametrize(
    ("shape", "search"),
    [(shape, search) for shape in SHAPES for search in SEARCHES if (shape, search) != (many_keys, "lattice")],
)
def test_twice_as_much_costs_no_more_than_it_should(shape, search):
    told = []
    for size in (50, SHAPES[shape], 2 * SHAPES[shape]):  # the first loads what is loaded once
        cells, columns = shape(size)
        policy = {"columns": columns, "promises": PROMISE, "protect": {"suppress": 0, "search": search}}
        frame = pl.DataFrame(cells)

        def work(frame=frame, policy=policy):
            try:
                return sf.protect(frame, sf.Policy.from_dict(policy)).verdicts
            except SfumatoError as refused:
                return refused

        told.append(calls_of(work))
    (few, first), (many, second) = told[1:]
    for result in (first, second):
        if isinstance(result, SfumatoError):
            assert any(letter.isdigit() for letter in result.message), result.message
        else:
            assert all(verdict.holds for verdict in result)
    assert many <= MOST[shape] * few, (few, many)
