"""Docs that cannot rot: every block runs or is held to what it speaks of, and every link leads somewhere."""

import doctest
import re
import shlex
import sys
import unicodedata
from pathlib import Path

import pytest
from guide import command_options, pictures, screenshots
from guide.sessions import TITLE, blocks, run, session, write_files
from ruamel.yaml import YAML

from sfumato.cli import main as program
from sfumato.policy import schema as schema_check
from sfumato.policy.schema import schema

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)#:\s]*)(#[^)\s]*)?\)")
EXECUTED = {"python", "console"}
"""Kinds of blocks that run below, page by page."""
ELSEWHERE = {
    ("reference/api.md", "pycon"): "src",  # docstrings, which pytest runs where they stand
    ("how-to/ledger.md", "sql"): "tests/faults/test_postgresql.py",
    ("how-to/from_anjana.md", "anjana"): "tests/peers/test_page.py",
    ("how-to/spark.md", "pyspark"): "tests/table/spark/test_page.py",
}
"""Kinds of blocks that run in another test, and where."""


def name_of(page):
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


def text_of(page):
    return page.read_text(encoding="utf-8")


def having(kind):
    return [page for page in PAGES if kind in dict(blocks(text_of(page)))]


@pytest.mark.slow
@pytest.mark.parametrize("page", having("python"), ids=name_of)
def test_python_blocks_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(text_of(page), tmp_path)
    names = {}
    for text in (text for kind, text in blocks(text_of(page)) if kind == "python"):
        if ">>>" in text:
            example = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            printed = []
            runner.run(example, out=printed.append, clear_globs=False)
            names.update(example.globs)
            assert runner.failures == 0, "".join(printed)
        else:
            exec(compile(text, str(page), "exec"), names)
    check_pictures(page, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", having("console"), ids=name_of)
def test_console_blocks_print_what_they_say(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "110")
    write_files(text_of(page), tmp_path)
    for typed in session(text_of(page)):
        shown = shown_by(typed, tmp_path, capsys)
        assert typed.fits(shown), f"$ {typed.command}\n{shown}"
    check_pictures(page, tmp_path)


def shown_by(typed, folder, capsys):
    """What a command shows: of `sfumato` alone in this process, which has loaded it; else of a shell.

    A limit of memory is one of the whole process, which holds here what other tests have left.
    `make trial` types the tutorials in processes of their own.
    """
    words = shlex.split(typed.command)
    alone = words[:1] == ["sfumato"] and "--memory" not in words
    if not alone or re.search(r"[|<>$&;`*~]", typed.command):
        return run(typed, folder, programs=Path(sys.executable).parent)
    capsys.readouterr()
    code = program.run(words[1:])
    out, err = capsys.readouterr()
    return out if code == 0 else out + err


def check_pictures(page, folder):
    """What a page shows is what it draws; where both kinds of blocks draw, each is held to its own."""
    both = {"python", "console"} <= set(dict(blocks(text_of(page))))
    for picture in pictures.shown(page):
        made = pictures.drawn(picture, folder)
        assert made is not None or both, f"nothing on the page draws {picture.name}"
        if made is not None:
            stale = pictures.said(text_of(picture)) != pictures.said(text_of(made))
            assert not stale, f"{picture.name} is older than what it shows: run `make pictures`"


def test_every_picture_is_shown_and_drawn_by_a_page():
    told = [picture.resolve() for page in PAGES for picture in pictures.shown(page)]
    assert sorted(told) == sorted(path.resolve() for path in (ROOT / "docs").rglob("pictures/*/*.svg"))
    for page in (page for page in PAGES if pictures.shown(page)):
        assert {"python", "console"} & set(dict(blocks(text_of(page))))
        assert {picture.parent.name for picture in pictures.shown(page)} == {page.stem}


def test_a_picture_that_says_something_else_is_seen(tmp_path):
    page = next(page for page in PAGES if pictures.shown(page))
    for picture in pictures.shown(page):
        (tmp_path / picture.name).write_text("<svg><text>another number</text></svg>")
    with pytest.raises(AssertionError, match="older than what it shows"):
        check_pictures(page, tmp_path)


def test_every_screenshot_is_listed_with_the_page_it_shows():
    """Tests that make these pages hold them to the list; here, nothing is unlisted or exchanged."""
    assert screenshots.faults(ROOT / "docs") == []


def test_a_screenshot_that_is_unlisted_lost_exchanged_or_stale_is_seen(tmp_path):
    picture = tmp_path / "studio.png"
    picture.write_bytes(b"one")
    assert screenshots.faults(tmp_path) == [f"studio.png is in no list of {tmp_path.name}"]
    page = '<h1 class="wide">Plan</h1><svg><path d="M 0 1"/><text>born</text></svg> 2026-01-01T10:00:00Z'
    screenshots.keep(picture, page)
    assert screenshots.faults(tmp_path) == [] and not screenshots.stale(picture, page)
    later = page.replace("M 0 1", "M 0 2").replace("2026", "2031")
    assert not screenshots.stale(picture, later), "times and the geometry of charts do not count"
    for old, new in [("Plan", "Plans"), ("wide", "narrow"), ("born", "zip"), ("<svg>", "<p></p><svg>")]:
        assert screenshots.stale(picture, page.replace(old, new))
    picture.write_bytes(b"another")
    assert "another picture" in screenshots.faults(tmp_path)[0]
    picture.unlink()
    assert screenshots.faults(tmp_path) == [f"studio.png of {tmp_path.name} is listed and not there"]
    assert screenshots.stale(tmp_path / "never.png", page)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_runs_or_is_held_to_something(page):
    """A block of a kind that nobody runs is refused, and so is a program in a block of plain text."""
    for kind, text in blocks(text_of(page)):
        if kind in EXECUTED:
            continue
        if (name_of(page), kind) in ELSEWHERE:
            assert (ROOT / ELSEWHERE[name_of(page), kind]).exists()
            continue
        if TITLE.fullmatch(kind):  # a file that commands of the page read
            assert {"python", "console"} & set(dict(blocks(text_of(page))))
            assert misfits_of_policy(text) == []
            continue
        assert kind in HELD, f"nothing runs a block of kind {kind or 'none'}"
        assert HELD[kind](text) == []


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_console_blocks_begin_with_a_command(page):
    """What stands before the first command would be compared with nothing."""
    bad = [text for kind, text in blocks(text_of(page)) if kind == "console" and not text.startswith("$ ")]
    assert bad == []


def unknown_in_commands(text):
    """What the lines of a shell block name that there is not: a verb, an option, a target of make."""
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    bad = []
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        words = line.partition("  #")[0].partition(" # ")[0].split()
        if words[:1] == ["make"]:
            bad += [word for word in words[1:2] if word not in targets]
        if "sfumato" in words[:1]:
            bad += _unknown_words(words[1:])
    return bad


def _unknown_words(words):
    known = command_options.commands()
    name = next((" ".join(words[:size]) for size in (2, 1) if " ".join(words[:size]) in known), None)
    if name is None:
        return words[:1]
    options = command_options.options(name) | {"--help", "--show-values"}
    return [word for word in words if word.startswith("--") and word.partition("=")[0] not in options]


def misfits_of_policy(text):
    """What the keys of a piece of a policy have that the schema does not allow."""
    whole, words = schema(), YAML(typ="safe", pure=True).load(text)
    piece = {**whole, "required": []}
    return [str(problem) for problem in schema_check.problems(words, piece, defs=whole["$defs"])]


def programs_in_text(text):
    """Lines of a plain listing that somebody would type."""
    return re.findall(r"^\s*(?:\$|>>>|sfumato|import|from|pip|python|make) .*", text, re.MULTILINE)


def faults_of_workflow(text):
    """What a workflow's commands name that there is not."""
    steps = [step for job in YAML(typ="safe", pure=True).load(text)["jobs"].values() for step in job["steps"]]
    return [bad for step in steps for bad in unknown_in_commands(step.get("run", ""))]


HELD = {
    "sh": unknown_in_commands,
    "yaml": misfits_of_policy,
    "text": programs_in_text,
    "yaml title=workflow": faults_of_workflow,
    "toml": programs_in_text,
}
"""Blocks that cannot run here: commands need other machines. Each is held to what the program knows."""


class TestTheRules:
    def test_a_shell_block_with_an_unknown_word_is_seen(self):
        assert unknown_in_commands(
            "sfumato protect x.csv --polcy p.yaml\nmake nothing\nsfumato protct x"
        ) == [
            "--polcy",
            "nothing",
            "protct",
        ]

    def test_a_policy_with_an_unknown_key_is_seen(self):
        assert misfits_of_policy("columns: {zip: {role: quasi}}\n") == []
        assert misfits_of_policy("colums: {zip: {role: quasi}}\n") != []

    def test_a_program_in_a_listing_is_seen(self):
        assert programs_in_text("safe.parquet/\n  part-0\n") == []
        assert programs_in_text("import sfumato as sf\n") != []

    def test_a_link_without_its_heading_is_seen(self, tmp_path):
        page = tmp_path / "page.md"
        page.write_text("# One thing\n[a](#one-thing) [b](#another) [c](gone.md)\n")
        assert broken_links(page) == ["#another", "gone.md"]


def anchors(text):
    """The anchors of the headings of a page, as the site makes them."""
    bare = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return {anchor(title) for title in re.findall(r"^#+ (.*)$", bare, re.MULTILINE)}


def anchor(title):
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", lambda found: found[1] or "", title)
    plain = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def broken_links(page):
    bad = []
    for target, heading in LINK.findall(re.sub(r"`[^`\n]*`", "", text_of(page))):
        path = page.parent / target if target else page
        there = path.exists()
        if there and heading and path.suffix == ".md":
            there = heading[1:] in anchors(text_of(path))
        if not there:
            bad.append(target + heading)
    return bad


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    assert broken_links(page) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_named_files_exist(page):
    text = text_of(page)
    named = re.findall(r"`((?:src/sfumato|tests|docs|benchmarks|experiments|guide)/[\w/.-]+)`", text)
    missing = [name for name in named if not (ROOT / name).exists()]
    inside = re.findall(
        r"`((?:attacks|chains|cli|core|demo|discovery|draft|engine|journey|judge|kernels|models|policy|promises|protection"
        r"|recipients|releases|reports|search|show|studio|system|table|testing|tracing|usefulness|verify|workflows)"
        r"/[\w/.-]+\.py)`",
        text,
    )
    missing += [name for name in inside if not (ROOT / "src/sfumato" / name).exists()]
    assert missing == []
