"""The rule of a policy for several recipients: how alike their versions are, and safe from whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

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


@dataclass(frozen=True)
class RecipientRule:
    """How versions for several recipients are chosen.

    `quality` names the measure in which they are alike (else the policy's loss), within `tolerance` of the
    best. `frame_proof`: that many recipients together cannot build another's version. `overriders` are the
    public keys of those who may let a chain go on under a policy that promises less. `patterns` names the
    level of every key column for some recipients, whose versions are then not chosen but only checked.
    """

    quality: str | None = None
    tolerance: Fraction = Fraction(0)
    frame_proof: int = 1
    overriders: tuple[str, ...] = ()
    patterns: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()

    @property
    def words(self) -> dict[str, object]:
        """The rule as a policy file holds it; what stands at its default is left out."""
        words = changed_words(self, RecipientRule())
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
            "quality": choice_schema(
                QUALITIES, "The loss in which all versions are alike; else that of protect.loss."
            ),
            "tolerance": {
                "$ref": "#/$defs/fraction",
                "default": written(plain.tolerance),
                "description": "How much more than the best a version may lose, as a share of it.",
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


def read(words: JsonMapping, tolerance: Fraction) -> RecipientRule:
    """Returns the rule that these words describe; their shape was checked."""
    return RecipientRule(
        quality=words.get("quality"),
        tolerance=tolerance,
        frame_proof=int(words.get("frame-proof", 1)),
        overriders=tuple(words.get("overriders", ())),
        patterns=tuple(
            (str(name), tuple((str(column), int(level)) for column, level in levels.items()))
            for name, levels in words.get("patterns", {}).items()
        ),
    )
