"""People to be grouped blindly, and who is with whom then."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sfumato.models.contract import Promises
from sfumato.models.k_anonymity.promise import KAnonymity
from sfumato.models.l_diversity.promise import DistinctLDiversity
from sfumato.search.contract import Aim
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.recoding import SUPPRESSED
from sfumato.table.taxonomy import Taxonomy

ANYBODY = Aim(compared=("local", "mondrian"))
SOME_LEFT_OUT = Aim(compared=("local", "mondrian"), suppress=Fraction(1, 20), price=Fraction(3))
SOME_LEFT_OUT_OF_FEW = Aim(compared=("local", "mondrian"), suppress=Fraction(1, 5), price=Fraction(3))
DISEASES = Taxonomy.flat(["cold", "flu", "hiv", "ulcer"])
TWO = Promises((KAnonymity(2), DistinctLDiversity("disease", 2)))


def numbers(count, *, per_node=5, range_level=0):
    """Ordered numbers below nodes of so many each, those below the root."""
    tens = -(-count // per_node)
    labels = ["*"]
    parents = [-1]
    for ten in range(tens):
        node = len(labels)
        labels.append(f"{ten}#")
        parents.append(0)
        below = range(ten * per_node, min(count, (ten + 1) * per_node))
        labels += [str(n) for n in below]
        parents += [node] * len(below)
    return Taxonomy.grow(labels, parents, ordered=True, range_level=range_level)


def people_table(rows, *, seed=0, missing=0, values=DISEASES, shares=None, trees=None, places=None):
    """So many people with an age, a place and a disease, told apart by their numbers."""
    rng = np.random.default_rng(seed)
    age, town = trees or (numbers(40), Taxonomy.flat([f"t{i}" for i in range(6)]))
    codes = [rng.integers(0, len(age.leaves), rows), rng.integers(0, places or len(town.leaves), rows)]
    codes.append(rng.choice(len(values.leaves), rows, p=shares))
    columns = [
        Column("age", Role.QUASI, age),
        Column("town", Role.QUASI, town),
        Column("disease", Role.SENSITIVE, values),
    ]
    return Microdata.of_codes(
        columns, [code.astype(np.int32) for code in codes], person=np.arange(rows), dropped=missing
    )


def with_values(table, value_of_person):
    """The same people with other values."""
    keys = [table.codes(column.name) for column in table.keys]
    order = np.argsort(table.person)
    return Microdata.of_codes(
        table.columns, [*(code[order] for code in keys), value_of_person], person=np.arange(table.distinct)
    )


def values_of(table):
    """What every person has."""
    return table.codes("disease")[np.argsort(table.person)]


def members(table, number_of_row):
    """The people of every unit or group, by its number."""
    found = {}
    for person, number in zip(table.person.tolist(), number_of_row.tolist(), strict=True):
        if number != SUPPRESSED:
            found.setdefault(number, []).append(person)
    return {number: tuple(sorted(people)) for number, people in found.items()}


def shown(table, recoding):
    """Everything that is published: whose each class is, and its box."""
    return {
        (people, tuple(recoding.low[number]), tuple(recoding.high[number]))
        for number, people in members(table, recoding.class_of).items()
    }
