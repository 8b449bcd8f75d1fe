"""The page Discover: columns, roles, exposed shares and sets, and a policy that is proposed."""

from __future__ import annotations

import re

import pytest

import sfumato as sf
from sfumato.studio.table_view import LookSettings, look_at
from sfumato.system.progress import silent
from studio.stage import CANARY, StudioClient, open_studio, post, table

pytestmark = pytest.mark.slow


def test_what_is_shown_is_what_the_verb_finds(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(table(), encoding="utf-8")
    view = look_at(path, LookSettings(k=3, share=10, size=2), progress=silent)
    scan = sf.discover(path, k=3, fraction="10/100", max_size=2, without=["name"])
    assert view.rows == scan.rows == 60
    assert {frozenset(one.columns) for one in view.sets} == {frozenset(found) for found in scan.minimal}
    shares = [one.exposed for one in view.sets]
    assert shares == sorted(shares, reverse=True)
    roles = {column.name: str(column.role) for column in view.columns}
    assert roles["name"] == "identifier" and roles["disease"] == "sensitive"
    assert all(column.reason for column in view.columns)


def test_exposed_rows_are_counted_by_hand(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,zip\n" + "30,11\n" * 5 + "31,11\n" * 2 + "30,12\n", encoding="utf-8")
    view = look_at(path, LookSettings(k=3, share=1, size=2), progress=silent)
    assert (view.known.exposed, view.rows) == (3, 8)


def test_from_a_table_to_a_policy(tmp_path):
    studio = open_studio(tmp_path, policy=None)
    client = StudioClient(studio)
    assert client.get("/").headers["location"] == "/discover"
    assert client.get("/declare").headers["location"] == "/discover"
    assert post(client, "/data/choose", table="folder/people.csv").headers["location"] == "/discover"
    page = client.get("/discover").text
    for words in ("rows stand out", "identifies somebody", "others may know it", "secret", "role identifier"):
        assert words in page
    assert CANARY not in page
    pictures = re.findall(r'src="(/discover/charts/[^"]+)"', page)
    assert pictures and client.get("/discover/charts/none.svg").status_code == 404
    for picture in map(client.get, pictures):
        assert picture.headers["content-type"] == "image/svg+xml" and picture.text.startswith("<svg")
    assert (
        post(client, "/discover/propose", studio.policy.version, preset="uk-tre-10", tried="yes").status_code
        == 303
    )
    policy = sf.Policy.load(studio.policy.path)
    assert next(iter(policy.promises)).parameters() == {"k": 10}
    page = client.get("/discover").text
    assert "The policy is written" in page and "policy proposed from the data, uk-tre-10" in page


def test_a_proposal_need_not_be_tried(tmp_path):
    studio = open_studio(tmp_path, policy=None)
    client = StudioClient(studio)
    post(client, "/discover/propose", studio.policy.version, preset="ema")
    text = studio.policy.text
    assert "Planned on" not in text and next(
        iter(sf.Policy.load(studio.policy.path).promises)
    ).parameters() == {"k": 12}


def test_a_proposal_that_meets_another_change_replaces_nothing(studio, client):
    post(client, "/data/choose", table="folder/people.csv")
    before = studio.policy.text
    post(client, "/discover/propose", "0" * 32, preset="ema")
    assert studio.policy.text == before and "changed meanwhile" in client.get("/discover").text


def test_other_settings_are_asked_and_shown_in_other_words(client):
    post(client, "/data/choose", table="folder/people.csv")
    post(client, "/discover/look", k="4", share="20", size="2")
    page = client.get("/discover").text
    assert "sfumato discover people.csv --k 4 --fraction 20/100 --max-size 2" in page
    assert "Fewer than 4 rows are alike" in page
    wrong = post(client, "/discover/look", k="1", share="20", size="2")
    assert wrong.status_code == 422


def test_a_first_line_that_may_be_a_row_is_asked_about(studio, client):
    (studio.folder.path / "bare.csv").write_text("34,02139,f\n" * 30, encoding="utf-8")
    post(client, "/data/choose", table="folder/bare.csv")
    page = client.get("/discover").text
    assert "could not be looked at" in page and "The first line names the columns" in page


def test_a_file_that_is_no_table_is_refused_with_the_reason(studio, client):
    (studio.folder.path / "broken.parquet").write_bytes(b"no parquet")
    post(client, "/data/choose", table="folder/broken.parquet")
    page = client.get("/discover").text
    assert "could not be looked at" in page and "a bug" not in page
