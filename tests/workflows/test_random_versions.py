"""Imported versions, named patterns and trees with a root of their own, at random, against enumeration."""

from __future__ import annotations

import uuid
from collections import Counter
from itertools import combinations, product

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from oracles.tiny_chains import exact, least
from recipients.toy_ledger import found
from sfumato.system.errors import Infeasible, RefusedByHistory
from sfumato.table.cut import Cut
from strategies import cases

pytestmark = pytest.mark.slow

KEYS = ("q0", "q1")
LEAVES = {"q0": ("a1", "a2", "b1", "b2"), "q1": ("c1", "c2", "d1", "d2")}
TREES = {
    "q0": {"R": {"A": ["a1", "a2"], "B": ["b1", "b2"]}},
    "q1": {"S": {"C": ["c1", "c2"], "D": ["d1", "d2"]}},
}
"""No text is in both columns: a leak is then read in one way only."""
ROWS = list(product(*LEAVES.values()))
LEVELS = st.tuples(st.integers(0, 2), st.integers(0, 2))
RANDOM = cases(8)


def policy(**more):
    columns = {key: {"role": "quasi", "taxonomy": {"tree": TREES[key]}} for key in KEYS}
    return {
        "columns": columns,
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "lattice", "loss": "height", "suppress": 0},
        "recipients": {"tolerance": "1000%"},
        **more,
    }


def shown(cell, level):
    """What a value becomes at a level; at the last it is the tree's own root."""
    return (cell, cell[0].upper(), "R" if cell[0] in "ab" else "S")[level]


def at(rows, levels):
    return [tuple(shown(cell, level) for cell, level in zip(row, levels, strict=True)) for row in rows]


def frame(rows):
    return pl.DataFrame(rows, schema=list(KEYS), orient="row")


def fresh(folder):
    return f"sqlite:///{folder / uuid.uuid4().hex}.db"


@given(st.lists(LEVELS, min_size=1, max_size=3), st.data())
@cases(4)
def test_who_can_have_made_a_leak_of_imported_versions(tmp_path_factory, held, data):
    ledger, names = fresh(tmp_path_factory.mktemp("import")), [f"u{i}" for i in range(len(held))]
    for name, levels in zip(names, held, strict=True):
        sf.import_version(frame(at(ROWS, levels)), policy(), original=frame(ROWS), to=name, ledger=ledger)
    row = data.draw(st.sampled_from(ROWS))
    leaked = data.draw(LEVELS)
    assume(leaked != (2, 2))
    # a cell is known to whoever holds its column at this level or a finer one; a root to everybody
    needed = [
        {n for n, own in zip(names, held, strict=True) if own[j] <= leaked[j]}
        for j in (0, 1)
        if leaked[j] < 2
    ]
    explaining = [
        set(c) for n in (1, 2) for c in combinations(names, n) if all(set(c) & some for some in needed)
    ]
    expected = {frozenset(c) for c in explaining if not any(other < c for other in explaining)}
    told = sf.trace(dict(zip(KEYS, at([row], leaked)[0], strict=True)), ledger=ledger)
    assert found(told, 2) == expected


@given(st.lists(LEVELS, min_size=2, max_size=3), st.lists(st.integers(1, 2), min_size=16, max_size=16))
@RANDOM
def test_named_patterns_are_handed_out_if_and_only_if_they_may_be(tmp_path_factory, named, many):
    rows = [row for row, n in zip(ROWS, many, strict=True) for _ in range(n)]
    patterns = {f"u{i}": dict(zip(KEYS, levels, strict=True)) for i, levels in enumerate(named)}
    rules = policy(recipients={"tolerance": "1000%", "patterns": patterns})
    small = [min(Counter(at(rows, levels)).values()) < 2 for levels in named]
    framed = [
        all(a <= b for a, b in zip(one, other, strict=True))
        for i, one in enumerate(named)
        for j, other in enumerate(named)
        if i != j
    ]
    may = not any(small) and not any(framed)
    try:
        event = sf.release(
            frame(rows),
            rules,
            ledger=fresh(tmp_path_factory.mktemp("named")),
            to=list(patterns),
            dry_run=True,
        )
    except (Infeasible, RefusedByHistory):
        assert not may
    else:
        assert may
        assert len({str(sorted(receipt.record.cuts.items())) for receipt in event.receipts}) == len(named)


PERSON = st.tuples(*map(st.sampled_from, LEAVES.values()), st.integers(0, 1), st.integers(1, 2))


@given(st.lists(PERSON, min_size=1, max_size=6), LEVELS, LEVELS)
@RANDOM
def test_releases_with_a_root_of_their_own_against_all_worlds(people, first, second):
    assume(any(person[-1] == 1 for person in people))
    rules = policy(recipients=None)
    rules["columns"] = {**rules["columns"], "s": {"role": "sensitive"}}
    rules = {key: word for key, word in rules.items() if word is not None}
    trees = [sf.Policy.from_dict(rules).columns[key].taxonomy.build([]) for key in KEYS]
    assert [tree.labels[0] for tree in trees] == ["R", "S"] and all(len(tree.levels) == 3 for tree in trees)
    tables = []
    for time, levels in ((1, first), (2, second)):
        some = [person for person in people if person[-1] <= time]
        cells = zip(at([person[:2] for person in some], levels), some, strict=True)
        rows = [(*keys, f"s{person[2]}") for keys, person in cells]
        tables.append(pl.DataFrame(rows, schema=[*KEYS, "s"], orient="row"))
    found = sf.attack.correspondence(tables, rules)
    cuts = [
        [Cut.level(tree, level) for tree, level in zip(trees, levels, strict=True)]
        for levels in (first, second)
    ]
    expected = exact(trees, people, cuts)
    assert (least(expected, 0), least(expected, 1)) == (found.FA, found.BA)
