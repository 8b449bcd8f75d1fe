"""`sfumato discover`: exit codes, one JSON document, files where they were asked for."""

from __future__ import annotations

import re

import pytest

from sfumato.policy.policy import Policy

pytestmark = pytest.mark.slow

ECHOED = {"rows", "columns", "k", "t", "reading", "null_rule", "max_size"}
ANSWERS = {
    "k_anonymous",
    "exposed",
    "smallest_group",
    "minimal",
    "complete",
    "minimum",
    "proved",
    "lower_bound",
}
MORE = {"reason", "duplicates", "sets", "identifiers", "record_risk", "sample_of", "steps"}
METHODS = {"method", "assurance", "minima", "all_minima", "minimal_sets", "complete_to", "stopped"}


def test_a_card_and_nothing_on_stderr(sfumato, hospital):
    said = sfumato("discover", hospital / "hospital.csv", "--k", 2, "--mode", "any", "--max-size", 2)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("quasi-identifiers, k = 2, reading any: at least 1 of 1,500 rows exposed\n")
    assert re.search(r"smallest set +patient_id", said.out) and "not 2-anonymous" in said.out


def test_one_document_with_the_names_of_the_library(sfumato, hospital):
    data = hospital / "hospital.csv"
    said = sfumato(
        "discover", data, "--k", 3, "--fraction", "1/10", "--max-size", 3, "--record-risk", 1, "--json"
    )
    assert (said.code, said.err) == (0, "")
    document = said.document
    assert set(document) == ECHOED | ANSWERS | MORE | METHODS
    assert (document["t"], document["reading"], document["complete"]) == (150, "fraction", True)
    assert document["minimum"] in document["minimal"] and document["proved"] is True
    assert document["sample_of"] is None
    assert {"columns", "exposed", "share", "groups", "distinct_ratio", "separation"} <= set(
        document["sets"][0]
    )
    assert {"column", "kind", "share", "confidence", "reason"} <= set(document["identifiers"][0])
    assert set(document["record_risk"]) == {"max_size", "at_risk", "records_by_smallest_size", "contribution"}


@pytest.mark.parametrize(
    "words",
    [
        ["--k", 2],
        ["--mode", "any"],
        ["--k", 2, "--mode", "any", "--count", 3],
        ["--k", 2, "--mode", "some"],
        ["--k", 0, "--mode", "any"],
        ["--k", 2, "--fraction", "much"],
        ["--k", 2, "--mode", "any", "--deadline", -1],
        ["--k", 2, "--mode", "any", "--preset", "ema"],
        ["--k", 2, "--mode", "any", "--without", "nobody"],
        ["--k", 2, "--mode", "any", "--suggest", "no/such/folder/policy.yaml"],
        ["--k", 2, "--mode", "any", "--suggest", "p.yaml", "--preset", "emma"],
    ],
    ids=str,
)
def test_wrong_calls(sfumato, clinic, monkeypatch, words):
    folder = clinic()
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    said = sfumato("discover", folder / "data.csv", *words, "--json")
    assert said.code == 2 and said.document["error"]["exit_code"] == 2
    assert said.err and sorted(folder.iterdir()) == before


def test_bad_data(sfumato, tmp_path):
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n3\n", encoding="utf-8")
    for name in ("absent.csv", "ragged.csv"):
        assert sfumato("discover", tmp_path / name, "--k", 2, "--mode", "any").code == 3


def test_a_proposed_policy_and_charts(sfumato, clinic):
    folder = clinic()
    data, policy, charts = folder / "data.csv", folder / "proposed.yaml", folder / "charts"
    asked = ["discover", data, "--k", 2, "--mode", "any", "--suggest", policy, "--charts", charts]
    said = sfumato(*asked)
    assert said.code == 0 and "proposed.yaml" in said.err and "charts.html" in said.err
    assert Policy.load(policy).dropped == ("name",)
    assert len(list(charts.iterdir())) == 3
    assert sfumato("protect", data, "-p", policy, "-o", folder / "safe.csv").code == 0
    assert sfumato(*asked).code == 2
    assert sfumato(*asked, "--overwrite", "--preset", "uk-tre-10").code == 0
    assert "uk-tre-10" in policy.read_text(encoding="utf-8")


def test_a_deadline_is_kept_and_confessed(sfumato, hospital):
    said = sfumato(
        "discover", hospital / "hospital.csv", "--k", 2, "--mode", "all", "--deadline", 0, "--json"
    )
    assert said.code == 0 and said.document["minimum"]
    whole = sfumato("discover", hospital / "hospital.csv", "--k", 2, "--mode", "all", "--json").document
    assert whole["complete"] and len(whole["minimum"]) >= said.document["lower_bound"]


def test_columns_left_out(sfumato, hospital):
    asked = ["discover", hospital / "hospital.csv", "--k", 2, "--mode", "any", "--max-size", 1, "--json"]
    document = sfumato(*asked, "--without", "patient_id", "--without", "name").document
    assert "name" not in document["columns"] and ["born"] in document["minimal"]
