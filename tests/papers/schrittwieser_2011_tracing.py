"""The tables of the paper on fingerprints by generalization patterns, with their printed errors put right.

Birthdates of its first and its fifth table differ, so both are kept. The second anonymized set of Table V is
not 2-anonymous under any reading, as the paper says it is; the argument about tracing does not need it.
"""

from __future__ import annotations

from recipients.toy_ledger import ToyLedger, at_levels, table_of
from sfumato.table.taxonomy import Taxonomy

GENDER = Taxonomy.grow(["p", "m", "f"], [-1, 0, 0])


def births(days):
    """Day, month, year."""
    months = list(dict.fromkeys(day[3:] for day in days))
    labels = ["1970", *months, *days]
    parent = [-1, *(0 for _ in months), *(1 + months.index(day[3:]) for day in days)]
    return Taxonomy.grow(labels, parent)


ZIP = Taxonomy.grow(["10XX", "100X", "101X", "1004", "1015"], [-1, 0, 0, 1, 2])

TABLE_V = table_of(
    {
        "gender": GENDER,
        "birthdate": births(["18.03.1970", "19.03.1970", "20.04.1970", "21.04.1970"]),
        "zip": ZIP,
    },
    [
        ("m", "18.03.1970", "1004"),
        ("m", "19.03.1970", "1015"),
        ("f", "20.04.1970", "1004"),
        ("f", "21.04.1970", "1015"),
    ],
)
SETS = {"fireguard": (1, 2, 0), "police": (1, 1, 1), "ambulance": (0, 2, 1)}


def table_v(**options):
    ledger = ToyLedger()
    for name, levels in SETS.items():
        ledger.give(name, TABLE_V, at_levels(TABLE_V, levels), **options)
    return ledger


TABLE_I = table_of(
    {"gender": GENDER, "birthdate": births(["18.03.1970", "19.03.1970", "20.04.1970", "21.04.1970"])},
    [("m", "18.03.1970"), ("m", "19.03.1970"), ("f", "20.04.1970"), ("f", "21.04.1970")],
)


def cluster_c1():
    """U1 has no gender and months, U2 has gender and years."""
    ledger = ToyLedger()
    ledger.give("U1", TABLE_I, at_levels(TABLE_I, (1, 1)))
    ledger.give("U2", TABLE_I, at_levels(TABLE_I, (0, 2)))
    return ledger
