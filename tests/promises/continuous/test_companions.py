"""People who are withheld beside earlier releases: against the enumeration of worlds, and of all subsets."""

import itertools
import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.living_chains import LivingCase, one_class, random_case
from sfumato.core.cut import Cut
from sfumato.core.errors import BadPolicy, Infeasible, RefusedByHistory
from sfumato.core.imprint import Imprint
from sfumato.core.leavers import Leavers
from sfumato.core.microdata import Column, Microdata, Role
from sfumato.core.promise import Promises
from sfumato.core.recoding import Recoding
from sfumato.core.taxonomy import Taxonomy
from sfumato.policy.policy import Policy
from sfumato.promises import Continuous, DistinctLDiversity
from sfumato.protection.searches.optimum import search as optimum
from sfumato.protection.searches.search import Aim
from sfumato.protection.searches.top_down import top_down
from sfumato.protection.withheld_people import companion_search, set_apart

CASES = int(os.environ.get("SFUMATO_LIVING_CASES", "8"))
"""Random chains of each kind; thousands of them are an experiment of minutes."""
AIM = Aim(loss="discernibility")
S = Taxonomy.flat([f"s{i}" for i in range(6)])
ROWS = Taxonomy.flat([f"p{i:02}" for i in range(40)])
K = 2


def table(case, now):
    """The people of a case who are in when release `now` (from 0) is made, told by a key."""
    there = [(n, p) for n, p in enumerate(case.people) if now in p[-1]]
    columns = [Column(f"q{j}", Role.QUASI, t) for j, t in enumerate(case.trees)]
    columns += [Column("s", Role.SENSITIVE, S), Column("who", Role.IDENTIFIER, ROWS)]
    codes = [[t.rank(p[j]) for _, p in there] for j, t in enumerate(case.trees)]
    codes += [[p[-2] for _, p in there], [ROWS.rank(f"p{n:02}") for n, _ in there]]
    return Microdata.of_codes(columns, [np.array(c, np.int32) for c in codes])


def promise(earlier, known, companions, *others, k=K, **more):
    told = {"person": "who", "leavers": None if known is None else Leavers(known), **more}
    return (Promises(others) & Continuous(k, companions=companions, **told)).given(earlier)


def released(case, known, **more):
    """The imprints of all releases of a case but the last."""
    made = []
    for j, cut in enumerate(case.cuts[:-1]):
        recoding = Recoding.of_cuts(table(case, j), {f"q{c}": x for c, x in enumerate(cut)})
        bound = promise(made, known, 0, **{**more, "k": 1}).of_table[0]
        after, said = [i.digest for i in made], bound.departures(recoding)
        made.append(Imprint.of(recoding, ["s"], since="who", after=after, departures=said))
    return made


def searched(case, known, companions, *others, **more):
    bound = promise(released(case, known, **more), known, companions, *others, **more)
    return companion_search(top_down)(table(case, case.count - 1), bound, AIM)


def withheld_from(outcome):
    """The numbers of the people that a plan withholds."""
    some = outcome.recoding.table.withheld
    return set() if some is None else {int(ROWS.leaf_labels[c][1:]) for c in some.codes("who")}


def without(case, gone, cuts):
    """The case as it is when these people are not in the last release, which has these cuts."""
    last, people = case.count - 1, []
    for n, person in enumerate(case.people):
        presence = person[-1] - {last} if n in gone else person[-1]
        people += [(*person[:-1], frozenset(presence))] if presence else []
    return LivingCase(case.trees, people, [*case.cuts[:-1], cuts], (), case.returns)


def staying(seed, count):
    """A random case in which nobody leaves."""
    case = random_case(seed, count=count, keys=4 - count, rows=9, values=2)
    people = [(*p[:-1], frozenset(range(min(p[-1]), count))) for p in case.people]
    return LivingCase(case.trees, people, case.cuts)


def judged(case, outcome, known):
    cuts = [outcome.recoding.cuts[f"q{j}"] for j in range(len(case.trees))]
    found = without(case, withheld_from(outcome), cuts).exact(known or "counted")
    return min(found.values())


def outcome_or_none(*args, **more):
    try:
        return searched(*args, **more)
    except (RefusedByHistory, Infeasible):
        return None


