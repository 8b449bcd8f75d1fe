"""The programs that docs/how-to/spark.md prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.table.source import open_source
from table.spark.settings import SETTINGS

pytestmark = pytest.mark.xdist_group("spark")

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "spark.md"


def printed(word):
    """The one block of the page that has this word."""
    (found,) = (
        text
        for text in re.findall(r"^```(?:pyspark|sh)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
        if word in text
    )
    return found


def test_the_job_publishes_or_ends_with_a_code(spark, tmp_path, capsys):
    people = sf.demo.hospital(100, kind="pyarrow")
    spark.createDataFrame(people).write.parquet(str(tmp_path / "people"))
    (tmp_path / "out").mkdir()
    (tmp_path / "policy.yaml").write_text(sf.demo.policy().to_yaml())
    program = printed("except SfumatoError")
    for theirs, ours in (
        ("/shared", str(tmp_path)),
        ("postgresql://ledger.example/sfumato", f"sqlite:///{tmp_path}/ledger.db"),
        ("policy.yaml", str(tmp_path / "policy.yaml")),
    ):
        assert theirs in program
        program = program.replace(theirs, ours)
    exec(compile(program, "release.py", "exec"), {})
    assert open_source(tmp_path / "out" / "march" / "data.parquet").survey().rows == 100
    with pytest.raises(SystemExit) as ended:
        exec(compile(program, "release.py", "exec"), {})
    assert ended.value.code == 2 and "exists already" in capsys.readouterr().err


def test_verbs_under_spark_submit(tmp_path):
    """The command of the page, here on this machine: it says what the verb says without Spark."""
    (tmp_path / "verb.py").write_text(printed("import main"))
    (tmp_path / "people.csv").write_text('zip,disease\n1,flu\n1,""\n')
    submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[1]"]
    submit += [word for name, value in SETTINGS.items() for word in ("--conf", f"{name}={value}")]
    assert printed("yarn verb.py").startswith("spark-submit --master yarn verb.py release")
    done = subprocess.run(
        [*submit, "verb.py", "declare", "people.csv", "--engine", "spark"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.rstrip("\n") == sf.declare(tmp_path / "people.csv").to_yaml().rstrip("\n")
