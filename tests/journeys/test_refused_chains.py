"""Chains that people leave, from the command line: what is refused, with which exit code, and why."""

from __future__ import annotations

import json
import re

import pytest

from sfumato.cli.main import run

BAD_DATA, BY_HISTORY = 3, 5
HEAD = "who,month,left,place,disease"
MAY = [
    f"{place}{had}{n},May,,{place},{had}"
    for place in ("UK", "France")
    for had in ("Flu", "HIV")
    for n in "123"
]
JUNE = [f"new{n},June,,{place},{had}" for n, (place, had) in enumerate([("UK", "Flu"), ("UK", "HIV")] * 2)]
BATCHES = {"since": "month", "until": "left"}
KEY = {"person": "who"}


def policy(**keys):
    columns = {name: {"role": "identifier"} for name in ("who", "month", "left")}
    columns["place"] = {"role": "quasi", "taxonomy": {"tree": {"Europe": ["UK", "France"]}}}
    columns["disease"] = {"role": "sensitive"}
    return json.dumps(
        {
            "columns": columns,
            "promises": [{"continuous": {"k": 4, **keys}}],
            "protect": {"search": "top-down", "suppress": 0},
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


def gone(rows, *names, with_="June"):
    return [row.replace(",May,,", f",May,{with_},") if row.split(",")[0] in names else row for row in rows]


def without(rows, *names):
    return [row for row in rows if row.split(",")[0] not in names]


UNKNOWN, COUNTED = {**KEY, "leavers": "unknown"}, {**KEY, "leavers": "counted"}
VERSIONS = {**BATCHES, **KEY}


@pytest.mark.parametrize(
    ("tables", "code", "said"),
    [
        ([(MAY, BATCHES), (MAY[1:], BATCHES)], BY_HISTORY, "1 rows of release 1 are missing"),
        (
            [(MAY, BATCHES), ([MAY[0].replace("Flu", "HIV"), *MAY[1:]], BATCHES)],
            BY_HISTORY,
            "do not give what was published",
        ),
        ([(MAY, BATCHES), (gone(MAY, "UKFlu1", with_="May"), BATCHES)], BAD_DATA, "left before they came"),
        ([(MAY, BATCHES), ([*MAY, "z,June,May,UK,Flu"], BATCHES)], BAD_DATA, "left before they came"),
        (
            [(MAY, UNKNOWN), (without(MAY, "UKFlu1"), UNKNOWN), (MAY, UNKNOWN)],
            BY_HISTORY,
            "1 people have left and come back",
        ),
        (
            [(MAY, UNKNOWN), ([MAY[0].replace(",Flu", ",HIV"), *MAY[1:]], UNKNOWN)],
            BY_HISTORY,
            "do not give what was published",
        ),
        (
            [(MAY, UNKNOWN), ([MAY[0].replace(",UK,", ",France,"), *MAY[1:]], UNKNOWN)],
            BY_HISTORY,
            "do not give what was published",
        ),
        (
            [
                (MAY, {**VERSIONS, "leavers": "unknown"}),
                ([*gone(MAY, "UKFlu1"), "UKFlu1,June,,France,Flu"], {**VERSIONS, "leavers": "unknown"}),
            ],
            BY_HISTORY,
            "`moves` does not allow it",
        ),
        ([(MAY, UNKNOWN), ([*MAY, MAY[0]], UNKNOWN)], BAD_DATA, "several rows"),
        ([(MAY, KEY), (MAY[1:], KEY)], BY_HISTORY, "not in the table any more"),
        ([(MAY, COUNTED), (MAY, {**KEY, "leavers": "total"})], BY_HISTORY, "no override can weaken this"),
        ([(MAY, COUNTED), (MAY, UNKNOWN)], BY_HISTORY, "no override can weaken this"),
        (
            [(MAY, {**KEY, "leavers": "total"}), (MAY, UNKNOWN)],
            BY_HISTORY,
            "no override can weaken this",
        ),
        ([(MAY, KEY), (MAY, UNKNOWN)], BY_HISTORY, "no override can weaken this"),
        (
            [(MAY, BATCHES), (gone(MAY, "UKFlu1"), BATCHES)],
            BY_HISTORY,
            "who has left would keep fewer than 4 candidates: at least 2 more people have to leave",
        ),
        ([(MAY, COUNTED), (MAY[1:], COUNTED)], BY_HISTORY, r"it is enough if 3 people are \(companions: 3\)"),
        ([(MAY, COUNTED), ([*MAY, JUNE[0]], COUNTED)], BY_HISTORY, "somebody who is new would keep 1"),
    ],
)
def test_what_is_refused(refused, tables, code, said):
    found, text = refused(*tables)
    assert found == code, text
    assert re.search(said, text), text


def test_columns_of_batches_are_not_taken_for_people(refused):
    code, said = refused((MAY, BATCHES))
    assert code == 0 and "people with several rows" not in said
