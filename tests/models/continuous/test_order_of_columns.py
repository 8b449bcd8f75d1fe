"""The same key columns in another order are the same columns: everything is as in a chain with one order."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles.chain_rulings import judge_chain
from oracles.tiny_chains import chains, exact, releases, table
from sfumato.attacks.chain import part_of_release, same_release
from sfumato.attacks.correspondence import correspondence
from sfumato.models.continuous.promise import Continuous
from sfumato.models.contract import Promises
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.search.contract import Aim
from sfumato.search.top_down import top_down
from sfumato.system.errors import SfumatoError
from sfumato.table.release_summary import in_key_order, in_order_of_newest
from sfumato.verify.chain.releases import RememberedRelease, on_newest_trees
from sfumato.verify.chain.releases import in_order_of_newest as in_order

pytestmark = pytest.mark.slow

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
    asked = Continuous(k, since="since")
    named = {f"q{j}": cut for j, cut in enumerate(cuts[-1])}

    def verdict(before, now):
        return asked.given(before, Promises(())).verdict_on(now, named)

    found = verdict(earlier, data)
    assert found == verdict(releases(trees, people, cuts[:-1]), table(trees, people))
    truth = min(exact(trees, people, cuts).values(), default=k)
    assert found.holds == (truth >= k)


@given(permuted_chains(rows=8), st.integers(1, 3), st.sampled_from(["target", "survivors"]))
def test_plans_are_those_of_releases_in_the_order_of_the_table(drawn, k, kind):
    (trees, people, cuts), orders = drawn
    data = table(trees, people, order=orders[-1])
    promises = Promises((DistinctLDiversity("s", 2),)) if kind == "survivors" else Promises(())
    asked = promises & Continuous(k, since="since", survivors=kind == "survivors")

    def planned(each):
        earlier = releases(trees, people, cuts[:-1], orders=each)
        try:
            found = top_down(data, asked.given(earlier), AIM)
        except SfumatoError as refused:
            return type(refused), str(refused)
        recoding = found.recoding
        return {name: cut.nodes.tolist() for name, cut in recoding.cuts.items()}, recoding.class_of.tolist()

    assert planned(orders) == planned([orders[-1]] * len(orders))


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
    assert all(imprint.names == newest for imprint in in_order_of_newest(permuted))
    read = [RememberedRelease.of(document) for document in documents(permuted)]
    assert all(release.names == newest for release in in_order(read))
    one_order = [orders[-1]] * len(orders)
    again = [RememberedRelease.of(d) for d in documents(releases(*chain, orders=one_order))]
    for mine, theirs in zip(on_newest_trees(read), on_newest_trees(again), strict=True):
        assert mine.key == theirs.key and sorted(mine.low.tolist()) == sorted(theirs.low.tolist())
