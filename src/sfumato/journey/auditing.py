"""Judging what is published, and attacking it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.attack.audit import Audit
from sfumato.attack.audit import audit as audit_source
from sfumato.engine import open_source
from sfumato.journey.meaning import AnyPolicy, policy_of
from sfumato.terms.progress import Progress, silent

if TYPE_CHECKING:
    pass


def audit(data: Any, policy: AnyPolicy, *, progress: Progress | None = None) -> Audit:
    """Judge a published table, and attack it as every adversary would; nothing but the table is looked at."""
    return audit_source(open_source(data), policy_of(policy), progress=progress or silent)


def attack(name: str, data: Any, policy: AnyPolicy, *, progress: Progress | None = None) -> Audit:
    """One adversary alone."""
    return audit_source(open_source(data), policy_of(policy), attacks=(name,), progress=progress or silent)
