"""Chains of groups as their owners meet them: what is released, what is refused, and what is said."""

from __future__ import annotations

import shutil
from collections import Counter

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.releases.base_file import BaseStore
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import notes_of_groups
from sfumato.system.errors import (
    BadData,
    BadLedger,
    Infeasible,
    LedgerConflict,
    RefusedByHistory,
    UsageError,
)
from sfumato.table.base import PERSON
from sfumato.table.known_rows import hashes_of_people
from workflows.groups_chain import bases, last_base, release, rows
from workflows.visitors import COLUMNS, FIRST, RETURNED, SECOND, policy, table, visits

__all__ = ["release"]

# -- what is released ------------------------------------------------------------------------------------


def test_newcomers_join_those_who_were_there_and_who_returns_gets_a_bare_row(release):
    first = release(table(FIRST), policy(by="day"))
    second = release(table(FIRST, RETURNED, SECOND), policy(by="day"))
    assert not rows(first) - rows(second)
    added = rows(second) - rows(first)
    bare = [dict(row) for row in added.elements() if dict(row)["bare_row"] == "yes"]
    assert {(row["illness"], row["nights"]) for row in bare} == {("", "")}
    figures = second.record.figures
    assert (figures["newcomers"], figures["bare rows"]) == (20, len(bare))
    assert len(bare) + figures.get("rows not shown", 0) == 8
    said = str(second)
    assert "20 people are new" in said
    assert "(bare_row): without any column that is published unchanged" in said
    assert "values of 8 further rows are not shown" in said
    assert "holds" in said and "earlier rows stay as they were published" in said


def test_the_same_table_again_changes_nothing(release):
    first = release(table(FIRST), policy(by="day"))
    again = release(table(FIRST[::-1]), policy(by="day"))
    assert (first.folder / "data.csv").read_bytes() == (again.folder / "data.csv").read_bytes()
    assert "nobody is new" in str(again)


def test_whoever_leaves_stays_in_the_table(release):
    first = release(table(FIRST), policy(by="day"))
    second = release(table(FIRST[10:]), policy(by="day"))
    assert rows(first) == rows(second)
    assert "10 people of earlier releases are not in this table and stay in it" in str(second)
    third = release(table(visits(range(500, 502), 3)), policy(by="day"))
    assert rows(first) == rows(third)
    assert "2 people wait for more newcomers" in str(third)


def test_groups_of_whoever_leaves_are_withheld_for_good(release):
    words = policy(by="day", leavers="withheld")
    first = release(table(FIRST), words)
    second = release(table(FIRST[4:]), words)
    gone = rows(first) - rows(second)
    assert not rows(second) - rows(first)
    assert 4 <= gone.total() < 40
    assert "shown no more, with everybody in them" in str(second)
    third = release(table(FIRST), words)
    assert rows(third) == rows(second), "who returns stays withheld"
    with pytest.raises(Infeasible, match="would show nothing") as refused:
        release(table(visits([900], 3)), words)
    assert "leavers: linger" in refused.value.remedy


def test_increments_show_what_is_new_alone(release):
    words = policy(by="day", shows="newcomers")
    release(table(FIRST), words)
    second = release(table(FIRST, RETURNED, SECOND), words)
    first_rows = [dict(row) for row in rows(second).elements() if dict(row)["bare_row"] == "no"]
    assert len(first_rows) == 20 - second.record.figures["suppressed"]
    boxes = {(row["age"], row["town"]) for row in first_rows}
    others = Counter(
        (r["age"], r["town"]) for r in map(dict, rows(second).elements()) if r["bare_row"] == "yes"
    )
    assert all(box in boxes or count >= 3 for box, count in others.items())
    with pytest.raises(Infeasible, match="would show nothing"):
        release(table(FIRST, RETURNED, SECOND), words)


def test_a_release_waits_for_as_many_newcomers_as_the_policy_says(release):
    words = policy(by="day", hold=30)
    with pytest.raises(Infeasible, match="20 people come first, and a release waits for 30"):
        release(table(SECOND), words)
    release(table(FIRST), words, into="a")
    waiting = release(table(FIRST, SECOND), words, into="b")
    assert waiting.record.figures["newcomers"] == 0
    more = release(table(FIRST, SECOND, visits(range(200, 212), 3)), words, into="c")
    assert more.record.figures["newcomers"] == 32


