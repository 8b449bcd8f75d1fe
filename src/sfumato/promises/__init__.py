"""The promises: one definition, one file, all registered under their policy key."""

from __future__ import annotations

from sfumato.promises.confidence_bounding import AlphaKAnonymity, ConfidenceBounding
from sfumato.promises.continuous.definition import Continuous
from sfumato.promises.distinct_l_diversity import DistinctLDiversity
from sfumato.promises.entropy_l_diversity import EntropyLDiversity
from sfumato.promises.freeform.definition import Freeform
from sfumato.promises.k_anonymity import KAnonymity
from sfumato.promises.quasi_sensitive.definition import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.promises.recursive_l_diversity import RecursiveLDiversity
from sfumato.promises.registry import column_options, known, make, refused, register, schema
from sfumato.promises.t_closeness.definition import TCloseness
from sfumato.promises.t_closeness.reference import ReferenceDistribution

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
    "ReferenceDistribution",
    "TCloseness",
    "column_options",
    "known",
    "make",
    "refused",
    "register",
    "schema",
]
