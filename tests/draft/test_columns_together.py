"""What several unchanged columns tell of a key together, though none of them does alone."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.draft.functional_dependencies import ColumnsBesideKeys
from sfumato.table.microdata import Role

ROWS = 600
RANDOM = np.random.default_rng(7)
NOISE = {f"n{i}": RANDOM.integers(0, 3 + i, ROWS) for i in range(4)}


def telling(unchanged, keys):
    """Returns, by key, the columns that tell it, each beside the others."""
    rows = {name: [str(cell) for cell in cells] for name, cells in {**unchanged, **keys}.items()}
    found = {}
    for one in ColumnsBesideKeys(tuple(unchanged), tuple(keys)).telling(rows):
        assert one.column not in one.beside
        found.setdefault(one.key, set()).add(one.column)
    return found


def cases():
    year, region = RANDOM.integers(1980, 1988, ROWS), RANDOM.choice(["n", "s", "e", "w"], ROWS)
    wage, rent = RANDOM.integers(0, 50_000, ROWS), RANDOM.integers(0, 30_000, ROWS)
    born = [datetime.date(1940, 1, 1) + datetime.timedelta(int(n)) for n in RANDOM.integers(0, 20_000, ROWS)]
    age = [(datetime.date(2020, 5, 1) - day).days // 365 for day in born]
    first, second = RANDOM.integers(0, 8, ROWS), RANDOM.integers(0, 9, ROWS)
    dummies = {f"d{y}": (year == 1900 + y) * 1 for y in range(81, 88)}
    yield "dummies of a year", dummies, {"year": year}
    regions = {"north": (region == "n") * 1, "south": (region == "s") * 1, "east": (region == "e") * 1}
    yield "dummies of words", regions, {"region": region}
    yield "a total and a part", {"total": wage + rent, "wage": wage}, {"rent": rent}
    yield "two parts", {"wage": wage, "rent": rent}, {"total": wage + rent}
    yield "an age", {"age": age}, {"born": born}
    yield "a date of birth", {"born": born}, {"age": age}
    yield "a pair of which neither tells anything", {"p": first, "q": second}, {"code": (first + second) % 7}


@pytest.mark.parametrize(("unchanged", "keys"), [c[1:] for c in cases()], ids=[c[0] for c in cases()])
def test_columns_that_tell_a_key_together_are_found_and_no_others(unchanged, keys):
    assert telling({**unchanged, **NOISE}, keys) == {name: set(unchanged) for name in keys}


def test_flags_of_which_nothing_is_known_are_looked_at_as_if_they_were_published():
    year = RANDOM.integers(80, 88, ROWS)
    flags = {f"d{y}": (year == y) * 1 for y in range(81, 88)}
    people = pd.DataFrame({"year": 1900 + year, "age": RANDOM.integers(20, 60, ROWS), **flags})
    columns = sf.declare(people).columns
    assert {columns[name].role for name in flags} == {Role.QUASI}


def test_what_a_column_less_would_tell_names_nothing():
    dummies = {f"d{y}": (RANDOM.integers(80, 88, ROWS) == y) * 1 for y in range(81, 88)}
    assert telling({**dummies, **NOISE}, {"year": RANDOM.integers(1980, 1988, ROWS)}) == {}


@pytest.mark.parametrize("rows", [60, 600])
def test_many_columns_of_chance_tell_nothing(rows):
    unchanged = {f"u{i}": RANDOM.normal(size=rows).round(2) for i in range(30)}
    unchanged |= {f"v{i}": RANDOM.integers(0, 3, rows) for i in range(20)}
    assert telling(unchanged, {f"k{i}": RANDOM.integers(0, 3 + 9 * i, rows) for i in range(5)}) == {}


def test_drafts_make_them_quasi_identifiers_and_policies_are_warned():
    year = RANDOM.integers(1980, 1984, ROWS)
    score = RANDOM.integers(0, 90, ROWS)
    people = pd.DataFrame(
        {"year": year, "sex": RANDOM.choice(["m", "f"], ROWS), "score_1": score, "score_2": year * 7 - score}
    )
    columns = sf.declare(people).columns
    assert {columns[name].role for name in ("score_1", "score_2")} == {Role.QUASI}
    assert "tells year" in columns["score_1"].reason and "together with score_2" in columns["score_1"].reason
    with pytest.warns(sf.SfumatoWarning, match="tells year .* together with score_2"):
        sf.protect(people, k=3, quasi=["year", "sex"], insensitive=["score_1", "score_2"])
