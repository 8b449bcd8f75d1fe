"""Makes the files of this folder with version 0.1; README.md says how to run it.

It is kept to show where the files come from. Running it with another version would make other files: do not.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf

HERE = Path(__file__).resolve().parent
LEDGER = "sqlite:///ledger/ledger.db"
ALONE = {
    "ladders": "hospital",
    "groups": "hospital",
    "secrets": "hospital",
    "distances": "hospital",
    "freeform": "hospital",
    "terms_text": "symptoms",
    "terms_kept": "symptoms",
    "terms_columns": "symptom_columns",
    "persons": "quarters",
    "continuous": "quarters",
    "continuous_people": "quarters",
}
"""Policies, and the table that each was used on."""
QUARTERS = ("Q1", "Q2", "Q3")
GONE = Path("/srv/sfumato-golden")
"""Where a release was under way when its process died; there is no such folder."""
WARDS = ("north", "south", "east", "west", "harbour")
TERMS = ("fever", "cough", "rash", "sneeze")
VERSIONS = """\
# Versions for several recipients; whoever has the key below may grant a smaller k.
sfumato: 1
columns:
  name:    {role: identifier}
  zip:     {role: quasi, taxonomy: {prefix: [2, 1]}}
  age:     {role: quasi, taxonomy: {intervals: [5, 10, 20], from: 0, to: 80}}
  sex:     {role: quasi}
  disease: {role: sensitive}
  ward:    {role: quasi}
promises:
  - k-anonymity: {k: 3}
recipients: {quality: loss, tolerance: 400%, frame-proof: 2, overriders: [KEY]}
"""


def sfumato(*words, code=0):
    """Run the program; what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", *words],
        cwd=HERE,
        env={**os.environ, "SFUMATO_LEDGER": LEDGER},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stdout


def make_people():
    """Made-up people: a hospital, wards by quarter, and symptoms."""
    folder = HERE / "people"
    folder.mkdir()
    sf.demo.hospital(160, seed=13).write_csv(folder / "hospital.csv")
    rng = np.random.default_rng(14)
    pl.DataFrame(
        {
            "patient_id": [f"P{number:04d}" for number in rng.permutation(220)],
            "quarter": np.repeat(["Q1", "Q2", "Q3", "Q4"], 55),
            "age": rng.integers(20, 80, 220),
            "place": rng.choice(["Aford", "Bury", "Cley", "Dene"], 220),
            "sex": rng.choice(["female", "male"], 220),
            "ward": rng.choice(WARDS, 220, p=[0.3, 0.3, 0.2, 0.15, 0.05]),
        }
    ).write_csv(folder / "quarters.csv")
    has = rng.random((36, len(TERMS))) < 0.4
    ages = pl.Series("age", rng.integers(20, 70, 36))
    sets = ["+".join(term for term, there in zip(TERMS, row, strict=True) if there) for row in has]
    names = pl.Series("name", [f"Patient {i}" for i in range(36)])
    pl.DataFrame([names, ages, pl.Series("symptoms", sets)]).write_csv(folder / "symptoms.csv")
    columns = [pl.Series(term, has[:, j].astype(int)) for j, term in enumerate(TERMS)]
    pl.DataFrame([ages, *columns]).write_csv(folder / "symptom_columns.csv")
    pl.DataFrame(
        {
            "name": [f"Answer {i}" for i in range(400)],
            "zip": [f"{number:03d}" for number in rng.integers(0, 40, 400)],
            "age": rng.integers(20, 60, 400),
            "sex": rng.choice(["female", "male"], 400),
            "disease": rng.choice(["flu", "cold", "ulcer", "cut"], 400),
            "ward": rng.choice(WARDS[:4], 400),
        }
    ).write_csv(folder / "survey.csv")


def publish_alone():
    """One file by each policy, without a ledger; the digest of the policy, and what an audit measures."""
    (HERE / "published").mkdir()
    told = {}
    for name, table in ALONE.items():
        policy, out = f"policies/{name}.yaml", f"published/{name}.csv"
        sfumato("protect", f"people/{table}.csv", "-p", policy, "-o", out)
        audit = json.loads(sfumato("audit", out, "-p", policy, "--json"))
        told[name] = {
            "digest": sf.Policy.load(HERE / policy).digest,
            "verdicts": [
                {key: verdict[key] for key in ("promise", "holds", "measured", "limit")}
                for verdict in audit["verdicts"]
            ],
        }
    return told


