"""Whoever puts several tables together believes no more than is promised: all worlds of a few people."""

from __future__ import annotations

import os
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.several_tables import (
    BELIEFS,
    COUNTS,
    FIXED,
    HALF,
    LABELS,
    TOGETHER,
    Case,
    accepts_chain,
    accepts_family,
    brute_accepts,
    keeps_positions,
    random_worlds,
    register_beliefs,
    search,
    search_one_target,
)
from oracles.tiny_chains import S, chains, imprint, table, two
from sfumato.models.confidence.promise import ConfidenceBounding
from sfumato.models.continuous.chain import History, release_under
from sfumato.models.continuous.people import (
    BelievedColumn,
    Pool,
    expectations_kept,
    expected_cells,
    overall_counts,
)
from sfumato.models.contract import Adversary, Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from sfumato.models.t_closeness.promise import TCloseness
from sfumato.system.errors import UsageError
from sfumato.table.cut import Cut

pytestmark = pytest.mark.slow

TREES = [two("a0", "a1"), two("b0", "b1")]
ROWS = [Cut.leaves(TREES[0]), Cut.root(TREES[1])]
COLUMNS = [Cut.root(TREES[0]), Cut.leaves(TREES[1])]
SOAK = os.environ.get("SFUMATO_HYPOTHESIS") == "soak"
CASES, CASES_WITH_TERMS = (2_000, 2_000) if SOAK else (60, 32)
CONFIDENT = ConfidenceBounding("s", HALF)


def square(*cells, batch=1):
    """People of four cells: per value how many are in a0b0, a0b1, a1b0, a1b1; one table shows a, one b."""
    people = [
        (f"a{i // 2}", f"b{i % 2}", s, batch)
        for s, counts in enumerate(cells)
        for i, n in enumerate(counts)
        for _ in range(n)
    ]
    return Case(TREES, people, [ROWS, COLUMNS])


def pool(case, promise, adversary=Adversary.REGISTER):
    return Pool(table(case.trees, case.people), Promises((promise,)), adversary)


def versions(case):
    return [{f"q{j}": c for j, c in enumerate(cuts)} for cuts in case.cuts]


def random_worlds_keep(case, promise):
    """Rule P alone: what two tables make likely."""
    earlier = [imprint(case.trees, case.people, case.cuts[0], 1)] if case.people[-1][-1] > 1 else []
    history = History.of(table(case.trees, case.people), earlier, "since" if earlier else None)
    tables = (*history.releases, *(release_under(history, v) for v in versions(case)[len(earlier) :]))
    overall = overall_counts(history.table, ["s"])["s"]
    column = BelievedColumn("s", S, history.code_of_value("s"), overall)
    return expectations_kept(expected_cells(case.trees, *tables), [promise], [column])


TEN_ILL = square([10, 0, 0, 0], *([[0, 2, 2, 200]] * 5))
"""Ten people with one disease in a corner, five other diseases elsewhere."""
EXPECTED_ILL = {0: Fraction(10), **dict.fromkeys(range(1, 6), Fraction(4, 204))}
"""What random worlds put in that corner: the ten, and of five diseases 2 * 2 / 204 people each."""


@pytest.mark.parametrize(
    "promise",
    [
        CONFIDENT,
        EntropyLDiversity("s", 3),
        RecursiveLDiversity("s", 2, Fraction(3, 2)),
        TCloseness("s", HALF),
    ],
    ids=str,
)
def test_ten_ill_people_in_a_corner_are_not_hidden_by_what_others_might_be_there(promise):
    """The largest counts that the corner can have keep all of these, and two recipients believe 102/103."""
    belief = EXPECTED_ILL[0] / sum(EXPECTED_ILL.values())
    assert belief == Fraction(102, 103)
    assert random_worlds_keep(TEN_ILL, ConfidenceBounding("s", belief)), "exactly at the limit"
    assert not random_worlds_keep(TEN_ILL, ConfidenceBounding("s", belief - Fraction(1, 10**9)))
    assert not random_worlds_keep(TEN_ILL, promise)
    corner = pool(TEN_ILL, promise)
    assert not corner.meet_keeps(versions(TEN_ILL))
    assert not corner.keeps(versions(TEN_ILL))
    assert not corner.keeps_pairs(versions(TEN_ILL))
    with pytest.raises(UsageError, match="register alone"):
        pool(TEN_ILL, promise, Adversary.TARGET)


