"""Labels behind terms, for versions: what is known, what is promised, and beliefs by definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from oracles import beliefs as plain
from sfumato.models.continuous.people import Pool
from sfumato.models.contract import Promises, joint_columns_of, with_derived
from sfumato.models.quasi_sensitive.knowledge import Knowledge
from sfumato.models.quasi_sensitive.promise import QuasiSensitiveCloseness, QuasiSensitiveDiversity
from sfumato.system.errors import BadData
from sfumato.table.microdata import Column, Microdata, Role
from sfumato.table.taxonomy import Taxonomy

HALF = Fraction(1, 2)
LINKS = [("A", ("s0", "s1")), ("B", ("s1", "s2")), ("C", ("s0", "s2")), ("C", ("s1",)), ("D", ("s0",))]
"""Of four values that are terms, one links to nothing."""
KNOWN = Knowledge.of(LINKS)
COMMON = {"A": 1, "B": 3, "C": 2, "D": 5}
LABELS = tuple(
    promise
    for common in (None, COMMON)
    for promise in (
        QuasiSensitiveDiversity("s", KNOWN, l=2, c=Fraction(1), prevalence=common),
        QuasiSensitiveDiversity("s", KNOWN, l=3, c=Fraction(2), prevalence=common),
        QuasiSensitiveCloseness("s", KNOWN, t=HALF, distance="largest", prevalence=common),
        QuasiSensitiveCloseness("s", KNOWN, t=Fraction(1, 3), prevalence=common),
    )
)
"""Promises about what terms say together: labels alike, and some labels more common than others."""


OTHER_LINKS = [("A", ("r0",)), ("B", ("r0",)), ("C", ("r0", "r1")), ("D", ("r1",)), ("A", ("r1",))]
"""What is known of the terms of a second column: those of a value that is even are r0, those of others r1."""


@dataclass(frozen=True)
class LabelsTogether:
    """The same promise about two columns of terms, and with it what both say together."""

    make: type
    limit: tuple
    common: tuple = ()

    least_people, by_size, by_values = 1, False, False

    @property
    def promises(self):
        common = dict(self.common) or None
        pairs = (("s", LINKS), ("r", OTHER_LINKS))
        made = [
            self.make(of, Knowledge.of(known), prevalence=common, **dict(self.limit)) for of, known in pairs
        ]
        return with_derived(Promises(tuple(made)))

    def linked(self, value, tables):
        """The labels that some of the two cells of somebody with this value link to in common."""
        cells = [(LINKS, f"s{value}"), (OTHER_LINKS, f"r{value % 2}")]
        return set.intersection(*(plain.linked(cells[t][0], [cells[t][1]]) for t in tables))

    def beliefs(self, held, tables):
        """Of some of both columns, by number: the mean over people of what their cells link to in common."""
        found, size = dict.fromkeys("ABCD", Fraction(0)), sum(held.values())
        for value, weight in held.items():
            linked = self.linked(value, tables)
            shares = {label: Fraction(dict(self.common).get(label, 1)) for label in linked}
            for label, share in shares.items():
                found[label] += share / sum(shares.values()) * weight / Fraction(size)
        return found

    def kept(self, held, overall):
        limit = dict(self.limit)
        if self.make is QuasiSensitiveCloseness and any(not self.linked(v, (0, 1)) for v in overall):
            return False  # no belief follows from a contradiction: refused
        for tables in ((0,), (1,), (0, 1)):
            after = self.beliefs(held, tables)
            if self.make is QuasiSensitiveDiversity:
                held_up = plain.diverse_beliefs(after.values(), limit["c"], limit["l"])
            else:
                before = self.beliefs(overall, tables)
                held_up = plain.gap([after[x] - before[x] for x in after], "variational") <= limit["t"]
            if not held_up:
                return False
        return True

    def accepts(self, one, versions):
        """What the software says of versions of a table, given with one of the columns."""
        promises = self.promises
        ranks = one.codes("s") % 2
        second = Column("r", Role.QUASI_SENSITIVE, Taxonomy.flat(["r0", "r1"]))
        codes = [one.codes(c.name) for c in one.columns]
        whole = np.repeat(np.arange(one.distinct), one.counts)
        data = Microdata.of_codes([*one.columns, second], [code[whole] for code in (*codes, ranks)])
        data = replace(data, joints=joint_columns_of(promises))
        try:
            bound = tuple(p.given_original(data) if p.needs_original else p for p in promises)
        except BadData:  # a row whose cells link to no label in common
            return False
        return Pool(data, Promises(bound)).keeps_all(versions)


TOGETHER = tuple(
    LabelsTogether(make, tuple(limit.items()), common)
    for common in ((), tuple(COMMON.items()))
    for make, limit in (
        (QuasiSensitiveDiversity, {"l": 2, "c": Fraction(1)}),
        (QuasiSensitiveDiversity, {"l": 2, "c": Fraction(4)}),
        (QuasiSensitiveCloseness, {"t": HALF, "distance": "variational"}),
    )
)
"""Two columns of terms about the same labels, with and without prevalence."""


def label_beliefs(held, promise):
    """The belief in every label of a histogram whose values are terms: a mean over its people."""
    common = dict(promise.prevalence.shares) if promise.prevalence else None
    each = {value: plain.posterior(LINKS, [[f"s{value}"]], common) for value in held}
    size = sum(held.values())
    return {label: sum(w * each[v][label] for v, w in held.items()) / Fraction(size) for label in "ABCD"}