@pytest.mark.parametrize("known", [None, "counted", "total", "unknown"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_is_published_without_some_people_is_safe_and_loses_no_more(known, count):
    """Everybody who is or was in a release keeps k; whoever was published stays in where nobody may leave."""
    helped = 0
    for seed in range(CASES):
        case = (
            staying(seed, count)
            if known is None
            else random_case(
                seed,
                count=count,
                keys=max(1, 4 - count),
                rows=9,
                values=2,
                returns=known == "unknown" and seed % 2 == 0,
            )
        )
        if all(count - 1 not in p[-1] for p in case.people):
            continue
        more = {"returns": True} if case.returns else {}
        plain, found = (outcome_or_none(case, known, n, **more) for n in (0, 3))
        if found is None:
            assert plain is None
            continue
        gone = withheld_from(found)
        assert judged(case, found, known) >= K and len(gone) <= 3
        if known is None:
            assert all(min(case.people[n][-1]) == count - 1 for n in gone)
        assert plain is None or found.loss <= plain.loss
        helped += bool(gone)
    assert helped


@pytest.mark.parametrize("seed", [66, 201, 272, 306, 366])
def test_nothing_is_called_the_best_where_people_may_be_withheld(seed):
    """One person more or less, whom no guess names, and the table that is left loses less."""
    case, aim = random_case(seed, count=2, keys=2, rows=9, values=2), Aim()
    data, bound = table(case, 1), promise(released(case, "counted"), "counted", 1)
    found = companion_search(optimum)(data, bound, aim)
    others = []
    for row in range(data.distinct):
        try:
            other = optimum(data.withholding(np.arange(data.distinct) == row), bound, aim)
        except (RefusedByHistory, Infeasible):
            continue
        if judged(case, other, "counted") >= K:
            others.append(aim.loss_of(other.recoding))
    assert min(others) < found.loss
    assert not found.optimal and found.bound is None
    nobody = promise(released(case, "counted"), "counted", 0)
    assert companion_search(optimum)(data, nobody, aim).optimal


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10_000), k=st.integers(2, 4), known=st.sampled_from(["counted", "total", "unknown"])
)
def test_who_is_withheld_is_published_no_more_and_nobody_else_is_exposed(seed, k, known):
    case = random_case(seed, count=2, keys=1, rows=9, values=2)
    if all(1 not in p[-1] for p in case.people):
        return
    found = outcome_or_none(case, known, 4, k=k)
    if found is None:
        return
    whole = found.recoding.whole
    shown = {int(ROWS.leaf_labels[c][1:]) for c in whole.table.codes("who")[whole.class_of >= 0]}
    assert shown == {n for n, p in enumerate(case.people) if 1 in p[-1]} - withheld_from(found)
    assert judged(case, found, known) >= k


def is_short_before(case, known):
    """Whether the first release alone leaves somebody fewer than k: nothing that follows helps them."""
    first = [(*p[:-1], frozenset({0})) for p in case.people if 0 in p[-1]]
    left = LivingCase(case.trees, first, case.cuts[:1]).exact(known).values()
    return min(left, default=K) < K


def fewest(case, known, cuts, k=K):
    """The fewest people whose withholding is safe with these cuts, by trying all subsets."""
    last = [n for n, p in enumerate(case.people) if case.count - 1 in p[-1]]
    for size in range(len(last)):
        for gone in itertools.combinations(last, size):
            if min(without(case, set(gone), cuts).exact(known).values()) >= k:
                return size
    return None


@pytest.mark.parametrize("known", ["counted", "total", "unknown"])
def test_the_number_that_is_said_is_enough_and_seldom_more_than_is_needed(known):
    said = Counter()
    for seed in range(CASES):
        case = random_case(seed, count=2, keys=1, rows=7, values=2)
        if all(1 not in p[-1] for p in case.people) or is_short_before(case, known):
            continue
        bound, cuts = promise(released(case, known), known, 0).of_table[0], [Cut.root(t) for t in case.trees]
        data = table(case, 1)
        rows = bound.companion_choice(data).rows({f"q{j}": c for j, c in enumerate(cuts)}, data.rows)
        needed = fewest(case, known, cuts)
        if rows is None:
            said["none" if needed is None else "missed"] += 1
            continue
        gone = {int(ROWS.leaf_labels[c][1:]) for c in data.codes("who")[rows]}
        assert min(without(case, gone, cuts).exact(known).values()) >= K
        said["fewest" if len(gone) == needed else "more"] += 1
    assert said["fewest"] > said["more"] + said["missed"], said


def test_two_companions_hide_one_who_is_erased():
    """Five with flu and five with HIV, one of whom is erased; three and three come."""
    people = [(0, (0, 1), 5), (1, (0, 1), 4), (1, (0,), 1), (0, (1,), 3), (1, (1,), 3)]
    case = one_class({0: 5, 1: 5}, {0: 8, 1: 7}, stay=people)
    with pytest.raises(Infeasible, match=r"enough if 2 people are \(companions: 2\)"):
        searched(case, "counted", 1, k=5)
    found = searched(case, "counted", 2, k=5)
    assert found.recoding.table.rows == 13 and judged(case, found, "counted") == 6
    rows = [(0, (0, 1), 4), (0, (0,), 1), (0, (1,), 3), (1, (0, 1), 3), (1, (0,), 2), (1, (1,), 3)]
    exact = one_class({0: 5, 1: 5}, {0: 7, 1: 6}, stay=rows).exact("counted")
    assert {presence: n for (presence, _), n in exact.items()} == {(0,): 6, (1,): 9, (0, 1): 10}


