"""Versions, hashes and queries are written down, and a wheel is the same bytes again."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from sfumato.cli.guide_page import guide_pages

HERE = Path(__file__).parent.parent
LOCKS = HERE / "requirements"


def named(requirement):
    return re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", requirement)[0]).lower()


def pinned(name):
    lines = (LOCKS / name).read_text(encoding="utf-8").splitlines()
    return dict(re.match(r"([a-z0-9-]+)==([^ ]+)", line).groups() for line in lines if "==" in line)


def test_every_library_is_locked_and_no_index_is_named():
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {named(one) for one in (*project["dependencies"], *project["optional-dependencies"]["dev"])}
    versions = pinned("versions.txt")
    assert asked <= set(versions), sorted(asked - set(versions))
    assert pinned("python311.txt") == versions
    text = (LOCKS / "python311.txt").read_text(encoding="utf-8")
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}$", text, re.M)) == len(versions)
    for file in LOCKS.iterdir():
        assert not re.search(
            r"https?://|file://|--(extra-)?index-url|find-links", file.read_text(encoding="utf-8")
        )


def test_the_workflow_audits_libraries_and_lists_them():
    (workflow,) = (HERE / ".github" / "workflows").glob("*.y*ml")
    text = workflow.read_text(encoding="utf-8")
    assert "pip-audit" in text and "cyclonedx" in text and "--require-hashes" in text


@pytest.mark.slow
def test_a_wheel_is_the_same_bytes_again(tmp_path):
    """Python and data; machine code is made for a processor, and may differ."""
    without_machine_code = {**os.environ, "SFUMATO_WITHOUT_MACHINE_CODE": "1"}
    wheels = []
    for number, moment in enumerate((1_600_000_000, 1_700_000_000)):
        copy = tmp_path / str(number) / "sfumato"
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "*.nb?")
        shutil.copytree(HERE / "src", copy / "src", ignore=ignored)
        shutil.copytree(HERE / "docs", copy / "docs")
        for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py"):
            shutil.copy(HERE / name, copy / name)
        for file in copy.rglob("*"):
            os.utime(file, (moment, moment))
        build = [
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "-t",
            "wheel",
            "-d",
            str(tmp_path / f"out{number}"),
        ]
        subprocess.run(build, cwd=copy, check=True, capture_output=True, env=without_machine_code)
        wheels.append(next((tmp_path / f"out{number}").glob("*.whl")).read_bytes())
    assert wheels[0] == wheels[1]
    with zipfile.ZipFile(io.BytesIO(wheels[0])) as wheel:
        packed = {name for name in wheel.namelist() if "/guide_pages/" in name}
    told = {page.place.removeprefix("docs/") for page in guide_pages().values()}
    assert packed == {f"sfumato/cli/guide_pages/{place}" for place in told}, "`sfumato help` shows these"


SQL = re.compile(r"noqa: S608")


def test_every_query_that_is_put_together_is_in_a_file_that_was_looked_at():
    """`docs/reference/queries.md` says of each file why no text from outside becomes a part of a query."""
    made = {
        file.relative_to(HERE / "src" / "sfumato").as_posix()
        for file in (HERE / "src").rglob("*.py")
        if SQL.search(file.read_text(encoding="utf-8"))
    }
    page = (HERE / "docs" / "reference" / "queries.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([^`]+)`", page, re.M)) == made
