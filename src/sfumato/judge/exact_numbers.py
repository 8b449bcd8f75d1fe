"""Exact comparisons for the judge: quotients of integers, and powers through their prime factors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

DOUBT = 1e-9
"""Quotients nearer to each other than this, relatively, are compared as fractions."""


def over(above: NDArray[np.generic], below: NDArray[np.generic], limit: Fraction) -> NDArray[np.bool_]:
    """Returns where above / below > limit.

    >>> over(np.array([1, 1]), np.array([3, 2]), Fraction(1, 3)).tolist()
    [False, True]
    """
    quotient, border = above.astype(float) / below.astype(float), float(limit)
    truth = np.asarray(quotient > border)
    doubtful = np.flatnonzero(abs(quotient - border) <= DOUBT * max(border, 1.0))
    for a, b, places in _alike(above, below, doubtful):
        truth[places] = Fraction(a, b) > limit
    return truth


def greatest(
    above: NDArray[np.generic], below: NDArray[np.generic]
) -> tuple[int, Fraction] | tuple[None, None]:
    """Returns the place of the largest quotient and the quotient, nothing of none.

    >>> greatest(np.array([1, 2, 4]), np.array([3, 3, 7]))
    (1, Fraction(2, 3))
    """
    if not len(above):
        return None, None
    quotient = above.astype(float) / below.astype(float)
    leading = np.flatnonzero(quotient >= quotient.max() * (1 - DOUBT))
    exact = [(Fraction(a, b), -int(places[0])) for a, b, places in _alike(above, below, leading)]
    largest, place = max(exact)
    return -place, largest


def _alike(
    above: NDArray[np.generic], below: NDArray[np.generic], places: NDArray[np.intp]
) -> Iterable[tuple[int, int, NDArray[np.intp]]]:
    """Yields the different pairs at these places, each with its places."""
    where: dict[tuple[int, int], list[int]] = {}
    for place in places.tolist():
        where.setdefault((int(above[place]), int(below[place])), []).append(place)
    for (a, b), places_of in where.items():
        yield a, b, np.array(places_of, dtype=np.intp)


def sign_of_entropy_margin(counts: Iterable[int], diversity: Fraction) -> int:
    """Returns the sign of entropy(counts) - log(diversity).

    With n people it is the sign of log(n**n) - log(diversity**n) - sum of log(c**c). Whether that is zero is
    a question about prime exponents; if it is not, enough digits tell the sign.

    >>> [sign_of_entropy_margin([5, 5, 5], Fraction(l)) for l in (2, 3, 4)]
    [1, 0, -1]
    """
    same = Counter(counts)
    everyone = sum(count * times for count, times in same.items())
    powers = Counter({everyone: everyone})
    powers.subtract({diversity.numerator: everyone})
    powers.update({diversity.denominator: everyone})
    powers.subtract({count: count * times for count, times in same.items()})
    if not any(_prime_exponents(powers).values()):
        return 0
    digits = 30
    while True:
        with localcontext(prec=digits + 20):
            margin = sum((Decimal(base).ln() * times for base, times in powers.items()), Decimal(0))
            if abs(margin) > Decimal(10) ** -digits * everyone:
                return 1 if margin > 0 else -1
        digits *= 2


def _prime_exponents(powers: Counter[int]) -> Counter[int]:
    """Returns the exponents of the primes in a product of powers."""
    exponents: Counter[int] = Counter()
    for base, times in powers.items():
        rest, prime = base, 2
        while prime * prime <= rest:
            while rest % prime == 0:
                exponents[prime] += times
                rest //= prime
            prime += 1
        if rest > 1:
            exponents[rest] += times
    return exponents