def release_quarters():
    """A chain of three by `continuous`; the key changes after the second."""
    table = pl.read_csv(HERE / "people" / "quarters.csv", infer_schema=False)
    for i, quarter in enumerate(QUARTERS):
        if i == 2:
            shutil.copy(HERE / "ledger" / "ledger.db.key.pub", HERE / "ledger" / "first.key.pub")
            sfumato("ledger", "rotate")
        so_far = HERE / "so_far.csv"
        table.filter(pl.col("quarter") <= quarter).write_csv(so_far)
        words = ["-p", "policies/continuous.yaml", "--chain", "quarters"]
        sfumato("release", "so_far.csv", *words, "--into", f"released/{quarter}", "--to", "registry")
        so_far.unlink()


def release_versions():
    """Three recipients in one event; one of them by an override that a second person signed."""
    policy = "policies/versions.yaml"
    from sfumato.release.ledger.keys import Key

    key = Key.make(HERE / "ledger" / "berg.key").public
    (HERE / policy).write_text(VERSIONS.replace("KEY", key), encoding="utf-8")
    who = ["--to", "rescue", "--k", "2", "--reason", "flood", "--by", "Berg", "--until", "2099-12-31"]
    sfumato("override", "-p", policy, *who, "--key", "ledger/berg.key", "-o", "ledger/override.json")
    to = [word for name in ("registry", "university", "rescue") for word in ("--to", name)]
    words = ["--into", "released/versions", "--override", "ledger/override.json"]
    sfumato("release", "people/survey.csv", "-p", policy, *to, *words)


def leak_some():
    """Rows of one version, one record, and rows of two versions; what a trace says of each."""
    (HERE / "leaks").mkdir()
    versions = {
        name: pl.read_csv(HERE / "released" / "versions" / name / "data.csv", infer_schema=False)
        for name in ("registry", "university")
    }
    one, other = versions.values()
    other.tail(40).sample(fraction=1, shuffle=True, seed=1).write_csv(HERE / "leaks" / "university.csv")
    record = other.row(7, named=True)
    (HERE / "leaks" / "record.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
    pl.concat([one.head(30), other.tail(30)]).write_csv(HERE / "leaks" / "both.csv")
    original = ["--original", "people/survey.csv", "-p", "policies/versions.yaml"]
    calls = {"university.csv": [], "record.json": [], "both.csv": original}
    return {
        name: json.loads(sfumato("trace", f"leaks/{name}", "--chain", "main", "--json", *more))
        for name, more in calls.items()
    }


def make_imprints():
    """What is remembered of the chain, as files of their own; what the attack finds in them."""
    (HERE / "imprints").mkdir()
    for record in sf.Ledger(f"sqlite:///{HERE}/ledger/ledger.db", readonly=True).history("quarters"):
        (HERE / "imprints" / f"Q{record.sequence}.json").write_bytes(record.memory)
    paths = [HERE / "imprints" / f"{quarter}.json" for quarter in QUARTERS]
    found = sf.attack.correspondence(paths, HERE / "policies" / "continuous.yaml")
    return {"FA": found.FA, "BA": found.BA, "card": str(found)}


def main():
    for name in ("people", "published", "released", "ledger", "leaks", "imprints"):
        shutil.rmtree(HERE / name, ignore_errors=True)
    make_people()
    told = {"version": sf.__version__, "policies": publish_alone()}
    (HERE / "released").mkdir()
    (HERE / "ledger").mkdir()
    release_quarters()
    release_versions()
    terms = ["people/symptoms.csv", "-p", "policies/terms_kept.yaml", "--chain", "symptoms"]
    sfumato("release", *terms, "--into", "released/symptoms")
    sfumato("ledger", "backup", "ledger/backup.db")
    told["policies"]["versions"] = {"digest": sf.Policy.load(HERE / "policies" / "versions.yaml").digest}
    told["history"] = json.loads(sfumato("history", "--json"))["releases"]
    told["leaks"], told["correspondence"] = leak_some(), make_imprints()
    sf.Ledger(f"sqlite:///{HERE}/ledger/ledger.db").stage(
        "a" * 32, host="", folder=GONE / f".staged-{'a' * 32}", target=GONE / "Q4"
    )
    told["verify"] = json.loads(sfumato("ledger", "verify", "--json"))
    text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
    (HERE / "expected.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
