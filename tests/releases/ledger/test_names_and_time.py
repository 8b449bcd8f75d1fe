"""One spelling for a name, also in old ledgers; time that never runs backwards; the same people elsewhere."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from faults.made_up import release
from releases.ledger.tampering import change
from sfumato.releases.ledger import entries
from sfumato.releases.ledger.backup import backup
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.notices import mark_bytes, marks_of
from sfumato.releases.names import checked_name, same_name
from sfumato.releases.overrides import recipients_of
from sfumato.system.errors import BadLedger, RefusedByHistory, UsageError
from sfumato.table.keyed_hashes import label_marks

pytestmark = pytest.mark.slow


class TestNames:
    @pytest.mark.parametrize(
        ("given", "spelled"),
        [
            ("main ", "main"),
            ("\tmain\n", "main"),
            ("the  council", "the council"),
            ("A\u030arzte", "\u00c5rzte"),
        ],
    )
    def test_there_is_one_spelling(self, given, spelled):
        assert checked_name(given, "chain") == spelled

    @pytest.mark.parametrize("name", ["ma\u200bin", "main\u202e", "\u2066x", "a\x00b", "a\ud800", "\ue000"])
    def test_what_nobody_sees_is_refused(self, name):
        with pytest.raises(UsageError, match="invisible") as no:
            checked_name(name, "chain")
        assert name not in str(no.value)

    @pytest.mark.parametrize("name", ["", " ", "\n", "\u00a0"])
    def test_nothing_is_no_name(self, name):
        with pytest.raises(UsageError, match="needs a name"):
            checked_name(name, "recipient")

    def test_two_spellings_of_a_recipient_are_one(self):
        with pytest.raises(UsageError, match="named twice"):
            recipients_of(["lab", "lab "])

    @given(st.text())
    def test_spelling_it_again_changes_nothing(self, name):
        assert same_name(same_name(name)) == same_name(name)

    @pytest.mark.parametrize("given", ["MAIN", "Main", "\uff4d\uff41\uff49\uff4e", " mAin "])
    def test_a_name_that_differs_in_case_or_width_alone_is_refused(self, url, tmp_path, given):
        """Another chain has another floor, and another recipient another history."""
        ledger = Ledger(url)
        release(ledger, tmp_path / "one", chain="main", recipient="main")
        for name in ({"chain": given}, {"chain": "other", "recipient": given}):
            with pytest.raises(RefusedByHistory, match="differs from it in case or width alone") as no:
                release(ledger, tmp_path / "two", **name)
            assert "Write main" in no.value.remedy
        assert not (tmp_path / "two").exists() and len(ledger.history()) == 1

    def test_names_that_are_known_already_go_on(self, url, tmp_path, monkeypatch):
        """Ledgers of older versions may hold both."""
        ledger = Ledger(url)
        with monkeypatch.context() as before:
            before.setattr("sfumato.releases.ledger.cross_chain_overlap.check_names", lambda *_: None)
            release(ledger, tmp_path / "one", chain="main", recipient='the "Lab"')
            release(ledger, tmp_path / "two", chain="MAIN", recipient='THE "LAB"')
        third = release(ledger, tmp_path / "three", chain="MAIN", recipient='the "Lab"')
        assert third.record.sequence == 2


def ids(ledger):
    return [record.release for record in ledger.history()]


class TestTime:
    @given(st.lists(st.integers(-50, 50), min_size=2, max_size=5))
    def test_no_entry_is_dated_before_the_one_it_follows(self, tmp_path_factory, hours):
        folder, moments = tmp_path_factory.mktemp("time"), itertools.cycle(hours)
        start = datetime(2026, 11, 15, tzinfo=UTC)
        ledger = Ledger(f"sqlite:///{folder}/l.db", clock=lambda: start + timedelta(hours=next(moments)))
        release(ledger, folder / "one")
        ledger.rotate()
        release(ledger, folder / "two", chain="other")
        with ledger.database.reading() as connection:
            every = [entries.at(connection, number) for number in range(1, 5)]
        dates = [datetime.fromisoformat(json.loads(entry.body)["at"]) for entry in every]
        assert dates == sorted(dates)
        assert ledger.moment() >= dates[-1]
        ledger.close()


def people(*names):
    return mark_bytes(label_marks(list(names)))


class TestElsewhere:
    """The same table, or a person of it, in another chain is seen where the same recipient may hold both."""

    @pytest.fixture
    def begun(self, url, tmp_path):
        """A release to the lab and one to nobody in particular, in two chains."""
        ledger = Ledger(url)
        release(ledger, tmp_path / "a", chain="a", recipient="lab", table="t" * 64, people=people("x", "y"))
        release(ledger, tmp_path / "b", chain="b", table="u" * 64, people=people("z"))
        return ledger

    @pytest.mark.parametrize(
        ("told", "refused"),
        [
            ({"recipient": "lab", "table": "t" * 64}, "chain a of this ledger has the same table"),
            ({"recipient": "press", "table": "t" * 64}, None),
            ({"table": "t" * 64}, "chain a of this ledger has the same table for a recipient"),
            ({"recipient": "press", "table": "u" * 64}, "chain b of this ledger has the same table"),
            ({"recipient": "lab", "people": people("w", "y")}, "chain a of this ledger has 1 person of this"),
            ({"recipient": "lab", "people": people("v", "w")}, None),
            ({"recipient": "lab", "people": people("x", "y", "z")}, "chain a of this ledger has 2 people"),
            ({"recipient": "press", "people": people("x", "y")}, None),
            ({"recipient": "lab", "table": "t" * 64, "ignore_chains": ["a"]}, None),
            (
                {"recipient": "lab", "people": people("x", "z"), "ignore_chains": ["a"]},
                "chain b of this ledger has 1",
            ),
            ({"recipient": "lab"}, None),
        ],
    )
    def test_it_is_refused_unless_it_is_said(self, begun, tmp_path, told, refused):
        if refused is None:
            assert release(begun, tmp_path / "c", chain="c", **told).record.sequence == 1
            return
        with pytest.raises(RefusedByHistory, match=refused) as no:
            release(begun, tmp_path / "c", chain="c", **told)
        assert "--ignore-chain" in no.value.remedy
        assert not (tmp_path / "c").exists() and len(begun.history()) == 2

    def test_a_release_in_the_same_chain_is_for_the_chain_to_judge(self, begun, tmp_path):
        again = release(begun, tmp_path / "c", chain="a", recipient="lab", table="t" * 64, people=people("x"))
        assert again.record.sequence == 2

    def test_it_is_asked_again_inside_the_commit(self, url, tmp_path):
        """Somebody enters the same people elsewhere after this release was compared."""
        ledger, other = Ledger(url), Ledger(url)

        def meanwhile(step):
            if step == "ready":
                release(other, tmp_path / "first", chain="other", recipient="lab", table="t" * 64)

        with pytest.raises(RefusedByHistory, match="chain other"):
            release(ledger, tmp_path / "late", chain="main", recipient="lab", table="t" * 64, at=meanwhile)
        assert not (tmp_path / "late").exists()
        assert [record.chain for record in ledger.history()] == ["other"]

    def test_marks_that_were_changed_are_not_believed(self, begun, tmp_path):
        change(tmp_path / "ledger.db", "UPDATE people SET marks = x'00' WHERE number = 2")
        with pytest.raises(BadLedger, match="entry 2"):
            release(begun, tmp_path / "c", chain="c", recipient="lab", people=people("x"))
        assert [str(fault) for fault in begun.verify().faults] == [
            "entry 2: the marks of its people were changed"
        ]

    @pytest.mark.parametrize(
        "statement", ["DELETE FROM people WHERE number = 2", "INSERT INTO people VALUES (1, x'00')"]
    )
    def test_marks_that_are_missing_or_too_many_are_found(self, begun, tmp_path, statement):
        change(tmp_path / "ledger.db", statement)
        assert len(begun.verify().faults) == 1

    def test_a_backup_has_them(self, begun, tmp_path):
        copy = Ledger(f"sqlite:///{backup(begun, tmp_path / 'copy.db')}", readonly=True)
        assert copy.verify().holds
        with copy.database.reading() as connection:
            assert connection.execute(text("SELECT count(*) FROM people WHERE number > 0")).scalar() == 2


def test_marks_are_kept_in_order_and_once():
    marks = label_marks(["b", "a", "b"])
    assert mark_bytes(marks) == mark_bytes(marks[::-1])
    assert len(marks_of(mark_bytes(marks))) == 2
    assert mark_bytes(np.zeros((0, 2), np.uint64)) == b""
