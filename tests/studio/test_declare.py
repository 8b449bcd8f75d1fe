"""The page Declare: every change is a policy, written at once, with what others wrote left alone."""

from __future__ import annotations

import re

import pytest

import sfumato as sf
from studio.stage import CANARY, StudioClient, open_studio, post, refusal

pytestmark = pytest.mark.slow


def test_a_role_changes_and_comments_stay(studio, client):
    answer = post(client, "/declare/roles", studio.policy.version, column=["sex"], role=["quasi"])
    assert (answer.status_code, answer.headers["location"]) == (303, "/declare")
    policy = studio.policy.load()
    assert policy.columns["sex"].role == "quasi" and not policy.confirm
    text = studio.policy.text
    assert "# written by hand" in text and "# nobody needs it" in text and "# three" in text
    assert "roles: sex is quasi" in client.get("/declare").text


def test_a_key_without_a_hierarchy_gets_the_one_that_fits_its_values(studio, client):
    client.get("/declare")
    post(
        client,
        "/declare/roles",
        studio.policy.version,
        column=["disease", "age"],
        role=["quasi", "sensitive"],
    )
    client.get("/declare")
    post(client, "/declare/column/taxonomy", studio.policy.version, name="age", kind="none")
    client.get("/declare")
    post(client, "/declare/roles", studio.policy.version, column=["age"], role=["quasi"])
    assert "intervals" in studio.policy.load().columns["age"].taxonomy.spec


def test_what_waits_is_confirmed(studio, client):
    page = client.get("/declare").text
    assert "harmless, it seems" in page
    post(client, "/declare/confirm", studio.policy.version, column=["sex"])
    assert not studio.policy.load().confirm and "No column waits" in client.get("/declare").text
    state = studio.policy.current()
    assert state.cli == "sfumato policy confirm policy.yaml sex"


def test_nothing_is_confirmed_by_nobody(studio, client):
    answer = post(client, "/declare/confirm", studio.policy.version)
    assert answer.status_code == 422 and "no column is chosen" in refusal(answer)


def test_promises_are_said_in_plain_words_and_changed(studio, client):
    assert "finds at least 3 people who look alike" in client.get("/declare").text
    post(client, "/declare/promise", studio.policy.version, position="0", **{"p-k": "11"})
    assert "finds at least 11 people who look alike" in client.get("/declare").text
    wrong = post(client, "/declare/promise", studio.policy.version, position="0", **{"p-k": "0"})
    assert wrong.status_code == 422 and "whole number" in refusal(wrong)
    fields = {"p-of": "disease", "p-confidence": "60%"}
    post(client, "/declare/promise/add", studio.policy.version, promise="confidence-bounding", **fields)
    assert [p.name for p in studio.policy.load().promises] == [
        "k-anonymity",
        "l-diversity",
        "confidence-bounding",
    ]
    post(client, "/declare/promise", studio.policy.version, position="1", act="remove")
    assert [p.name for p in studio.policy.load().promises] == ["k-anonymity", "confidence-bounding"]


def test_presets_have_a_source_and_a_date(studio, client):
    page = client.get("/declare").text
    assert "2017-09-20" in page and "European Medicines Agency" in page
    post(client, "/declare/preset", studio.policy.version, preset="ema")
    assert next(iter(studio.policy.load().promises)).parameters() == {"k": 12}


