"""`sfumato audit`, `attack`, `declare`, `policy`, `demo`."""

from __future__ import annotations

import json
import re
import warnings

import pytest

from sfumato.policy.policy import Policy

pytestmark = pytest.mark.slow


@pytest.fixture
def safe(sfumato, clinic):
    folder = clinic(promises=[{"k-anonymity": {"k": 4}}, {"l-diversity": {"of": "disease", "l": 2}}])
    said = sfumato("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "safe.csv")
    assert said.code == 0, said.err
    return folder


def test_a_safe_file_passes(sfumato, safe):
    said = sfumato("audit", safe / "safe.csv", "-p", safe / "policy.yaml")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("All promises hold. ")
    assert "  promised  2 promises: 2 hold\n" in said.out
    document = sfumato("audit", safe / "safe.csv", "-p", safe / "policy.yaml", "--json").document
    assert document["holds"] is True
    assert {"verdicts", "findings"} <= set(document)
    assert all("values" not in finding for finding in document["findings"])


def test_the_raw_file_does_not(sfumato, safe):
    said = sfumato("audit", safe / "data.csv", "-p", safe / "policy.yaml")
    assert said.code == 1
    first, second, *_ = said.out.splitlines()
    assert "BROKEN" in first
    assert "BROKEN" in second
    document = sfumato("audit", safe / "data.csv", "-p", safe / "policy.yaml", "--json").document
    assert document["holds"] is False


def test_what_cannot_be_decided_is_no_failure_unless_strict(sfumato, clinic):
    rows = "".join(f"P{i % 12},01{i % 12 // 6},{'flu' if i % 2 else 'cold'}\n" for i in range(24))
    person, found = {"column": "name", "rows": "all"}, {"search": "mondrian"}
    made = [{"k-anonymity": {"k": 3}}]
    folder = clinic("name,zip,disease\n" + rows, person=person, promises=made, protect=found)
    call = ("audit", folder / "safe.csv", "-p", folder / "policy.yaml")
    assert (
        sfumato("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "safe.csv").code
        == 0
    )
    assert sfumato(*call, "--json").document["holds"] is None
    assert sfumato(*call).code == 0
    assert sfumato(*call, "--strict").code == 1
    assert "not decidable" in sfumato(*call).out


@pytest.mark.parametrize("name", ["linkage", "homogeneity", "skewness"])
def test_one_adversary_alone(sfumato, safe, name):
    said = sfumato("attack", name, safe / "data.csv", "-p", safe / "policy.yaml")
    assert said.code == ("BREACH" in said.out) == (name != "skewness")
    document = sfumato("attack", name, safe / "safe.csv", "-p", safe / "policy.yaml", "--json").document
    assert {finding["attack"] for finding in document["findings"]} == {name}


def test_an_unknown_adversary_is_a_wrong_call(sfumato, safe):
    said = sfumato("attack", "moriarty", safe / "safe.csv", "-p", safe / "policy.yaml")
    assert said.code == 2
    assert "linkage" in said.err


def test_declare_writes_a_policy_that_works(sfumato, hospital, tmp_path):
    policy = tmp_path / "policy.yaml"
    said = sfumato("declare", hospital / "hospital.csv", "-o", policy)
    assert (said.code, said.out) == (0, "")
    assert sfumato("declare", hospital / "hospital.csv", "-o", policy).code == 2
    assert sfumato("declare", hospital / "hospital.csv").out == policy.read_text(encoding="utf-8")
    safe = tmp_path / "safe.csv"
    assert sfumato("protect", hospital / "hospital.csv", "-p", policy, "-o", safe).code == 0
    assert sfumato("audit", safe, "-p", policy).code == 0


def test_declare_says_what_comes_next(sfumato, tmp_path):
    """Whoever types what it says is not refused for a column that waits."""
    table, policy = tmp_path / "visits.csv", tmp_path / "policy.yaml"
    rows = "".join(f"{20 + i % 50},{110 + i * 7 % 40}\n" for i in range(100))
    table.write_text(f"age,tension\n{rows}", encoding="utf-8")
    said = sfumato("declare", table, "-o", policy).err
    assert f"confirm what waits (sfumato policy confirm {policy} COLUMN…), then: sfumato protect" in said
    sfumato("policy", "confirm", policy, "tension")
    assert sfumato("protect", table, "-p", policy, "-o", tmp_path / "safe.csv").code == 0
    table.write_text("age\n" + "".join(f"{20 + i % 20}\n" for i in range(200)), encoding="utf-8")
    said = sfumato("declare", table, "-o", policy, "--overwrite").err
    assert "correct the roles, then: sfumato protect" in said
    proposed = tmp_path / "proposed.yaml"
    said = sfumato("discover", table, "--k", "2", "--mode", "any", "--suggest", proposed).err
    assert f"then: sfumato protect {table} -p {proposed} -o safe.csv" in said


def test_declare_as_json(sfumato, hospital, tmp_path):
    document = sfumato("declare", hospital / "hospital.csv", "--json").document
    assert document["written"] is None
    assert set(document["reasons"]) <= set(document["policy"]["columns"])
    policy = tmp_path / "policy.yaml"
    again = sfumato("declare", hospital / "hospital.csv", "--json", "-o", policy)
    assert (again.code, again.err) == (0, "")
    assert again.document == {**document, "written": str(policy)}
    assert Policy.from_dict(document["policy"]).digest == Policy.load(policy).digest


def test_a_preset_sets_the_threshold(sfumato, hospital):
    said = sfumato("declare", hospital / "hospital.csv", "--preset", "ema")
    assert "k-anonymity: {k: 12}" in said.out
    assert sfumato("declare", hospital / "hospital.csv", "--preset", "nonesuch").code == 2


def test_the_schema_is_one_document(sfumato):
    said = sfumato("policy", "schema")
    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out)["title"] == "Sfumato policy"


def test_a_sound_policy(sfumato, hospital):
    for data in ([], [hospital / "hospital.csv"]):
        said = sfumato("policy", "check", hospital / "policy.yaml", *data)
        assert said.code == 0
        assert said.out.endswith("the policy is sound\n")


def test_the_doctor_counts_what_a_taxonomy_lacks_and_shows_values_on_request(sfumato, clinic):
    tree = {"role": "quasi", "taxonomy": {"tree": {"01": ["010", "011", "012"]}}}
    roles = {"name": {"role": "identifier"}, "disease": {"role": "sensitive"}}
    folder = clinic(columns={**roles, "zip": tree})
    call = ("policy", "check", folder / "policy.yaml", folder / "data.csv")
    said = sfumato(*call)
    assert (said.code, said.err) == (3, "--show-values prints the values, and the lines to add\n")
    assert said.out.startswith("error: column zip: 3 values that the taxonomy lacks, in 6 cells")
    document = sfumato(*call, "--json").document
    assert document["sound"] is False
    assert document["ailments"][0]["count"] == 3
    assert "020" not in json.dumps(document) + said.out
    shown = sfumato(*call, "--show-values")
    assert "--show-values" not in shown.err
    assert "020" in shown.err
    assert "020" not in shown.out


def test_the_checklist_of_safe_harbor(sfumato, hospital):
    said = sfumato("policy", "check", hospital / "policy.yaml", "--preset", "hipaa-safe-harbor")
    assert said.code == 3 and "column zip" in said.out


DEMO_FILES = ["disease.csv", "hospital.csv", "job.csv", "leak.csv", "policy.yaml", "quarter-1.csv"]
DEMO_FILES += ["quarter-2.csv", "quarters.yaml", "releases", "report.html", "safe.csv"]
ON_ONE_SCREEN = 45


def test_the_demo_shows_the_life_of_a_release_on_one_screen_and_runs_twice(sfumato, tmp_path):
    folder = tmp_path / "demo-out"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = sfumato("demo", folder, "--rows", "600")
    assert first.code == 0, first.err
    assert sorted(p.name for p in folder.iterdir()) == DEMO_FILES
    assert len(first.out.splitlines()) <= ON_ONE_SCREEN and "not tried" not in first.out
    stands_out, safe, versions, later, leak = re.split(r"^[2-5]\. ", first.out, flags=re.MULTILINE)
    assert "patients are the only ones with their born, zip" in stands_out and "homogeneity" in stands_out
    assert "All promises hold" in safe and "Six people before" in safe
    for part in (versions, later):
        rows = [line.split() for line in part.splitlines() if "every promise holds" in line]
        assert [row[0] for row in rows] == ["registry", "university", "insurer"]
    losses = [float(loss) for loss in re.findall(r"  loss (\d\.\d+)", versions)]
    one_table = float(re.search(r"would lose (\d\.\d+)\.", versions)[1])
    assert len(losses) == 3 and max(losses) <= 1.1 * one_table + 0.001
    told = re.search(r"(\d+) patients are new, (\d+) came again, (\d+) did not", later)
    new, back, gone = map(int, told.groups())
    patients = len((folder / "quarter-1.csv").read_text(encoding="utf-8").splitlines()) - 1
    assert new and back and back + gone == patients
    assert "Traced to university: an innocent is charged in at most 1 of 1,000 traces." in leak
    assert leak.count("not charged") == 2

    again = sfumato("demo", folder, "--rows", "600", "--details")
    assert again.code == 0, again.err
    assert "not tried" in again.out and "BROKEN" in again.out and "why not finer" in again.out


def test_the_demo_removes_no_releases_but_its_own(sfumato, tmp_path):
    kept = tmp_path / "releases" / "ledger.db"
    kept.parent.mkdir()
    kept.write_text("somebody's")
    refused = sfumato("demo", tmp_path, "--rows", "600")
    assert refused.code == 2 and "Name another folder" in refused.err
    assert kept.read_text() == "somebody's"


def test_the_version(sfumato):
    assert sfumato("--version").out == "sfumato 0.1.0\n"
