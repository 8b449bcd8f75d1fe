"""Numbers that count the days between two dates are quasi-identifiers, whatever their header says."""

import random
from datetime import date, timedelta

import polars as pl
import pytest

import sfumato as sf
from draft.fake_survey import column
from sfumato.draft.roles import guess
from sfumato.policy.taxonomies.dates import Dates
from sfumato.table.microdata import Role

ROWS = 120
START = date(2020, 1, 1)


def stays(*, excess=0, wrong=0, unit=1):
    """Two dates of everybody, and a number that counts the days between them."""
    dice = random.Random(7)
    first = [START + timedelta(dice.randint(0, 700)) for _ in range(ROWS)]
    length = [dice.randint(1, 90) for _ in range(ROWS)]
    last = [day + timedelta(days) for day, days in zip(first, length, strict=True)]
    told = [(days + excess) // unit + (1000 if i < wrong else 0) for i, days in enumerate(length)]
    return pl.DataFrame({"first": first, "last": last, "duration": told, "score": length[::-1]})


@pytest.mark.parametrize("excess", [0, 1, -1])
def test_days_between_two_dates_are_a_key(excess):
    rule = sf.declare(stays(excess=excess)).columns["duration"]
    assert rule.role is Role.QUASI and "days from first to last" in rule.reason
    assert sf.declare(stays(excess=excess)).columns["score"].role is Role.INSENSITIVE


@pytest.mark.parametrize(
    ("wrong", "role"), [(ROWS // 20, Role.QUASI), (ROWS // 20 + 1, Role.INSENSITIVE)], ids=["few", "more"]
)
def test_a_few_rows_may_be_wrong(wrong, role):
    assert sf.declare(stays(wrong=wrong)).columns["duration"].role is role


def test_other_numbers_beside_dates_are_none_of_their_differences():
    assert sf.declare(stays(unit=30)).columns["duration"].role is Role.INSENSITIVE
    assert sf.declare(stays(excess=5)).columns["duration"].role is Role.INSENSITIVE
    assert sf.declare(stays().drop("last")).columns["duration"].role is Role.INSENSITIVE
    assert sf.declare(stays()[:19]).columns["duration"].role is Role.INSENSITIVE


def test_missing_cells_and_other_forms_of_dates():
    texts = stays().with_columns(pl.col("first", "last").dt.strftime("%d.%m.%Y"))
    gaps = texts.with_columns(last=pl.when(pl.arange(0, ROWS) % 3 > 0).then("last"))
    assert sf.declare(gaps).columns["duration"].role is Role.QUASI


def test_the_date_of_a_diagnosis_is_a_date():
    days = [f"{1 + i % 28:02}-0{1 + i % 9}-1984" for i in range(ROWS)]
    rule = guess("diagnosed_on", column(days), ROWS)
    assert rule.role is Role.QUASI and isinstance(rule.taxonomy, Dates) and "health" in rule.reason
    assert guess("diagnosis", column(["flu", "gout"] * 60), ROWS).role is Role.SENSITIVE
