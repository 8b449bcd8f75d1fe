"""A small clinic with canaries: what is dropped, suppressed or generalized must not turn up in public."""

from __future__ import annotations

import json
from types import SimpleNamespace

import polars as pl
import pytest

import sfumato as sf
from sfumato.workflows.protect_file import protect_file

CANARY = "Zebra"

POLICY = {
    "columns": {
        f"{CANARY}_number": {"role": "identifier"},
        "age": {"role": "quasi", "taxonomy": {"intervals": [10, 20, 60], "from": 0, "to": 120}},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "job": {
            "role": "quasi",
            "taxonomy": {"tree": {"Care": ["Nurse", "Medic"], "Food": ["Cook", f"{CANARY}keeper"]}},
        },
        "disease": {"role": "sensitive"},
        "ward": {"role": "insensitive"},
    },
    "promises": [{"k-anonymity": {"k": 3}}, {"l-diversity": {"of": "disease", "l": 2}}],
    "protect": {"price": "none", "search": "top-down", "suppress": "10%"},
}

SOURCE_ROWS, SUPPRESSED = 1237, 37
"""Distinctive numbers: neither is a figure of the published table."""


def people(rows=SOURCE_ROWS, lone=SUPPRESSED):
    """Rows that fall into large classes, and lone ones, each with values that nobody shares: suppressed."""
    usual = rows - lone
    return pl.DataFrame(
        {
            f"{CANARY}_number": [f"{CANARY}-{i}" for i in range(rows)],
            "age": [str(20 + i % 40) for i in range(usual)] + [str(80 + i) for i in range(lone)],
            "zip": [f"02{i % 2}{i % 3}" for i in range(usual)] + [f"9{i:03}" for i in range(lone)],
            "job": [("Nurse", "Medic", "Cook")[i % 3] for i in range(usual)] + [f"{CANARY}keeper"] * lone,
            "disease": [("flu", "gout", "burn")[i % 7 % 3] for i in range(usual)]
            + [f"{CANARY} fever"] * lone,
            "ward": ["north"] * rows,
        }
    )


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """The table, its policy, a published file and a released folder; not to be written to."""
    home = tmp_path_factory.mktemp("clinic")
    people().write_csv(home / "people.csv")
    (home / "policy.yaml").write_text(json.dumps(POLICY), encoding="utf-8")
    ledger = f"sqlite:///{home}/ledger.db"
    plan, _ = protect_file(home / "people.csv", home / "policy.yaml", home / "safe.csv")
    assert plan.suppressed == SUPPRESSED
    receipt = sf.release(home / "people.csv", home / "policy.yaml", ledger=ledger, into=home / "2026-11")
    return SimpleNamespace(
        home=home,
        people=home / "people.csv",
        policy=home / "policy.yaml",
        safe=home / "safe.csv",
        folder=home / "2026-11",
        ledger=ledger,
        plan=plan,
        receipt=receipt,
    )
