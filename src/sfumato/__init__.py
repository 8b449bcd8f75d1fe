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
    from sfumato.discovery.discovery import Discovery
    from sfumato.policy.policy import Policy
    from sfumato.recipients.patterns import Patterns
    from sfumato.recipients.trace import Trace
    from sfumato.releases.ledger.ledger import Ledger
    from sfumato.releases.receipt import Event, Receipt
    from sfumato.reports.usefulness import Usefulness
    from sfumato.search.plan import Plan
    from sfumato.system import errors
    from sfumato.system.errors import SfumatoWarning
    from sfumato.table.data_file import DataFile
    from sfumato.workflows.attack import attack
    from sfumato.workflows.audit import audit
    from sfumato.workflows.audit_chain import audit_chain
    from sfumato.workflows.compare import as_numbers, compare
    from sfumato.workflows.declare import declare
    from sfumato.workflows.discover import discover
    from sfumato.workflows.erase import erase
    from sfumato.workflows.import_version import import_version
    from sfumato.workflows.knowledge import knowledge
    from sfumato.workflows.patterns import capacity, draw, patterns
    from sfumato.workflows.protect import protect
    from sfumato.workflows.release import release
    from sfumato.workflows.report import report
    from sfumato.workflows.trace import trace

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
    "SfumatoWarning",
    "Trace",
    "Usefulness",
    "as_numbers",
    "attack",
    "audit",
    "audit_chain",
    "capacity",
    "compare",
    "declare",
    "demo",
    "discover",
    "draw",
    "erase",
    "errors",
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
    "DataFile": "sfumato.table.data_file",
    "Discovery": "sfumato.discovery.discovery",
    "Event": "sfumato.releases.receipt",
    "Ledger": "sfumato.releases.ledger.ledger",
    "Patterns": "sfumato.recipients.patterns",
    "Plan": "sfumato.search.plan",
    "Policy": "sfumato.policy.policy",
    "Receipt": "sfumato.releases.receipt",
    "SfumatoWarning": "sfumato.system.errors",
    "Trace": "sfumato.recipients.trace",
    "Usefulness": "sfumato.reports.usefulness",
    "as_numbers": "sfumato.workflows.compare",
    "attack": "sfumato.workflows.attack",
    "audit": "sfumato.workflows.audit",
    "audit_chain": "sfumato.workflows.audit_chain",
    "capacity": "sfumato.workflows.patterns",
    "compare": "sfumato.workflows.compare",
    "declare": "sfumato.workflows.declare",
    "discover": "sfumato.workflows.discover",
    "draw": "sfumato.workflows.patterns",
    "erase": "sfumato.workflows.erase",
    "import_version": "sfumato.workflows.import_version",
    "knowledge": "sfumato.workflows.knowledge",
    "patterns": "sfumato.workflows.patterns",
    "protect": "sfumato.workflows.protect",
    "release": "sfumato.workflows.release",
    "report": "sfumato.workflows.report",
    "trace": "sfumato.workflows.trace",
}

_MODULES = {"demo": "sfumato.demo", "errors": "sfumato.system.errors"}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        loaded = getattr(import_module(_HOMES[name]), name)
        globals()[name] = loaded
        return loaded
    from sfumato.system.renamed import missing_name  # noqa: PLC0415  # rarely needed

    raise AttributeError(missing_name("sfumato", name))


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
