"""The audit of a published table, and of a raw one."""

from __future__ import annotations

import json
from fractions import Fraction

import pandas as pd
import polars as pl
import pytest

from sfumato.attacks.audit import audit
from sfumato.models.k_anonymity.attack import Linkage
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData, UsageError
from sfumato.system.verdict import CERTAINTY, RECOGNITION, SHIFT, VALUES
from verify.published_tables import KEYS, policy
from verify.test_file import MADE, TABLE

COLUMNS = (*KEYS, "disease", "visits")


def frame(rows, columns=COLUMNS):
    return pd.DataFrame({c: [row.get(c) for row in rows] for c in columns})


def test_a_table_that_keeps_its_promises():
    found = audit(frame(TABLE), policy(MADE))
    assert found.holds is True
    assert (found.rows, found.columns, found.objections) == (5, COLUMNS, ())
    assert [v.holds for v in found.verdicts] == [True] * len(MADE)
    assert {f.attack for f in found.findings} == {"linkage", "homogeneity", "skewness"}
    assert found.breaches == ()


def test_any_engine_gives_the_same_audit():
    one, other = audit(frame(TABLE), policy(MADE)), audit(pl.DataFrame(frame(TABLE)), policy(MADE))
    assert one == other


def test_a_raw_table_shows_what_would_leak():
    raw = [{**row, "name": f"person {i}", KEYS[0]: f"zip {i}"} for i, row in enumerate(TABLE)]
    found = audit(frame(raw, (*COLUMNS, "name")), policy(MADE))
    assert found.holds is False
    assert found.verdicts[0].reason == "an identifier is published: name"
    prosecutor = next(f for f in found.findings if f.adversary.startswith("prosecutor"))
    assert (prosecutor.confidence, prosecutor.people, prosecutor.breach) == (1, 5, True)
    homogeneity = next(f for f in found.findings if f.attack == "homogeneity")
    assert (homogeneity.confidence, homogeneity.people, homogeneity.breach) == (1, 5, True)


@pytest.mark.parametrize(
    ("columns", "holds", "sentence"),
    [
        ((*COLUMNS, "name"), False, "an identifier is published"),
        ((*COLUMNS, "extra"), False, "the policy does not declare a column"),
        (COLUMNS[:3], None, "the policy publishes a column that is not there"),
        (COLUMNS[1:], None, "the policy publishes a column that is not there"),
    ],
)
def test_columns_are_compared_with_the_policy(columns, holds, sentence):
    found = audit(frame([{**row, "name": "x", "extra": "y"} for row in TABLE], columns), policy(MADE))
    assert found.holds is holds
    assert [o.sentence for o in found.objections] == [sentence]


def test_what_needs_an_absent_column_is_left_open():
    found = audit(frame(TABLE, (*KEYS, "visits")), policy(MADE))
    assert [v.holds for v in found.verdicts] == [True] + [None] * (len(MADE) - 1)
    assert "disease" in found.verdicts[1].reason
    assert {f.attack for f in found.findings} == {"linkage"}


def test_values_outside_the_taxonomy_leave_the_promise_open():
    rows = [{**row, "disease": "Measles"} for row in TABLE]
    found = audit(frame(rows), policy(MADE))
    assert [v.holds for v in found.verdicts] == [True] + [None] * (len(MADE) - 1)
    assert "Measles" not in json.dumps(found.as_dict())


