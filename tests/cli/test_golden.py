"""What the program prints, word for word. `SFUMATO_GOLDEN=write` writes the files anew; review the diff."""

from __future__ import annotations

import os
import re
from fractions import Fraction
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.attacks.audit import Audit, attack_card
from sfumato.attacks.published_labels import Objection
from sfumato.reports.report import side_by_side, values_of
from sfumato.system.verdict import Finding, Verdict

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent.parent / "golden"


def golden(name, text, same=str):
    path = FOLDER / f"{name}.txt"
    if os.environ.get("SFUMATO_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert same(text) == same(path.read_text(encoding="utf-8"))


VERBS = [line.split() for line in ("", "discover", "protect", "audit", "attack", "declare", "policy", "demo")]
VERBS += [["init"], ["doctor"], ["studio"]]
VERBS += [["policy", "check"], ["policy", "schema"], ["policy", "confirm"], ["policy", "patterns"], ["trace"]]
VERBS += [["knowledge"], ["erase"], ["help"]]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help_pages(sfumato, monkeypatch, verb):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    said = sfumato(*verb, "--help")
    assert (said.code, said.err) == (0, "")
    golden("-".join(["help", *verb]), said.out, same=ours)


def ours(page):
    """The words of a help page that are ours: without the usage line and the names of types."""
    lines = [line for line in page.splitlines() if not line.startswith("Usage:")]
    return re.sub(r"<[a-z ]+>", "", " ".join(lines)).split()


def test_every_verb_has_an_example(sfumato):
    for verb in VERBS:
        if verb not in ([], ["policy"]):
            assert f"Example:  sfumato {' '.join(verb)}" in sfumato(*verb, "--help").out


SEARCHES = {
    "top-down": {"search": "top-down", "suppress": "5%", "price": "none"},
    "lattice": {"search": "lattice", "suppress": "5%", "price": "none"},
    "mondrian": {"search": "mondrian", "suppress": 0},
}


@pytest.fixture(scope="module")
def people():
    """Twenty-four people whose ages, zips and jobs are regular enough to check by hand."""
    import polars as pl

    return pl.DataFrame(
        {
            "name": [f"N{i}" for i in range(24)],
            "age": [20 + i for i in range(24)],
            "job": [("Cook", "Waiter", "Nurse", "Physician")[i % 4] for i in range(24)],
            "disease": [("Flu", "Cough", "Burn")[i % 3] for i in range(24)],
        }
    )


def policy(search):
    jobs = {"Service": ["Cook", "Waiter"], "Care": ["Nurse", "Physician"]}
    return {
        "columns": {
            "name": {"role": "identifier"},
            "age": {"role": "quasi", "taxonomy": {"intervals": [4, 12], "from": 20, "to": 44}},
            "job": {"role": "quasi", "taxonomy": {"tree": jobs}},
            "disease": {"role": "sensitive"},
        },
        "promises": [{"k-anonymity": {"k": 3}}, {"l-diversity": {"of": "disease", "l": 2}}],
        "protect": SEARCHES[search],
    }


@pytest.mark.parametrize("search", SEARCHES)
def test_plan_cards(people, search):
    plan = sf.protect(people, policy(search))
    golden(f"plan-{search}", f"{plan}\n\n{plan.explain()}\n\n{plan!r}\n\n{plan._repr_html_()}\n")


def test_audit_cards():
    held = Verdict("k-anonymity, k = 3", True, 3, 3)
    broken = Verdict("t-closeness", False, Fraction(3, 5), Fraction(1, 5), people=24, classes=8)
    unsure = Verdict("continuous", None, None, 3, reason="needs the earlier releases")
    secret = {"age": "<b>41</b>"}
    won = Finding(
        "linkage", "prosecutor: knows <all>", "best guess 1 in 2", Fraction(1, 2), 24, True, values=secret
    )
    lost = Finding("homogeneity", "a neighbour", "certain for nobody", Fraction(1, 3), 0, False)
    odd = Objection("a column is published that is not declared", ("x",), None)
    audits = [
        Audit((held,), (lost,), (), 24, ("age",)),
        Audit((held, unsure), (), (odd,), 24, ("age",)),
        Audit((held, unsure, broken), (lost, won), (), 24, ("age",)),
    ]
    cards = [*audits, attack_card((lost, won))]
    golden("audit", "\n\n".join(map(str, cards)) + "\n")
    html = "\n".join(card._repr_html_() for card in cards)
    golden("page", html + "\n")
    assert secret["age"] not in html + "".join(map(str, cards))
    assert "&lt;b&gt;" not in html
    assert values_of((lost, won)) == ["linkage: age = <b>41</b>"]


def test_two_tables_beside_each_other():
    before = [("name", "zip"), ("Ada", "02138"), ("Bo", "02139")]
    after = [("zip",), ("0213*",)]
    golden("side-by-side", side_by_side(before, after, titles=("before", "published")) + "\n")
