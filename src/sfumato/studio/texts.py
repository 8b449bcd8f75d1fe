"""The texts of the studio, from one catalogue."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from types import SimpleNamespace


@cache
def texts() -> SimpleNamespace:
    """Returns all texts, by page and key; no name of a method can stand in the way of a key."""
    content = (resources.files("sfumato.studio") / "texts.toml").read_text(encoding="utf-8")
    pages = {page: SimpleNamespace(**words) for page, words in tomllib.loads(content).items()}
    return SimpleNamespace(**pages)
