"""Codes whose characters are masked from one end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Self

from sfumato.core.errors import BadPolicy, BadTaxonomy
from sfumato.core.taxonomy import ANY, Label, Taxonomy
from sfumato.core.taxonomy_rule import Spec
from sfumato.policy.taxonomies.levels import Level, tree_of_levels
from sfumato.policy.taxonomies.literals import sequence, whole

LONGEST_WITHOUT_STEPS = 32
"""Values longer than this need `steps`: a level per character would be too many."""


@dataclass(frozen=True)
class Mask:
    """More and more characters become `*`, from one end: `{mask: right}`, `{mask: left, steps: [1, 3]}`.

    `steps` says how many characters are masked at each level; without it, one more each time.

    >>> t = Mask("left").build(["K12", "L12"])
    >>> [t.labels[v] for v in t.levels[:, 0]]
    ['K12', '*12', '**2', '*']
    """

    key: ClassVar[str] = "mask"
    schema: ClassVar[Mapping[str, object]] = {
        "type": "object",
        "description": "Mask characters from one end; `steps` says how many at each level.",
        "properties": {
            "mask": {"enum": ["right", "left"], "description": "The end from which characters become `*`."},
            "steps": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "integer", "minimum": 1},
                "description": "So many characters are masked at each level; else one more each time.",
            },
        },
        "required": ["mask"],
        "additionalProperties": False,
    }

    end: str
    steps: tuple[int, ...] = ()
    ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.end not in ("right", "left"):
            raise BadPolicy("must be right or left", where="mask")
        if any(finer >= coarser for finer, coarser in pairwise(self.steps)):
            raise BadPolicy("each level must mask more characters than the one before", where="steps")

    @classmethod
    def read(cls, spec: Spec, folder: Path | None = None) -> Self:
        del folder
        steps = tuple(whole(n, key="steps") for n in sequence(spec.get("steps", ())))
        return cls(str(spec["mask"]), steps)

    @property
    def spec(self) -> Spec:
        return {"mask": self.end, **({"steps": list(self.steps)} if self.steps else {})}

    @property
    def digest(self) -> str:
        return ""

    def build(self, values: Sequence[Label]) -> Taxonomy:
        texts = {v for v in values if v is not None}
        longest = max((len(text) for text in texts), default=0)
        if not self.steps and longest > LONGEST_WITHOUT_STEPS:
            raise BadTaxonomy(
                f"a value is longer than {LONGEST_WITHOUT_STEPS} characters",
                remedy="Say how many characters to mask at each level: `steps: [2, 4, 8]`.",
            )
        leaves = sorted(texts)
        levels = [
            Level.of([_masked(text, step, self.end) for text in leaves])
            for step in self.steps or range(1, longest)
        ]
        top = Level.all_alike(ANY, len(leaves))
        return tree_of_levels([Level.of(leaves), *levels, top], missing=None in values)


def _masked(text: str, step: int, end: str) -> str:
    count = min(step, len(text))
    return text[: len(text) - count] + "*" * count if end == "right" else "*" * count + text[count:]
