"""Joining as the product does it, run on every world of small tables with every fall of its coins.

Whoever knows everybody's units and the program, and sees the groups with what each holds, believes of every
member exactly what the group shows. Each rule of joining that is taken away is noticed.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from sfumato.models.confidence.promise import ConfidenceBounding
from sfumato.models.contract import Promises
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.search import blind_groups
from sfumato.search.blind_groups import DECOY_BLOCKS, Stuck, Units, Values, joined_units, make_units
from sfumato.search.contract import Aim
from sfumato.system.coins import Coins
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

REFUSED = "refused"
LETTERS = Taxonomy.flat(["a", "b", "c"])
TWO_VALUES = Promises((DistinctLDiversity("s", 2),))
THREE_VALUES = Promises((DistinctLDiversity("s", 3),))
AT_MOST_HALF = Promises((ConfidenceBounding("s", Fraction(1, 2)),))
KEEPS = {
    TWO_VALUES: lambda shown: len(set(shown)) >= 2,
    THREE_VALUES: lambda shown: len(set(shown)) >= 3,
    AT_MOST_HALF: lambda shown: all(2 * shown.count(value) <= len(shown) for value in shown),
}
"""What a group may show, said again."""


class FallenCoins:
    """Coins that have fallen as a test says."""

    def __init__(self, fallen):
        self.fallen = fallen

    def draw(self, purpose, count):
        return np.array(self.fallen[purpose][:count], np.uint64)

    def order(self, purpose, count):
        return np.argsort(self.draw(purpose, count), kind="stable")


def units_of(sizes_of_blocks, *, can_join=None):
    """One kind, block by block: the sizes of units, whose people stand one after the other."""
    size = np.array([size for block in sizes_of_blocks for size in block])
    unit_of = np.repeat(np.arange(len(size)), size).astype(np.int32)
    block = np.repeat(np.arange(len(sizes_of_blocks)), [len(block) for block in sizes_of_blocks])
    nothing = np.zeros((len(size), 0), np.int32)
    join = np.ones(len(sizes_of_blocks), bool) if can_join is None else np.array(can_join)
    return Units(unit_of, nothing, nothing, size, np.zeros(len(size), np.int64), block, join)


def every_fall(units, *, decoys):
    """Every way in which the coins fall, with its chance: orders within blocks and of blocks, and decoys."""
    lengths = np.bincount(units.block)
    orders = [sum(parts, ()) for parts in product(*(list(permutations(range(n))) for n in lengths))]
    blocks = list(permutations(range(len(lengths))))
    of_blocks = list(product((0, 1), repeat=len(lengths))) if decoys else [(1,) * len(lengths)]
    for joins, stuck, decoy in product(orders, blocks, of_blocks):
        chance = Fraction(1)
        for drawn in decoy if decoys else ():
            chance *= Fraction(1, DECOY_BLOCKS) if not drawn else Fraction(DECOY_BLOCKS - 1, DECOY_BLOCKS)
        for chosen in orders if 0 in decoy else orders[:1]:
            share = chance / (len(orders) if 0 in decoy else 1)
            yield {"joins": joins, "stuck blocks": stuck, "decoys": decoy, "decoy units": chosen}, share


def values_held(promises, world):
    """What everybody has in a world, as joining reads it."""
    codes = np.array([LETTERS.leaf_labels.index(value) for value in world], np.int32)
    return Values(promises, {"s": (LETTERS, codes)}, np.ones(len(codes), dtype=bool))


def worlds_of(values):
    return sorted(set(permutations(values)))


def gaps(units, values, promises, *, decoys=False, falls=None):
    """Observations and people whose value is not believed as their group shows it."""
    falls = list(every_fall(units, decoys=decoys)) if falls is None else falls
    scale = max(chance.denominator for _, chance in falls) ** 2
    weights = [int(chance * scale) for _, chance in falls]
    believed = defaultdict(lambda: defaultdict(int))
    for world in worlds_of(values):
        held = values_held(promises, world)
        for (fallen, _), weight in zip(falls, weights, strict=True):
            try:
                group_of = joined_units(units, held, FallenCoins(fallen))
            except Stuck:
                continue
            groups = defaultdict(list)
            for person, unit in enumerate(units.unit_of.tolist()):
                groups[int(group_of[unit])].append(person)
            seen = frozenset(
                (tuple(people), "".join(sorted(world[person] for person in people)))
                for people in groups.values()
            )
            for person, value in enumerate(world):
                believed[seen][person, value] += weight
            believed[seen]["all"] += weight
    found = []
    for seen, belief in believed.items():
        for people, shown in seen:
            assert KEEPS[promises](shown), f"{shown} is published"
            found += [
                (seen, person)
                for person in people
                for value in LETTERS.leaf_labels
                if belief[person, value] * len(shown) != shown.count(value) * belief["all"]
            ]
    return found


ONE_BLOCK = units_of([(2, 2, 2)])
TWO_BLOCKS = units_of([(2, 2), (2, 2)])
THREE_BLOCKS = units_of([(1, 1), (1, 1), (1, 1)])
FOUR_BLOCKS = units_of([(1, 1), (1, 1), (1, 1), (1, 1)])


@pytest.mark.parametrize(
    ("units", "values", "promises", "decoys"),
    [
        (ONE_BLOCK, "aaaabb", TWO_VALUES, True),
        (ONE_BLOCK, "aabbcc", TWO_VALUES, True),
        (ONE_BLOCK, "aaabbc", AT_MOST_HALF, False),
        (TWO_BLOCKS, "aaaaaabb", TWO_VALUES, True),
        (TWO_BLOCKS, "aaaabbbb", TWO_VALUES, False),
        pytest.param(THREE_BLOCKS, "aaaabb", TWO_VALUES, True, marks=pytest.mark.slow),
        (THREE_BLOCKS, "aaaabc", THREE_VALUES, False),
        (THREE_BLOCKS, "aaabbc", AT_MOST_HALF, False),
        (THREE_BLOCKS, "aaaabb", TWO_VALUES, False),
        pytest.param(FOUR_BLOCKS, "aaaaaabb", TWO_VALUES, False, marks=pytest.mark.slow),
        (units_of([(1, 1), (1, 1), (1, 1, 1)], can_join=[True, True, False]), "aaaaabb", TWO_VALUES, False),
    ],
)
def test_what_is_believed_is_what_groups_show(units, values, promises, decoys):
    assert gaps(units, values, promises, decoys=decoys) == []


def test_units_that_the_product_makes_are_joined_blindly(monkeypatch):
    """Nine people of random ages in units and blocks as they are made, of two units a block."""
    monkeypatch.setattr(blind_groups, "BLOCK_UNITS", 2)
    age = Taxonomy.flat([str(n) for n in range(9)])
    made = []
    for seed in range(20):
        table = Microdata.of_codes(
            [Column("age", Role.QUASI, age), Column("s", Role.SENSITIVE, LETTERS)],
            [np.random.default_rng(seed).integers(0, 9, 8).astype(np.int32), np.zeros(8, np.int32)],
            person=np.arange(8),
        )
        units = make_units(table, 2, Aim(compared=("local",)), Coins(bytes([seed])))
        made += [] if units is None else [units]
    assert len(made) >= 3
    for units in made[:3]:
        assert gaps(units, "aaaaaabb", TWO_VALUES) == []


def test_a_kind_is_refused_only_where_all_of_its_values_break_a_promise():
    """Three blocks hold a alone, one b: the last that is stuck finds none left but those joined before."""
    held = values_held(TWO_VALUES, "aaaaaabb")
    for fallen, _ in every_fall(FOUR_BLOCKS, decoys=False):
        group_of = joined_units(FOUR_BLOCKS, held, FallenCoins(fallen))
        assert np.bincount(group_of).max() >= 4
    same = values_held(TWO_VALUES, "aaaaaaaa")
    for fallen, _ in every_fall(FOUR_BLOCKS, decoys=False):
        with pytest.raises(Stuck):
            joined_units(FOUR_BLOCKS, same, FallenCoins(fallen))


def test_the_number_of_a_group_does_not_tell_which_of_its_units_was_joined_first():
    """Numbers decide which of two boxes a further row takes: they follow from who is with whom alone."""
    for world in worlds_of("aaaabb"):
        held = values_held(TWO_VALUES, world)
        for fallen, _ in every_fall(ONE_BLOCK, decoys=False):
            group_of = joined_units(ONE_BLOCK, held, FallenCoins(fallen)).tolist()
            assert group_of[0] == 0
            assert all(group_of[unit] <= max(group_of[:unit]) + 1 for unit in range(1, 3))


# Each rule that is taken away is noticed ------------------------------------------------------------------


def test_a_known_order_is_noticed():
    falls = [next(iter(every_fall(ONE_BLOCK, decoys=False)))]
    assert gaps(ONE_BLOCK, "aaaabb", TWO_VALUES, falls=falls)


def test_a_known_order_of_blocks_is_noticed():
    falls = [fall for fall in every_fall(THREE_BLOCKS, decoys=False) if fall[0]["stuck blocks"] == (0, 1, 2)]
    assert gaps(THREE_BLOCKS, "aaaabb", TWO_VALUES, falls=falls)


def test_units_of_several_sizes_are_noticed():
    assert gaps(units_of([(2, 2, 3)]), "aaaabbb", TWO_VALUES)


def test_blocks_of_several_sizes_are_noticed():
    assert gaps(units_of([(1, 1), (1, 1, 1), (1, 1)]), "aaaaabb", TWO_VALUES)


def test_a_join_that_stops_early_is_noticed(monkeypatch):
    """Units that break a promise are joined with nobody: the groups that are made break it."""
    kept = Values.kept

    def lax(values, rows, ids, count):
        good = kept(values, rows, ids, count)
        return good if count == ONE_BLOCK.count else np.ones_like(good)

    monkeypatch.setattr(Values, "kept", lax)
    with pytest.raises(AssertionError, match="is published"):
        gaps(ONE_BLOCK, "aaaaab", TWO_VALUES)


def test_decoys_hide_from_members_who_failed():
    """Whoever has a in a join of aa and bb knows their partner, but for decoys."""

    def partner(decoys):
        units = units_of([(2, 2)])
        has = total = Fraction(0)
        for world in worlds_of("aabb"):
            held = values_held(TWO_VALUES, world)
            for fallen, chance in every_fall(units, decoys=decoys):
                if world[0] == "a" and len(set(joined_units(units, held, FallenCoins(fallen)).tolist())) == 1:
                    total += chance
                    has += chance * (world[1] == "a")
        return has / total

    assert partner(decoys=False) == 1
    assert partner(decoys=True) == Fraction(10, 11)
