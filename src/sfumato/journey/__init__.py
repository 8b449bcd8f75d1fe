"""The order of the verbs: the only place that knows what comes after what."""

from __future__ import annotations

from sfumato.journey.auditing import attack, audit
from sfumato.journey.declaring import check, declare, knowledge, warnings
from sfumato.journey.discovering import discover, draw
from sfumato.journey.meaning import AnyImprint, AnyPolicy, beside, policy_of
from sfumato.journey.patterns import patterns
from sfumato.journey.protecting import protect
from sfumato.journey.publishing import capacity, protect_file, release
from sfumato.journey.tracing import trace

__all__ = [
    "AnyImprint",
    "AnyPolicy",
    "attack",
    "audit",
    "beside",
    "capacity",
    "check",
    "declare",
    "discover",
    "draw",
    "knowledge",
    "patterns",
    "policy_of",
    "protect",
    "protect_file",
    "release",
    "trace",
    "warnings",
]
