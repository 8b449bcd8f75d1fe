"""Table I of the paper on fingerprints: four patients, two quasi-identifiers."""

import numpy as np

from sfumato.table.cut import Cut
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

GENDER = Taxonomy.grow(["*", "m", "f"], [-1, 0, 0])
BIRTH = Taxonomy.grow(
    ["1970", "03.1970", "04.1970", "19.03.1970", "20.03.1970", "18.04.1970", "21.04.1970"],
    [-1, 0, 0, 1, 1, 2, 2],
)
COMPLAINT = Taxonomy.flat(["diabetic", "disability", "blind"])
PEOPLE = [
    ("m", "19.03.1970", "diabetic"),
    ("m", "20.03.1970", "disability"),
    ("f", "18.04.1970", "blind"),
    ("f", "21.04.1970", "disability"),
]


def table():
    columns = [
        Column("gender", Role.QUASI, GENDER),
        Column("birthdate", Role.QUASI, BIRTH),
        Column("complaint", Role.SENSITIVE, COMPLAINT),
    ]
    codes = [np.array([c.taxonomy.rank(p[j]) for p in PEOPLE], np.int32) for j, c in enumerate(columns)]
    return Microdata.of_codes(columns, codes)


def version(gender, birthdate):
    return {"gender": Cut.level(GENDER, gender), "birthdate": Cut.level(BIRTH, birthdate)}