def test_further_rows_may_be_withheld(release):
    words = policy(by="day", again="withheld")
    release(table(FIRST), words)
    second = release(table(FIRST, RETURNED), words)
    assert all(dict(row)["bare_row"] == "no" for row in rows(second))
    assert "values of 8 further rows are not shown" in str(second)


def test_a_row_that_changed_stays_as_it_was(release):
    first = release(table(FIRST), policy())
    moved = [{**row, "age": 79 - row["age"]} for row in FIRST[:3]]
    second = release(table(moved, FIRST[3:]), policy())
    assert rows(second) == rows(first)
    assert "3 rows changed, and stay as they were published" in str(second)


# -- batches ---------------------------------------------------------------------------------------------


def batches(*parts):
    return (
        table(*parts)
        .drop("person", "day")
        .with_columns(batch=pl.Series([number for number, part in enumerate(parts) for _ in part]))
    )


def policy_of_batches(**chain):
    words = policy(person=None, **chain)
    columns = {name: rule for name, rule in COLUMNS.items() if name not in ("person", "day")}
    return {**words, "columns": {"batch": {"role": "identifier"}, **columns}}


def test_batches_tell_who_is_new(release):
    first = release(batches(FIRST), policy_of_batches(since="batch"), warn=pytest.fail)
    second = release(batches(FIRST, SECOND), policy_of_batches(since="batch"))
    assert second.record.figures["newcomers"] == 20
    assert not rows(first) - rows(second)
    late = release(batches(FIRST + FIRST[:3], SECOND), policy_of_batches(since="batch"))
    assert rows(late) == rows(second)
    assert "3 rows came too late" in str(late)


def test_every_row_has_a_batch(release):
    data = batches(FIRST).with_columns(batch=pl.when(pl.col("age") < 40).then("batch"))
    lacking = data["batch"].null_count()
    with pytest.raises(BadData, match=f"{lacking} rows name no batch"):
        release(data, policy_of_batches(since="batch"))


def test_a_chain_goes_on_only_where_something_tells_who_is_who(release):
    words = policy_of_batches()
    release(batches(FIRST), words)
    with pytest.raises(RefusedByHistory, match="nothing tells who is in earlier releases") as refused:
        release(batches(FIRST, SECOND), words)
    assert "person: COLUMN" in refused.value.remedy
    assert "since: COLUMN" in refused.value.remedy


# -- rehearsals ------------------------------------------------------------------------------------------


def test_a_rehearsal_draws_the_coins_of_the_release(release):
    rehearsed = sf.release(table(FIRST), policy(by="day"), ledger=release.url, dry_run=True)
    assert not rehearsed.published
    assert not (release.folder / "ledger.db").exists()
    release(table(FIRST), policy(by="day"))
    before = bases(release)
    data = table(FIRST, RETURNED, SECOND)
    rehearsed = sf.release(data, policy(by="day"), ledger=release.url, dry_run=True)
    assert bases(release) == before
    assert release(data, policy(by="day")).record.figures == rehearsed.record.figures


def test_what_does_not_go_together_is_refused(release):
    words = policy(by="day")
    first = release(table(FIRST), words)
    with pytest.raises(UsageError, match="takes over no earlier plan"):
        release(table(FIRST), words, reuse_plan=first.folder / "certificate.json")
    assert release(table(FIRST), words, to="lab").record.recipient == "lab"


# -- chains of another kind ------------------------------------------------------------------------------


def by_cuts(words):
    stays = {name: word for name, word in words.items() if name not in ("chain", "person")}
    cuts = {"promises": [{"continuous": {"k": 3, "person": "person"}}], "protect": {"suppress": 0}}
    return {**stays, **cuts, "confirm": {"illness": True}}


