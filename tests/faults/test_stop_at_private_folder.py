"""A request to stop leaves no private folder behind, however early or late it comes."""

from __future__ import annotations

import signal

import pytest

from sfumato.cli import main as program
from sfumato.system import disk as module
from sfumato.system import progress
from sfumato.system.disk import private_folder
from sfumato.system.errors import Unfinished
from sfumato.system.progress import StopAsked, StopRequest


@pytest.fixture
def request_to_stop(monkeypatch):
    request = StopRequest()
    monkeypatch.setattr(module, "stop_request", request)
    return request


def signal_after(monkeypatch, request, where, name):
    """Lets a signal come at the moment when a call of the system has just come back."""
    call = getattr(where, name)

    def interrupted(*arguments, **options):
        result = call(*arguments, **options)
        request._note(signal.SIGTERM, None)
        return result

    monkeypatch.setattr(where, name, interrupted)


@pytest.mark.parametrize(
    ("where", "name"), [(module.tempfile, "mkdtemp"), (module.os, "open"), (module.fcntl, "flock")]
)
def test_while_the_folder_is_made(tmp_path, monkeypatch, request_to_stop, where, name):
    signal_after(monkeypatch, request_to_stop, where, name)
    with pytest.raises(StopAsked), private_folder(tmp_path):
        raise AssertionError("nothing is begun in it")
    assert not list(tmp_path.iterdir())


def test_while_the_folder_is_removed(tmp_path, monkeypatch, request_to_stop):
    signal_after(monkeypatch, request_to_stop, module.os, "unlink")
    with pytest.raises(StopAsked), private_folder(tmp_path) as folder:
        for name in "abc":
            (folder / name).write_text(name)
        request_to_stop._note(signal.SIGINT, None)
    assert not list(tmp_path.iterdir())
    assert request_to_stop.held == 0 and not request_to_stop.folders


def test_right_before_the_folder_would_be_removed(tmp_path, monkeypatch, request_to_stop, capsys):
    kept = []

    def stopped(**_):
        kept.append(private_folder(tmp_path))
        (kept[0].__enter__() / "rows").write_text("1")
        request_to_stop._note(signal.SIGTERM, None)

    monkeypatch.setattr(program, "stop_request", request_to_stop)
    monkeypatch.setattr(progress, "stop_request", request_to_stop)  # it says what was published
    monkeypatch.setattr(program, "_program_for", lambda _: stopped)
    assert program.run(["protect"]) == 130
    assert "nothing was published" in capsys.readouterr().err
    assert not list(tmp_path.iterdir()) and not request_to_stop.folders


def test_an_error_on_its_way_is_not_replaced(tmp_path, request_to_stop):
    with pytest.raises(Unfinished), private_folder(tmp_path):
        request_to_stop.asked = True
        raise Unfinished("it is in the ledger, and not shown yet")
    assert not list(tmp_path.iterdir())
