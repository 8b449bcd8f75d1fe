"""Versions for recipients of a chain of groups: each is the base, a little coarser, and does not change."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.recipients.marks import marks_of_chain
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.errors import BadPolicy, BrokenPromise
from sfumato.table.base import GROUP, HOME, PERSON, Base
from sfumato.table.known_rows import hashes_of_people
from workflows.groups_chain import release, rows

__all__ = ["release"]

TO = ("alpha", "beta", "gamma")
PEOPLE = sf.demo.hospital(600)


def policy(**more):
    words = sf.demo.policy().to_dict()
    promises = [promise for promise in words["promises"] if "t-closeness" not in promise]
    return {**words, "promises": promises, "person": "patient_id", "chain": {}, **more}


def chain_of(release):
    with Ledger(release.url) as ledger:
        return marks_of_chain(ledger, "main")


def keys_away(cells):
    """Rows without quasi-identifiers, as often as they occur."""
    left = Counter()
    for row, count in cells.items():
        left[tuple((name, cell) for name, cell in row if name in ("disease", "bare_row"))] += count
    return left


def test_everybody_named_gets_a_version_that_loses_at_most_a_tenth_more(release):
    event = release(PEOPLE, policy(), to=TO)
    assert [receipt.record.recipient for receipt in event.receipts] == list(TO)
    files = [rows(receipt) for receipt in event.receipts]
    assert len({tuple(sorted(file.items())) for file in files}) == 3
    assert len({tuple(sorted(keys_away(file).items())) for file in files}) == 1
    base = event.receipts[0].record.figures["loss of the base"]
    for receipt in event.receipts:
        figures = receipt.record.figures
        assert base < figures["loss"] <= 1.1 * base
        assert figures["marked rows"] > 0.4 * figures["rows"]
        assert "every group shows what the base shows, or less" in str(receipt)
        assert "carry a mark" in str(receipt)
    assert chain_of(release).base.releases == 1


def test_later_versions_have_the_earlier_rows_as_they_were(release):
    first = release(PEOPLE.head(300), policy(), to=TO[:2])
    again = pl.concat([PEOPLE.head(20), PEOPLE.slice(300)])
    second = release(again, policy(), to=TO)
    for name in TO[:2]:
        assert not rows(first[name]) - rows(second[name])
        assert "earlier rows stay as they were published" in str(second[name])
    assert "earlier rows stay" not in str(second["gamma"]), "gamma has no earlier rows"
    late = release(again, policy(), to="delta")
    assert len(rows(late)) > 0
    assert sum(rows(late).values()) == sum(rows(second["alpha"]).values())
    with Ledger(release.url) as ledger:
        assert len({record.marks for record in ledger.history("main")}) == 1


def test_bare_rows_show_the_box_of_their_group_in_every_version(release):
    words = policy(person={"column": "patient_id", "by": "admitted"})
    release(PEOPLE.head(300), words, to=TO[:2])
    again = PEOPLE.head(150).with_columns(admitted=pl.lit("2025-12"))
    event = release(pl.concat([again, PEOPLE.slice(300)]), words, to=TO[:2])
    for receipt in event.receipts:
        assert receipt.record.figures["bare rows"] > 50
    chain = chain_of(release)
    version = chain.version("alpha")
    boxes = {name: version.rows.column(name).to_pylist() for name in version.keys}
    shown = {}
    for place, group in enumerate(version.numbers(GROUP).tolist()):
        box = tuple(cells[place] for cells in boxes.values())
        assert shown.setdefault(group, box) == box


def test_who_is_not_named_gets_the_base_and_is_told_so(release):
    receipt = release(PEOPLE, policy(recipients={}))
    assert "no recipient is named: whoever has this table has one without marks" in str(receipt)
    assert "marked rows" not in receipt.record.figures
    plain = release(PEOPLE, policy())
    assert "without marks" not in str(plain)
    assert rows(plain) == rows(receipt)


def test_a_rehearsal_draws_the_versions_of_the_release(release):
    release(PEOPLE.head(300), policy(), to=TO)
    rehearsed = sf.release(PEOPLE, policy(), ledger=release.url, to=TO, dry_run=True)
    assert rehearsed.capacity["marked"] == rehearsed["alpha"].record.figures["marked groups"]
    event = release(PEOPLE, policy(), to=TO)
    for name in TO:
        assert rehearsed[name].record.figures == event[name].record.figures


def test_the_key_of_marks_lasts_when_the_ledger_gets_another(release):
    release(PEOPLE.head(300), policy(), to=TO[:2])
    before = chain_of(release)
    with Ledger(release.url) as ledger:
        ledger.rotate()
    event = release(PEOPLE, policy(), to=TO[:2])
    after = chain_of(release)
    assert after.commitment == before.commitment == event["alpha"].record.marks
    count = len(before.base.marks)
    assert (after.symbols("alpha")[:count] == before.symbols("alpha")).all()
    certificate = json.loads((event["alpha"].folder / "certificate.json").read_text())
    assert certificate["entry"]["body"]["marks"] == before.commitment


@pytest.mark.parametrize(("column", "cells"), [("disease", None), ("sex", "female"), ("zip", "*")])
def test_a_version_that_is_not_the_base_is_not_released(release, monkeypatch, column, cells):
    """Values of other groups, another box, and boxes of rows that are not those of their group."""
    plain = Base.raised

    def wrong(base, symbols):
        version = plain(base, symbols)
        table, place = version.rows, version.rows.schema.get_field_index(column)
        texts = table.column(column).to_pylist()
        if cells is None:
            texts = texts[1:] + texts[:1]
        else:
            texts[next(i for i, text in enumerate(texts) if text not in ("*", cells))] = cells
        kind = table.schema.field(column)
        return replace(version, rows=table.set_column(place, kind, pa.array(texts, kind.type)))

    monkeypatch.setattr(Base, "raised", wrong)
    with pytest.raises(BrokenPromise, match="nothing was published"):
        release(PEOPLE, policy(), to=TO)


def test_columns_that_follow_are_raised_last(release):
    release(PEOPLE, policy(follows={"job": "zip", "income": ["zip", "sex"]}), to=TO)
    marks = chain_of(release).base.marks
    plain = Counter(marks["first_column"].to_pylist() + marks["second_column"].to_pylist())
    assert plain["job"] + plain["income"] < sum(plain.values()) / 2


def test_columns_that_an_unchanged_one_tells_are_raised_last(release):
    release(PEOPLE, policy(follows={"job": "disease", "income": "disease", "zip": "name"}), to=TO)
    marks = chain_of(release).base.marks
    plain = Counter(marks["first_column"].to_pylist() + marks["second_column"].to_pylist())
    assert plain["job"] + plain["income"] < sum(plain.values()) / 2 and plain["zip"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"recipients": {"by": "patterns"}}, "in a chain of groups versions differ by marks"),
        ({"recipients": {"frame-proof": 2}}, "has to know a coin for every group"),
        ({"recipients": {"tolerance": "2000%"}}, "up to 10"),
        ({"recipients": {"error": 2}}, "must be a chance"),
        ({"recipients": {"by": "marks"}, "chain": None}, "versions differ by marks in a chain of groups"),
        ({"recipients": {"collusion": 3}, "chain": None}, "it is of versions by marks"),
        ({"follows": {"town": "zip"}}, "there is no column town"),
        ({"follows": {"zip": "zip"}}, "does not follow from itself"),
    ],
)
def test_what_marks_do_not_go_with(words, reason):
    wanted = {name: word for name, word in policy(**words).items() if word is not None}
    with pytest.raises(BadPolicy, match=reason):
        sf.protect(PEOPLE, wanted)


def test_values_of_two_members_may_be_swapped(release, tmp_path):
    """Whose value is whose has no say: marks, symbols and every file of both tables are the same."""
    event = release(PEOPLE, policy(), to=TO)
    chain = chain_of(release)
    place = {person: row for row, person in enumerate(hashes_of_people(PEOPLE["patient_id"]).to_pylist())}
    home, illness = chain.base.numbers(HOME), chain.base.rows["disease"].to_pylist()
    people = chain.base.rows[PERSON].to_pylist()
    one, other = next(
        (i, j) for i, j in combinations(range(40), 2) if home[i] == home[j] and illness[i] != illness[j]
    )
    diseases = PEOPLE["disease"].to_list()
    first, second = place[people[one]], place[people[other]]
    diseases[first], diseases[second] = diseases[second], diseases[first]
    swapped = PEOPLE.with_columns(disease=pl.Series(diseases))
    key = Path(shutil.copy(next(release.folder.glob("*.key")), tmp_path / "other.key"))
    url = f"sqlite:///{tmp_path}/other.db"
    again = sf.release(swapped, policy(), ledger=url, key=key, into=tmp_path / "swapped", to=TO)
    for name in TO:
        there, here = (part[name].folder / "data.csv" for part in (again, event))
        assert there.read_bytes() == here.read_bytes()
    with Ledger(url, key=key) as ledger:
        assert marks_of_chain(ledger, "main").base.marks.equals(chain.base.marks)
