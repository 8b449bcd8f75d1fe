"""Codes that say less when characters are masked, from the right (prefix, mask) or from the left (mask)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.core.errors import BadTaxonomy
from sfumato.judge.taxonomies.value_tree import ANY, Text, ValueTree

LONGEST = 32
"""Characters that are masked one by one; longer codes need `steps`."""


def build_prefix(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of codes of which so many leading characters stay: `{prefix: [4, 3, 1]}`.

    >>> [level[0] for level in build_prefix({"prefix": [3, 1]}, ["02138", "02139"]).labels]
    ['02138', '021**', '0****', '*']
    """
    values = sorted({text for text in texts if text is not None})
    levels = [
        [_stars(text, len(text) - kept, "right") for text in values]
        for kept in character_counts(spec["prefix"])
    ]
    return _tree(values, levels, texts)


def build_mask(spec: Mapping[str, object], texts: Sequence[Text]) -> ValueTree:
    """Returns the tree of codes of which so many characters are masked: `{mask: left, steps: [1, 3]}`.

    >>> [level[0] for level in build_mask({"mask": "left"}, ["K12", "L12"]).labels]
    ['K12', '*12', '**2', '*']
    """
    values = sorted({text for text in texts if text is not None})
    longest = max(map(len, values), default=0)
    steps = character_counts(spec.get("steps", ()))
    if not steps and longest > LONGEST:
        raise BadTaxonomy(f"a value is longer than {LONGEST} characters")
    levels = [
        [_stars(text, masked, str(spec["mask"])) for text in values] for masked in steps or range(1, longest)
    ]
    return _tree(values, levels, texts)


def _stars(text: str, masked: int, end: str) -> str:
    """Returns the text with so many characters masked at one end, all of them if there are no more."""
    kept = max(0, len(text) - max(0, masked))
    stars = ANY * (len(text) - kept)
    return text[:kept] + stars if end == "right" else stars + text[len(text) - kept :]


def character_counts(listed: object) -> list[int]:
    """Returns the numbers of characters that a policy lists."""
    given = listed if isinstance(listed, Sequence) and not isinstance(listed, str) else [listed]
    return [int(str(count)) for count in given]


def _tree(values: Sequence[str], levels: Sequence[Sequence[Text]], texts: Sequence[Text]) -> ValueTree:
    return ValueTree.of_levels([values, *levels, [ANY] * len(values)], missing=None in texts)
