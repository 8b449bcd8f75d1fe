"""The page for people who come from anjana and pyCANON: its peers' block runs where they are installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from guide.sessions import blocks

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "from_anjana.md"
PYTHON = ROOT / ".venv-peers" / "bin" / "python"


def test_the_same_job_in_both(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert PYTHON.exists(), "make test sets up .venv-peers"
    parts = list(blocks(PAGE.read_text(encoding="utf-8")))
    [ours] = [text for kind, text in parts if kind == "python"]
    [theirs] = [text for kind, text in parts if kind == "anjana"]
    exec(compile(ours, str(PAGE), "exec"), {})
    done = subprocess.run([PYTHON, "-c", theirs], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
