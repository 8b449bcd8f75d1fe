"""What came in Latin-1 with semicolons and decimal commas goes out the same way, from declare to release."""

from __future__ import annotations

import json

import pytest

import sfumato as sf

pytestmark = pytest.mark.slow

NAMES = "Name;PLZ;Geburtsdatum;Geschlecht;Gewicht;Blutdruck;Diagnose"


def lines(rows=300):
    yield NAMES
    for i in range(rows):
        sex, illness = "männlich" if i % 2 else "weiblich", ("Grippe", "Röteln", "Allergie")[i % 3]
        born, weight = f"{1 + i % 28:02}.{1 + i % 12:02}.{1950 + i % 40}", f"{60 + i % 30},{i % 10}"
        yield f"Käthe{i:03} Müller;{80000 + i % 7 * 100};{born};{sex};{weight};{110 + i % 40};{illness}"


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """A folder with a file as the office writes it; the working directory."""
    monkeypatch.chdir(tmp_path)

    def write(encoding="latin-1", end="\r\n", delimiter=";"):
        text = end.join(lines()) + end
        (tmp_path / "patienten.csv").write_bytes(text.replace(";", delimiter).encode(encoding))
        return tmp_path

    return write


def test_from_a_latin_1_file_to_a_release(sfumato, clinic):
    folder = clinic()
    said = sfumato("declare", "patienten.csv", "-o", "policy.yaml")
    assert said.code == 0
    assert "Windows-1252" in said.err
    policy = (folder / "policy.yaml").read_text()
    assert "source: {encoding: windows-1252, delimiter: ;}" in policy
    assert "written: dd.mm.yyyy" in policy
    assert "written: '1234,5'" in policy
    assert sfumato("policy", "confirm", "policy.yaml", "--all").code == 0
    said = sfumato("protect", "patienten.csv", "-p", "policy.yaml", "-o", "safe.csv")
    assert (said.code, "Windows-1252" in said.err) == (0, False)
    assert sfumato("release", "patienten.csv", "-p", "policy.yaml", "--into", "out").code == 0
    for path in ("safe.csv", "out/data.csv"):
        content = (folder / path).read_bytes()
        with pytest.raises(UnicodeDecodeError):
            content.decode("utf-8")
        header, first, *_ = content.decode("cp1252").splitlines()
        assert header == "PLZ;Geburtsdatum;Geschlecht;Gewicht;Blutdruck;Diagnose"
        assert first.count(";") == 5
        assert b"K\xe4the" not in content
        assert sfumato("audit", path, "-p", "policy.yaml").code == 0
    files = json.loads((folder / "out" / "manifest.json").read_text())["files"]
    (described,) = (file for file in files if file["name"].startswith("data."))
    assert (described["encoding"], described["delimiter"], described["rows"]) == ("windows-1252", ";", 300)
    assert sfumato("utility", "patienten.csv", "out/data.csv", "-p", "policy.yaml").code == 0
    assert sfumato("policy", "check", "policy.yaml", "patienten.csv").code == 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_every_form_comes_back(sfumato, clinic, encoding, delimiter):
    folder = clinic(encoding, "\n", delimiter)
    assert sfumato("declare", "patienten.csv", "-o", "policy.yaml").code == 0
    assert sfumato("policy", "confirm", "policy.yaml", "--all").code == 0
    assert sfumato("protect", "patienten.csv", "-p", "policy.yaml", "-o", "safe.csv").code == 0
    content = (folder / "safe.csv").read_bytes()
    assert content.startswith("".encode(encoding))
    assert content.decode(encoding).splitlines()[0] == delimiter.join(NAMES.split(";")[1:])
    assert sfumato("audit", "safe.csv", "-p", "policy.yaml").code == 0


def test_the_same_rows_have_the_same_policy_and_plan_in_every_form(clinic):
    plans = []
    for encoding, delimiter in (("utf-8", "|"), ("cp1252", ";"), ("utf-16", "\t")):
        path = clinic(encoding, "\n", delimiter) / "patienten.csv"
        policy = sf.declare(path).confirm_all()
        plans.append(sf.protect(path, policy))
    assert len({plan.policy.digest for plan in plans}) == 1
    documents = [{key: word for key, word in plan.as_dict().items() if key != "seconds"} for plan in plans]
    assert documents[0] == documents[1] == documents[2]


def test_a_letter_that_the_encoding_lacks_is_refused_before_anything_is_written(sfumato, clinic):
    folder = clinic("cp850")
    others = "".join(f"  {name}: {{role: identifier}}\n" for name in NAMES.split(";") if name != "Geschlecht")
    (folder / "policy.yaml").write_text(
        f"columns:\n{others}"
        "  Geschlecht: {role: quasi, taxonomy: {tree: {alle – zusammen: [männlich, weiblich]}}}\n"
        "source: {encoding: cp850, delimiter: ;}\n"
        "promises: [k-anonymity: {k: 200}]\n",
        encoding="utf-8",
    )
    said = sfumato("protect", "patienten.csv", "-p", "policy.yaml", "-o", "safe.csv")
    assert (said.code, (folder / "safe.csv").exists()) == (3, False)
    assert "CP850 lacks" in said.err


def test_a_decimal_mark_and_a_form_of_dates_settle_what_cells_leave_open(clinic):
    path = clinic() / "offen.csv"
    rows = [f"{i % 9 + 1},{100 + i};{i % 12 + 1:02}/{i % 11 + 1:02}/2020" for i in range(200)]
    path.write_text("\n".join(["income;visit", *rows]) + "\n")
    drafts = {
        (mark, form): sf.declare(sf.DataFile(path, decimal=mark, date_format=form))
        for mark, form in ((None, None), (",", "dd/mm/yyyy"), (".", "mm/dd/yyyy"))
    }
    specs = {said: dict(draft.columns["visit"].taxonomy.spec) for said, draft in drafts.items()}
    assert specs[None, None]["date"] == ["year"]
    assert specs[",", "dd/mm/yyyy"] == {"date": ["month", "quarter", "year"], "written": "dd/mm/yyyy"}
    assert specs[".", "mm/dd/yyyy"] == {"date": ["month", "quarter", "year"], "written": "mm/dd/yyyy"}
    assert drafts[",", "dd/mm/yyyy"].source.words == {
        "delimiter": ";",
        "decimal": ",",
        "date-format": "dd/mm/yyyy",
    }


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("--encoding", "klingon", "unknown name"),
        ("--delimiter", ";;", "one character"),
        ("--decimal", "x", "a point or a comma"),
        ("--date-format", "dd of mm", "no such form of dates"),
        ("--sheet", "Tabelle1", "a CSV file has no sheet"),
        ("--query", "SELECT 1", "a CSV file has no query"),
    ],
)
def test_options_that_make_no_sense_are_refused(sfumato, clinic, option, value, complaint):
    clinic()
    said = sfumato("declare", "patienten.csv", option, value)
    assert said.code == 2
    assert complaint in said.err


def test_a_policy_with_a_wrong_source_is_refused_with_its_key(sfumato, clinic, tmp_path):
    clinic()
    words = "columns: {a: {role: quasi}}\npromises: [{k-anonymity: {k: 2}}]\nsource: "
    for wrong in ("{encoding: klingon}", "{decimal: x}", "{date-format: never}", "{page: 1}"):
        (tmp_path / "policy.yaml").write_text(words + wrong + "\n")
        said = sfumato("policy", "check", "policy.yaml")
        assert said.code == 3
        assert "source" in said.out + said.err