def test_one_withheld_raises_the_gap_of_their_value_or_the_exchange_of_all():
    """And to hold back newcomers never helps whoever left: by the enumeration of worlds."""
    people = [(0, (0, 1), 3), (1, (0, 1), 3), (1, (0,), 1), (0, (1,), 2)]
    case = one_class({0: 3, 1: 4}, {0: 5, 1: 3}, stay=people)

    def of_leavers(gone):
        return sum(
            n for (p, _), n in without(case, gone, case.cuts[-1]).exact("counted").items() if p == (0,)
        )

    flu = next(n for n, p in enumerate(case.people) if p[-2] == 0 and p[-1] == {0, 1})
    hiv = next(n for n, p in enumerate(case.people) if p[-2] == 1 and p[-1] == {0, 1})
    new = next(n for n, p in enumerate(case.people) if p[-1] == {1})
    assert of_leavers(set()) == 1
    assert of_leavers({hiv}) == 2  # its own gap
    assert of_leavers({flu}) == 3  # release 2 has more flu: one more of either value may have left
    assert of_leavers({new}) <= 1


def test_whoever_was_withheld_stays_out_until_people_may_return():
    people = [(0, (0, 1, 2), 5), (1, (0, 1, 2), 4), (1, (0,), 1), (0, (1, 2), 3), (1, (1, 2), 3)]
    case = one_class({0: 5, 1: 5}, {0: 8, 1: 7}, {0: 8, 1: 7}, stay=people)
    two = LivingCase(case.trees, case.people, case.cuts[:2])
    first = released(two, "counted")
    bound = promise(first, "counted", 2, k=5)
    found = companion_search(top_down)(table(case, 1), bound, AIM)
    said = bound.of_table[0].departures(found.recoding)
    second = Imprint.of(found.recoding, ["s"], since="who", after=[first[0].digest], departures=said)
    again = promise([*first, second], "counted", 2, k=5)
    data = table(case, 2)
    apart = set_apart(data, again)
    assert apart.rows_withheld == 2 and apart.whole.digest == data.digest
    assert again.of_table[0].watch(apart)
    with pytest.raises(RefusedByHistory, match=r"2 people have left and come back\. If they were withheld"):
        promise([*first, second], "counted", 0, k=5).of_table[0].watch(data)


def test_promises_about_classes_hold_without_those_who_are_withheld():
    tree = Taxonomy.flat(["x", "y"])
    people = [("x", s, frozenset({0, 1})) for s in (0, 0, 1, 1)] + [
        ("y", s, frozenset({0, 1})) for s in (0, 0, 1)
    ]
    people += [("y", 2, frozenset({1}))]
    case = LivingCase([tree], people, [[Cut.leaves(tree)]] * 2)
    found = searched(case, None, 1, DistinctLDiversity("s", 2))
    assert withheld_from(found) == {7} and found.recoding.count == 2
    with pytest.raises(RefusedByHistory, match=r"1 person is new.*enough if 1 person is \(companions: 1\)"):
        searched(case, None, 0, DistinctLDiversity("s", 2))


def test_batches_are_held_back_whole_where_no_key_tells_people():
    """The label of a batch that waits was never published, so its people are new when they come."""
    tree, batch = Taxonomy.flat(["x", "y"]), Taxonomy.flat(["b1", "b2", "b3"])
    columns = [Column("q0", Role.QUASI, tree), Column("s", Role.SENSITIVE, S)]
    columns.append(Column("batch", Role.IDENTIFIER, batch))

    def data(rows):
        codes = zip(*((tree.rank(q), s, batch.rank(b)) for q, s, b in rows), strict=True)
        return Microdata.of_codes(columns, [np.array(c, np.int32) for c in codes])

    old = [(q, s, "b1") for q in "xy" for s in (0, 1) for _ in range(2)]
    new = [("x", s, "b2") for s in (0, 1)] + [("y", 0, "b3")]
    first = Recoding.of_cuts(data(old), {"q0": Cut.leaves(tree)})
    earlier = [Imprint.of(first, ["s"], since="batch")]
    bound = Promises((Continuous(K, since="batch", companions=2),)).given(earlier)
    found = companion_search(top_down)(data(old + new), bound, AIM)
    assert found.recoding.count == 2 and found.recoding.table.rows_withheld == 1
    second = Imprint.of(found.recoding, ["s"], since="batch", after=[earlier[0].digest])
    later = Promises((Continuous(K, since="batch", companions=2),)).given([*earlier, second])
    come = data([*old, *new, ("y", 1, "b3")])
    assert companion_search(top_down)(come, later, AIM).recoding.table.withheld is None


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "companions needs since or person"),
        ({"person": "who", "leavers": "unknown", "moves": ["place"]}, "not chosen where people move"),
        ({"person": "who", "adversary": "register"}, "hide nobody from a register"),
        ({"person": "who", "companions": -1}, "whole number from 0"),
    ],
)
def test_companions_that_cannot_be_chosen_are_refused(keys, said):
    columns = {"who": {"role": "identifier"}, "s": {"role": "sensitive"}}
    columns["place"] = {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK"]}}}
    words = {
        "columns": columns,
        "promises": [{"continuous": {"k": 2, "companions": 1, **keys}}],
        "protect": {"search": "top-down", "suppress": 0},
    }
    with pytest.raises(BadPolicy, match=said):
        Policy.from_dict(words)
