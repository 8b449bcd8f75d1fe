"""Conformance suites: what every promise, attack, engine, loss and search must do, whoever wrote it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.testing.attacks import check_attack
    from sfumato.testing.engines import check_engine
    from sfumato.testing.promises import check_promise, check_table_promise
    from sfumato.testing.searches import check_loss, check_search

__all__ = [
    "check_attack",
    "check_engine",
    "check_loss",
    "check_promise",
    "check_search",
    "check_table_promise",
]

_HOMES = {
    "check_attack": "sfumato.testing.attacks",
    "check_engine": "sfumato.testing.engines",
    "check_loss": "sfumato.testing.searches",
    "check_promise": "sfumato.testing.promises",
    "check_search": "sfumato.testing.searches",
    "check_table_promise": "sfumato.testing.promises",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
