"""The chain with dataframes: protect, keep the imprint, protect again beside it."""

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.policy.policy import Policy
from sfumato.system.errors import BadData, BadPolicy, DeferredRelease, RefusedByHistory, UsageError
from sfumato.table.release_summary import Imprint
from sfumato.workflows import chain_check

pytestmark = pytest.mark.slow

WORDS = {
    "columns": {
        "id": {"role": "identifier"},
        "month": {"role": "identifier"},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [4, 3, 2]}},
        "sex": {"role": "quasi"},
        "disease": {"role": "sensitive"},
        "ward": {"role": "insensitive"},
    },
    "promises": [{"continuous": {"k": 4, "since": "month"}}],
    "protect": {"search": "top-down", "suppress": 0, "loss": "discernibility"},
    "confirm": {"disease": True},
}


def people(months, *, seed=0, each=60):
    rng = np.random.default_rng(seed)
    size = each * len(months)
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(size)],
            "month": np.repeat(months, each),
            "zip": [f"{z:05d}" for z in rng.integers(10, 60, size) * 997 % 100000],
            "sex": rng.choice(["f", "m"], size),
            "disease": rng.choice(["flu", "cold", "TB"], size, p=[0.6, 0.3, 0.1]),
            "ward": rng.choice(["A", "B"], size),
        }
    )


EVERYBODY = people(["2026-01", "2026-02", "2026-03"])


def upto(month):
    return EVERYBODY.filter(pl.col("month") <= month)


def test_three_months_one_after_the_other(tmp_path):
    first = sf.protect(upto("2026-01"), WORDS)
    file = tmp_path / "first.json"
    file.write_text(first.imprint.to_json(), encoding="utf-8")
    second = sf.protect(upto("2026-02"), WORDS, earlier=[file])
    third = sf.protect(upto("2026-03"), WORDS, earlier=[first.imprint, second.imprint])
    for plan in (first, second, third):
        assert [v.holds for v in plan.verdicts] == [True]
        safe = plan.apply(EVERYBODY.filter(pl.col("month") <= plan_month(plan)))
        assert set(safe.columns) == {"zip", "sex", "disease", "ward"}
    found = sf.attack.correspondence([first.imprint, second.imprint], WORDS)
    assert found.holds and found.FA >= 4 and found.BA >= 4
    assert second.verdicts[0].measured <= found.FA
    more = sf.attack.correspondence([p.imprint for p in (first, second, third)], WORDS, method="refined")
    assert more.least >= 4


def plan_month(plan):
    return {60: "2026-01", 120: "2026-02", 180: "2026-03"}[plan.rows]


def test_separate_releases_are_not_safe():
    words = {**WORDS, "promises": [{"k-anonymity": {"k": 4}}, {"continuous": {"k": 1, "since": "month"}}]}
    more = pl.concat([upto("2026-01"), people(["2026-02"], seed=1, each=8)])
    alone = [sf.protect(table, words).imprint for table in (upto("2026-01"), more)]
    found = sf.attack.correspondence(alone, WORDS)
    assert found.holds is False and found.BA < 4
    assert sf.protect(more, WORDS, earlier=alone[:1]).verdicts[0].measured >= 4


def test_the_imprint_holds_no_value_of_the_data():
    text = sf.protect(upto("2026-01"), WORDS).imprint.to_json()
    kept = json.loads(text)
    for value in ("flu", "2026", "ward A", *EVERYBODY["zip"].unique()):
        assert value not in text.replace(kept["policy"], "")


def test_old_rows_must_not_change():
    first = sf.protect(upto("2026-01"), WORDS).imprint
    changed = upto("2026-02").with_columns(ward=pl.lit("A"))
    with pytest.raises(RefusedByHistory, match="do not reproduce"):
        sf.protect(changed, WORDS, earlier=[first])


def test_a_small_batch_waits():
    first = sf.protect(upto("2026-01"), WORDS).imprint
    few = pl.concat([upto("2026-01"), people(["2026-02"], seed=1, each=3)])
    with pytest.raises(RefusedByHistory, match="3 people are new") as caught:
        sf.protect(few, WORDS, earlier=[first])
    assert caught.value.exit_code == 5
    hold = {**WORDS, "promises": [{"continuous": {"k": 4, "since": "month", "hold": True}}]}
    with pytest.raises(DeferredRelease):
        sf.protect(few, hold, earlier=[first])


