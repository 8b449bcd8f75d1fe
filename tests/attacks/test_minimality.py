"""What the planner tells, taken as a black box: whole tables are compared."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.adversaries.minimality import ValueMinimality
from sfumato.attacks.audit import audit
from sfumato.attacks.known_search import KnownSearch
from sfumato.system.errors import UsageError
from sfumato.table.microdata import Codes, Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.source import open_source

pytestmark = pytest.mark.slow

AGES = [str(i) for i in range(6)]
LINE = {"flat": AGES, "ordered": True}


def rules_of(taxonomy=LINE, *, values=2, **protect):
    columns = {"age": {"role": "quasi", "taxonomy": taxonomy}, "s": {"role": "sensitive"}}
    promises = [{"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "s", "l": values}}]
    words = {"suppress": 0, "search": "best", **protect}
    return sf.Policy.from_dict({"columns": columns, "promises": promises, "protect": words})


def narrowest(table: Microdata) -> Recoding | None:
    """Classes with two values whose widths add up to the least, whatever order they stand in."""
    ages, values = table.codes("age"), table.codes("s")
    people = np.repeat(np.arange(table.distinct), table.counts)

    def partitions(left):
        if not left:
            yield ()
        for size in range(1, len(left)):
            for others in combinations(left[1:], size):
                part = (left[0], *others)
                further = tuple(p for p in left if p not in part)
                yield from ((part, *more) for more in partitions(further))

    def loss(parts):
        return sum(int(np.ptp(ages[people[list(part)]])) * len(part) for part in parts), parts

    kept = [
        parts
        for parts in partitions(tuple(range(len(people))))
        if all(len(set(values[people[list(part)]].tolist())) > 1 for part in parts)
    ]
    if not kept:
        return None
    best = min(kept, key=loss)
    class_of = np.zeros(table.distinct, np.int32)
    for c, part in enumerate(best):
        class_of[people[list(part)]] = c
    ends = [(ages[people[list(part)]].min(), ages[people[list(part)]].max() + 1) for part in best]
    low, high = np.array(ends, np.int32).T
    return Recoding(table, class_of, low[:, None], high[:, None])


def boxes_of(people: Microdata, dealt):
    """What the search publishes: the box of every person, and what every class holds."""
    recoding = narrowest(table_of(people, dealt))
    if recoding is None:
        return None
    boxes = list(zip(recoding.low[:, 0].tolist(), recoding.high[:, 0].tolist(), strict=True))
    return tuple(sorted((boxes[c], dealt[i]) for i, c in enumerate(recoding.class_of.tolist())))


def table_of(people: Microdata, dealt) -> Microdata:
    codes: list[Codes] = [people.codes("age"), np.array([v == "b" for v in dealt], np.int32)]
    return Microdata.of_codes(people.columns, codes)


@pytest.mark.parametrize("dealt", ["aaabbb", "aaaabb", "aababa", "ababab"])
def test_six_people_with_keys_0_to_5_are_decided(dealt):
    """aaabbb is published as 0–3 (a a b) and 2–5 (a b b): 0 has a, since {0, 1} would have been made else."""
    rules = rules_of()
    frame = pl.DataFrame({"age": AGES, "s": list(dealt)})
    people = open_source(frame).count(rules.codings, missing=rules.missing)
    published = boxes_of(people, dealt)
    shown = [(LABELS.get(box, f"{box[0]}–{box[1] - 1}"), value) for box, value in published]
    left = [d for d in product("ab", repeat=6) if boxes_of(people, d) == published]
    certain = sum(len({d[i] for d in left}) == 1 for i in range(6))
    builds = {coding.name: coding.build for coding in rules.codings if coding.role.is_key}
    attack = ValueMinimality(KnownSearch(narrowest, builds), people)
    file = pl.DataFrame(shown, schema=["age", "s"], orient="row")
    (finding,) = audit(file, rules, attacks=(attack,)).findings
    assert finding.people == certain and finding.breach == (certain > 0)
    assert certain == (0 if dealt == "ababab" else 6 if dealt != "aababa" else finding.people)
    right = sum(
        Fraction(max(list(zip(*left, strict=True))[i].count(v) for v in "ab"), len(left)) for i in range(6)
    )
    assert finding.details["after"] == right / 6
    assert finding.details["method"] == "all tables" and not finding.not_tried


LABELS = {(0, 6): "*"}


@pytest.mark.parametrize("search", ["best", "local"])
def test_groups_of_a_search_that_looks_at_values_name_somebody(search):
    tables = 0  # in which somebody is certain
    rules = rules_of({"intervals": [1, 2, 6], "from": 0, "to": 6}, search=search)
    for dealt in ("aaaabb", "abaaab", "ababaa"):
        frame = pl.DataFrame({"age": AGES, "s": list(dealt)})
        safe = sf.protect(frame, rules).apply(frame)
        (finding,) = sf.attack.minimality(safe, rules, frame.select("age")).findings
        tables += finding.breach
    assert tables


def many(rows=160, values="aaaabc"):
    rng = np.random.default_rng(2)
    ages = rng.integers(0, 40, rows).astype(str)
    return pl.DataFrame({"age": ages, "s": rng.choice(list(values), rows)})


DECADES = {"intervals": [1, 5, 10, 20], "from": 0, "to": 40}


def test_exchanged_values_in_blind_groups_leave_the_file_as_it_is():
    rules, frame = rules_of(DECADES, grouping="blind"), many()
    safe = sf.protect(frame, rules).apply(frame)
    (finding,) = sf.attack.minimality(safe, rules, frame, steps=25).findings
    assert not finding.breach and not finding.details["exchanges that change the file"]
    assert 0 < finding.details["exchanges tried"] <= 25 < finding.details["exchanges"]
    assert finding.word == "withstood as far as tried" and finding.not_tried


def test_exchanged_values_in_informed_groups_change_it():
    rules, frame = rules_of(DECADES, grouping="informed"), many()
    safe = sf.protect(frame, rules).apply(frame)
    found = [sf.attack.minimality(safe, rules, frame, steps=40, seed=1).findings for _ in range(2)]
    ((finding,), (again,)) = found
    assert finding == again and finding.details["exchanges that change the file"] > 0
    assert finding.details["largest gain"] > 0 and finding.details["people drawn"] > 1
    assert f"{finding.details['exchanges that change the file']} of" in finding.sentence


def test_an_exchange_is_of_the_values_of_two_people():
    """Where everybody's keys are the same, exchanged values are the same table."""
    frame = many(40).with_columns(age=pl.lit("3"))
    rules = rules_of(DECADES, grouping="informed")
    safe = sf.protect(frame, rules).apply(frame)
    (finding,) = sf.attack.minimality(safe, rules, frame, steps=10).findings
    assert finding.details["method"] == "all tables" and finding.details["before"] == finding.confidence


