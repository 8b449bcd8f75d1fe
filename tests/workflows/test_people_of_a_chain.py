"""Who may be in the releases of a chain, told by batches or by keys: everybody stays, and shows the same."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.policy import schema
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData, BadPolicy, RefusedByHistory
from sfumato.table.release_summary import RETIRED, Imprint

COLUMNS = {
    "who": {"role": "identifier"},
    "month": {"role": "identifier"},
    "place": {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK", "France"]}}},
    "disease": {"role": "sensitive"},
}
BY_BATCH = {"k": 4, "since": "month"}
BY_KEY = {"k": 4, "person": "who"}


def policy(**keys):
    return {"columns": COLUMNS, "promises": [{"continuous": keys}], "confirm": {"disease": True}}


def table(rows):
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


MAY = [
    (f"{place}{n}{had}", "May", place, had)
    for place in ("UK", "France")
    for had in ("Flu", "HIV")
    for n in range(6)
]
JUNE = [
    (f"{p}{n}{had}x", "June", p, had) for p in ("UK", "France") for had in ("Flu", "HIV") for n in range(3)
]


@pytest.fixture
def go(tmp_path):
    def release(people, keys, name):
        ledger = f"sqlite:///{tmp_path}/l.db"
        return sf.release(table(people), policy(**keys), ledger=ledger, into=tmp_path / name)

    return release


def padded(rows):
    """The rows, with a blank before every key, as a fixed-width export has it."""
    return [(f" {who}", *others) for who, *others in rows]


def test_people_whose_keys_have_other_blanks_now_are_not_taken_for_newcomers(go):
    go(MAY, BY_KEY, "one")
    with pytest.raises(RefusedByHistory, match="24 people of release 1 are not in the table any more"):
        go(padded(MAY), BY_KEY, "two")


def test_one_person_with_two_keys_is_refused_in_a_chain(go):
    with pytest.raises(BadData, match="of the keys of people 1 differ from others"):
        go([*MAY, ("UK0Flu ", *MAY[0][1:])], BY_KEY, "one")


def test_a_chain_whose_keys_always_had_blanks_goes_on(go):
    go(padded(MAY), BY_KEY, "one")
    assert go(padded(MAY + JUNE), BY_KEY, "two").record.sequence == 2


def test_a_changed_taxonomy_is_refused():
    """Values are known again by the tree: another one would take them for others."""
    zips = {"prefix": [2, 1]}
    first = {**COLUMNS, "place": {"role": "quasi", "taxonomy": zips}}
    people = table([(who, when, f"{n % 4}{n % 3}0", had) for n, (who, when, _, had) in enumerate(MAY)])
    given = {"columns": first, "promises": [{"continuous": BY_KEY}]}
    earlier = [sf.protect(people, given).imprint]
    assert sf.protect(people, given, earlier=earlier).verdicts[0].holds
    zips["prefix"] = [2]
    with pytest.raises(RefusedByHistory, match="taxonomy of place has changed"):
        sf.protect(people, given, earlier=earlier)


WORDS = {
    "until": "month",
    "leavers": "counted",
    "returns": True,
    "moves": ["place"],
    "corrected": True,
    "companions": 5,
}
"""What policies said of people who come and go, while that was judged."""


@pytest.mark.parametrize("word", WORDS)
def test_a_word_that_nothing_keeps_any_more_is_refused_with_the_reason(word, sfumato, tmp_path):
    """It was a promise: a policy that says it must not be taken to mean less."""
    given = policy(**BY_KEY, **{word: WORDS[word]})
    with pytest.raises(BadPolicy) as refused:
        Policy.from_dict(given)
    (problem,) = refused.value.problems
    assert problem["key"] == f"promises[0].continuous.{word}"
    assert (problem["message"], problem["remedy"]) == schema.retired_words()[f"continuous.{word}"]
    assert "any more" in problem["message"]
    (tmp_path / "policy.yaml").write_text(json.dumps(given), encoding="utf-8")
    table(MAY).write_csv(tmp_path / "may.csv")
    found = sfumato("protect", f"{tmp_path}/may.csv", "-p", f"{tmp_path}/policy.yaml", "--dry-run")
    assert found.code == 3 and problem["message"] in " ".join(found.err.split())


def test_words_that_are_gone_are_told_from_wrong_ones():
    of_chains = {place for place in schema.retired_words() if place.startswith("continuous.")}
    assert of_chains == {f"continuous.{word}" for word in (*WORDS, "adversary")}
    with pytest.raises(BadPolicy, match="unknown key"):
        Policy.from_dict(policy(**BY_KEY, untill="month"))


@pytest.mark.parametrize("name", RETIRED)
def test_an_imprint_of_what_is_judged_no_more_is_refused(name):
    words = sf.protect(table(MAY), policy(**BY_KEY)).imprint.as_dict()
    assert Imprint.from_dict(words).rows == len(MAY)
    with pytest.raises(BadData, match=r"no longer judged\. Start a new chain") as refused:
        Imprint.from_dict({**words, name: []})
    assert refused.value.exit_code == 3