@pytest.mark.parametrize(
    ("act", "fields", "spec"),
    [
        ("rename", {"node": ["0"], "label": "By virus"}, {"By virus": ["flu", "cold"], "Other": ["asthma"]}),
        ("merge", {"node": ["0", "1"], "label": "Ill"}, {"Ill": ["flu", "cold", "asthma"]}),
        (
            "split",
            {"node": ["0.1"], "label": "Mild"},
            {"Viral": ["flu"], "Mild": ["cold"], "Other": ["asthma"]},
        ),
        ("move", {"node": ["0.1"], "target": "1"}, {"Viral": ["flu"], "Other": ["asthma", "cold"]}),
        ("dissolve", {"node": ["1"]}, [{"Viral": ["flu", "cold"]}, "asthma"]),
        (
            "group",
            {"node": ["0", "1"], "label": "Any"},
            {"Any": {"Viral": ["flu", "cold"], "Other": ["asthma"]}},
        ),
    ],
)
def test_trees_are_edited(studio, client, act, fields, spec):
    post(client, "/declare/column/tree", studio.policy.version, name="disease", act=act, **fields)
    assert studio.policy.load().columns["disease"].taxonomy.spec["tree"] == spec
    assert "hierarchy of disease" in studio.policy.current().did


def test_values_marked_as_secret_are_painted_on_the_tree(studio, client):
    post(client, "/declare/column/tree", studio.policy.version, name="disease", act="secret", node=["0.0"])
    rule = studio.policy.load().columns["disease"]
    assert rule.role == "free" and rule.options.words()["sensitive"] == ["flu"]
    assert any(p.name == "freeform" for p in studio.policy.load().promises)
    page = client.get("/declare/column?name=disease").text
    assert page.count("secret</span>") == 1


def test_hierarchies_by_form(studio, client):
    post(client, "/declare/column/taxonomy", studio.policy.version, name="zip", kind="prefix", keep="4 2")
    assert studio.policy.load().columns["zip"].taxonomy.spec == {"prefix": [4, 2]}
    post(client, "/declare/column/taxonomy", studio.policy.version, name="age", kind="ready", ready="ages")
    assert studio.policy.load().columns["age"].taxonomy.spec["top"] == 90
    wrong = post(
        client, "/declare/column/taxonomy", studio.policy.version, name="zip", kind="prefix", keep="2 4"
    )
    assert wrong.status_code == 422 and "fewer characters" in refusal(wrong)


TAXONOMIES = (
    "{intervals: [5, 10], from: 0, to: 120}",
    "{intervals: [0.5, 1], from: 0, to: 120, decimal: true}",
    "{intervals: [5, 10], from: 0, to: 120, top: 90}",
    "{from: 0, to: 120, intervals: [5, 10]}",
    "{prefix: [2, 1]}",
    "{mask: right}",
    "{mask: left}",
    "{date: [month, year]}",
    "{date: [month, year], written: dd.mm.yyyy}",
    "{ready: ages}",
    "{ready: countries}",
    "{tree: {young: ['20', '21'], old: ['50']}}",
    "flat",
)


@pytest.mark.parametrize("taxonomy", TAXONOMIES)
def test_every_kind_of_hierarchy_has_its_page(tmp_path, taxonomy):
    """Found by a soak: intervals without `decimal` ended in a page that told of a bug."""
    columns = f"columns:\n  age: {{role: quasi, taxonomy: {taxonomy}}}\n  disease: {{role: sensitive}}\n"
    policy = f"# a policy\n{columns}promises: [{{k-anonymity: {{k: 3}}}}]\n"
    answer = StudioClient(open_studio(tmp_path, policy=policy)).get("/declare/column?name=age")
    assert answer.status_code == 200 and "a bug" not in answer.text


def test_a_tree_is_made_of_values_and_levels_are_shown(studio, client):
    client.get("/declare/column?name=zip")
    post(client, "/declare/column/write", studio.policy.version, name="zip")
    tree = studio.policy.load().columns["zip"].taxonomy.spec["tree"]
    assert list(tree) == ["0****"] or list(tree["0****"]) == ["021**"]
    assert "021**" in client.get("/declare/column?name=zip").text


