"""Which rows are suppressed, and what that tells of them: every way to deal the values is enumerated.

The adversary knows everybody's keys, the policy and the search, and sees what is published. Before that, all
ways to deal values to people are alike. The attack is held to the same enumeration.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sfumato.policy.policy import Policy
from sfumato.system.errors import Infeasible, UsageError
from sfumato.workflows.attack import attack
from sfumato.workflows.protect import protect

pytestmark = pytest.mark.slow

BELOW = {"A": ("a1", "a2"), "B": ("b1", "b2"), "*": ("a1", "a2", "b1", "b2")}
SIZES = {"k-anonymity": {"k": 2}}
VALUES = {"l-diversity": {"of": "s", "l": 2, "kind": "distinct"}}
SHARES = {"confidence-bounding": {"of": "s", "confidence": "1/2"}}
TOLD_APART = [("a1", "x"), ("a1", "y"), ("a2", "y"), ("a2", "z"), ("a2", "z"), ("b1", "z"), ("b2", "x")]


def policy(search, promise, suppress=1, **protect_words):
    tree = {"A": ["a1", "a2"], "B": ["b1", "b2"]}
    columns = {"q": {"role": "quasi", "taxonomy": {"tree": tree}}, "s": {"role": "sensitive"}}
    words = {"search": search, "suppress": suppress, "price": "none", **protect_words}
    return Policy.from_dict(
        {"columns": columns, "promises": [promise], "protect": words, "confirm": {"s": True}}
    )


def worlds(keys, search, promise, *, values="xy", suppress=1):
    """What is published -> every deal of values that leads there; nothing where the search refuses."""
    rules = policy(search, promise, suppress)
    seen, alike = defaultdict(list), defaultdict(list)
    for dealt in product(values, repeat=len(keys)):
        alike[tuple(sorted(zip(keys, dealt, strict=True)))].append(dealt)
    for rows, deals in alike.items():  # the order of the rows tells nothing
        frame = pl.DataFrame(rows, schema=["q", "s"], orient="row")
        try:
            seen[tuple(sorted(protect(frame, rules).apply(frame).rows()))] += deals
        except Infeasible:
            seen[None] += deals
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


def struck(rows, rules, **options):
    """What is published of these rows, and the findings on published and on suppressed people."""
    frame = pl.DataFrame(rows, schema=["q", "s"], orient="row")
    safe = protect(frame, rules).apply(frame)
    found = attack.minimality(safe, rules, frame.select("q"), **options).findings
    gone = [finding for finding in found if finding.sentence.startswith("suppressed people")]
    return safe, [finding for finding in found if finding not in gone], gone


def best_guesses(deals, who):
    """By person, the chance of the likeliest value over these deals."""
    return [Fraction(max(Counter(deal[w] for deal in deals).values()), len(deals)) for w in who]


TABLES = st.lists(
    st.tuples(st.sampled_from(["a1", "a2", "b1", "b2"]), st.sampled_from("xyz")), min_size=4, max_size=5
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@pytest.mark.parametrize("search", ["top-down", "lattice"])
@pytest.mark.parametrize("promise", [VALUES, SHARES], ids=["values", "shares"])
@given(rows=TABLES)
def test_the_attack_against_every_deal_of_values(search, promise, rows):
    """Everybody has any published value: of those deals the ones are kept that are published alike."""
    rows = sorted(rows)
    keys = [key for key, _ in rows]
    rules = policy(search, promise, "1/2")
    try:
        safe, (placed,), gone = struck(rows, rules)
    except Infeasible:
        assume(False)
    shown = tuple(sorted(safe.rows()))
    assume(len(shown) < len(rows))
    known = "".join(sorted({value for _, value in shown}))
    deals = worlds(keys, search, promise, values=known, suppress="1/2")[shown]
    (told,) = gone
    if not deals:  # somebody suppressed has a value that nobody else has
        assert told.details["impossible"] and not told.breach
        return
    out = suppressed(keys, shown)
    inside = [who for who in range(len(keys)) if who not in out]
    assert told.details["people suppressed"] == len(out) == len(rows) - len(shown)
    for finding, who in ((placed, inside), (told, out)):
        best = best_guesses(deals, who)
        assert finding.details["after"] == sum(best) / len(best)
        assert finding.confidence == max(best)
    assert told.details["before"] == Fraction(1, len(known))


def test_suppressed_people_may_be_exposed():
    """Three with key a2 are suppressed. Published values of their neighbours say which value they cannot
    have been suppressed for: z is guessed right two times in three, and one in two was the limit."""
    rules = policy("top-down", SHARES, "1/2")
    safe, _, (told,) = struck(TOLD_APART, rules)
    keys = [key for key, _ in TOLD_APART]
    shown = tuple(sorted(safe.rows()))
    assert suppressed(keys, shown) == [2, 3, 4]
    assert told.breach and told.people == 3 and told.confidence == Fraction(2, 3)
    assert told.details["before"] == Fraction(1, 3) and told.details["limit"] == Fraction(1, 2)
    again, _, (same,) = struck(TOLD_APART[::-1], rules)
    assert same == told and sorted(again.rows()) == list(shown)


def test_where_sizes_are_promised_the_attack_learns_nothing():
    rows = [("a1", "x"), ("a1", "y"), ("a1", "x"), ("b2", "y")]
    _, (placed,), (told,) = struck(rows, policy("top-down", SIZES))
    for finding in (placed, told):
        assert finding.details["before"] == finding.details["after"] and not finding.breach


def test_suppressed_people_who_may_have_many_values_are_not_listed():
    """Three people and two columns of 2,000 values each: the tables are counted before one is made."""
    rules = policy("top-down", SHARES, "1/2").to_dict()
    many = {name: {"tree": [*"xyz", *(f"{name}{i}" for i in range(2000))]} for name in ("s", "t")}
    rules["columns"] |= {name: {"role": "sensitive", "taxonomy": tree} for name, tree in many.items()}
    frame = pl.DataFrame([(*row, "x") for row in TOLD_APART], schema=["q", "s", "t"], orient="row")
    safe = protect(frame, rules).apply(frame)
    assert len(safe) == 4
    with pytest.raises(UsageError, match="too large to list, and the register lacks s, t"):
        attack.minimality(safe, rules, frame.select("q"))


def test_classes_of_more_values_than_calls_go_deep():
    rows = [(("a1", "b1")[i % 2], f"v{i}") for i in range(2400)]
    frame = pl.DataFrame(rows, schema=["q", "s"], orient="row")
    rules = policy("top-down", SHARES, 0)
    (placed,) = attack.minimality(protect(frame, rules).apply(frame), rules, frame, steps=3).findings
    assert placed.details["exchanges tried"] and placed.details["after"] == placed.details["before"]


def test_more_people_than_may_be_suppressed_are_refused():
    """They are people of another table."""
    frame = pl.DataFrame(TOLD_APART, schema=["q", "s"], orient="row")
    safe = frame.head(4).with_columns(q=pl.lit("A"))
    with pytest.raises(UsageError, match="3 people more than the table has rows"):
        attack.minimality(safe, policy("top-down", SHARES, "1/3"), frame.select("q"))


def test_rows_without_a_key_count_as_suppressed_too():
    """Two of eight lack a key and are left out beforehand, so two more may go: in every world as at first."""
    rules = policy("top-down", VALUES, "1/2").to_dict() | {"missing": "suppress"}
    rows = [
        ("a1", "x"),
        ("a2", "y"),
        ("a1", "y"),
        ("a2", "x"),
        ("b1", "x"),
        ("b1", "x"),
        (None, "x"),
        (None, "y"),
    ]
    safe, _, (told,) = struck(rows, rules)
    assert len(safe) == 4 and told.details["people suppressed"] == 2
    assert not told.details["impossible"]
    stricter = rules | {"protect": rules["protect"] | {"suppress": "3/8"}}
    frame = pl.DataFrame(rows, schema=["q", "s"], orient="row")
    with pytest.raises(UsageError, match="2 people more than the table has rows"):
        attack.minimality(safe, stricter, frame.select("q"))
