"""The same step elsewhere: what pages show as YAML, Python and commands does the same when it is run."""

from __future__ import annotations

import html
import re

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.policy.policy import policy_of_text
from studio.stage import POLICY, StudioClient, open_studio, post

pytestmark = pytest.mark.slow

CONFIRMED = POLICY.replace("confirm:\n  sex: harmless, it seems\n", "")


@pytest.fixture
def studio(tmp_path, monkeypatch):
    opened = open_studio(tmp_path, policy=CONFIRMED)
    monkeypatch.chdir(opened.folder.path)
    return opened


def shown(client, path):
    """What a page shows in each language."""
    parts = re.findall(
        r'<div class="code">\s*<h3>(.*?) <button.*?<pre[^>]*>(.*?)</pre>', client.get(path).text, re.S
    )
    return {html.unescape(name): html.unescape(text) for name, text in parts}


def run_python(text):
    found = {}
    exec(compile(text, "page", "exec"), found)
    return found


def run_commands(text):
    """Types what a page shows; returns the last exit code."""
    for line in text.splitlines():
        words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", line)]
        assert words[0] == "sfumato"
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code in (0, 1), done.output
    return done


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/declare/roles", {"column": "sex", "role": "sensitive"}),
        ("/declare/preset", {"preset": "uk-tre-10"}),
        ("/declare/promise", {"position": "0", "p-k": "7", "act": "change"}),
        ("/declare/promise/add", {"promise": "t-closeness", "p-of": "disease", "p-t": "1/2"}),
        ("/declare/column/taxonomy", {"name": "zip", "kind": "prefix", "keep": "4 2"}),
        ("/declare/column/tree", {"name": "disease", "node": "0", "act": "rename", "label": "Virus"}),
        ("/declare/rest", {"person": "name", "missing": "refuse"}),
    ],
)
def test_every_change_of_a_policy_can_be_typed_in_python(studio, client, path, fields):
    assert post(client, path, studio.policy.version, **fields).status_code == 303
    page = "/declare/column?name=zip" if "column" in path else "/declare"
    said = shown(client, page)
    assert set(said) == {"YAML", "Python", "Command line"}
    after = sf.Policy.load("policy.yaml")
    assert (
        policy_of_text(said["YAML"], name="policy.yaml", folder=studio.folder.path).to_dict()
        == after.to_dict()
    )
    (studio.folder.path / "policy.yaml").write_text(CONFIRMED, encoding="utf-8")
    assert run_python(said["Python"])["policy"].to_dict() == after.to_dict()
    run_commands(said["Command line"])


def test_what_discovers_protects_and_attacks_runs_as_shown(studio, client):
    for path in ("/discover", "/protect", "/attack"):
        said = shown(client, path)
        run_python(said["Python"])
        run_commands(said["Command line"])
    assert (studio.folder.path / "safe.csv").exists()


def test_what_releases_and_traces_runs_as_shown(studio):
    policy = CONFIRMED + "recipients: {tolerance: 50%}\n"
    studio.policy.path.write_text(policy, encoding="utf-8")
    client = StudioClient(studio)
    said = shown(client, "/release?to=north%2C+south&into=by-command")
    assert said["YAML"].startswith("recipients:") and "tolerance" in said["YAML"]
    run_commands(said["Command line"])
    named = shown(client, "/release?to=east&into=by-python&chain=other")
    run_python(named["Python"])
    history = [(r.chain, r.recipient) for r in sf.Ledger("sqlite:///ledger.db", readonly=True).history()]
    assert sorted(history) == [("main", "north"), ("main", "south"), ("other", "east")]
    (studio.folder.path / "leak.csv").write_text(
        (studio.folder.path / "by-command" / "north" / "data.csv").read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    said = shown(client, "/trace")
    run_python(said["Python"])
    run_commands(said["Command line"])
