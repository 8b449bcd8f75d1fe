"""The guide tells every key, command, option, exit code, error and name, and nothing of it is stale."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from guide import blocks, command_options, error_messages, example_tables, policy_keys
from ruamel.yaml import YAML

import sfumato
import sfumato as sf
import sfumato.extend

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", list(blocks.pages()), ids=lambda path: path.stem)
def test_what_is_made_from_the_code_is_what_the_code_says(path):
    text = path.read_text(encoding="utf-8")
    assert blocks.filled(text) == text, "stale: run `make reference`"


def test_a_change_in_the_code_makes_a_page_stale(monkeypatch):
    """The test above fails when it should."""
    text = page("reference/commands.md")
    monkeypatch.setitem(error_messages.EXIT_CODES, 6, "something new")
    assert blocks.filled(text) != text


def test_a_block_that_nobody_makes_is_an_error():
    with pytest.raises(KeyError):
        blocks.filled("<!-- made by guide: the weather -->\n<!-- end -->")


class TestPolicyKeys:
    @pytest.mark.parametrize("key", policy_keys.every_key(), ids=lambda key: ".".join(key.path))
    def test_a_key_is_told_with_an_example(self, key):
        assert key.form.get("description"), "the JSON Schema does not say what it means"
        assert policy_keys.allowed(key.form).strip(), "the page does not say what is allowed"
        assert policy_keys.example(key) is not None, "no policy in docs/reference/policies uses it"
        assert f"| `{key.name}` |" in page("reference/policy.md")

    def test_every_property_of_the_schema_is_a_key(self):
        """Whatever the schema holds at any depth, under whatever keyword, the page knows by its name."""
        named = {key.name for key in policy_keys.every_key()} | {
            key.place[-1] for key in policy_keys.every_key() if key.place
        }
        assert _property_names(policy_keys.schema()) <= named

    def test_every_promise_and_builder_has_a_section(self):
        text = page("reference/policy.md")
        from sfumato.models.registry import known
        from sfumato.policy.taxonomies import BUILDERS

        assert [name for name in known() if f"### {name}\n" not in text] == []
        assert [name for name in BUILDERS if f"### taxonomy: {name}\n" not in text] == []

    @pytest.mark.parametrize("name", example_tables.TABLES)
    def test_an_example_is_followed(self, name, tmp_path):
        data = example_tables.write(name, tmp_path)
        plan = sf.protect(data, example_tables.FOLDER / f"{name}.yaml")
        assert plan.rows > plan.suppressed and all(verdict.holds for verdict in plan.verdicts)

    def test_every_file_of_policies_is_an_example(self):
        assert {path.stem for path in example_tables.FOLDER.glob("*.yaml")} == set(example_tables.TABLES)


def _property_names(form):
    if isinstance(form, list):
        return {name for part in form for name in _property_names(part)}
    if not isinstance(form, dict):
        return set()
    own = set(form["properties"]) if isinstance(form.get("properties"), dict) else set()
    return own | {name for part in form.values() for name in _property_names(part)}


class TestCommands:
    @pytest.mark.parametrize("name", command_options.commands())
    def test_a_command_and_its_options_are_told(self, name):
        text = page("reference/commands.md")
        section = text.partition(f"### sfumato {name}\n")[2].partition("<!-- end -->")[0]
        assert [option for option in command_options.options(name) if f"`{option}" not in section] == []
        assert all(parameter.help for parameter in command_options.parameters(name))
        assert f"(#sfumato-{name.replace(' ', '-')})" in text

    def test_nothing_is_told_twice(self):
        text = page("reference/commands.md")
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        assert sorted(headings) == sorted(set(headings))
        assert "repeated. May be repeated" not in text

    def test_every_exit_code_is_told(self):
        codes = {found.exit_code for found in error_messages.classes().values()}
        assert set(error_messages.EXIT_CODES) == codes | {0}


class TestErrors:
    def test_every_class_is_told(self):
        told = page("reference/errors.md")
        assert [name for name in error_messages.classes() if f"| `{name}` |" not in told] == []

    def test_messages_are_read_from_the_source(self):
        """Of one that is raised: by a call, and from a list of problems."""
        every = error_messages.messages()
        assert len(every) > 300
        texts = {message.text: message for message in every}
        assert texts["there is no preset of this name."].kind == "UsageError"
        assert "charts need two more packages" in texts
        assert any(message.kind == "BadPolicy" and "did_you_mean" not in message.text for message in every)


class TestPythonNames:
    @pytest.mark.parametrize("module", [sfumato, sfumato.extend], ids=lambda module: module.__name__)
    def test_every_stable_name_is_told(self, module):
        told = page("reference/api.md" if module is sfumato else "reference/extend.md")
        here = {name for name in module.__all__ if f"### {name}\n" in told or f"| `{name}` |" in told}
        assert here == set(module.__all__)

    def test_a_constant_or_an_alias_is_told_by_what_stands_below_it(self):
        """Not by the docstring of its type: `dict`, an array, the class that a measure is of."""
        told = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page("reference/extend.md"), re.MULTILINE))
        measures = [told[name] for name in ("CANDIDATES", "CERTAINTY", "RECOGNITION", "SHIFT", "VALUES")]
        assert len({*measures, told["AttackMeasure"]}) == 6
        assert "None" in told["Label"] and "ndarray" not in told["Truth"] and "Mapping" not in told["Cuts"]

    @pytest.mark.parametrize("name", sorted(sfumato.__all__))
    def test_a_name_has_a_docstring(self, name):
        assert (getattr(sfumato, name).__doc__ or "").strip()


class TestSite:
    def test_every_page_is_in_the_navigation_once(self):
        settings = YAML(typ="safe", pure=True).load(ROOT / "mkdocs.yml")
        listed = [entry for part in settings["nav"] for entry in _entries(part)]
        there = {
            path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if "decisions" not in path.parts
        }
        assert sorted(listed) == sorted(there)

    def test_the_site_builds_without_a_word_of_warning_and_asks_no_other_host(self, tmp_path):
        from mkdocs.commands.build import build
        from mkdocs.config import load_config

        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path), strict=True))
        fetched = re.compile(
            r'(?:<script[^>]*src|<link[^>]*href|<img[^>]*src|@import\s*(?:url\()?)\s*=?\s*["\']?(https?:)?//'
        )
        pages = sorted(tmp_path.rglob("*.html"))
        assert len(pages) > 30
        assert [path.name for path in pages if fetched.search(path.read_text(encoding="utf-8"))] == []


def _entries(part):
    if isinstance(part, str):
        return [part]
    return [
        entry
        for below in part.values()
        for some in ([below] if isinstance(below, str) else below)
        for entry in _entries(some)
    ]