def test_the_corner_has_six_possible_values_for_one_target_and_one_for_a_register():
    one_target = pool(TEN_ILL, DistinctLDiversity("s", 5), Adversary.TARGET)
    assert one_target.keeps(versions(TEN_ILL)), "five elsewhere, since nobody there can have the first"
    left = one_target.survivors(one_target.overlap(versions(TEN_ILL)).cells(0).table)
    assert sorted(left.histograms["s"].start[1:] - left.histograms["s"].start[:-1]) == [5, 5, 5, 6]
    assert not pool(TEN_ILL, DistinctLDiversity("s", 2)).keeps(versions(TEN_ILL))


def test_who_knows_less_may_believe_more():
    """Every position keeps a half; whoever matches rows at random believes 2/3. A register alone: 67/101."""
    case = square([2, 2, 2, 2], [2, 0, 0, 2], [0, 2, 0, 0], [0, 0, 2, 0])
    assert pool(case, CONFIDENT).meet_keeps(versions(case))
    assert not pool(case, CONFIDENT).keeps(versions(case))
    assert pool(case, ConfidenceBounding("s", Fraction(2, 3))).keeps(versions(case))
    corner = pool(case, ConfidenceBounding("s", Fraction(66, 100)))
    assert not corner.keeps(versions(case)), "2/3 is the worst belief"


def test_random_worlds_alone_do_not_see_who_is_where():
    """Two values that alternate: a half by chance, and in truth each corner has one."""
    case = square([10, 0, 0, 10], [0, 10, 10, 0])
    assert not pool(case, CONFIDENT).keeps(versions(case))
    small = square([2, 0, 0, 2], [0, 2, 2, 0])
    held = random_worlds(small, 0, 1)
    assert {frozenset(h.items()) for h in held.values()} == {frozenset({(0, Fraction(1)), (1, Fraction(1))})}


def test_a_register_may_make_certain_what_three_candidates_hid():
    case = square([1, 0, 0, 1], [0, 1, 0, 0], [1, 0, 0, 1])
    assert pool(case, DistinctLDiversity("s", 3), Adversary.TARGET).keeps(versions(case)) is False
    at = case.people.index(("a0", "b1", 1, 1))
    assert set(register_beliefs(case)[at]) == {1}
    assert not pool(case, DistinctLDiversity("s", 2)).keeps(versions(case))
    cell = ((1, 0), (0, 2))
    assert len(random_worlds(case, 0, 1)[cell]) == 3, "three values are possible for who has no register"


def test_people_and_beliefs_are_never_judged_by_different_rules():
    """Three candidates everywhere; but whoever knows that beliefs were judged by positions keeps two."""
    case = square([0, 0, 1, 1], [1, 1, 1, 1], [1, 1, 0, 0])
    assert pool(case, KAnonymity(3), Adversary.TARGET).keeps(versions(case))
    both = Promises((KAnonymity(3), CONFIDENT))
    data = table(case.trees, case.people)
    with pytest.raises(UsageError):
        Pool(data, both, Adversary.TARGET)
    assert not Pool(data, both).keeps(versions(case)), "k by positions, too"


def chain_of(second):
    old = square([4, 0, 0, 0], [0, 2, 2, 6], [0, 2, 2, 6]).people
    new = [(a, b, s, 2) for s in (1, 2) for a, b, n in [("a0", "b1", 2), ("a1", "b1", 2)] for _ in range(n)]
    return Case(TREES, [*old, *new], [ROWS, second])


def test_a_later_release_that_gives_four_people_away_is_refused_and_one_that_hides_b_is_not():
    """Four ill people; what may be there beside them looks like a half, and is believed with 7/8."""
    shown, hidden = chain_of(COLUMNS), chain_of([Cut.root(t) for t in TREES])
    assert accepts_chain(shown, CONFIDENT) is False
    assert accepts_chain(hidden, CONFIDENT) is True
    assert random_worlds_keep(shown, ConfidenceBounding("s", Fraction(7, 8)))
    assert not random_worlds_keep(shown, ConfidenceBounding("s", Fraction(7, 8) - Fraction(1, 10**9)))


def test_three_versions_of_one_bit_each_tell_what_no_two_do():
    bits = [two("0", "1") for _ in range(3)]
    people = [
        (*cell, sum(map(int, cell)) % 2, 1)
        for cell in ("000", "001", "010", "011", "100", "101", "110", "111")
        for _ in range(5)
    ]
    cuts = [[Cut.leaves(t) if i == j else Cut.root(t) for j, t in enumerate(bits)] for i in range(3)]
    case = Case(bits, people, cuts)
    every = versions(case)
    bound = pool(case, CONFIDENT)
    assert all(bound.keeps([every[i], every[j]]) for i, j in [(0, 1), (0, 2), (1, 2)])
    assert not bound.keeps(every)
    assert not bound.keeps_pairs(every), "whoever knows that the third went out learns from that"


