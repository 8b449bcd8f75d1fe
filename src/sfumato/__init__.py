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

from importlib import import_module

TYPE_CHECKING = False  # `typing` would be looked for where `python -m` looks first: in the working folder
if TYPE_CHECKING:
    from sfumato import demo
    from sfumato.attacks.audit import Audit
    from sfumato.core.data_file import DataFile
    from sfumato.discovery.discovery import Discovery
    from sfumato.journey.as_numbers import as_numbers
    from sfumato.journey.attack import attack
    from sfumato.journey.audit import audit
    from sfumato.journey.capacity import capacity
    from sfumato.journey.compare import compare
    from sfumato.journey.declare import declare
    from sfumato.journey.discover import discover
    from sfumato.journey.draw import draw
    from sfumato.journey.erase import erase
    from sfumato.journey.import_version import import_version
    from sfumato.journey.knowledge import knowledge
    from sfumato.journey.patterns import patterns
    from sfumato.journey.protect import protect
    from sfumato.journey.release import release
    from sfumato.journey.report import report
    from sfumato.journey.trace import trace
    from sfumato.policy.policy import Policy
    from sfumato.protection.patterns.patterns import Patterns
    from sfumato.protection.plan import Plan
    from sfumato.releases.event import Event
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.receipt import Receipt
    from sfumato.tracing.trace import Trace
    from sfumato.usefulness.usefulness import Usefulness

__version__ = "0.1.0"
__all__ = [
    "Audit",
    "DataFile",
    "Discovery",
    "Event",
    "Ledger",
    "Patterns",
    "Plan",
    "Policy",
    "Receipt",
    "Trace",
    "Usefulness",
    "as_numbers",
    "attack",
    "audit",
    "capacity",
    "compare",
    "declare",
    "demo",
    "discover",
    "draw",
    "erase",
    "import_version",
    "knowledge",
    "patterns",
    "protect",
    "release",
    "report",
    "trace",
]

_HOMES = {
    "Audit": "sfumato.attacks.audit",
    "DataFile": "sfumato.core.data_file",
    "Discovery": "sfumato.discovery.discovery",
    "Event": "sfumato.releases.event",
    "Ledger": "sfumato.releases.ledger.ledger",
    "Patterns": "sfumato.protection.patterns.patterns",
    "Plan": "sfumato.protection.plan",
    "Policy": "sfumato.policy.policy",
    "Receipt": "sfumato.releases.receipt",
    "Trace": "sfumato.tracing.trace",
    "Usefulness": "sfumato.usefulness.usefulness",
    "as_numbers": "sfumato.journey.as_numbers",
    "attack": "sfumato.journey.attack",
    "audit": "sfumato.journey.audit",
    "capacity": "sfumato.journey.capacity",
    "compare": "sfumato.journey.compare",
    "declare": "sfumato.journey.declare",
    "discover": "sfumato.journey.discover",
    "draw": "sfumato.journey.draw",
    "erase": "sfumato.journey.erase",
    "import_version": "sfumato.journey.import_version",
    "knowledge": "sfumato.journey.knowledge",
    "patterns": "sfumato.journey.patterns",
    "protect": "sfumato.journey.protect",
    "release": "sfumato.journey.release",
    "report": "sfumato.journey.report",
    "trace": "sfumato.journey.trace",
}


def __getattr__(name: str) -> object:
    if name == "demo":
        return import_module("sfumato.demo")
    if name in _HOMES:
        loaded = getattr(import_module(_HOMES[name]), name)
        globals()[name] = loaded
        return loaded
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
