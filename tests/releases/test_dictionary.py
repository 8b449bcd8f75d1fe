"""Data dictionaries: what a recipient reads, and nothing that the table does not show."""

from __future__ import annotations

import copy
import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli.main import run
from sfumato.policy.policy import Policy
from sfumato.policy.published_forms import READINGS, PublishedForms, ValueForm, example_of
from sfumato.releases import dictionary as dictionary_module
from sfumato.releases.certificate import examine
from sfumato.releases.dictionary import (
    DOCUMENT,
    PAGE,
    allow_list,
    beside,
    dictionary,
    dictionary_files,
    dictionary_page,
)
from sfumato.system.errors import BadData, UsageError
from sfumato.verify.file import dictionary_faults
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

CANARY = "Zebra-4711"

POLICY = {
    "columns": {
        "canary_code": {"role": "identifier"},
        "age": {"role": "quasi", "taxonomy": {"intervals": [10, 20], "from": 0, "to": 100}},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "job": {
            "role": "quasi",
            "taxonomy": {"tree": {"Care": ["Nurse", "Medic"], "Food": ["Cook", CANARY]}},
        },
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 3}}, {"l-diversity": {"of": "disease", "l": 2}}],
    "protect": {"price": "none", "search": "top-down", "suppress": "20%"},
}


@pytest.fixture
def people(tmp_path):
    """Forty people, and one whose job, zip and name occur nowhere else: that row is suppressed."""
    rows = {
        "canary_code": [f"{CANARY}-{i}" for i in range(41)],
        "age": [str(20 + i % 20) for i in range(40)] + ["99"],
        "zip": [f"02{i % 2}{i % 3}" for i in range(40)] + ["9111"],
        "job": [("Nurse", "Medic", "Cook")[i % 3] for i in range(40)] + [CANARY],
        "disease": [("flu", "gout")[i % 2] for i in range(40)] + [CANARY],
    }
    file = tmp_path / "people.csv"
    pl.DataFrame(rows).write_csv(file)
    return file


@pytest.fixture
def published(people, tmp_path):
    protect_file(people, POLICY, tmp_path / "safe.csv", dictionary=True)
    return tmp_path / "safe.csv"


def test_a_file_gets_its_dictionary(published):
    document = json.loads(beside(published)[DOCUMENT].read_text(encoding="utf-8"))
    page = beside(published)[PAGE].read_text(encoding="utf-8")
    (notes,) = document["notes"]
    names = ["age", "zip", "job", "disease"]
    assert [column["titles"] for column in document["tableSchema"]["columns"]] == names
    assert notes["rows"] == 40
    assert notes["promises"][0]["promise"] == "k-anonymity, k = 3"
    age = notes["columns"][0]
    assert {form["form"] for form in age["forms"]} <= {"interval", "any value", "value"}
    assert age["published"] == "made less exact"
    assert notes["columns"][3] == {"column": "disease", "published": "as in the source", "empty_cells": False}
    assert all(name in page for name in names)


def test_nothing_of_what_is_not_published_is_said(published):
    """Neither a suppressed row, nor a dropped column, nor a leaf of the hierarchy that no row shows."""
    for file in (published, *beside(published).values()):
        text = file.read_text(encoding="utf-8")
        assert CANARY not in text
        assert "canary_code" not in text
        assert "9111" not in text


def test_texts_stand_in_the_table(published):
    table = pl.read_csv(published, infer_schema=False)
    document = json.loads(beside(published)[DOCUMENT].read_text(encoding="utf-8"))
    for column in document["notes"][0]["columns"]:
        for form in column.get("forms") or ():
            assert set(form["texts"]) <= set(table[column["column"]])


def change(document, *path, to):
    *way, last = path
    place = document
    for step in way:
        place = place[step]
    place[last] = to


@pytest.mark.parametrize(
    "path",
    [
        ("notes", 0, "columns", 0, "forms", 0, "texts", 0),
        ("notes", 0, "columns", 1, "forms", 0, "reading"),
        ("notes", 0, "columns", 1, "forms", 0, "detail"),
        ("notes", 0, "columns", 1, "forms", 0, "form"),
        ("notes", 0, "columns", 0, "published"),
        ("notes", 0, "columns", 3, "column"),
        ("notes", 0, "promises", 0, "in_words"),
        ("notes", 0, "promises", 1, "leaves_open"),
        ("notes", 0, "rows_are"),
        ("notes", 0, "remark"),
        ("tableSchema", "columns", 0, "titles"),
        ("tableSchema", "columns", 0, "datatype"),
        ("tableSchema", "columns", 0, "null"),
        ("dialect", "delimiter"),
        ("url",),
        ("title",),
    ],
)
def test_the_judge_finds_every_text_that_the_table_does_not_show(published, path):
    policy = Policy.from_dict(POLICY)
    document, known = dictionary(published, policy), dictionary_module._known(policy, groups=False)
    assert dictionary_faults(published, document, sentences=known) == []
    changed = copy.deepcopy(document)
    change(changed, *path, to=CANARY)
    faults = dictionary_faults(published, changed, sentences=known)
    assert faults and CANARY not in " ".join(faults)


