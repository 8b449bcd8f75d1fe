"""Taxonomies without a hierarchy: the value, or `*`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import eq
from pathlib import Path
from typing import ClassVar, Self

from sfumato.core.taxonomy import ANY, Label, Taxonomy
from sfumato.core.taxonomy_rule import Spec
from sfumato.policy.taxonomies.levels import Level, require_known, tree_of_levels
from sfumato.policy.taxonomies.literals import label, sequence
from sfumato.policy.taxonomies.numbers import number


@dataclass(frozen=True)
class Flat:
    """The value itself or `*`: `{flat: true}`, or with the domain `{flat: [low, mid, high], ordered: true}`.

    Without a list the values that occur are the leaves, numbers by size, everything else by its text.

    >>> Flat().build(["10", "9", None]).leaf_labels
    ('9', '10', None)
    """

    key: ClassVar[str] = "flat"
    schema: ClassVar[Mapping[str, object]] = {
        "type": "object",
        "description": "The value or `*`; `true` takes the values that occur, a list names the domain.",
        "properties": {
            "flat": {
                "anyOf": [{"const": True}, {"$ref": "#/$defs/labels"}],
                "description": "`true`: the values that occur; a list: all values that there are.",
            },
            "ordered": {
                "type": "boolean",
                "default": False,
                "description": "The values have an order, and groups are neighbours in it.",
            },
        },
        "required": ["flat"],
        "additionalProperties": False,
    }

    domain: tuple[str, ...] | None = None
    ordered: bool = False

    @classmethod
    def read(cls, spec: Spec, folder: Path | None = None) -> Self:
        del folder
        words = spec["flat"]
        domain = None if words is True else tuple(dict.fromkeys(label(x) for x in sequence(words)))
        return cls(domain, bool(spec.get("ordered", False)))

    @property
    def spec(self) -> Spec:
        ordered = {"ordered": True} if self.ordered else {}
        return {"flat": True if self.domain is None else list(self.domain), **ordered}

    @property
    def digest(self) -> str:
        return ""

    def build(self, values: Sequence[Label]) -> Taxonomy:
        if self.domain:
            tree = tree_of_levels([Level.of(self.domain)], ordered=self.ordered, missing=None in values)
            return require_known(tree, values)
        leaves = in_natural_order([v for v in values if v is not None])
        if not leaves or ANY in leaves or any(map(eq, leaves, islice(leaves, 1, None))):
            return tree_of_levels([Level.of(leaves)], ordered=self.ordered, missing=None in values)
        missing = [None] if len(leaves) < len(values) else []
        return Taxonomy.flat([*leaves, *missing], ordered=self.ordered)


def in_natural_order(values: Sequence[str]) -> list[str]:
    """Sorts values by size if all are numbers, else by text."""
    numbers = []
    for value in values:
        if (size := number(value)) is None:
            return sorted(values)
        numbers.append(size)
    return [text for _, text in sorted(zip(numbers, values, strict=True))]
