"""Every attack, counted again with dictionaries and Fractions."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sfumato.models.k_anonymity.attack import Linkage
from sfumato.models.l_diversity.attack import Homogeneity
from sfumato.models.t_closeness.attack import Skewness
from sfumato.system.verdict import CERTAINTY, RECOGNITION, SHIFT, VALUES, AttackLimits, Bound
from sfumato.testing.attacks import published

CELL = st.sampled_from(["a", "b", "c", "Ä'\"", "", None])
ROWS = st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=25)


def at_most(measure, value, column=None):
    return AttackLimits((Bound(measure, value, column),))


def grouped(rows):
    groups = defaultdict(list)
    for q0, q1, s in rows:
        groups[q0, q1].append(s)
    return groups


@given(ROWS, st.integers(1, 6))
def test_prosecutor_and_marketer(rows, k):
    sizes = [len(g) for g in grouped(rows).values()]
    prosecutor, journalist, marketer = Linkage().strike(
        published(rows, ("q0", "q1"), ("s",)), at_most(RECOGNITION, Fraction(1, k))
    )
    over = sum(n for n in sizes if n < k)
    assert prosecutor.confidence == Fraction(1, min(sizes))
    assert prosecutor.people == prosecutor.details["records over threshold"] == over
    assert prosecutor.details["share over threshold"] == Fraction(over, len(rows))
    assert prosecutor.details["average risk"] == Fraction(len(sizes), len(rows))
    assert prosecutor.details["unique"] == sizes.count(1)
    assert prosecutor.breach == (min(sizes) < k)
    assert journalist.confidence == prosecutor.confidence
    assert "at most" in journalist.sentence
    assert "unknown" in journalist.details["population"]
    assert marketer.confidence == Fraction(len(sizes), len(rows))
    assert marketer.breach == (Fraction(len(sizes), len(rows)) > Fraction(1, k))


@given(ROWS, st.dictionaries(st.tuples(CELL, CELL), st.integers(-60, 60)))
def test_journalist_and_marketer_with_a_population(rows, population):
    """Where an estimate is missing, zero, negative or below the table, the table counts."""
    groups = grouped(rows)
    around = {key: max(population.get(key, 0), len(g)) for key, g in groups.items()}
    prosecutor, journalist, marketer = Linkage(population=population).strike(
        published(rows, ("q0", "q1"), ("s",)), at_most(RECOGNITION, Fraction(1, 5))
    )
    matched = sum(Fraction(len(g), around[key]) for key, g in groups.items())
    assert journalist.confidence == Fraction(1, min(around.values()))
    assert journalist.people == sum(len(g) for key, g in groups.items() if around[key] < 5)
    assert journalist.details["average risk"] == max(
        Fraction(len(groups), sum(around.values())), matched / len(rows)
    )
    assert marketer.confidence == matched / len(rows)
    assert marketer.details["expected matches"] == matched
    assert journalist.confidence <= prosecutor.confidence
    low = sum(population.get(key, 0) < len(g) for key, g in groups.items())
    assert journalist.details["classes beyond it"] == low


@given(ROWS, st.integers(2, 4), st.fractions(min_value="1/4", max_value=1, max_denominator=9))
def test_homogeneity(rows, values, chance):
    groups = grouped(rows)
    [finding] = Homogeneity().strike(
        published(rows, ("q0", "q1"), ("s",)),
        AttackLimits((Bound(VALUES, Fraction(values), "s"), Bound(CERTAINTY, chance, "s"))),
    )
    share = {key: Fraction(max(Counter(g).values()), len(g)) for key, g in groups.items()}
    certain = sum(len(g) for g in groups.values() if len(set(g)) == 1)
    broken = {
        key
        for key, g in groups.items()
        if len(set(g) - {None}) < values or share[key] > chance or share[key] == 1
    }
    assert finding.confidence == max(share.values())
    assert finding.details["people exposed with certainty"] == certain
    assert finding.details["fewest values"] == min(len(set(g) - {None}) for g in groups.values())
    assert finding.people == sum(len(groups[key]) for key in broken)
    assert finding.breach == bool(broken)
    shown = groups[finding.values["q0"], finding.values["q1"]]
    assert Fraction(shown.count(finding.values["s"]), len(shown)) == finding.confidence


@given(ROWS, st.fractions(min_value=0, max_value=1, max_denominator=9))
def test_skewness(rows, limit):
    groups = grouped(rows)
    before = {s: Fraction(n, len(rows)) for s, n in Counter(s for *_, s in rows).items()}
    after = {key: {s: Fraction(g.count(s), len(g)) for s in before} for key, g in groups.items()}
    distance = {key: sum(abs(p[s] - before[s]) for s in before) / 2 for key, p in after.items()}
    gain = {key: max(p[s] / before[s] for s in before) for key, p in after.items()}
    [finding] = Skewness().strike(published(rows, ("q0", "q1"), ("s",)), at_most(SHIFT, limit, "s"))
    most = max(gain.values())
    assert finding.details["largest distance"] == max(distance.values())
    assert finding.details["largest gain"] == most
    assert finding.people == sum(len(groups[key]) for key, d in distance.items() if d > limit)
    assert finding.breach == any(d > limit for d in distance.values())
    assert finding.details["people with the largest gain"] == sum(
        len(groups[key]) for key, g in gain.items() if g == most
    )
    shown = finding.values["q0"], finding.values["q1"]
    assert after[shown][finding.values["s"]] == finding.confidence == finding.details["belief after"]
    assert finding.details["belief before"] == before[finding.values["s"]]


@given(st.lists(st.tuples(CELL, CELL, st.integers(0, 5)), min_size=1, max_size=20))
def test_someone_with_several_rows_counts_once(rows):
    people, values = defaultdict(set), defaultdict(lambda: defaultdict(set))
    for q, s, who in rows:
        people[q].add(who)
        values[q][s].add(who)
    seen = published([(q, s) for q, s, _ in rows], ("q",), ("s",), person=[who for *_, who in rows])
    prosecutor, *_ = Linkage().strike(seen, at_most(RECOGNITION, Fraction(1, 3)))
    assert prosecutor.confidence == Fraction(1, min(len(p) for p in people.values()))
    assert prosecutor.people == len(set().union(*(p for p in people.values() if len(p) < 3)))
    [finding] = Homogeneity().strike(seen, AttackLimits())
    assert finding.confidence == max(
        Fraction(len(holders), len(people[q])) for q, of in values.items() for holders in of.values()
    )
