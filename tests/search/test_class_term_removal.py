"""Every method against all cases, on random classes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import beliefs as plain
from sfumato.models.contract import Prior
from sfumato.models.quasi_sensitive.knowledge import DISTANCES, Knowledge
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.search.class_term_removal import (
    METHODS,
    RemovalCosts,
    SolverBudget,
    TermLimit,
    out_of_reach,
    solve_class,
)

pytestmark = pytest.mark.slow

TERMS = "abcde"
ROWS = st.lists(st.sets(st.sampled_from(TERMS), max_size=4).map(sorted).map(tuple), min_size=1, max_size=3)
KNOWN = st.lists(
    st.tuples(st.sampled_from("VWXYZ"), st.sets(st.sampled_from(TERMS), min_size=1).map(sorted)),
    min_size=1,
    max_size=7,
)
RATIOS = st.sampled_from([Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(3)])
COSTS = st.sampled_from(["inverse", "count", "pairs", "rarity"])
COMMON = st.fixed_dictionaries({label: st.sampled_from([1, 2, 3, 7, Fraction(1, 5)]) for label in "VWXYZ"})


def check(rows, promise, holds, kind):
    """The answer of every method is valid; complete searches find the least cost there is."""
    rows_with = {term: 1 + i % 3 for i, term in enumerate(TERMS)} if kind == "rarity" else {}
    least = plain.cheapest(rows, holds, kind, rows_with)
    costs = RemovalCosts(kind, 4, rows_with)
    whole = sum(costs.whole(row) for row in rows)
    for method in METHODS:
        answer = solve_class(rows, TermLimit.of(promise), costs, SolverBudget(method))
        assert answer.proved
        assert answer.found == (least is not None)
        if answer.found:
            assert all(set(k) <= set(row) for k, row in zip(answer.kept, rows, strict=True))
            assert holds(list(answer.kept))
            paid = Fraction(answer.cost, whole) if whole else 0
            assert plain.cost(rows, answer.kept, kind, rows_with) == paid == least
            assert 0 <= least <= 1


@given(ROWS, KNOWN, RATIOS, st.integers(1, 5), COSTS)
def test_diversity_at_the_least_cost(rows, known, c, l, kind):  # noqa: E741
    promise = QuasiSensitiveDiversity("s", Knowledge.of(known), l=l, c=c)
    check(rows, promise, lambda kept: plain.diverse(known, kept, c, l), kind)


@given(
    ROWS, KNOWN, ROWS, st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]), COSTS
)
def test_closeness_at_the_least_cost(rows, known, others, t, kind):
    before = plain.prior(known, [*rows, *others])
    promise = QuasiSensitiveCloseness("s", Knowledge.of(known), t=t, prior=Prior.of(before))
    check(rows, promise, lambda kept: plain.squared_distance(known, kept, before) <= t * t, kind)


@given(ROWS, KNOWN, RATIOS, st.integers(1, 4), COMMON)
def test_diversity_where_labels_differ_in_prevalence(rows, known, c, l, common):  # noqa: E741
    promise = QuasiSensitiveDiversity("s", Knowledge.of(known), l=l, c=c, prevalence=common)
    check(rows, promise, lambda kept: plain.diverse(known, kept, c, l, common), "inverse")


@given(ROWS, KNOWN, ROWS, st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2)]), COMMON, st.data())
def test_closeness_by_every_distance(rows, known, others, t, common, data):
    name = data.draw(st.sampled_from(DISTANCES))
    before = plain.prior(known, [*rows, *others], common=common)
    promise = QuasiSensitiveCloseness(
        "s", Knowledge.of(known), t=t, prior=Prior.of(before), distance=name, prevalence=common
    )
    most = promise.limits()[0].most
    check(rows, promise, lambda kept: plain.distance(known, kept, before, name, common) <= most, "count")


@given(ROWS.filter(lambda rows: len(rows) <= 2), KNOWN, ROWS, COMMON, st.sampled_from(DISTANCES))
def test_what_a_bound_calls_out_of_reach_is(rows, known, others, common, name):
    before = plain.prior(known, [*rows, *others], common=common)
    t = Fraction(1, 10)
    promise = QuasiSensitiveCloseness(
        "s", Knowledge.of(known), t=t, prior=Prior.of(before), distance=name, prevalence=common
    )
    most = promise.limits()[0].most
    least = plain.cheapest(rows, lambda kept: plain.distance(known, kept, before, name, common) <= most)
    lost = out_of_reach(rows, TermLimit.of(promise), RemovalCosts("inverse", 4), SolverBudget())
    assert not lost or least is None
    if len(rows) == 1:
        assert lost == (least is None)


def test_a_few_terms_may_mix_labels_better_than_none():
    """A rare label beside a common one: without terms the common one is near certain, with one it is not."""
    known = [("Flu", "ab"), ("Gout", "bc"), ("Plague", "c")]
    common = {"Flu": 98, "Gout": 1, "Plague": 1}
    promise = QuasiSensitiveDiversity("s", Knowledge.of(known), l=2, c=Fraction(1), prevalence=common)
    assert not TermLimit.of(promise).kept_without_terms
    answer = solve_class([("b", "c")], TermLimit.of(promise), RemovalCosts("count", 2), SolverBudget())
    assert answer.kept == (("c",),) and answer.proved
    assert plain.diverse(known, answer.kept, 1, 2, common)


@given(ROWS, KNOWN, st.integers(1, 4), st.integers(0, 40), st.sampled_from(METHODS))
def test_a_search_cut_short_is_never_wrong(rows, known, l, nodes, method):  # noqa: E741
    promise = QuasiSensitiveDiversity("s", Knowledge.of(known), l=l, c=Fraction(1))
    least = plain.cheapest(rows, lambda kept: plain.diverse(known, kept, 1, l))
    costs, widths = RemovalCosts("inverse", 4), [len(row) for row in rows]
    answer = solve_class(rows, TermLimit.of(promise), costs, SolverBudget(method, rounds=2, nodes=nodes))
    if answer.found:
        assert plain.diverse(known, answer.kept, 1, l)
        assert costs.share(answer.bound, widths) <= least <= costs.share(answer.cost, widths)
        assert answer.proved <= (costs.share(answer.cost, widths) == least)
    else:
        assert not answer.proved or least is None


@given(KNOWN, st.permutations(range(3)), ROWS.filter(lambda rows: len(rows) == 3))
def test_the_order_of_rows_changes_no_cost(known, order, rows):
    limit = TermLimit.of(QuasiSensitiveDiversity("s", Knowledge.of(known), l=2, c=Fraction(1)))
    costs = RemovalCosts("inverse", 4)
    one = solve_class(rows, limit, costs, SolverBudget())
    other = solve_class([rows[i] for i in order], limit, costs, SolverBudget())
    assert (one.cost, one.found) == (other.cost, other.found)


def test_rows_of_very_many_terms_lose_the_rare_ones_first():
    terms = tuple(f"t{i:02d}" for i in range(40))
    known = Knowledge.of([("A", terms), ("B", terms[1:]), ("C", terms[:1])])
    limit = TermLimit.of(QuasiSensitiveDiversity("s", known, l=2, c=Fraction(1)))
    answer = solve_class([terms], limit, RemovalCosts("inverse", 40), SolverBudget())
    assert answer.found and not answer.proved
    assert plain.diverse(list(known.rows), answer.kept, 1, 2)
    assert len(answer.kept[0]) == 39


@pytest.mark.parametrize("kind", ["inverse", "count"])
def test_prices_do_not_depend_on_the_order_of_removals(kind):
    costs = RemovalCosts(kind, 9)
    for width in range(10):
        steps = [int(costs.table[w, 1]) for w in range(width, 0, -1)]
        assert [int(costs.table[width, v]) for v in range(width + 1)] == [
            sum(steps[:v]) for v in range(width + 1)
        ]
        assert costs.share(int(costs.table[width, width]), [width]) == (1 if width else 0)
