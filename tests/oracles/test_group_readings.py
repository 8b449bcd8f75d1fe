"""Where the rules of blind grouping can be read in two ways: which reading is safe, and what it costs."""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from random import Random

import pytest

from oracles.group_beliefs import believed, gaps, worlds_of
from oracles.groups import (
    CERTAIN,
    REFUSED,
    Closeness,
    Confidence,
    Distinct,
    Group,
    Rules,
    classes_of,
    every_outcome,
    grouped,
    joined_units,
    planned,
    published,
    united,
)

HALF = Fraction(1, 2)
NEVER = Fraction(0)
TWO_VALUES = Rules((Distinct(2),), NEVER)


def in_blocks(units, size, per_block):
    """One kind: people in order, so many in each unit, so many units in each block."""
    made = [tuple(range(start, start + size)) for start in range(0, units * size, size)]
    return (tuple(tuple(made[start : start + per_block]) for start in range(0, units, per_block)),)


def everything(values, people):
    return list(product(values, repeat=people))


# The enumeration itself -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values", [("aa", "aa", "ab", "bb"), ("aa", "ab", "ab", "ac"), ("aaa", "aab", "abc", "bbb")]
)
@pytest.mark.parametrize("promise", [Distinct(3), Confidence("a", HALF)])
def test_drawing_unit_by_unit_is_an_order_drawn_as_a_whole(values, promise):
    rules = Rules((promise,), NEVER)
    block = tuple((unit,) for unit in values)
    broken = [place for place, unit in enumerate(block) if not rules.keep(unit)]
    orders = list(permutations(place for place in range(4) if place not in broken))
    counted = Counter()
    for order in orders:
        prefixes = [broken + list(order[:further]) for further in range(len(order) + 1)]
        able = [some for some in prefixes if rules.keep(united(tuple(block[place] for place in some)))]
        joined = tuple(sorted(able[0])) if able else None
        counted[joined if broken else ()] += Fraction(1, len(orders))
    assert every_outcome(lambda coins: joined_units(block, rules, coins)) == counted


def test_probabilities_add_up_to_one():
    rules = Rules((Distinct(2),), Fraction(1, 20))
    plan = in_blocks(6, 2, 2)
    for world in Random(3).sample(list(worlds_of("aaaaaaaabbcc")), 40):
        assert sum(published(plan, rules, world).values()) == 1


# Whole tables: several kinds, people who are left over ----------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_whole_table_of_several_kinds_and_people_left_over(seed):
    """Values are dealt across all people; of those not shown, what is left of the values is believed."""
    draw = Random(seed)
    people = draw.choice([7, 8, 9, 10])
    keys = {person: (draw.randrange(9), draw.randrange(5)) for person in range(people)}
    values = draw.choice(["a" * (people - 3) + "bbb", "a" * (people - 2) + "bc"])
    rules = Rules((draw.choice([Distinct(2), Confidence("b", HALF)]),), draw.choice([NEVER, HALF]))
    k, fewest = draw.choice([1, 2]), draw.choice([1, 2])

    def plan_by_coins(coins):
        return planned(keys, dict.fromkeys(keys, 1), k=k, block=2, coins=coins, fewest=fewest)

    for plan in every_outcome(plan_by_coins):
        shown = {person for kind in plan for block in kind for unit in block for person in unit}
        beliefs = believed(worlds_of(values), lambda world, plan=plan: published(plan, rules, world))
        assert gaps(beliefs) == []
        for observation, belief in beliefs.items():
            if observation != REFUSED:
                told = Counter("".join(classes for group in observation for classes in group.classes))
                rest = "".join((Counter(values) - told).elements())
                assert all(belief.equals(person, 0, rest) for person in set(keys) - shown)


# Blocks that are stuck ------------------------------------------------------------------------------------


@pytest.mark.parametrize("stuck", ["in turn", "at once"])
@pytest.mark.parametrize("spent", ["refuse", "reopen"])
@pytest.mark.parametrize(
    ("units", "size", "values"), [(6, 2, "aaaaaaaaabbb"), (8, 1, "aaaaaabb"), (9, 1, "aaaaaabbc")]
)
def test_every_way_to_join_stuck_blocks_is_blind(stuck, spent, units, size, values):
    rules = Rules((Distinct(2),), Fraction(1, 20), stuck=stuck, spent=spent)
    plan = in_blocks(units, size, 3 if units == 9 else 2)
    beliefs = believed(worlds_of(values), lambda world: published(plan, rules, world))
    assert gaps(beliefs) == []


