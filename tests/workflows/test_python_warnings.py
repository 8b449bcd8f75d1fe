"""What Python says unasked: warnings by `warnings`, once each; and one draft, however it is asked for."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest

import sfumato as sf
from sfumato.system.errors import BadData, Infeasible, UsageError
from sfumato.table.microdata import Role


def panel(people=40, years=3):
    """A panel whose people nobody calls so: 40 people in three rows each."""
    return pd.DataFrame(
        {
            "nr": [1000 + i for i in range(people) for _ in range(years)],
            "age": [20 + i % 40 + y for i in range(people) for y in range(years)],
            "sex": ["mf"[i % 2] for i in range(people) for _ in range(years)],
            "disease": [["flu", "gout", "burn"][(i + y) % 3] for i in range(people) for y in range(years)],
        }
    )


def clinic(rows=120):
    """Some columns of which one is a measurement, with values that nobody else has."""
    return pd.DataFrame(
        {
            "age": [18 + 7 * i % 60 for i in range(rows)],
            "sex": ["mf"[i % 2] for i in range(rows)],
            "score": [i % 11 if i % 3 else 1000 + i for i in range(rows)],
            "disease": ["flu", "gout", "burn"] * (rows // 3),
        }
    )


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [w for w in caught if issubclass(w.category, sf.SfumatoWarning)]


def test_warnings_come_once_each_and_name_the_line_that_called():
    raw = clinic()
    _, caught = warned(lambda: sf.protect(raw, k=5, quasi=["age"], sensitive="disease", insensitive="score"))
    texts = [str(w.message) for w in caught]
    assert len(set(texts)) == len(texts)
    assert any("column sex" in text and "confirmed" in text for text in texts)
    assert {w.filename for w in caught} == {__file__}


def test_who_receives_warnings_receives_all_of_them():
    heard = []
    call = {"k": 5, "quasi": ["age"], "sensitive": "disease", "insensitive": "score"}
    _, caught = warned(lambda: sf.protect(clinic(), warn=heard.append, **call))
    assert not caught
    assert heard


def test_people_with_several_rows_are_never_passed_over():
    raw = panel()
    for call in (lambda: sf.protect(raw, k=5), lambda: sf.declare(raw)):
        result, caught = warned(call)
        policy = getattr(result, "policy", result)
        assert policy.person == "nr" or any("several rows" in str(w.message) for w in caught)


def test_values_that_nobody_else_has_are_never_passed_over():
    raw = clinic().assign(
        visit=[f"2024-0{1 + i % 9}-{1 + i % 28:02d}" if i % 2 else "2024-01-01" for i in range(120)]
    )
    _, caught = warned(lambda: sf.protect(raw, k=5, quasi="age", sensitive="disease", insensitive="visit"))
    (one,) = [str(w.message) for w in caught if "nobody else has" in str(w.message)]
    assert "visit (" in one and "score (40 rows)" in one


def test_a_preset_makes_the_draft():
    raw = clinic().assign(city=["Boston", "Austin", "Denver"] * 40)
    policy = sf.protect(raw, preset="hipaa-safe-harbor", quasi=["age", "sex"]).policy
    assert (policy.preset, policy.columns["city"].role) == ("hipaa-safe-harbor", Role.IDENTIFIER)
    assert str(next(iter(sf.protect(raw, preset="ema").policy.promises))) == "k-anonymity, k = 12"
    with pytest.raises(sf.errors.BadPolicy, match="no place is smaller"):
        policy.with_(insensitive="city")


def test_a_draft_is_the_same_however_it_is_asked_for():
    for raw in (clinic(), panel()):
        drafted = sf.declare(raw)
        short, long = sf.protect(raw, k=5), sf.protect(raw, drafted)
        assert short.policy == drafted
        assert (short.loss, short.suppressed) == (long.loss, long.suppressed)


def test_a_secret_that_is_named_is_never_given_up():
    raw = clinic().assign(rare=["yes" if i < 3 else "no" for i in range(120)])
    plan = sf.protect(raw, k=3, quasi="age", sensitive=["rare", "disease"])
    assert {name for p in plan.policy.promises for name in p.sensitive} == {"rare", "disease"}
    with pytest.raises(Infeasible, match="l-diversity of one"):
        sf.protect(raw.assign(one="x"), k=3, quasi="age", sensitive="one")
    assert [str(p) for p in sf.declare(raw).with_(sensitive="sex").promises if "sex" in str(p)] == [
        "distinct l-diversity of sex, l = 2"
    ]


def test_roles_of_a_draft_change_and_what_a_role_does_not_need_goes():
    drafted = sf.declare(clinic())
    for role in ("identifier", "insensitive", "sensitive"):
        changed = drafted.with_(**{role: "age"})
        assert changed.columns["age"].role is Role(role)
        assert sf.Policy.from_dict(changed.to_dict()).digest == changed.digest


def test_words_of_a_policy_are_arguments():
    raw = clinic()
    plan = sf.protect(raw, k=5, suppress="5%", weights={"age": 2}, search="lattice", missing="suppress")
    said = plan.policy.to_dict()
    assert (said["protect"]["suppress"], said["protect"]["weights"]) == ("1/20", {"age": 2})
    assert (said["protect"]["search"], said["missing"]) == ("lattice", "suppress")
    assert sf.protect(panel(), k=5, identifier="nr", person="nr").policy.person == "nr"
    with pytest.raises(UsageError, match="anjana"):
        sf.protect(raw, k=5, hierarchies={})


def test_what_is_published_unchanged_is_listed():
    plan = sf.protect(clinic(), k=5, quasi=["age", "sex"], sensitive="disease")
    assert plan.unchanged == ("score", "disease")
    assert plan.as_dict()["unchanged"] == ["score", "disease"]
    assert "published unchanged: score and disease" in str(plan.card())


def test_other_rows_are_told_how_they_take_a_plan_over():
    raw = clinic()
    plan = sf.protect(raw, k=5, quasi=["age", "sex"], sensitive="disease", search="top-down")
    with pytest.raises(BadData, match="reuse_plan"):
        plan.apply(raw.head(60))
    more = pd.concat([raw, raw])
    further = sf.protect(more, plan.policy, reuse_plan=plan)
    assert set(further.apply(more)["age"]) == set(plan.apply(raw)["age"])
