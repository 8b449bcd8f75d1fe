"""`--engine spark`: the same verbs, read and counted by Spark."""

from __future__ import annotations

import pytest

import sfumato as sf
from quick_demo import write_quick_demo
from sfumato.cli.main import run
from sfumato.system.errors import BadData, UsageError
from sfumato.table.source import open_source
from sfumato.table.spark.source import spark_table
from sfumato.testing.engines import codings

pytestmark = pytest.mark.xdist_group("spark")


def test_protect_by_spark_gives_the_same_plan(spark, tmp_path, capsys):
    del spark  # the session of the tests is the one that is found
    write_quick_demo(tmp_path, 200)
    table, policy, safe = tmp_path / "hospital.csv", tmp_path / "policy.yaml", tmp_path / "safe.parquet"
    words = ["protect", str(table), "--policy", str(policy), "-o", str(safe)]
    assert run([*words, "--engine", "spark"]) == 0
    by_spark = capsys.readouterr().out
    assert (safe / "_manifest.json").is_file() and any(safe.glob("part-*"))
    assert run([*words[:-1], str(tmp_path / "here.parquet")]) == 0
    assert capsys.readouterr().out == by_spark
    assert open_source(safe).digest() == open_source(tmp_path / "here.parquet").digest()


AWKWARD_FILES = {
    "text.csv": b'a,b\n"x\ny",1\n"q""uote",2\n"",3\n,4\n" sp ",5\n',
    "marked.csv": "\ufeffa;b\r\né;1,5\r\n NULL;\r\n\r\n\\;'\r\n".encode(),
    "wide.tsv": "a\tb\n#x\t-0\n \t007\n".encode("utf-16"),
    "one.csv": b'a\n\n""\nx',
}


@pytest.mark.parametrize("name", AWKWARD_FILES)
def test_a_csv_file_is_the_same_table_to_spark(spark, tmp_path, name):
    del spark
    path = tmp_path / name
    path.write_bytes(AWKWARD_FILES[name])
    mine, known = open_source(spark_table(f"file://{path}")), open_source(path)
    assert mine.columns == known.columns and mine.digest() == known.digest()
    columns = codings(list(known.columns))
    assert mine.count(columns).digest == known.count(columns).digest


def test_csv_files_that_are_refused(spark, tmp_path):
    """What the reader of files does not let pass, Spark does not let pass either."""
    del spark
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\ncanary\n")
    with pytest.raises(BadData, match="could not finish") as caught:
        open_source(spark_table(str(path))).digest()
    assert "canary" not in str(caught.value)
    with pytest.raises(BadData, match="no such CSV file"):
        spark_table(str(tmp_path / "nowhere.csv"))
    with pytest.raises(UsageError, match="share"):
        spark_table("s3://bucket/people.csv")


def test_every_verb_says_the_same_by_spark(spark, tmp_path, capsys):
    """Declared, released, audited, attacked and traced by Spark, then without it."""
    del spark
    write_quick_demo(tmp_path, 150)
    table, policy = str(tmp_path / "hospital.csv"), ["--policy", str(tmp_path / "policy.yaml")]
    ledger, made = ["--ledger", f"sqlite:///{tmp_path}/ledger.db"], tmp_path / "march" / "data.parquet"

    def said(*words):
        code = run(words)
        return code, capsys.readouterr().out

    def both(*words):
        by_spark = said(*words, "--engine", "spark")
        assert by_spark == said(*words)
        return by_spark

    code, declared = both("declare", table)
    assert code == 0 and "promises:" in declared
    into = ["--into", str(tmp_path / "march"), "--to", "Ann"]
    (tmp_path / "policy.yaml").write_text(  # a version for somebody is a global recoding
        sf.Policy.load(tmp_path / "policy.yaml").with_(search="top-down").to_yaml(), "utf-8"
    )
    assert said("release", table, *policy, *ledger, *into, "--engine", "spark")[0] == 0
    assert said("protect", table, *policy, "-o", str(tmp_path / "here.parquet"))[0] == 0
    assert open_source(made).digest() == open_source(tmp_path / "here.parquet").digest()
    assert both("audit", str(made), *policy)[0] == 0
    assert both("attack", "linkage", str(made), *policy)[0] == 0
    code, found = both("trace", str(made), *ledger)
    assert code == 0 and "Ann" in found


def test_what_spark_cannot_read_is_said(spark, tmp_path, capsys):
    del spark
    write_quick_demo(tmp_path, 20)
    words = ["protect", "no_such_table", "--policy", str(tmp_path / "policy.yaml"), "--dry-run"]
    assert run([*words, "--engine", "spark"]) == 3
    assert "Spark cannot read this table" in capsys.readouterr().err
    assert run([*words, "--engine", "fire"]) == 2
    assert "Say spark" in capsys.readouterr().err
