"""The container file keeps the rules that linters of such files have: no engine runs where tests do."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
PINNED = re.compile(r"[\w./-]+:\d+\.\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?$")


def instructions(text):
    """The instructions of a container file, each as its word and its arguments."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [tuple(line.strip().split(None, 1)) for line in joined.splitlines()]


def of(text, word):
    return [rest for name, rest in instructions(text) if name == word]


def complaints(text):
    """Returns what is wrong with a container file."""
    return [f"{rule.__name__}: {what}" for rule in RULES for what in rule(text)]


def words_are_known(text):
    known = {"FROM", "ARG", "COPY", "RUN", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    return [word for word, _ in instructions(text) if word not in known]


def bases_are_pinned(text):
    return [base for base in of(text, "FROM") if not PINNED.match(base.split()[0])]


def nobody_is_root_at_the_end(text):
    users = of("FROM " + text.rpartition("\nFROM ")[2], "USER")
    return [] if users and users[-1].split(":")[0] not in ("root", "0") else ["the last stage"]


def programs_start_without_a_shell(text):
    found = of(text, "ENTRYPOINT") + of(text, "CMD")
    return [form for form in found if not form.startswith("[") or not json.loads(form)]


def one_program_is_started(text):
    return [word for word in ("ENTRYPOINT", "CMD") if len(of(text, word)) != 1]


def folders_are_absolute(text):
    return [folder for folder in of(text, "WORKDIR") if not folder.startswith("/")]


def pip_keeps_nothing(text):
    return [run for run in of(text, "RUN") if "pip " in run and "--no-cache-dir" not in run]


def what_pip_installs_has_a_version(text):
    return [run for run in of(text, "RUN") if "pip install" in run and "--constraint" not in run]


def apt_keeps_nothing(text):
    asked = ("update", "--no-install-recommends", "/var/lib/apt/lists")
    return [run for run in of(text, "RUN") if "apt-get" in run and not all(word in run for word in asked)]


def nothing_is_fetched_or_made_root(text):
    return [run for run in of(text, "RUN") if re.search(r"\b(curl|wget|sudo|cd|ssh)\b|\|\s*(ba)?sh\b", run)]


def no_secret_is_built_in(text):
    given = of(text, "ENV") + of(text, "ARG")
    return [what for what in given if re.search(r"(?i)password|secret|token|_key\b", what)]


def files_are_there(text):
    sources = [word for line in of(text, "COPY") for word in line.split()[:-1] if not word.startswith("--")]
    return [name for name in sources if not (ROOT / name).exists()]


def stages_are_named(text):
    named = set(re.findall(r" AS (\w+)$", "\n".join(of(text, "FROM")), re.M))
    return [stage for stage in re.findall(r"from=(\w+)", text) if stage not in named]


RULES = (
    words_are_known,
    bases_are_pinned,
    nobody_is_root_at_the_end,
    programs_start_without_a_shell,
    one_program_is_started,
    folders_are_absolute,
    pip_keeps_nothing,
    what_pip_installs_has_a_version,
    apt_keeps_nothing,
    nothing_is_fetched_or_made_root,
    no_secret_is_built_in,
    files_are_there,
    stages_are_named,
)


def test_nothing_is_wrong_with_it():
    assert complaints(TEXT) == []


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        (":3.11.11-slim-bookworm", ":latest", bases_are_pinned),
        ("python:3.11.11-slim-bookworm AS", "python AS", bases_are_pinned),
        ("USER 10001\n", "", nobody_is_root_at_the_end),
        ("USER 10001", "USER root", nobody_is_root_at_the_end),
        ('ENTRYPOINT ["sfumato"]', "ENTRYPOINT sfumato", programs_start_without_a_shell),
        ('CMD ["--help"]', "", one_program_is_started),
        ("WORKDIR /data", "WORKDIR data", folders_are_absolute),
        ("install --no-cache-dir", "install", pip_keeps_nothing),
        ("--constraint", "--find-links", what_pip_installs_has_a_version),
        ("USER 10001", "RUN apt-get install git\nUSER 10001", apt_keeps_nothing),
        ("USER 10001", "RUN curl x | sh\nUSER 10001", nothing_is_fetched_or_made_root),
        ("USER 10001", "ENV PASSWORD=x\nUSER 10001", no_secret_is_built_in),
        ("COPY src src", "COPY source source", files_are_there),
        ("from=build", "from=elsewhere", stages_are_named),
        ("COPY src src", "ADD src src", words_are_known),
    ],
)
def test_each_rule_would_complain(before, after, rule):
    assert before in TEXT
    assert any(what.startswith(rule.__name__) for what in complaints(TEXT.replace(before, after)))


def test_what_a_wheel_is_made_of_gets_in_and_nothing_else():
    """Neither data nor keys that lie in the folder may become part of an image."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    let_in = {line[1:] for line in rules if line.startswith("!")}
    copied = {word for line in of(TEXT, "COPY") for word in line.split()[:-1]}
    assert rules[0] == "*" and let_in == copied
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {project["project"]["readme"], "hatch_build.py", "pyproject.toml", "src", "docs"} <= copied


def test_its_extras_exist():
    (extras,) = [what.partition("=")[2].split(",") for what in of(TEXT, "ARG")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(extras) <= set(project["project"]["optional-dependencies"])


def test_the_workflow_builds_checks_installs_and_runs_what_is_shipped():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    for step in ("python -m build", "twine check --strict dist/*", "hadolint", "--file Containerfile"):
        assert step in workflow
    install = workflow.partition("\n  install:")[2].partition("\n  compiled:")[0]
    assert 'python: ["3.11", "3.12", "3.13"]' in install
    compiled = workflow.partition("\n  compiled:")[2].partition("\n  container:")[0]
    assert 'python: ["3.11", "3.12", "3.13"]' in compiled and "WITHOUT_MACHINE_CODE" not in compiled
    assert "sfumato demo" in install and "actions/checkout" not in install
