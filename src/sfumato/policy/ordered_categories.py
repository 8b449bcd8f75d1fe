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
HIGHEST = 10**10
"""Above every number of a band."""
_BAND = re.compile(
    r"(?P<below>[<≤]=?|under |unter |below |less than |weniger als |menos de |moins de |meno di )?"
    r"(?P<beyond>[>≥]=?|over |above |more than |über |mehr als |más de |plus de |più di |oltre )?"
    r"\s*(?P<low>[0-9]{1,9})(?:\s*(?:-|–|to|bis|à|a)\s*(?P<high>[0-9]{1,9}))?"
    r"(?P<more>\s*\+)?(?P<unit>\s*[^\W\d_]+?\.?)??"
    r"(?P<above>\s+(?:and|und|et|y|e|or|oder|ou|o)\s+(?:over|older|above|more|älter|mehr|plus|más|oltre|più)"
    r"(?P<behind>\s+[^\W\d_]+\.?)?)?"
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
    return _bands(values)


def _bands(values: Sequence[str]) -> tuple[Flat | NestedTree, str] | None:
    """Returns bands of numbers by their order (`<9 years`, `9-11 years`, `12 years`), in groups of two."""
    read = [(found, value) for value in values if (found := _BAND.fullmatch(value.strip().lower()))]
    bands = sorted((ends, value) for found, value in read if (ends := _band_ends(found)) is not None)
    if len(bands) < len(values) or not _one_after_another([ends for ends, _ in bands]):
        return None
    units = {
        _folded(found["unit"] or found["behind"] or "").rstrip(".").removesuffix("s") for found, _ in read
    } - {""}
    if len(units) > 1 or not any(re.search(r"[^0-9]", value) for value in values):
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


def _band_ends(band: re.Match[str]) -> tuple[int, int] | None:
    """Returns where a band of numbers starts and ends: what lies below a number first, beyond it last."""
    low, high = int(band["low"]), int(band["high"] or band["low"])
    if high < low or (band["below"] and band["beyond"]):
        return None
    return low, -1 if band["below"] else HIGHEST if band["beyond"] else high


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("_", " ").replace("’", "'")
    return " ".join(plain.split())
