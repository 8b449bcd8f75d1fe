"""Who may talk to the studio: tokens, names, senders, sizes; and what its answers let a browser do."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.studio import security
from sfumato.studio.app import make_app
from sfumato.system.errors import SfumatoError
from studio.stage import BASE, CANARY, OURS, PORT, StudioClient, open_studio, post, refusal

pytestmark = pytest.mark.slow

PAGES = ("/", "/discover", "/declare", "/history", "/declare/text", "/jobs/1", "/discover/charts/x.svg")


def test_nothing_is_shown_without_the_cookie(studio):
    stranger = StudioClient(studio, entered=False)
    for path in PAGES:
        answer = stranger.get(path)
        assert answer.status_code == 403 and "terminal" in answer.text and "<" not in answer.text
    assert stranger.get("/declare", headers={"cookie": f"{studio.gate.cookie}=wrong"}).status_code == 403
    assert stranger.get("/declare", headers={"cookie": "\x01=;=;"}).status_code == 403


def test_the_token_is_exchanged_once_for_a_cookie_of_this_site_alone(studio):
    stranger = StudioClient(studio, entered=False)
    for wrong in ("", "x", studio.gate.token[:-1], studio.gate.token + "x", studio.gate.session):
        assert stranger.get(f"/open?token={quote(wrong)}").status_code == 403
    entered = stranger.get(f"/open?token={studio.gate.token}")
    cookie = entered.headers["set-cookie"]
    assert entered.status_code == 200 and studio.gate.token not in entered.text
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert stranger.get(f"/open?token={studio.gate.token}").status_code == 403
    known = StudioClient(studio).get(f"/open?token={studio.gate.token}")
    assert (known.status_code, known.headers["location"]) == (303, "/")
    again = StudioClient(studio, entered=False).get("/declare", headers={"cookie": cookie.split(";")[0]})
    assert again.status_code == 200


def test_secrets_are_compared_in_constant_time_and_shown_nowhere(studio):
    for function in (security.Gate.exchange, security.Gate.knows):
        assert "hmac.compare_digest" in inspect.getsource(function)
    assert studio.gate.token not in repr(studio) and studio.gate.session not in repr(studio)


@pytest.mark.parametrize(
    ("host", "answers"),
    [
        (f"127.0.0.1:{PORT}", True),
        (f"localhost:{PORT}", True),
        (f"LOCALHOST:{PORT}", True),
        (f"[::1]:{PORT}", True),
        ("127.0.0.1", False),
        (f"127.0.0.1:{PORT + 1}", False),
        (f"evil.example:{PORT}", False),
        (f"127.0.0.1.evil.example:{PORT}", False),
        (f"localhost.evil.example:{PORT}", False),
        (f"studio.localhost:{PORT}", False),
        (f"localhost.:{PORT}", False),
        (f"10.0.0.7:{PORT}", False),
        (f"0.0.0.0:{PORT}", False),
        (f"[::]:{PORT}", False),
        (f"127.1:{PORT}", False),
        (f"user@127.0.0.1:{PORT}", False),
        ("", False),
    ],
)
def test_no_other_name_leads_to_the_studio(client, host, answers):
    for path in ("/declare", "/static/studio.css", "/open"):
        status = client.get(path, headers={"host": host}).status_code
        assert (status != 400) == answers


STATE_CHANGES = (
    "/undo",
    "/redo",
    "/history/1",
    "/jobs/1/stop",
    "/data/choose",
    "/data/forget",
    "/data/upload",
    "/discover/look",
    "/discover/propose",
    "/declare/roles",
    "/declare/text/write",
    "/declare/column/tree",
)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example", "sec-fetch-site": "cross-site"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": f"http://127.0.0.1:{PORT + 1}", "sec-fetch-site": "same-site"},
        {"origin": f"https://127.0.0.1:{PORT}"},
        {"origin": f"http://localhost:{PORT}"},
        {"origin": f"{BASE}.evil.example"},
        {"origin": BASE, "sec-fetch-site": "cross-site"},
        {"origin": BASE, "sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"sec-fetch-site": "same-origin"},
        {"referer": f"{BASE}/declare"},
        {},
    ],
)
def test_no_other_page_changes_anything(studio, client, headers):
    before = studio.policy.text
    for path in STATE_CHANGES:
        answer = client.post(path, data={"version": studio.policy.version, "text": "x"}, headers=headers)
        assert answer.status_code == 403, path
    assert studio.policy.text == before and not studio.policy.history()


def test_no_other_page_reads_anything(client):
    for sender in ("cross-site", "same-site", "other"):
        for path in (*PAGES, "/static/htmx.min.js"):
            assert client.get(path, headers={"sec-fetch-site": sender}).status_code == 403
    for sender in ("same-origin", "none"):
        assert client.get("/declare", headers={"sec-fetch-site": sender}).status_code == 200


def test_our_own_forms_arrive_with_and_without_a_referrer(studio, client):
    for headers in (OURS, {"origin": "null", "sec-fetch-site": "same-origin"}, {"origin": BASE}):
        words = {"version": studio.policy.version, "text": studio.policy.text}
        assert client.post("/declare/text/write", data=words, headers=headers).status_code == 303


def test_nothing_changes_by_looking_or_by_other_methods(studio, client):
    before = studio.policy.text
    for path in STATE_CHANGES:
        assert client.get(path).status_code in {404, 405}
        assert client.ask("DELETE", path, headers=OURS).status_code in {404, 405}
        assert client.ask("OPTIONS", path, headers=OURS).status_code in {404, 405}
    assert studio.policy.text == before


def test_there_are_no_sockets(studio):
    said = []

    async def ask():
        async def send(message):
            said.append(message)

        async def receive():
            return {"type": "websocket.connect"}

        await make_app(studio)({"type": "websocket", "path": "/", "headers": []}, receive, send)

    asyncio.run(ask())
    assert said == [{"type": "websocket.close", "code": 1008}]


def test_every_answer_says_what_browsers_may_do(client):
    for path in (*PAGES, "/static/studio.css", "/nowhere"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy and "form-action 'self'" in policy
        assert headers["referrer-policy"] == "no-referrer" and headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers and "server" not in headers


class Elements(HTMLParser):
    """Collects what a page is made of, and everything that its own rules would forbid."""

    def __init__(self):
        super().__init__()
        self.seen, self.wrong = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, tuple(sorted(name for name, _ in attrs))))
        for name, value in attrs:
            if name.startswith("on") or name == "style":
                self.wrong.append((tag, name))
            if name in {"src", "href", "action"} and not (value or "").startswith(("/", "#")):
                self.wrong.append((tag, name))
        if tag == "script" and not dict(attrs).get("src", "").startswith("/static/"):
            self.wrong.append((tag, "inline"))
        if tag == "style":
            self.wrong.append((tag, ""))


def elements(page):
    parser = Elements()
    parser.feed(page)
    return parser


HOSTILE = (
    '"><script>alert(1)</script>',
    "<img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}",
    "javascript:alert(1)",
    "\u202egnp.exe",
    "</textarea><script>",
)


def test_pages_are_made_of_our_own_elements(client):
    for path in ("/discover", "/declare", "/declare/column?name=disease", "/history", "/declare/text"):
        assert elements(client.get(path).text).wrong == []


@pytest.mark.parametrize("words", HOSTILE)
def test_names_and_texts_with_markup_stay_texts(tmp_path, words):
    """Names of columns, reasons, labels of trees, file names and history: all of them come from outside."""
    plain, hostile = open_studio(tmp_path), None
    (tmp_path / "other").mkdir()
    hostile = open_studio(tmp_path / "other")
    for studio, name in ((plain, "plain"), (hostile, words)):
        policy = studio.policy.load()
        spec = policy.to_dict()
        spec["columns"]["disease"]["taxonomy"] = {"tree": {name: ["flu", "cold"], "Other": ["asthma"]}}
        spec["columns"][f"c {name}"] = {"role": "insensitive"}
        spec["confirm"] = {f"c {name}": f"why {name}"}
        from_words = type(policy).from_dict(spec)
        studio.policy.write(from_words.to_yaml(), version=studio.policy.version, did=f"did {name}")
        safe_name = re.sub(r"[/\\:]", "_", name)
        if safe_name.isprintable():
            (studio.folder.path / f"{safe_name}.csv").write_text("a\n1\n", encoding="utf-8")
        else:
            (studio.folder.path / "x.csv").write_text("a\n1\n", encoding="utf-8")
    for path in ("/discover", "/declare", "/declare/column?name=disease", "/history", "/declare/text"):
        ours, theirs = (elements(StudioClient(s).get(path).text) for s in (plain, hostile))
        assert theirs.wrong == [] and theirs.seen == ours.seen


TREASURE = "the keys to the kingdom"


@given(
    st.one_of(
        st.text(max_size=40), st.sampled_from(["..", "../secret.csv", "/etc/passwd", "a/../../secret.csv"])
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_name_leads_out_of_the_folder(studio, name):
    outside = studio.folder.path.parent / "secret.csv"
    outside.write_text(TREASURE, encoding="utf-8")
    for ask in (studio.folder.file, studio.folder.place_for):
        try:
            path = ask(name)
        except SfumatoError:
            continue
        assert path.parent in {studio.folder.path, studio.folder.path.parent / "private"}
        assert path.name not in {"", ".", ".."}
    with pytest.raises(SfumatoError):
        studio.choose(f"folder/../{name}")


def test_links_out_of_the_folder_are_neither_listed_nor_followed(studio, client):
    outside = studio.folder.path.parent / "secret.csv"
    outside.write_text(f"a\n{TREASURE}\n", encoding="utf-8")
    (studio.folder.path / "link.csv").symlink_to(outside)
    assert "link.csv" not in client.get("/discover").text
    answer = post(client, "/data/choose", table="folder/link.csv")
    assert answer.status_code == 422
    with pytest.raises(SfumatoError, match="leads out"):
        studio.folder.file("link.csv")
    for path in (
        "/static/../texts.toml",
        "/static/%2e%2e/texts.toml",
        "/static/..%2ftexts.toml",
        "/static//etc/passwd",
    ):
        assert client.get(path).status_code in {404, 405}


@pytest.mark.parametrize(
    "place", ["//evil.example", "/\\evil.example", "https://evil.example", "%2f%2fevil.example"]
)
def test_no_answer_leads_elsewhere(studio, client, place):
    asked = [
        client.get(f"/?next={place}"),
        client.get(f"/open?token=x&next={place}", headers={"referer": place}),
        client.get(f"/{place}"),
        post(client, "/undo", studio.policy.version, next=place),
        post(client, "/declare/column/taxonomy", studio.policy.version, name=place, kind="flat"),
        post(client, "/data/choose", table=place),
    ]
    for answer in asked:
        where = answer.headers.get("location", "/")
        assert where.startswith("/") and not where.startswith(("//", "/\\"))
        assert "hx-redirect" not in answer.headers


FIELDS = (
    "version",
    "name",
    "node",
    "act",
    "column",
    "role",
    "position",
    "preset",
    "kind",
    "keep",
    "table",
    "k",
)


@given(
    path=st.sampled_from(
        [
            *STATE_CHANGES,
            "/declare/promise",
            "/declare/promise/add",
            "/declare/rest",
            "/declare/repair",
            "/declare/confirm",
            "/declare/preset",
            "/declare/column/taxonomy",
            "/declare/column/write",
            "/declare/column/values",
            "/declare/column/proposal",
            "/discover?",
            "/declare/column?name=",
            "/jobs/99999999999",
        ]
    ),
    fields=st.dictionaries(st.sampled_from(FIELDS), st.text(max_size=20), max_size=8),
    current=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_sent_nothing_breaks_and_no_value_is_told(studio, client, path, fields, current):
    words = {**fields, "version": studio.policy.version} if current else fields
    for answer in (post(client, path, **words), client.get(path + quote(fields.get("name", "")))):
        assert answer.status_code < 500
        assert CANARY not in answer.text and "a bug" not in answer.text
    assert studio.policy.load() is not None


def test_requests_have_a_size(client, monkeypatch):
    monkeypatch.setattr(security, "LARGEST_FORM", 1000)
    answer = client.post("/declare/text/write", data={"text": "x" * 2000}, headers=OURS)
    assert answer.status_code == 413
    monkeypatch.setattr(security, "LARGEST_UPLOAD", 2000)
    answer = client.post("/data/upload", files={"file": ("a.csv", "x" * 9000)}, headers=OURS)
    assert answer.status_code == 413 and "into the folder" in refusal(answer)


def test_only_this_computer_is_listened_on():
    """There is no option for anything else."""
    asked = subprocess.run(
        [sys.executable, "-m", "sfumato", "studio", "--host", "0.0.0.0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 2 and "No such option" in asked.stderr


def test_nothing_is_logged(studio, client, caplog, capfd):
    with caplog.at_level(logging.DEBUG, logger="sfumato"):
        client.get("/discover")
        post(client, "/data/choose", table="folder/people.csv")
        post(client, "/declare/text/write", studio.policy.version, text=CANARY)
    said = capfd.readouterr()
    assert CANARY not in caplog.text + said.out + said.err and studio.gate.token not in said.out + said.err
