"""Somebody who reads the ledger: what a dictionary of values and of people finds in it, and what not."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.marks import are_known, label_marks
from sfumato.releases.ledger.elsewhere import marks_of

PEOPLE = [f"person-{number:03d}" for number in range(24)]
OTHERS = [f"person-{number:03d}" for number in range(500, 700)]
ZIPS, DISEASES = (
    [f"7{n % 4}{n % 2}55" for n in range(24)],
    [["qflu", "qcough", "qache"][n % 3] for n in range(24)],
)
POLICY = {
    "columns": {
        "id": {"role": "identifier"},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "disease": {"role": "sensitive"},
    },
    "person": "id",
    "promises": [{"k-anonymity": {"k": 4}}],
}
LIMITATIONS = Path(__file__).parents[3] / "docs" / "limitations.md"


@pytest.fixture
def dump(tmp_path):
    """Every cell of every table of a ledger with one release."""
    data = pl.DataFrame({"id": PEOPLE, "zip": ZIPS, "disease": DISEASES})
    sf.release(data, POLICY, ledger=f"sqlite:///{tmp_path}/ledger.db", into=tmp_path / "one")
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        tables = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        cells = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
    connection.close()
    return cells


def as_bytes(cell):
    return cell if isinstance(cell, bytes) else str(cell).encode()


def test_no_value_and_no_key_is_in_any_cell(dump, tmp_path):
    every = b"\n".join(as_bytes(cell) for rows in dump.values() for row in rows for cell in row)
    for value in {*PEOPLE, *ZIPS, *DISEASES}:
        assert value.encode() not in every
    secret = (tmp_path / "ledger.db.key").read_bytes()
    assert not any(line in every for line in secret.splitlines() if line and not line.startswith(b"-----"))


def test_a_dictionary_of_people_tells_who_was_in_and_limitations_say_so(dump):
    """Marks have no secret, so that ledgers of different machines agree on them."""
    (stored,) = [marks for number, marks in dump["people"] if number > 0]  # below: salts of tables
    dictionary = label_marks([*PEOPLE, *OTHERS])
    found = are_known(dictionary, marks_of(stored))
    assert found.tolist() == [True] * len(PEOPLE) + [False] * len(OTHERS)
    assert "Marks of people are hashes without a secret" in LIMITATIONS.read_text(encoding="utf-8")


def test_a_dictionary_of_values_finds_no_mark_of_anybodys_row(dump):
    """Marks are in their own order, which tells no row, and values are not among them."""
    (stored,) = [marks for number, marks in dump["people"] if number > 0]  # below: salts of tables
    marks = marks_of(stored)
    assert np.array_equal(marks, np.unique(marks, axis=0))
    assert not are_known(label_marks([*ZIPS, *DISEASES]), marks).any()
