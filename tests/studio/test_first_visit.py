"""The first visit: how a browser is handed the token, and that nobody else comes by it."""

from __future__ import annotations

import signal
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sfumato.studio import app as first_visit
from sfumato.studio.security import Gate
from sfumato.system.errors import UsageError
from studio.served import served, stand_in, wait_for
from studio.stage import BASE, StudioClient


def test_the_token_comes_by_a_file_and_from_no_other_page(studio):
    stranger, sent = StudioClient(studio, entered=False), {"token": studio.gate.token}
    for origin in ("http://evil.example", f"{BASE}.evil.example", "file://", ""):
        assert stranger.post("/open", data=sent, headers={"origin": origin}).status_code == 403
    assert stranger.post("/open", data=sent).status_code == 403 and not studio.gate.redeemed.is_set()
    file = {"origin": "null", "sec-fetch-site": "cross-site"}
    for wrong in ("", "x", studio.gate.token[:-1]):
        assert stranger.post("/open", data={"token": wrong}, headers=file).status_code == 403
    entered = stranger.post("/open", data=sent, headers=file)
    assert entered.status_code == 200 and "SameSite=Strict" in entered.headers["set-cookie"]
    assert studio.warn.__self__ == []
    assert stranger.post("/open", data=sent, headers=file).status_code == 403
    assert len(studio.warn.__self__) == 1 and "second time" in studio.warn.__self__[0]
    assert stranger.post("/open?token=x", data={"text": "x"}, headers=file).status_code == 403
    assert stranger.post("/declare/text/write", data=sent, headers=file).status_code == 403


def test_strangers_are_told_of_no_table_whatever_goes_wrong(studio):
    """The page that says what went wrong names the tables."""

    async def endless():
        for _ in range(20):
            yield b"x" * 100_000

    headers = {"origin": "null", "sec-fetch-site": "cross-site"}
    answer = StudioClient(studio, entered=False).post("/open", content=endless(), headers=headers)
    assert answer.status_code == 400 and "people.csv" not in answer.text and "<" not in answer.text


def test_the_browser_is_handed_the_token_where_nobody_else_can_read_it(tmp_path):
    """Others see how a program was called; they see no file of its owner."""
    home = tmp_path / "home"
    home.mkdir()
    environment, note = stand_in(tmp_path)
    with served(home, environment=environment, opens="--browser") as studio:
        wait_for(note.exists)
        token = studio.address.partition("token=")[2]
        called = note.read_text(encoding="utf-8")
        assert token not in called
        page = Path(urllib.request.url2pathname(urlsplit(called.splitlines()[0]).path))
        assert page.stat().st_mode & 0o777 == 0o600 and page.parent.stat().st_mode & 0o777 == 0o700
        assert page.read_text(encoding="utf-8").count(token) == 1
        sent = urllib.request.Request(f"{studio.base}/open", f"token={token}".encode(), {"origin": "null"})
        with urllib.request.urlopen(sent) as answer:
            assert studio.base.rpartition(":")[2] in answer.headers["set-cookie"]
        wait_for(lambda: not page.exists())
        for again in (sent, studio.address):
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(again)
        studio.process.send_signal(signal.SIGINT)
        said = studio.process.stderr.read()
    assert said.count("used a second time") == 2 and token not in said
    assert list(home.iterdir()) == []


def test_a_page_for_the_browser_that_nobody_opens_goes_by_itself(tmp_path, monkeypatch):
    for opens in (True, False):
        shown = []
        monkeypatch.setattr(first_visit.webbrowser, "open", lambda url, o=opens, s=shown: s.append(url) or o)
        monkeypatch.setattr(first_visit, "PATIENCE", 0.01)
        with first_visit.first_visit(Gate(1), tmp_path, tmp_path / "private"):
            wait_for(lambda s=shown: s and not list(tmp_path.rglob("*.html")))


def test_where_a_folder_keeps_nobody_out_the_page_is_with_the_private_files(tmp_path, monkeypatch):
    private, shown = tmp_path / "private", []
    private.mkdir()
    monkeypatch.setattr(first_visit.webbrowser, "open", shown.append)

    @contextmanager
    def open_to_all(parent, *, hidden):
        assert parent == tmp_path and hidden
        (parent / "open").mkdir(exist_ok=True)
        (parent / "open").chmod(0o755)
        yield parent / "open"

    def read_only(*_, **__):
        raise UsageError("the folder cannot be written to")

    for made in (open_to_all, read_only):
        monkeypatch.setattr(first_visit, "private_folder", made)
        with first_visit.first_visit(Gate(1), tmp_path, private):
            wait_for(lambda: shown)
            assert shown.pop() == (private / "open.html").as_uri()
            wait_for(lambda: not (private / "open.html").exists())
