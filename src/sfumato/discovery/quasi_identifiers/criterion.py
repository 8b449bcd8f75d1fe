"""What it means that a set of columns singles people out: one predicate, five readings of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato.core.errors import WrongCall
from sfumato.discovery.quasi_identifiers.coded import NULL_RULE

Name = Literal["any", "all", "fraction", "count", "distinct"]


@dataclass(frozen=True)
class Reading:
    """A set of columns is a quasi-identifier if at least t records share their values with fewer than k.

    A record is *exposed* if its group, itself included, has fewer than k records. The readings differ in
    how many exposed records it takes:

    - `any`: one. The risk view, and the definition of Yuan's paper.
    - `all`: every record. For k = 2 such a set is a key of the table.
    - `fraction`: a share p of the records, rounded up.
    - `count`: this many.
    - `distinct`: the columns tell all distinct rows apart, as the paper's algorithm and proof have it.
      It is `all` with k = 2 after equal rows have been merged, and never looks at k.

    More columns never expose fewer records, so every superset of a quasi-identifier is one.

    >>> Reading.of(k=2, fraction=Fraction(1, 3)).threshold(10)
    4
    """

    k: int
    name: Name
    amount: Fraction | None = None

    @classmethod
    def of(
        cls,
        *,
        k: int,
        mode: str | None = None,
        fraction: Fraction | float | str | None = None,
        count: int | None = None,
    ) -> Reading:
        """Choose the reading: exactly one of `mode` (any, all, distinct), `fraction` and `count`."""
        if sum(choice is not None for choice in (mode, fraction, count)) != 1:
            raise WrongCall(
                "say when a set of columns counts as identifying",
                remedy='Give exactly one of mode ("any", "all", "distinct"), fraction and count.',
            )
        if mode is not None:
            if mode not in ("any", "all", "distinct"):
                raise WrongCall("unknown mode", remedy='Use "any", "all" or "distinct".')
            return cls(k, mode)  # type: ignore[arg-type]
        if fraction is not None:
            return cls(k, "fraction", _exact(fraction))
        return cls(k, "count", Fraction(count or 0))

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise WrongCall("k must be a whole number of at least 1")
        if self.name == "distinct" and self.k != 2:
            raise WrongCall(
                "the reading `distinct` tells rows apart and never looks at k",
                remedy="Use k=2 with it, or another reading.",
            )
        if self.name == "fraction" and not (self.amount is not None and 0 <= self.amount <= 1):
            raise WrongCall("fraction must lie between 0 and 1")
        if self.name == "count" and (self.amount is None or self.amount < 0 or self.amount.denominator != 1):
            raise WrongCall("count must be a whole number of at least 0")

    def threshold(self, rows: int) -> int:
        """How many exposed records make a quasi-identifier, in a table of so many rows.

        At least one, unless the caller asked for a count of 0: in an empty table nobody is exposed.
        """
        if self.name == "any":
            return 1
        if self.name in ("all", "distinct"):
            return max(1, rows)
        amount = self.amount or Fraction(0)
        if self.name == "count":
            return int(amount)
        return max(1, -((-amount.numerator * rows) // amount.denominator))

    def terms(self, rows: int) -> Terms:
        """The reading with its numbers filled in, as every answer repeats them."""
        return Terms(self.k, self.threshold(rows), self.name, rows)


@dataclass(frozen=True)
class Terms:
    """What an answer answers: k, t, the reading, over how many rows, and how missing cells compare."""

    k: int
    t: int
    reading: Name
    rows: int
    nulls: str = NULL_RULE

    @property
    def impossible(self) -> str:
        """Why no set of columns can be a quasi-identifier, as far as the numbers alone tell; else empty."""
        if self.t == 0:
            return ""
        if self.rows == 0:
            return "the table has no rows"
        if self.t > self.rows:
            return f"{self.t} exposed records are asked for and the table has {self.rows}"
        return "no group has fewer than 1 record" if self.k == 1 else ""

    @property
    def trivial(self) -> str:
        """Why even the empty set of columns is a quasi-identifier; else empty."""
        if self.impossible:
            return ""
        if self.t == 0:
            return "0 exposed records are asked for"
        return f"the table has fewer than k = {self.k} rows" if self.rows < self.k else ""


def _exact(share: Fraction | float | str) -> Fraction:
    """0.05 means five hundredths, not the nearest binary number."""
    try:
        return Fraction(str(share)) if isinstance(share, float) else Fraction(share)
    except (ValueError, ZeroDivisionError) as error:
        raise WrongCall("fraction must be a number between 0 and 1") from error
