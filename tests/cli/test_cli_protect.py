"""`sfumato protect`: exit codes, streams, the one JSON document, and files that appear or do not."""

from __future__ import annotations

import json

import pytest

from sfumato.system.errors import BrokenPromise
from sfumato.workflows import protect_file as protect_file_module
from sfumato.workflows.protect import protect
from sfumato.workflows.protect_file import protect_file

pytestmark = pytest.mark.slow

KEYS = {
    "search", "measure", "loss", "optimal", "checked", "rows", "suppressed", "classes", "smallest",
    "levels", "cuts", "verdicts", "unchanged", "outlook", "published",
    "not_protected",
}  # fmt: skip


def test_a_safe_file_and_a_card(sfumato, hospital, tmp_path):
    out = tmp_path / "safe.csv"
    said = sfumato("protect", hospital / "hospital.csv", "-p", hospital / "policy.yaml", "-o", out)
    assert said.code == 0
    assert said.out.startswith("plan by lattice")
    assert "\n  k-anonymity, k = 5" in said.out
    assert said.err == f"published {out}\n"
    header, *rows = out.read_text(encoding="utf-8").splitlines()
    assert header == "born,zip,sex,job,income,disease,admitted"
    assert len(rows) >= 1500 * 0.95
    assert sfumato("audit", out, "-p", hospital / "policy.yaml").code == 0
    assert [p.name for p in tmp_path.iterdir()] == ["safe.csv"]


def test_one_document_with_the_names_of_the_attributes(sfumato, clinic):
    folder = clinic()
    out = folder / "safe.parquet"
    said = sfumato("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", out, "--json")
    assert said.code == 0
    document = said.document
    assert set(document) == KEYS
    assert document["published"] == str(out)
    assert document["rows"] == 12
    assert document["suppressed"] == 0
    assert document["cuts"] == {"zip": ["010", "011", "012", "020", "021", "022"]}
    (verdict,) = document["verdicts"]
    assert {"promise", "holds", "measured", "limit", "margin", "people", "classes"} <= set(verdict)
    assert (verdict["holds"], verdict["measured"], verdict["limit"]) == (True, 2, 2)


def test_an_explanation_on_request(sfumato, clinic):
    folder = clinic(promises=[{"k-anonymity": {"k": 3}}])
    call = ("protect", folder / "data.csv", "-p", folder / "policy.yaml", "--dry-run", "--explain")
    assert "why not finer\n  zip  k-anonymity, k = 3 stops 2 of 2 finer steps" in sfumato(*call).out
    document = sfumato(*call, "--json").document
    assert set(document) == KEYS | {"explanation"}
    story = document["explanation"]["columns"]["zip"]
    assert story["possible"] == 2
    assert story["steps"][0]["cost"] == 6


@pytest.mark.parametrize("search", ["top-down", "lattice", "mondrian", "local"])
def test_every_search_is_published_and_judged_again(sfumato, clinic, search):
    folder = clinic(promises=[{"k-anonymity": {"k": 4}}], protect={"suppress": 0, "search": search})
    said = sfumato(
        "protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "s.csv", "--json"
    )
    assert said.code == 0, said.err
    assert (said.document["levels"] is not None) == (search == "lattice")
    assert (said.document["cuts"] is None) == (search in ("mondrian", "local"))
    assert said.document["smallest"] >= 4


