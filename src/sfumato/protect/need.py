"""How much memory a search takes, before it is begun."""

from __future__ import annotations

from sfumato.declare.policy import Policy
from sfumato.terms.memory import Memory, coarser
from sfumato.terms.microdata import Microdata


def check_need(table: Microdata, policy: Policy, memory: Memory) -> None:
    """Raise where the policy's search would take more than is allowed, and say what would do."""
    if memory.limit is None:
        return
    wide = max(table.keys, key=lambda c: len(c.taxonomy.leaves), default=None)
    memory.check(
        need(table, policy),
        f"the search {policy.protect.search} over {table.distinct:,} different rows",
        "" if wide is None else coarser(wide.name),
    )


def need(table: Microdata, policy: Policy) -> int:
    """Bytes that the search holds besides the table, at its peak: measured at ten million rows."""
    keys, words = len(table.keys), table.packing.words
    search = {
        "top-down": 4 * keys + 40,
        "mondrian": 16 * words + (90 if policy.promises.sensitive else 60),
        "lattice": 16 * words + 60,
        "optimum": 16 * words + 60,
    }.get(policy.protect.search, 100)
    proof = 60 if policy.promises.sensitive else 30
    return table.distinct * max(search, proof)
