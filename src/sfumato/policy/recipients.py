"""The rule of a policy for several recipients: how alike their versions are, and safe from whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Self

from sfumato.policy.columns import changed_words, choice_schema
from sfumato.policy.searches import LOSSES, losses_with
from sfumato.system.json_object import JsonMapping, JsonObject
from sfumato.table.arrays import written

QUALITIES: Mapping[str, str] = {
    **{name: LOSSES[name] for name in losses_with(by_level=True)},
    "precision": "sum over the columns of level over height",
    "sweeney": "mean level over height, suppressed rows at the top",
}
"""The measures that make versions equally good; each is a loss."""


class By(StrEnum):
    """What versions differ by."""

    MARKS = "marks"
    """Groups of a chain, in each of which one of two columns is shown coarser."""
    PATTERNS = "patterns"
    """Columns, each generalized to its level in the whole table."""


@dataclass(frozen=True)
class RecipientRule:
    """How versions for several recipients are chosen.

    `by` marks, `tolerance` is how much more than the base a version may lose, `collusion` how many recipients
    who leak together are to be named, and `error` the chance that a trace charges somebody who did not leak.
    `overriders` are the public keys of those who may let a chain go on under a policy that promises less.

    Everything else is about patterns. `quality` names the measure in which they are alike (else the policy's
    loss), within `tolerance` of the best. `frame_proof`: that many recipients together cannot build another's
    version. `patterns` names the level of every key column for some recipients, whose versions are then not
    chosen but only checked.
    """

    quality: str | None = None
    tolerance: Fraction = Fraction(0)
    frame_proof: int = 1
    overriders: tuple[str, ...] = ()
    patterns: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()
    by: By = By.PATTERNS
    collusion: int = 2
    error: Fraction = Fraction(1, 1000)

    @classmethod
    def usual(cls, by: By) -> Self:
        """Returns the rule where nothing more is asked for."""
        return cls(by=by, tolerance=Fraction(1, 10) if by is By.MARKS else Fraction(0))

    @property
    def words(self) -> dict[str, object]:
        """The rule as a policy file holds it; what stands at its default is left out."""
        words = changed_words(self, self.usual(self.by))
        if self.patterns:
            words["patterns"] = {name: dict(levels) for name, levels in self.patterns}
        return words


def schema() -> JsonObject:
    """Returns the rule as a fragment of JSON Schema."""
    plain = RecipientRule()
    return {
        "type": "object",
        "description": "How versions for several recipients are chosen.",
        "properties": {
            "by": choice_schema(
                By,
                "What versions differ by. marks: in each of many groups one of two columns is coarser, in a"
                " `chain`; patterns: whole columns are generalized to other levels. By default marks in a"
                " chain, else patterns.",
            ),
            "collusion": {
                "type": "integer",
                "minimum": 1,
                "maximum": 8,
                "default": plain.collusion,
                "description": "With marks: so many recipients who leak together are to be named.",
            },
            "error": {
                "$ref": "#/$defs/fraction",
                "default": written(plain.error),
                "description": "The chance that a trace charges somebody who did not leak.",
            },
            "quality": choice_schema(
                QUALITIES, "The loss in which all versions are alike; else that of protect.loss."
            ),
            "tolerance": {
                "$ref": "#/$defs/fraction",
                "description": "How much more than the best table a version may lose, as a share of its loss;"
                " 10% with marks, 0 with patterns unless said.",
            },
            "frame-proof": {
                "type": "integer",
                "minimum": 1,
                "maximum": 8,
                "default": plain.frame_proof,
                "description": "So many recipients together cannot build the version of another.",
            },
            "overriders": {
                "type": "array",
                "items": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "description": "Public keys (hexadecimal) of those who may let a chain promise less.",
            },
            "patterns": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "additionalProperties": {"type": "integer", "minimum": 0},
                },
                "description": "Recipients with the level of every key column in their version (0: as it is);"
                " such versions are checked like all others, and refused where they break a promise.",
            },
        },
        "additionalProperties": False,
    }


def read(
    words: JsonMapping, *, chain: bool, tolerance: Fraction | None, error: Fraction | None
) -> RecipientRule:
    """Returns the rule that these words describe; their shape was checked. `chain` says that there is one."""
    by = By(words.get("by", By.MARKS if chain else By.PATTERNS))
    usual = RecipientRule.usual(by)
    return RecipientRule(
        by=by,
        collusion=int(words.get("collusion", usual.collusion)),
        error=usual.error if error is None else error,
        quality=words.get("quality"),
        tolerance=usual.tolerance if tolerance is None else tolerance,
        frame_proof=int(words.get("frame-proof", 1)),
        overriders=tuple(words.get("overriders", ())),
        patterns=tuple(
            (str(name), tuple((str(column), int(level)) for column, level in levels.items()))
            for name, levels in words.get("patterns", {}).items()
        ),
    )
