"""The second judge against the definitions, against the promises, and against planted bugs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato.verify.registry as judges
from oracles import published_rows as plain
from sfumato.attacks.audit import audit
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.verify.registry import BY_ROWS
from verify.both import first_verdicts, recheck
from verify.published_tables import KEYS, PATHS, policy, promises, rows, write

pytestmark = pytest.mark.slow


def expected(made, table, person=None):
    """Per promise: does it hold, how many people and classes break it; from the definitions alone."""
    groups = plain.classes(table, KEYS)
    whole = Counter()
    for group in groups:
        whole += plain.counts(group, "disease", person)
    found = []
    for [(name, given_words)] in (entry.items() for entry in made):
        exact = ("t", "c", "l", "confidence", "alpha")
        words = {key: Fraction(v) if key in exact else v for key, v in given_words.items()}
        kind = words.pop("kind", None)
        if name == "k-anonymity":
            broken = [g for g in groups if not plain.k_anonymous(g, person, **words)]
        elif name in ("confidence-bounding", "alpha-k-anonymity"):
            broken = [g for g in groups if not plain.confident(g, person, **words)]
        elif name == "l-diversity":
            if kind != "entropy":
                words["l"] = int(words["l"])
            judge = {None: plain.distinct, "entropy": plain.entropy, "recursive": plain.recursive}[kind]
            broken = [g for g in groups if not judge(g, person, **words)]
        else:
            target = Counter(words.get("reference") or whole)
            order = [value for value in PATHS if whole[value] or target[value]]
            broken = [
                g
                for g in groups
                if plain.distance(
                    plain.counts(g, "disease", person), target, words["distance"], order=order, paths=PATHS
                )
                > words["t"]
            ]
        found.append((not broken, sum(plain.people(g, person) for g in broken), len(broken)))
    return found


def told(verdicts):
    return [(v.holds, v.people, v.classes) for v in verdicts]


def same(ours, theirs):
    """Two implementations agree: the truth, who is affected, the worst class, and what was measured there."""
    assert [(v.promise, v.limit, v.evidence) for v in ours] == [
        (v.promise, v.limit, v.evidence) for v in theirs
    ]
    assert told(ours) == told(theirs)
    assert [(v.measured, v.worst) for v in ours] == [(v.measured, v.worst) for v in theirs]
    assert [v.reason for v in ours if v.reason != BY_ROWS] == [
        other.reason for v, other in zip(ours, theirs, strict=True) if v.reason != BY_ROWS
    ]


def same_in_an_audit(ours, theirs, table):
    """An audit says the same; of a table without rows it says nothing."""
    if table:
        same(ours, theirs)
    else:
        assert {v.holds for v in ours} == {None}


@given(rows(), promises(), st.sampled_from([".csv", ".parquet"]))
def test_recheck_is_the_definition_and_agrees_with_the_promises(tmp_path_factory, table, made, suffix):
    path = write(tmp_path_factory.mktemp("published") / f"table{suffix}", table)
    rule = policy(made)
    verdicts = recheck(path, rule)
    assert told(verdicts) == expected(made, table)
    same(verdicts, first_verdicts(path, rule))
    same_in_an_audit(audit(path, rule, attacks=()).verdicts, verdicts, table)


TABLE = [
    dict(zip((*KEYS, "disease", "visits"), cells, strict=True))
    for cells in [
        ("a", "x", "Flu", 1),
        ("a", "x", "TB", 1),
        ("b", "x", "Flu", 1),
        ("b", "x", "TB", 2),
        ("b", "x", "TB", 3),
    ]
]
MADE = [
    {"k-anonymity": {"k": 2}},
    {"l-diversity": {"of": "disease", "l": 2}},
    {"l-diversity": {"of": "disease", "l": "9/5", "kind": "entropy"}},
    {"l-diversity": {"of": "disease", "l": 2, "kind": "recursive", "c": 3}},
    {"confidence-bounding": {"of": "disease", "confidence": "2/3"}},
    {"alpha-k-anonymity": {"of": "disease", "alpha": "2/3", "k": 2}},
    {"t-closeness": {"of": "disease", "t": "1/5"}},
]


def test_everything_holds_on_the_table_of_the_planted_bugs(tmp_path):
    path = write(tmp_path / "table.csv", TABLE)
    assert all(v.holds for v in recheck(path, policy(MADE)))


def test_a_bug_planted_in_the_promises_is_caught(tmp_path, monkeypatch):
    path = write(tmp_path / "table.csv", TABLE)
    monkeypatch.setattr(KAnonymity, "holds_on", lambda self, classes: classes.people > self.k)
    with pytest.raises(AssertionError):
        same(recheck(path, policy(MADE)), first_verdicts(path, policy(MADE)))


@pytest.mark.parametrize(
    "name",
    [
        ("k-anonymity", None),
        ("l-diversity", "distinct"),
        ("l-diversity", "entropy"),
        ("l-diversity", "recursive"),
        ("confidence-bounding", None),
        ("alpha-k-anonymity", None),
        ("t-closeness", None),
    ],
)
def test_a_bug_planted_in_a_second_judge_is_caught(tmp_path, monkeypatch, name):
    path = write(tmp_path / "table.csv", TABLE)
    right = judges._judges[name]
    monkeypatch.setitem(
        judges._judges, name, lambda tally, promise: replace(right(tally, promise), holds=False)
    )
    with pytest.raises(AssertionError):
        same(recheck(path, policy(MADE)), first_verdicts(path, policy(MADE)))
