"""What messages and pages tell people to type is there: commands, subcommands and long options."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from guide import command_options

from sfumato.cli.guide_page import guide_pages
from sfumato.models.attack_contract import known

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src/sfumato").rglob("*.py"))
TEMPLATES = [*sorted((ROOT / "src/sfumato/studio").rglob("*.html")), ROOT / "src/sfumato/studio/texts.toml"]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
COMMANDS = {name: command_options.options(name) | {"--help"} for name in command_options.commands()}
GROUPS = {name.partition(" ")[0] for name in COMMANDS if " " in name}
OF_THE_PROGRAM = {"--help", "--version", "--install-completion", "--show-completion"}
OF_SCRIPTS = {
    option
    for folder in ("benchmarks", "experiments", "guide", "mutants", "src/sfumato/kernels")
    for path in (ROOT / folder).rglob("*.py")
    for option in re.findall(r'add_argument\(\s*"(--[a-z-]+)"', path.read_text(encoding="utf-8"))
} | {"--portable"}
"""Options of programs of the repository that are not `sfumato`; the last is of a build's `prebuilt`."""
OF_CONTAINERS = {"--build-arg", "--tmpfs", "--user"}
"""Options of the programs that run containers, which a page speaks of."""
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
NO_LONGER = {"renamed.md", "renamed.py"}
"""Files that list old names beside new ones."""
HOLE = "…"
"""Stands for what a message fills in."""
CALL = re.compile(
    r"(?:^|[`$(|;>\"]\s?|: |\n\s*)(?:[\w./-]*/)?sfumato +((?:\[OPTIONS\]|[^`\n|;&>#)\"])+)", re.MULTILINE
)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
SEALED_TEXTS = {"checkpoint", "cipher", "coins", "entry", "head", "ledger:", "secret", "staged", "table"}
"""Words behind `sfumato` in texts that are signed or hashed: they say what is signed, nobody types them."""


def faults(call: str) -> list[str]:
    """Returns what a call, written without `sfumato`, names that there is not.

    >>> faults("patterns"), faults("policy patterns POLICY"), faults("trace LEAK --ke FILE")
    (['patterns'], [], ['trace --ke'])
    >>> faults("help no_page"), faults("attack nonsense FILE")
    (['help no_page'], ['attack nonsense'])
    """
    words = [word.strip(".,:)[]") for word in call.split()]
    if words[0].startswith("-"):
        return [word for word in words[:1] if word not in OF_THE_PROGRAM]
    if HOLE in words[0] or words[0] in ("OPTIONS", "COMMAND", ""):
        return []
    if words[0] in GROUPS and (len(words) == 1 or not re.fullmatch("[a-z-]+", words[1])):
        return []
    name = " ".join(words[:2]) if words[0] in GROUPS else words[0]
    if name not in COMMANDS:
        return [name]
    wrong = [option for option in OPTION.findall(" ".join(words)) if option not in COMMANDS[name]]
    value = words[1] if len(words) > 1 and name in VALUES else ""
    if re.fullmatch(r"[a-z][\w-]+", value) and value not in VALUES[name]:
        wrong.append(value)
    return [f"{name} {word}" for word in wrong]


VALUES = {"help": {*guide_pages(), *GROUPS, *COMMANDS}, "attack": {*known(), "definetti", "term-removal"}}
"""What the first word behind a command may be, where the program knows all of them."""


def literals(path: Path) -> Iterator[str]:
    """Yields the texts of a module: literals, docstrings, and f-strings with a hole for what is filled in."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else HOLE for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        else:
            waiting += ast.iter_child_nodes(node)


def calls(text: str) -> list[str]:
    """Returns what stands behind `sfumato` wherever a text tells somebody to type it.

    >>> calls("Run `sfumato history --json` first (sfumato help ledger). Sfumato reads it, as sfumato does.")
    ['history --json', 'help ledger']
    """
    found = [call.strip() for call in CALL.findall(re.sub(r"\\\n\s*", " ", text))]
    return [call for call in found if call and call.split()[0] not in SEALED_TEXTS | {"import"}]


def verbs(text: str) -> list[str]:
    """Returns the calls in backticks without `sfumato`: a command with an option, or a group with a word.

    >>> verbs("`trace --key FILE` and `policy check`, but neither `policy` nor `a --b`")
    ['trace --key FILE', 'policy check']
    """
    groups, names = "|".join(sorted(GROUPS)), "|".join(sorted(set(COMMANDS) | GROUPS))
    form = re.compile(rf"(?:{groups}) [a-z-]+( .*)?|(?:{names}) (.* )?--.*")
    return [span for span in SPAN.findall(text) if form.fullmatch(span)]


def strange_options(texts: list[str]) -> list[str]:
    """Returns the options in some texts that no command and no script of the repository has."""
    known_options = set().union(OF_THE_PROGRAM, OF_SCRIPTS, OF_CONTAINERS, *COMMANDS.values())
    return [option for text in texts for option in OPTION.findall(text) if option not in known_options]


def strange_targets(text: str) -> list[str]:
    """Returns what `make` and `python -m` are told to run in backticks and is not there."""
    targets = re.findall(r"`make ([a-z-]+)", text)
    modules = [
        found.replace(".", "/")
        for found in re.findall(r"`python -m ((?:benchmarks|mutants|guide)[\w.]*)", text)
    ]
    there = {place for place in modules if (ROOT / f"{place}.py").exists() or (ROOT / place).is_dir()}
    return [name for name in targets if name not in TARGETS] + [name for name in modules if name not in there]


def all_faults(text: str) -> list[str]:
    return [
        *(fault for call in calls(text) + verbs(text) for fault in faults(call)),
        *strange_options([span for span in SPAN.findall(text) if span.startswith("--")]),
        *strange_targets(text),
    ]


def test_messages_name_commands_that_there_are():
    wrong, seen = {}, 0
    for path in (path for path in SOURCES if path.name not in NO_LONGER):
        texts = list(literals(path))
        seen += sum(len(calls(text)) for text in texts)
        wrong[path.relative_to(ROOT).as_posix()] = [
            *(fault for text in texts for fault in all_faults(text)),
            *strange_options(texts),
        ]
    assert {path: found for path, found in wrong.items() if found} == {}
    assert seen > 100


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_pages_of_the_studio_name_commands_that_there_are(path):
    assert all_faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_name_commands_that_there_are(page):
    text = page.read_text(encoding="utf-8")
    if page.name == "CHANGELOG.md":
        text = re.sub(
            r"^### (?:Removed|Changed names)\n.*?(?=^##|\Z)", "", text, flags=re.MULTILINE | re.DOTALL
        )
    if page.name not in NO_LONGER:
        assert all_faults(text) == []


def test_an_unknown_word_is_seen():
    assert all_faults("Name one: `sfumato patterns` lists them.") == ["patterns"]
    assert all_faults("`ledger flor`, `protect --like PLAN`, `--like`") == [
        "ledger flor",
        "protect --like",
        "--like",
    ]
    assert all_faults("`make nothing`, `python -m benchmarks.nothing`") == ["nothing", "benchmarks/nothing"]
