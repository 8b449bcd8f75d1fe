"""Agreement with pyCANON 1.3.5 on tables without missing values, and where it differs, why.

pyCANON needs older numpy and pandas, so it lives in `.venv-peers` and is asked in one subprocess.
"""

from __future__ import annotations

import json
import math
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.table.classes import Classes
from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import classes_under
from sfumato.table.taxonomy import Taxonomy

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".venv-peers" / "bin" / "python"
HOW = (
    "python3 -m venv .venv-peers && "
    ".venv-peers/bin/pip install -r tests/peers/requirements.txt (make test does it)"
)

Rows = list[tuple[int, ...]]
"""Codes of the keys, then of the sensitive column."""

RANDOM = 250


def one_class(*counts: int) -> Rows:
    return [(0, value) for value, count in enumerate(counts) for _ in range(count)]


NAMED: dict[str, Rows] = {
    "one value dominates": one_class(9, 1),
    **{f"{m} values, equally frequent": one_class(*([1] * m)) for m in range(2, 13)},
    "one value only": [(0, 0), (0, 0), (1, 0)],
}


def random_tables() -> list[Rows]:
    rng = np.random.default_rng(7)
    tables = []
    for _ in range(RANDOM):
        rows, values = int(rng.integers(1, 25)), int(rng.integers(2, 6))
        skew = rng.dirichlet(np.full(values, rng.choice([0.5, 5.0])))
        keys = rng.integers(0, rng.integers(1, 4, size=2), size=(rows, 2))
        tables.append(
            [(*k, int(v)) for k, v in zip(keys.tolist(), rng.choice(values, rows, p=skew), strict=True)]
        )
    return tables


@pytest.fixture(scope="module")
def asked() -> list[tuple[Rows, dict]]:
    """Every table with pyCANON's answers: the random ones first, then the named ones."""
    if not PYTHON.exists():
        pytest.fail(f"pyCANON is not there: {HOW}")
    tables = [*random_tables(), *NAMED.values()]
    sent = []
    for rows in tables:
        names = [f"q{j}" for j in range(len(rows[0]) - 1)]
        columns = {name: [f"v{row[j]}" for row in rows] for j, name in enumerate(names)}
        columns["text"], columns["number"] = [f"v{row[-1]}" for row in rows], [row[-1] for row in rows]
        sent.append({"keys": names, "columns": columns})
    done = subprocess.run(
        [PYTHON, "-W", "ignore", HERE / "ask_pycanon.py"],
        input=json.dumps(sent),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(zip(tables, json.loads(done.stdout), strict=True))


@pytest.fixture(scope="module")
def at_random(asked):
    return [(classes_of(rows), theirs) for rows, theirs in asked[:RANDOM]]


@pytest.fixture(scope="module")
def named(asked):
    return {n: (classes_of(rows), theirs) for n, (rows, theirs) in zip(NAMED, asked[RANDOM:], strict=True)}


def classes_of(rows: Rows) -> Classes:
    codes = np.array(rows, np.int32).T
    columns = []
    for j, column in enumerate(codes):
        taxonomy = Taxonomy.flat([str(v) for v in range(int(column.max()) + 1)], ordered=True)
        role = Role.SENSITIVE if j == len(codes) - 1 else Role.QUASI
        columns.append(Column("s" if role is Role.SENSITIVE else f"q{j}", role, taxonomy))
    table = Microdata.of_codes(columns, list(codes))
    cuts = {c.name: Cut.leaves(c.taxonomy) for c in table.keys}
    return Classes.of(table, classes_under(table, cuts)[0])


def effective(classes: Classes) -> Fraction:
    return Fraction(EntropyLDiversity("s", 1).verdict(classes).measured)


def test_k_and_distinct_l_agree(at_random):
    for classes, theirs in at_random:
        assert KAnonymity(1).verdict(classes).measured == theirs["k"]
        assert DistinctLDiversity("s", 1).verdict(classes).measured == theirs["distinct"]


def test_entropy_l_agrees_except_where_it_is_a_whole_number(at_random):
    """pyCANON rounds exp(entropy) down to a whole number, after the rounding errors of exp and log."""
    whole = 0
    for classes, theirs in at_random:
        least = math.floor(effective(classes))
        assert EntropyLDiversity("s", least).verdict(classes).holds
        assert not EntropyLDiversity("s", least + 1).verdict(classes).holds
        if effective(classes) == least:
            whole += 1
            assert theirs["entropy"] in (least - 1, least)
        else:
            assert theirs["entropy"] == least
    assert 0 < whole < len(at_random)


def test_pycanon_denies_uniform_classes_their_l(named):
    wrong = []
    for m in range(2, 13):
        classes, theirs = named[f"{m} values, equally frequent"]
        assert EntropyLDiversity("s", m).verdict(classes).holds
        if theirs["entropy"] != m:
            assert theirs["entropy"] == m - 1
            wrong.append(m)
    assert 3 in wrong, "three equally frequent values are reported as two"


def test_recursive_agrees_where_the_values_of_each_class_are_equally_frequent(at_random):
    """There the most and the least frequent value are the same, see the next test."""
    compared = 0
    for classes, theirs in at_random:
        c, least = theirs["recursive"]
        assert least == theirs["distinct"]
        h = classes.histograms["s"]
        groups = [list(h.of_class(i).values()) for i in range(len(classes))]
        if c is None or any(len(set(group)) > 1 for group in groups):
            continue
        compared += 1
        assert RecursiveLDiversity("s", least, c).verdict(classes).holds
        assert c == 1 or not RecursiveLDiversity("s", least, c - 1).verdict(classes).holds
    assert compared > 0


def test_pycanon_takes_the_least_frequent_value_for_the_most_frequent(at_random, named):
    """It sorts the counts upwards and calls the first one r1; the definition wants the largest."""
    for classes, theirs in at_random:
        c, least = theirs["recursive"]
        if c is not None:
            h = classes.histograms["s"]
            upwards = [sorted(h.of_class(i).values()) for i in range(len(classes))]
            assert c == max(math.floor(Fraction(r[0], sum(r[least - 1 :])) + 1) for r in upwards)
    classes, theirs = named["one value dominates"]
    assert theirs["recursive"] == [1, 2], "nine of ten people share a value, and pyCANON asks for c = 1"
    assert not RecursiveLDiversity("s", 2, 1).verdict(classes).holds
    assert RecursiveLDiversity("s", 2, 1).verdict(classes).measured == 9


def test_t_closeness_agrees_for_text_and_for_numbers(at_random):
    compared = 0
    for classes, theirs in at_random:
        for distance in ("equal", "ordered"):
            if theirs[distance] == "divides by zero":
                continue
            measured = TCloseness("s", 1, distance).verdict(classes).measured
            assert abs(float(measured) - theirs[distance]) < 1e-12
            compared += 1
    assert compared > RANDOM


def test_pycanon_divides_by_zero_for_one_number_only(asked, named):
    classes, theirs = named["one value only"]
    assert theirs["ordered"] == "divides by zero"
    assert TCloseness("s", 0, "ordered").verdict(classes).measured == 0
    for rows, answer in asked:
        assert (answer["ordered"] == "divides by zero") == (len({row[-1] for row in rows}) == 1)
