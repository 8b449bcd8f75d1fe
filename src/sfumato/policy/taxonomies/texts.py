"""Codes that say less the fewer leading characters are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Self

from sfumato.core.errors import BadPolicy
from sfumato.core.taxonomy import ANY, Label, Taxonomy
from sfumato.core.taxonomy_rule import Spec
from sfumato.policy.taxonomies.levels import Level, tree_of_levels
from sfumato.policy.taxonomies.literals import sequence, whole


@dataclass(frozen=True)
class Prefix:
    """So many leading characters stay, the rest is masked: `{prefix: [4, 3, 1]}`.

    >>> t = Prefix((3, 1)).build(["02138", "02139"])
    >>> [t.labels[v] for v in t.levels[:, 0]]
    ['02138', '021**', '0****', '*']
    """

    key: ClassVar[str] = "prefix"
    schema: ClassVar[Mapping[str, object]] = {
        "type": "object",
        "description": "How many leading characters stay at each level, from many to few.",
        "properties": {
            "prefix": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "integer", "minimum": 1},
                "description": "So many characters stay at level 1, so many at level 2, and so on.",
            }
        },
        "required": ["prefix"],
        "additionalProperties": False,
    }

    keep: tuple[int, ...]
    ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.keep or any(finer <= coarser for finer, coarser in pairwise(self.keep)):
            raise BadPolicy("each level must keep fewer characters than the one before", where="prefix")

    @classmethod
    def read(cls, spec: Spec, folder: Path | None = None) -> Self:
        del folder
        return cls(tuple(whole(n, key="prefix") for n in sequence(spec["prefix"])))

    @property
    def spec(self) -> Spec:
        return {"prefix": list(self.keep)}

    @property
    def digest(self) -> str:
        return ""

    def build(self, values: Sequence[Label]) -> Taxonomy:
        leaves = sorted({v for v in values if v is not None})
        levels = [Level.of([text[:n] + "*" * (len(text) - n) for text in leaves]) for n in self.keep]
        top = Level.all_alike(ANY, len(leaves))
        return tree_of_levels([Level.of(leaves), *levels, top], missing=None in values)
