"""Docs that cannot rot: every Python block runs, every console block prints what it says."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK_ROWS = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)")


def blocks(page, language):
    return [text for kind, text in BLOCK_ROWS.findall(page.read_text(encoding="utf-8")) if kind == language]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_blocks_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for text in blocks(page, "python"):
        if ">>>" in text:
            example = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            printed = []
            runner.run(example, out=printed.append, clear_globs=False)
            names.update(example.globs)
            assert runner.failures == 0, "".join(printed)
        else:
            exec(compile(text, str(page), "exec"), names)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "console")], ids=lambda p: p.name)
def test_console_blocks_print_what_they_say(page, tmp_path):
    environment = {
        **os.environ,
        "NO_COLOR": "1",
        "COLUMNS": "110",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    for text in blocks(page, "console"):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
            done = subprocess.run(
                command,
                shell=True,
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            shown = done.stdout if done.returncode == 0 else done.stdout + done.stderr
            pattern = ".*".join(re.escape(part) for part in expected.split("..."))
            assert re.fullmatch(pattern, shown, re.DOTALL), f"$ {command}\n{shown}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_and_named_files_exist(page):
    text = page.read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    named = re.findall(r"`((?:src/sfumato|tests|docs|benchmarks|experiments)/[\w/.-]+)`", text)
    missing += [name for name in named if not (ROOT / name).exists()]
    inside = re.findall(
        r"`((?:attacks|chains|cli|core|demo|discovery|engine|journey|judge|kernels|policy|promises|protection|releases|reports|show|system|testing|tracing|usefulness)/[\w/.-]+\.py)`",
        text,
    )
    missing += [name for name in inside if not (ROOT / "src/sfumato" / name).exists()]
    assert missing == []
