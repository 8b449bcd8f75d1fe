"""Quasi-identifiers that others tell stand in a draft: a town follows from its zip, an age from a date."""

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.inputs import count_table
from sfumato.recipients.marks import follows_of
from sfumato.table.source import open_source

ROWS = 1200
TOWNS = ["Bremen", "Kiel", "Hamm", "Ulm", "Trier", "Jena", "Gera", "Bonn", "Celle", "Emden"]


def people(*, moved=0.0):
    rng = np.random.default_rng(5)
    town, year = rng.integers(0, len(TOWNS), ROWS), rng.integers(1935, 2000, ROWS)
    month, day, chapter = rng.integers(1, 13, ROWS), rng.integers(1, 28, ROWS), rng.integers(0, 6, ROWS)
    named = np.where(rng.random(ROWS) < moved, rng.integers(0, len(TOWNS), ROWS), town)
    return pl.DataFrame(
        {
            "zip": [
                f"{28000 + 977 * t + int(end):05d}"
                for t, end in zip(town, rng.integers(0, 4, ROWS), strict=True)
            ],
            "town": [TOWNS[i] for i in named],
            "birthdate": [f"{y}-{m:02d}-{d:02d}" for y, m, d in zip(year, month, day, strict=True)],
            "age": (2025 - year - (month > 6)).tolist(),
            "sex": rng.choice(["f", "m"], ROWS).tolist(),
            "chapter": ["ABCDEF"[i] for i in chapter],
            "code": [
                f"{'ABCDEF'[i]}{int(j):02d}" for i, j in zip(chapter, rng.integers(0, 5, ROWS), strict=True)
            ],
        }
    )


def test_a_draft_names_what_follows():
    draft = sf.declare(people())
    assert draft.follows == {"town": ("zip",), "age": ("birthdate",), "chapter": ("code",)}
    assert "follows: {town: zip, age: birthdate, chapter: code}" in draft.to_yaml()
    assert sf.Policy.from_dict(draft.to_dict()).follows == draft.follows


def test_a_draft_of_columns_that_do_not_follow_names_none():
    assert sf.declare(people(moved=0.6).drop("birthdate", "code", "chapter")).follows == {}
    assert sf.declare(sf.demo.hospital(1500)).follows == {}


def test_codes_tell_their_chapters_and_dates_ages_where_all_are_quasi_identifiers():
    roles = {name: {"role": "quasi"} for name in people().columns}
    rules = {
        **roles,
        "code": {"role": "quasi", "taxonomy": {"prefix": [1]}},
        "birthdate": {"role": "quasi", "taxonomy": {"date": ["year"]}},
    }
    policy = sf.Policy.from_dict({"columns": rules, "promises": [{"k-anonymity": {"k": 2}}]})
    found = follows_of(policy, count_table(open_source(people(moved=0.02)), policy))
    assert found == {"town": ("zip",), "age": ("birthdate",), "chapter": ("code",)}


def test_a_role_that_is_changed_later_is_no_contradiction():
    words = sf.declare(people()).to_dict()
    words["columns"]["town"] = {"role": "identifier"}
    assert sf.Policy.from_dict(words).follows["town"] == ("zip",)
