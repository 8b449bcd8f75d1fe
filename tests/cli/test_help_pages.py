"""Every error names a page of the guide that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.cli.guide_page import GuidePage, guide_pages, page_name
from sfumato.cli.main import HELP_PAGES, help_page
from sfumato.system import errors

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
CLASSES = [kind for kind in vars(errors).values() if isinstance(kind, type)]
KINDS = [kind for kind in CLASSES if issubclass(kind, errors.SfumatoError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_has_a_page_that_exists(kind):
    page = help_page(kind("something is wrong"))
    assert (page is None) == (kind is errors.Interrupted)
    assert page is None or (ROOT / page).is_file()


def test_no_page_is_for_an_error_that_is_not_there():
    assert set(HELP_PAGES) <= set(KINDS)


def test_the_program_names_it(sfumato, tmp_path):
    said = sfumato("declare", tmp_path / "nowhere.csv")
    assert said.err.splitlines()[-1] == "This page helps: docs/how-to/files.md (sfumato help files)"
    told = sfumato("declare", tmp_path / "nowhere.csv", "--json")
    assert told.document["error"]["page"] == "docs/how-to/files.md"


@pytest.mark.parametrize("place", sorted(set(HELP_PAGES.values())))
def test_whoever_installed_the_package_can_open_what_is_named(sfumato, place):
    said = sfumato("help", page_name(place))
    assert said.code == 0 and said.out.startswith("# ") and "<!--" not in said.out
    assert said.out == sfumato("help", place).out == guide_pages()[page_name(place)].text


def test_every_page_of_the_guide_is_listed_once(sfumato):
    folders = ("tutorials", "how-to", "reference", "explanation")
    there = [path for folder in folders for path in (ROOT / "docs" / folder).rglob("*.md")]
    places = sorted(path.relative_to(ROOT).as_posix() for path in [*there, ROOT / "docs/limitations.md"])
    told = sfumato("help", "--json").document["pages"]
    assert sorted(page["page"] for page in told) == places, "two pages have one name"
    listed = sfumato("help").out
    assert all(f"  {page['name']} " in listed and page["title"] in listed for page in told)


def test_the_pages_of_a_wheel_go_before_those_of_a_clone(tmp_path, monkeypatch):
    (tmp_path / "how-to").mkdir()
    (tmp_path / "how-to" / "files.md").write_text("# Packed files\n")
    monkeypatch.setattr("sfumato.cli.guide_page.PACKED", tmp_path)
    assert [(page.place, page.title) for page in guide_pages().values()] == [
        ("docs/how-to/files.md", "Packed files")
    ]


def test_words_are_found_with_the_heading_above_them(sfumato, tmp_path):
    path = tmp_path / "page.md"
    path.write_text("# Title\nsmall Cells\n## Deeper\nlarge cells\n")
    found = list(GuidePage("page", path, "docs/how-to/page.md").lines_with("CELLS"))
    assert found == [("Title", "small Cells"), ("Deeper", "large cells")]
    said = sfumato("help", "--find", "equivalence class").out
    assert "glossary, " in said and len(said.splitlines()) <= 41
    assert sfumato("help", "files", "--find", "equivalence class", "--json").document == {"lines": []}
    assert sfumato("help", "--find", "no page says this").out == "no page has these words\n"


def test_a_command_without_a_page_shows_its_options(sfumato):
    assert "--dry-run" in sfumato("help", "protect").out
    assert "--show-values" in sfumato("help", "policy check").out
    said = sfumato("help", "nothing-of-the-kind")
    assert said.code == 2 and "sfumato help" in said.err
    assert sfumato("help", "nothing", "--find", "k").code == 2
