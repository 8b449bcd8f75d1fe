"""Every phase of every verb says how much of it is done, out of how much, and when it is over."""

from __future__ import annotations

import io

import pytest

import sfumato as sf
from search.checks import crowded
from sfumato.cli import terminal
from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.policy.searches import BUILT_IN
from sfumato.search.contract import Aim, find
from sfumato.table.counting import expected_rows, rows_by_size
from sfumato.table.form_of_source import open_file
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow


class Recorder:
    """Remembers what progress was told."""

    def __init__(self):
        self.calls = []

    def __call__(self, phase, done, total=None):
        self.calls.append((phase, done, total))

    @property
    def phases(self):
        return list(dict.fromkeys(phase for phase, _, _ in self.calls))

    def check(self):
        """Nothing is more than whole, nothing goes back within a turn, and what was begun is ended."""
        last = {}
        for phase, done, total in self.calls:
            assert total is not None, phase
            assert 0 <= done <= total, phase
            share = done / total if total else 1
            assert share >= last.get(phase, 0) or done in {0, 1} or last[phase] == 1, phase
            last[phase] = share
        assert set(last.values()) == {1}, {phase for phase, share in last.items() if share != 1}


@pytest.mark.parametrize("name", list(BUILT_IN))
@pytest.mark.parametrize(
    "promises", [Promises((KAnonymity(3),)), KAnonymity(2) & DistinctLDiversity("s0", 2)], ids=["k", "l"]
)
def test_every_search_tells_how_far_it_is(name, promises):
    told = Recorder()
    find(name)(crowded(3, rows=80, keys=3), promises, Aim(), progress=told)
    told.check()
    assert any(phase.startswith(name) or name == "best" for phase in told.phases)
    assert len(told.calls) > 1


def test_from_reading_to_judging(hospital, tmp_path):
    told = Recorder()
    protect_file(hospital / "hospital.csv", hospital / "policy.yaml", tmp_path / "safe.csv", progress=told)
    told.check()
    assert {
        "counting",
        "sorting",
        "lattice",
        "proving",
        "ordering",
        "writing",
        "judging",
    } <= set(told.phases)
    audited = Recorder()
    sf.audit(tmp_path / "safe.csv", hospital / "policy.yaml", progress=audited)
    audited.check()
    assert "attacks" in audited.phases


def test_a_release_beside_earlier_ones(hospital, tmp_path):
    told = Recorder()
    for number in (1, 2):
        sf.release(
            hospital / "hospital.csv",
            hospital / "policy.yaml",
            ledger=f"sqlite:///{tmp_path / 'ledger.db'}",
            into=tmp_path / str(number),
            chain=f"chain {number}",
            ignore_chains=["chain 1"] if number == 2 else [],
            progress=told,
        )
    told.check()
    assert "enter in the ledger" in told.phases


def test_the_rows_of_a_text_file_are_expected_by_its_size(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("a,b\n" + "12,34\n" * 200_000, encoding="utf-8")
    assert abs(rows_by_size(path) - 200_000) < 2_000
    assert abs(expected_rows(open_file(path).reader) - 200_000) < 2_000
    path.write_text("a", encoding="utf-8")
    assert rows_by_size(path) is None


def test_nothing_is_shown_where_nobody_looks(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with terminal.progress_bar() as progress:
        progress("counting", 1, 2)
    assert not terminal.sys.stderr.getvalue()


def test_a_terminal_shows_percent_and_the_time_that_is_left(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with terminal.progress_bar() as progress:
        progress("counting", 0, 4)
        progress("counting", 1, 4)
        progress("counting", 0, 2)
        progress("counting", 1, 2)
    assert "counting" in shown.getvalue()
    assert "50%" in shown.getvalue()