def test_a_stuck_block_that_finds_no_block_left_should_reopen_what_was_joined():
    """Refusing stops releases whose values could be shown, and stops them by coins."""
    kind = tuple(((u,), (v,)) for u, v in [("aa", "aa"), ("aa", "aa"), ("aa", "aa"), ("bb", "bb")])
    chances = {
        (stuck, spent): grouped(kind, Rules((Distinct(2),), NEVER, stuck=stuck, spent=spent)).get(REFUSED, 0)
        for stuck, spent in product(["in turn", "at once"], ["refuse", "reopen"])
    }
    assert chances.pop(("in turn", "refuse")) == Fraction(3, 4)
    assert set(chances.values()) == {0}


def test_a_kind_stops_a_release_exactly_if_all_of_its_values_break_a_promise():
    plan = in_blocks(4, 2, 2)
    rules = Rules((Distinct(2), Confidence("a", HALF)), Fraction(1, 20))
    for world in everything("abc", 8)[::7]:
        chances = published(plan, rules, world)
        assert chances.get(REFUSED, 0) == (0 if rules.keep(classes_of(range(8), world)) else 1)


def test_a_decoy_in_a_block_of_one_unit_stays_alone_and_else_is_joined():
    rules = Rules((Distinct(2),), CERTAIN)
    assert every_outcome(lambda coins: joined_units((("ab",),), rules, coins)) == {(0,): 1}
    assert every_outcome(lambda coins: joined_units((("ab",), ("ab",)), rules, coins)) == {(0, 1): 1}


# What the reference of t-closeness may count --------------------------------------------------------------


@pytest.mark.parametrize("counted", ["a fixed one", "the people shown", "everybody"])
def test_the_reference_of_t_closeness_counts_nobody_who_is_not_shown(counted):
    """Three pairs, of which the last is left over: is more believed of them than before?"""
    plan = in_blocks(2, 2, 4)
    references = {"a fixed one": lambda _: "aabb", "the people shown": lambda w: w[:4], "everybody": list}

    def publish(world):
        reference = "".join(sorted(references[counted](world)))
        return published(plan, Rules((Closeness(reference, Fraction(1, 4)),), NEVER), world[:4])

    beliefs = believed(everything("ab", 6), publish)
    assert gaps(beliefs) == []
    told = {belief.about(4)["a"] for observation, belief in beliefs.items() if observation != REFUSED}
    assert (told == {HALF}) == (counted != "everybody")


# A release that was refused -------------------------------------------------------------------------------


def test_publishing_after_a_refusal_tells_that_the_first_policy_failed():
    """Two kinds, of four and of six people; the second policy promises nothing of values."""
    first = ((((0, 1), (2, 3)),), (((4, 5), (6, 7), (8, 9)),))
    other_units = ((((0, 4), (1, 5), (2, 6), (3, 7), (8, 9)),),)

    def publish(world, again):
        if REFUSED not in published(first, TWO_VALUES, world):
            return {REFUSED: CERTAIN}
        return published(again, Rules((), NEVER), world)

    beliefs = believed(everything("ab", 10), lambda world: publish(world, other_units))
    pairs = [((0, 4), "ab"), ((1, 5), "ab"), ((2, 6), "ab"), ((3, 7), "aa"), ((8, 9), "ab")]
    belief = beliefs[frozenset(Group(members, (values,)) for members, values in pairs)]
    certain = "aaaabbba"
    assert [belief.about(person) for person in range(8)] == [{value: 1} for value in certain]
    assert gaps(believed(everything("ab", 10), lambda world: publish(world, first))) == []


def test_publishing_with_more_newcomers_after_a_refusal_tells_it_too():
    """Four newcomers are refused and come again with four others: that they had to wait tells all."""
    first = ((((0, 1), (2, 3)),),)
    later = ((((0, 4), (1, 5), (2, 6), (3, 7)),),)

    def publish(world):
        if REFUSED not in published(first, TWO_VALUES, world):
            return {"shown at once": CERTAIN}
        return published(later, TWO_VALUES, world)

    beliefs = believed(everything("ab", 8), publish)
    pairs = [((0, 4), "ab"), ((1, 5), "ab"), ((2, 3, 6, 7), "aaab")]
    belief = beliefs[frozenset(Group(members, (values,)) for members, values in pairs)]
    assert [belief.about(person) for person in (0, 1, 2, 3, 4, 5)] == [{"a": 1}] * 4 + [{"b": 1}] * 2
