"""What version 0.1 wrote is read, verified and continued; `tests/golden/v0_1/README.md` says what that is."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.policy.taxonomies import BUILDERS

GOLDEN = Path(__file__).parent.parent / "golden" / "v0_1"


def read(text):
    """A JSON document; processors may differ in the last digits of a float."""
    return json.loads(text, parse_float=lambda number: round(float(number), 12))


EXPECTED = read((GOLDEN / "expected.json").read_text(encoding="utf-8"))
POLICIES = sorted(path.stem for path in (GOLDEN / "policies").glob("*.yaml"))
JUDGED = [name for name in POLICIES if "verdicts" in EXPECTED["policies"][name]]
ENDS_ARE_VALUES = ("groups", "terms_kept", "terms_text")
"""Ranges of Mondrian in 0.1 ran from one value to another, which breaks a policy now; the promises hold."""
LEDGER = "sqlite:///ledger/ledger.db"
CERTIFICATES = sorted(
    str(path.relative_to(GOLDEN)) for path in (GOLDEN / "released").rglob("certificate.json")
)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A copy of everything that 0.1 wrote, to work in; keys are their owner's alone again."""
    folder = tmp_path / "v0_1"
    shutil.copytree(GOLDEN, folder)
    for name in ("ledger.db", "ledger.db.key", "berg.key"):
        (folder / "ledger" / name).chmod(0o600)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SFUMATO_LEDGER", LEDGER)
    return folder


@pytest.fixture
def sfumato(capsys):
    """Run the program with `--json`; the document it prints."""

    def call(*words, code=0):
        assert run([*map(str, words), "--json"]) == code
        return read(capsys.readouterr().out)

    return call


def key_of(certificate):
    """The public key that signed a release: the first two were signed before the key changed."""
    return (
        "ledger/first.key.pub" if "Q1" in certificate or "Q2" in certificate else "ledger/ledger.db.key.pub"
    )


def test_the_files_are_of_0_1_and_use_everything_a_policy_knew():
    text = "\n".join((GOLDEN / "policies" / f"{name}.yaml").read_text(encoding="utf-8") for name in POLICIES)
    assert EXPECTED["version"] == "0.1.0"
    assert sorted(EXPECTED["policies"]) == POLICIES
    assert [key for key in BUILDERS if f"{key}:" not in text] == ["ready"], "it came later"
    promises = (
        "k-anonymity l-diversity confidence-bounding alpha-k-anonymity t-closeness freeform quasi-sensitive"
    )
    words = (
        "distinct entropy recursive equal ordered hierarchical diversity closeness survivors hold overriders"
    )
    searches = "top-down lattice mondrian optimum"
    asked = [*promises.split(), "continuous", *words.split(), *searches.split()]
    assert [word for word in asked if word not in text] == []


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_means_what_it_meant(name):
    policy = sf.Policy.load(GOLDEN / "policies" / f"{name}.yaml")
    assert policy.digest == EXPECTED["policies"][name]["digest"]


@pytest.mark.parametrize("name", JUDGED)
def test_a_published_file_is_judged_as_it_was(files, sfumato, name):
    """Each by its own policy; where 0.1 kept something of the original table, from that too."""
    code = 1 if name in ENDS_ARE_VALUES else 0
    words = ("audit", files / "published" / f"{name}.csv", "-p", files / "policies" / f"{name}.yaml")
    found = sfumato(*words, code=code)
    keys = ("promise", "holds", "measured", "limit")
    told = [{key: v[key] for key in keys} for v in found["verdicts"]]
    assert [v["promise"] for v in told[:code]] == ["no text finer than the policy's levels"] * code
    assert told[code:] == EXPECTED["policies"][name]["verdicts"]
    assert found["failed"] == []


@pytest.mark.usefixtures("files")
def test_what_was_kept_of_the_original_table_decides():
    """Not decidable without it; with it as 0.1 judged."""
    frame = pl.read_csv("released/symptoms/data.csv", infer_schema=False)
    policy = "policies/terms_kept.yaml"

    def said(data, **more):
        return {v.holds for v in sf.audit(data, policy, **more).verdicts if "finer" not in v.promise}

    assert None in said(frame)
    assert said(frame, reference="released/symptoms.reference.json") == {True}
    assert said("released/symptoms/data.csv") == {True}, "found beside the folder"