def test_a_third_version_tells_two_recipients_something():
    """Every two versions leave each position two values. Whoever holds two, has a register, and knows that
    the third one was safe beside theirs, is certain of one person."""
    bits = [two("0", "1") for _ in range(3)]
    said = ["000:1", "000:2", "001:0", "011:1", "011:2", "101:0", "101:1", "101:2"]
    people = [(*one[:3], int(one[4]), 1) for one in said]
    cuts = [[Cut.leaves(t) if i == j else Cut.root(t) for j, t in enumerate(bits)] for i in range(3)]
    case = Case(bits, people, cuts)
    every, bound = versions(case), pool(case, CONFIDENT)
    assert all(bound.meet_keeps([every[i], every[j]]) for i, j in [(0, 1), (0, 2), (1, 2)])
    assert not bound.keeps_pairs(every)
    both = Case(bits, people, cuts[:2])

    def safe_in_pairs(values):
        return all(
            keeps_positions(Case(bits, people, [cuts[i], cuts[j]]), CONFIDENT, values)
            for i, j in [(0, 1), (0, 2), (1, 2)]
        )

    certain = register_beliefs(both, safe_in_pairs)[2]
    assert set(certain) == {0}


def test_a_register_that_ignores_the_rule_may_believe_a_little_more():
    """Beyond what is promised to those who know the rule: 7/12 where a half is allowed."""
    case = square([1, 0, 0, 1], [1, 1, 0, 1], [0, 1, 1, 0], [1, 0, 1, 1])
    assert pool(case, CONFIDENT).keeps(versions(case))
    ignorant = register_beliefs(case)
    worst = max(Fraction(max(b.values()), sum(b.values())) for b in ignorant)
    assert worst == Fraction(7, 12)
    knowing = register_beliefs(case, lambda values: keeps_positions(case, CONFIDENT, values))
    assert max(Fraction(max(b.values()), sum(b.values())) for b in knowing) <= HALF


@pytest.mark.parametrize(("chain", "tables"), [(False, 2), (False, 3), (True, 2), (True, 3)])
def test_what_is_accepted_is_safe_in_all_worlds_and_accepted_by_the_written_rules(chain, tables):
    promises = FIXED if chain else (*BELIEFS, *COUNTS)
    found = search(CASES, chain=chain, promises=promises, tables=tables, seed=tables)
    assert found.accepted > 0
    assert (found.wrong, found.certified_breaches) == (0, 0)


@pytest.mark.parametrize("tables", [2, 3])
def test_labels_behind_terms_are_as_safe_in_all_worlds_of_versions(tables):
    """Of quasi-sensitive promises, with and without prevalence; in a chain they are refused."""
    found = search(CASES_WITH_TERMS, chain=False, promises=LABELS, tables=tables, seed=10 + tables)
    assert 0 < found.accepted < found.tried
    assert (found.wrong, found.certified_breaches) == (0, 0)


@pytest.mark.parametrize("tables", [2, 3])
def test_two_columns_of_terms_are_as_safe_together_in_all_worlds_of_versions(tables):
    found = search(CASES_WITH_TERMS, chain=False, promises=TOGETHER, tables=tables, seed=20 + tables)
    assert 0 < found.accepted < found.tried
    assert (found.wrong, found.certified_breaches) == (0, 0)


@settings(max_examples=60)
@given(chains(count=2, rows=6, values=3), st.sampled_from(FIXED))
def test_trees_of_several_levels_are_judged_by_the_same_rules(chain, promise):
    trees, people, cuts = chain
    assume(any(p[-1] == 1 for p in people))
    case = Case(trees, people, cuts)
    assert accepts_chain(case, promise) is brute_accepts(case, promise)
    together = Case(trees, [(*p[:-1], 1) for p in people], cuts)
    assert accepts_family(together, promise) is brute_accepts(together, promise)


@pytest.mark.parametrize("tables", [2, 3])
def test_one_target_keeps_in_every_world_what_is_accepted_and_nothing_else_is_refused(tables):
    found = search_one_target(CASES, tables=tables, seed=tables)
    assert found.accepted > 0
    assert (found.wrong, found.certified_breaches) == (0, 0)


def test_families_are_refused_that_only_look_safe():
    """The rule that is sound for everybody costs: alternating values look like a half to everybody."""
    case = square([2, 0, 0, 2], [0, 2, 2, 0])
    assert not accepts_family(case, CONFIDENT) and not brute_accepts(case, CONFIDENT)
    beliefs = register_beliefs(case)
    assert all(max(b.values()) * 2 <= sum(b.values()) for b in beliefs)
    assert Counter(len(b) for b in beliefs) == {2: len(case.people)}
