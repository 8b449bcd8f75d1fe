"""One database for several questions: opened once, and nothing of one question is seen by the next."""

from __future__ import annotations

import duckdb
import pytest

import sfumato as sf
from sfumato.system.memory import Memory
from sfumato.verify.tables import Database, one_database, strictly


@pytest.fixture
def opened(monkeypatch):
    """How often a database was opened, as a list that grows."""
    times, connect = [], duckdb.connect

    def counted(*args, **options):
        times.append(options)
        return connect(*args, **options)

    monkeypatch.setattr(duckdb, "connect", counted)
    return times


def tables(db):
    return [name for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()]


def test_questions_see_nothing_of_each_other(opened):
    with one_database():
        strictly("x", lambda db: db.execute("CREATE TEMP TABLE held AS SELECT 1 AS a"))
        assert strictly("x", tables) == []
        with Database("one") as one, Database("other") as other:
            one.ask(lambda db: db.execute("CREATE TEMP TABLE held AS SELECT 1 AS a"))
            assert one.ask(tables) == ["held"]
            assert other.ask(tables) == []
    assert len(opened) == 1


def test_a_file_is_read_anew_by_each_question(tmp_path, opened):
    path = tmp_path / "t.csv"
    count = f"SELECT count(*) FROM read_csv('{path}')"
    with one_database():
        path.write_text("a\n1\n", encoding="utf-8")
        assert strictly("t", lambda db: db.execute(count).fetchone()) == (1,)
        path.write_text("a\n1\n2\n", encoding="utf-8")
        assert strictly("t", lambda db: db.execute(count).fetchone()) == (2,)
    assert len(opened) == 1


def test_a_limit_of_memory_has_a_database_of_its_own(opened):
    with one_database():
        strictly("x", tables)
        strictly("x", tables, Memory(1 << 30))
    strictly("x", tables)
    assert len(opened) == 3


def test_nothing_is_opened_where_nobody_asks(opened):
    with one_database():
        pass
    assert opened == []


def test_a_release_opens_one_database_for_the_judge(tmp_path, opened, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sf.demo.write(tmp_path, 100)
    sf.release("hospital.csv", "policy.yaml", ledger="sqlite:///ledger.db", into="one")
    assert len([options for options in opened if "temp_directory" in options.get("config", {})]) == 1
