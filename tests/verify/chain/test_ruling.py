"""Chains of releases, as the judge sees them, against every world that brute force can find."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from oracles.chain_rulings import judge_chain
from oracles.tiny_chains import BITS, CUBE, chains, cut, exact, imprint, releases, two
from sfumato.attacks.chain_history import judged_beside
from sfumato.models.continuous import evidence
from sfumato.models.continuous.promise import Continuous
from sfumato.system.errors import BadData, RefusedByHistory, UsageError
from sfumato.table.cut import Cut
from sfumato.table.taxonomy import Taxonomy
from sfumato.verify.chain import ruling as ruling_of
from sfumato.verify.chain import ruling as two_releases
from sfumato.verify.chain import worlds as world_equations

ANY_LENGTH = st.integers(1, 5).flatmap(lambda n: chains(count=n, rows=7, values=2))
POLICY = {
    "columns": {f"q{i}": {"role": "quasi"} for i in range(3)},
    "promises": [{"k-anonymity": {"k": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
}


def documents(trees, people, cuts):
    """What a ledger would hand to the judge."""
    return [json.loads(one.to_json()) for one in releases(trees, people, cuts)]


@settings(max_examples=5 * settings.default.max_examples)
@given(ANY_LENGTH, st.integers(1, 4))
@example(CUBE, 2)
def test_the_ruling_is_what_all_worlds_say(chain, k):
    truth = exact(*chain)
    got = judge_chain(documents(*chain), k)
    least = min(truth.values(), default=None)
    assert (got.least, got.certain, got.open) == (least, True, 0)
    assert got.few == sum(n < k for n in truth.values())
    assert got.holds is (least is None or least >= k)


@given(st.integers(2, 5).flatmap(lambda n: chains(count=n, rows=7, values=2)), st.integers(1, 3), st.data())
def test_what_was_settled_before_leads_to_the_same_ruling(chain, k, data):
    """Any of the earlier rulings may be at hand; those that some release has shown more since are no use."""
    found = documents(*chain)
    settled = []
    for upto in range(1, len(found)):
        ruling = judge_chain(found[:upto], k, settled)
        known = ruling.least if ruling.holds and not ruling.open else None
        settled.append(known if data.draw(st.booleans()) else None)
    whole, got = judge_chain(found, k), judge_chain(found, k, settled)
    assert (got.holds, got.open) == (whole.holds, whole.open)
    assert got.least == whole.least or not whole.holds


def test_people_whom_nothing_new_is_shown_of_are_not_judged_again():
    trees, people, (one, *_) = CUBE
    both = [Cut.leaves(tree) for tree in trees]
    later = [(*p[:-1], p[-1] + t) for t in range(4) for p in people]
    found = documents(trees, later, [both, one, one, one])

    def judged(found, settled):
        return len(ruling_of.ChainCase(found, 2, settled)._tables)

    asked = ([None, None, None], [2, None, None], [1, 2, None], [2, 2, 1], [2, 2, 2])
    assert [judged(found, settled) for settled in asked] == [4, 4, 3, 3, 2]
    assert judged(documents(trees, later, [one, both, one, both]), [2, 2, 2]) == 3, "the third shows less"


@given(st.integers(3, 5).flatmap(lambda n: chains(count=n, rows=7, values=2)), st.integers(1, 4), st.data())
def test_nothing_is_claimed_that_is_not_known(chain, k, data):
    """However soon the search for evidence gives up."""
    truth = exact(*chain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evidence, "WORK", data.draw(st.sampled_from([0, 1, 300, 1000])))
        got = judge_chain(documents(*chain), k)
    least = min(truth.values(), default=None)
    assert got.holds in (least is None or least >= k, None)
    assert got.few <= sum(n < k for n in truth.values())
    if got.certain:
        assert got.least == least


@given(chains(count=2, rows=9, keys=2, values=3), st.integers(1, 4))
def test_two_releases_a_few_pairs_at_a_time(chain, k):
    whole = judge_chain(documents(*chain), k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two_releases, "LARGEST", 1)
        assert judge_chain(documents(*chain), k) == whole


def test_too_many_unknowns_stay_open(monkeypatch):
    monkeypatch.setattr(world_equations, "LARGEST", 3)
    got = judge_chain(documents(*CUBE), 2)
    assert (got.holds, got.certain, got.open) == (None, False, 1)


@pytest.mark.parametrize("seed", range(4))
def test_larger_components_are_solved_as_the_attack_solves_them(seed):
    """Sixty people in a table of three columns, another one hidden in each release."""
    rng = np.random.default_rng(seed)
    trees = [two(*"abcd") for _ in range(3)]
    rows = rng.integers(0, [4, 4, 4, 2, 3], (60, 5)).tolist()
    people = [(*("abcd"[x] for x in row[:3]), row[3], 1 + row[4]) for row in rows]
    hiding = [[Cut.root(t) if i == h else Cut.leaves(t) for i, t in enumerate(trees)] for h in range(3)]
    found = releases(trees, people, hiding)
    got, attack = judge_chain([one.as_dict() for one in found], 2), sf.attack.correspondence(found, POLICY)
    assert got.certain and attack.certain
    assert (got.holds, got.least) == (attack.holds, attack.least)


def test_tables_that_agree_pair_by_pair_may_have_no_common_cause():
    """Two people each: a = b in the first, b = c in the second, a != c in the third."""
    hiding = [[Cut.root(t) if i == h else Cut.leaves(t) for i, t in enumerate(BITS)] for h in (2, 0, 1)]
    people = [["000", "111"], ["000", "111"], ["001", "110"]]
    found = [
        imprint(BITS, [(*p, 0, 1) for p in some], cuts, 1) for some, cuts in zip(people, hiding, strict=True)
    ]
    with pytest.raises(BadData, match="no table of people gives"):
        judge_chain([one.as_dict() for one in found], 2)


X = two("x", "y")
ROOT, LEAVES = [Cut.root(X)], [Cut.leaves(X)]


@pytest.mark.parametrize("cuts", [(ROOT, ROOT), (LEAVES, ROOT), (ROOT, LEAVES), (ROOT, LEAVES, ROOT)])
@pytest.mark.parametrize("later", [[("x", 0, 1)], [("x", 0, 1), ("x", 1, 1)], [("x", 1, 1), ("y", 1, 1)]])
def test_releases_that_lose_people_are_of_no_chain(cuts, later):
    people = [[("x", 0, 1), ("y", 0, 1)], *[later] * (len(cuts) - 1)]
    found = [imprint([X], some, cut_, 1).as_dict() for some, cut_ in zip(people, cuts, strict=True)]
    with pytest.raises(BadData, match="no table of people gives"):
        judge_chain(found, 1)


def test_a_tree_may_grow_below_a_group():
    old = Taxonomy.grow(["*", "A", "a1", "a2", "b"], [-1, 0, 1, 1, 0])
    new = Taxonomy.grow(["*", "A", "a1", "a2", "a3", "b"], [-1, 0, 1, 1, 1, 0])
    first = imprint([old], [("a1", 0, 1), ("a2", 0, 1), ("b", 1, 1)], [cut(old, "A", "b")], 1)
    people = [("a1", 0, 1), ("a2", 0, 1), ("b", 1, 1), ("a3", 1, 2), ("b", 1, 2)]
    second = imprint([new], people, [cut(new, "A", "b")], 2)
    got = judge_chain([first.as_dict(), second.as_dict()], 1)
    assert (got.holds, got.least, got.certain) == (True, 1, True)


@pytest.mark.parametrize(
    "now",
    [
        Taxonomy.grow(["*", "A", "a1", "b"], [-1, 0, 1, 0]),
        Taxonomy.grow(["*", "A", "a1", "a2", "b", "b1"], [-1, 0, 1, 1, 0, 4]),
        Taxonomy.grow(["*", "a1", "a2", "b"], [-1, 0, 0, 0]),
    ],
    ids=["a value is gone", "a value became a group", "a group is gone"],
)
def test_any_other_change_of_a_tree_is_refused(now):
    old = Taxonomy.grow(["*", "A", "a1", "a2", "b"], [-1, 0, 1, 1, 0])
    first = imprint([old], [("a1", 0, 1)], [Cut.root(old)], 1)
    second = imprint([now], [("a1", 0, 1)], [Cut.root(now)], 1)
    with pytest.raises(RefusedByHistory, match="taxonomy of q0 has changed"):
        judge_chain([first.as_dict(), second.as_dict()], 1)


def test_releases_with_other_columns_are_refused():
    one = imprint([X], [("x", 0, 1)], ROOT, 1).as_dict()
    other = imprint([X, X], [("x", "y", 0, 1)], [*ROOT, *ROOT], 1).as_dict()
    with pytest.raises(RefusedByHistory, match="do not show the same columns"):
        judge_chain([one, other], 1)


def test_without_a_release_there_is_nothing_to_judge():
    with pytest.raises(UsageError, match="no release"):
        judge_chain([], 1)


def damaged(key, value):
    document = imprint([X], [("x", 0, 1), ("y", 0, 1)], LEAVES, 1).as_dict()
    return {**document, key: value} if value is not None else {k: v for k, v in document.items() if k != key}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sfumato-imprint", 2),
        ("rows", 3),
        ("counts", None),
        ("counts", "not packed"),
        ("owner", "eJwDAAAAAAE="),
        ("keys", [{"name": "q0"}]),
        ("nodes", 7),
    ],
)
def test_a_damaged_document_is_refused(key, value):
    with pytest.raises(BadData, match="damaged"):
        judge_chain([damaged(key, value)], 1)


def test_without_key_columns_there_is_one_class():
    found = [imprint([], [(0, 1), (1, 1), (1, 2)], [], upto).as_dict() for upto in (1, 2)]
    got = judge_chain(found, 1)
    assert (got.least, got.certain, got.holds) == (1, True, True)


def test_the_verdict_of_a_promise():
    verdict, left_open = judged_beside(documents(*CUBE), Continuous(2))
    assert (verdict.promise, verdict.holds, verdict.measured, verdict.limit) == (
        "continuous, k = 2",
        False,
        1,
        2,
    )
    assert verdict.reason == "beside 2 other releases" and left_open == 0
    pair, _ = judged_beside(documents(*CUBE)[:2], Continuous(2))
    assert pair.reason == "beside 1 other release"


def test_a_promise_without_a_number_is_not_decided():
    class NoNumber(Continuous):
        def judge_data(self):
            return {**super().judge_data(), "parameters": {}}

    verdict, left_open = judged_beside(documents(*CUBE), NoNumber(2))
    assert verdict.holds is None and "no second judge" in verdict.reason and left_open


def test_without_evidence_three_releases_stay_open():
    got = ruling_of.ChainCase(documents(*CUBE), 2).rule()
    assert got.holds is None and got.open