def test_the_doctor_is_heard_and_one_step_mends(tmp_path):
    policy = """\
columns:
  name: {role: identifier}
  age: {role: quasi}
  zip: {role: quasi}
  disease: {role: sensitive, taxonomy: {tree: {Viral: [flu, cold]}}}
  gone: {role: insensitive}
promises: [{k-anonymity: {k: 3}}]
confirm: {disease: true}
"""
    studio = open_studio(tmp_path, policy=policy)
    client = StudioClient(studio)
    page = client.get("/declare").text
    assert "the data does not have it" in page and "the policy does not declare it" in page
    assert "1 value that the taxonomy lacks" in page and "asthma" not in page
    number = re.search(r"/declare/values/(\d+)", page)[1]
    assert "asthma" in client.get(f"/declare/values/{number}").text
    assert client.get("/declare/values/99").status_code == 303
    post(client, "/declare/repair", studio.policy.version, finding="absent", column="gone")
    post(client, "/declare/repair", studio.policy.version, finding="undeclared", column="sex")
    client.get("/declare")
    post(client, "/declare/column/values", studio.policy.version, name="disease")
    assert "no error, no warning" in client.get("/declare").text or "Error" not in client.get("/declare").text
    loaded = studio.policy.load()
    assert set(loaded.columns) == {"name", "age", "zip", "disease", "sex"}
    assert sf.protect(studio.folder.path / "people.csv", loaded).rows == 60


def test_a_policy_that_is_wrong_is_shown_with_what_is_wrong_and_not_written(studio, client):
    before = studio.policy.text
    broken = before.replace("role: quasi", "role: qausi")
    answer = post(client, "/declare/text/write", studio.policy.version, text=broken)
    assert answer.status_code == 422 and "qausi" in answer.text and studio.policy.text == before
    studio.policy.path.write_text(broken, encoding="utf-8")
    page = client.get("/declare")
    assert page.status_code == 422 and "nothing was written" in page.text


def test_no_page_shows_a_value_of_a_column_that_names_people(client):
    for path in ("/discover", "/declare", "/history", "/declare/text", "/declare/column?name=age"):
        assert CANARY not in client.get(path).text


def test_promises_that_can_be_added_are_said_in_plain_words(client):
    page = client.get("/declare").text
    assert "People who look alike have at least l different values of the column among them." in page
    assert "of of" not in page and "{" not in page.partition('class="offers"')[2].partition("</ul>")[0]


KNOWN = """\
columns:
  zip: {role: quasi, taxonomy: {prefix: [3, 1]}}
  symptoms: {role: quasi-sensitive, separator: "|"}
promises:
  - k-anonymity: {k: 3}
  - quasi-sensitive: {of: symptoms, knowledge: known.csv, l: 2, c: 3}
"""


LINES = "label,terms\nFlu,cough;fever\nCold,cough\n"


def test_the_knowledge_table_is_shown_and_edited(tmp_path):
    studio = open_studio(tmp_path, policy=None)
    home = studio.folder.path
    (home / "known.csv").write_text(LINES, encoding="utf-8")
    (home / "people.csv").write_text("zip,symptoms\n" + "02139,cough|fever\n" * 5, encoding="utf-8")
    (home / "policy.yaml").write_text(KNOWN, encoding="utf-8")
    client = StudioClient(studio)
    page = client.get("/declare").text
    assert "It comes from known.csv" in page and 'value="cough; fever"' in page
    labels, terms = ["Cold", "Flu", "Rash", ""], ["cough; sneeze", "cough; fever", "spots", ""]
    words = {"column": "symptoms", "label": labels, "terms": terms}
    assert post(client, "/declare/knowledge", studio.policy.version, **words).status_code == 303
    told = sf.Policy.load(studio.policy.path).to_dict()["promises"][1]["quasi-sensitive"]["knowledge"]
    assert told == {"Cold": ["cough", "sneeze"], "Flu": ["cough", "fever"], "Rash": ["spots"]}
    assert (home / "known.csv").read_text(encoding="utf-8") == LINES
    post(client, "/undo", studio.policy.version)
    assert "known.csv" in studio.policy.text
    empty = post(client, "/declare/knowledge", studio.policy.version, column="symptoms", label="", terms="")
    assert empty.status_code == 422 and "known.csv" in studio.policy.text
    assert post(client, "/declare/knowledge", studio.policy.version, column="zip").status_code == 422
