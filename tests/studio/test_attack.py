"""The page Attack: who gets what before and after, in words and signs, and which promise stops them."""

from __future__ import annotations

import re
from html import unescape

import pytest

from studio.stage import CANARY, POLICY, StudioClient, open_studio, post

pytestmark = pytest.mark.slow

CONFIRMED = POLICY.replace("confirm:\n  sex: harmless, it seems\n", "")


@pytest.fixture
def studio(tmp_path):
    return open_studio(tmp_path, policy=CONFIRMED)


def adversary(page, name):
    """The part of the page about one adversary, as text."""
    articles = re.findall(r'<article class="adversary.*?</article>', page, re.S)
    texts = [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", one)) for one in articles]
    return next(text for text in texts if name in text)


def test_every_adversary_before_and_after(client):
    assert "Attack both tables" in client.get("/attack").text
    post(client, "/attack/begin")
    page = client.get("/attack").text
    linkage = adversary(page, "linkage, prosecutor")
    before, after = linkage.split(" After ")
    assert "✗ Succeeds" in before and "✓ Withstood" in after
    assert "Stopped by k-anonymity, k = 3" in after
    assert "Knows the key columns of one person" in linkage and "Seeks which record is theirs" in linkage
    assert CANARY not in page and "berg1" not in page


def test_what_no_promise_speaks_of_names_the_one_that_would_stop_it(tmp_path):
    weak = CONFIRMED.replace("  - l-diversity: {of: disease, l: 2}\n", "confirm:\n  disease: true\n")
    studio = open_studio(tmp_path, policy=weak)
    people = [f"P{n},{20 + n},02139,f,{'flu' if n < 20 else 'cold'}" for n in range(40)]
    studio.data.path.write_text("\n".join(["name,age,zip,sex,disease", *people, ""]), encoding="utf-8")
    client = StudioClient(studio)
    post(client, "/attack/begin")
    page = client.get("/attack").text
    told = adversary(page, "homogeneity")
    assert "✗ No promise of the policy speaks of this. It is stopped by:" in told and "l-diversity" in told
    assert 'class="banner open"' in page, "what is promised holds, and somebody still succeeds"
    link = unescape(re.search(r'href="(/declare\?add=l-diversity[^"]*)"', page)[1])
    assert link == "/declare?add=l-diversity&of=disease#add-l-diversity"
    asked = client.get(link.partition("#")[0]).text
    offer = re.search(r'<li id="add-l-diversity" class="asked">.*?</li>', asked, re.S)[0]
    assert '<option value="disease" selected>' in offer and "<details open>" in asked


def test_what_stops_an_attack_is_where_the_link_leads(client):
    post(client, "/attack/begin")
    places = set(re.findall(r'href="/declare#(promise-\d)">k-anonymity, k = 3<', client.get("/attack").text))
    assert places == {"promise-0"} and '<li id="promise-0">' in client.get("/declare").text


def test_columns_that_wait_are_refused_with_the_remedy(tmp_path):
    client = StudioClient(open_studio(tmp_path, policy=POLICY))
    post(client, "/attack/begin")
    page = client.get("/attack").text
    assert "The attack could not be made" in page and 'role="alert"' in page and "confirm" in page
