"""A prior: what outsiders believe about labels before anything is published."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from sfumato.core.errors import BadPolicy

HEADER = ["label", "share"]
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


@dataclass(frozen=True)
class KeptPrior:
    """A prior, and what it is the prior of: a column, by which rule, under which knowledge (its digest)."""

    of: str
    rule: str
    knowledge: str
    prior: Prior

    @property
    def names(self) -> dict[str, str]:
        """All but the shares, with the digest of these."""
        return {"of": self.of, "rule": self.rule, "knowledge": self.knowledge, "digest": self.prior.digest}


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
