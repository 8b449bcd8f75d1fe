"""Blind grouping tells of every row exactly the histogram of its class: all worlds and coins enumerated."""

import os
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import factorial, prod
from typing import NamedTuple

from oracles.group_beliefs import believed, gaps, worlds_of
from oracles.groups import REFUSED, Closeness, Confidence, Distinct, Rules, published

FEW = "3000" if os.environ.get("SFUMATO_HYPOTHESIS") == "soak" else "150"
INSTANCES = int(os.environ.get("SFUMATO_GROUP_WORLDS", FEW))
"""So many instances are enumerated; each takes some hundredths of a second."""

HALF, THIRD, QUARTER = Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)
PROMISES = (
    (Distinct(2),),
    (Distinct(3),),
    (Confidence("a", HALF),),
    (Confidence("b", THIRD),),
    (Closeness("aabb", QUARTER),),
    (Closeness("aaabbc", THIRD),),
    (Distinct(2), Confidence("a", Fraction(2, 3))),
    (Confidence("a", HALF), Closeness("aabc", HALF)),
)
READINGS = tuple(
    product(
        (Fraction(0), Fraction(1, 20), HALF), ("all", "quiet"), ("in turn", "at once"), ("refuse", "reopen")
    )
)
SHAPES = (
    # people in a unit, units, units in a block, rows
    (2, 3, 4, 1),
    (2, 4, 2, 1),
    (2, 4, 4, 1),
    (3, 2, 4, 1),
    (3, 3, 4, 1),
    (1, 6, 2, 1),
    (1, 8, 2, 1),
    (2, 6, 2, 1),
    (2, 6, 3, 1),
    (3, 4, 2, 1),
    (3, 4, 4, 1),
    (2, 5, 4, 1),
    (1, 8, 4, 1),
    (1, 9, 3, 1),
    (2, 2, 4, 2),
    (1, 4, 2, 2),
    (1, 5, 4, 2),
    (1, 6, 2, 2),
    (2, 3, 4, 2),
    (1, 4, 2, 3),
)
MOST_WORLDS = 500
BIOGRAPHIES = {
    "any": lambda _: 1,
    "the same for life": lambda values: 5 if len(set(values)) == 1 else 1,
    "a for life": lambda values: 0 if "a" in values and values != values[0] * values.count("a") else 1,
    "never back from b": lambda values: 1 if "b" not in values[:-1] or values[-1] == "b" else 3,
}


class Instance(NamedTuple):
    """Units of one kind, the values that each of their rows shows, and the rules."""

    plan: tuple
    rows: tuple[str, ...]
    rules: Rules


@cache
def multisets(people: int, values: str = "abcd") -> tuple[str, ...]:
    """Every multiset of so many values, of up to four different ones."""
    return tuple("".join(chosen) for chosen in combinations_with_replacement(values, people))


def kind_of(size: int, units: int, block: int) -> tuple:
    """People in order of their keys, cut into units and blocks."""
    made = [tuple(range(start, start + size)) for start in range(0, size * units, size)]
    if units < 2 * block:
        return (tuple(made),)
    return tuple(tuple(made[start : start + block]) for start in range(0, units, block))


def arrangements(rows: tuple[str, ...]) -> int:
    return prod(factorial(len(row)) // prod(factorial(c) for c in Counter(row).values()) for row in rows)


def instances(count: int, seed: int = 1) -> Iterator[Instance]:
    """Instances drawn evenly over shapes, promises and readings, among those of few worlds."""
    draw = random.Random(seed)
    made = 0
    while made < count:
        size, units, block, rows = SHAPES[made % len(SHAPES)]
        shown = tuple(draw.choice(multisets(size * units)) for _ in range(rows))
        decoys, decoys_in, stuck, spent = draw.choice(READINGS)
        rules = Rules(draw.choice(PROMISES), decoys, decoys_in, stuck, spent)
        if 1 < arrangements(shown) <= MOST_WORLDS and rules.keep(shown):
            made += 1
            yield Instance((kind_of(size, units, block),), shown, rules)


def joined(observation, plan) -> int:
    """How many groups of an observation are more than one unit."""
    if observation == REFUSED:
        return 0
    units = {unit for kind in plan for block in kind for unit in block}
    return sum(group.members not in units for group in observation)


def across_blocks(observation, plan) -> int:
    """How many groups of an observation join whole blocks."""
    if observation == REFUSED:
        return 0
    blocks = [{person for unit in block for person in unit} for kind in plan for block in kind]
    return sum(not any(set(group.members) <= block for block in blocks) for group in observation)


def test_beliefs_are_the_histograms():
    totals = Counter()
    for place, (plan, rows, rules) in enumerate(instances(INSTANCES)):
        likely = list(BIOGRAPHIES)[place % 4 if len(rows) > 1 else 0]
        beliefs = believed(
            worlds_of(*rows),
            lambda world, plan=plan, rules=rules: published(plan, rules, world),
            likely=BIOGRAPHIES[likely],
        )
        assert gaps(beliefs) == [], (plan, rows, rules, likely)
        totals["instances"] += 1
        totals["observations"] += len(beliefs)
        totals["refused"] += REFUSED in beliefs
        totals["rows of people"] += sum(len(b.people) * len(rows) for o, b in beliefs.items() if o != REFUSED)
        totals["with joined groups"] += sum(joined(seen, plan) > 0 for seen in beliefs)
        totals["joined groups"] += sum(joined(seen, plan) for seen in beliefs)
        totals["groups of whole blocks"] += sum(across_blocks(seen, plan) for seen in beliefs)
        totals["of several rows"] += len(rows) > 1
        totals["of several promises"] += len(rules.promises) > 1
    assert totals["groups of whole blocks"] > INSTANCES / 10
    assert totals["with joined groups"] > INSTANCES
    if "SFUMATO_GROUP_TOTALS" in os.environ:
        print(dict(totals))
