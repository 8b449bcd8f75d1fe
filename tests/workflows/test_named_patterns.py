"""Patterns that the policy names per recipient, and what a rehearsal says of leaks."""

import json
import random

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.system.errors import BadPolicy, Infeasible, RefusedByHistory, UsageError
from workflows.test_import_version import PEOPLE, POLICY

pytestmark = pytest.mark.slow

YEARS, MONTHS = {"gender": 0, "birthdate": 2, "zip": 2}, {"gender": 1, "birthdate": 1, "zip": 2}


def policy(**patterns):
    return {**POLICY, "recipients": {"tolerance": "100%", "patterns": patterns}}


def test_named_patterns_are_handed_out(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    event = sf.release(
        PEOPLE, policy(u1=MONTHS, u2=YEARS), ledger=url, into=tmp_path / "out", to=["u1", "u2"]
    )
    assert event.published
    leak = sf.trace({"gender": "m", "birthdate": "1970"}, ledger=url)
    assert leak.alone == ("u2",) and leak.charged == (), "whoever names a pattern has not drawn it"
    text = (tmp_path / "out" / "u1" / "data.csv").read_text()
    assert "03.1970" in text and "p" in text and "m," not in text


def test_others_are_chosen_beside_named_ones(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    event = sf.release(PEOPLE, policy(u1=MONTHS), ledger=url, to=["u1", "u2"], dry_run=True)
    first, second = (receipt.record.cuts for receipt in event.receipts)
    assert first != second


def test_a_policy_with_patterns_is_written_and_read_back(tmp_path):
    made = sf.Policy.from_dict(policy(u1=MONTHS, u2=YEARS))
    path = tmp_path / "policy.yaml"
    path.write_text(made.to_yaml())
    assert sf.Policy.load(path).recipients == made.recipients


@pytest.mark.parametrize(
    ("patterns", "error"),
    [
        ({"u1": {"gender": 0, "birthdate": 0, "zip": 0}, "u2": YEARS}, Infeasible),
        ({"u1": MONTHS, "u2": MONTHS}, RefusedByHistory),
        ({"u1": {"gender": 1, "birthdate": 2, "zip": 2}, "u2": YEARS}, RefusedByHistory),
        ({"u1": {"gender": 7, "birthdate": 0, "zip": 0}, "u2": YEARS}, UsageError),
        ({"u1": {"gender": 1, "birthdate": 2}, "u2": YEARS}, BadPolicy),
        ({"u1": {**MONTHS, "job": 1}, "u2": YEARS}, BadPolicy),
    ],
    ids=["breaks k", "the same", "framed", "no such level", "column lacking", "unknown column"],
)
def test_patterns_that_cannot_be_handed_out_are_refused(patterns, error, tmp_path):
    with pytest.raises(error):
        sf.release(
            PEOPLE,
            policy(**patterns),
            ledger=f"sqlite:///{tmp_path}/ledger.db",
            to=["u1", "u2"],
            dry_run=True,
        )


def test_a_rehearsal_says_how_many_leaked_rows_identify(tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    rules = tmp_path / "policy.yaml"
    rules.write_text(json.dumps(policy(u1=MONTHS, u2=YEARS)))
    words = [
        "release",
        str(tmp_path / "people.csv"),
        "-p",
        str(rules),
        "--dry-run",
        "--to",
        "u1",
        "--to",
        "u2",
    ]
    words += ["--ledger", f"sqlite:///{tmp_path}/ledger.db"]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    for version in json.loads(done.stdout)["versions"]:
        assert version["identifying_rows"]["beside_coalitions_of"] == {"1": 1}
    plain = CliRunner().invoke(app, words)
    assert plain.stdout.count("identified beside one other: 1 row") == 2


def test_leaks_of_that_many_rows_name_the_recipient(tmp_path):
    """Drawn at random, a leak of so many rows names its holder at least nine times in ten."""
    people = sf.demo.hospital(3000).select("sex", "zip", "born")
    rules = {
        "columns": {
            "sex": {"role": "quasi"},
            "zip": {"role": "quasi", "taxonomy": {"mask": "right"}},
            "born": {"role": "quasi", "taxonomy": {"date": ["year", "decade"]}},
        },
        "promises": [{"k-anonymity": {"k": 2}}],
        "protect": {"search": "lattice", "suppress": 0},
        "recipients": {"quality": "entropy", "tolerance": "100%"},
    }
    url, names = f"sqlite:///{tmp_path}/ledger.db", ["a", "b", "c"]
    told = sf.release(people, rules, ledger=url, to=names, dry_run=True)
    sf.release(people, rules, ledger=url, to=names, into=tmp_path / "out")
    draw = random.Random(3)
    for name in names:
        lines = (tmp_path / "out" / name / "data.csv").read_text().splitlines()
        needed = told[name].identifying_rows["beside_coalitions_of"]["2"]
        if needed is None:
            continue
        named = 0
        for _ in range(10):
            leak = tmp_path / "leak.csv"
            leak.write_text("\n".join([lines[0], *draw.sample(lines[1:], min(needed, len(lines) - 1))]))
            named += sf.trace(leak, ledger=url).alone == (name,)
        assert named >= 9