@pytest.mark.usefixtures("files")
def test_the_ledger_is_whole(sfumato):
    known = [word for path in CERTIFICATES for word in ("--certificate", path)]
    found = sfumato("ledger", "verify", "--key", "ledger/first.key.pub", *known)
    expected = {**EXPECTED["verify"], "pinned": True, "certificates": len(CERTIFICATES), "weaker": []}
    assert found == expected
    assert len(CERTIFICATES) == 7


@pytest.mark.usefixtures("files")
def test_the_history_is_what_it_was(sfumato):
    assert sfumato("history")["releases"] == EXPECTED["history"]
    records = sf.Ledger(LEDGER, readonly=True).history("main")
    assert [record.recipient for record in records] == ["registry", "university", "rescue"]
    signed = json.loads(Path("ledger/override.json").read_text(encoding="utf-8"))
    assert [record.override for record in records] == [None, None, signed]


@pytest.mark.usefixtures("files")
def test_a_release_that_was_under_way_is_rolled_back(sfumato):
    assert [(r["release"], r["outcome"]) for r in sfumato("ledger", "recover")["releases"]] == [
        ("a" * 32, "rolled back")
    ]
    assert sfumato("ledger", "recover")["releases"] == []
    assert sfumato("ledger", "verify")["holds"]


def test_a_release_that_was_entered_and_not_shown_is_finished(files, sfumato):
    """Recovery writes the certificate again, to the byte."""
    ledger = sf.Ledger(LEDGER)
    record = ledger.history("quarters")[-1]
    place, staged = files / "released" / "Q3", files / "released" / f".staged-{record.release}"
    certificate = (place / "certificate.json").read_bytes()
    place.rename(staged)
    (staged / "certificate.json").write_bytes(b" " * 9000)
    ledger.stage(record.release, host="", folder=staged, target=place)
    outcomes = {r["release"]: r["outcome"] for r in sfumato("ledger", "recover")["releases"]}
    assert outcomes[record.release] == "finished"
    assert (place / "certificate.json").read_bytes() == certificate


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("certificate", CERTIFICATES)
def test_a_certificate_holds(sfumato, certificate):
    found = sfumato("certificate", "verify", certificate, "--key", key_of(certificate))
    assert found["holds"] and found["pinned"]
    other = {"ledger/first.key.pub", "ledger/ledger.db.key.pub"} - {key_of(certificate)}
    assert not sfumato("certificate", "verify", certificate, "--key", *other, code=1)["holds"]


@pytest.mark.usefixtures("files")
def test_the_next_release_goes_out_beside_those_of_0_1(sfumato):
    """Nine entries were there; the chain has its fourth, judged beside the three."""
    chain = ["-p", "policies/continuous.yaml", "--chain", "quarters"]
    found = sfumato("release", "people/quarters.csv", *chain, "--to", "registry", "--into", "released/Q4")
    assert (found["sequence"], found["entry"]) == (4, 10)
    assert found["figures"]["FA"] >= 3 and found["figures"]["BA"] >= 3
    assert [v["holds"] for v in found["verdicts"]] == [True, True]
    assert sfumato("ledger", "verify", "--certificate", "released/Q3/certificate.json")["holds"]
    key = ("--key", "ledger/ledger.db.key.pub")
    assert sfumato("certificate", "verify", "released/Q4/certificate.json", *key)["holds"]
    assert sfumato("certificate", "verify", "released/Q4/certificate.json", code=1)["holds"] is None
    beside = sfumato("audit", "released/Q4/data.csv", *chain, "--against", LEDGER)
    assert beside["holds"] and beside["beside"] == {"chain": "quarters", "releases": 4, "place": 4}


