"""What a hostile recipient can do to a copy to have somebody else charged: each tried, on a clinic of six.

Only guessing works, and only as far as guesses hit records; the report then names what it assumes.
"""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from recipients.clinic import PATTERNS, hand_out

pytestmark = pytest.mark.slow

KEYS = ("age", "zip", "job", "sex")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    return hand_out(tmp_path_factory.mktemp("clinic"))


def shuffled(rows, column, seed=1):
    return rows.with_columns(
        pl.Series(column, np.random.default_rng(seed).permutation(rows[column].to_list()))
    )


def half(rows, changed):
    """The changed rows in every other place."""
    return pl.concat([rows.gather_every(2), changed.gather_every(2, 1)])


def coarser(rows):
    """Some cells a level up."""
    up = pl.when(pl.int_range(pl.len()) % 3 == 0)
    return rows.with_columns(
        up.then(pl.lit("*")).otherwise(pl.col("job")).alias("job"),
        up.then(pl.col("zip").str.slice(0, 3) + "**").otherwise(pl.col("zip")).alias("zip"),
    )


TRICKS = {
    "columns dropped": lambda rows: rows.drop("sex", "disease"),
    "rows in another order": lambda rows: rows.sample(fraction=1, shuffle=True, seed=4),
    "a few rows": lambda rows: rows.head(3),
    "a column shuffled": lambda rows: shuffled(rows, "zip"),
    "every column shuffled": lambda rows: shuffled(shuffled(shuffled(rows, "zip"), "age"), "job"),
    "the unchanged column shuffled": lambda rows: shuffled(rows, "disease"),
    "a column shuffled in half of the rows": lambda rows: half(rows, shuffled(rows, "age")),
    "some cells coarser": coarser,
    "blanks": lambda rows: rows.with_columns(age=pl.lit(""), job=pl.lit("n/a")),
    "case and spacing": lambda rows: rows.with_columns(pl.col(pl.String).str.to_uppercase() + "  "),
    "two columns exchanged": lambda rows: rows.rename({"age": "zip", "zip": "age"}),
    "two columns exchanged in half of the rows": lambda rows: half(
        rows, rows.rename({"job": "sex", "sex": "job"}).select(rows.columns)
    ),
    "a column copied under another name": lambda rows: rows.with_columns(job="age"),
    "rows twice": lambda rows: pl.concat([rows, rows]),
}


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("name", ["Alder", "Dogwood", "Elm"])
def test_nobody_else_is_charged(clinic, name, trick):
    leak = TRICKS[trick](clinic.versions[name])
    try:
        result = sf.trace(leak, ledger=clinic.url)
    except sf.SfumatoError:
        return
    assert set(result.certain) <= {name}
    assert not result.ours or name in result.alone, "whoever made it explains it"


def test_rows_of_two_who_work_together_charge_no_third(clinic):
    for one, other in (("Alder", "Dogwood"), ("Birch", "Elm"), ("Cedar", "Fir")):
        mixed = pl.concat([coarser(clinic.versions[one]).head(80), clinic.versions[other].tail(80)])
        assert set(sf.trace(mixed, ledger=clinic.url).certain) <= {one, other}


def guessed(clinic, seed):
    """Alder, who sees groups of jobs and no sex, makes both up, and ages and zips coarser."""
    rng = np.random.default_rng(seed)
    fine = clinic.versions["Dogwood"]
    return pl.DataFrame({name: rng.permutation(fine[name].to_list())[:200] for name in KEYS})


def test_a_leak_that_was_guessed_charges_nobody(clinic):
    """Most guesses hit: versions as coarse as these have a record for nearly every combination. Some miss."""
    for seed in range(3):
        result = sf.trace(guessed(clinic, seed), ledger=clinic.url, max_coalition_size=1)
        assert result.rows["foreign"] > 0
        assert list(result.explanations) == [("Dogwood",)]
        assert result.certain == () and result.false_charge is None
        assert result.perhaps_guessed == ("Dogwood",)
        assert str(result).startswith("ours, and perhaps guessed in part: nobody is charged")
        assert result.as_dict()["perhaps_guessed"] == ["Dogwood"]


def test_the_same_from_whoever_holds_it_is_charged(clinic):
    result = sf.trace(clinic.versions["Dogwood"].select(KEYS), ledger=clinic.url, max_coalition_size=1)
    assert result.certain == ("Dogwood",)
    chance = result.false_charge.guessed
    assert chance.rows == chance.fitting > 50
    assert chance.probability == 1.0, "for any job there is a record: guesses always hit"
    assert "if others guessed" in str(result)


def test_one_guess_that_hits_is_no_less_than_knowledge_and_the_chance_of_that_is_told(clinic):
    result = sf.trace(
        clinic.versions["Dogwood"].select(KEYS).head(1), ledger=clinic.url, max_coalition_size=1
    )
    assert result.certain == ("Dogwood",)
    assert result.false_charge.guessed.probability > 0.5
    assert any("by guessing" in words for words in result.false_charge.assumptions)


def test_patterns_are_what_the_tricks_assume():
    assert PATTERNS["Alder"] == (1, 1, 1, 1) and PATTERNS["Dogwood"] == (2, 2, 0, 0)
    assert KEYS == ("age", "zip", "job", "sex")
