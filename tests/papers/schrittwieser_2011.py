"""The example tables of Schrittwieser et al. 2011, with corrections where the paper contradicts itself.

Table II lists the genders as F, M, F, M; in the order of Table I they are m, m, f, f. Table V calls three
sets 2-anonymous on two quasi-identifiers; its gender is generalized, too. Birthdates differ between I and V.
"""

import numpy as np

from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

GENDER = Taxonomy.grow(["p", "m", "f"], [-1, 0, 0])
ZIP = Taxonomy.grow(["10XX", "100X", "1004", "101X", "1015"], [-1, 0, 1, 0, 3])


def days(*march_and_april):
    """Birthdates: the day, the month, the year."""
    march = [d for d in march_and_april if d.endswith(".03.1970")]
    april = [d for d in march_and_april if d.endswith(".04.1970")]
    labels = ["1970", "03.1970", *march, "04.1970", *april]
    parent = [-1, 0, *([1] * len(march)), 0, *([2 + len(march)] * len(april))]
    return Taxonomy.grow(labels, parent)


def coded(columns, rows):
    codes = [np.array([c.taxonomy.rank(row[j]) for row in rows], np.int32) for j, c in enumerate(columns)]
    return Microdata.of_codes(columns, codes)


ROWS_I = (("m", "19.03.1970"), ("m", "20.03.1970"), ("f", "18.04.1970"), ("f", "21.04.1970"))
"""Bob, Dave, Alice, Eve."""

ROWS_V = (
    ("m", "18.03.1970", "1004"),
    ("m", "19.03.1970", "1015"),
    ("f", "20.04.1970", "1004"),
    ("f", "21.04.1970", "1015"),
)

SETS_V = ((1, 2, 0), (1, 1, 1), (0, 2, 1))
"""The patterns of the anonymized sets 1 to 3: fireguard, police, ambulance."""


def table_i():
    columns = (Column("gender", Role.QUASI, GENDER), Column("birthdate", Role.QUASI, _days(ROWS_I)))
    return coded(columns, ROWS_I)


def table_v(*names):
    """Table V; `names` limits the quasi-identifiers, as the paper's text does."""
    trees = {"gender": GENDER, "birthdate": _days(ROWS_V), "zip": ZIP}
    chosen = [j for j, name in enumerate(trees) if not names or name in names]
    columns = [Column(name, Role.QUASI, trees[name]) for j, name in enumerate(trees) if j in chosen]
    return coded(columns, [tuple(row[j] for j in chosen) for row in ROWS_V])


def _days(rows):
    return days(*(row[1] for row in rows))
