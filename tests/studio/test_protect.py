"""The page Protect: solutions, sliders that answer from counts, and changes that go into the policy."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

import sfumato as sf
from studio.stage import CANARY, POLICY, Held, StudioClient, open_studio, post, refusal

pytestmark = pytest.mark.slow

CONFIRMED = POLICY.replace("confirm:\n  sex: harmless, it seems\n", "protect: {search: best, suppress: 5%}\n")


@pytest.fixture
def studio(tmp_path):
    return open_studio(tmp_path, policy=CONFIRMED)


@pytest.fixture
def found(client):
    post(client, "/protect/begin")
    return client.get("/protect").text


def test_a_table_and_a_policy_are_asked_for_first(tmp_path):
    bare = StudioClient(open_studio(tmp_path, policy=None))
    for step in ("protect", "attack", "release"):
        assert "A table and a policy are needed first" in bare.get(f"/{step}").text
    answer = post(bare, "/protect/begin")
    assert answer.status_code == 422 and "a table and a policy are needed" in refusal(answer)


def test_nothing_is_searched_for_before_somebody_asks(client):
    page = client.get("/protect").text
    assert "Find solutions" in page and "Solutions side by side" not in page


def test_solutions_stand_side_by_side_without_a_value(studio, found):
    plan = sf.protect(studio.data.path, studio.policy.load())
    for one in plan.compared:
        assert f"Use {one.search} only" in found or one.search == plan.search
    assert plan.outlook.line.split(";")[0] in found
    assert CANARY not in found and "asthma" not in found
    assert "full-domain lattice" in found


def test_progress_is_shown_while_work_goes_on(tmp_path):
    studio = open_studio(tmp_path, policy=CONFIRMED, workshop=Held())
    client = StudioClient(studio)
    post(client, "/protect/begin")
    assert 'class="job"' in client.get("/protect").text


@pytest.mark.parametrize(("k", "share"), [(2, 0), (3, 50), (7, 100), (20, 0)])
@pytest.mark.usefixtures("found")
def test_sliders_answer_what_the_lattice_search_finds(studio, client, k, share):
    answer = client.get(f"/protect/slider?k={k}&share={share}").text
    asked = studio.policy.load().with_(k=k, suppress=Fraction(share, 1000), search="lattice")
    plan = sf.protect(studio.data.path, asked)
    for name, level in plan.levels.items():
        assert re.search(rf"<bdi>{name}</bdi>.*?level {level} of", answer)
    assert f"<dd>{plan.loss:.3f}</dd>" in answer
    assert f"<dd>{plan.suppressed} <small>of 60" in answer


@pytest.mark.usefixtures("found")
def test_a_slider_that_asks_too_much_is_told_what_would_do(client):
    answer = client.get("/protect/slider?k=70&share=0").text
    assert "is impossible" in answer and "Not even 20%" in answer
    wrong = client.get("/protect/slider?k=1&share=0")
    assert wrong.status_code == 422 and "from 2 to 100" in refusal(wrong)


def test_sliders_ask_for_a_count_where_there_is_none(client):
    assert client.get("/protect/slider?k=5&share=0").headers["hx-refresh"] == "true"


@pytest.mark.usefixtures("found")
def test_what_the_sliders_show_goes_into_the_policy_and_back(studio, client):
    before = studio.policy.text
    post(client, "/protect/use", studio.policy.version, k="7", share="25")
    policy = studio.policy.load()
    assert policy.promises.members[0].k == 7
    assert (policy.protect.search, policy.protect.suppress) == ("lattice", Fraction(25, 1000))
    assert "# nobody needs it" in studio.policy.text
    post(client, "/undo", studio.policy.version)
    assert studio.policy.text == before


@pytest.mark.usefixtures("found")
def test_a_search_is_chosen(studio, client):
    post(client, "/protect/search", studio.policy.version, search="mondrian")
    assert studio.policy.load().protect.search == "mondrian"
    wrong = post(client, "/protect/search", studio.policy.version, search="sideways")
    assert wrong.status_code == 422 and "the searches are" in refusal(wrong)


@pytest.mark.usefixtures("found")
def test_a_change_on_an_older_policy_is_a_conflict(studio, client):
    studio.policy.path.write_text(CONFIRMED + "# by hand\n", encoding="utf-8")
    post(client, "/protect/begin")
    answer = post(client, "/protect/use", "another", k="7", share="25")
    assert answer.status_code == 409 and studio.policy.text.endswith("# by hand\n")


@pytest.mark.parametrize(("k", "key", "value"), [(3, "suppress", "1/15"), (4, "columns.zip.start", "1")])
def test_an_offer_is_taken(studio, client, k, key, value):
    coarse = CONFIRMED.replace("k: 3", f"k: {k}").replace("{search: best, suppress: 5%}", "{search: lattice}")
    studio.policy.path.write_text(coarse, encoding="utf-8")
    offer = sf.protect(studio.data.path, studio.policy.load()).outlook.offer
    assert (offer.key, offer.value) == (key, value)
    post(client, "/protect/begin")
    page = client.get("/protect").text
    assert "The cheapest way to get more back" in page and f"would restore age ({key}: {value})" in page
    post(client, "/protect/offer", studio.policy.version)
    policy = studio.policy.load()
    assert policy.protect.suppress == Fraction(1, 15) if k == 3 else policy.columns["zip"].start == 1
    assert f"none of {2 if k == 3 else 1} column" in client.get("/protect").text


@pytest.mark.usefixtures("found")
def test_nothing_is_taken_where_nothing_is_offered(studio, client):
    answer = post(client, "/protect/offer", studio.policy.version)
    assert answer.status_code == 422 and "nothing is offered" in refusal(answer)


def test_a_refusal_has_a_remedy(tmp_path):
    studio = open_studio(tmp_path, policy=CONFIRMED.replace("k: 3", "k: 500"))
    client = StudioClient(studio)
    post(client, "/protect/begin")
    page = client.get("/protect").text
    assert "No solution was found" in page and 'role="alert"' in page


@pytest.mark.usefixtures("found")
def test_the_picture_is_served_alone(client):
    picture = client.get("/protect/charts/risk.svg")
    assert picture.headers["content-type"].startswith("image/svg") and "<svg" in picture.text
    assert CANARY not in picture.text


def test_a_small_lattice_is_drawn_and_follows_the_sliders(client, found):
    assert found.count('<g class="spot') > 10 and "All combinations of levels" in found
    marks = {}
    for k in (2, 30):
        answer = client.get(f"/protect/slider?k={k}&share=0").text
        picture = re.search(r'<svg viewBox.*?role="img".*?</svg>', answer, re.S)[0]
        marks[k] = [picture.count(f'class="spot {state}"') for state in ("chosen", "allowed", "refused")]
        assert (marks[k][0] == 1 and "of 15 combinations" in picture) or sum(marks[k]) > 10
        rows = answer.partition("<tbody>")[2].count("<tr>")
        assert rows == sum(marks[k]), "the picture and its table say the same"
    assert marks[2][1] > marks[30][1] and marks[2][2] < marks[30][2]


def test_models_are_trained_where_asked(studio, client, found):
    assert "Train models" in found and "Guessed right" not in found
    assert post(client, "/protect/models", target="disease").headers["location"] == "/protect#models"
    page = client.get("/protect").text
    assert "Guessed right for disease" in page and "from the original" in page
    shown = [float(number) for number in re.findall(r"<dd>([0-9.]+) <small>[0-9.]+ from the original", page)]
    assert len(shown) == page.count('<article class="solution') and all(0 < score <= 1 for score in shown)
    assert CANARY not in page and studio.policy.text == CONFIRMED


@pytest.mark.parametrize("target", ["name", "age", "nothing", ""])
def test_no_model_is_trained_for_a_column_that_is_not_published_as_it_is(client, found, target):
    assert "Train models" in found
    assert post(client, "/protect/models", target=target).status_code == 422