def test_a_chain_is_of_one_kind(release):
    plain = {name: word for name, word in policy().items() if name not in ("chain", "person")}
    release(table(FIRST), plain, to="lab")
    with pytest.raises(RefusedByHistory, match="are no groups of people"):
        release(table(FIRST), {**plain, "chain": {}})
    release(table(SECOND), policy(by="day"), chain="groups", ignore_chains=["main"])
    with pytest.raises(RefusedByHistory, match="chain groups is one of groups, and goes on as one alone"):
        release(table(SECOND), by_cuts(policy()), chain="groups", ignore_chains=["main"])


def test_two_chains_have_a_base_each(release):
    release(table(FIRST), policy(by="day"), chain="a")
    release(table(SECOND), policy(by="day"), chain="b")
    for chain in "ab":
        release(table(FIRST if chain == "a" else SECOND), policy(by="day"), chain=chain)
    assert len(bases(release)) == 2
    with pytest.raises(RefusedByHistory, match="chain a of this ledger has"):
        release(table(FIRST), policy(by="day"), chain="b")


def test_nothing_is_held_against_releases_of_groups_but_files(release):
    words = policy(by="day")
    release(table(FIRST), words)
    second = release(table(FIRST, RETURNED, SECOND), words)
    file = second.folder / "data.csv"
    with pytest.raises(RefusedByHistory, match="leave no imprint"):
        sf.protect(table(FIRST), words, against=release.url)
    audit = sf.audit(file, words, against=release.url)
    assert "leave no imprint" in str(audit.as_dict())
    with pytest.raises(UsageError, match="leave no imprint"):
        sf.attack("composition", file, words, against=release.url)


def test_a_file_with_bare_rows_is_audited_by_its_other_rows(release):
    words = policy(by="day")
    release(table(FIRST), words)
    second = release(table(FIRST, RETURNED, SECOND), words)
    audit = sf.audit(second.folder / "data.csv", words)
    assert audit.holds is True
    assert {verdict.holds for verdict in audit.verdicts} == {True}


def test_certificate_and_dictionary_say_what_rows_are(release):
    release(table(FIRST), policy(by="day"))
    second = release(table(FIRST, RETURNED, SECOND), policy(by="day"))
    for name in ("certificate.json", "dictionary.json", "dictionary.html"):
        text = (second.folder / name).read_text(encoding="utf-8")
        assert "Rows that bare_row marks with yes are further rows of people who have a row already" in text
    public = (second.folder / "certificate.json").read_text() + (second.folder / "manifest.json").read_text()
    assert not any(word in public for word in ("newcomers", "left", "waiting"))


# -- the base --------------------------------------------------------------------------------------------


def test_one_base_is_kept_and_a_release_that_fails_leaves_none(release):
    release(table(FIRST), policy(by="day"))
    before = bases(release)

    def refuse(*_):
        raise RefusedByHistory("made up")

    with pytest.raises(RefusedByHistory, match="made up"):
        release(table(FIRST, SECOND), policy(by="day"), checks=[refuse])
    assert bases(release) == before
    release(table(FIRST, SECOND), policy(by="day"))
    assert len(bases(release)) == 1
    assert bases(release) != before


def test_a_base_that_was_lost_or_changed_ends_the_chain(release):
    release(table(FIRST), policy(by="day"))
    (path,) = (release.folder / "ledger.db.bases").iterdir()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"x")
    with pytest.raises(BadLedger, match="was changed"):
        release(table(FIRST, SECOND), policy(by="day"))
    path.unlink()
    with pytest.raises(BadLedger, match="is not beside the ledger") as refused:
        release(table(FIRST, SECOND), policy(by="day"))
    assert "backup" in refused.value.remedy
    assert refused.value.exit_code == 3
    path.write_bytes(content)
    release(table(FIRST, SECOND), policy(by="day"))


def test_a_chain_that_went_on_meanwhile_is_a_conflict(release, monkeypatch):
    release(table(FIRST), policy(by="day"))
    ledger, opened = Ledger(release.url), BaseStore.open

    def meanwhile(store, memory):
        monkeypatch.setattr(BaseStore, "open", opened)
        release(table(FIRST, SECOND), policy(by="day"))
        return opened(store, memory)

    monkeypatch.setattr(BaseStore, "open", meanwhile)
    with pytest.raises(LedgerConflict, match="went on while this release was planned"):
        release(table(FIRST, RETURNED), policy(by="day"))
    assert len(ledger.history()) == 2


