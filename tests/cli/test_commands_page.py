"""docs/reference/commands.md names every command, every option and every key of every document."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parent.parent.parent / "docs" / "reference" / "commands.md").read_text(
    encoding="utf-8"
)
SECTIONS = dict(zip(*[iter(re.split(r"^## (.*)\n", PAGE, flags=re.MULTILINE)[1:])] * 2, strict=True))
EVERYWHERE = {"--help", "--json", "--show-values"}


def named(section):
    return set(re.findall(r"`([^`\s]+)`", SECTIONS[section]))


VERBS = ["demo", "discover", "declare", "protect", "audit", "attack", "policy check", "policy patterns"]
VERBS += ["release", "override", "history", "trace", "ledger verify", "certificate verify", "doctor"]
VERBS += ["utility", "policy confirm", "policy ready", "init"]
OF_FILES = "How data are read"
"""The section that tells the options of every command that reads data."""
PARTS = {"ledger floor": "ledger verify"}
"""Commands that are told in the section of another one."""
VERBS += PARTS
LEDGER = next(section for section in SECTIONS if section.startswith("ledger "))


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_told(sfumato, verb):
    section = next(title for title in SECTIONS if title.startswith(PARTS.get(verb, verb)))
    options = set(re.findall(r"(--[a-z-]+)", sfumato(*verb.split(), "--help").out)) - EVERYWHERE
    if verb.split(",")[0] in SECTIONS[OF_FILES]:
        options -= set(re.findall(r"`(--[a-z-]+) ", SECTIONS[OF_FILES]))
    assert {option for option in options if option not in SECTIONS[section]} == set()


BY_NAME = {"columns", "cuts", "levels", "details", "decimals", "not_tried", "contribution", "blocked"}
BY_NAME |= {"records_by_smallest_size", "depths", "apart", "within", "figures"}
"""Keys of a document below which names of columns, attacks, promises or figures are the keys."""


def names_in(part, above=""):
    """Every key of a document, at any depth, that is not a name."""
    if isinstance(part, list):
        return {name for entry in part for name in names_in(entry, above)}
    if not isinstance(part, dict):
        return set()
    own = set() if above in BY_NAME else set(part)
    return own | {name for key, entry in part.items() for name in names_in(entry, key)}


def test_every_key_is_told(sfumato, hospital, tmp_path):
    data, policy, safe = hospital / "hospital.csv", hospital / "policy.yaml", tmp_path / "safe.csv"
    calls = {
        "discover": ("discover", data, "--k", "2", "--mode", "any", "--max-size", "1"),
        "declare": ("declare", data),
        "policy check, policy schema": ("policy", "check", policy, data),
        "policy patterns": ("policy", "patterns", policy, data),
        "policy ready": ("policy", "ready"),
        "doctor": ("doctor", data, "-p", policy),
        "protect": ("protect", data, "-p", policy, "-o", safe, "--explain"),
        "audit": ("audit", safe, "-p", policy),
        "attack": ("attack", "linkage", safe, "-p", policy),
        "utility": ("utility", data, safe, "-p", policy),
    }
    ledger = ("--ledger", f"sqlite:///{tmp_path}/ledger.db")
    out, ledger_key = tmp_path / "out", ("--key", tmp_path / "ledger.db.key.pub")
    calls |= {
        "release": ("release", data, "-p", policy, "--into", out, *ledger),
        "history": ("history", *ledger),
        LEDGER: ("ledger", "verify", *ledger),
        "certificate verify": ("certificate", "verify", out / "certificate.json", *ledger_key),
    }
    for section, call in calls.items():
        document = sfumato(*call, "--json").document
        assert set(document) <= named(section), section
        if section != "declare":  # a policy in it: its keys have a page of their own
            assert names_in(document) <= {name for some in SECTIONS for name in named(some)}, section
        for entry in document.get("verdicts", []):
            assert set(entry) <= named("protect")
        for entry in document.get("findings", []):
            assert set(entry) <= named("audit")


def test_every_exit_code_is_told():
    from sfumato.system import errors

    codes = {e.exit_code for e in vars(errors).values() if isinstance(e, type) and hasattr(e, "exit_code")}
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", SECTIONS["Exit codes"], flags=re.MULTILINE)}
    assert told == codes | {0}
