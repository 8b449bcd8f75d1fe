"""The promises: one definition, one file, all registered under their policy key."""

from __future__ import annotations

from sfumato.declare.promises.confidence_bounding import AlphaKAnonymity, ConfidenceBounding
from sfumato.declare.promises.continuous import Continuous
from sfumato.declare.promises.distinct_l_diversity import DistinctLDiversity
from sfumato.declare.promises.entropy_l_diversity import EntropyLDiversity
from sfumato.declare.promises.freeform import Freeform
from sfumato.declare.promises.k_anonymity import KAnonymity
from sfumato.declare.promises.quasi_sensitive import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.declare.promises.recursive_l_diversity import RecursiveLDiversity
from sfumato.declare.promises.reference import Reference
from sfumato.declare.promises.registry import column_options, known, make, refused, register, schema
from sfumato.declare.promises.t_closeness import TCloseness

__all__ = [
    "AlphaKAnonymity",
    "ConfidenceBounding",
    "Continuous",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "Freeform",
    "KAnonymity",
    "QuasiSensitiveCloseness",
    "QuasiSensitiveDiversity",
    "RecursiveLDiversity",
    "Reference",
    "TCloseness",
    "column_options",
    "known",
    "make",
    "refused",
    "register",
    "schema",
]