def test_a_new_chain_can_be_started():
    later = EVERYBODY.filter(pl.col("month") > "2026-01")
    assert sf.protect(later, WORDS).verdicts[0].holds


def test_policies_that_a_chain_cannot_follow():
    first = sf.protect(upto("2026-01"), WORDS).imprint
    with pytest.raises(UsageError, match="no promise"):
        sf.protect(upto("2026-01"), {**WORDS, "promises": [{"k-anonymity": {"k": 2}}]}, earlier=[first])
    for change, said in (
        ({"protect": {"suppress": 0, "search": "mondrian"}}, "cannot keep it"),
        ({"protect": {"suppress": 0, "search": "lattice"}}, "cannot keep it"),
        ({"protect": {"search": "top-down", "price": "none", "suppress": "1/10"}}, "suppress"),
        ({"promises": [{"continuous": {"k": 4, "since": "zip"}}]}, "must not be published"),
        ({"promises": [{"continuous": {"k": 4, "since": "week"}}]}, "no column"),
        ({"promises": [{"continuous": {"k": 4, "hold": 1}}]}, "true or false"),
        ({"promises": [{"continuous": {"k": 4, "since": "month", "person": "id"}}]}, "not both"),
        ({"promises": [{"continuous": {"k": 4, "person": "zip"}}]}, "must not be published"),
    ):
        with pytest.raises(BadPolicy, match=said):
            Policy.from_dict({**WORDS, **change})


BY_PERSON = {**WORDS, "promises": [{"continuous": {"k": 4, "person": "id"}}]}


def test_people_may_be_told_apart_by_a_key():
    """Whoever was there is old, whatever their batch says; nobody is guessed to be."""
    first = sf.protect(upto("2026-01"), BY_PERSON)
    second = sf.protect(upto("2026-02"), BY_PERSON, earlier=[first.imprint])
    by_month = sf.protect(upto("2026-01"), WORDS)
    also = sf.protect(upto("2026-02"), WORDS, earlier=[by_month.imprint])
    assert second.cuts == also.cuts and second.verdicts[0].measured == also.verdicts[0].measured
    for change, error, said in (
        (pl.col("id").replace({"p61": "p60"}), BadData, "1 people have several rows"),
        (pl.when(pl.col("id") != "p70").then("id"), BadData, "1 rows do not say who"),
        (pl.col("id").replace({"p3": "someone"}), RefusedByHistory, "1 people of release 1 are not in"),
    ):
        with pytest.raises(error, match=said):
            sf.protect(upto("2026-02").with_columns(id=change), BY_PERSON, earlier=[first.imprint])


def test_a_row_without_a_batch_is_refused():
    blank = pl.when(pl.col("id") != "p70").then("month")
    with pytest.raises(BadData, match="1 rows do not say which batch"):
        sf.protect(upto("2026-02").with_columns(month=blank), WORDS)


def test_every_release_to_everybody_counts():
    """Versions for two recipients are two releases: the second is made beside the first, and a third that
    is shown only one of them is refused."""
    for_one = sf.protect(upto("2026-01"), WORDS).imprint
    for_other = sf.protect(upto("2026-01"), WORDS, earlier=[for_one]).imprint
    assert for_other.after == (for_one.digest,)
    assert Imprint.from_json(for_other.to_json()).digest == for_other.digest
    sf.protect(upto("2026-02"), WORDS, earlier=[for_one, for_other])
    for history in ([for_other], [for_other, for_one]):
        with pytest.raises(RefusedByHistory, match="1 of them are not given") as caught:
            sf.protect(upto("2026-02"), WORDS, earlier=history)
        assert caught.value.exit_code == 5


def test_who_was_held_back_comes_with_the_next_batch():
    hold = {**WORDS, "promises": [{"continuous": {"k": 4, "since": "month", "hold": True}}]}
    first = sf.protect(upto("2026-01"), hold).imprint
    few = pl.concat([upto("2026-01"), people(["2026-02"], seed=1, each=3)])
    with pytest.raises(DeferredRelease, match="until 1 more"):
        sf.protect(few, hold, earlier=[first])
    enough = pl.concat([few, people(["2026-03"], seed=2, each=3)])
    second = sf.protect(enough, hold, earlier=[first])
    assert second.rows == 66 and second.verdicts[0].measured >= 4
    assert len(second.imprint.batches) == 3


