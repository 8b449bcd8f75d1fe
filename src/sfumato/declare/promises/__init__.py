"""The promises: one definition, one file, all registered under their policy key."""

from __future__ import annotations

from sfumato.declare.promises.distinct_l_diversity import DistinctLDiversity
from sfumato.declare.promises.k_anonymity import KAnonymity
from sfumato.declare.promises.registry import known, make, register, schema

__all__ = ["DistinctLDiversity", "KAnonymity", "known", "make", "register", "schema"]
