"""Whoever knows how terms are removed, against all worlds in plain Python."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from oracles import beliefs as plain
from sfumato.models.quasi_sensitive.attack import possible_sets, worlds_by_class
from sfumato.models.quasi_sensitive.knowledge import Knowledge
from sfumato.policy.policy import Policy
from sfumato.system.errors import UsageError
from sfumato.workflows.attack import known_removal
from strategies import cases

pytestmark = pytest.mark.slow

KNOWN = {
    "Flu": ["fever", "cough"],
    "Cold": ["cough", "sneeze"],
    "Gout": ["cough"],
    "Plague": ["boils", "fever"],
}
TERMS = "abc"


def rules(known=None, **terms):
    promise = {"of": "signs", "knowledge": known or KNOWN, "l": 2, "c": 1}
    return {
        "columns": {"age": {"role": "quasi"}, "signs": {"role": "quasi-sensitive"}},
        "promises": [{"quasi-sensitive": promise}],
        "protect": {"search": "top-down", "suppress": 0, "terms": terms},
    }


def by_hand(known, possible, size, outcomes, published):
    """The belief in every label over all ordered worlds that give the published rows, in any order."""
    total, weight = dict.fromkeys(plain.labels_of(known), Fraction(0)), Fraction(0)
    for rows in product(possible, repeat=size):
        chance = sum(
            (p for out, p in outcomes(rows).items() if sorted(out) == sorted(published)), Fraction(0)
        )
        weight += chance
        for label, share in plain.posterior(known, rows).items():
            total[label] += chance * share
    return {label: share / weight for label, share in total.items()}


@given(
    st.dictionaries(
        st.sampled_from("VWXYZ"), st.sets(st.sampled_from(TERMS), min_size=1).map(sorted), min_size=3
    ),
    st.integers(1, 2),
    st.sampled_from([{}, {"margin": "1/4"}, {"scope": "class"}, {"method": "adaptive"}]),
    st.data(),
)
@cases(20)
def test_beliefs_over_all_worlds(known, size, how, data):
    outcomes = known_removal(Policy.from_dict(rules(known, **how)), steps=1000).outcomes
    possible = [terms for terms in plain.subsets(TERMS) if plain.linked(known.items(), terms)]
    found = worlds_by_class(Knowledge.of(known.items()), possible, size, outcomes)
    assume(found)
    published = data.draw(st.sampled_from(sorted(found)))
    labels = plain.labels_of(known.items())
    expected = by_hand(list(known.items()), possible, size, outcomes, published)
    assert dict(zip(labels, found[published].belief(labels), strict=True)) == expected
    assert sum(f.weight for f in found.values()) == len(possible) ** size
    assert all(plain.diverse(list(known.items()), rows, 1, 2) for rows in found)


def test_sets_that_rows_may_have_had():
    known = Knowledge.of(KNOWN.items())
    assert possible_sets(known, [("cough",)], 2, 100) == [("cough",), ("cough", "fever"), ("cough", "sneeze")]
    assert possible_sets(known, [()], 1, 3) is None


def test_a_term_that_is_gone_gives_a_label_away_and_class_scope_tells_less():
    """Nobody shows a boil: where fever is left, somebody had more."""
    people = pl.DataFrame({"age": ["1", "1"], "signs": ["fever;boils", "fever;cough"]})
    safe = sf.protect(people, rules()).apply(people)
    assert sf.audit(safe, rules()).holds
    (finding,) = sf.attack.term_removal(safe, rules()).findings
    assert finding.details["classes looked at"] == 1
    assert finding.details["belief after"] >= finding.details["belief as published"]
    wide = rules(scope="class")
    again = sf.protect(people, wide).apply(people)
    (other,) = sf.attack.term_removal(again, wide).findings
    assert other.confidence <= finding.confidence
    assert all(term not in finding.sentence for term in ("fever", "boils", "cough", "Plague", "Flu"))


@pytest.mark.parametrize(
    ("how", "said"),
    [({"method": "keep"}, "removes no term"), ({"cost": "rarity"}, "whole table")],
)
def test_what_cannot_be_listed_is_refused(how, said):
    people = pl.DataFrame({"age": ["1", "1"], "signs": ["cough", "cough"]})
    with pytest.raises(UsageError, match=said):
        sf.attack.term_removal(people, rules(**how))
    with pytest.raises(UsageError, match="more worlds"):
        sf.attack.term_removal(people, rules(), steps=1)
