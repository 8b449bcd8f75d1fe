"""Choices for a table: what pages show of solutions, of the lattice, and of both in one picture."""

import pickle
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.demo.hospital import write
from sfumato.system.errors import Infeasible, UsageError
from sfumato.workflows.choices import counted_choices, risk_map

HIDDEN = ("patient_id", "name", "symptoms", "born", "income", "admitted")
WORDS = {
    "columns": {
        **{name: {"role": "identifier"} for name in HIDDEN},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [3, 2, 1]}},
        "sex": {"role": "quasi"},
        "job": {"role": "quasi", "taxonomy": {"file": "job.csv"}},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 5}}],
    "protect": {"price": "none", "search": "best", "suppress": "5%"},
    "confirm": {"disease": True},
}


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hospital")
    write(folder, rows=400)
    return folder / "hospital.csv", sf.Policy.from_dict(WORDS, folder)


def test_solutions_lie_side_by_side_and_say_what_columns_become(hospital):
    data, policy = hospital
    solutions = counted_choices(data, policy).solutions()
    plan = sf.protect(data, policy)
    assert solutions.compared[0].search == solutions.search == plan.search
    assert {one.search for one in solutions.compared} == {one.search for one in plan.compared}
    for one in solutions.compared:
        assert [shape.column for shape in one.columns] == ["zip", "sex", "job"]
    assert solutions.outlook == plan.outlook.line and set(solutions.why) == {"zip", "sex", "job"}
    assert solutions.change.after.smallest == plan.smallest
    assert solutions.change.suppressed == plan.suppressed
    assert pickle.loads(pickle.dumps(solutions)) == solutions


@pytest.mark.parametrize("k, share", [(2, Fraction(0)), (5, Fraction(1, 20)), (11, Fraction(1, 10))])
def test_lattice_answers_what_protect_finds(hospital, k, share):
    data, policy = hospital
    answer = counted_choices(data, policy).lattice().answer(k, share)
    plan = sf.protect(data, policy.with_(k=k, suppress=share, search="lattice"))
    assert dict(plan.levels) == answer.levels
    assert (plan.suppressed, plan.classes) == (answer.suppressed, answer.classes)


def test_map_has_curves_of_the_lattice_and_a_point_for_every_search(hospital):
    data, policy = hospital
    choices = counted_choices(data, policy)
    lattice, solutions = choices.lattice(), choices.solutions()
    drawn = risk_map(choices.policy, lattice, solutions.compared)
    searches = [one.search for one in solutions.compared if one.search != "lattice"]
    assert list(drawn.series)[2:] == searches
    none, some = list(drawn.series.values())[:2]
    assert all(loss <= dearer for (_, loss), (_, dearer) in zip(some, none, strict=False))
    assert [loss for _, loss in none] == sorted(loss for _, loss in none)
    assert risk_map(choices.policy, None, ()) is None


def test_refusals_reach_whoever_asks(hospital):
    data, policy = hospital
    with pytest.raises(Infeasible):
        counted_choices(data, policy.with_(k=500)).solutions()
    columns = {**WORDS["columns"], "sex": {"role": "quasi", "never-suppress": ["f"]}}
    spared = sf.Policy.from_dict({**WORDS, "columns": columns}, policy.folder)
    with pytest.raises(UsageError, match="some rows must not be suppressed"):
        counted_choices(data, spared).lattice()
