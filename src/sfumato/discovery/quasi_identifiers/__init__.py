"""Quasi-identifiers: which columns single people out, under a reading that the caller chooses.

| question | function | answer |
|---|---|---|
| is the table k-anonymous on all its columns? | `k_test` | `Measures` |
| one minimal set, with the steps | `descend` | `Descent` |
| the best of some random orders, with the chance | `best_of_orders` | `BestOfOrders` |
| one minimal set by greedy cover, with its factor | `greedy_cover` | `GreedyCover` |
| all minimal sets, within bounds | `minimal` | `MinimalSets` |
| the smallest sets, proved or bounded | `minimum` | `Minimum` |
| keys of a very long table, from a sample | `minimal_by_sample` | `SampledSets` |
| how strong a set is | `measure` | `Measures` |

All take a `Coded` table and all but the tests of a given set a `Reading`; every answer repeats k, t, the
reading and how missing cells compare (`terms`).
"""

from __future__ import annotations

from sfumato.discovery.quasi_identifiers.coded import NULL_RULE, Coded, Reading, Terms
from sfumato.discovery.quasi_identifiers.descent import (
    BestOfOrders,
    Descent,
    DescentStep,
    GreedyCover,
    GreedyStep,
    best_of_orders,
    descend,
    greedy_cover,
)
from sfumato.discovery.quasi_identifiers.enumeration import MinimalSets, minimal
from sfumato.discovery.quasi_identifiers.measures import Measures, k_test, measure
from sfumato.discovery.quasi_identifiers.minimum import (
    Minimum,
    SampledSet,
    SampledSets,
    minimal_by_sample,
    minimum,
    sampling_rate,
)

__all__ = [
    "NULL_RULE",
    "BestOfOrders",
    "Coded",
    "Descent",
    "DescentStep",
    "GreedyCover",
    "GreedyStep",
    "Measures",
    "MinimalSets",
    "Minimum",
    "Reading",
    "SampledSet",
    "SampledSets",
    "Terms",
    "best_of_orders",
    "descend",
    "greedy_cover",
    "k_test",
    "measure",
    "minimal",
    "minimal_by_sample",
    "minimum",
    "sampling_rate",
]
