"""Values are completed in a shell, from what is there; nothing is shown, or broken, where nothing is."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.main import run

pytestmark = pytest.mark.slow

CANARY = "Zuleika"
POLICY = """\
columns: {town: {role: quasi}, disease: {role: insensitive}, weight: {role: insensitive}}
promises: [{k-anonymity: {k: 2}}]
confirm: {disease: a measurement, weight: a measurement}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{'KU'[i % 2]}lm,flu,{60 + i % 2}\n" for i in range(12))
    Path("people.csv").write_text(f"town,disease,weight\n{rows}")
    Path("policy.yaml").write_text(POLICY)
    Path("Excel").mkdir()


@pytest.fixture
def completed(monkeypatch, capsys):
    """What bash would offer for the last word of a line."""

    def complete(line):
        monkeypatch.setenv("_SFUMATO_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run([])
        out, err = capsys.readouterr()
        assert (ended.value.code or 0, err) == (0, "")
        return out.split()

    return complete


def test_commands_and_choices(completed):
    assert completed("sfumato ini") == ["init"]
    assert completed("sfumato init people.csv --audience p") == ["public", "partners"]
    assert "linkage" in completed("sfumato attack l")


def test_columns_of_the_file_on_the_line(completed):
    assert completed("sfumato init people.csv --exact ") == ["town", "disease", "weight"]
    assert completed("sfumato init people.csv --row person --person t") == ["town"]
    assert completed("sfumato init nowhere.csv --exact ") == []


def test_no_cell_is_offered_as_a_column(completed):
    Path("bare.csv").write_text("".join(f"{CANARY}{i},8{i}331\n" for i in range(30)))
    assert completed("sfumato init bare.csv --exact ") == []
    Path("broken.parquet").write_bytes(b"no Parquet")
    assert completed("sfumato init broken.parquet --exact ") == []


def test_columns_that_wait(completed):
    assert completed("sfumato policy confirm policy.yaml ") == ["disease", "weight"]
    assert completed("sfumato policy confirm policy.yaml disease ") == ["weight"]
    Path("policy.yaml").write_text("columns: [")
    assert completed("sfumato policy confirm policy.yaml ") == []


def test_policies_and_rules(completed):
    assert completed("sfumato protect people.csv -p ") == ["Excel/", "policy.yaml"]
    assert completed("sfumato protect people.csv -p pol") == ["policy.yaml"]
    assert completed("sfumato declare people.csv --preset e") == ["ema"]
    assert completed("sfumato init people.csv --rule n") == ["none"]


def test_chains_and_recipients_of_a_ledger_in_a_file(completed):
    assert completed("sfumato history --chain ") == []
    assert not Path("ledger.db").exists()
    policy = sf.Policy.load("policy.yaml").confirm_all()
    given = {"ledger": "sqlite:///ledger.db", "into": "out", "to": "registry", "chain": "north"}
    sf.release("people.csv", policy, **given)
    assert completed("sfumato history --chain ") == ["north"]
    assert completed("sfumato release people.csv --ledger sqlite:///ledger.db --to r") == ["registry"]
    assert completed("sfumato history --ledger postgresql://nobody@127.0.0.1:1/none --chain ") == []
