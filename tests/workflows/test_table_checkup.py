"""`sfumato doctor DATA -p POLICY`: the file and the policy together, before anything is published."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.workflows.doctor import checkup_table

CANARY = "Zuleika"
TREE = {"South": ["Köln", "Ulm"], "North": ["Kiel"]}


def policy(**changes):
    words = {
        "columns": {
            "name": {"role": "identifier"},
            "town": {"role": "quasi", "taxonomy": {"tree": TREE}},
            "disease": {"role": "sensitive"},
        },
        "promises": [{"k-anonymity": {"k": 3}}],
        "protect": {"suppress": 0, "search": "top-down"},
        "confirm": {} if "columns" in changes else {"disease": True},
        **changes,
    }
    Path("policy.yaml").write_text(sf.Policy.from_dict(words).to_yaml())
    return "policy.yaml"


def table(name="people.csv", towns=("Köln", "Ulm", "Kiel"), secrets=("flu", "cough"), **form):
    lines = ["name;town;disease"]
    lines += [f"{CANARY}{i};{towns[i % len(towns)]};{secrets[i % len(secrets)]}" for i in range(36)]
    Path(name).write_text("\n".join(lines) + "\n", **form)
    return name


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def names_of(checkup):
    return {diagnosis.name for diagnosis in checkup.diagnoses}


def test_a_file_alone(sfumato):
    said = sfumato("doctor", table(encoding="cp1252"), "--json")
    assert said.code == 0
    document = said.document
    assert document["file"] == {
        "kind": "csv",
        "rows": 36,
        "form": {"encoding": "windows-1252", "delimiter": ";"},
    }
    assert [column["name"] for column in document["columns"]] == ["name", "town", "disease"]
    plain = sfumato("doctor", "people.csv")
    assert "sfumato init" in plain.out
    assert CANARY not in plain.out + plain.err + said.out + said.err


def test_what_fits_is_tried_and_leaves_nothing_behind(sfumato, tmp_path):
    table(), policy()
    before = sorted(tmp_path.iterdir())
    said = sfumato("doctor", "people.csv", "-p", "policy.yaml")
    assert said.code == 0, said.err
    assert said.out.startswith("protect will publish this file\n")
    assert "judged from its bytes" in said.out
    assert sorted(tmp_path.iterdir()) == before
    assert sfumato("doctor", "people.csv", "-p", "policy.yaml", "--json").document["trial"]["rows"] == 36


def test_columns_that_are_missing_or_unknown(sfumato):
    table()
    columns = {"name": {"role": "identifier"}, "towns": {"role": "quasi"}, "disease": {"role": "sensitive"}}
    said = sfumato("doctor", "people.csv", "-p", policy(columns=columns, confirm={"disease": True}))
    assert said.code == 3
    assert "protect will refuse this: 2 errors" in said.out
    assert "Did you mean towns?" in said.out and "the data does not have it" in said.out
    assert "not declared" in said.out


def test_values_outside_a_taxonomy_are_counted_and_not_named(sfumato):
    table(towns=("Köln", "Ulm", "kiel ", "Xanadu"))
    said = sfumato("doctor", "people.csv", "-p", policy())
    assert said.code == 3
    assert "2 values that the taxonomy lacks, in 18 cells; 1 of them differ" in said.out
    assert "Xanadu" not in said.out + said.err
    shown = sfumato("doctor", "people.csv", "-p", "policy.yaml", "--show-values")
    assert "Xanadu" in shown.err and "Xanadu" not in shown.out


def test_columns_that_wait_are_told_and_the_rest_is_tried():
    table()
    words = {"name": "identifier", "town": "quasi", "disease": "insensitive"}
    policy(
        columns={name: {"role": role} for name, role in words.items()}, confirm={"disease": "a measurement"}
    )
    checkup = checkup_table("people.csv", "policy.yaml")
    assert names_of(checkup) == {"unconfirmed"}
    assert checkup.trial is not None and not checkup.sound


@pytest.mark.parametrize(
    ("change", "secrets", "told"),
    [
        ({"promises": [{"l-diversity": {"of": "disease", "l": 3}}]}, ("flu", "cough"), "disease"),
        ({"formulas": "refuse"}, ("=1+1", "cough"), "spreadsheet"),
    ],
)
def test_what_only_protect_finds_out_is_found_out(change, secrets, told):
    table(secrets=secrets)
    checkup = checkup_table("people.csv", policy(**change))
    assert names_of(checkup) & {"refused", "too-few"} and checkup.trial is None
    assert told in str(checkup)
    assert CANARY not in str(checkup)


def test_too_few_people_and_a_broken_policy(sfumato):
    table()
    assert sfumato("doctor", "people.csv", "-p", policy(promises=[{"k-anonymity": {"k": 99}}])).code == 3
    Path("broken.yaml").write_text("columns: {town: {rolle: quasi}}\npromises: []\n")
    said = sfumato("doctor", "people.csv", "-p", "broken.yaml")
    assert said.code == 3 and "36 rows" in said.out and "rolle" in said.out
    assert sfumato("doctor", "-p", "policy.yaml").code == 2
    other = sfumato("doctor", table("other.csv"), "-p", policy(columns={"a": {"role": "quasi"}}))
    assert other.code == 3 and "none of the 3 columns" in other.err


def test_a_first_line_that_may_be_a_row_is_not_shown(sfumato):
    Path("bare.csv").write_text("".join(f"{CANARY}{i},8{i}331\n" for i in range(30)))
    said = sfumato("doctor", "bare.csv")
    assert said.code == 3 and CANARY not in said.out + said.err


def test_a_chain_may_have_recipients_and_people_with_several_rows():
    Path("visits.csv").write_text(Path(table()).read_text().replace(f"{CANARY}1;", f"{CANARY}2;"))
    chain = {"person": "name", "chain": {}, "recipients": {}, "missing": "own-value"}
    checkup = checkup_table("visits.csv", policy(protect={"search": "best", "suppress": 0}, **chain))
    assert checkup.sound, checkup
    assert "1 person has several rows" not in str(checkup)
