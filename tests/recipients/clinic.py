"""A clinic that handed six versions of one table to six recipients, in a ledger; and the original."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import numpy as np
import polars as pl

from sfumato.policy.policy import Policy
from sfumato.releases.ledger.ledger import Ledger
from sfumato.releases.ledger.record import ReleaseRecord
from sfumato.table.cut import Cut
from sfumato.table.recoding import Recoding
from sfumato.table.release_summary import Imprint, reading_trees
from sfumato.table.source import open_source

POLICY = {
    "columns": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi", "taxonomy": {"intervals": [5, 10], "from": 20, "to": 60}},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [4, 3]}},
        "job": {
            "role": "quasi",
            "taxonomy": {"tree": {"Küche": ["Köchin", "Bäcker"], "Care": ["Nurse", "Physician", "Aide"]}},
        },
        "sex": {"role": "quasi"},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 2}}, {"l-diversity": {"of": "disease", "l": 1}}],
    "protect": {"search": "top-down", "suppress": 0},
}
PATTERNS = {
    "Alder": (1, 1, 1, 1),
    "Birch": (2, 1, 1, 0),
    "Cedar": (1, 2, 1, 0),
    "Dogwood": (2, 2, 0, 0),
    "Elm": (1, 2, 0, 1),
    "Fir": (2, 1, 0, 1),
}
"""Levels of age, zip, job and sex: an antichain, all of height four."""


def people(rows=300, seed=1):
    rng = np.random.default_rng(seed)
    jobs = ["Köchin", "Bäcker", "Nurse", "Physician", "Aide"]
    return pl.DataFrame(
        {
            "name": [f"N{i}" for i in range(rows)],
            "age": rng.integers(20, 60, rows),
            "zip": [f"0{a}{b}{c}" for a, b, c in rng.integers((21, 1, 0), (23, 4, 8), (rows, 3)).tolist()],
            "job": [jobs[i] for i in rng.integers(0, 5, rows)],
            "sex": [("m", "f")[i] for i in rng.integers(0, 2, rows)],
            "disease": [("flu", "burn", "cough")[i] for i in rng.integers(0, 3, rows)],
        }
    )


@dataclass(frozen=True)
class Clinic:
    """The original, its policy, the versions as tables, and the ledger."""

    original: pl.DataFrame
    versions: dict[str, pl.DataFrame]
    url: str

    @property
    def policy(self):
        return Policy.from_dict(POLICY)


def hand_out(folder, patterns=None, *, content=True):
    """Release to everybody, in one event."""
    policy, data, url = Policy.from_dict(POLICY), people(), f"sqlite:///{folder}/ledger.db"
    source = open_source(data)
    table = source.count(policy.codings, missing=policy.missing)
    records, versions, event = [], {}, uuid.uuid4().hex
    for i, (name, levels) in enumerate((patterns or PATTERNS).items()):
        cuts = {c.name: Cut.level(c.taxonomy, at) for c, at in zip(table.keys, levels, strict=True)}
        recoding = Recoding.of_cuts(table, cuts)
        versions[name] = source.recode(recoding, drop=policy.dropped)
        records.append(
            ReleaseRecord(
                event if i == 0 else uuid.uuid4().hex,
                "main",
                policy.digest,
                recipient=name,
                taxonomies={c.name: c.taxonomy.digest for c in table.keys},
                cuts={n: cut.nodes.tolist() for n, cut in cuts.items()},
                trees=reading_trees(recoding),
                event=event,
                memory=Imprint.of(recoding, ["disease"]).to_json().encode() if content else b"",
            )
        )
    enter(url, records)
    return Clinic(data, versions, url)


def enter(url, records):
    """Enter records of one event in a ledger, without folders."""
    with Ledger(url) as ledger:
        history = ledger.history(records[0].chain)
        name = records[0].release
        ledger.stage(name, host="here", folder=ledger.database.path, target=ledger.database.path)
        ledger.commit_event(records, after=history[-1].hash if history else "")
        ledger.unstage(name)
