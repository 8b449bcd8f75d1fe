"""Unchanged columns give away keys that some rows show raw and others coarsely: an audit says so."""

from __future__ import annotations

import random

import polars as pl
import pytest

import sfumato as sf

PLACES = {"north": [11, 12], "south": [13], "east": [14, 15], "west": [16]}
TREE = {"tree": {"coast": ["north", "west"], "inland": ["south", "east"]}}
PROMISES = [{"k-anonymity": {"k": 2}}]


def policy(taxonomy=None):
    place = {"role": "quasi"} | ({} if taxonomy is None else {"taxonomy": taxonomy})
    return {
        "columns": {"place": place, "area": {"role": "insensitive"}},
        "promises": PROMISES,
        "protect": {"search": "top-down", "suppress": 0},
    }


def published(coarse, *, shown=300, hidden=50, noise=0.0, number=None):
    """Rows that show the place, and rows that show `coarse` instead; areas tell the place but for noise."""
    chance = random.Random(3)
    rows = []
    for i in range(shown + hidden):
        place = chance.choice(list(PLACES))
        area = chance.choice(PLACES[chance.choice(list(PLACES)) if chance.random() < noise else place])
        label = (place if number is None else str(number[place])) if i < shown else coarse
        rows.append({"place": label, "area": f"{area}.5"})
    return pl.DataFrame(rows)


def told(table, rules):
    found = sf.audit(table, rules).objections
    return [str(o) for o in found if "tells a key" in o.sentence]


@pytest.mark.parametrize(("coarse", "taxonomy"), [("*", None), ("*", TREE), ("coast", TREE)])
def test_what_other_rows_show_is_told_of_coarse_ones(coarse, taxonomy):
    (line,) = told(published(coarse), policy(taxonomy))
    assert line == (
        "a column that is published as insensitive tells a key in 50 rows that show it coarsely: area, place"
    )
    assert sf.audit(published(coarse), policy(taxonomy)).holds is True  # a remark


def test_numbers_among_intervals_are_raw():
    number = {"north": 5, "south": 15, "east": 25, "west": 35}
    rules = policy({"intervals": [10, 20], "from": 0, "to": 40})
    assert len(told(published("[0, 20)", number=number), rules)) == 1


def test_nothing_is_told_where_nothing_is_coarse_or_cells_say_little():
    assert not told(published("*", hidden=0), policy(TREE))
    assert not told(published("*", noise=0.6), policy(TREE))
    assert not told(published("*", shown=0, hidden=300), policy(TREE))
    assert not told(published("coast", shown=10), policy(TREE))


def test_a_table_of_local_recoding_is_found_out():
    """The draft would make the area a key; a policy that publishes it unchanged is warned of, and audited."""
    chance = random.Random(5)
    places = chance.choices(list(PLACES), [40, 3, 2, 1], k=400)
    table = pl.DataFrame(
        {
            "place": places,
            "age": [str(chance.randrange(20, 60)) for _ in places],
            "area": [f"{chance.choice(PLACES[place])}.5" for place in places],
        }
    )
    rules = policy(TREE)
    rules["columns"]["age"] = {"role": "quasi", "taxonomy": {"intervals": [5, 10, 20], "from": 0, "to": 80}}
    rules |= {"protect": {"suppress": 0, "search": "local"}, "promises": [{"k-anonymity": {"k": 5}}]}
    safe = sf.protect(table, rules).apply(table)
    assert safe["place"].is_in(["*", "coast", "inland"]).any()
    assert len(told(safe, rules)) == 1
