"""Every error names a page of the guide that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.cli.help_pages import HELP_PAGES, help_page
from sfumato.core import errors

ROOT = Path(__file__).parent.parent.parent
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_has_a_page_that_exists(kind):
    page = help_page(kind("something is wrong"))
    assert (page is None) == (kind is errors.Interrupted)
    assert page is None or (ROOT / page).is_file()


def test_no_page_is_for_an_error_that_is_not_there():
    assert set(HELP_PAGES) <= set(KINDS)


def test_the_program_names_it(sfumato, tmp_path):
    said = sfumato("declare", tmp_path / "nowhere.csv")
    assert said.err.splitlines()[-1] == "This page helps: docs/how-to/files.md"
    told = sfumato("declare", tmp_path / "nowhere.csv", "--json")
    assert told.document["error"]["page"] == "docs/how-to/files.md"