def test_a_chain_goes_on_after_another_key_and_from_a_backup(release):
    from sfumato.releases.ledger.backup import backup, restore

    release(table(FIRST), policy(by="day"))
    Ledger(release.url).rotate()
    second = release(table(FIRST, SECOND), policy(by="day"))
    backup(Ledger(release.url), release.folder / "backup.db")
    key = release.folder / "copy.db.key"
    shutil.copy(release.folder / "ledger.db.key", key)
    restore(release.folder / "backup.db", f"sqlite:///{release.folder}/copy.db", key=key)
    data, into = table(FIRST, SECOND, visits(range(300, 320), 3)), release.folder / "third"
    third = sf.release(data, policy(by="day"), ledger=f"sqlite:///{release.folder}/copy.db", into=into)
    assert not rows(second) - rows(third)


# -- erasure ---------------------------------------------------------------------------------------------


def test_whoever_is_erased_leaves_the_base_and_takes_the_group_out(release):
    release(table(FIRST), policy(by="day"))
    second = release(table(FIRST, RETURNED, SECOND), policy(by="day"))
    before = bases(release)
    report = sf.erase(["p5", "p7"], ledger=release.url)
    assert "the next release shows" in str(report)
    assert "a keyed mark keeps them out if they come back: tell them" in str(report)
    assert bases(release) != before
    assert len(bases(release)) == 1
    base = last_base(release)
    gone = set(hashes_of_people(["p5", "p7"]).to_pylist())
    assert not gone & set(base.rows.column(PERSON).to_pylist())
    assert 1 <= len(base.withheld) <= 2
    assert Ledger(release.url).verify().holds
    left = [row for row in FIRST + RETURNED + SECOND if row["person"] not in ("p5", "p7")]
    third = release(table(left), policy(by="day"))
    assert not rows(third) - rows(second)
    assert (rows(second) - rows(third)).total() >= 3
    with pytest.raises(UsageError, match="nothing that the ledger keeps"):
        sf.erase(["p5"], ledger=release.url)


@pytest.mark.parametrize("forget", [False, True])
def test_whoever_is_erased_and_returns_stays_out_unless_nobody_is_to_know_them(release, forget):
    release(table(FIRST), policy(by="day"))
    sf.erase(["p5"], ledger=release.url, forget=forget)
    again = release(table(FIRST, SECOND), policy(by="day"))
    erased = set(hashes_of_people(["p5"]).to_pylist()) & set(last_base(release).rows[PERSON].to_pylist())
    assert bool(erased) is forget
    assert again.record.figures.get("rows of erased people", 0) == (0 if forget else 1)
    assert ("of people who were erased" in str(again)) is not forget


def test_an_erasure_that_finds_nobody_leaves_the_base(release):
    release(table(FIRST), policy(by="day"))
    before = bases(release)
    with pytest.raises(UsageError, match="nothing that the ledger keeps"):
        sf.erase(["p0", "stranger"], ledger=release.url)
    assert bases(release) == before
    last_base(release)


def test_nobody_can_be_found_where_batches_tell_people(release):
    words = policy_of_batches(since="batch")
    release(batches(FIRST), words)
    with pytest.raises(UsageError, match="tells nobody apart") as refused:
        sf.erase(rows=[3], ledger=release.url, data=batches(FIRST), policy=words)
    assert "ledger retire main" in refused.value.remedy


def test_a_chain_that_is_retired_keeps_no_base(release):
    from sfumato.releases.ledger.erasure import retire

    release(table(FIRST), policy(by="day"))
    retire(Ledger(release.url), "main")
    assert bases(release) == []
    with pytest.raises(RefusedByHistory, match="closed"):
        release(table(FIRST), policy(by="day"))


def test_memory_tells_where_the_base_is_and_nothing_else(release):
    release(table(FIRST), policy(by="day"))
    (record,) = Ledger(release.url).history()
    notes = notes_of_groups(record.memory)
    assert notes is not None
    assert set(notes) == {"kind", "base", "key"}
    assert [notes["base"]] == bases(release)
    assert np.array(last_base(release).is_bare).sum() == 0
