"""Whoever knows a value of one person, their own for instance: what they believe of others, exactly."""

from fractions import Fraction

import pytest

from oracles.group_beliefs import believed, histogram, insight, worlds_of
from oracles.groups import CERTAIN, REFUSED, Distinct, Group, Rules, published
from oracles.test_group_readings import in_blocks

HALF = Fraction(1, 2)
NEVER = Fraction(0)


@pytest.mark.parametrize("values", ["aaaabb", "aabbcc", "aaabbb"])
@pytest.mark.parametrize("decoys", [NEVER, Fraction(1, 20), HALF])
def test_one_value_tells_the_rest_of_a_unit_and_nothing_of_other_groups(values, decoys):
    """Whoever knows one value faces the rest of a class of one unit; of other groups, the whole class."""
    plan = in_blocks(3, 2, 4)
    rules = Rules((Distinct(2),), decoys)
    units = set(plan[0][0])
    beliefs = believed(worlds_of(values), lambda world: published(plan, rules, world), knows=(0,))
    for (seen, (own,)), belief in beliefs.items():
        for group in () if seen == REFUSED else seen:
            inside = 0 in group.members
            if not inside or group.members in units:
                rest = group.classes[0].replace(own, "", 1) if inside else group.classes[0]
                assert all(belief.equals(person, 0, rest) for person in group.members if person)


@pytest.mark.parametrize(
    ("decoys", "partner"), [(NEVER, CERTAIN), (Fraction(1, 20), Fraction(10, 11)), (CERTAIN, Fraction(1, 3))]
)
def test_h_a_member_of_two_joined_units_knows_the_partner_unless_there_are_decoys(decoys, partner):
    """aa and bb, or ab and ab with a decoy: whoever owns a should believe a of their partner with 1/3."""
    plan = in_blocks(2, 2, 4)
    rules = Rules((Distinct(2),), decoys)
    seen = frozenset({Group((0, 1, 2, 3), ("aabb",))})
    beliefs = believed(worlds_of("aabb"), lambda world: published(plan, rules, world), knows=(0,))
    assert beliefs[seen, ("a",)].about(1)["a"] == partner


@pytest.mark.parametrize(
    ("decoys", "told"),
    [
        (NEVER, CERTAIN),
        (Fraction(1, 20), Fraction(82, 83)),
        (Fraction(1, 4), Fraction(18, 19)),
        (HALF, Fraction(10, 11)),
        (CERTAIN, Fraction(6, 7)),
    ],
)
@pytest.mark.parametrize("decoys_in", ["all", "quiet"])
def test_decoys_lower_a_members_belief_and_do_not_make_it_fair(decoys, told, decoys_in):
    """aaa and abb are joined: the owner of b should face aaaab, so believe a of a third person with 4/5."""
    plan = in_blocks(4, 3, 4)
    rules = Rules((Distinct(2),), decoys, decoys_in)
    classes = [((0, 1, 2, 3, 4, 5), "aaaabb"), ((6, 7, 8), "aab"), ((9, 10, 11), "aab")]
    seen = frozenset(Group(members, (values,)) for members, values in classes)
    beliefs = believed(worlds_of("aaaaaaaabbbb"), lambda world: published(plan, rules, world), knows=(0,))
    assert beliefs[seen, ("b",)].about(3)["a"] == told
    assert told > histogram("aaaab")["a"]


def test_decoys_change_nothing_where_all_units_of_a_block_fail():
    """aa, aa, bb can only be joined as a whole: the owner of b knows their partner, decoys or not."""
    plan = in_blocks(3, 2, 4)
    rates = (NEVER, Fraction(1, 20), CERTAIN)
    (only,) = {insight(plan, "aaaabb", Rules((Distinct(2),), decoys)) for decoys in rates}
    assert (only.members, only.certain, only.most) == (Fraction(11, 15), Fraction(3, 11), 1)


@pytest.mark.slow
def test_decoys_beside_failing_units_are_worth_little():
    """Decoys in all blocks, or only where nothing fails: nearly the same beliefs, for more people joined."""
    plan = in_blocks(4, 3, 4)
    readings = [(NEVER, "all"), (Fraction(1, 20), "quiet"), (Fraction(1, 20), "all")]
    found = [insight(plan, "aaaaaabbbbbb", Rules((Distinct(2),), *reading)) for reading in readings]
    assert [round(float(seen.certain), 4) for seen in found] == [0.6757, 0.0256, 0.0253]
    assert [round(float(seen.members), 4) for seen in found] == [0.2403, 0.2534, 0.2563]
    assert {seen.most for seen in found} == {1}
