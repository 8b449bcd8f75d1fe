"""The chain of a policy: how further releases about the same people go on from the first one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sfumato.system.json_object import JsonMapping, JsonObject

KEY = "chain"


class Shows(StrEnum):
    """What the file of a release shows."""

    EVERYBODY = "everybody"
    """Everybody who was ever published, as they were published first."""
    NEWCOMERS = "newcomers"
    """What is new in this release alone."""


class Leavers(StrEnum):
    """What becomes of people who are in earlier releases and no longer in the table."""

    LINGER = "linger"
    """Their rows stay, as they were published: nobody can tell who left."""
    WITHHELD = "withheld"
    """The groups they are in are shown no more, with everybody in them."""


class Again(StrEnum):
    """What becomes of further rows of people who are published already."""

    BARE = "bare"
    """They are shown without any column that is published unchanged."""
    WITHHELD = "withheld"
    """They are not shown."""


class Changed(StrEnum):
    """What becomes of a published row whose quasi-identifiers have changed."""

    KEEP = "keep"
    """It stays as it was published."""
    AGAIN = "again"
    """It stays, and the person has a further row, bare like others."""


@dataclass(frozen=True)
class ChainRule:
    """How a chain of groups goes on.

    `since` names the column of batches, in tables where nobody has two rows and no column tells people apart.
    `hold` is how many newcomers a release waits for.
    """

    since: str | None = None
    shows: Shows = Shows.EVERYBODY
    leavers: Leavers = Leavers.LINGER
    again: Again = Again.BARE
    changed: Changed = Changed.KEEP
    hold: int = 0

    @property
    def words(self) -> JsonObject:
        """The rule as a policy has it, without what is at its default."""
        default = ChainRule()
        return {
            name: value.value if isinstance(value, StrEnum) else value
            for name, value in vars(self).items()
            if value != getattr(default, name)
        }


def schema() -> JsonObject:
    """Returns the rule as a fragment of JSON Schema."""
    default = ChainRule()
    column = {"type": "string", "minLength": 1}
    return {
        "type": "object",
        "description": "How later releases about the same people go on from this one (releases of groups).",
        "properties": {
            "since": {
                **column,
                "description": "The column of batches: who came when. It says that nobody has two rows.",
            },
            "shows": {
                "enum": [word.value for word in Shows],
                "default": default.shows.value,
                "description": "Whether a release shows everybody so far, or what is new in it.",
            },
            "leavers": {
                "enum": [word.value for word in Leavers],
                "default": default.leavers.value,
                "description": "Whether rows of people who left stay as they are, or their groups go.",
            },
            "again": {
                "enum": [word.value for word in Again],
                "default": default.again.value,
                "description": "Whether further rows of a person are shown bare, without unchanged columns.",
            },
            "changed": {
                "enum": [word.value for word in Changed],
                "default": default.changed.value,
                "description": "Whether a changed row stays as it was published, or adds a bare one.",
            },
            "hold": {
                "type": "integer",
                "minimum": 0,
                "default": default.hold,
                "description": "How many newcomers a release waits for; fewer are kept for a later one.",
            },
        },
        "additionalProperties": False,
    }


def read(words: JsonMapping) -> ChainRule:
    """Returns the rule that these words describe; their shape was checked."""
    return ChainRule(
        since=words.get("since"),
        shows=Shows(words.get("shows", Shows.EVERYBODY)),
        leavers=Leavers(words.get("leavers", Leavers.LINGER)),
        again=Again(words.get("again", Again.BARE)),
        changed=Changed(words.get("changed", Changed.KEEP)),
        hold=int(words.get("hold", 0)),
    )
