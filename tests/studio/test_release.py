"""The page Release: rehearsed, released, remembered; and nothing else in the folder can be fetched by it."""

from __future__ import annotations

import pytest

import sfumato as sf
from studio.stage import CANARY, POLICY, StudioClient, open_studio, post, refusal

pytestmark = pytest.mark.slow

CONFIRMED = POLICY.replace("confirm:\n  sex: harmless, it seems\n", "protect: {search: top-down}\n")


@pytest.fixture
def studio(tmp_path):
    return open_studio(tmp_path, policy=CONFIRMED)


def published(studio, client, **order):
    fields = {"to": "", "chain": "main", "into": "first", **order}
    answer = post(client, "/release/publish", studio.policy.version, **fields)
    return client.get(answer.headers["location"]).text


def test_a_rehearsal_writes_nothing(studio, client):
    post(client, "/release/tolerance", studio.policy.version, tolerance="50")
    assert studio.policy.load().recipients.tolerance * 2 == 1
    answer = post(client, "/release/rehearse", to="north, south", into="first", chain="main")
    page = client.get(answer.headers["location"]).text
    assert "What would be released" in page and "How many recipients can be served?" in page
    assert page.count("Leaked rows that identify this recipient:") == 2
    assert {path.name for path in studio.folder.path.iterdir() if path.suffix != ".history"} == {
        "people.csv",
        "policy.yaml",
    }
    assert CANARY not in page


def test_a_release_is_staged_verified_and_released(studio, client):
    page = published(studio, client)
    for word in ("✓ Staged", "✓ Verified", "✓ Released"):
        assert word in page
    ledger = f"sqlite:///{studio.folder.path / 'ledger.db'}"
    (record,) = sf.Ledger(ledger, readonly=True).history()
    assert record.hash[:12] in page and "main 1" in page
    listed = client.get("/release").text
    assert "folder=first&amp;file=data.csv" in listed and "folder=first&amp;file=certificate.json" in listed
    got = client.get("/release/file?folder=first&file=data.csv")
    assert got.content == (studio.folder.path / "first" / "data.csv").read_bytes()
    assert got.headers["content-disposition"].startswith("attachment")
    assert CANARY not in listed


def test_a_release_keeps_what_the_rehearsal_told(studio, client):
    """How many can be served, and how many rows would identify each, stay beside what was released."""
    listed = CONFIRMED + "recipients: {tolerance: 50%}\n"
    studio.policy.path.write_text(listed, encoding="utf-8")
    words = {"to": "north, south", "chain": "main", "into": "both"}
    where = post(client, "/release/rehearse", studio.policy.version, **words).headers["location"]
    assert client.get(where).text.count("Leaked rows that identify this recipient:") == 2
    page = published(studio, client, **words)
    assert "✓ Released" in page and "How many recipients can be served?" in page
    assert page.count("Leaked rows that identify this recipient:") == 2


def test_a_folder_that_is_there_is_not_touched(studio, client):
    published(studio, client)
    again = post(client, "/release/publish", studio.policy.version, to="", chain="main", into="first")
    assert again.status_code == 422 and "there is a file or folder of this name" in refusal(again)


@pytest.mark.parametrize(
    "query",
    [
        "folder=..&file=policy.yaml",
        "folder=first&file=../policy.yaml",
        "folder=first&file=..%2F..%2Fledger.db.key",
        "folder=.&file=ledger.db.key",
        "folder=first/..&file=ledger.db.key",
        "folder=/etc&file=passwd",
        "folder=first&file=%2Fetc%2Fpasswd",
    ],
)
def test_nothing_but_the_files_of_releases_is_sent(studio, client, query):
    published(studio, client)
    answer = client.get(f"/release/file?{query}")
    assert answer.status_code == 422 and "Choose one of those that are listed" in refusal(answer)


def test_a_link_out_of_the_folder_is_no_file_of_a_release(studio, client, tmp_path):
    published(studio, client)
    secret = tmp_path / "secret.txt"
    secret.write_text("secret", encoding="utf-8")
    (studio.folder.path / "first" / "leak.txt").symlink_to(secret)
    assert client.get("/release/file?folder=first&file=leak.txt").status_code == 422


@pytest.mark.parametrize("into", ["../out", "a/b", ".hidden", "/elsewhere", "", "nul\0"])
def test_a_release_goes_into_a_plain_folder_beside_the_table(studio, client, into):
    answer = post(client, "/release/publish", studio.policy.version, to="", chain="main", into=into)
    if into:
        assert answer.status_code == 422 and "no name of a file" in refusal(answer)
    else:
        assert "into=release-" in answer.headers["location"]


def test_a_report_is_written_and_sent(studio, client):
    published(studio, client)
    post(client, "/release/report", folder="first", audience="public")
    assert "report-first-public.html" in client.get("/release").text
    got = client.get("/release/report-file?file=report-first-public.html")
    assert got.headers["content-disposition"].startswith("attachment") and b"<html" in got.content
    assert client.get("/release/report-file?file=policy.yaml").status_code == 422


def test_a_page_with_an_older_policy_releases_nothing(studio, client):
    old = studio.policy.version
    studio.policy.path.write_text(CONFIRMED.replace("k: 3", "k: 2"), encoding="utf-8")
    answer = post(client, "/release/publish", old, to="", chain="main", into="first")
    assert answer.status_code == 422 and "the policy was changed meanwhile" in refusal(answer)
    assert not (studio.folder.path / "first").exists()


def test_columns_that_wait_are_named_and_nothing_is_released(tmp_path):
    studio = open_studio(tmp_path, policy=POLICY)
    client = StudioClient(studio)
    assert "Columns wait for confirmation" in client.get("/release").text
    page = published(studio, client)
    assert "Nothing was released" in page and not (studio.folder.path / "first").exists()


def test_a_damaged_ledger_is_shown_as_such(studio, client):
    published(studio, client)
    (studio.folder.path / "ledger.db").write_bytes(b"nothing of the kind" * 100)
    page = client.get("/release").text
    assert "The ledger cannot be trusted" in page and 'role="alert"' in page


def test_figures_over_time(tmp_path):
    policy = """\
columns:
  name: {role: identifier}
  age: {role: quasi, taxonomy: {intervals: [5, 10, 20], from: 0, to: 120}}
  quarter: {role: identifier}
promises:
  - continuous: {k: 3, since: quarter}
protect: {search: top-down}
"""
    studio = open_studio(tmp_path, policy=policy)
    client, people = StudioClient(studio), ["name,age,quarter"]
    for quarter in range(3):
        people += [f"P{quarter}-{n},{20 + n % 40},Q{quarter}" for n in range(80)]
        studio.data.path.write_text("\n".join([*people, ""]), encoding="utf-8")
        assert "✓ Released" in published(studio, client, into=f"r{quarter}")
    page = client.get("/release").text
    assert page.count("<polyline") == 3 and "k, FA and BA of the longest series" in page
    ledger = f"sqlite:///{studio.folder.path / 'ledger.db'}"
    figures = [record.figures for record in sf.Ledger(ledger, readonly=True).history()]
    assert f"FA {figures[-1]['FA']}" in page and f"BA {figures[-1]['BA']}" in page
