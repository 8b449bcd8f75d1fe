"""Files that the program writes, one of each kind: what its readers are tried on, whole and damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl

import sfumato as sf
from sfumato.releases.ledger import backup
from sfumato.releases.ledger.keys import Key
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.overrides import WeakerOverride
from sfumato.workflows.protect_file import protect_file

GOLDEN = Path(__file__).parent.parent / "golden"
QUARTERS = ("Q1", "Q2")
RECIPIENTS = ("registry", "university", "rescue")


def write_files(place: Path) -> None:
    """Writes policies and what they name, a ledger with keys and a backup, a release, an imprint, leaks."""
    for file in (GOLDEN / "policies").iterdir():
        shutil.copy(file, place / file.name)
    shutil.copy(GOLDEN / "people" / "hospital.csv", place)
    protect_file(GOLDEN / "people" / "symptoms.csv", place / "terms_kept.yaml", place / "terms_kept.csv")
    made = place / "made"
    made.mkdir()
    with Ledger(f"sqlite:///{place}/ledger.db") as ledger:
        _release_quarters(place, ledger, made)
        _release_versions(place, ledger, made)
        backup.backup(ledger, place / "backup.db")
        imprint = ledger.history("quarters")[-1].memory
    (place / "imprint.json").write_bytes(imprint)
    for name in ("certificate.json", "manifest.json"):
        shutil.copy(made / "Q1" / name, place)
    shutil.rmtree(made)


def _release_quarters(place: Path, ledger: Ledger, made: Path) -> None:
    """A chain by `continuous`."""
    table = pl.read_csv(GOLDEN / "people" / "quarters.csv", infer_schema=False)
    for quarter in QUARTERS:
        so_far = table.filter(pl.col("quarter") <= quarter)
        rules = place / "continuous.yaml"
        sf.release(so_far, rules, ledger=ledger, into=made / quarter, chain="quarters", to="registry")


def _release_versions(place: Path, ledger: Ledger, made: Path) -> None:
    """Three recipients in one event, an override that a second person signed, and leaks of one version."""
    key = Key.make(place / "berg.key")
    words = sf.Policy.load(place / "versions.yaml").to_dict()
    words["recipients"]["overriders"] = [key.public]
    policy = sf.Policy.from_dict(words)
    (place / "versions.yaml").write_text(policy.to_yaml(), encoding="utf-8")
    override = WeakerOverride(policy.digest, "main", "flood", "Berg", "2099-12-31").sign(key)
    (place / "override.json").write_bytes(override.as_bytes())
    table, where = GOLDEN / "people" / "survey.csv", made / "versions"
    sf.release(table, policy, ledger=ledger, into=where, to=RECIPIENTS)
    leaked = pl.read_csv(where / "university" / "data.csv", infer_schema=False).tail(40)
    leaked.write_csv(place / "university.csv")
    (place / "record.json").write_text(json.dumps(leaked.row(7, named=True)) + "\n", encoding="utf-8")
