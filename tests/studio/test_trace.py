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


def test_a_leak_is_held_against_every_recipient(studio, client, released):
    drop(client, (released / "north" / "data.csv").read_bytes())
    page = client.get("/trace").text
    assert "Nobody is charged" in page and "<bdi>north</bdi>" in page and "<bdi>south</bdi>" in page
    assert "cannot be told apart" in page and CANARY not in page and "asthma" not in page
    assert [path.name for path in studio.folder.path.iterdir() if "leak" in path.name] == []
    assert "leak.csv" not in client.get("/discover").text
    assert client.get("/trace/charts/other.svg").status_code == 404


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
