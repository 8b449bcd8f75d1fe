"""From a file of SAS and its catalogue of labels to a release with a report."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.studio.page import policy_within
from sfumato.system.errors import SfumatoError, UsageError
from table.reading.sas_files import lay_out, write_spss
from workflows.test_file_formats import run_all

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path)
    (tmp_path / "rules").mkdir()
    return tmp_path


def go(sfumato, *calls):
    return run_all(sfumato, calls, Path("rules/policy.yaml"))


DECLARE = ("declare", "visits.sas7bdat", "--catalog", "formats.sas7bcat", "-o", "rules/policy.yaml")
ORIGINAL = ("--original", "visits.sas7bdat")
CONFIRM = ("policy", "confirm", "rules/policy.yaml", "--all")


def test_labels_of_a_catalogue_are_released(sfumato, folder, monkeypatch):
    told = go(
        sfumato,
        DECLARE,
        CONFIRM,
        ("release", "visits.sas7bdat", "-p", "rules/policy.yaml", "--into", "out"),
        (
            "report",
            "out/data.csv",
            "-p",
            "rules/policy.yaml",
            "--original",
            "visits.sas7bdat",
            "-o",
            "report.html",
        ),
        ("doctor", "visits.sas7bdat", "-p", "rules/policy.yaml"),
    )
    assert "what is released is a CSV file" in told
    assert "is not read" not in told
    assert sf.Policy.load("rules/policy.yaml").source.words == {"catalog": "../formats.sas7bcat"}
    rows = list(csv.DictReader((folder / "out" / "data.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["illness"] for row in rows} <= {"flu", "measles", "asthma", ""}
    assert {row["sex"] for row in rows} <= {"female", "male", "*"}
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    again = ("protect", "../visits.sas7bdat", "-p", "../rules/policy.yaml", "-o", "safe.csv")
    assert sfumato(*again).code == 0


def test_the_same_plan_and_the_same_bytes_as_through_spss(sfumato, folder):
    write_spss(folder / "visits.sav")
    go(sfumato, DECLARE, CONFIRM)
    policy = sf.Policy.load("rules/policy.yaml")
    sas = sf.DataFile("visits.sas7bdat", catalog="formats.sas7bcat")
    drafts = [sf.declare(data) for data in (sas, "visits.sav")]
    assert drafts[0].digest == drafts[1].digest
    for name, data in (("sas", "visits.sas7bdat"), ("spss", "visits.sav")):
        go(sfumato, ("protect", data, "-p", "rules/policy.yaml", "-o", f"{name}.csv"))
    assert (folder / "sas.csv").read_bytes() == (folder / "spss.csv").read_bytes()
    plans = [sf.protect(data, policy) for data in ("visits.sas7bdat", "visits.sav")]
    assert plans[0].as_dict() == plans[1].as_dict()


def test_a_plan_is_not_applied_with_another_catalogue(folder):
    path = folder / "formats.sas7bcat"
    data = sf.DataFile("visits.sas7bdat", catalog=path)
    plan = sf.protect(data, sf.declare(data).confirm_all())
    path.write_bytes(path.read_bytes().replace(b"south", b"north"))
    with pytest.raises(SfumatoError):
        plan.apply(data)


def test_no_output_replaces_the_catalogue(sfumato, folder):
    go(sfumato, DECLARE, CONFIRM)
    content = (folder / "formats.sas7bcat").read_bytes()
    (folder / "linked.csv").symlink_to("formats.sas7bcat")
    said = ("--catalog", "formats.sas7bcat", "--overwrite")
    for call in (
        ("protect", "visits.sas7bdat", "-p", "rules/policy.yaml", "-o", "linked.csv", "--overwrite"),
        ("declare", "visits.sas7bdat", "-o", "linked.csv", *said),
        ("discover", "visits.sas7bdat", "--k", "3", "--suggest", "linked.csv", *said),
    ):
        answer = sfumato(*call)
        assert answer.code == 2, answer
        assert "the catalogue of labels" in answer.err
    assert (folder / "formats.sas7bcat").read_bytes() == content


@pytest.mark.usefixtures("folder")
def test_init_remembers_the_catalogue(sfumato):
    answers = ("--row", "person", "--audience", "public", "--once", "--rule", "ema", "--nothing-exact")
    go(
        sfumato,
        ("init", "visits.sas7bdat", "--catalog", "formats.sas7bcat", "-o", "rules/first.yaml", *answers),
    )
    assert sf.Policy.load("rules/first.yaml").form_of_data.catalog == "rules/../formats.sas7bcat"


def test_a_policy_that_names_no_catalogue_of_its_folder(sfumato, folder):
    go(sfumato, DECLARE, CONFIRM)
    policy = folder / "rules" / "policy.yaml"
    with pytest.raises(UsageError, match="the catalogue of labels lies outside"):
        policy_within(policy.read_text(encoding="utf-8"), policy)
    policy.write_text(policy.read_text(encoding="utf-8").replace("../", ""), encoding="utf-8")
    answer = sfumato("protect", "visits.sas7bdat", "-p", policy, "-o", "safe.csv")
    assert answer.code == 3
    assert "there is no such catalogue" in answer.err