@pytest.mark.parametrize("path", [("rows",), ("columns", 2, "empty_cells")])
def test_the_judge_counts_for_itself(published, path):
    policy = Policy.from_dict(POLICY)
    document = dictionary(published, policy)
    change(document["notes"][0], *path, to=41)
    assert dictionary_faults(published, document, sentences=dictionary_module._known(policy, groups=False))


def test_a_page_says_what_its_document_says(published):
    document = dictionary(published, Policy.from_dict(POLICY))
    page, allowed = dictionary_page(document), allow_list(document)
    assert allowed.faults(page) == []
    listed = document["notes"][0]["columns"][0]["forms"][0]["texts"][0]
    for old, new in (
        ("Data dictionary<", f"{CANARY}<"),
        (f">{listed}<", f">{CANARY}<"),
        ("<section>", f"<!-- {CANARY} --><section>"),
        ("<section>", f'<section title="{CANARY}">'),
        ('class="lead"', f'class="{CANARY}"'),
        ('data-head="Column"', f'data-head="{CANARY}"'),
        ('lang="en"', f'lang="{CANARY}"'),
        ("body{", f"body{{--x:{CANARY};"),
    ):
        assert old in page
        faults = allowed.faults(page.replace(old, new, 1))
        assert faults and CANARY not in " ".join(faults)


def test_a_dictionary_that_says_too_much_is_not_published(people, tmp_path, monkeypatch):
    def careless(*given, **named):
        document = dictionary(*given, **named)
        document["notes"][0]["columns"][0]["forms"][0]["texts"].append(CANARY)
        return document

    monkeypatch.setattr(dictionary_module, "dictionary", careless)
    with pytest.raises(BadData, match="not published") as error:
        protect_file(people, POLICY, tmp_path / "safe.csv", dictionary=True)
    assert CANARY not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
    with pytest.raises(BadData, match="not published"):
        sf.release(people, POLICY, ledger=f"sqlite:///{tmp_path}/l.db", into=tmp_path / "one")
    assert not (tmp_path / "one").exists()


def test_an_older_dictionary_is_never_left_beside_a_new_table(people, published):
    before = beside(published)[DOCUMENT].read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        protect_file(people, POLICY, published)
    published.unlink()
    with pytest.raises(UsageError, match="exists already"):
        protect_file(people, POLICY, published)
    assert not published.exists() and beside(published)[DOCUMENT].read_bytes() == before
    stricter = {**POLICY, "promises": [{"k-anonymity": {"k": 20}}], "confirm": {"disease": True}}
    protect_file(people, stricter, published, overwrite=True)
    assert b"k = 20" in beside(published)[DOCUMENT].read_bytes()


@pytest.mark.parametrize("format", ["csv", "parquet", "xlsx"])
def test_a_release_holds_its_dictionary(people, tmp_path, format):
    receipt = sf.release(
        people, POLICY, ledger=f"sqlite:///{tmp_path}/l.db", into=tmp_path / "one", format=format
    )
    folder = tmp_path / "one"
    names = {f"data.{format}", DOCUMENT, PAGE, "manifest.json", "certificate.json"}
    assert {path.name for path in folder.iterdir()} == names
    assert receipt.files == (f"data.{format}", DOCUMENT, PAGE)
    assert examine(folder / "certificate.json").faults == ()
    listed = {file["name"] for file in json.loads((folder / "manifest.json").read_text())["files"]}
    assert listed == names - {"manifest.json", "certificate.json"}
    (folder / DOCUMENT).write_bytes((folder / DOCUMENT).read_bytes() + b" ")
    assert examine(folder / "certificate.json").faults == (
        f"{DOCUMENT} has another size than when it was published",
    )
    (folder / PAGE).unlink()
    assert f"{PAGE} is missing" in examine(folder / "certificate.json").faults


def test_a_file_in_another_form_says_so(people, tmp_path):
    """What came with semicolons in Latin-1 goes out so, and the dictionary tells how to read it."""
    table = pl.read_csv(people, infer_schema=False).with_columns(
        disease=pl.col("disease").replace("gout", "Hüfte")
    )
    text = table.write_csv(separator=";")
    (tmp_path / "office.csv").write_bytes(text.encode("latin-1"))
    out = tmp_path / "out.csv"
    protect_file(tmp_path / "office.csv", POLICY, out, dictionary=True)
    assert ";" in out.read_bytes().decode("latin-1").splitlines()[0]
    document = json.loads(beside(out)[DOCUMENT].read_text(encoding="utf-8"))
    assert document["dialect"]["delimiter"] == ";" and document["dialect"]["encoding"] != "utf-8"
    assert "semicolon" in beside(out)[PAGE].read_text(encoding="utf-8")
    assert "Every promise holds" in sf.report(out, POLICY, audience="public").html


