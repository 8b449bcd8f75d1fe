"""Knowledge: what outsiders know about terms and the sensitive labels behind them."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import gcd, lcm, prod
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.models.contract import HEADER, Prior, share_of, share_text
from sfumato.models.parameters import Parameter, Schema
from sfumato.system.disk import LARGEST_LIST, read_document
from sfumato.system.errors import BadData, BadPolicy
from sfumato.system.verdict import AttackLimit
from sfumato.table.classes import Histogram
from sfumato.table.microdata import tagged

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
        """Returns the knowledge of rows in any order; equal ones count once.

        Args:
            rows: labels with their terms.
            file: where they were read, relative to the policy.
        """
        distinct = {(label, frozenset(terms)) for label, terms in rows}
        return cls(tuple(sorted(distinct, key=lambda row: (row[0], sorted(row[1])))), file)

    def weighing(self, shares: Mapping[str, Fraction]) -> Knowledge:
        """Returns the same rows with labels as common as these shares say.

        Args:
            shares: how common each label is, in any unit.

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
        """Returns the terms of sets as numbers, in compressed rows; -1 is a term that no label has.

        Args:
            sets: the sets.
        """
        number = self.number_of
        start = np.concatenate(([0], np.cumsum([len(terms) for terms in sets]))).astype(np.int64)
        return start, np.array([number.get(term, -1) for terms in sets for term in terms], np.int32)

    def linked(self, terms: Iterable[str]) -> tuple[str, ...]:
        """Returns the labels that a term set links to, in alphabetical order.

        Args:
            terms: the terms.
        """
        wanted = frozenset(terms)
        return tuple(dict.fromkeys(label for label, row_terms in self.rows if wanted <= row_terms))

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
        rows_of_label: dict[str, list[frozenset[str]]] = {}
        for label, terms in table.rows:
            rows_of_label.setdefault(label, []).append(frozenset(tagged(part, terms)))
        of_label.append(rows_of_label)
    together = Knowledge.of(
        (label, frozenset().union(*choice))
        for label in of_label[0]
        for choice in product(*(rows_of_label[label] for rows_of_label in of_label))
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

    def arrays(self, histogram: Histogram) -> tuple[Longs, Ints, Longs, NDArray[np.uint64], Longs, Longs]:
        """What compiled loops over classes are given: their entries, and the links of every set."""
        return histogram.start, histogram.values, histogram.counts, self.bits, self.number, self.weights

    def matrix(self, sets: NDArray[np.integer]) -> NDArray[np.bool_]:
        """One row per set, one column per label."""
        words = np.ascontiguousarray(self.bits[sets]).view(np.uint8)
        return np.unpackbits(words, axis=1, bitorder="little")[:, : self.labels].astype(bool)


# Beliefs: what the classes of a table say about labels, exactly.

NARROW = 62


DOUBT = 1e-9
"""Far more than sums and quotients of beliefs lose in floating point: what is nearer is judged exactly."""

Truth = NDArray[np.bool_]
Number = TypeVar("Number", int, Fraction)

EUCLIDEAN, VARIATIONAL, LARGEST_GAP = "euclidean", "variational", "largest"
DISTANCES = (EUCLIDEAN, VARIATIONAL, LARGEST_GAP)
"""How far two sets of beliefs are apart: the root of the summed squares of all gaps, half their sum, the
largest one. The first is measured by its square, so that it stays a fraction."""


@dataclass(frozen=True)
class BeliefLimit(AttackLimit):
    """What may be believed, at most, about labels that terms of a column link to under some knowledge.

    With `parts`, of these columns taken together (`JointColumn`), under what is known of each.
    """

    column: str
    knowledge: Knowledge
    parts: tuple[str, ...] = field(default=(), kw_only=True)

    def broken(
        self,
        belief: NDArray[np.float64],
        before: list[Fraction],
        links: Links,
        histogram: Histogram,
        low: int,
    ) -> Truth:
        """Returns which classes from number `low` on break it, exactly.

        `belief` holds a row per class and a column per label, rounded; `before` is believed in the first
        place.
        """
        raise NotImplementedError

    def keeps_beliefs(self, beliefs: Sequence[Fraction], before: Sequence[Fraction]) -> bool:
        """Returns whether these beliefs in all labels keep it, exactly."""
        raise NotImplementedError


@dataclass(frozen=True)
class LabelDiversity(BeliefLimit):
    """In every class p1 <= c * (pl + ... + pm), where p1 >= ... >= pm > 0 are the beliefs in its m labels.

    A class with fewer than l labels breaks it; one whose rows link to none keeps it.
    """

    l: int  # noqa: E741  # the name in the paper and in every policy
    c: Fraction

    @property
    def reachable(self) -> bool:
        """Whether beliefs can keep it at all: if not where all labels are alike, then never."""
        return self.c * (len(self.knowledge.labels) - self.l + 1) >= 1

    @property
    def kept_without_terms(self) -> bool:
        """Whether a class keeps it when every term is gone: labels are then believed in as they weigh."""
        falling: list[int] = sorted(self.knowledge.weight_of_label.tolist(), reverse=True)
        return falling[0] * self.c.denominator <= sum(falling[self.l - 1 :]) * self.c.numerator

    def keeps_beliefs(self, beliefs: Sequence[Fraction], before: Sequence[Fraction]) -> bool:
        del before
        falling = sorted(beliefs, reverse=True)
        tail = sum(falling[self.l - 1 :], Fraction(0))
        return not falling[0] or (tail > 0 and falling[0] <= self.c * tail)

    def keeps(self, links: Links, histogram: Histogram, index: int) -> bool:
        """Whether a class keeps it, exactly."""
        head, tail = head_and_tail(links, histogram, index, self.l)
        return head == 0 or (tail > 0 and head * self.c.denominator <= tail * self.c.numerator)

    def broken(
        self,
        belief: NDArray[np.float64],
        before: list[Fraction],  # noqa: ARG002  # what was believed before does not matter
        links: Links,
        histogram: Histogram,
        low: int,
    ) -> Truth:
        falling = -np.sort(-belief, axis=1)
        left, right = falling[:, 0], float(self.c) * falling[:, self.l - 1 :].sum(axis=1)
        broken: Truth = left > right
        for i in np.flatnonzero(abs(left - right) <= DOUBT * (left + right)).tolist():
            broken[i] = not self.keeps(links, histogram, low + i)
        return broken


@dataclass(frozen=True)
class LabelCloseness(BeliefLimit):
    """In every class the beliefs are within the distance t of a prior, which is measured as `distance` says.

    Before the original table was looked at, `prior` is the rule that makes one from it.
    """

    t: Fraction
    prior: Prior | str
    distance: str = EUCLIDEAN

    @property
    def most(self) -> Fraction:
        """How far beliefs may be from the prior, as the distance is measured."""
        return self.t * self.t if self.distance == EUCLIDEAN else self.t

    def keeps_beliefs(self, beliefs: Sequence[Fraction], before: Sequence[Fraction]) -> bool:
        gaps = [abs(belief - share) for belief, share in zip(beliefs, before, strict=True)]
        return measured(gaps, self.distance) <= self.most

    def kept_without_terms(self, prior: Prior) -> bool:
        """Whether a class keeps it when every term is gone."""
        labels, weights = self.knowledge.labels, self.knowledge.weight_of_label.tolist()
        whole = sum(weights)
        gaps = [abs(Fraction(w, whole) - q) for w, q in zip(weights, prior.on(labels), strict=True)]
        return measured(gaps, self.distance) <= self.most

    def broken(
        self,
        belief: NDArray[np.float64],
        before: list[Fraction],
        links: Links,
        histogram: Histogram,
        low: int,
    ) -> Truth:
        gap = abs(belief - np.array([float(share) for share in before]))
        if self.distance == LARGEST_GAP:
            far = gap.max(axis=1, initial=0.0)
        else:
            far = (gap**2).sum(axis=1) if self.distance == EUCLIDEAN else gap.sum(axis=1) / 2
        most = float(self.most)
        broken: Truth = far > most
        for i in np.flatnonzero(abs(far - most) <= DOUBT * (1 + most)).tolist():
            broken[i] = distance_from(links, histogram, low + i, before, self.distance) > self.most
        return broken


def posterior(links: Links, histogram: Histogram, index: int) -> tuple[list[int], NDArray[np.int64], int]:
    """What one class says about labels: shares as whole numbers over a common denominator, each kind of
    label once; the kind of every label; and the denominator, people included.

    Labels of one weight that the same rows link to have the same share: they are one kind.
    """
    span = slice(int(histogram.start[index]), int(histogram.start[index + 1]))
    sets, counts = histogram.values[span], histogram.counts[span].tolist()
    numbers = links.number[sets].tolist()
    common = lcm(*(n for n in numbers if n)) if any(numbers) else 1
    weights = [c * common // n if n else 0 for c, n in zip(counts, numbers, strict=True)]
    linked, own = links.matrix(sets), links.weights
    if len(sets) <= NARROW:
        pattern = (linked.astype(np.int64) << np.arange(len(sets))[:, None]).sum(axis=0)
        _, alike = np.unique(pattern, return_inverse=True)
    else:
        _, alike = np.unique(linked.T, axis=0, return_inverse=True)
    sizes, size = np.unique(own, return_inverse=True)
    both = alike.ravel() * len(sizes) + size.ravel()
    _, example, kind = np.unique(both, return_index=True, return_inverse=True)
    shares = [
        int(own[place]) * sum(w for w, has in zip(weights, linked[:, place].tolist(), strict=True) if has)
        for place in example.tolist()
    ]
    return shares, kind.ravel().astype(np.int64), common * sum(counts)


def head_and_tail(links: Links, histogram: Histogram, index: int, l: int) -> tuple[int, int]:  # noqa: E741
    """The largest share of one class and the sum of all but the l-1 largest, as whole numbers."""
    shares, kind, _ = posterior(links, histogram, index)
    many = np.bincount(kind, minlength=len(shares)).tolist()
    falling = sorted(zip(shares, many, strict=True), reverse=True)
    skip, tail = l - 1, 0
    for share, labels in falling:
        counted = max(0, labels - skip)
        skip = max(0, skip - labels)
        tail += share * counted
    return (falling[0][0] if falling else 0), tail


def distance_from(
    links: Links, histogram: Histogram, index: int, target: list[Fraction], distance: str = EUCLIDEAN
) -> Fraction:
    """How far one class's beliefs are from a prior, as the distance is measured."""
    shares, kind, whole = posterior(links, histogram, index)
    below = lcm(whole, *{share.denominator for share in target})
    scaled = [share * (below // whole) for share in shares]
    pairs = zip(kind.tolist(), target, strict=True)
    gaps = [abs(scaled[k] - share.numerator * (below // share.denominator)) for k, share in pairs]
    far = measured(gaps, distance)
    return Fraction(far, below * below if distance == EUCLIDEAN else below)


def measured(gaps: Sequence[Number], distance: str) -> Number | Fraction:
    """What gaps, none of them negative, come to.

    >>> [str(measured([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], name)) for name in DISTANCES]
    ['3/8', '1/2', '1/2']
    """
    if distance == LARGEST_GAP:
        return max(gaps, default=Fraction(0))
    if distance == VARIATIONAL:
        return Fraction(sum(gaps), 2)
    return sum((gap * gap for gap in gaps), Fraction(0))


# Knowledge tables in files: long, delimited or wide, told apart by the header.

# A knowledge table proposed from reference records.

Record = tuple[str, Sequence[str], int]
"""A label, its terms, and how often they occur together."""


def by_document(rows: Iterable[tuple[str, Sequence[str], int, str | None]]) -> list[Record]:
    """One record per label and document: all terms that the document's rows have for the label.

    A row without a document is a record of its own; one that stands for no occurrence tells nothing.

    >>> by_document([("Flu", ["fever"], 2, "a"), ("Flu", ["cough"], 1, "a"), ("Flu", ["fever"], 1, "b")])
    [('Flu', ('cough', 'fever'), 1), ('Flu', ('fever',), 1)]
    """
    documents: dict[tuple[str, str], set[str]] = {}
    alone: list[Record] = []
    for label, terms, count, document in rows:
        if document is None:
            alone.append((label, terms, count))
        elif count:
            documents.setdefault((label, document), set()).update(terms)
    return [(label, tuple(sorted(terms)), 1) for (label, _), terms in documents.items()] + alone


def propose(records: Iterable[Record], *, support: int = 2, share: Fraction = Fraction(0)) -> Knowledge:
    """One row per label: the terms that occur in `support` of its records or more, and in this share of them.

    A record is a label, its terms, and how often it occurs. Labels without such a term are left out.

    >>> proposed = propose([("Flu", ["fever", "cough"], 3), ("Flu", ["rash"], 1), ("Cold", ["cough"], 2)])
    >>> [(label, sorted(terms)) for label, terms in proposed.rows]
    [('Cold', ['cough']), ('Flu', ['cough', 'fever'])]
    """
    counts_of_label: dict[str, Counter[str]] = {}
    total: Counter[str] = Counter()
    for label, terms, count in records:
        total[label] += count
        counts = counts_of_label.setdefault(label, Counter())
        for term in set(terms):
            counts[term] += count
    rows = []
    for label, counts in counts_of_label.items():
        frequent = [t for t, n in counts.items() if n >= support and n >= share * total[label]]
        if frequent:
            rows.append((label, frequent))
    if not rows:
        raise BadData(
            f"no term of any label occurs in {support} of its records",
            remedy="Ask for less support, or bring more records.",
        )
    return Knowledge.of(rows)


# Files of one number per label: priors, and how common labels are.


def load_shares(path: Path, header: Sequence[str], *, remedy: str = "") -> dict[str, Fraction]:
    """Reads a UTF-8 CSV file of a label and an exact number per line, such as 5/8."""
    what = header[1] if header[1] != "share" else "prior"
    try:
        lines = list(csv.reader(read_document(path, most=LARGEST_LIST).decode("utf-8").splitlines()))
    except FileNotFoundError:
        raise BadPolicy(f"there is no {what} file of this name", where=str(path), remedy=remedy) from None
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise BadPolicy(
            f"the {what} cannot be read as a UTF-8 CSV file: {type(problem).__name__}", where=str(path)
        ) from None
    if not lines or lines[0] != list(header):
        raise BadPolicy(f"a {what} file starts with the line {','.join(header)}", where=f"{path}, line 1")
    shares: dict[str, Fraction] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            label, share = line
            shares[label] = share_of(share)
        except (ValueError, ZeroDivisionError):
            raise BadPolicy("a label and a fraction are expected", where=f"{path}, line {number}") from None
    return shares


# The prior of a promise, as a policy names it.

MADE = ("mean", "count")
"""Rules that make a prior from the original table."""
RULES = (*MADE, "uniform", "prevalence")


def load_prior(path: Path) -> Prior:
    """Read a CSV file with the header `label,share`; shares are exact, such as 5/8."""
    remedy = f"Write {', '.join(RULES)}, or the name of a file that holds the prior."
    return Prior.of(load_shares(path, HEADER, remedy=remedy), file=str(path))


@dataclass(frozen=True)
class PriorRule(Parameter):
    """How a prior is made from the original table, or the prior itself."""

    required: ClassVar[bool] = False
    names_file: ClassVar[bool] = True

    def read(self, value: object) -> str | Prior:
        if isinstance(value, Prior):
            return value
        if isinstance(value, Mapping):
            try:
                return Prior.of({str(k): share_of(str(v)) for k, v in value.items()})
            except (ValueError, ZeroDivisionError):
                raise BadPolicy("each label takes a fraction such as 5/8", where=self.name) from None
        if value in RULES:
            return str(value)
        if isinstance(value, str | Path):
            return load_prior(Path(value))
        raise BadPolicy(f"{self.name} must be {', '.join(RULES)} or the name of a file", where=self.name)

    def open(self, name: str, folder: Path) -> str | Prior:
        return name if name in RULES else replace(load_prior(folder / name), file=name)

    def write(self, value: str | Prior) -> object:
        if isinstance(value, str):
            return value
        return {k: share_text(v) for k, v in value.shares} if value.file is None else value.file

    def plain(self, value: str | Prior) -> object:
        return value if isinstance(value, str) else value.shares

    def identify(self, value: str | Prior) -> str:
        return value if isinstance(value, str) else super().identify(value)

    @property
    def schema(self) -> Schema:
        return {"oneOf": [{"type": "string", "minLength": 1}, {"type": "object"}]}


# How common labels are, as a policy says it: in a file, or in place.

PREVALENCE_HEADER = ["label", "prevalence"]


@dataclass(frozen=True)
class Prevalence:
    """How common each label is among the people of the table, in any unit: shares, or cases per year.

    >>> Prevalence.of({"Flu": 30, "Plague": 1})
    Prevalence(2 labels)
    """

    shares: tuple[tuple[str, Fraction], ...]
    file: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, shares: Mapping[str, Fraction | int], *, file: str | None = None) -> Prevalence:
        return cls(tuple(sorted((label, Fraction(share)) for label, share in shares.items())), file)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the shares."""
        text = "\n".join(f"{label}\t{share_text(share)}" for label, share in self.shares)
        return hashlib.sha256(text.encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Prevalence({len(self.shares)} labels)"


@dataclass(frozen=True)
class PrevalenceFile(Parameter):
    """The name of a file with the header `label,prevalence`, or a number for every label."""

    required: ClassVar[bool] = False
    names_file: ClassVar[bool] = True

    def read(self, value: object) -> Prevalence | None:
        if value is None or isinstance(value, Prevalence):
            return value
        if isinstance(value, Mapping):
            try:
                return Prevalence.of({str(label): share_of(str(share)) for label, share in value.items()})
            except (ValueError, ZeroDivisionError):
                raise BadPolicy("each label takes a number such as 3/100", where=self.name) from None
        if isinstance(value, str | Path):
            return Prevalence.of(load_shares(Path(value), PREVALENCE_HEADER), file=str(value))
        raise BadPolicy(f"{self.name} must be a number per label, or the name of a file", where=self.name)

    def open(self, name: str, folder: Path) -> Prevalence:
        return replace(Prevalence.of(load_shares(folder / name, PREVALENCE_HEADER)), file=name)

    def write(self, value: Prevalence) -> object:
        if value.file is not None:
            return value.file
        return {label: share_text(share) for label, share in value.shares}

    def plain(self, value: Prevalence | None) -> object:
        return () if value is None else value.shares

    @property
    def schema(self) -> Schema:
        return {"oneOf": [{"type": "string", "minLength": 1}, {"type": "object"}]}


SEPARATOR = ";"
FORMS = (
    "The header says which: label,term (one term per line; label,row,term where a label has several rows), "
    "label,terms (terms joined by ;), or label and one column of 0 and 1 per term."
)


def load(path: Path, *, separator: str = SEPARATOR) -> Knowledge:
    """Read a UTF-8 CSV file."""
    try:
        lines = list(csv.reader(read_document(path, most=LARGEST_LIST).decode("utf-8-sig").splitlines()))
    except FileNotFoundError:
        raise BadPolicy("the knowledge file is not there", where=str(path)) from None
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise BadPolicy(
            f"the knowledge cannot be read as a UTF-8 CSV file: {type(problem).__name__}", where=str(path)
        ) from None
    if not lines:
        return Knowledge.of((), file=str(path))
    header, body = lines[0], lines[1:]
    for number, line in enumerate(body, start=2):
        if len(line) != len(header) or not line[0]:
            raise BadPolicy(
                "a label and as many cells as the header are expected", where=f"{path}, line {number}"
            )
    try:
        return Knowledge.of(_rows(header, body, separator, path), file=str(path))
    except BadPolicy as wrong:
        raise BadPolicy(wrong.message, remedy=wrong.remedy, where=wrong.where or str(path)) from None


def _rows(
    header: Sequence[str], body: Sequence[Sequence[str]], separator: str, path: Path
) -> Iterable[tuple[str, Iterable[str]]]:
    if header in (["label", "term"], ["label", "row", "term"]):
        terms_of_row: dict[tuple[str, ...], set[str]] = {}
        for *key, term in body:
            terms_of_row.setdefault(tuple(key), set()).update({term} - {""})
        return [(key[0], terms) for key, terms in terms_of_row.items()]
    if header == ["label", "terms"]:
        return [(label, {t for t in terms.split(separator) if t}) for label, terms in body]
    if len(header) > 1 and header[0] == "label":
        for number, line in enumerate(body, start=2):
            if not set(line[1:]) <= {"0", "1"}:
                raise BadPolicy("cells must be 0 or 1", where=f"{path}, line {number}", remedy=FORMS)
        names = header[1:]
        return [
            (line[0], {n for n, cell in zip(names, line[1:], strict=True) if cell == "1"}) for line in body
        ]
    raise BadPolicy("a knowledge file starts with a header", where=f"{path}, line 1", remedy=FORMS)


def save_prevalence(prevalence: Prevalence, path: Path) -> None:
    """Write how common labels are."""
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(PREVALENCE_HEADER)
        lines.writerows((label, share_text(share)) for label, share in prevalence.shares)


def save(knowledge: Knowledge, path: Path) -> None:
    """Write the long form, with numbered rows where a label has several."""
    several = len(knowledge.rows) > len(knowledge.labels)
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["label", "row", "term"] if several else ["label", "term"])
        for number, (label, terms) in enumerate(knowledge.rows):
            key = (label, number) if several else (label,)
            lines.writerows((*key, term) for term in sorted(terms) or [""])


# The knowledge of a promise, as a policy names it.


@dataclass(frozen=True)
class KnowledgeFile(Parameter):
    """The name of a knowledge file, or the knowledge itself: label -> its terms, or a list of such lists."""

    names_file: ClassVar[bool] = True

    def read(self, value: object) -> Knowledge:
        if isinstance(value, Knowledge):
            return value
        if isinstance(value, Mapping):
            return Knowledge.of(_in_place(value))
        if isinstance(value, str | Path):
            return load(Path(value))
        raise BadPolicy(f"{self.name} must be the name of a CSV file", where=self.name, remedy=FORMS)

    def open(self, name: str, folder: Path) -> Knowledge:
        return replace(load(folder / name), file=name)

    def write(self, value: Knowledge) -> object:
        if value.file is not None:
            return value.file
        rows_of_label: dict[str, list[list[str]]] = {}
        for label, terms in value.rows:
            rows_of_label.setdefault(label, []).append(sorted(terms))
        return {label: rows[0] if len(rows) == 1 else rows for label, rows in rows_of_label.items()}

    def plain(self, value: Knowledge) -> object:
        return tuple((label, tuple(sorted(terms))) for label, terms in value.rows)

    @property
    def schema(self) -> Schema:
        texts = {"type": "array", "items": {"type": ["string", "array"]}}
        return {
            "oneOf": [
                {"type": "string", "minLength": 1},
                {"type": "object", "additionalProperties": texts},
            ]
        }


def _in_place(words: Mapping[str, object]) -> Iterable[tuple[str, Iterable[str]]]:
    for label, rows in words.items():
        several = rows if isinstance(rows, Sequence) and not isinstance(rows, str) else None
        if several is None:
            raise BadPolicy("each label takes a list of terms", where="knowledge", remedy=FORMS)
        nested = bool(several) and all(isinstance(row, list | tuple) for row in several)
        for row in several if nested else [several]:
            if not all(isinstance(term, str) and term for term in row):
                raise BadPolicy("terms are texts", where="knowledge")
            yield str(label), row
