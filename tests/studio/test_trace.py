"""The page Trace: a leak goes into a private folder, is compared with every version, and is wiped."""

from __future__ import annotations

import pytest

from studio.stage import CANARY, OURS, POLICY, open_studio, post, refusal

pytestmark = pytest.mark.slow

CONFIRMED = POLICY.replace(
    "confirm:\n  sex: harmless, it seems\n", "protect: {search: top-down}\nrecipients: {tolerance: 50%}\n"
)


@pytest.fixture
def studio(tmp_path):
    return open_studio(tmp_path, policy=CONFIRMED)


@pytest.fixture
def released(studio, client):
    post(client, "/release/publish", studio.policy.version, to="north, south", chain="main", into="first")
    return studio.folder.path / "first"


def drop(client, content, name="leak.csv"):
    return client.post("/trace/upload", files={"file": (name, content)}, headers=OURS)


def test_nothing_is_traced_before_something_was_released(client):
    assert "There is nothing to compare with yet" in client.get("/trace").text
    answer = drop(client, b"age\n5\n")
    assert answer.status_code == 422 and "nothing was released" in refusal(answer)


def test_a_leak_names_its_recipient_with_evidence(studio, client, released):
    drop(client, (released / "north" / "data.csv").read_bytes())
    page = client.get("/trace").text
    assert "In every explanation: <bdi>north</bdi>" in page and "The chance of a false charge" in page
    assert "Rows just as held" in page and CANARY not in page and "asthma" not in page
    assert [path.name for path in studio.folder.path.iterdir() if "leak" in path.name] == []
    assert "leak.csv" not in client.get("/discover").text
    assert client.get("/trace/charts/tracing.svg").headers["content-type"].startswith("image/svg")
    assert client.get("/trace/charts/other.svg").status_code == 404


def test_the_page_says_no_more_than_the_program_does(client, released):
    """Who is in every explanation made it unless more worked together than were looked for, or guessed."""
    drop(client, (released / "north" / "data.csv").read_bytes())
    assert "<p>traced to north, unless " in client.get("/trace").text


def test_rows_are_looked_up_in_the_original(client, released):
    drop(client, (released / "south" / "data.csv").read_bytes())
    post(client, "/trace/again", original="yes")
    assert "In every explanation: <bdi>south</bdi>" in client.get("/trace").text


@pytest.mark.usefixtures("released")
def test_a_table_of_others_is_not_ours(client):
    drop(client, b"age,zip,sex,disease\n[900-905),999,x,plague\n")
    page = client.get("/trace").text
    assert "It is not ours" in page or 'role="alert"' in page
    assert "plague" not in page and "[900" not in page


@pytest.mark.usefixtures("released")
def test_a_new_leak_replaces_the_last_and_is_wiped(studio, client):
    drop(client, b"age\n5\n", "one.csv")
    drop(client, b"age\n6\n", "two.csv")
    leaks = studio.folder.place_for("leak.csv").parent / "leaks"
    assert [path.name for path in leaks.iterdir()] == ["two.csv"]
    assert leaks.stat().st_mode & 0o777 == 0o700
    post(client, "/trace/forget")
    assert list(leaks.iterdir()) == []
