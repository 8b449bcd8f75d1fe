"""The adversaries: what an outsider can learn from a table as it stands. Knows nothing of how it was made."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.terms.verdict import Finding

_CALLABLE = ("correspondence", "freeform")
"""Attacks with a question of their own: `sf.attack.freeform(frame, policy)`."""


def __getattr__(name: str) -> Any:
    if name in _CALLABLE:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def quasi_sensitive(frame: Any, policy: Any) -> list[Finding]:
    """What terms give away together, worst first, in a raw or a published table."""
    from sfumato.attack.indirect import quasi_sensitive as seek  # noqa: PLC0415  # heavy

    return seek(frame, policy)
