"""Suppressed people: what worlds tell of two of them together, though nobody's own value is told.

Values of people who were suppressed for being alike are as open as before, if no value is rarer than another:
only somebody who knows the value of one learns that of the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from sfumato.attacks.worlds.value_worlds import Spread, ValueWorlds


def two_alike(
    worlds: ValueWorlds, kept: Sequence[tuple[int, tuple[Spread, ...]]], column: int
) -> dict[str, int | Fraction | str]:
    """Returns how likely two suppressed people have the same value of a sensitive column, before and after,
    for the two of whom it is likeliest; and how many people are suppressed."""
    register, gone = worlds.register, worlds.register.suppressed
    leaves = worlds.any_values[:, column].tolist()
    people = [register.people[key] for key in register.keys_of(gone)]
    alike: Counter[tuple[int, int]] = Counter()
    total = 0
    for weight, world in kept:
        total += weight
        held = [_by_value(leaves, row) for row in world[gone]]
        for i, mine in enumerate(held):
            for j in range(i, len(held)):
                alike[i, j] += weight * sum(n * (held[j][v] - (i == j)) for v, n in mine.items())
    pairs = {
        (i, j): people[i] * (people[j] - (i == j)) for i in range(len(people)) for j in range(i, len(people))
    }
    before = Fraction(1, len(set(leaves)))
    after = [Fraction(alike[pair], total * n) for pair, n in pairs.items() if n and total]
    return {
        "people suppressed": register.gone,
        "two alike before": before,
        "two alike after": max(after, default=before),
    }


def _by_value(leaves: Sequence[int], row: Sequence[int]) -> Counter[int]:
    """Returns how many people have which value, of a row of combinations of values."""
    found: Counter[int] = Counter()
    for leaf, n in zip(leaves, row, strict=True):
        if n:
            found[leaf] += n
    return found