def test_the_same_rows_give_the_same_dictionary(people, tmp_path):
    shuffled = tmp_path / "shuffled.csv"
    pl.read_csv(people, infer_schema=False).sample(fraction=1, shuffle=True, seed=3).write_csv(shuffled)
    made = []
    for i, source in enumerate((people, shuffled)):
        (tmp_path / str(i)).mkdir()
        protect_file(source, POLICY, tmp_path / str(i) / "safe.csv")
        made.append(dictionary_files(tmp_path / str(i) / "safe.csv", Policy.from_dict(POLICY)))
    assert made[0] == made[1]


def test_the_option_of_the_program(people, tmp_path, capsys):
    policy = tmp_path / "policy.yaml"
    policy.write_text(json.dumps(POLICY), encoding="utf-8")
    call = ["protect", str(people), "-p", str(policy), "-o", str(tmp_path / "safe.csv")]
    assert run([*call, "--dictionary"]) == 0
    assert "safe.dictionary.html" in capsys.readouterr().err
    assert (tmp_path / "safe.dictionary.json").exists()


FORMS = [
    ({"intervals": [10], "from": 0, "to": 100}, "20-29", ValueForm.WHOLE_NUMBERS),
    ({"intervals": [10], "from": 0, "decimal": True}, "[20, 30)", ValueForm.INTERVAL),
    ({"intervals": [10], "from": 0, "to": 100, "top": 90}, "90+", ValueForm.FROM_ON),
    ({"intervals": [10], "from": 0, "to": 100, "bottom": 18}, "<18", ValueForm.BELOW),
    ({"intervals": [10], "from": 0, "to": 100}, "42", ValueForm.VALUE),
    ({"prefix": [3, 1]}, "021**", ValueForm.LEADING),
    ({"mask": "left"}, "**1", ValueForm.MASKED),
    ({"date": ["month", "year"]}, "2024-02", ValueForm.CALENDAR),
    ({"date": ["month", "year"]}, "2024-02-29", ValueForm.VALUE),
    ({"date": ["month", "year"]}, "2024-02–2024-05", ValueForm.RANGE),
    ({"tree": {"Care": ["Nurse"]}}, "Care", ValueForm.GROUP),
    ({"tree": {"Care": ["Nurse"]}}, "Nurse", ValueForm.VALUE),
    ({"tree": ["low", "mid", "high"], "ordered": True}, "low–mid", ValueForm.RANGE),
    ({"flat": True}, "red", ValueForm.VALUE),
    ({"flat": True}, "*", ValueForm.ANY),
    ({"flat": True}, None, ValueForm.EMPTY),
]


@pytest.mark.parametrize(("words", "text", "form"), FORMS)
def test_forms(words, text, form):
    policy = Policy.from_dict(
        {
            "columns": {"x": {"role": "quasi", "taxonomy": words}},
            "promises": [{"k-anonymity": {"k": 2}}],
            "protect": {"search": "top-down", "suppress": 0},
        }
    )
    found = PublishedForms(policy.columns["x"].taxonomy).of(text)
    assert found.form is form
    assert READINGS[form].endswith(".")
    example = example_of(policy.columns["x"].taxonomy)
    assert ("flat" in words) == (example == ()) or example[-1] == "*"


@given(
    st.lists(st.tuples(st.integers(0, 99), st.sampled_from("ab")), min_size=4, max_size=30),
    st.sampled_from(["top-down", "mondrian", "lattice"]),
)
def test_whatever_is_published_can_be_described(tmp_path_factory, rows, search):
    folder = tmp_path_factory.mktemp("described")
    policy = {
        "columns": {
            "age": {"role": "quasi", "taxonomy": {"intervals": [10, 50], "from": 0, "to": 100}},
            "sex": {"role": "quasi"},
        },
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"suppress": 0, "search": search},
    }
    table = pl.DataFrame({"age": [str(age) for age, _ in rows], "sex": [sex for _, sex in rows]})
    protect_file(table, policy, folder / "safe.csv", dictionary=True)
    document = json.loads(beside(folder / "safe.csv")[DOCUMENT].read_text(encoding="utf-8"))
    shown = pl.read_csv(folder / "safe.csv", infer_schema=False)
    for column in document["notes"][0]["columns"]:
        listed = [text for form in column["forms"] for text in form["texts"]]
        assert sorted(listed) == sorted(set(shown[column["column"]]))