def test_an_ending_that_is_not_written_is_refused_before_the_search(sfumato, clinic, monkeypatch):
    """Whoever mistypes an ending does not wait for a plan."""
    folder = clinic()
    monkeypatch.setattr(protect_file_module, "plan_table", lambda *_, **__: pytest.fail("planned"))
    said = sfumato("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "s.docx")
    assert said.code == 2 and "names no format that is written" in said.err


def test_dry_run_writes_nothing(sfumato, clinic):
    folder = clinic()
    before = sorted(folder.iterdir())
    call = ("protect", folder / "data.csv", "-p", folder / "policy.yaml", "--dry-run")
    for said in (sfumato(*call), sfumato(*call, "-o", folder / "safe.csv")):
        assert said.code == 0
        assert said.err == "nothing was written\n"
    assert sfumato(*call, "--json").document["published"] is None
    assert sorted(folder.iterdir()) == before


def test_an_output_is_needed(sfumato, clinic):
    folder = clinic()
    said = sfumato("protect", folder / "data.csv", "-p", folder / "policy.yaml")
    assert (said.code, said.out) == (2, "")
    assert "--dry-run" in said.err


def test_an_existing_output_is_kept_unless_asked(sfumato, clinic):
    folder = clinic()
    out = folder / "safe.csv"
    out.write_text("earlier", encoding="utf-8")
    call = ("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", out)
    refused = sfumato(*call)
    assert refused.code == 2
    assert "--overwrite" in refused.err
    assert out.read_text(encoding="utf-8") == "earlier"
    assert sfumato(*call, "--overwrite").code == 0
    assert out.read_text(encoding="utf-8").startswith("zip,disease\n")


def test_the_data_is_never_the_output(sfumato, clinic):
    folder = clinic()
    raw = (folder / "data.csv").read_bytes()
    said = sfumato(
        "protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "data.csv", "--overwrite"
    )
    assert said.code == 2
    assert (folder / "data.csv").read_bytes() == raw


def test_infeasible_is_exit_1_with_a_remedy_and_no_file(sfumato, clinic):
    folder = clinic(promises=[{"k-anonymity": {"k": 13}}])
    before = sorted(folder.iterdir())
    call = ("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "safe.csv")
    said = sfumato(*call)
    assert (said.code, said.out) == (1, "")
    assert len(said.err.splitlines()) == 3
    error = sfumato(*call, "--json").document["error"]
    assert set(error) == {"kind", "message", "where", "remedy", "exit_code", "page"}
    assert (error["kind"], error["exit_code"]) == ("Infeasible", 1)
    assert error["remedy"]
    assert sorted(folder.iterdir()) == before


def test_a_bad_policy_is_exit_3_with_the_line(sfumato, clinic):
    folder = clinic()
    (folder / "policy.yaml").write_text(
        "columns:\n  zip: {role: quasi}\npromises:\n  - k-anonymty: {k: 2}\n", encoding="utf-8"
    )
    said = sfumato(
        "protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "s.csv", "--json"
    )
    assert said.code == said.document["error"]["exit_code"] == 3
    assert "line 4" in said.err
    assert "k-anonymity" in said.err


def test_an_undeclared_column_blocks(sfumato, clinic):
    folder = clinic("name,zip,disease,extra\na,010,flu,1\nb,010,flu,2\n")
    said = sfumato("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "s.csv")
    assert said.code == 3
    assert "extra" in said.err
    assert not (folder / "s.csv").exists()


def test_an_empty_table_is_refused(sfumato, clinic):
    folder = clinic("name,zip,disease\n")
    said = sfumato("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "s.csv")
    assert said.code == 3
    assert "no rows" in said.err
    assert not (folder / "s.csv").exists()


@pytest.mark.parametrize("absent", ["data.csv", "policy.yaml"])
def test_a_missing_file_is_named(sfumato, clinic, absent):
    folder = clinic()
    (folder / absent).unlink()
    said = sfumato("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "s.csv")
    assert said.code == 3
    assert absent in said.err


def test_every_problem_of_a_policy_is_an_entry_of_the_document(sfumato, clinic):
    folder = clinic()
    text = "columns:\n  zip: {role: quasy}\n  name: {role: identifier}\npromises:\n  - k-anonymity: {k: 0}\n"
    (folder / "policy.yaml").write_text(text, encoding="utf-8")
    said = sfumato("protect", folder / "data.csv", "-p", folder / "policy.yaml", "--dry-run", "--json")
    assert said.code == 3
    problems = said.document["error"]["problems"]
    assert [(p["line"], p["key"]) for p in problems] == [
        (2, "columns.zip.role"),
        (5, "promises[0].k-anonymity.k"),
    ]
    assert problems[0]["remedy"] == "Did you mean quasi?"
    assert set(problems[0]) == {"line", "key", "message", "remedy"}


def test_one_problem_of_a_policy_is_a_list_too(sfumato, clinic):
    folder = clinic()
    (folder / "policy.yaml").unlink()
    said = sfumato("protect", folder / "data.csv", "-p", folder / "policy.yaml", "--dry-run", "--json")
    [problem] = said.document["error"]["problems"]
    assert "cannot be read" in problem["message"]


def test_a_person_with_two_secrets_shows_one_of_them(sfumato, clinic):
    rows = "".join(f"P{i},01{i // 2},{disease}\n" for i in range(40) for disease in ("flu", "hiv"))
    made = [{"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "disease", "l": 2}}]
    folder = clinic("name,zip,disease\n" + rows, person="name", promises=made)
    call = ("protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "safe.csv")
    said = sfumato(*call)
    assert said.code == 0
    assert "40 people have several rows; values of 40 of 80 rows (50.0 %) are not shown" in said.out
    assert len((folder / "safe.csv").read_text(encoding="utf-8").splitlines()) == 1 + 40


@pytest.mark.parametrize(
    "call",
    [("protect",), ("protect", "x.csv", "--nonsense"), ("fly",), ("audit", "x.csv"), ("demo", "--rows", "0")],
)
def test_a_wrong_call_is_exit_2(sfumato, call):
    said = sfumato(*call)
    assert (said.code, said.out) == (2, "")
    assert json.loads(sfumato(*call, "--json").out)["error"]["exit_code"] == 2


def test_people_are_counted_where_the_policy_names_them(sfumato, clinic):
    rows = "".join(f"P{i // 2},01{i // 4},flu\n" for i in range(12))
    folder = clinic("name,zip,disease\n" + rows, person="name", promises=[{"k-anonymity": {"k": 3}}])
    said = sfumato(
        "protect", folder / "data.csv", "-p", folder / "policy.yaml", "-o", folder / "s.csv", "--json"
    )
    assert said.code == 0, said.err
    assert said.document["smallest"] == 6
    assert said.document["rows"] == 12
    assert {p.name for p in folder.iterdir()} == {"data.csv", "policy.yaml", "s.csv"}


def test_a_search_that_counts_rows_for_people_is_caught_in_the_bytes(clinic, monkeypatch):
    rows = "".join(f"P{i // 4},01{i // 4},flu\n" for i in range(12))
    folder = clinic("name,zip,disease\n" + rows, person="name", promises=[{"k-anonymity": {"k": 3}}])
    wrong = clinic("name,zip,disease\n" + rows, promises=[{"k-anonymity": {"k": 3}}]) / "policy.yaml"
    careless = protect(folder / "data.csv", wrong)
    clinic("name,zip,disease\n" + rows, person="name", promises=[{"k-anonymity": {"k": 3}}])
    monkeypatch.setattr(protect_file_module, "plan_table", lambda *_, **__: careless)
    with pytest.raises(BrokenPromise, match="does not keep k-anonymity"):
        protect_file(folder / "data.csv", folder / "policy.yaml", folder / "s.csv")
    assert {p.name for p in folder.iterdir()} == {"data.csv", "policy.yaml"}


def test_warnings_of_the_doctor_come_first_on_stderr(sfumato, clinic, monkeypatch):
    """A value in two spellings, and a column that tells everybody apart and is published as it is."""
    lines = ["name,zip,disease,note"]
    lines += [f"N{i},0{1 + i % 2}{i % 3},{'flu' if i % 4 else 'Flu'},remark {i}" for i in range(60)]
    columns = {
        "name": {"role": "identifier"},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "disease": {"role": "sensitive"},
        "note": {"role": "insensitive"},
    }
    monkeypatch.chdir(clinic("\n".join(lines) + "\n", columns=columns))
    call = ("data.csv", "-p", "policy.yaml", "--json")
    for verb, *more in (("protect", "-o", "safe.csv"), ("release", "--into", "one")):
        said = sfumato(verb, *call, *more)
        assert said.code == 0 and said.document
        first, second = said.err.splitlines()[:2]
        assert first.startswith("warning: column disease: 2 texts are spellings of 1 value")
        assert second.startswith("warning: column note: 60 different values in 60 cells")
        assert "remark" not in said.err


def test_warnings_about_the_policys_own_files_are_shown_by_an_audit(sfumato, clinic, monkeypatch):
    folder = clinic(
        columns={
            "name": {"role": "identifier"},
            "zip": {"role": "quasi", "taxonomy": {"file": "zip.csv"}},
            "disease": {"role": "sensitive"},
        }
    )
    paths = {f"0{a}{b}": f"0{a}*" for a in (1, 2) for b in range(3)}
    rows = [f"{leaf};{above};*" for leaf, above in paths.items()]
    (folder / "zip.csv").write_text("\n".join([*rows, "900;Far;*", "901;far;*"]) + "\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    found = sfumato("policy", "check", "policy.yaml").out
    assert "warning: " in found
    sfumato("protect", "data.csv", "-p", "policy.yaml", "-o", "safe.csv")
    said = sfumato("audit", "safe.csv", "-p", "policy.yaml", "--json")
    assert said.code == 0 and said.document
    assert said.err.strip() == "\n".join(line for line in found.splitlines() if line.startswith("warning: "))
