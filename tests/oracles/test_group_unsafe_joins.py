"""Ways to join units that are not blind: an order that is known, sizes that differ, decoys that are told."""

from fractions import Fraction

import pytest

from oracles.group_beliefs import believed, exposed, gaps, worlds_of
from oracles.groups import (
    CERTAIN,
    REFUSED,
    Coins,
    Distinct,
    Group,
    Rules,
    classes_of,
    contents,
    every_outcome,
    groups_of_kind,
    published,
    united,
)

HALF = Fraction(1, 2)
TWO_VALUES = Rules((Distinct(2),), decoys=Fraction(0))
PAIRS = ((((0, 1), (2, 3), (4, 5)),),)
"""Three units of two people in one block."""


class KnownCoins(Coins):
    """Coins that everybody knows: whatever is drawn, the first is taken."""

    def pick(self, chances):
        return next(outcome for outcome, chance in chances.items() if chance)


def surely(observation):
    """A program without coins."""
    return {observation: CERTAIN}


def in_known_order(plan, rules, world):
    (kind,) = plan
    places = groups_of_kind(contents(kind, world), rules, KnownCoins())
    if places == REFUSED:
        return surely(REFUSED)
    members = [sorted(person for block, unit in group for person in kind[block][unit]) for group in places]
    return surely(frozenset(Group(tuple(people), classes_of(people, world)) for people in members))


def certain_people(beliefs, observation):
    return {person: biography for seen, person, biography in exposed(beliefs) if seen == observation}


def test_g_a_known_order_of_drawing_tells_which_unit_failed():
    beliefs = believed(worlds_of("aaaabb"), lambda world: in_known_order(PAIRS, TWO_VALUES, world))
    seen = frozenset({Group((0, 1, 4, 5), ("aaab",)), Group((2, 3), ("ab",))})
    assert certain_people(beliefs, seen) == {4: "a", 5: "a"}
    drawn = believed(worlds_of("aaaabb"), lambda world: published(PAIRS, TWO_VALUES, world))
    assert seen in drawn
    assert gaps(drawn) == []


def test_g_units_of_several_sizes_are_no_kind():
    plan = ((((0, 1), (2, 3), (4, 5, 6)),),)
    beliefs = believed(worlds_of("aaaabbb"), lambda world: published(plan, TWO_VALUES, world))
    assert {person for _, person, _ in exposed(beliefs)} == set(range(7))
    assert gaps(beliefs)


def test_g_blocks_of_several_sizes_are_not_joined():
    """Three units of which two are one block: the third must not be a smaller block of its own."""
    plan = ((((0, 1),), ((2, 3), (4, 5))),)
    beliefs = believed(worlds_of("aaaaab"), lambda world: published(plan, TWO_VALUES, world))
    assert gaps(beliefs) == []
    wider = ((((0, 1),), ((2, 3), (4, 5)), ((6, 7),)),)
    beliefs = believed(worlds_of("aaaaaabb"), lambda world: published(wider, TWO_VALUES, world))
    assert gaps(beliefs)


def test_g_a_stuck_block_takes_blocks_in_no_known_order():
    plan = (tuple(((p, p + 1), (p + 2, p + 3)) for p in range(0, 12, 4)),)

    def publish(world):
        (kind,) = plan
        held = contents(kind, world)
        whole = [p for p, block in enumerate(held) if not TWO_VALUES.keep(united(block))]
        if len(whole) != 1:
            return surely("other")
        taken = {whole[0], next(place for place in range(3) if place != whole[0])}
        members = tuple(sorted(p for place in taken for unit in kind[place] for p in unit))
        return surely(frozenset({Group(members, classes_of(members, world))}))

    beliefs = believed(worlds_of("aaaaaaaaabbb"), publish)
    beliefs.pop("other", None)
    assert gaps(beliefs)


def test_g_a_stuck_block_takes_no_single_units_of_other_blocks():
    plan = ((((0, 1), (2, 3)), ((4, 5), (6, 7))),)

    def publish(world):
        (kind,) = plan
        held = contents(kind, world)

        def run(coins):
            stuck = [place for place, block in enumerate(held) if not TWO_VALUES.keep(united(block))]
            if len(stuck) != 1:
                return "other"
            members = [person for unit in kind[stuck[0]] for person in unit]
            further = list(kind[1 - stuck[0]])
            while len({world[person] for person in members}) < 2:
                members += further.pop(further.index(coins.draw(further)))
            return frozenset({Group(tuple(sorted(members)), classes_of(sorted(members), world))})

        return every_outcome(run)

    beliefs = believed(worlds_of("aaaaaabb"), publish)
    beliefs.pop("other", None)
    assert gaps(beliefs)


@pytest.mark.parametrize("told", ["nothing", "how many decoys", "which decoy"])
def test_g_which_units_are_decoys_is_secret(told):
    """Decoys are only drawn beside units that fail: whoever knows the decoy knows who broke the promise."""

    def publish(world):
        (held,) = contents(PAIRS[0], world)

        def run(coins):
            broken = [place for place in range(3) if not TWO_VALUES.keep(held[place])]
            if not broken or len(broken) == 3 or not coins.toss(HALF):
                return (
                    coins.pick(published(PAIRS, TWO_VALUES, world)),
                    0 if told == "how many decoys" else None,
                )
            decoy = coins.draw([place for place in range(3) if place not in broken])
            places = [{*broken, decoy}] + [{place} for place in range(3) if place not in {*broken, decoy}]
            members = [tuple(p for place in sorted(some) for p in PAIRS[0][0][place]) for some in places]
            groups = frozenset(Group(people, classes_of(people, world)) for people in members)
            return (groups, {"nothing": None, "how many decoys": 1, "which decoy": decoy}[told])

        return every_outcome(run)

    beliefs = believed(worlds_of("aaaabb"), publish)
    wrong = gaps(beliefs, lambda seen: [] if seen[0] == REFUSED else seen[0])
    assert bool(wrong) == (told == "which decoy")
