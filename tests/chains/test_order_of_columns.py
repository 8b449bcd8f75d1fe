"""The same key columns in another order are the same columns: everything is as in a chain with one order."""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles.living_chains import random_case
from oracles.other_columns import OtherColumns
from oracles.tiny_chains import chains, exact, releases, table
from promises.continuous.test_other_columns import remembered
from promises.continuous.test_other_columns import table as people_of
from sfumato.attacks.chain.correspondence import correspondence
from sfumato.attacks.chain.departed_people import HeldChain
from sfumato.attacks.chain.table_imprint import part_of_release, same_release
from sfumato.chains.other_columns import has_other_columns
from sfumato.chains.presence_cells import PresenceTargets
from sfumato.chains.presence_equations import decide_targets
from sfumato.core.adversary import Adversary
from sfumato.core.aligned_imprints import aligned, in_key_order
from sfumato.core.errors import SfumatoError
from sfumato.core.leavers import Leavers
from sfumato.core.promise import Promises
from sfumato.judge.chain.remembered_release import RememberedRelease, on_newest_trees
from sfumato.judge.chain.ruling import judge_chain, judge_departures
from sfumato.judge.chain.same_columns import in_same_columns
from sfumato.promises import Continuous, DistinctLDiversity
from sfumato.protection.searches.search import Aim
from sfumato.protection.searches.top_down import top_down

CASES = int(os.environ.get("SFUMATO_LIVING_CASES", "12"))
AIM = Aim(loss="discernibility")


@st.composite
def permuted_chains(draw, *, fewest=2, most=4, rows=6):
    """A tiny chain, and an order of its key columns for every release."""
    count, keys = draw(st.integers(fewest, most)), draw(st.integers(2, 3))
    chain = draw(chains(count=count, keys=keys, rows=rows))
    return chain, [draw(st.permutations(range(keys))) for _ in range(count)]


def documents(imprints):
    return [imprint.as_dict() for imprint in imprints]


@given(permuted_chains())
def test_the_judge_and_the_attack_find_the_same_in_any_order(drawn):
    chain, orders = drawn
    plain, permuted = releases(*chain), releases(*chain, orders=orders)
    truth = min(exact(*chain).values(), default=None)
    for k in (2, 3):
        ruling = judge_chain(documents(permuted), k)
        assert ruling == judge_chain(documents(plain), k)
        assert ruling.holds is None or ruling.holds == (truth is None or truth >= k)
        found, known = (correspondence(some, k=k) for some in (permuted, plain))
        assert (found.holds, found.FA, found.BA) == (known.holds, known.FA, known.BA)


@given(permuted_chains(), st.integers(1, 3))
def test_verdicts_on_the_next_release_are_those_of_one_order(drawn, k):
    (trees, people, cuts), orders = drawn
    data = table(trees, people, order=orders[-1])
    earlier = releases(trees, people, cuts[:-1], orders=orders)
    assert not has_other_columns(data, earlier)
    asked = Continuous(k, since="since")
    named = {f"q{j}": cut for j, cut in enumerate(cuts[-1])}

    def verdict(before, now):
        return asked.given(before, Promises(())).verdict_on(now, named)

    found = verdict(earlier, data)
    assert found == verdict(releases(trees, people, cuts[:-1]), table(trees, people))
    truth = min(exact(trees, people, cuts).values(), default=k)
    assert found.holds == (truth >= k)


@given(permuted_chains(rows=8), st.integers(1, 3), st.sampled_from(["target", "survivors", "register"]))
def test_plans_are_those_of_releases_in_the_order_of_the_table(drawn, k, kind):
    (trees, people, cuts), orders = drawn
    data = table(trees, people, order=orders[-1])
    keys = {"adversary": Adversary.REGISTER} if kind == "register" else {"survivors": kind == "survivors"}
    promises = Promises((DistinctLDiversity("s", 2),)) if kind == "survivors" else Promises(())
    asked = promises & Continuous(k, since="since", **keys)

    def planned(each):
        earlier = releases(trees, people, cuts[:-1], orders=each)
        try:
            found = top_down(data, asked.given(earlier), AIM)
        except SfumatoError as refused:
            return type(refused), str(refused)
        recoding = found.recoding
        return {name: cut.nodes.tolist() for name, cut in recoding.cuts.items()}, recoding.class_of.tolist()

    assert planned(orders) == planned([orders[-1]] * len(orders))