def test_a_register_of_other_people_is_refused():
    rules, frame = rules_of(DECADES), many()
    safe = sf.protect(frame, rules).apply(frame)
    with pytest.raises(UsageError, match="register"):
        sf.attack.minimality(safe, rules, frame.select("age").head(5))
    with pytest.raises(UsageError, match="no column age"):
        sf.attack.minimality(safe, rules, frame.select("s"))
    with pytest.raises(UsageError, match="too large to list, and the register lacks s"):
        sf.attack.minimality(safe, rules, frame.select("age"))
    with pytest.raises(UsageError, match="another file than the one"):
        sf.attack.minimality(safe, rules, frame.with_columns(pl.col("s").reverse()))


# -- rules that the published table teaches -----------------------------------------------------------------


def test_values_that_follow_from_keys_are_learned_and_others_are_not():
    """Half of the value follows from the age: rules name it more often than classes do."""
    rng = np.random.default_rng(5)
    ages = rng.integers(0, 40, 400)
    follows = np.where(rng.random(400) < 0.7, np.where(ages % 10 < 5, "a", "b"), rng.choice(list("ab"), 400))
    rules = rules_of({"intervals": [1, 5, 10, 40], "from": 0, "to": 40}, values=2, search="lattice")
    told = {}
    for name, values in (("follows", follows), ("random", rng.choice(list("ab"), 400))):
        frame = pl.DataFrame({"age": ages.astype(str), "s": values})
        (finding,) = sf.attack.definetti(sf.protect(frame, rules).apply(frame), rules, frame).findings
        told[name] = finding.details
        assert finding.details["base rate"] == Fraction(int(max((values == v).sum() for v in "ab")), 400)
        assert not finding.breach and finding.word == "withstood as far as tried"
    assert told["follows"]["after"] >= told["follows"]["before"] > told["random"]["before"] - Fraction(1, 10)
    assert told["follows"]["after"] > Fraction(3, 4) > told["random"]["after"]
    with pytest.raises(UsageError, match="has no column s"):
        sf.attack.definetti(frame, rules, frame.select("age"))