@pytest.mark.usefixtures("files")
def test_a_table_that_lost_a_published_row_is_refused(sfumato):
    """What 0.1 remembered of its releases is held against the next one."""
    table = pl.read_csv("people/quarters.csv", infer_schema=False)
    table[1:].write_csv("less.csv")
    chain = ["-p", "policies/continuous.yaml", "--chain", "quarters", "--to", "registry"]
    found = sfumato("release", "less.csv", *chain, "--into", "released/Q4", code=5)
    assert found["error"]["kind"] == "RefusedByHistory"
    assert not Path("released/Q4").exists()


@pytest.mark.usefixtures("files")
def test_a_later_recipient_gets_a_version_beside_those_of_0_1(sfumato):
    """Every version is made again from the table and compared, the one by an override under its own k."""
    words = [
        "people/survey.csv",
        "-p",
        "policies/versions.yaml",
        "--to",
        "ministry",
        "--into",
        "released/later",
    ]
    found = sfumato("release", *words)
    assert (found["chain"], found["sequence"], found["recipient"]) == ("main", 4, "ministry")
    cuts = [json.dumps(record.cuts) for record in sf.Ledger(LEDGER, readonly=True).history("main")]
    assert len(set(cuts)) == 4


@pytest.mark.usefixtures("files")
def test_an_override_of_0_1_is_still_signed(sfumato):
    words = ["people/survey.csv", "-p", "policies/versions.yaml", "--ledger", "sqlite:///new.db"]
    who = ["--to", "registry", "--to", "rescue", "--override", "ledger/override.json"]
    found = sfumato("release", *words, *who, "--into", "again")
    promised = {v["recipient"]: v["verdicts"][0]["promise"] for v in found["versions"]}
    assert promised == {"registry": "k-anonymity, k = 3", "rescue": "k-anonymity, k = 2"}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", sorted(EXPECTED["leaks"]))
def test_a_leak_is_traced_to_the_same_recipients_with_the_same_figures(sfumato, name):
    more = ["--original", "people/survey.csv", "-p", "policies/versions.yaml"] if name == "both.csv" else []
    now, then = sfumato("trace", f"leaks/{name}", "--chain", "main", *more), deepcopy(EXPECTED["leaks"][name])
    assert then["certain"]
    *same, _ = then["false_charge"].pop("assumptions")
    assert now["false_charge"].pop("assumptions")[: len(same)] == same, (
        "what a charge assumes is said in full"
    )
    assert _of_what_was_told(now, then) == then


def _of_what_was_told(now, then):
    """What a document says under the keys that another one has; it may have more of them."""
    if not isinstance(then, dict):
        return now
    return {key: _of_what_was_told(now[key], then[key]) for key in then}


def test_imprints_are_read_by_the_attack():
    paths = [GOLDEN / "imprints" / f"Q{number}.json" for number in (1, 2, 3)]
    found = sf.attack.correspondence(paths, GOLDEN / "policies" / "continuous.yaml")
    assert {"FA": found.FA, "BA": found.BA, "card": str(found)} == EXPECTED["correspondence"]


@pytest.mark.usefixtures("files")
def test_imprints_are_what_the_published_tables_say():
    """The same figures from the files of the three releases as from what was remembered of them."""
    tables = [f"released/Q{number}/data.csv" for number in (1, 2, 3)]
    found = sf.attack.correspondence(tables, "policies/continuous.yaml")
    assert {"FA": found.FA, "BA": found.BA, "card": str(found)} == EXPECTED["correspondence"]


@pytest.mark.usefixtures("files")
def test_a_backup_is_restored(sfumato):
    elsewhere = ["--ledger", "sqlite:///elsewhere.db"]
    assert run(["ledger", "restore", "ledger/backup.db", *elsewhere, "--key", "ledger/ledger.db.key"]) == 0
    key = ["--key", "ledger/ledger.db.key"]  # what was restored is encrypted from then on
    assert sfumato("history", *elsewhere, *key)["releases"] == EXPECTED["history"]
    found = sfumato("ledger", "verify", *elsewhere, "--key", "ledger/ledger.db.key.pub")
    assert found["holds"] and found["head"] == EXPECTED["verify"]["head"]
