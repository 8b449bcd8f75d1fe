"""`--engine spark`: the same verbs, read and counted by Spark."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.engine import open_source

pytestmark = pytest.mark.xdist_group("spark")


def test_protect_by_spark_gives_the_same_plan(spark, tmp_path, capsys):
    del spark  # the session of the tests is the one that is found
    sf.demo.write(tmp_path, 200)
    table, policy, safe = tmp_path / "hospital.csv", tmp_path / "policy.yaml", tmp_path / "safe.parquet"
    words = ["protect", str(table), "--policy", str(policy), "-o", str(safe)]
    assert run([*words, "--engine", "spark"]) == 0
    by_spark = capsys.readouterr().out
    assert (safe / "_manifest.json").is_file() and any(safe.glob("part-*"))
    assert run([*words[:-1], str(tmp_path / "here.parquet")]) == 0
    assert capsys.readouterr().out == by_spark
    assert open_source(safe).digest() == open_source(tmp_path / "here.parquet").digest()


def test_what_spark_cannot_read_is_said(spark, tmp_path, capsys):
    del spark
    sf.demo.write(tmp_path, 20)
    words = ["protect", "no_such_table", "--policy", str(tmp_path / "policy.yaml"), "--dry-run"]
    assert run([*words, "--engine", "spark"]) == 3
    assert "Spark cannot read this table" in capsys.readouterr().err
    assert run([*words, "--engine", "fire"]) == 2
    assert "Say spark" in capsys.readouterr().err
