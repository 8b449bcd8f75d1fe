"""The adversary who compares a class with the whole table, value by value."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from math import log

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.models.beta_likeness.attack import RelativeGain
from sfumato.system.verdict import AttackLimits
from sfumato.table.classes import GainLimit
from sfumato.testing.attacks import check_attack, published

ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("wxyz")), min_size=1, max_size=14)


def limits(beta, enhanced=False, column="s"):
    return AttackLimits((GainLimit(column, Fraction(beta), enhanced),))


@pytest.mark.parametrize("enhanced", [False, True])
@given(rows=ROWS, beta=st.fractions(Fraction(1, 10), 4, max_denominator=10))
def test_against_plain_counting(enhanced, rows, beta):
    groups, overall = defaultdict(Counter), Counter(s for _, s in rows)
    for q, s in rows:
        groups[q][s] += 1
    beyond, used = 0, []
    for group in groups.values():
        size = sum(group.values())
        gains = {s: Fraction(n * len(rows), size * overall[s]) - 1 for s, n in group.items()}
        most = {s: min(float(beta), log(len(rows) / overall[s])) if enhanced else beta for s in group}
        beyond += size * any(gain > 0 and gain > most[s] for s, gain in gains.items())
        used += gains.values()
    [finding] = RelativeGain().strike(published(rows, ("q",), ("s",)), limits(beta, enhanced))
    assert finding.people == beyond and finding.breach == (beyond > 0)
    assert finding.details["gain"] >= 0
    before, after = finding.details["belief before"], finding.details["belief after"]
    assert finding.confidence == after and after / before - 1 == finding.details["gain"]
    if not enhanced:
        assert finding.details["gain"] == max([Fraction(0), *used])


def test_it_keeps_to_the_seam():
    check_attack(RelativeGain())
    check_attack(RelativeGain(), limits=limits(1, column="s"))
    check_attack(RelativeGain(), limits=limits("1/2", enhanced=True, column="s0"))


def test_without_the_promise_it_says_nothing():
    seen = published([("a", "x"), ("b", "y")], ("q",), ("s",))
    assert RelativeGain().strike(seen, AttackLimits()) == []
    assert RelativeGain().strike(seen, limits(1, column="elsewhere")) == []


def test_an_audit_names_it_and_what_is_allowed():
    rows = [{"q": q, "s": s} for q, s in ("ax", "ay", "bx", "bx")]
    columns = {"q": {"role": "quasi"}, "s": {"role": "sensitive"}}
    policy = {
        "columns": columns,
        "promises": [{"beta-likeness": {"of": "s", "beta": "1/4"}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    found = sf.audit(pl.DataFrame(rows), policy)
    assert found.holds is False
    [finding] = [f for f in found.findings if f.attack == "gain"]
    assert finding.sentence == (
        "the belief in a value of s grows by 1 of what it was; 4 people by more than allowed (1/4, or -ln of"
        " its share)"
    )
