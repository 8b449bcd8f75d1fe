"""Which identifier that repeats is proposed as the one that tells people apart."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.draft.doctor import SEVERAL_ROWS

PEOPLE = 120


def visits(name: str, value: str) -> pl.DataFrame:
    """Every third person came twice."""
    who = [*range(PEOPLE), *range(0, PEOPLE, 3)]
    return pl.DataFrame(
        {
            name: [value.format(n=n, two=n % 90 + 10, four=1000 + 7 * n) for n in who],
            "zip": [f"0{1000 + n % 40}" for n in who],
            "sex": ["fm"[n % 2] for n in who],
            "diagnosis": [["flu", "cold", "burn", "TB"][n * n % 7 % 4] for n in who],
        }
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("ssn", "1{two}-{two}-{four}"), ("email", "p{n}@mail.org"), ("phone", "+49 30 {four}{n:03}")],
)
def test_a_national_number_or_a_contact_is_no_key_of_people(name: str, value: str) -> None:
    table, said = visits(name, value), []
    policy = sf.declare(table, warn=said.append)
    assert policy.columns[name].role == "identifier"
    assert policy.person is None
    assert not any(f"person: {name}" in str(diagnosis.remedy) for diagnosis in said)


def test_a_draft_is_tried_on_people_with_several_rows() -> None:
    table, said = visits("patient_id", "{n}"), []
    policy = sf.declare(table, warn=said.append)
    assert policy.person == "patient_id"
    assert [diagnosis.name for diagnosis in said if diagnosis.name != SEVERAL_ROWS] == []
    assert "refuses this table" not in (policy.note or "")
