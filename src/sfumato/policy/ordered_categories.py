"""Ordered categories: words of a known scale, and bands of numbers, as trees in their order."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

from sfumato.policy.taxonomies.flat import Flat
from sfumato.policy.taxonomies.tree import Branch, NestedTree

FEWEST_LEVELS = 3
"""Two values have no order that would help."""
MOST_FLAT = 3
"""So many levels need no groups."""
_BAND = re.compile(
    r"(?P<below>[<≤]=?|under |unter |below |menos de |moins de |meno di )?\s*(?P<low>[0-9]{1,9})"
    r"(?:\s*(?:-|–|to|bis|à|a)\s*(?P<high>[0-9]{1,9}))?"
    r"(?P<above>\s*\+|\s+(?:and|und|et|y|e)\s+(?:over|older|above|älter|mehr|plus|más|oltre|più))?"
)


@dataclass(frozen=True)
class ValueScale:
    """Levels from the least to the greatest, by the words for them, and how many of them belong together."""

    name: str
    levels: Mapping[str, int]
    tiers: tuple[int, ...]

    def tier(self, level: int) -> int:
        """Returns the group of a level."""
        ends = [sum(self.tiers[: i + 1]) for i in range(len(self.tiers))]
        return next((i for i, end in enumerate(ends) if level < end), len(ends) - 1)


@cache
def scales() -> tuple[ValueScale, ...]:
    """Returns the scales that Sfumato knows."""
    text = files("sfumato.policy.lexicon").joinpath("scales.toml").read_text(encoding="utf-8")
    return tuple(
        ValueScale(
            name,
            {_folded(word): i for i, level in enumerate(entry["levels"]) for word in level.split("|")},
            tuple(entry["tiers"]),
        )
        for name, entry in tomllib.loads(text).items()
    )


def ordered_taxonomy(values: Sequence[str]) -> tuple[Flat | NestedTree, str] | None:
    """Returns the values in their order, grouped where there are many, and what they are; else `None`.

    >>> found = ordered_taxonomy(["high", "low", "medium"])
    >>> found and (found[0].spec, found[1])
    ({'flat': ['low', 'medium', 'high'], 'ordered': True}, 'a scale of magnitude')
    """
    if len(values) < FEWEST_LEVELS:
        return None
    for scale in scales():
        places = [scale.levels.get(_folded(value)) for value in values]
        known = sorted(
            (place, value) for place, value in zip(places, values, strict=True) if place is not None
        )
        if len(known) == len(values) and len({place for place, _ in known}) >= FEWEST_LEVELS:
            tiers = [scale.tier(place) for place, _ in known]
            return _grouped([value for _, value in known], tiers), f"a scale of {scale.name}"
    bands = sorted((ends, value) for value in values if (ends := _band_ends(value)) is not None)
    if len(bands) < len(values) or not _one_after_another([ends for ends, _ in bands]):
        return None
    if not any(re.search(r"[^0-9]", value) for value in values):
        return None
    return _grouped([value for _, value in bands], [i // 2 for i in range(len(bands))]), "bands of numbers"


def _grouped(values: Sequence[str], tiers: Sequence[int]) -> Flat | NestedTree:
    """Returns a tree of neighbours; without groups where there are few values, or one group would be all."""
    groups = [[v for v, at in zip(values, tiers, strict=True) if at == tier] for tier in dict.fromkeys(tiers)]
    labels = [f"{group[0]} … {group[-1]}" for group in groups]
    if len(values) <= MOST_FLAT or len(groups) < 2 or set(labels) & set(values):
        return Flat(tuple(values), ordered=True)
    branches: tuple[Branch, ...] = tuple(
        (label, tuple(group)) if len(group) > 1 else group[0]
        for label, group in zip(labels, groups, strict=True)
    )
    return NestedTree(branches, ordered=True)


def _one_after_another(bands: Sequence[tuple[int, int]]) -> bool:
    """Whether sorted bands differ and overlap nowhere; codes such as 5-470 beside 5-820 do."""
    return all(low[1] <= high[0] and low != high for low, high in pairwise(bands))


def _band_ends(text: str) -> tuple[int, int] | None:
    """Returns where a band of numbers starts and ends, what lies below a number first."""
    found = _BAND.fullmatch(text.strip().lower())
    if found is None or (found["high"] and int(found["high"]) < int(found["low"])):
        return None
    return int(found["low"]), -1 if found["below"] else int(found["high"] or found["low"])


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("_", " ").replace("’", "'")
    return " ".join(plain.split())
