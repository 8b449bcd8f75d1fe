"""Blocks of a page that are made from the code.

A page marks a block by two comments, and everything between them is replaced:

    <!-- made by guide: options of protect -->
    …
    <!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from guide import (
    adversary_table,
    command_options,
    error_messages,
    format_table,
    measured_tables,
    policy_keys,
    preset_table,
    python_names,
    ready_table,
)

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs"
MARKED = re.compile(r"(<!-- made by guide: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

MAKERS = {
    "options of": command_options.options_table,
    "commands": command_options.commands_table,
    "exit codes": error_messages.exit_codes_table,
    "error classes": error_messages.classes_table,
    "messages": error_messages.messages_table,
    "policy keys": policy_keys.keys_table,
    "policy examples": policy_keys.example_policies,
    "file endings": format_table.endings_table,
    "adversaries of certificates": adversary_table.stated_table,
    "adversaries": adversary_table.adversaries_table,
    "presets": preset_table.presets_table,
    "ready taxonomies": ready_table.ready_sections,
    "names of": python_names.names,
    "members of": python_names.summary,
    **measured_tables.MAKERS,
}


def made(title: str) -> str:
    """Returns what the code says under this title; raises `KeyError` where nobody makes it."""
    maker = next((start for start in MAKERS if title.startswith(start)), None)
    if maker is None:
        raise KeyError(title)
    words = title.removeprefix(maker).strip()
    return MAKERS[maker](words) if words else MAKERS[maker]()


def filled(text: str) -> str:
    """Returns the text of a page with every marked block made anew."""
    return MARKED.sub(lambda found: f"{found[1]}{made(found[2]).strip()}\n{found[4]}", text)


def pages() -> Iterator[Path]:
    """Yields the pages that have a marked block."""
    for path in sorted(PAGES.rglob("*.md")):
        if MARKED.search(path.read_text(encoding="utf-8")):
            yield path
