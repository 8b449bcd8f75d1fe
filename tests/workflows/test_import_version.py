"""Versions that were handed out before: imported and traced; Table V of the paper from end to end."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from recipients.toy_ledger import found
from sfumato.cli.main import app
from sfumato.releases.ledger.ledger import Ledger
from sfumato.system.errors import BadData, RefusedByHistory

pytestmark = pytest.mark.slow

BIRTHS = {"03.1970": ["18.03.1970", "19.03.1970"], "04.1970": ["20.04.1970", "21.04.1970"]}
POLICY = {
    "columns": {
        "gender": {"role": "quasi", "taxonomy": {"tree": {"p": ["m", "f"]}}},
        "birthdate": {"role": "quasi", "taxonomy": {"tree": {"1970": BIRTHS}}},
        "zip": {"role": "quasi", "taxonomy": {"tree": {"10XX": {"100X": ["1004"], "101X": ["1015"]}}}},
    },
    "promises": [{"k-anonymity": {"k": 2}}],
    "protect": {"search": "lattice", "loss": "height", "suppress": 0},
    "recipients": {"tolerance": "100%"},
}
PEOPLE = pl.DataFrame(
    {
        "gender": ["m", "m", "f", "f"],
        "birthdate": ["18.03.1970", "19.03.1970", "20.04.1970", "21.04.1970"],
        "zip": ["1004", "1015", "1004", "1015"],
    }
)
LEVELS = {
    "gender": [{v: v for v in "mf"}, dict.fromkeys("mf", "p")],
    "birthdate": [
        {d: d for days in BIRTHS.values() for d in days},
        {d: month for month, days in BIRTHS.items() for d in days},
        {d: "1970" for days in BIRTHS.values() for d in days},
    ],
    "zip": [
        {z: z for z in ("1004", "1015")},
        {"1004": "100X", "1015": "101X"},
        dict.fromkeys(("1004", "1015"), "10XX"),
    ],
}
SETS = {"fireguard": (1, 2, 0), "police": (1, 1, 1), "ambulance": (0, 2, 1)}


def at(levels):
    return PEOPLE.with_columns(
        [pl.col(n).replace_strict(LEVELS[n][level]) for n, level in zip(LEVELS, levels, strict=True)]
    )


@pytest.fixture
def ledger(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger(url) as opened:
        for name, levels in SETS.items():
            receipt = sf.import_version(at(levels), POLICY, original=PEOPLE, to=name, ledger=opened)
            assert receipt.published and receipt.record.imported and not receipt.record.verdicts
            assert "NOT judged" in str(receipt)
    return url


def test_a_single_group_at_the_top_of_a_tree_is_its_root():
    assert sf.patterns(PEOPLE, POLICY).count == 2 * 3 * 3


def test_the_judge_reads_the_same_root():
    policy = {**POLICY, "promises": [{"k-anonymity": {"k": 4}}]}
    policy = {key: value for key, value in policy.items() if key != "recipients"}
    safe = sf.protect(PEOPLE, policy).apply(PEOPLE)
    assert safe.row(0)[0] in ("p", "m") and "*" not in safe.row(0)
    assert sf.audit(safe, policy).holds


def test_table_5_from_end_to_end(ledger):
    leak = {"gender": "p", "birthdate": "03.1970", "zip": "101X"}
    assert found(sf.trace(leak, ledger=ledger)) == {frozenset({"police"})}
    result = sf.trace({**leak, "zip": "1015"}, ledger=ledger)
    assert found(result) == {frozenset({"fireguard", "police"})}


def test_imported_versions_are_remembered_and_no_floor(ledger):
    opened = Ledger(ledger, readonly=True)
    assert opened.verify().holds
    assert [record.figures["k"] for record in opened.history()] == [2, 1, 1]
    listed = CliRunner().invoke(app, ["history", "--ledger", ledger])
    assert listed.stdout.count("imported, NOT judged") == 3
    floors = CliRunner().invoke(app, ["ledger", "floor", "--ledger", ledger, "--json"])
    assert floors.exit_code == 0 and json.loads(floors.stdout)["floors"] == {}


def test_a_later_release_keeps_clear_of_what_was_imported(ledger):
    event = sf.release(PEOPLE, POLICY, ledger=ledger, to="archive", dry_run=True)
    assert event.record.recipient == "archive"
    cuts = event.record.cuts
    assert all(cuts != record.cuts for record in Ledger(ledger, readonly=True).history())


def test_who_has_a_version_gets_no_other_of_the_same_chain(ledger):
    with pytest.raises(RefusedByHistory, match="already"):
        sf.import_version(at((0, 0, 0)), POLICY, original=PEOPLE, to="police", ledger=ledger)


@pytest.mark.parametrize("change", ["a row less", "a row more", "another row", "mixed levels", "no row"])
def test_what_is_no_version_of_the_original_is_refused(change, tmp_path):
    version = at((1, 1, 1))
    lacking = change != "a row less"
    if change in ("a row less", "no row"):
        version = version.head(0 if lacking else 3)
    elif change == "a row more":
        version = pl.concat([version.head(3), version.head(1)])
    elif change == "another row":
        version = version.with_columns(zip=pl.Series(["100X", "100X", "100X", "101X"]))
    else:
        version = version.with_columns(zip=pl.Series(["1004", "101X", "100X", "101X"]))
    url = f"sqlite:///{tmp_path}/ledger.db"
    with pytest.raises(BadData) as refused:
        sf.import_version(version, POLICY, original=PEOPLE, to="police", ledger=url, lacking=lacking)
    assert "1004" not in str(refused.value)


def test_import_on_the_command_line(tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    at(SETS["police"]).write_csv(tmp_path / "police.csv")
    policy = tmp_path / "policy.yaml"
    policy.write_text(json.dumps(POLICY))
    url = f"sqlite:///{tmp_path}/ledger.db"
    words = ["--original", str(tmp_path / "people.csv"), "-p", str(policy), "--to", "police", "--ledger", url]
    done = CliRunner().invoke(app, ["ledger", "import", str(tmp_path / "police.csv"), *words, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["imported"] is True and told["recipient"] == "police" and told["verdicts"] == []
