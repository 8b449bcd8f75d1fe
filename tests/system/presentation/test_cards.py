"""Cards in notebooks and on terminals: the verdict first, and no colour without its word."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.audit import attack_card
from sfumato.system.presentation.cards import Card, verdict_lines, verdict_of
from sfumato.system.verdict import Finding, Verdict

pytestmark = pytest.mark.slow

POLICY = {
    "columns": {
        "name": {"role": "identifier"},
        "zip": {"role": "quasi", "taxonomy": {"prefix": [2, 1]}},
        "sex": {"role": "quasi"},
        "disease": {"role": "sensitive"},
    },
    "promises": [{"k-anonymity": {"k": 2}}],
    "protect": {"search": "top-down", "suppress": 0},
    "confirm": {"disease": True},
}


def card(*holds):
    verdicts = [Verdict(f"promise {i}", word, 3, 3) for i, word in enumerate(holds)]
    return Card("a plan", verdict_lines(verdicts))


@pytest.mark.parametrize(
    ("shown", "mood", "words"),
    [
        (card(True, True), "good", "all hold"),
        (card(True, None), "open", "not all is decided"),
        (card(True, None, False), "bad", "a promise is BROKEN"),
        (Card("rows", [("zip", "4 values")]), "plain", ""),
        (attack_card([Finding("linkage", "x", "y", 1, 1, True)]), "bad", "an attack gets further"),
        (attack_card([Finding("linkage", "x", "y", 0, 0, False)]), "good", "withstood"),
        (Card("release", [("lab", "BROKEN: k-anonymity")]), "bad", "a promise is BROKEN"),
    ],
)
def test_the_worst_is_said_first(shown, mood, words):
    assert verdict_of(shown._blocks) == (mood, words)
    assert shown.on_terminal(colour=False).startswith(("✔ ", "✘ ", "? ") if words else shown.title)
    html = shown._repr_html_()
    assert not words or html.index(words) < html.index(shown.title)


def test_an_attack_beyond_what_is_promised_breaks_no_promise():
    lines = [*verdict_lines([Verdict("k", True, 3, 3)]), (), ("linkage", "BREACH", "x")]
    assert verdict_of(Card("audit", lines)._blocks) == ("open", "an attack gets further")


def test_colours_are_left_out_without_loss():
    shown = card(True, False, None)
    bare = re.sub(r"\x1b\[[0-9]*m", "", shown.on_terminal(colour=True))
    assert bare == shown.on_terminal(colour=False)
    assert "\x1b[31m" in shown.on_terminal(colour=True)


def test_blocks_stand_apart():
    shown = Card("plan", [("a", "holds"), (), ("zip", "4 values")], notes=("one", "two"))
    assert (
        shown.on_terminal(colour=False) == "✔ all hold   plan\n\n  a   holds\n\n  zip   4 values\n\none\ntwo"
    )


@pytest.fixture(scope="module")
def people():
    rows = 12
    return pl.DataFrame(
        {
            "name": [f"N{i}" for i in range(rows)],
            "zip": [f"0{1 + i % 2}{i % 3}" for i in range(rows)],
            "sex": ["f", "m"] * (rows // 2),
            "disease": ["flu", "gout", "burn"] * (rows // 3),
        }
    )


def test_everything_a_verb_returns_shows_itself_in_a_notebook(people, tmp_path):
    policy = sf.Policy.from_dict(POLICY)
    ledger = f"sqlite:///{tmp_path}/l.db"
    plan = sf.protect(people, policy)
    event = sf.release(people, policy, ledger=ledger, into=tmp_path / "one", to=["lab"])
    shown = [policy, plan, sf.audit(plan.apply(people), policy), event, sf.discover(people, k=2, mode="any")]
    shown += [
        sf.trace(tmp_path / "one" / "data.csv", ledger=ledger),
        sf.compare(people, plan.apply(people), policy),
    ]
    for result in shown:
        html = result._repr_html_()
        assert html.startswith("<div") and "<script" not in html and "N1<" not in html, type(result).__name__


def test_the_card_of_a_policy_names_no_value_of_its_hierarchies():
    words = {**POLICY["columns"], "sex": {"role": "quasi", "taxonomy": {"tree": {"Zebra": ["f", "m"]}}}}
    text = str(sf.Policy.from_dict({**POLICY, "columns": words}).card())
    assert "Zebra" not in text and "made less exact by a hierarchy" in text
    assert "finds at least 2 people who look alike" in text and "not published" in text


@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_gets_colours_and_a_pipe_does_not(people, tmp_path, colour):
    import json

    people.write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.yaml").write_text(json.dumps(POLICY), encoding="utf-8")
    call = [sys.executable, "-m", "sfumato", "protect", "people.csv", "-p", "policy.yaml", "--dry-run"]
    plain = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert plain.startswith("plan by") and "\x1b" not in plain
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"}
    environment |= {} if colour else {"NO_COLOR": "1"}
    with subprocess.Popen(
        call, cwd=tmp_path, stdout=theirs, stderr=subprocess.DEVNULL, env=environment
    ) as program:
        program.wait(timeout=120)
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 65536):
            seen += part
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    assert "✔ all hold" in seen.decode()
    assert (b"\x1b[32m" in seen) is colour