def test_a_chain_made_of_everything_that_a_policy_can_ask():
    """k-anonymity, l-diversity, freeform and continuous, with survivors, in one run."""
    words = {
        **WORDS,
        "columns": {
            **WORDS["columns"],
            "sex": {"role": "free", "taxonomy": {"tree": {"either": ["f", "m"]}}, "sensitive": ["f"]},
        },
        "promises": [
            {"k-anonymity": {"k": 6}},
            {"l-diversity": {"of": "disease", "l": 2}},
            {"freeform": {"threat": "4/5"}},
            {"continuous": {"k": 4, "since": "month", "survivors": True}},
        ],
    }
    first = sf.protect(upto("2026-01"), words)
    second = sf.protect(upto("2026-02"), words, earlier=[first.imprint])
    assert [v.holds for v in second.verdicts] == [True] * 4 and second.smallest >= 6
    assert second.classes > 1
    found = sf.attack.correspondence([first.imprint, second.imprint], words)
    assert found.holds


def test_the_policy_writes_itself():
    words = {**WORDS, "promises": [{"continuous": {"k": 4, "since": "month", "survivors": True}}]}
    policy = Policy.from_dict(words)
    assert policy.to_dict()["promises"] == words["promises"]
    first = sf.protect(upto("2026-01"), policy)
    assert first.policy.digest == policy.digest


def test_a_first_release_is_published_and_judged_again(tmp_path):
    from sfumato.workflows.protect_file import protect_file

    _, verdicts = protect_file(upto("2026-01"), WORDS, tmp_path / "first.csv")
    assert [v.holds for v in verdicts] == [True]


def test_a_later_release_is_not_decided_by_its_file_alone(tmp_path):
    from sfumato.inputs import bind_earlier
    from verify.both import recheck

    first = sf.protect(upto("2026-01"), WORDS).imprint
    plan = sf.protect(upto("2026-02"), WORDS, earlier=[first])
    file = tmp_path / "second.csv"
    plan.apply(upto("2026-02")).write_csv(file)
    [verdict] = recheck(file, bind_earlier(Policy.from_dict(WORDS), [first]))
    assert verdict.holds is None and "earlier releases" in verdict.reason


MONTHS = ("2026-01", "2026-02", "2026-03")


def kept_in(folder):
    return f"sqlite:///{folder}/ledger.db"


def released(month, folder):
    return sf.release(upto(month), WORDS, ledger=kept_in(folder), into=folder / month)


def test_what_is_signed_is_what_is_left_beside_the_earlier_releases(tmp_path):
    """Not the smallest class of the file alone."""
    for month in MONTHS:
        record = released(month, tmp_path).record
    [told] = record.verdicts
    least = min(record.figures["FA"], record.figures["BA"])
    assert told["measured"] == least < sf.protect(upto(MONTHS[-1]), WORDS).verdicts[0].measured
    assert told["reason"] == "beside 2 earlier releases" and told["margin"] == str(least - 4)
    signed = json.loads((tmp_path / MONTHS[-1] / "certificate.json").read_text(encoding="utf-8"))
    assert json.dumps(told["measured"]) in json.dumps(signed)
    [kept] = [r for r in sf.Ledger(kept_in(tmp_path), readonly=True).history("main") if r.sequence == 3]
    assert kept.verdicts == [told]


def test_a_file_beside_a_ledger_is_told_the_same(tmp_path):
    from sfumato.workflows.protect_file import protect_file

    for month in MONTHS[:2]:
        released(month, tmp_path)
    ledger = kept_in(tmp_path)
    _, [verdict] = protect_file(upto(MONTHS[2]), WORDS, tmp_path / "third.csv", against=ledger)
    found = sf.audit(tmp_path / "third.csv", WORDS, against=ledger)
    assert verdict.holds and found.verdicts[0].measured == verdict.measured


def test_what_the_tables_leave_open_is_said(tmp_path, monkeypatch):
    """The plan proved it on the data; the judge, who has no patience here and takes over nothing, cannot."""
    for month in MONTHS[:2]:
        released(month, tmp_path)
    monkeypatch.setattr(chain_check, "proved_releases", lambda history, *_: (None,) * len(history))
    monkeypatch.setattr("sfumato.models.continuous.evidence.WORK", 0)
    monkeypatch.setattr("sfumato.verify.chain.worlds.sums_of_components", lambda e: 0 * e.component)
    record = released(MONTHS[2], tmp_path).record
    [told] = record.verdicts
    assert told["holds"] is True and record.figures["open"] > 0
    assert "proved on the data" in told["reason"] and "not settled from the tables alone" in told["reason"]
