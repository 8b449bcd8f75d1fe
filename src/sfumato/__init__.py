"""Publish tables about people so that nobody can be singled out and no secret inferred.

    import sfumato as sf

    scan = sf.discover(people, k=2, mode="any")  # which columns single people out
    plan = sf.protect(people, "policy.yaml")     # what each column becomes, and the proof
    safe = plan.apply(people)                    # the same kind of table, safe
    audit = sf.audit(safe, "policy.yaml")        # every adversary the policy names
    sf.release(people, "policy.yaml", ledger="sqlite:///ledger.db", into="2026-11")
    sf.trace("leak.csv", ledger="sqlite:///ledger.db")   # whose version it is

Importing the package loads nothing heavy; each name below is loaded when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato import demo
    from sfumato.attack.audit import Audit
    from sfumato.declare.policy import Policy
    from sfumato.discover.discovery import Discovery
    from sfumato.journey import (
        attack,
        audit,
        capacity,
        declare,
        discover,
        draw,
        patterns,
        protect,
        release,
        trace,
    )
    from sfumato.protect.patterns import Patterns
    from sfumato.protect.plan import Plan
    from sfumato.release.event import Event
    from sfumato.release.ledger.ledger import Ledger
    from sfumato.release.receipt import Receipt
    from sfumato.trace.tracing import Trace

__version__ = "0.1.0"
__all__ = [
    "Audit",
    "Discovery",
    "Event",
    "Ledger",
    "Patterns",
    "Plan",
    "Policy",
    "Receipt",
    "Trace",
    "attack",
    "audit",
    "capacity",
    "declare",
    "demo",
    "discover",
    "draw",
    "patterns",
    "protect",
    "release",
    "trace",
]

_HOMES = {
    "Audit": "sfumato.attack.audit",
    "Discovery": "sfumato.discover.discovery",
    "Event": "sfumato.release.event",
    "Ledger": "sfumato.release.ledger.ledger",
    "Patterns": "sfumato.protect.patterns",
    "Plan": "sfumato.protect.plan",
    "Policy": "sfumato.declare.policy",
    "Receipt": "sfumato.release.receipt",
    "Trace": "sfumato.trace.tracing",
    "audit": "sfumato.journey",
    "capacity": "sfumato.journey",
    "draw": "sfumato.journey",
    "patterns": "sfumato.journey.patterns",
}
_FOLDERS = ("attack", "declare", "demo", "discover", "protect", "release", "trace")
_VERBS = ("attack", "declare", "discover", "protect", "release", "trace")


class _Verb(ModuleType):
    """A folder that can be called like the verb it is named after: `sf.protect(...)`."""

    @property
    def __wrapped__(self) -> Any:
        return getattr(import_module("sfumato.journey"), self.__name__.rpartition(".")[2])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)


class _Package(ModuleType):
    """Folders and verbs share names; whichever is imported first, both keep working."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _VERBS and isinstance(value, ModuleType):
            value.__class__ = _Verb
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _FOLDERS:
        return import_module(f"sfumato.{name}")
    if name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
