"""A prior: what outsiders believe about labels before anything is published."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.classes import Histogram
from sfumato.core.errors import BadPolicy
from sfumato.core.knowledge import Links
from sfumato.promises.parameters import Parameter, Schema

HEADER = ["label", "share"]
RULES = ("mean", "count", "uniform")
LONGEST = 4096
"""Bits of a number that is written in decimal digits; longer ones in hexadecimal."""


@dataclass(frozen=True)
class Prior:
    """The share of every label, exactly; labels that are not listed have none.

    `rule` says how it was made from a table, if it was.

    >>> Prior.of({"Flu": Fraction(5, 8), "Cold": Fraction(1, 4)}).total
    Fraction(7, 8)
    """

    shares: tuple[tuple[str, Fraction], ...]
    file: str | None = field(default=None, compare=False)
    rule: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if any(share < 0 for _, share in self.shares) or self.total > 1:
            raise BadPolicy(
                "a prior gives every label a share of at least 0, at most 1 in all", where="prior"
            )

    @classmethod
    def of(cls, shares: Mapping[str, Fraction], *, file: str | None = None, rule: str = "") -> Prior:
        listed = sorted((label, Fraction(share)) for label, share in shares.items() if share)
        return cls(tuple(listed), file, rule)

    @classmethod
    def load(cls, path: Path) -> Prior:
        """Read a CSV file with the header `label,share`; shares are exact, such as 5/8."""
        try:
            lines = list(csv.reader(path.read_bytes().decode("utf-8").splitlines()))
        except FileNotFoundError:
            raise BadPolicy(
                "there is no prior file of this name",
                where=str(path),
                remedy=f"Write {', '.join(RULES)}, or the name of a file that holds the prior.",
            ) from None
        except (OSError, UnicodeDecodeError, csv.Error) as problem:
            raise BadPolicy(
                f"the prior cannot be read as a UTF-8 CSV file: {type(problem).__name__}", where=str(path)
            ) from None
        if not lines or lines[0] != HEADER:
            raise BadPolicy("a prior file starts with the line label,share", where=f"{path}, line 1")
        shares: dict[str, Fraction] = {}
        for number, line in enumerate(lines[1:], start=2):
            try:
                label, share = line
                shares[label] = share_of(share)
            except (ValueError, ZeroDivisionError):
                raise BadPolicy(
                    "a label and a fraction are expected", where=f"{path}, line {number}"
                ) from None
        return cls.of(shares, file=str(path))

    def to_csv(self) -> str:
        """The prior as a file, to be named in policies that judge what was published."""
        out = io.StringIO()
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(HEADER)
        lines.writerows((label, share_text(share)) for label, share in self.shares)
        return out.getvalue()

    @cached_property
    def total(self) -> Fraction:
        return sum((share for _, share in self.shares), Fraction(0))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the shares."""
        return hashlib.sha256(self.to_csv().encode()).hexdigest()

    def on(self, labels: Sequence[str]) -> list[Fraction]:
        """The share of each of these labels."""
        known = dict(self.shares)
        return [known.get(label, Fraction(0)) for label in labels]

    def __repr__(self) -> str:
        return f"Prior({len(self.shares)} labels)"


def share_text(share: Fraction) -> str:
    """A share as files hold it.

    >>> share_text(Fraction(5, 8)), share_of("5/8") == share_of("0x5/0x8") == Fraction(5, 8)
    ('5/8', True)
    """
    if share.denominator.bit_length() <= LONGEST:
        return str(share)
    return f"{share.numerator:#x}/{share.denominator:#x}"


def share_of(text: str) -> Fraction:
    """The share that a file holds."""
    if text.startswith("0x"):
        above, below = text.split("/")
        return Fraction(int(above, 16), int(below, 16))
    return Fraction(text)


def prior_of(rule: str, labels: Sequence[str], links: Links, held: Histogram) -> Prior:
    """What a table as a whole says about labels; `held.overall` counts its term sets.

    mean      the mean over all rows of what each says: one over the number of labels it links to
    count     how often each label is linked to, over all links
    uniform   every label alike, whatever the table holds
    """
    if rule == "uniform":
        return Prior.of(dict.fromkeys(labels, Fraction(1, len(labels))), rule=rule)
    counts, numbers = _counts(links, held)
    if rule == "count":
        whole = int(counts.sum())
        sums = counts.sum(axis=1).tolist()
        parts = {label: Fraction(n, whole) for label, n in zip(labels, sums, strict=True) if n}
        return Prior.of(parts, rule=rule)
    common = lcm(*numbers) if numbers else 1
    weights = [common // n for n in numbers]
    rows = int(held.overall.sum())
    shares = {}
    for label, line in zip(labels, counts.tolist(), strict=True):
        above = sum(n * w for n, w in zip(line, weights, strict=True) if n)
        if above:
            shares[label] = Fraction(above, common * rows)
    return Prior.of(shares, rule=rule)


def _counts(links: Links, held: Histogram) -> tuple[NDArray[np.int64], list[int]]:
    """How many rows link to each label with each number of links; and those numbers."""
    from sfumato.kernels.term_sets.links import tally_by_number  # noqa: PLC0415  # compiled

    occurring = np.flatnonzero(held.overall).astype(np.int32)
    numbers, place = np.unique(links.number[occurring], return_inverse=True)
    places = np.full(len(links.number), -1, np.int32)
    places[occurring] = place.ravel()
    linked = numbers > 0
    found = tally_by_number(
        occurring,
        held.overall[occurring].astype(np.int64),
        links.bits,
        places,
        max(1, len(numbers)),
        links.labels,
    )
    return found[:, : len(numbers)][:, linked], numbers[linked].tolist()


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
            return Prior.load(Path(value))
        raise BadPolicy(f"{self.name} must be {', '.join(RULES)} or the name of a file", where=self.name)

    def open(self, name: str, folder: Path) -> str | Prior:
        return name if name in RULES else replace(Prior.load(folder / name), file=name)

    def write(self, value: str | Prior) -> object:
        if isinstance(value, str):
            return value
        return {k: share_text(v) for k, v in value.shares} if value.file is None else value.file

    def plain(self, value: str | Prior) -> object:
        return value if isinstance(value, str) else value.shares

    @property
    def schema(self) -> Schema:
        return {"oneOf": [{"type": "string", "minLength": 1}, {"type": "object"}]}
