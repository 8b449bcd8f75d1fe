"""Groups of categories: steps between a value without an order and `*`, for drafts."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

from sfumato.draft.evidence import ColumnProfile, TableEvidence
from sfumato.policy.content import ColumnRule
from sfumato.policy.taxonomies.files import Branch, NestedTree
from sfumato.policy.taxonomies.texts import Flat
from sfumato.table.microdata import Role
from sfumato.table.taxonomy import ANY

FEWEST_CATEGORIES = 3
"""Two values have no group but all."""
MOST_CATEGORIES = 40
"""Groups of more values are what a hierarchy file is for."""
MOST_STEPS = 3
"""So many steps lie between a value and `*` at most: 2, 4 and 8 groups."""
NAMED_MEMBERS = 3
"""So many members of a group are named by its label; of a larger one fewer, and how many more there are."""
LONGEST_LABEL = 80


def grouped_categories(
    columns: Mapping[str, ColumnRule], survey: TableEvidence, least: int
) -> dict[str, ColumnRule]:
    """Returns new rules for the key columns whose words have no hierarchy, and could have one.

    A value that fewer than `least` rows have is written into no policy: such a column stays as it is.
    """
    trees = {}
    for name, rule in columns.items():
        if rule.role is not Role.QUASI or rule.taxonomy != Flat():
            continue
        tree = tree_of_categories(ColumnProfile.of(name, survey.columns[name], survey.rows), least)
        if tree is not None:
            trees[name] = ColumnRule(Role.QUASI, tree, f"{rule.reason}; common ones in groups")
    return trees


def tree_of_categories(profile: ColumnProfile, least: int) -> NestedTree | None:
    """Returns a tree that joins common values with common ones; none for numbers, few or rare values.

    Classes of k rows mix the common values most often, so these are what a group has to keep together: a
    group of rare values would be published less often, and `*` more often.
    """
    if not profile.column.complete or profile.numbers is not None or ANY in profile.values:
        return None
    if not FEWEST_CATEGORIES <= len(profile.values) <= MOST_CATEGORIES or min(profile.counts) < least:
        return None
    pairs = sorted(zip(profile.counts, profile.values, strict=True), key=lambda pair: (-pair[0], pair[1]))
    branches = _halves([value for _, value in pairs], MOST_STEPS)
    labels = [*_labels(branches)]
    if len(set(labels)) < len(labels) or max(map(len, labels)) > LONGEST_LABEL:
        return None
    return NestedTree(branches)


def _halves(values: Sequence[str], steps: int) -> tuple[Branch, ...]:
    """Returns the values in two groups, each again in two; the first has one more where they are odd."""
    if len(values) < FEWEST_CATEGORIES or not steps:
        return tuple(values)
    middle = (len(values) + 1) // 2
    halves = (values[:middle], values[middle:])
    return tuple(side[0] if len(side) == 1 else (label_of(side), _halves(side, steps - 1)) for side in halves)


def label_of(values: Sequence[str]) -> str:
    """Returns the text that a group is published as.

    >>> label_of(["Arts", "Law"]), label_of(["Arts", "Law", "Music", "Physics"])
    ('Arts / Law', 'Arts / Law / 2 more')
    """
    if len(values) <= NAMED_MEMBERS:
        return " / ".join(values)
    return f"{' / '.join(values[: NAMED_MEMBERS - 1])} / {len(values) - NAMED_MEMBERS + 1} more"


def _labels(branches: Sequence[Branch]) -> Sequence[str]:
    """Returns the labels of all values and groups."""
    return [
        label
        for branch in branches
        for label in ([branch] if isinstance(branch, str) else [branch[0], *_labels(branch[1])])
    ]


# Ordered categories: words of a known scale, and bands of numbers, as trees in their order.

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
    text = (files("sfumato.policy") / "lexicon" / "scales.toml").read_text(encoding="utf-8")
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
        matching = sorted(
            (place, value) for place, value in zip(places, values, strict=True) if place is not None
        )
        if len(matching) == len(values) and len({place for place, _ in matching}) >= FEWEST_LEVELS:
            tiers = [scale.tier(place) for place, _ in matching]
            return _grouped([value for _, value in matching], tiers), f"a scale of {scale.name}"
    return _bands(values)


def _bands(values: Sequence[str]) -> tuple[Flat | NestedTree, str] | None:
    """Returns bands of numbers by their order (`<9 years`, `9-11 years`, `12 years`), in groups of two."""
    read = [(match, value) for value in values if (match := _BAND.fullmatch(value.strip().lower()))]
    bands = sorted((ends, value) for match, value in read if (ends := _band_ends(match)) is not None)
    if len(bands) < len(values) or not _one_after_another([ends for ends, _ in bands]):
        return None
    units = {
        _folded(match["unit"] or match["behind"] or "").rstrip(".").removesuffix("s") for match, _ in read
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
