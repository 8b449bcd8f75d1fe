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


# Docstrings: each parameter is described, and an example runs (as a doctest).

ARGUMENT = re.compile(r"^    (\w+): \S", re.MULTILINE)
CLASSES = {thing for name in sfumato.__all__ if inspect.isclass(thing := getattr(sfumato, name))}


def verbs():
    """Every function that programs may call, by its name."""
    functions = {name: getattr(sfumato, name) for name in sfumato.__all__}
    functions |= {f"demo.{name}": getattr(sfumato.demo, name) for name in sfumato.demo.__all__}
    methods = {f"attack.{name}": method for name, method in vars(type(sfumato.attack)).items()}
    return {
        name: verb
        for name, verb in {**functions, **methods}.items()
        if inspect.isfunction(verb) and "._" not in name
    }


def returned_classes():
    """The classes of ours that a verb returns, and those that have a name themselves."""
    words = {
        (word, inspect.getmodule(verb))
        for verb in verbs().values()
        for word in re.findall(r"\w+", str(inspect.signature(verb).return_annotation))
    }
    returned = {getattr(module, word, None) for word, module in words}
    return CLASSES | {
        thing for thing in returned if inspect.isclass(thing) and thing.__module__.startswith("sfumato")
    }


def methods():
    """Every public method that takes something; of a ledger, those that the page names."""
    of_ledger = {"history", "verify", "rotate"}
    return {
        f"{owner.__name__}.{name}": plain
        for owner in returned_classes()
        for name, method in vars(owner).items()
        if inspect.isfunction(plain := getattr(method, "__func__", method)) and not name.startswith("_")
        if owner is not sfumato.Ledger or name in of_ledger
    }


def parameters(thing):
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


def described(thing):
    """The parameters that a docstring describes, in its order."""
    section = (inspect.getdoc(thing) or "").partition("\nArgs:\n")[2].partition("\n>>> ")[0]
    return ARGUMENT.findall(section)


@pytest.mark.parametrize("name", sorted(verbs()))
def test_every_parameter_of_a_verb_is_described_and_an_example_shows_it(name):
    assert described(verbs()[name]) == parameters(verbs()[name])
    assert ">>> " in verbs()[name].__doc__


def test_the_call_of_an_attack_is_described():
    assert described(type(sfumato.attack).__call__) == parameters(sfumato.attack)
    assert ">>> " in sfumato.attack.__doc__


@pytest.mark.parametrize("name", sorted(methods()))
def test_every_parameter_of_a_method_is_described(name):
    assert described(methods()[name]) == parameters(methods()[name])


@pytest.mark.parametrize(
    "owner", sorted(CLASSES, key=lambda owner: owner.__name__), ids=lambda owner: owner.__name__
)
def test_every_class_shows_an_example(owner):
    assert ">>> " in owner.__doc__


def test_what_a_program_makes_itself_is_described():
    for owner in (sfumato.DataFile, sfumato.Ledger):
        assert described(owner) == parameters(owner)
