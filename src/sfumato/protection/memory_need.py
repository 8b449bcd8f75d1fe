"""The memory that a search needs, before it begins."""

from __future__ import annotations

from math import prod

from sfumato.core.microdata import Microdata
from sfumato.policy.compatibility.search_fit import searches_of
from sfumato.policy.policy import Policy
from sfumato.protection.two_phases import removes_terms
from sfumato.system.memory import Memory, coarser_start

BYTES_PER_TERM_ROW = 2000
"""Bytes per row where terms are removed: the sets of every row as texts, and what is left of them."""

BYTES_PER_POSITION_ROW = 140
"""Bytes per row where people are judged by all their rows: whose rows they are, and sorts of them."""

BYTES_PER_WALKED_ENTRY = 16
"""Bytes per entry of the tables that local recoding walks: prices, boxes, and a copy of prices to add up."""

BYTES_PER_CODE = 8
"""Bytes per row and level where a lattice is searched from its most general node on: a code, and classes."""


def check_need(table: Microdata, policy: Policy, memory: Memory) -> None:
    """Raises where the policy's search needs more memory than is allowed, and says what would do."""
    if memory.limit is None:
        return
    if removes_terms(policy):
        memory.check(
            table.rows * BYTES_PER_TERM_ROW,
            f"removing terms from the sets of {table.rows:,} rows",
            "keep all terms (`terms: {method: keep}` under `protect`), or plan for fewer rows.",
        )
    wide = max(table.keys, key=lambda c: len(c.taxonomy.leaves), default=None)
    memory.check(
        bytes_needed(table, policy),
        f"the search {policy.protect.search} over {table.distinct:,} different rows",
        "" if wide is None else coarser_start(wide.name),
    )


def bytes_needed(table: Microdata, policy: Policy) -> int:
    """Returns the bytes that the search and the proof of its result hold at their peak, besides the table.

    Measured at one and at four million different rows (the scale benchmark), and a fifth more. The lattice
    also holds tables that it has rolled up, and local recoding those of its levels, some number of entries at
    most. `best` needs as much as that of its searches which needs most.
    """
    keys, width = len(table.keys), 8 * table.packing.words
    named = bool(policy.promises.sensitive)
    names = searches_of(policy)
    by_search = {
        "top-down": 4 * keys + (95 if named else 80),
        "mondrian": 2 * width + (95 if named else 60),
        "lattice": 4 * width + (95 if named else 85),
        "optimum": 4 * keys + 2 * width + 130,
        "local": 12 * keys + 2 * width + 900,
    }
    each = max(by_search.get(name, 4 * keys + 2 * width + 130) for name in names)
    if table.profiles:
        each += BYTES_PER_POSITION_ROW
    held = 0
    if "lattice" in names:
        from sfumato.protection.searches.branch_and_bound import MOST_CODES  # noqa: PLC0415  # it is compiled
        from sfumato.protection.searches.lattice import (  # noqa: PLC0415  # it is compiled
            FEW_NODES,
            FEWEST_FOR_SMALL_CLASSES,
        )
        from sfumato.protection.searches.rollup import MOST_HELD_ENTRIES  # noqa: PLC0415  # it is compiled
        from sfumato.protection.searches.small_classes import SmallClasses  # noqa: PLC0415  # it is compiled

        nodes = prod(len(c.taxonomy.levels) for c in table.keys)
        codes = table.distinct * sum(len(c.taxonomy.levels) for c in table.keys)
        held = min(MOST_HELD_ENTRIES, nodes * table.distinct) * (width + 8)
        general_first = BYTES_PER_CODE * min(MOST_CODES, codes) if nodes > FEW_NODES else 0
        large = table.distinct >= FEWEST_FOR_SMALL_CLASSES
        held += max(general_first, SmallClasses.bytes_held(table) if large else 0)
    if "local" in names:
        from sfumato.protection.searches.box_walk import most_entries  # noqa: PLC0415  # it is compiled

        heights = [len(c.taxonomy.levels) for c in table.keys]
        leaves = [len(c.taxonomy.leaves) for c in table.keys]
        held = max(held, most_entries(heights, leaves, table.distinct) * BYTES_PER_WALKED_ENTRY)
    return table.distinct * each + held
