"""The versions of a policy's form, and what each gets where it does not say how to protect."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

FIRST = 1
LATEST = 2
KNOWN = (FIRST, LATEST)


@dataclass(frozen=True)
class ProtectDefaults:
    """The search, the share of rows that may be suppressed, and what a suppressed row costs.

    The price counts fully generalized rows. `None`: a suppressed row counts as one, and searches do not weigh
    it against detail.
    """

    search: str
    suppress: Fraction
    price: Fraction | None


DEFAULTS = {
    1: ProtectDefaults("top-down", Fraction(0), None),
    2: ProtectDefaults("best", Fraction(1, 20), Fraction(3)),
}


def defaults_of(version: int) -> ProtectDefaults:
    """Returns what a policy of this version gets without a word.

    >>> defaults_of(1).search, defaults_of(2).search
    ('top-down', 'best')
    """
    return DEFAULTS[version]
