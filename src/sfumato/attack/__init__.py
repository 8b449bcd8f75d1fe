"""The adversaries: what an outsider can learn from a table as it stands. Knows nothing of how it was made."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_CALLABLE = ("freeform",)
"""Attacks with a question of their own: `sf.attack.freeform(frame, policy)`."""


def __getattr__(name: str) -> Any:
    if name in _CALLABLE:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
