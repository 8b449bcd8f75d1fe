"""The experiment's policy, its chart, and what is said where the data is absent."""

from __future__ import annotations

import runpy
import subprocess
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path

from experiments.threats import threat_chart

import sfumato as sf
from papers.test_wang_2009 import POLICY, T1, T3

ROOT = Path(__file__).parents[3]


def test_absent_data_is_named(tmp_path):
    command = [sys.executable, "-m", "experiments", "--data", tmp_path, "--out", tmp_path / "out", "freeform"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "left out" in done.stdout and not (tmp_path / "out").exists()


def test_at_least_six_columns_are_mixed():
    made = runpy.run_path(str(ROOT / "experiments" / "adult_free.py"))
    assert len(made["COLUMNS"]) == 8 and len(made["GUARDED"]) >= 6


def test_the_chart_shows_every_value_before_and_after():
    before, after = sf.attack.freeform(T1, POLICY), sf.attack.freeform(T3, POLICY)
    drawn = ET.fromstring(threat_chart(before, after, Fraction(1, 2), title="a < b"))
    texts = [t.text for t in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {f"{f.infers[0]} = {f.infers[1]}" for f in before} <= set(texts) and "a < b" in texts
    circles = len(list(drawn.iter("{http://www.w3.org/2000/svg}circle")))
    assert circles == len(before) + len(after) + 2