def in_some_order(seed, count, rows):
    """A random chain that people leave, and the same with the key columns of every release in some order."""
    case = random_case(seed, count=count, keys=2, rows=rows, values=2)
    people = [(*p[:-2], (p[-2],), p[-1]) for p in case.people]
    rng = np.random.default_rng(seed)
    orders = tuple(tuple(int(c) for c in rng.permutation(2)) for _ in range(count))
    same = tuple((0, 1) for _ in range(count))
    plain = OtherColumns(case.trees, people, case.cuts, (), False, {}, same, ((0,),) * count)
    return plain, replace(plain, keys=orders)


@pytest.mark.parametrize("known", ["counted", "total", "unknown"])
@pytest.mark.parametrize("count", [2, 3])
def test_people_who_leave_keep_what_they_keep_in_one_order(known, count):
    for seed in range(CASES):
        plain, permuted = in_some_order(seed, count, 5 if count == 2 else 4)
        exactly, bound = permuted.exact(known), permuted.bounds(known)
        assert bound == plain.bounds(known), seed
        assert all(bound[kind] >= n for kind, n in exactly.items()), seed
        here, there = permuted.imprints(known), plain.imprints(known)
        for k in (2, 3):
            ruling = judge_departures(documents(here), k, known)
            assert ruling == judge_departures(documents(there), k, known), seed
            assert ruling.holds is None or ruling.holds == (min(exactly.values()) >= k), seed
            decided = [
                decide_targets(PresenceTargets(HeldChain.of(some).chain), k).holds for some in (here, there)
            ]
            assert decided[0] == decided[1], seed


@pytest.mark.parametrize("known", ["counted", "total", "unknown"])
@pytest.mark.parametrize("count", [2, 3])
def test_plans_beside_people_who_leave_are_those_of_one_order(known, count):
    found = 0
    for seed in range(CASES):
        _, permuted = in_some_order(seed, count, 6 if count == 2 else 4)
        permuted = replace(permuted, people=permuted.people * 2)
        if all(count - 1 not in p[-1] for p in permuted.people):
            continue
        same = replace(permuted, keys=(permuted.keys[-1],) * count)
        asked = Promises((Continuous(2, person="who", leavers=Leavers(known)),))
        told = []
        for case in (permuted, same):
            try:
                outcome = top_down(people_of(case, count - 1), asked.given(remembered(case, known)), AIM)
            except SfumatoError as refused:
                told.append(str(refused))
                continue
            found += 1
            shown = outcome.recoding.cuts
            departures = asked.given(remembered(case, known)).members[0].departures(outcome.recoding)
            told.append(({n: cut.nodes.tolist() for n, cut in shown.items()}, departures.as_dict()))
        assert told[0] == told[1], seed
    assert found


@given(permuted_chains(fewest=2, most=2))
def test_a_release_in_another_order_is_the_same_release(drawn):
    (trees, people, cuts), orders = drawn
    one = releases(trees, people, cuts)[-1]
    other = releases(trees, people, cuts, orders=orders)[-1]
    assert same_release(one, other) and same_release(other, one)
    assert part_of_release(one, other).rows == one.rows
    assert in_key_order(other, one.names).names == one.names
    assert in_key_order(in_key_order(other, one.names), other.names).digest == other.digest


@given(permuted_chains(fewest=3, most=3))
def test_columns_are_in_the_order_of_the_newest(drawn):
    chain, orders = drawn
    assume(len(set(map(tuple, orders))) > 1)
    permuted = releases(*chain, orders=orders)
    newest = permuted[-1].names
    assert all(imprint.names == newest for imprint in aligned(permuted))
    read = [RememberedRelease.of(document) for document in documents(permuted)]
    assert all(release.names == newest for release in in_same_columns(read))
    one_order = [orders[-1]] * len(orders)
    again = [RememberedRelease.of(d) for d in documents(releases(*chain, orders=one_order))]
    for mine, theirs in zip(on_newest_trees(read), on_newest_trees(again), strict=True):
        assert mine.key == theirs.key and sorted(mine.low.tolist()) == sorted(theirs.low.tolist())
