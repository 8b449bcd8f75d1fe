"""Charging: whom a leak incriminates, so that an innocent is charged in at most a stated share of traces.

Every recipient's version carries symbols, 0 or 1, that secret coins drew: one in every marked group. Whoever
does not know them can forge, mix, coarsen or guess, but all that depends on an innocent's symbols no more
than on fresh ones. So with the symbols that a leak shows, and these alone, a recipient is charged only if
fresh symbols would agree with the leak as well in at most `error` / N of all draws, for N recipients: then
an innocent one is charged in at most `error` of all traces, whatever was done to the leak.

What is compared with fresh draws is a score. Any score is safe that is fixed before symbols are looked at;
this one is Tardos's in its symmetric form, which for fair coins counts agreements.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import comb

import numpy as np
from numpy.typing import NDArray

Symbols = NDArray[np.int8]
"""0, 1, or `NOTHING`."""
Chances = NDArray[np.float64]
Whole = NDArray[np.int64]

NOTHING = -1
"""A leak that shows no symbol of a group, or a recipient who never got it."""
ERROR = Fraction(1, 1000)
"""In so many traces an innocent may be charged, unless another share is asked for."""
FAIR = 0.5
UNIT = 8
"""What an agreement counts for is a whole number of such parts, so that tails can be added up exactly."""
SLACK = 1 + 1e-9
"""Sums of positive floats err by less than this factor, for fewer than a million groups."""


@dataclass(frozen=True, eq=False)
class Charges:
    """How well every recipient fits a leak, and who is charged.

    `groups[i]` of the marked groups that the leak shows are in the version of recipient i, and `agree[i]` of
    them with the symbol that it has. A fresh version would score at least as high with the chance `tails[i]`.
    """

    groups: tuple[int, ...]
    agree: tuple[int, ...]
    tails: tuple[Fraction, ...]
    error: Fraction

    @property
    def limit(self) -> Fraction:
        """The largest tail that charges."""
        return self.error / max(1, len(self.tails))

    @cached_property
    def charged(self) -> tuple[int, ...]:
        """The recipients who are charged, the least likely to be innocent first."""
        order = sorted(range(len(self.tails)), key=lambda i: (self.tails[i], i))
        return tuple(i for i in order if self.groups[i] and self.tails[i] <= self.limit)


def charge(shown: Symbols, bias: Chances, versions: Symbols, *, error: Fraction = ERROR) -> Charges:
    """Compares the symbols that a leak shows with those of every recipient, one line each.

    `bias` is the chance of a 1, group by group.

    >>> leak, fair = np.ones(12, np.int8), np.full(12, 0.5)
    >>> charge(leak, fair, np.array([[1] * 12, [1, 0] * 6], np.int8)).charged
    (0,)
    """
    counts = (shown != NOTHING) & (versions != NOTHING)
    gains = _gains(shown, bias)
    own = gains[np.arange(len(shown)), np.where(counts, versions, 0)]
    scores = np.where(counts, own, 0).sum(axis=1)
    tails = np.full(len(versions), Fraction(1), dtype=object)
    alike: dict[bytes, list[int]] = {}
    for i, received in enumerate(counts):
        alike.setdefault(received.tobytes(), []).append(i)
    for those in alike.values():
        groups = counts[those[0]]
        tails[those] = exact_tails(gains[groups], bias[groups], scores[those])
    agree = (counts & (versions == shown)).sum(axis=1)
    return Charges(tuple(counts.sum(axis=1).tolist()), tuple(agree.tolist()), tuple(tails), error)


def charge_drawn(own: Whole, pool: Whole, *, error: Fraction = ERROR) -> Charges:
    """Charges recipients whose versions were drawn from a pool without replacement, by their scores.

    `own` are the scores of what each recipient holds, `pool` those of all that could have been drawn. All
    others may be guilty, and what they hold was no more to be drawn for an innocent one.

    >>> charge_drawn(np.array([9, 2]), np.arange(10), error=Fraction(1, 4)).charged
    (0,)
    """
    left = max(1, len(pool) - len(own) + 1)
    at_least = len(pool) - np.searchsorted(np.sort(pool), own)
    tails = tuple(min(Fraction(1), Fraction(int(count), left)) for count in at_least)
    shown = (len(pool),) * len(own)
    return Charges(shown, tuple(own.tolist()), tails, error)


def _gains(shown: Symbols, bias: Chances) -> Whole:
    """Returns what a version scores in every group by its symbol: for 0, and for 1.

    An agreement counts for more the rarer the symbol is, and a difference against it the same way round, so
    that fresh versions score nothing on average.
    """
    odds = np.sqrt((1 - bias) / bias)
    for_one = np.stack([-1 / odds, odds], axis=1)
    gains: Whole = np.rint(UNIT * np.where((shown == 1)[:, None], for_one, -for_one)).astype(np.int64)
    return gains


def exact_tails(gains: Whole, bias: Chances, scores: Whole) -> list[Fraction]:
    """Returns the chance that fresh symbols score at least as much; for biased ones a bound just above it.

    >>> exact_tails(np.array([[-8, 8]] * 3), np.full(3, 0.5), np.array([8, 24]))
    [Fraction(1, 2), Fraction(1, 8)]
    """
    if np.all(bias == FAIR) and np.all(np.abs(gains) == UNIT):
        ways = [comb(len(gains), agreements) for agreements in range(len(gains), -1, -1)]
        at_least = list(accumulate(ways))
        return [
            Fraction(at_least[(UNIT * len(gains) - s) // (2 * UNIT)], 2 ** len(gains))
            for s in scores.tolist()
        ]
    lowest, chances = gains.min(axis=1), np.ones(1)
    for places, one in zip((gains - lowest[:, None]).tolist(), bias.tolist(), strict=True):
        longer = np.zeros(len(chances) + max(places))
        for place, chance in zip(places, (1 - one, one), strict=True):
            longer[place : place + len(chances)] += (
                chance * chances
            )  # nothing is subtracted: errors stay small
        chances = longer
    bounds = np.cumsum(chances[::-1])[::-1] * SLACK
    return [min(Fraction(1), Fraction(float(bounds[s]))) for s in (scores - lowest.sum()).tolist()]
