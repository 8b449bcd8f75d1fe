"""Knowledge: what outsiders know about terms and the sensitive labels behind them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import gcd, lcm, prod

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadPolicy
from sfumato.core.joint_columns import tagged

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

LARGEST_WEIGHT = 2**31 - 1
"""So much all labels may weigh together, in whole numbers without a common divisor."""


@dataclass(frozen=True)
class Knowledge:
    """Rows of a label and its terms; a label may have several.

    A term set links to a label if one of the label's rows holds all of its terms; no terms link to every
    label. `file` is where it was read, relative to the policy. `weights` says how common labels are, in whole
    numbers and in alphabetical order; without it all are alike.

    >>> known = Knowledge.of([("Flu", ["fever", "cough"]), ("Cold", ["cough", "sneeze"])])
    >>> known.linked(["cough"]), known.linked(["cough", "fever"]), known.linked(["rash"])
    (('Cold', 'Flu'), ('Flu',), ())
    """

    rows: tuple[tuple[str, frozenset[str]], ...]
    file: str | None = field(default=None, compare=False)
    weights: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.rows:
            raise BadPolicy(
                "the knowledge table is empty",
                where="knowledge",
                remedy="Without a label nothing can be linked, and nothing would be protected.",
            )

    @classmethod
    def of(cls, rows: Iterable[tuple[str, Iterable[str]]], *, file: str | None = None) -> Knowledge:
        """Rows in any order; equal ones count once."""
        found = {(label, frozenset(terms)) for label, terms in rows}
        return cls(tuple(sorted(found, key=lambda row: (row[0], sorted(row[1])))), file)

    def weighing(self, shares: Mapping[str, Fraction]) -> Knowledge:
        """Returns the same rows with labels as common as these shares say, in any unit.

        >>> known = Knowledge.of([("Flu", ["fever"]), ("Plague", ["fever", "boils"])])
        >>> known.weighing({"Flu": Fraction(3, 100), "Plague": Fraction(1, 1000)}).weights
        (30, 1)
        """
        absent = sum(not shares.get(label, 0) > 0 for label in self.labels)
        if absent:
            raise BadPolicy(
                f"{absent} of {len(self.labels)} labels of the knowledge have no prevalence above 0",
                where="prevalence",
                remedy="Say how common every label is; leave labels that nobody has out of the knowledge.",
            )
        own = [Fraction(shares[label]) for label in self.labels]
        unit = lcm(*(share.denominator for share in own))
        whole = [int(share * unit) for share in own]
        common = gcd(*whole)
        if sum(whole) // common > LARGEST_WEIGHT:
            raise BadPolicy(
                f"the prevalence of all labels, in whole numbers, is more than {LARGEST_WEIGHT:,}",
                where="prevalence",
                remedy="Round it: three digits are more than outsiders know.",
            )
        alike = len(set(whole)) == 1
        return replace(self, weights=() if alike else tuple(weight // common for weight in whole))

    @cached_property
    def weight_of_label(self) -> Longs:
        """The weight of every label."""
        return np.array(self.weights or (1,) * len(self.labels), np.int64)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Each label once, in alphabetical order."""
        return tuple(dict.fromkeys(label for label, _ in self.rows))

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Each term once, in alphabetical order."""
        return tuple(sorted({term for _, terms in self.rows for term in terms}))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the rows and weights; their order and the form of the file do not count."""
        text = json.dumps([[label, sorted(terms)] for label, terms in self.rows], separators=(",", ":"))
        if self.weights:
            text += json.dumps(self.weights)
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def label_of_row(self) -> Ints:
        """The number of each row's label; rows of a label stand together."""
        number = {label: i for i, label in enumerate(self.labels)}
        return np.array([number[label] for label, _ in self.rows], np.int32)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of every term."""
        return {term: i for i, term in enumerate(self.terms)}

    @cached_property
    def holders(self) -> tuple[Longs, Ints]:
        """Compressed lists: the rows that hold term t are `rows[first[t]:first[t+1]]`."""
        pairs = [(self.number_of[term], i) for i, (_, terms) in enumerate(self.rows) for term in terms]
        pairs.sort()
        first = np.searchsorted([t for t, _ in pairs], np.arange(len(self.terms) + 1)).astype(np.int64)
        return first, np.array([i for _, i in pairs], np.int32)

    def coded(self, sets: Sequence[Sequence[str]]) -> tuple[Longs, Ints]:
        """The terms of some sets as numbers, in compressed rows; -1 is a term that no label has."""
        number = self.number_of
        start = np.concatenate(([0], np.cumsum([len(terms) for terms in sets]))).astype(np.int64)
        return start, np.array([number.get(term, -1) for terms in sets for term in terms], np.int32)

    def linked(self, terms: Iterable[str]) -> tuple[str, ...]:
        """The labels that a term set links to."""
        wanted = frozenset(terms)
        return tuple(dict.fromkeys(label for label, held in self.rows if wanted <= held))

    def __repr__(self) -> str:
        return f"Knowledge({len(self.labels)} labels, {len(self.rows)} rows, {len(self.terms)} terms)"


def merged_rows(tables: Sequence[Knowledge]) -> int:
    """Returns how many rows tables about the same labels have when they are merged."""
    rows = [Counter(label for label, _ in table.rows) for table in tables]
    return sum(prod(table[label] for table in rows) for label in rows[0])


def merged(tables: Sequence[Knowledge]) -> Knowledge:
    """Returns what tables about the same labels say of joint values (`core.joint_columns`).

    For every label all combinations of one row of each table: a joint value then links to the labels that
    each of its parts links to. The tables weigh labels alike, and so does what is returned.

    >>> ills = Knowledge.of([("Flu", ["fever"]), ("HIV", ["rash"])])
    >>> drugs = Knowledge.of([("Flu", ["A"]), ("HIV", ["A", "B"])])
    >>> both = merged([ills, drugs])
    >>> both.linked(tagged(0, ["rash"]) + tagged(1, ["A"])), both.linked(tagged(1, ["A"]))
    (('HIV',), ('Flu', 'HIV'))
    """
    of_label: list[dict[str, list[frozenset[str]]]] = []
    for part, table in enumerate(tables):
        held: dict[str, list[frozenset[str]]] = {}
        for label, terms in table.rows:
            held.setdefault(label, []).append(frozenset(tagged(part, terms)))
        of_label.append(held)
    together = Knowledge.of(
        (label, frozenset().union(*choice))
        for label in of_label[0]
        for choice in product(*(held[label] for held in of_label))
    )
    return replace(together, weights=tables[0].weights)


@dataclass(frozen=True, eq=False)
class Links:
    """The labels that each of some term sets links to, as bits, and their `number`: what they weigh together.

    A row gives a label that it links to the label's weight over this number; where all weigh 1, one over how
    many they are.
    """

    bits: NDArray[np.uint64]
    number: Longs
    weights: Longs

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return len(self.weights)

    def matrix(self, sets: NDArray[np.integer]) -> NDArray[np.bool_]:
        """One row per set, one column per label."""
        words = np.ascontiguousarray(self.bits[sets]).view(np.uint8)
        return np.unpackbits(words, axis=1, bitorder="little")[:, : self.labels].astype(bool)
