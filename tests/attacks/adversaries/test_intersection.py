"""The intersection of a person's classes: against plain Python, on an old output, and on a new one."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from oracles import person_worlds as plain
from sfumato.attacks.adversaries.table import Intersection
from sfumato.system.errors import UsageError
from sfumato.system.verdict import VALUES, AttackLimits, Bound
from sfumato.testing.attacks import published

OLD = Path(__file__).parents[2] / "golden" / "people_with_several_rows"
VISITS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("xyz"), st.sampled_from("abc")), min_size=1, max_size=14
)


@given(VISITS, st.integers(1, 4))
def test_values_left_are_those_of_plain_python(rows, least):
    person, seen = [who for who, _, _ in rows], published([row[1:] for row in rows], ("q",), ("s",), person=[w for w, _, _ in rows])  # fmt: skip  # noqa: E501
    findings = Intersection().strike(seen, AttackLimits((Bound(VALUES, Fraction(least), "s"),)))
    often = Counter(person)
    if max(often.values()) == 1:
        assert findings == []
        return
    known = plain.profiles(rows)
    has = {who: {value for other, _, value in rows if other == who} for who in known}
    hit = [who for who in known if often[who] > 1 and len(has[who]) == 1]
    left = [len(plain.possible_without_register(rows, known[who])) for who in hit]
    [found] = findings
    assert found.details["people with several rows"] == len(hit)
    assert found.details["fewest values left"] == min(left, default=0)
    assert found.details["people exposed with certainty"] == left.count(1)
    assert found.people == sum(n < least for n in left)
    assert found.breach == (found.people > 0)


def test_it_finds_the_person_in_the_old_output_and_nobody_in_the_new():
    old = pd.read_csv(OLD / "old.csv", dtype=str)
    sizes = old.groupby("month").agg({"who": "nunique", "disease": "nunique"})
    assert sizes.min().tolist() == [5, 3], "k = 5 and l = 3 in every class"
    [found] = sf.attack("intersection", old, OLD / "policy.yaml").findings
    assert (found.breach, found.people, found.confidence) == (True, 1, 1)
    assert "at least 1 value of disease possible for each; certain for 1 person" in found.sentence
    assert_nobody_is_left_with_several_rows(old, OLD / "policy.yaml")


def assert_nobody_is_left_with_several_rows(people, policy):
    """Everybody is published once, so that there are no classes of one person to hold against each other."""
    safe = sf.protect(people, policy).apply(people)
    assert len(safe) == people["who"].nunique() < len(people)
    told_apart = safe.assign(who=[f"person {number}" for number in range(len(safe))])
    assert not any(f.attack == "intersection" for f in sf.audit(told_apart, policy).breaches)
    with pytest.raises(UsageError, match="several rows"):
        sf.attack("intersection", told_apart, policy)


def test_the_new_output_withstands_where_people_have_several_rows():
    months, diseases = ("Jan", "Feb", "Mar"), ("HIV", "flu", "cold")
    rows = [(f"{a}{b}{d}", month, d) for a, b in pairwise(months) for d in diseases for month in (a, b)]  # fmt: skip  # noqa: E501
    rows += [("alone", "Jan", "HIV"), ("alone", "Mar", "HIV")]
    people = pd.DataFrame(rows, columns=["who", "month", "disease"])
    policy = {
        "columns": {
            "who": {"role": "identifier"},
            "month": {"role": "quasi"},
            "disease": {"role": "sensitive"},
        },
        "promises": [{"k-anonymity": {"k": 3}}, {"l-diversity": {"of": "disease", "l": 3}}],
        "protect": {"search": "top-down", "suppress": 0},
        "person": "who",
    }
    assert_nobody_is_left_with_several_rows(people, policy)
