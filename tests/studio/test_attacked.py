"""The studio under attack: files elsewhere, logs, sizes said beforehand, bombs, kills of the program."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
import time
import urllib.error
import urllib.parse
import urllib.request

import httpx
import pytest

import sfumato as sf
from sfumato.studio import security
from sfumato.studio.app import make_app
from sfumato.studio.state import PolicyFile
from studio.served import PATIENCE, served
from studio.stage import BASE, CANARY, OURS, POLICY, StudioClient, open_studio, post, table

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("place", ["../outside.csv", "/etc/hostname", "inside/../../outside.csv", "link.csv"])
def test_no_policy_leads_to_a_file_outside_of_the_folder(studio, client, tmp_path, place):
    (tmp_path / "outside.csv").write_text("flu;secret;*\ncold;secret;*\nasthma;other;*\n", encoding="utf-8")
    (studio.folder.path / "inside").mkdir()
    (studio.folder.path / "link.csv").symlink_to(tmp_path / "outside.csv")
    taxonomy = "{tree: {Viral: [flu, cold], Other: [asthma]}}"
    elsewhere = POLICY.replace(taxonomy, f"{{file: {place}}}")
    answer = post(client, "/declare/text/write", studio.policy.version, text=elsewhere)
    assert answer.status_code == 422 and studio.policy.text == POLICY
    studio.policy.path.write_text(elsewhere, encoding="utf-8")
    for path in ("/declare", "/declare/column?name=disease", "/protect", "/attack", "/release"):
        page = client.get(path).text
        assert "secret;" not in page and ">other<" not in page
    post(client, "/protect/begin")
    assert "Every promise holds" not in client.get("/protect").text


def test_a_hierarchy_file_of_the_folder_is_read(studio, client):
    (studio.folder.path / "tree.csv").write_text(
        "flu;Viral;*\ncold;Viral;*\nasthma;Other;*\n", encoding="utf-8"
    )
    taxonomy = "{tree: {Viral: [flu, cold], Other: [asthma]}}"
    text = POLICY.replace(taxonomy, "{file: tree.csv}")
    assert post(client, "/declare/text/write", studio.policy.version, text=text).status_code == 303


def test_a_size_that_is_too_large_is_refused_before_a_byte_is_read(studio):
    """The body never comes: whoever waited for it would wait for ever."""

    async def ask(path, length):
        told = []

        async def receive():
            raise AssertionError("nobody should have asked for the body")

        async def send(message):
            told.append(message)

        names = {"host": BASE[7:], "cookie": f"{studio.gate.cookie}={studio.gate.session}", **OURS}
        headers = [
            (key.encode(), value.encode()) for key, value in {**names, "content-length": length}.items()
        ]
        scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b""}
        await make_app(studio)(scope, receive, send)
        return told[0]["status"]

    assert asyncio.run(ask("/data/upload", str(security.LARGEST_UPLOAD + 1))) == 413
    assert asyncio.run(ask("/undo", str(security.LARGEST_FORM + 1))) == 413
    assert asyncio.run(ask("/undo", "-1")) == 413 and asyncio.run(ask("/undo", "9" * 4000)) == 413


def test_two_uploads_of_one_name_do_not_mix(tmp_path):
    studio = open_studio(tmp_path)
    cookie, app = StudioClient(studio).cookie, make_app(studio)

    async def both():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE, headers={"cookie": cookie}) as asked:
            files = [{"file": ("same.csv", f"x\n{letter * 300_000}\n")} for letter in "abcdef"]
            await asyncio.gather(*(asked.post("/data/upload", files=one, headers=OURS) for one in files))

    asyncio.run(both())
    kept = studio.folder.table("dropped/same.csv").path.read_text(encoding="utf-8")
    assert kept in {f"x\n{letter * 300_000}\n" for letter in "abcdef"}


def test_a_bomb_is_refused_in_a_sentence(client):
    bomb = gzip.compress(b"a,b\n" + b"0" * 60_000_000)
    assert len(bomb) < 100_000
    assert client.post("/data/upload", files={"file": ("bomb.csv.gz", bomb)}, headers=OURS).status_code == 303
    page = client.get("/discover").text
    assert 'role="alert"' in page and "a bug" not in page and "00000000" not in page


class Visit:
    """Somebody with the cookie of a studio that runs, without a browser."""

    def __init__(self, studio):
        self.base = studio.base
        with urllib.request.urlopen(studio.address) as answer:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]

    def ask(self, path, **fields):
        data = urllib.parse.urlencode(fields).encode() if fields else None
        headers = {"cookie": self.cookie, "origin": self.base, "sec-fetch-site": "same-origin"}
        request = urllib.request.Request(self.base + path, data, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read().decode()


def test_killed_at_any_moment_the_studio_leaves_policy_and_history_whole(tmp_path):
    """The whole program, while pages change the policy; the next start finds everything, and goes on."""
    (tmp_path / "people.csv").write_text(table(), encoding="utf-8")
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY, encoding="utf-8")
    for turn in range(3):
        with served(tmp_path) as studio:
            visit, end = Visit(studio), time.monotonic() + 0.4 + 0.17 * turn
            process = studio.process
            number = 0
            while time.monotonic() < end or number < 3:
                text = POLICY.replace("k: 3", f"k: {3 + number % 5}")
                visit.ask("/declare/text/write", version=PolicyFile(path).version, text=text)
                number += 1
            os.kill(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)
        file = PolicyFile(path)
        assert sf.Policy.load(path).columns and file.current() is not None
        states = file.history()
        assert len(states) == len(list(tmp_path.glob(".policy.yaml.history/[0-9]*.json"))) >= 3
    file.undo(version=file.version)
    assert sf.Policy.load(path).columns


def test_what_goes_wrong_is_in_no_log(tmp_path):
    """A value in an error of a library reaches neither the terminal nor the page."""
    (tmp_path / "people.csv").write_text(table(), encoding="utf-8")
    code = (
        "import sys\n"
        "from sfumato.studio import app\n"
        "def broken(request):\n"
        f"    raise KeyError({CANARY!r})\n"
        "app.history = broken\n"
        "from sfumato.cli.main import main\n"
        f"sys.argv = ['sfumato', 'studio', {str(tmp_path)!r}, '--no-browser']\n"
        "main()\n"
    )
    with served(tmp_path, code=code) as studio:
        visit = Visit(studio)
        with pytest.raises(urllib.error.HTTPError) as refused:
            visit.ask("/history")
        page = refused.value.read().decode()
        assert CANARY not in page and "Traceback" not in page
        studio.process.send_signal(signal.SIGINT)
        studio.process.wait(PATIENCE)
        said = studio.process.stderr.read()
    assert CANARY not in said and "Traceback" not in said
