"""Chains from the command line: what is refused, with which exit code, and why."""

from __future__ import annotations

import json
import re

import pytest

from sfumato.cli.main import run

pytestmark = pytest.mark.slow

BAD_DATA, BY_HISTORY = 3, 5
HEAD = "who,month,place,disease"
MAY = [
    f"{place}{had}{n},May,{place},{had}"
    for place in ("UK", "France")
    for had in ("Flu", "HIV")
    for n in "123"
]
JUNE = [f"new{n},June,{place},{had}" for n, (place, had) in enumerate([("UK", "Flu"), ("UK", "HIV")] * 2)]
BATCHES = {"since": "month"}
KEY = {"person": "who"}


def policy(**keys):
    columns = {name: {"role": "identifier"} for name in ("who", "month")}
    columns["place"] = {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK", "France"]}}}
    columns["disease"] = {"role": "sensitive"}
    return json.dumps(
        {
            "columns": columns,
            "promises": [{"continuous": {"k": 4, **keys}}],
            "protect": {"search": "top-down", "suppress": 0},
            "confirm": {"disease": True},
        }
    )


@pytest.fixture
def refused(tmp_path, capsys, monkeypatch):
    """Releases tables one after another, each under its keys: the exit code and the text of the last."""
    monkeypatch.chdir(tmp_path)

    def go(*tables):
        code = None
        for n, (rows, keys) in enumerate(tables):
            assert code in (None, 0), capsys.readouterr().err
            (tmp_path / "people.csv").write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")
            (tmp_path / "policy.yaml").write_text(policy(**keys), encoding="utf-8")
            code = run(["release", "people.csv", "-p", "policy.yaml", "--into", f"r{n}"])
        said = capsys.readouterr().err
        assert not any(name in said for name in ("UKFlu1", "new1"))  # no cell value in a message
        return code, said

    return go


@pytest.mark.parametrize(
    ("tables", "code", "said"),
    [
        ([(MAY, BATCHES), (MAY[1:], BATCHES)], BY_HISTORY, "the old rows do not reproduce release 1"),
        (
            [(MAY, BATCHES), ([MAY[0].replace("Flu", "HIV"), *MAY[1:]], BATCHES)],
            BY_HISTORY,
            "the old rows do not reproduce release 1",
        ),
        (
            [(MAY, KEY), ([MAY[0].replace(",Flu", ",HIV"), *MAY[1:]], KEY)],
            BY_HISTORY,
            "the old rows do not reproduce release 1",
        ),
        (
            [(MAY, KEY), ([MAY[0].replace(",UK,", ",France,"), *MAY[1:]], KEY)],
            BY_HISTORY,
            "the old rows do not reproduce release 1",
        ),
        ([(MAY, KEY), ([*MAY, MAY[0]], KEY)], BAD_DATA, "several rows"),
        ([(MAY, KEY), (MAY[1:], KEY)], BY_HISTORY, "not in the table any more"),
        ([(MAY, KEY), ([*MAY, JUNE[0]], KEY)], BY_HISTORY, "1 person is new; each must be one of 4"),
        ([(MAY, BATCHES), (MAY, KEY)], BY_HISTORY, "continuous"),
    ],
)
def test_what_is_refused(refused, tables, code, said):
    found, text = refused(*tables)
    assert found == code, text
    assert re.search(said, text), text


def test_columns_of_batches_are_not_taken_for_people(refused):
    code, said = refused((MAY, BATCHES))
    assert code == 0 and "people with several rows" not in said
