"""The page about what is stable names exactly what is there."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import sfumato
import sfumato.extend
import sfumato.testing
from sfumato.system.renamed import RENAMED

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reference" / "public_api.md").read_text(encoding="utf-8")
NAME = re.compile(r"`([A-Za-z_]+)`")


def section(title):
    """What stands below a heading, up to the next one."""
    return re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL).group(1)


def table(title, column):
    """The names in one column of the table of a section."""
    rows = [line.split("|")[1:-1] for line in section(title).splitlines() if line.startswith("|")][2:]
    return [name for row in rows for name in NAME.findall(row[column])]


@pytest.mark.parametrize(
    ("module", "column"), [(sfumato, 0), (sfumato.extend, 1)], ids=["sfumato", "sfumato.extend"]
)
def test_every_stable_name_is_on_the_page_once_and_no_other(module, column):
    named = table(f"Names of `{module.__name__}`", column)
    assert sorted(named) == sorted(module.__all__)
    assert len(set(named)) == len(named)


@pytest.mark.parametrize("module", [sfumato, sfumato.extend, sfumato.testing], ids=lambda m: m.__name__)
def test_every_stable_name_is_there(module):
    missing = [name for name in module.__all__ if getattr(module, name, None) is None]
    assert missing == []
    assert set(module.__all__) <= set(dir(module)) or module is sfumato.testing


def test_the_conformance_suites_have_one_home():
    assert set(sfumato.testing.__all__) <= set(sfumato.extend.__all__)
    for name in sfumato.testing.__all__:
        assert getattr(sfumato.testing, name) is getattr(sfumato.extend, name)


def test_members_that_the_page_names_are_there():
    for owner, members in re.findall(
        r"^\| `(\w+)` \| [^|]*?: ((?:`[\w.]+`(?:, | and )?)+)", PAGE, re.MULTILINE
    ):
        for member in NAME.findall(members.replace(f"{owner}.", "")):
            assert hasattr(getattr(sfumato, owner), member), f"{owner}.{member}"
    for member in re.findall(r"`sf\.attack\.(\w+)`", PAGE):
        assert inspect.ismethod(getattr(sfumato.attack, member))


def renamed_rows():
    """The rows of the page of renamed names."""
    page = (ROOT / "docs" / "reference" / "renamed.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return dict(rows[1:])


def test_the_page_of_renamed_names_is_the_table_in_the_code():
    assert list(renamed_rows().items()) == list(RENAMED.items()), "see src/sfumato/system/renamed.py"


@pytest.mark.parametrize("old", RENAMED)
def test_whoever_uses_an_old_name_is_told_the_new_one(old):
    name = re.findall(r"`([^`(]+)[`(]", old)[0].rpartition(".")[2].removeprefix("--").replace("-", "_")
    with pytest.raises(AttributeError, match=re.escape(RENAMED[old])):
        getattr(sfumato, name)
    with pytest.raises(AttributeError, match=re.escape(RENAMED[old])):
        getattr(sfumato.errors, name)
    with pytest.raises(ImportError, match=re.escape(RENAMED[old])):
        exec(f"from sfumato.extend import {name}", {})


def test_a_name_that_never_was_is_told_as_missing():
    for module in (sfumato, sfumato.extend, sfumato.errors):
        with pytest.raises(AttributeError, match=r"has no attribute 'never_there'$"):
            _ = module.never_there


def test_variables_that_the_page_names_are_read():
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    read = set(re.findall(r"\bSFUMATO_[A-Z_]+\b", sources))
    assert set(re.findall(r"`(SFUMATO_[A-Z_]+)`", PAGE)) == read


def test_the_version_is_the_same_everywhere():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{sfumato.__version__}"' in project
    dated = re.findall(
        r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {dated[0][0]}\n" in cited and f"date-released: {dated[0][1]}\n" in cited
