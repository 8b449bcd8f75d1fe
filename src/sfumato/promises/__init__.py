"""The promises: one definition, one file or folder, all registered under their policy key.

A new definition is found by being here; nothing has to be added to this file. Its class can be taken from
this package by name, as any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.promises.registry import (
    column_options,
    definitions,
    known,
    make,
    owner_of,
    refused,
    register,
    schema,
)

if TYPE_CHECKING:
    from sfumato.promises.confidence_bounding import AlphaKAnonymity, ConfidenceBounding
    from sfumato.promises.continuous.definition import Continuous
    from sfumato.promises.distinct_l_diversity import DistinctLDiversity
    from sfumato.promises.entropy_l_diversity import EntropyLDiversity
    from sfumato.promises.freeform.definition import Freeform
    from sfumato.promises.k_anonymity import KAnonymity
    from sfumato.promises.quasi_sensitive.definition import QuasiSensitiveCloseness, QuasiSensitiveDiversity
    from sfumato.promises.recursive_l_diversity import RecursiveLDiversity
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
    "definitions",
    "known",
    "make",
    "owner_of",
    "refused",
    "register",
    "schema",
]


def __getattr__(name: str) -> object:
    """The class of this name among the definitions, loaded when it is first asked for."""
    if name == "ReferenceDistribution":
        from sfumato.promises.t_closeness.reference import ReferenceDistribution  # noqa: PLC0415  # so is this

        return ReferenceDistribution
    found = {} if name.startswith("_") else {maker.__name__: maker for maker in definitions()}
    if name not in found:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found[name]
