"""From a query of PostgreSQL to a release: no password in sight, no row changed, one answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from faults.postgresql import Cluster
from sfumato.system.errors import BadData
from sfumato.table.source import open_source
from workflows.canaries import files_with, handed_out
from workflows.test_steward import go_all_the_way

CANARY = "Zuleika"
QUERY = "SELECT name, zip, born, weight, ill, disease FROM patients WHERE NOT withdrawn"


@pytest.fixture(scope="module")
def cluster():
    """A PostgreSQL of our own, thrown away afterwards."""
    with Cluster() as running:
        yield running


@pytest.fixture(scope="module")
def hospital(cluster):
    """The address of a database with 150 patients, of whom 30 withdrew."""
    url = cluster.database("hospital")
    cells = ", ".join(
        f"('{CANARY}{i} Xylander', '8{i % 6}331', DATE '1950-01-01' + {i * 97}, {60 + i % 30}.50,"
        f" {i % 2 == 0}, '{('flu', 'measles', 'asthma')[i % 3]}', {i % 5 == 0})"
        for i in range(150)
    )
    cluster.sql(
        "CREATE TABLE patients (name text, zip text, born date, weight numeric(5, 2), ill boolean,"
        " disease text, withdrawn boolean)",
        f"INSERT INTO patients VALUES {cells}",
        name="hospital",
    )
    return url


def test_from_a_query_to_a_release(sfumato, hospital, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = sfumato("declare", hospital, "--query", QUERY, "-o", "policy.yaml")
    assert said.code == 0, said.err
    policy = Path("policy.yaml")
    assert f"source: {{query: {QUERY}}}" in policy.read_text() or QUERY in policy.read_text()
    policy.write_text(policy.read_text().replace("search: best", "search: top-down"))
    assert sfumato("policy", "confirm", "policy.yaml", *sf.Policy.load("policy.yaml").waiting).code == 0
    said = sfumato("protect", hospital, "-p", "policy.yaml", "-o", "safe.parquet")
    assert said.code == 0, said.err
    said = sfumato("release", hospital, "-p", "policy.yaml", "--into", "out")
    assert said.code == 0, said.err
    assert "what is released is a CSV file" in said.err
    released = Path("out/data.csv").read_bytes()
    assert released.count(b"\n") <= 121
    assert CANARY.encode() not in released
    assert CANARY.encode() not in Path("safe.parquet").read_bytes()
    assert sfumato("audit", "out/data.csv", "-p", "policy.yaml").code == 0
    said = sfumato("report", "out", "-p", "policy.yaml", "--original", hospital, "-o", "report.html")
    assert said.code == 0, said.err
    said = sfumato("report", "out", "-p", "policy.yaml", "--public", "-o", "public.html")
    assert said.code == 0, said.err
    assert files_with(CANARY, *handed_out(tmp_path)) == []
    assert not sf.audit(hospital, "policy.yaml").holds


def test_six_answers_are_enough(sfumato, hospital, tmp_path, monkeypatch):
    """The commands that `init` prints need neither the query nor a password again."""
    monkeypatch.chdir(tmp_path)
    assert CANARY not in go_all_the_way(sfumato, hospital, "--query", QUERY)
    assert files_with(CANARY, *handed_out(tmp_path)) == []


def test_the_same_rows_as_in_a_file(hospital, tmp_path):
    """Types of the database have the texts that a CSV file would have."""
    source = open_source(sf.DataFile(hospital, query=QUERY))
    survey = source.survey()
    assert survey.rows == 120
    columns = {name: column.values for name, column in survey.columns.items()}
    assert columns["ill"] == ("false", "true")
    assert columns["weight"][0] == "61.50"
    assert columns["born"][0] == "1950-04-08"
    lines = [",".join(columns)]
    names = list(columns)
    rows = source.reader.table.to_pylist()
    lines += [
        ",".join(str(row[n]).lower() if isinstance(row[n], bool) else str(row[n]) for n in names)
        for row in rows
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert open_source(tmp_path / "t.csv").digest() == source.digest()


def test_nothing_is_changed_and_nothing_is_told(hospital, cluster, monkeypatch):
    for query in ("DELETE FROM patients RETURNING name", f"SELECT '{CANARY}'::int", "SELECT nothing"):
        with pytest.raises(BadData) as refusal:
            open_source(sf.DataFile(hospital, query=query)).survey()
        assert CANARY not in str(refusal.value)
    assert open_source(sf.DataFile(hospital, query=QUERY)).survey().rows == 120
    monkeypatch.setenv("CARE", f"postgresql://sfumato:{CANARY}@/hospital?host={cluster.folder}")
    assert open_source(sf.DataFile("env:CARE", query=QUERY)).survey().rows == 120
    monkeypatch.setenv("CARE", f"postgresql://sfumato:{CANARY}@/nowhere?host={cluster.folder}")
    with pytest.raises(BadData, match="cannot be reached") as refusal:
        open_source(sf.DataFile("env:CARE", query=QUERY)).survey()
    assert CANARY not in str(refusal.value)
