"""People with several rows, from the policy to the published file and its audit."""

from __future__ import annotations

import pandas as pd
import pytest

import sfumato as sf
from sfumato.policy.content import Knows
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData, BadPolicy, Infeasible
from sfumato.workflows.protect_file import protect_file

COLUMNS = {"who": {"role": "identifier"}, "month": {"role": "quasi"}, "disease": {"role": "sensitive"}}
K, L = {"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "disease", "l": 2}}
HALF = {"confidence-bounding": {"of": "disease", "confidence": "1/2"}}


def words(*promises, **more):
    return {
        "columns": COLUMNS,
        "promises": list(promises),
        "protect": {"search": "top-down", "suppress": 0},
        **more,
    }


def visits(*people):
    """One row per month: people are (name, months, diseases)."""
    rows = [(who, month, d) for who, months, diseases in people for month in months for d in diseases]
    return pd.DataFrame(rows, columns=["who", "month", "disease"])


SAFE = visits(
    *((f"{d}{i}", ("Jan", "Feb"), (d,)) for d in ("flu", "cold") for i in range(2)),
    *((f"{d}{i}", ("Jan",), (d,)) for d in ("burn", "gout") for i in range(2)),
)
EXPOSED = pd.concat([SAFE, visits(("odd", ("Feb", "Mar"), ("HIV",)), ("even", ("Feb", "Mar"), ("HIV",)))])


def test_the_key_and_its_default():
    assert not Policy.from_dict(words(K, person="who")).by_profile, "k-anonymity alone counts rows of people"
    assert Policy.from_dict(words(K, L, person="who")).by_profile
    assert not Policy.from_dict(words(K, L)).by_profile
    asked = Policy.from_dict(words(K, person={"column": "who", "knows": "profile"}))
    assert asked.by_profile and asked.knows is Knows.PROFILE and asked.person == "who"
    assert Policy.from_dict(asked.to_dict()) == asked
    assert "person: {column: who, knows: profile}" in asked.to_yaml()
    assert Policy.from_dict(words(K, person={"column": "who"})).knows is None
    assert asked.digest != Policy.from_dict(words(K, person="who")).digest


@pytest.mark.parametrize(
    "policy, said",
    [
        (words(K, person={"column": "who", "knows": "all"}), "person"),
        (words(K, person={"knows": "row"}), "column"),
        (words(K, L, person={"column": "who", "knows": "row"}), "two rows of a person"),
        (words(K, L, person="who", protect={"suppress": 0, "search": "mondrian"}), "all rows of a person"),
        (
            words(
                K,
                L,
                person="who",
                missing="suppress",
                protect={"search": "top-down", "price": "none", "suppress": "1/2"},
            ),
            "with all their rows",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(policy, said):
    with pytest.raises(BadPolicy, match=said):
        Policy.from_dict(policy)


@pytest.mark.parametrize("search", ["top-down", "lattice", "optimum"])
def test_what_is_published_keeps_the_promises_for_positions(tmp_path, search):
    policy = words(K, L, person="who", protect={"suppress": 0, "search": search})
    plan, verdicts = protect_file(SAFE, policy, tmp_path / "safe.csv")
    assert all(v.holds for v in verdicts)
    assert plan.smallest == 4, "four people were there in January and February"
    assert "with the same rows" in str(plan)
    found = sf.audit(tmp_path / "safe.csv", policy)
    assert [v.holds for v in found.verdicts] == [None, None], "the file does not tell whose rows are whose"
    few = SAFE.query("disease in ('burn', 'flu')").drop(columns="who")
    assert False in [v.holds for v in sf.audit(few, policy).verdicts], "too few values in a class are too few"


def test_people_are_left_out_with_all_their_rows(tmp_path):
    policy = words(K, L, person="who", protect={"search": "top-down", "price": "none", "suppress": "1/4"})
    plan, verdicts = protect_file(EXPOSED, policy, tmp_path / "safe.csv")
    assert all(v.holds for v in verdicts)
    published = pd.read_csv(tmp_path / "safe.csv")
    assert plan.suppressed == 4 and "HIV" not in set(published["disease"])
    assert sorted(published["month"]) == sorted(SAFE["month"]), "nothing else is lost"


def test_the_second_judge_sees_what_class_by_class_looks_safe(tmp_path):
    by_rows = words(K, person="who")
    _, verdicts = protect_file(EXPOSED, by_rows, tmp_path / "safe.csv")
    assert [v.measured for v in verdicts] == [2]
    more = pd.concat([EXPOSED, visits(("third", ("Mar",), ("flu",)))])
    judged = sf.audit(more, words(K, L, person="who")).verdicts[1:]
    assert [v.holds for v in judged] == [False, False], "two people in February and March have one disease"
    assert [v.measured for v in judged] == [1, 1]


def test_several_values():
    both = visits(("a", ("Jan",), ("flu", "HIV")), ("b", ("Jan",), ("flu", "HIV")))
    with pytest.raises(BadData, match="several values"):
        sf.protect(both, words(K, L, person="who"))
    with pytest.raises(Infeasible, match="reached: 1"):
        sf.protect(both, words(K, HALF, person="who"))
    others = visits(("c", ("Jan",), ("cold", "gout")), ("d", ("Jan",), ("cold", "gout")))
    plan = sf.protect(pd.concat([both, others]), words(K, HALF, person="who"))
    assert [str(v.measured) for v in plan.verdicts] == ["4", "1/2"]


def test_an_identifier_that_repeats_without_a_person_is_warned_of(sfumato, tmp_path):
    table, policy = tmp_path / "visits.csv", tmp_path / "policy.yaml"
    SAFE.rename(columns={"who": "ticket"}).to_csv(table, index=False)
    columns = {"ticket" if name == "who" else name: rule for name, rule in COLUMNS.items()}
    policy.write_text(
        Policy.from_dict(
            {"columns": columns, "promises": [K], "protect": {"search": "top-down", "suppress": 0}}
        ).to_yaml()
    )
    checked = sfumato("policy", "check", policy, table)
    planned = sfumato("protect", table, "--policy", policy, "--dry-run")
    for said in (checked.out + checked.err, planned.err):
        assert "column ticket: 8 different values in 12 rows" in said
        assert "Say person: ticket" in said
        assert "If not, nothing has to change." in said
    assert "rows" in planned.out and "people" not in planned.out
    SAFE.assign(who="Q1").rename(columns={"who": "ticket"}).to_csv(tmp_path / "one.csv", index=False)
    one = sfumato("policy", "check", policy, tmp_path / "one.csv")
    assert "column ticket: 1 different value in 12 rows" in one.out + one.err
    many = tmp_path / "many.yaml"
    many.write_text(policy.read_text().replace("k: 2", "k: 200"))
    short = sfumato("protect", table, "--policy", many, "--dry-run")
    assert "the table has 12 rows" in short.err and "about 12 people" not in short.err
    people = tmp_path / "people.csv"
    crowd = pd.concat([SAFE.assign(who=SAFE.who + f" of house {i}") for i in range(4)])
    crowd.rename(columns={"who": "surname"}).to_csv(people, index=False)
    drafted = sfumato("declare", people)
    assert "surname: {role: identifier}" in drafted.out and "person:" not in drafted.out
    assert "column surname" in drafted.err and "a number for each person" in drafted.err
    assert "Say person" not in drafted.err