def test_labels_that_the_taxonomy_cannot_publish_are_reported():
    rule = Policy.from_dict(
        {
            "columns": {
                "job": {
                    "role": "quasi",
                    "taxonomy": {"tree": {"Health": ["Nurse", "Doctor"], "Cook": None}},
                },
                "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10], "from": 0, "to": 100}},
            },
            "promises": [{"k-anonymity": {"k": 1}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )
    rows = [{"job": job, "age": "7"} for job in ("Health", "Nurse", "*", None, "Nurses")]
    found = audit(frame(rows, ("job", "age")), rule)
    [objection] = found.objections
    assert (objection.columns, objection.holds) == (("job",), None)
    assert [v.holds for v in found.verdicts] == [None]
    assert objection.sentence == "1 of 5 texts are no value of the policy's taxonomy"


def test_empty_cells_against_the_policy():
    words = {
        "columns": {"job": {"role": "quasi"}},
        "promises": [{"k-anonymity": {"k": 1}}],
        "protect": {"search": "top-down", "suppress": 0},
        "missing": "refuse",
    }
    found = audit(frame([{"job": None}, {"job": "Cook"}], ("job",)), Policy.from_dict(words))
    assert found.holds is None
    assert [o.columns for o in found.objections] == [("job",)]


def test_rows_prove_only_so_much_about_people():
    made = [{"k-anonymity": {"k": 2}}, *MADE[1:]]
    rule = policy(made, person="who")
    assert [v.holds for v in audit(frame(TABLE), rule).verdicts] == [None] * len(MADE)
    fewer = audit(frame(TABLE[1:]), rule)
    # Too few rows are too few people, also where (α, k)-anonymity asks for k of them.
    assert [v.holds for v in fewer.verdicts] == [False] * 4 + [None, False, None]
    known = [{**row, "who": "the same person"} for row in TABLE]
    seen = audit(frame(known, (*COLUMNS, "who")), rule)
    assert seen.verdicts[0].reason == "an identifier is published: who"
    assert (seen.verdicts[1].holds, seen.verdicts[1].measured) == (False, 1)


def test_several_values_of_one_person_break_what_is_promised_of_them():
    rule = policy(MADE, person="who")
    both = [{**row, "who": who} for row, who in zip(TABLE, "aabbb", strict=True)]
    verdicts = audit(frame(both, (*COLUMNS, "who")), rule).verdicts[1:]
    assert [v.holds for v in verdicts[1:]] == [False] * (len(MADE) - 1)
    about_one = [v for v in verdicts[1:] if "confidence" not in v.promise and "alpha" not in v.promise]
    assert {v.reason for v in about_one} == {
        "2 people have several values of disease, and it protects only who has one"
    }
    assert {v.measured for v in verdicts[1:] if v not in about_one} == {1}, "each is alone with their rows"
    apart = [{**row, "who": f"{row['disease']}{i}"} for i, row in enumerate(TABLE)]
    assert all(v.holds for v in audit(frame(apart, (*COLUMNS, "who")), rule).verdicts[1:])


@pytest.mark.parametrize("rows", [[], TABLE[:1]])
def test_tables_of_nothing_and_of_one_row(rows):
    found = audit(frame(rows).astype(object), policy(MADE))
    assert found.rows == len(rows)
    assert found.holds is (None if not rows else False)
    assert bool(found.breaches) == bool(rows)


def test_the_document_is_json_with_exact_fractions_and_no_cells():
    canaries = [{**row, KEYS[0]: "canary-1", KEYS[1]: "canary-2"} for row in TABLE]
    document = audit(frame(canaries), policy([{"t-closeness": {"of": "disease", "t": "1/7"}}])).as_dict()
    text = json.dumps(document)
    assert "canary" not in text
    assert "Flu" not in text
    [verdict] = document["verdicts"]
    assert (verdict["limit"], verdict["decimals"]["limit"]) == ("1/7", pytest.approx(1 / 7))
    assert verdict["margin"] == str(Fraction(1, 7) - Fraction(verdict["measured"]))
    prosecutor = next(f for f in document["findings"] if f["adversary"].startswith("prosecutor"))
    assert prosecutor["confidence"] == prosecutor["details"]["highest risk"] == "1/5"
    assert (prosecutor["decimals"]["confidence"], prosecutor["decimals"]["highest risk"]) == (0.2, 0.2)


def test_an_undecided_verdict_measured_nothing():
    document = audit(frame(TABLE), policy(MADE, person="who")).as_dict()
    assert [v["holds"] for v in document["verdicts"]] == [None] * len(MADE)
    assert {(v["measured"], v["margin"]) for v in document["verdicts"]} == {(None, None)}


def test_an_audit_prints_its_card_and_has_a_short_repr():
    found = audit(frame(TABLE), policy(MADE))
    title, result, promised, attacked, first, *_ = str(found).splitlines()
    assert title == "All promises hold. No attack succeeds."
    assert result == "  Result: passed."
    assert promised == "  promised  7 promises: 7 hold"
    assert attacked == "  attacked  5 attacks: none succeeds"
    assert first.startswith("  k-anonymity, k = 2")
    assert repr(found) == "Audit(5 rows, holds=True, 0 of 5 attacks succeeded)"


def test_html_and_words_hold_no_cells():
    canaries = [{**row, KEYS[0]: "canary-1"} for row in TABLE]
    found = audit(frame(canaries), policy(MADE))
    assert "canary" not in found._repr_html_()
    assert any("canary-1" in f.values.values() for f in found.findings)


def test_attacks_by_name_and_with_knowledge():
    assert {f.attack for f in audit(frame(TABLE), policy(MADE), attacks=("skewness",)).findings} == {
        "skewness"
    }
    known = Linkage(population={("a", "x"): 100, ("b", "x"): 50})
    findings = audit(frame(TABLE), policy(MADE), attacks=(known,)).findings
    assert next(f for f in findings if f.adversary.startswith("journalist")).confidence == Fraction(1, 50)
    with pytest.raises(UsageError):
        audit(frame(TABLE), policy(MADE), attacks=("telepathy",))


def test_the_policy_sets_what_is_tolerated():
    strict = audit(frame(TABLE), policy([{"k-anonymity": {"k": 3}}]))
    assert {f.adversary.split(":")[0] for f in strict.breaches} == {"prosecutor", "journalist", "marketer"}
    loose = audit(frame(TABLE), policy([{"k-anonymity": {"k": 2}}]))
    assert loose.breaches == ()
    default = audit(frame(TABLE), policy([{"l-diversity": {"of": "disease", "l": 3}}]))
    assert {f.attack for f in default.breaches} == {"linkage", "homogeneity"}


def test_a_file_without_a_header_shows_no_cell():
    with pytest.raises(BadData) as refused:
        audit(frame([{"canary-1": "canary-2"}], ("canary-1",)), policy(MADE))
    assert "canary" not in f"{refused.value}{refused.value.args}"


def test_what_the_promises_tolerate():
    found = policy([*MADE, {"k-anonymity": {"k": 4}}]).promises.limits
    assert found.limit(RECOGNITION) == (Fraction(1, 4), "promised")
    assert found.limit(VALUES, "disease") == (2, "promised")
    assert found.limit(CERTAINTY, "disease") == (Fraction(2, 3), "promised")
    assert found.limit(SHIFT, "disease") == (Fraction(1, 5), "promised")
    assert found.limit(SHIFT, "zip") == (Fraction(1, 2), "default")
    elsewhere = [
        {"t-closeness": {"of": "disease", "t": "1/9", "distance": "ordered"}},
        {"t-closeness": {"of": "disease", "t": "1/9", "reference": {"Flu": 1}}},
    ]
    assert policy(elsewhere).promises.limits.limit(SHIFT, "disease") == (Fraction(1, 2), "default")
