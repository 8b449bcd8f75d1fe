"""The rule of a policy for adversaries who know the search: how much more they may guess than others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from sfumato.core.exact_numbers import written
from sfumato.core.json_object import JsonObject

KEY = "known-search"
STEPS = 20_000
"""So many times the search is run at most, for each attack."""


class Doubt(StrEnum):
    """What becomes of a table of which not all worlds could be listed."""

    REFUSE = "refuse"
    """It is not published."""
    PUBLISH = "publish"
    """It is published unless what was looked at, or estimated, is too much."""


@dataclass(frozen=True)
class KnownSearchRule:
    """How much knowing the search may add to anybody's best guess.

    `minimality` bounds guesses at sensitive values, by somebody who has everybody's key columns; `downcoding`
    bounds guesses at what key columns hide. `None`: that attack is not run. `doubt` says what becomes of a
    table with more worlds than `steps`.
    """

    minimality: Fraction | None = None
    downcoding: Fraction | None = None
    doubt: Doubt = Doubt.REFUSE
    steps: int = STEPS

    @property
    def gains(self) -> dict[str, Fraction]:
        """By attack that is run, the largest gain that is allowed."""
        named = {"minimality": self.minimality, "downcoding": self.downcoding}
        return {name: gain for name, gain in named.items() if gain is not None}

    @property
    def words(self) -> dict[str, object]:
        """The rule as a policy file holds it; what stands at its default is left out."""
        default = KnownSearchRule()
        said: dict[str, object] = {name: written(gain) for name, gain in self.gains.items()}
        if self.doubt is not default.doubt:
            said["doubt"] = self.doubt.value
        if self.steps != default.steps:
            said["steps"] = self.steps
        return said


def schema() -> JsonObject:
    """Returns the rule as a fragment of JSON Schema."""
    plain = KnownSearchRule()
    return {
        "type": "object",
        "description": "What adversaries may gain at most who know the search; `release` and `protect -o`"
        " attack the table, and refuse it above that.",
        "properties": {
            "minimality": {
                "$ref": "#/$defs/fraction",
                "description": "How much likelier a sensitive value may be guessed right by somebody who has"
                " everybody's key columns.",
            },
            "downcoding": {
                "$ref": "#/$defs/fraction",
                "description": "How much likelier the next finer value of a key column may be guessed right.",
            },
            "doubt": {
                "enum": [choice.value for choice in Doubt],
                "default": plain.doubt.value,
                "description": "What becomes of a table of which not all worlds could be listed. refuse: it"
                " is not published; publish: it is, unless an estimate says that too much is told.",
            },
            "steps": {
                "type": "integer",
                "minimum": 1,
                "default": plain.steps,
                "description": "So many times the search is run at most, for each attack.",
            },
        },
        "additionalProperties": False,
    }


def read(words: Mapping[str, object], gains: Mapping[str, Fraction]) -> KnownSearchRule:
    """Returns what these words say, which the schema allows; `gains` are their fractions."""
    return KnownSearchRule(
        gains.get("minimality"),
        gains.get("downcoding"),
        Doubt(str(words.get("doubt", Doubt.REFUSE))),
        int(str(words.get("steps", STEPS))),
    )
