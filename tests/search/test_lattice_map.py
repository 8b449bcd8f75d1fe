"""Maps of small lattices: every combination stands where it belongs, and is judged as a search judges it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.search import counted_lattice as lattice_map
from sfumato.search.counted_lattice import SpotState
from sfumato.system.errors import Infeasible
from sfumato.table.microdata import Microdata
from sfumato.workflows.choices import counted_choices

POLICY = {
    "columns": {
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "sex": {"role": "quasi"},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "disease", "l": 2}}],
    "protect": {"suppress": 0, "search": "lattice"},
}


def table(rows):
    zips, sexes, diseases = zip(*rows, strict=True)
    import polars as pl

    return pl.DataFrame({"zip": zips, "sex": sexes, "disease": diseases})


def kept_rows(rows, levels, k):
    """Counts by hand the rows that are in classes of at least k with two diseases."""
    classes = {}
    for zip_code, sex, disease in rows:
        key = (("*" if levels[0] == 3 else zip_code[: 3 - levels[0]]), "*" if levels[1] else sex)
        classes.setdefault(key, []).append(disease)
    return sum(len(held) for held in classes.values() if len(held) >= k and len(set(held)) >= 2)


ROWS = st.lists(
    st.tuples(st.sampled_from(["111", "112", "121", "211"]), st.sampled_from("fm"), st.sampled_from("xyz")),
    min_size=4,
    max_size=14,
)


@given(ROWS, st.integers(2, 5), st.sampled_from([0, 50, 100, 200]))
@settings(max_examples=25)
def test_every_combination_is_judged_as_by_hand(rows, k, per_mille):
    choices = counted_choices(table(rows), POLICY)
    drawn, share = choices.lattice_map(), Fraction(per_mille, 1000)
    heights = tuple(column.taxonomy.height for column in choices.table.keys)
    assert drawn.nodes == tuple((i, j) for i in range(heights[0] + 1) for j in range(heights[1] + 1))
    try:
        chosen = tuple(choices.lattice().answer(k, share).levels.values())
    except Infeasible:
        chosen = None
    spots = drawn.spots(k, share, chosen)
    assert [spot.levels for spot in spots if spot.state is SpotState.CHOSEN] == ([chosen] if chosen else [])
    if heights == (3, 1):
        for spot in spots:
            lost = len(rows) - kept_rows(rows, spot.levels, k)
            allowed = lost <= min(int(len(rows) * share), len(rows) - 1)
            assert (spot.state in (SpotState.CHOSEN, SpotState.ALLOWED)) == allowed
            assert spot.suppressed in (lost, None) and (spot.suppressed is not None or not allowed)
    losses = [spot.loss for spot in spots if spot.state in (SpotState.CHOSEN, SpotState.ALLOWED)]
    if chosen:
        least = next(spot.loss for spot in spots if spot.state is SpotState.CHOSEN)
        assert min(losses) == pytest.approx(least)


def test_spots_stand_in_rows_and_lines_are_single_steps():
    rows = [("111", "f", "x"), ("112", "m", "y"), ("121", "f", "z"), ("211", "m", "x")] * 2
    drawn = counted_choices(table(rows), POLICY).lattice_map()
    spots = drawn.spots(2, Fraction(0), None)
    rows_of = {}
    for spot in spots:
        rows_of.setdefault(sum(spot.levels), []).append(spot)
    assert [len({spot.up for spot in row}) for row in rows_of.values()] == [1] * len(rows_of)
    assert all(a.across < b.across for row in rows_of.values() for a, b in pairwise(row))
    for low, high in drawn.links:
        steps = np.array(drawn.nodes[high]) - np.array(drawn.nodes[low])
        assert sorted(steps) == [0] * (len(steps) - 1) + [1]
    assert len(drawn.links) == 2 * 3 + 4


def test_large_lattices_are_not_drawn(monkeypatch):
    rows = [("111", "f", "x"), ("112", "m", "y")] * 3
    choices = counted_choices(table(rows), POLICY)
    assert isinstance(choices.table, Microdata) and choices.lattice_map() is not None
    monkeypatch.setattr(lattice_map, "MOST_DRAWN", 3)
    assert choices.lattice_map() is None
