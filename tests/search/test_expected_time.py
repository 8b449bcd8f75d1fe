"""What searches will take is told before they run, by counted steps, and decides nothing."""

from __future__ import annotations

import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from search.checks import crowded
from sfumato.cli.main import run
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.policy.searches import COMPARED
from sfumato.search import best, lattice, mondrian
from sfumato.search.best import ExpectedTime, expected_times, in_words
from sfumato.search.contract import Aim

K = Promises((KAnonymity(3),))


def steps(table, aim=None):
    return {one.search: one.steps for one in expected_times(table, K, aim or Aim(), COMPARED)}


def test_every_search_is_told_of_and_those_of_others_are_not():
    told = expected_times(crowded(1), K, Aim(), (*COMPARED, "of another package"))
    assert [one.search for one in told] == list(COMPARED)
    assert {one.search for one in told if one.bound} == {"lattice", "optimum"}
    assert all(one.seconds > 0 for one in told)


def test_nothing_is_told_of_searches_that_are_too_much_to_compare(monkeypatch):
    monkeypatch.setattr(lattice, "MOST_STEPS_TO_COMPARE", 10)
    assert "lattice" not in {one.search for one in expected_times(crowded(1), K, Aim(), COMPARED)}
    alone = expected_times(crowded(1), K, Aim(), ("lattice",))
    assert [one.search for one in alone] == ["lattice"]


def test_more_rows_and_more_columns_are_more_steps():
    few, many, wide = (steps(crowded(1, rows=rows, keys=keys)) for rows, keys in ((20, 3), (90, 3), (90, 4)))
    assert all(few[name] < many[name] < wide[name] for name in COMPARED if name != "optimum")


def test_the_same_rows_are_the_same_steps():
    assert steps(crowded(2)) == steps(crowded(2))


def test_a_slow_machine_changes_what_is_told_and_nothing_else(monkeypatch, hospital_table):
    plans = []
    for seconds in (1e-9, 1e-3):
        monkeypatch.setattr(best, "seconds_per_row", lambda _, seconds=seconds: seconds)
        told = []
        plan = sf.protect(*hospital_table, foretell=told.extend)
        plans.append((plan.as_dict(), told[0].steps, told[0].seconds))
    (one, first_steps, fast), (other, second_steps, slow) = plans
    assert one == other
    assert first_steps == second_steps
    assert slow == pytest.approx(fast * 1e6)


@pytest.fixture
def hospital_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"zip": rng.integers(100, 130, 200).astype(str), "sex": rng.choice(["f", "m"], 200)})
    columns = {"zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}}, "sex": {"role": "quasi"}}
    return frame, {
        "columns": columns,
        "promises": [{"k-anonymity": {"k": 3}}],
        "protect": {"suppress": 0, "search": "top-down"},
    }


def test_nothing_is_told_where_nothing_is_searched_for(hospital_table):
    told = []
    first = sf.protect(*hospital_table, foretell=told.extend)
    assert len(told) == 1
    sf.protect(*hospital_table, reuse_plan=first, foretell=told.extend)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "a second"), (1.6, "2 seconds"), (89, "89 seconds"), (91, "2 minutes"), (6000, "1.7 hours")],
)
def test_times_in_words(seconds, words):
    assert in_words(seconds) == words
    assert str(ExpectedTime("lattice", 1, seconds, bound=True)) == f"lattice: at most {words}"


def test_the_command_tells_it_on_request(sfumato_call):
    said = sfumato_call("--compare")
    assert said.err.startswith("before the search: top-down: about a second\n")
    assert sfumato_call().err == "nothing was written\n"


@pytest.fixture
def sfumato_call(hospital_table, tmp_path, capsys):
    frame, policy = hospital_table
    frame.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "policy.yaml").write_text(json.dumps(policy), encoding="utf-8")

    def call(*more):
        capsys.readouterr()
        code = run(["protect", f"{tmp_path}/data.csv", "-p", f"{tmp_path}/policy.yaml", "--dry-run", *more])
        out, err = capsys.readouterr()
        assert code == 0
        return SimpleNamespace(out=out, err=err)

    return call


def test_tables_too_large_to_be_divided_again_are_told_to_be_divided_once(monkeypatch):
    table, aim = crowded(1), Aim(Fraction(1, 10), price=Fraction(1))
    often = steps(table, aim)["mondrian"]
    monkeypatch.setattr(mondrian, "MOST_WITHHELD_TRIED", 0)
    assert steps(table, aim)["mondrian"] == steps(table)["mondrian"] < often
