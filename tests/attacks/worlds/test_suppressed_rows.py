"""Which rows are suppressed, and what that tells of them: every way to deal the values is enumerated.

The adversary knows everybody's keys, the policy and the search, and sees what is published. Before that, all
ways to deal values to people are alike.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product

import polars as pl
import pytest

from sfumato import Policy, protect
from sfumato.core.errors import Infeasible

BELOW = {"A": ("a1", "a2"), "B": ("b1", "b2"), "*": ("a1", "a2", "b1", "b2")}
SIZES = {"k-anonymity": {"k": 2}}
VALUES = {"l-diversity": {"of": "s", "l": 2, "kind": "distinct"}}


def worlds(keys, search, promise):
    """What is published -> every deal of values that leads there; nothing where the search refuses."""
    tree = {"A": ["a1", "a2"], "B": ["b1", "b2"]}
    columns = {"q": {"role": "quasi", "taxonomy": {"tree": tree}}, "s": {"role": "sensitive"}}
    rules = Policy.from_dict(
        {"columns": columns, "promises": [promise], "protect": {"search": search, "suppress": 1}}
    )
    seen = defaultdict(list)
    for values in product("xy", repeat=len(keys)):
        frame = pl.DataFrame({"q": keys, "s": values})
        try:
            seen[tuple(sorted(protect(frame, rules).apply(frame).rows()))].append(values)
        except Infeasible:
            seen[None].append(values)
    return seen


def suppressed(keys, published):
    """Who is below no published label."""
    shown = {leaf for label, _ in published or () for leaf in BELOW.get(label, (label,))}
    return [who for who, key in enumerate(keys) if key not in shown]


@pytest.mark.parametrize("search", ["top-down", "lattice"])
@pytest.mark.parametrize("keys", [("a1", "a1", "b1"), ("a1", "a1", "a1", "b2")])
def test_where_sizes_are_promised_suppression_tells_nothing_of_values(search, keys):
    """Whatever is published, the values of those who are suppressed are dealt in all ways alike."""
    some = 0
    for published, deals in worlds(keys, search, SIZES).items():
        gone = suppressed(keys, published)
        ways = Counter(tuple(deal[who] for who in gone) for deal in deals)
        assert len(ways) == 2 ** len(gone) and len(set(ways.values())) == 1
        some += bool(gone)
    assert some


@pytest.mark.parametrize("search", ["top-down", "lattice"])
def test_where_values_are_promised_suppression_tells_that_they_were_alike(search):
    """Nobody's value is told, but that both who are suppressed have the same: limitations say so."""
    keys = ("a1", "a2", "b1", "b1")
    told = worlds(keys, search, VALUES)
    published = (("A", "x"), ("A", "y"))
    assert suppressed(keys, published) == [2, 3]
    assert {deal[2:] for deal in told[published]} == {("x", "x"), ("y", "y")}
    for out, deals in told.items():
        for who in suppressed(keys, out):
            assert Fraction(sum(deal[who] == "x" for deal in deals), len(deals)) == Fraction(1, 2)
